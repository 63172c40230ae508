"""What a study ends with: tables, pictures and checks, in the order in which they are read, and its page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcert.experiments.checks import Check
from starcert.system.tables import csv_line

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


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
figure { margin: 2rem 0; } figure img { max-width: 100%; } figcaption, .small { color: #555; font-size: .9rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
.holds { color: #00563f; font-weight: 600; } .fails { color: #a33f00; font-weight: 600; } .open { color: #555; }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto; font-size: .8rem; }
"""


def study_page(title: str, outcome: Outcome, results: dict[str, Any]) -> str:
    """The page of one study."""
    made = {name: results[name] for name in ("settings", "seconds", "peak_bytes", "provenance")}
    parts = [
        *(f"<p>{escape(sentence)}</p>" for sentence in outcome.summary),
        "<h2>The paper's claims</h2>",
        _checks(outcome.checks),
        "<h2>Figures</h2>",
        *map(_picture, outcome.pictures),
        "<h2>Tables</h2>",
        *map(_table, outcome.tables),
        "<h2>How it was made</h2>",
        f"<pre>{escape(json.dumps(made, indent=2))}</pre>",
        '<p class="small">All of this, for machines: <a href="results.json">results.json</a></p>',
    ]
    return _page(title, parts)


def all_page(finished: Sequence[Finished]) -> str:
    """The page that leads to several studies."""
    parts = []
    for each in finished:
        place = escape(f"{each.folder.name}/index.html")
        parts += [f'<h2><a href="{place}">{escape(each.name)}</a></h2>', f"<p>{escape(each.about)}</p>"]
        parts.append(_checks(each.checks))
    return _page("The paper, reproduced", parts)


def _page(title: str, parts: Sequence[str]) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _checks(checks: Sequence[Check]) -> str:
    rows = []
    for check in checks:
        kind = "open" if check.holds is None else "holds" if check.holds else "fails"
        cells = [check.claim, check.published, check.measured]
        told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        note = f'<br><span class="small">{escape(check.note)}</span>' if check.note else ""
        rows.append(f'<tr>{told}<td><span class="{kind}">{escape(check.verdict)}</span>{note}</td></tr>')
    head = "<tr><th>claim</th><th>published</th><th>here</th><th>verdict</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _picture(picture: Picture) -> str:
    place, caption = escape(f"figures/{picture.name}"), escape(picture.caption)
    files = f'<a href="{place}.svg">SVG</a>, <a href="{place}.png">PNG</a>'
    return f'<figure><img src="{place}.svg" alt="{caption}"><figcaption>{caption} ({files})</figcaption></figure>'


def _table(table: Table) -> str:
    link = f'<a href="tables/{escape(table.name)}.csv">{escape(table.name)}.csv</a>'
    told = f"<p>{escape(table.caption)} ({link})</p>"
    if not table.shown:
        return told
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(_short(cell))}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"{told}<table><tr>{head}</tr>{rows}</table>"


def _short(cell: object) -> str:
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)
