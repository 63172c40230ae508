"""Tables for a terminal. Nothing in a cell is read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.table import Table

MAX_ROWS = 20  # the most rows of a table that are printed
LONGEST_WORD = 30  # longer words are broken where there is no room


def table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: Iterable[str] = (),
    most: int = MAX_ROWS,
    more: str = "--json has all",
) -> Table:
    """A table of at most `most` rows; its caption says where there are `more`.

    Columns in `left` are aligned on the left, numbers on the right. Nothing in a cell is read as markup.
    """
    from rich.table import Table  # noqa: PLC0415  (slow to import)
    from rich.text import Text  # noqa: PLC0415

    found, texts, cells = Table(title=title, title_justify="left"), set(left), list(rows)
    for place, head in enumerate(heads):
        column = [head, *(str(row[place]) for row in cells[:most])]
        longest = min(LONGEST_WORD, max(map(len, " ".join(column).split()), default=0))  # no word is broken
        side: Literal["left", "right"] = "left" if head in texts else "right"
        found.add_column(Text(head), justify=side, overflow="fold", min_width=longest)
    for row in cells[:most]:
        found.add_row(*(Text(str(cell)) for cell in row))
    if len(cells) > most:
        found.caption = f"… and {len(cells) - most:,} more ({more})"
    return found


def facts(title: str, rows: Iterable[tuple[str, object]]) -> Table:
    """Names and values beside each other, without a head."""
    found = table(title, ("", " "), rows, left=("", " "), most=1_000)
    found.show_header = False
    return found
