"""`starcert benchmark` and `reproduce`: methods side by side on the same folds, and the studies of the paper."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.benchmark.settings import SETTINGS, Benchmark
from starcert.cli.command_line import app, show
from starcert.cli.setting_options import Given, with_settings
from starcert.system.errors import InvalidParameterError, StarcertError, needing
from starcert.system.files import is_empty, write_whole
from starcert.system.output import note, table
from starcert.system.processes import available_cores

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert_studies import Finished

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


_STUDY = "synthetic, samples, kernels, mutag, evidence, digits, cora, regression, or all."


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help=_STUDY, metavar="NAME")],
    out: Annotated[
        Path, typer.Option(help="A folder for figures, tables and the page; an interrupted run resumes there.")
    ],
    samples: Annotated[
        int | None, typer.Option(help="Estimation votes for each graph. Default: as in the paper.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="The seed of all votes. The same seed gives the same tables, byte by byte.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; results do not depend on them. Default: one per core.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer votes and levels: minutes become seconds.")] = False,
) -> None:
    """Reproduce a study of the paper: figures, tables, a page, and which of its claims hold.

    Writes OUT/index.html (open it from disk), OUT/figures, OUT/tables and OUT/results.json. Interrupted runs resume:
    repeat the command. The exit status is 1 when a claim comes out other than documented.

    For example:

    starcert reproduce synthetic --out build/synthetic --quick

    starcert reproduce all --out build/paper
    """
    try:
        import starcert_studies as studies  # noqa: PLC0415  (a package of its own)
    except ModuleNotFoundError as error:
        if error.name != "starcert_studies":
            raise
        hint = "pip install ./studies in a copy of starcert's repository, or run make setup there."
        raise StarcertError(f"The studies are a package of their own, which is not installed here: {hint}") from error

    if name == "all":
        _check_folder_of_all(out, studies.STUDIES)
    else:
        studies.find_study(name, "NAME", "all")
    n_workers = available_cores() if workers is None else workers
    finished = []
    for each in [each for each in studies.STUDIES if not studies.why_alone(each)] if name == "all" else [name]:
        folder = out / each if name == "all" else out
        finished.append(studies.reproduce(each, folder, samples=samples, seed=seed, workers=n_workers, quick=quick))
        show(*_study_view(finished[-1]))
    if name == "all":
        write_whole(out / "index.html", [studies.all_page(finished)])
        show(f"All of it: {out / 'index.html'}")
        for each in filter(studies.why_alone, studies.STUDIES):
            show(f"Left out: {each}. {studies.why_alone(each)}")
    if not all(check.as_documented for each in finished for check in each.checks):
        raise typer.Exit(1)


def _check_folder_of_all(out: Path, studies: Iterable[str]) -> None:
    """The folder of all studies must hold nothing yet, or studies: an `index.html` of another kind stays as it is."""
    names = set(studies)
    begun = any((out / study / "settings.json").exists() for study in names)
    if out.is_dir():  # a process that was killed may have left the empty folder of a study
        there = (each for each in out.iterdir() if not (each.name in names and each.is_dir() and is_empty(each)))
        foreign = not begun and any(there)
    else:
        foreign = os.path.lexists(out)
    if foreign or (out / "settings.json").exists():
        hint = "Give a new folder, or one that this command began."
        raise InvalidParameterError("--out", "be empty or hold the studies", str(out), hint)


def _study_view(finished: Finished) -> list[RenderableType]:
    """The claims of a study, whether they hold, and where its page is."""
    heads = ("claim", "published", "here", "verdict")
    rows = [(check.claim, check.published, check.measured, check.verdict) for check in finished.checks]
    notes = [f"  {check.claim}: {check.note}" for check in finished.checks if check.holds is not True and check.note]
    cost = f"{finished.seconds:.0f} s."
    claims = table(f"{finished.name}: the paper's claims", heads, rows, left=heads, most=len(rows))
    return [claims, *notes, f"{cost} Open {finished.folder / 'index.html'}"]
