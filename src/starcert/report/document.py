"""A document: text, data and scripts put together into one HTML file that loads nothing and runs only its own scripts.

Everything that comes from data is escaped: as text in the page, as JSON in a block that no name can break out of, and
as text nodes in the browser. The page's own policy forbids every other script and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.system.files import write_whole

__all__ = ["assemble", "notice_html", "number_html", "plotly_script", "resources", "table_html", "target", "write_page"]

LONGEST_VALUE = 2_000
"""A value with more characters is cut: a page is for reading, the settings file for repeating."""


def assemble(
    template: str, parts: Mapping[str, str], *, title: str, style: str, script: str, data: object, plotly: str
) -> str:
    """The page that a template makes: `{{name}}` in it is replaced by the part of that name.

    Args:
        template: the page, with places for policy, title, style, data, plotly, script and the further parts.
        parts: HTML by name; whatever in it comes from data must be escaped already.
        title: the heading, as text.
        style: the style sheet.
        script: the page's own script.
        data: what the script draws from, as JSON can say it.
        plotly: the plotting library's script.
    """
    policy = (
        f"default-src 'none'; script-src {_hash(plotly)} {_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    filled = {
        **parts,
        "policy": escape(policy),
        "title": escape(title),
        "style": style,
        "data": _json(data),
        "plotly": plotly,
        "script": script,
    }
    # In one pass: what was put in is not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: filled[match[1]], template)


def write_page(path: Path, html: str) -> None:
    """Writes a page; it appears under its name only when it is complete."""
    try:
        # A lone surrogate, as file names may have, is no text: it is shown as its number.
        write_whole(path, [html.encode("utf-8", "backslashreplace").decode("utf-8")])
    except OSError as error:
        advice = "See that the folder may be written to and has room, then run the same again."
        raise StarcertError(f"{path}: cannot write the report ({error.strerror or error}). {advice}") from error


def target(path: str | os.PathLike[str]) -> Path:
    """The file that a page shall be written to, in a folder that is there."""
    try:
        found = Path(path)
    except TypeError:
        raise InvalidParameterError("path", "name a file", path) from None
    if not found.parent.is_dir():
        raise StarcertError(f"{found}: the folder {found.parent} does not exist. Make it first, or name another file.")
    if found.is_dir():
        raise StarcertError(f"{found}: is a folder. Name a file in it, such as {found / 'report.html'}.")
    return found


def plotly_script() -> str:
    """The whole of plotly.js, to be put into a page."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415  (only where a page is written)

    script: str = get_plotlyjs()
    return script


def resources(package: str, names: Sequence[str]) -> str:
    """The texts of files that lie in a package, one after the other."""
    return "\n".join((files(package) / name).read_text(encoding="utf-8") for name in names)


def number_html(value: str, what: str, name: str) -> str:
    """One of the numbers that stand first; `what` is HTML."""
    return f'<div class="number" id="{name}"><dt>{what}</dt><dd>{escape(value)}</dd></div>'


def notice_html(head: str, text: str) -> str:
    """A warning, from plain text."""
    return f'<div class="notice" role="note"><h3>{escape(head)}</h3><p>{escape(text)}</p></div>'


def table_html(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table, from plain text."""
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(_cut(value))}</td></tr>' for name, value in rows
    )
    return f"<table>{cells}</table>" if cells else "<p>Nothing was recorded.</p>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"


def _json(value: object) -> str:
    """JSON in ASCII without <, > and &: it cannot end the element that it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
