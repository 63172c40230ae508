"""Rows as lines of CSV, for spreadsheets and data frames.

A spreadsheet computes what begins like a formula. Names come from data that nobody vouches for, so a text that begins
so is written with an apostrophe before it, which spreadsheets take for "this is text".
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

__all__ = ["csv_line"]

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
