"""Rows of results as lines of CSV or as a pandas DataFrame.

A spreadsheet computes what begins like a formula. Names come from data that nobody vouches for, so a text that begins
so is written with an apostrophe before it, which spreadsheets take for "this is text".
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from starcert.errors import StarcertError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame", "csv_line", "csv_lines"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_line(cells: Iterable[object]) -> str:
    r"""One line of CSV: numbers as they are, None as nothing, and no text that a spreadsheet would compute.

    Example:
        >>> csv_line(["=1+1", -1, "a,b", None, -0.5])
        '\'=1+1,-1,"a,b",,-0.5\n'
    """
    text = io.StringIO()
    # With this ending, cells that hold either of its signs stand in quotes; the line itself ends in "\n".
    csv.writer(text, lineterminator="\r\n").writerow(
        f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in cells
    )
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    r"""Rows as CSV, line by line; the first one names the columns. Nothing comes of no rows.

    Example:
        >>> list(csv_lines([{"name": "a", "p": 0.5}, {"name": "b", "p": None}]))
        ['name,p\n', 'a,0.5\n', 'b,\n']
    """
    for number, row in enumerate(rows):
        if number == 0:
            yield csv_line(row)
        yield csv_line(row.values())


def as_frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """A DataFrame with these rows; the first one names the columns."""
    try:
        import pandas as pd  # noqa: PLC0415  (only where a frame is wanted)
    except ModuleNotFoundError as error:
        raise StarcertError("Data frames need pandas: pip install 'starcert[pandas]'") from error
    return pd.DataFrame.from_records(list(rows), columns=list(rows[0]) if rows else [])
