"""`starcert benchmark`: methods side by side, on the same folds."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from starcert.benchmark.settings import SETTINGS, Benchmark
from starcert.cli.command_line import app, show
from starcert.cli.setting_options import Given, with_settings
from starcert.system.errors import needing
from starcert.system.output import note
from starcert.system.processes import available_cores
from starcert.system.tables import table

MAX_ROWS = 40  # of a table in the terminal
FileArgument = Annotated[
    Path | None, typer.Argument(help="A file with any of the settings; options override it.", metavar="FILE.TOML")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="A folder for the page, tables and figures; an interrupted run resumes there. Default: benchmark."
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Worker processes; results do not depend on them. Default: one per core.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="One fold, few graphs and votes: a first look.")]
TheirsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="An archive of another method that starcert verify proves, or a folder of them; may be repeated.",
        metavar="[DATA=]ARCHIVE.JSON|FOLDER",
    ),
]


@app.command()
@with_settings(
    {"file": FileArgument, "out": OutOption, "workers": WorkersOption, "quick": QuickOption, "theirs": TheirsOption},
    SETTINGS,
)
def benchmark(
    file: Path | None, out: Path | None, workers: int | None, quick: bool, theirs: list[str] | None, given: Given
) -> None:
    """Compare methods on the same folds: what is right and certified, beside a model that sees no edge.

    Writes OUT/index.html (open it from disk), benchmark.csv, benchmark.json, .tex and .md, and timings.json.
    Interrupted runs resume: repeat the command. The page is the same.

    For example:

    starcert benchmark --data MUTAG --quick --out build/mutag

    starcert benchmark --data molecules.csv --columns label=active --threat flips:5 --certificates
    """
    with needing("starcert benchmark needs", "all"):
        from starcert.benchmark.data import notes_on  # noqa: PLC0415  (torch)
        from starcert.benchmark.run import run_benchmark  # noqa: PLC0415

    setting, out = Benchmark.of(file, quick, **given.values), out or Path("benchmark")
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
