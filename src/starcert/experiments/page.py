"""The page of a study: what was found, the claims, the figures and the tables; it opens from disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from starcert.experiments.checks import Check
from starcert.experiments.outcome import Finished, Outcome, Picture, Table

__all__ = ["all_page", "study_page"]

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
