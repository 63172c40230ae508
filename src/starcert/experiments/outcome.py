"""What a study ends with: tables, pictures and checks, in the order in which they are read, and its page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcert.experiments.checks import Check
from starcert.report.document import render
from starcert.system.output import csv_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Finished", "Outcome", "Picture", "Table", "all_page", "study_page"]


@dataclass(frozen=True)
class Table:
    """Rows under column names, for a CSV file and the page.

    Attributes:
        name: the name of the file.
        caption: what it shows, a sentence or two.
        columns: the names of the columns.
        rows: the values, one for each column. Numbers are written so that they can be read back exactly.
        shown: whether the page shows it; long tables are linked only.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    shown: bool = True

    def to_csv(self) -> str:
        r"""The table as CSV; floats in the shortest form that reads back exactly.

        Example:
            >>> Table("t", "", ["p", "name"], [[0.1, "a,b"]]).to_csv()
            'p,name\n0.1,"a,b"\n'
        """
        rows = [[float(x) if isinstance(x, float) else x for x in row] for row in self.rows]
        return "".join(map(csv_line, [self.columns, *rows]))


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when it is written.

    Attributes:
        name: the name of the files.
        caption: what it shows, a sentence or two.
        draw: makes the figure.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Outcome:
    """All that a study found.

    Attributes:
        summary: sentences that say what was found.
        pictures: its figures.
        tables: its tables.
        checks: the paper's claims.
        values: more for `results.json`.
    """

    summary: Sequence[str]
    pictures: Sequence[Picture]
    tables: Sequence[Table]
    checks: Sequence[Check]
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """A study that was written to its folder.

    Attributes:
        name: what it is called.
        about: what it shows.
        folder: where its `index.html` is.
        checks: the paper's claims.
        seconds: how long this run took, without what was there before.
        peak_bytes: the most memory that this process held, with the largest of its workers for each of them.
    """

    name: str
    about: str
    folder: Path
    checks: Sequence[Check]
    seconds: float
    peak_bytes: int


def study_page(title: str, outcome: Outcome, results: dict[str, Any]) -> str:
    """The page of one study: what was found, the claims, the figures and the tables; it opens from disk."""
    made = {name: results[name] for name in ("settings", "seconds", "peak_bytes", "provenance")}
    return render(
        "report/templates/study.html", {"title": title, "outcome": outcome, "made": json.dumps(made, indent=2)}
    )


def all_page(finished: Sequence[Finished]) -> str:
    """The page that leads to several studies."""
    return render("report/templates/studies.html", {"title": "The paper, reproduced", "finished": finished})
