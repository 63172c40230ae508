"""`starcert init` and `starcert reproduce`: an example that runs as it is, and the paper's studies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.command_line import app
from starcert.cli.printing import show
from starcert.errors import InvalidParameterError
from starcert.system.files import is_empty, write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.experiments.outcome import Finished

__all__ = ["init", "reproduce"]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it; made if need be.")] = Path(),
    example: Annotated[
        str, typer.Option(help="The kind of model: function, or sklearn (needs the extra kernels).", metavar="KIND")
    ] = "function",
) -> None:
    """Write an example to start from: a commented run.toml, a model, and small graphs of three classes.

    Files that are there already are never overwritten.

    For example:

    starcert init && starcert certify run.toml

    starcert init trial --example sklearn
    """
    from starcert.runs.example import write_example  # noqa: PLC0415  (networkx: only where it is needed)

    written = write_example(folder, example)
    graphs = [path for path in written if path.suffix == ".graphml"]
    place = os.path.relpath(graphs[0].parent)
    run = os.path.relpath(next(path for path in written if path.name == "run.toml"))
    show(
        f"Wrote run.toml, model.py, and {len(graphs)} graphs with their classes, in {place}.",
        f"Next: starcert certify {run}",
    )


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="synthetic, samples, kernels, mutag, or all.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="A folder for figures, tables and the page; an interrupted one goes on.")],
    samples: Annotated[
        int | None, typer.Option(help="Estimation votes for each graph.", show_default="as in the paper")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all votes. The same seed gives the same tables, byte by byte.")] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; results do not depend on them.", show_default="one a core")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer votes and levels: minutes become seconds.")] = False,
) -> None:
    """Reproduce a study of the paper: figures, tables, a page, and which of its claims hold.

    Writes OUT/index.html (open it from disk), OUT/figures, OUT/tables and OUT/results.json. Killed and started again,
    it goes on where it was. The exit status is 1 when a claim comes out other than documented.

    For example:

    starcert reproduce synthetic --out build/synthetic --quick

    starcert reproduce all --out build/paper
    """
    from starcert.experiments.outcome import all_page  # noqa: PLC0415  (slow to import)
    from starcert.experiments.reproduce import STUDIES  # noqa: PLC0415
    from starcert.experiments.reproduce import reproduce as run  # noqa: PLC0415
    from starcert.system.processes import available_cores  # noqa: PLC0415

    if name == "all":
        _check_folder_of_all(out, STUDIES)
    elif name not in STUDIES:
        raise InvalidParameterError("NAME", f"be one of {', '.join(STUDIES)}, all", name)
    n_workers = available_cores() if workers is None else workers
    finished = []
    for each in STUDIES if name == "all" else [name]:
        folder = out / each if name == "all" else out
        finished.append(run(each, folder, samples=samples, seed=seed, workers=n_workers, quick=quick))
        show(*_view(finished[-1]))
    if name == "all":
        write_whole(out / "index.html", [all_page(finished)])
        show(f"All of it: {out / 'index.html'}")
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


def _view(finished: Finished) -> Sequence[RenderableType]:
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=f"{finished.name}: the paper's claims", title_justify="left")
    for column in ("claim", "published", "here", "verdict"):
        table.add_column(column, overflow="fold")
    for check in finished.checks:
        table.add_row(check.claim, check.published, check.measured, check.verdict)
    notes = [f"  {check.claim}: {check.note}" for check in finished.checks if check.holds is not True and check.note]
    peak = finished.peak_bytes / 2**30
    told = f"{finished.seconds:.0f} s, at most {peak:.1f} GiB of memory. Open {finished.folder / 'index.html'}"
    return [table, *notes, told]
