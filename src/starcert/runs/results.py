"""The table of a run: one line for each graph, for spreadsheets and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from starcert.system.tables import csv_line

if TYPE_CHECKING:
    from starcert.archive import Archive

__all__ = ["lines"]


def lines(archive: Archive, base: Sequence[int]) -> Iterator[str]:
    """The rows of an archive as CSV, line by line, with one more column.

    `base_class` is the base classifier's answer on the clean graph, beside `class`, the smoothed classifier's. What is
    not known is empty.

    Args:
        archive: the certificates, and what they are about.
        base: the base classifier's answer on each clean graph.
    """
    for number, (row, answer) in enumerate(zip(archive.rows(), base, strict=True)):
        cells: dict[str, object] = {}
        for name, value in row.items():
            if name == "class":
                cells["base_class"] = answer
            cells[name] = value
        if number == 0:
            yield csv_line(cells)
        yield csv_line(cells.values())
