"""Rows as HTML for a notebook, apart from terminal output: the mathematics may use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

MAX_SHOWN = 12  # rows of a long table that a notebook shows


def html_table(rows: Sequence[Mapping[str, object]], *, caption: str = "") -> str:
    """Rows as an HTML table for a notebook, its columns those of the first row; everything is escaped.

    Example:
        >>> html_table([{"a": "<b>", "n": 1}])
        '<table><tr><th>a</th><th>n</th></tr><tr><td>&lt;b&gt;</td><td>1</td></tr></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row.values())}</tr>" for row in rows)
    return f"<table>{title}<tr>{head}</tr>{body}</table>"
