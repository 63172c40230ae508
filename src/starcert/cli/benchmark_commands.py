"""`starcert benchmark`: methods side by side, on the same folds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.command_line import app, show, table
from starcert.system.errors import needing
from starcert.system.processes import available_cores


@app.command()
def benchmark(
    file: Annotated[
        Path | None, typer.Argument(help="A file with any of the settings; options override it.", metavar="FILE.TOML")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="A folder for the page, tables and figures; an interrupted one goes on.")
    ] = Path("benchmark"),
    data: Annotated[
        list[str] | None, typer.Option(help="A TU data set, motif or arcs; may be repeated.", show_default="MUTAG")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A group of methods, or file.py:Class; may be repeated.", show_default="all"),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many of ten folds.", show_default="5")] = None,
    samples: Annotated[int | None, typer.Option(help="Votes on each graph.", show_default="10,000")] = None,
    seed: Annotated[int | None, typer.Option(help="Of folds, training and votes.", show_default="1")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; results do not depend on them.", show_default="one a core")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One fold, few graphs and votes: a first look.")] = False,
    theirs: Annotated[
        list[Path] | None,
        typer.Option("--with", help="Results of another method, proved or marked as stated; may be repeated."),
    ] = None,
) -> None:
    """Compare methods on the same folds: what is right and certified, beside a model that sees no edge.

    Writes OUT/index.html (open it from disk), benchmark.csv, benchmark.json, .tex and .md, and timings.json. Killed
    and started again, it goes on where it was, and writes the same page.

    For example:

    starcert benchmark --data MUTAG --quick --out build/mutag
    """
    with needing("starcert benchmark needs", "all"):
        from starcert_studies.benchmark.run import Benchmark, run_benchmark  # noqa: PLC0415  (torch)

    setting = Benchmark.of(file, quick, data=data, methods=method, folds=folds, samples=samples, seed=seed)
    n_workers = available_cores() if workers is None else workers
    lines = run_benchmark(setting, out, theirs=theirs or (), workers=n_workers)
    seconds = _seconds(out)
    for name, threat in dict.fromkeys((line.data, line.threat) for line in lines):
        some = [line for line in lines if (line.data, line.threat) == (name, threat)]
        heads = ("method", "right", *(f"≤ {cell.size}" for cell in some[0].cells[1:]), "gain at 1")
        rows = [(line.method, *line.percents()[:-1], str(line.cells[1]).partition(" ")[0]) for line in some]
        show(table(f"{name}, {some[0].kind}: % right and certified", heads, rows, left=("method",)))
    tried = {(line.data, line.method): line.tries for line in lines}
    effort = [(*key, tries, f"{seconds[key]:,.0f}") for key, tries in tried.items()]
    show(table("What was tried", ("data", "method", "tries", "seconds of training"), effort, left=("data", "method")))
    show(f"The page: {out / 'index.html'}")


def _seconds(out: Path) -> dict[tuple[str, str], float]:
    """Seconds of training in all folds, by data and method: threats share what is trained."""
    folds = {(row["data"], row["method"], row["fold"]): row["training"]
             for row in json.loads((out / "timings.json").read_text("utf-8"))}  # fmt: skip
    found: dict[tuple[str, str], float] = {}
    for (data, method, _), seconds in folds.items():
        found[data, method] = found.get((data, method), 0.0) + seconds
    return found
