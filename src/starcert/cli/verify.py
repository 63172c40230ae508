"""`starcert verify`: are the claims in a file of certificates true?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.app import JsonOption, app
from starcert.cli.views import MOST_ROWS, show
from starcert.system.words import at_most

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.archive import Verification

__all__ = ["verify"]


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A file of certificates, as `starcert certify` writes it.")],
    as_json: JsonOption = False,
) -> None:
    """Proves the claims in a file of certificates again, from its votes and its noise, in exact arithmetic.

    Ends with status 0 if every claim is true, 1 if any is refuted, 2 if the file cannot be read.

    For example:

    starcert verify certificates.json
    """
    from starcert.archive import verify as verify_file  # noqa: PLC0415  (numba and flint: only where they are needed)

    result = verify_file(file, progress=None)
    if as_json:
        print(json.dumps(_as_object(result)))
    else:
        show(*_as_view(result))
    if result.refuted:
        raise typer.Exit(1)


def _as_object(result: Verification) -> dict[str, object]:
    from starcert.archive.verification import TAKEN_AS_STATED  # noqa: PLC0415

    return {
        "file": result.path,
        "verdict": result.verdict,
        "graphs": len(result.archive),
        "noise": result.archive.noise.to_dict(),
        "alpha": result.archive.alpha,
        "together": result.archive.together,
        "proved_in_whole_numbers": result.listed,
        "proved_in_balls": result.enclosed,
        "taken_as_stated": TAKEN_AS_STATED,
        "anchored": sorted({reason for reason in result.archive.anchored if reason}),
        "mismatches": [
            {
                "graph": each.graph,
                "name": each.name,
                "field": each.field,
                "kind": each.kind,
                "claimed": each.claimed,
                "proved": each.proved,
            }
            for each in result.mismatches
        ],
    }


def _as_view(result: Verification) -> list[RenderableType]:
    from starcert.archive.verification import TAKEN_AS_STATED  # noqa: PLC0415

    archive = result.archive
    parts: list[RenderableType] = []
    if result.mismatches:
        parts += [_mismatches(result), ""]
    abstained = sum(one.abstained for one in archive.certificates)
    whose = "each graph" if archive.together == 1 else f"all {archive.together:,} graphs together"
    parts += [
        str(result),
        f"Noise {json.dumps(archive.noise.to_dict())}, alpha {at_most(archive.alpha)} for {whose}; "
        f"{abstained:,} abstain.",
        f"Each verdict is proved in balls; those on {result.listed:,} of {result.listed + result.enclosed:,} radii "
        f"once more in whole numbers.",
        TAKEN_AS_STATED,
    ]
    reasons = sorted({reason for reason in archive.anchored if reason})
    parts += [
        f"Anchored: {_plain(reason)} The certificates speak of regions frozen at each graph." for reason in reasons
    ]
    return parts


def _mismatches(result: Verification) -> RenderableType:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title="Claims that are not what can be proved", title_justify="left")
    for name in ("graph", "name", "claim", "verdict", "claimed", "proved"):
        table.add_column(name, justify="right" if name == "graph" else "left", overflow="fold")
    for each in [*result.refuted, *result.weaker][:MOST_ROWS]:
        said = (_short(each.claimed), _short(each.proved))
        row = (str(each.graph), _plain(each.name), each.field, each.kind, *said)
        table.add_row(*map(Text, row))  # names come from data: nothing in them is read as markup
    if len(result.mismatches) > MOST_ROWS:
        table.caption = f"… and {len(result.mismatches) - MOST_ROWS:,} more (--json has all)"
    return table


def _short(value: object, most: int = 4) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    more = f" and {len(value) - most:,} more" if len(value) > most else ""
    return " ".join(map(str, value[:most])) + more or "none"


def _plain(text: str) -> str:
    """Text from data as a terminal may show it: no control characters."""
    return text if text.isprintable() else ascii(text)
