"""`starcert compare`: two or more finished runs on the same graphs, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.command_line import MOST_ROWS, app, show
from starcert.system.errors import StarcertError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.pages.compare_page import Comparison

__all__ = ["compare"]


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs, or their certificates.json.")],
    out: Annotated[Path, typer.Option("--out", help="The page to write; another one that is there is kept.")] = Path(
        "compare.html"
    ),
    threat: Annotated[
        str | None,
        typer.Option(
            help="Compare under any 1, any 2, … flips, wherever they are, up to these: flips:2.",
            metavar="flips:K",
            show_default="as many as the runs were asked about, at least 2",
        ),
    ] = None,
) -> None:
    """Compares two or more runs on the same graphs: what is certified, broken and open, curves, maps, differences.

    They may differ in model, noise, votes or argument. Graphs and axes that only some of them have are left out.

    For example:

    starcert compare runs/a runs/b --out compare.html

    starcert compare runs/a runs/b --threat flips:3
    """
    from starcert.objects.noise import threat_of  # noqa: PLC0415

    asked = None if threat is None else threat_of(threat, "--threat")
    from starcert import files as archive  # noqa: PLC0415  (numba and flint: only where they are needed)
    from starcert.pages.compare_page import write_comparison  # noqa: PLC0415
    from starcert.runs.run_file import CERTIFICATES  # noqa: PLC0415

    files = {str(each): each / CERTIFICATES if each.is_dir() else each for each in runs}
    for name, file in files.items():
        if not file.is_file():
            raise StarcertError(f"{name}: no finished run is there. Name the folder that starcert certify has written.")
    read = {name: archive.read(file).confirmed() for name, file in files.items()}
    found = write_comparison(out, read, threat=asked)
    show(*_view(found), f"Comparison: {out}")


def _view(found: Comparison) -> list[RenderableType]:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from starcert.pages.findings import counted, several  # noqa: PLC0415

    right = "right" if found.known else "answered"
    verdicts = Table(title="Certified, broken, open under flips wherever they are", title_justify="left")
    for name in ("run", "flips", f"{found.one}s", right, "by p_A", "with evidence", "broken", "open"):
        verdicts.add_column(name, justify="left" if name in ("run", "flips") else "right")
    for run in found.verdicts[:MOST_ROWS]:
        verdicts.add_row(*map(Text, (run.run, *run.cells)))
    table = Table(title=f"Compared with {found.names[0]}", title_justify="left")
    for name in ("run", "flips", "share", "difference", "95% interval"):
        table.add_column(name, justify="left" if name in ("run", "flips") else "right")
    for each in found.differences[:MOST_ROWS]:
        interval = f"{each.low:+.1%} to {each.high:+.1%}"
        table.add_row(*map(Text, (each.run, each.flips, f"{each.share:.1%}", f"{each.by:+.1%}", interval)))
    n = len(found.rows)
    are, these = "is" if n == 1 else "are", "this" if found.n_graphs == 1 else "these"
    return [
        *(f"{notice.head}. {notice.text}" for notice in found.notices),
        verdicts,
        table,
        f"An interval that holds 0 shows no difference on {these} {several(found.n_graphs, found.one)}.",
        f"{counted(n, found.one)} {are} answered otherwise or certified against other numbers of flips.",
    ]
