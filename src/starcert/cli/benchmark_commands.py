"""`starcert benchmark`: methods side by side, on the same folds."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.command_line import app, show, table
from starcert.runs.setting_values import parse_columns
from starcert.system.errors import needing
from starcert.system.output import note
from starcert.system.processes import available_cores

_DATA = (
    "A TU data set, motif, arcs, Cora-ML or Citeseer; a folder of graphs, a file of SMILES, PyG data or an .npz file; "
    "or a function that returns graphs and their classes. May be repeated."
)
MAX_ROWS = 40  # of a table in the terminal
_GROUPS = "blind, plain, isotropic, two-way (with evidence and fallback), one-way, regions, hashed, links (of nodes)"


@app.command()
def benchmark(
    file: Annotated[
        Path | None, typer.Argument(help="A file with any of the settings; options override it.", metavar="FILE.TOML")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="A folder for the page, tables and figures; an interrupted one goes on.")
    ] = Path("benchmark"),
    data: Annotated[
        list[str] | None,
        typer.Option(help=_DATA, metavar="NAME|PATH|FILE.PY:FUNCTION", show_default="MUTAG"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Which columns of tables hold what: label=activity,smiles=mol.", metavar="WHAT=COLUMN,…"),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{_GROUPS}; or one of your own. May be repeated.",
            metavar="GROUP|FILE.PY:CLASS",
            show_default="all",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A network; may be repeated.", metavar="gin|gcn|FILE.PY:FUNCTION", show_default="gin"),
    ] = None,
    threat: Annotated[
        list[str] | None,
        typer.Option(
            help="Attacks with their largest size, such as flips:15 or local:3,per_node=1; may be repeated.",
            metavar="THREAT",
            show_default="flips:15, deletions:15, additions:15, rewire:1",
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many of ten folds.", show_default="5")] = None,
    graphs: Annotated[int | None, typer.Option(help="Graphs tested in a fold, at most.", show_default="100")] = None,
    max_nodes: Annotated[int | None, typer.Option(help="Larger graphs are left out.", show_default="40")] = None,
    samples: Annotated[int | None, typer.Option(help="Votes on each graph.", show_default="10,000")] = None,
    seed: Annotated[int | None, typer.Option(help="Of folds, training and votes.", show_default="1")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; results do not depend on them.", show_default="one a core")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One fold, few graphs and votes: a first look.")] = False,
    certificates: Annotated[
        bool, typer.Option("--certificates", help="Keep certificates in files that starcert verify proves.")
    ] = False,
    theirs: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="An archive of another method that starcert verify proves, or a folder of them; may be repeated.",
            metavar="[DATA=]ARCHIVE.JSON|FOLDER",
        ),
    ] = None,
) -> None:
    """Compare methods on the same folds: what is right and certified, beside a model that sees no edge.

    Writes OUT/index.html (open it from disk), benchmark.csv, benchmark.json, .tex and .md, and timings.json. Killed
    and started again, it goes on where it was, and writes the same page.

    For example:

    starcert benchmark --data MUTAG --quick --out build/mutag

    starcert benchmark --data molecules.csv --columns label=active --threat flips:5 --certificates
    """
    with needing("starcert benchmark needs", "all"):
        from starcert.benchmark.data import notes_on  # noqa: PLC0415  (torch)
        from starcert.benchmark.run import run_benchmark  # noqa: PLC0415
        from starcert.benchmark.settings import Benchmark  # noqa: PLC0415

    options = {"data": data, "methods": method, "models": model, "threats": threat, "folds": folds, "graphs": graphs,
               "max_nodes": max_nodes, "samples": samples, "seed": seed, "certificates": certificates or None,
               "columns": None if columns is None else parse_columns(columns, "--columns")}  # fmt: skip
    setting = Benchmark.of(file, quick, **options)
    for name in setting.data:
        for sentence in notes_on(setting, name):
            note(f"{name}: {sentence}")
    n_workers = available_cores() if workers is None else workers
    lines = run_benchmark(setting, out, theirs=theirs or (), workers=n_workers)
    seconds, rows_of = _seconds(out), partial(table, most=MAX_ROWS, more="benchmark.csv has all")
    for name, attack in dict.fromkeys((line.data, line.threat) for line in lines):
        some = [line for line in lines if (line.data, line.threat) == (name, attack)]
        texts = [line.texts() for line in some]
        heads = [f"≤ {head}" if head.isdecimal() else head for head in texts[0]]
        rows = [[*row.values()][:-1] + [row["gain at 1"].partition(" ")[0]] for row in texts]  # noqa: RUF005
        show(rows_of(f"{name}, {some[0].kind}: % right and certified", heads, rows, left=("method",)))
    tried = {(line.data, line.method): line.tries for line in lines}
    effort = [(*key, tries, f"{seconds[key]:,.0f}") for key, tries in tried.items()]
    about = ("data", "method", "tries", "seconds of training")
    show(rows_of("What was tried", about, effort, left=about[:2]))
    show(f"The page: {out / 'index.html'}")


def _seconds(out: Path) -> dict[tuple[str, str], float]:
    """Seconds of training in all folds, by data and method: threats share what is trained."""
    folds = {(row["data"], row["method"], row["fold"]): row["training"]
             for row in json.loads((out / "timings.json").read_text("utf-8"))}  # fmt: skip
    found: dict[tuple[str, str], float] = {}
    for (data, method, _), seconds in folds.items():
        found[data, method] = found.get((data, method), 0.0) + seconds
    return found
