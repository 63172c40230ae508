"""A document: a template filled with text, data and scripts, one HTML file that loads nothing and runs its own scripts.

Everything that comes from data is escaped: by the templates (jinja2, autoescape) as text in the page, as JSON in a
block that no name can break out of, and as text nodes in the browser. The page's own policy forbids every other script
and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST_VALUE = 2_000  # a value with more characters is cut: a page is for reading, the settings file for repeating


class KeyFigure(NamedTuple):
    """One of the numbers that stand first: its value, what it is, and the name of its element."""

    value: str
    what: str
    name: str
    class_name: str | None = None  # the class that it is about, shown in brackets


class Notice(NamedTuple):
    """One thing that a reader must know: a heading and what it means."""

    head: str
    text: str


def render(template: str, content: Mapping[str, object]) -> str:
    """A template, by its path in the package, filled with content, in which everything is escaped."""
    return templates().get_template(template).render(content)


def assemble(
    template: str,
    content: Mapping[str, object],
    *,
    title: str,
    scripts: Sequence[str],
    data: object,
    styles: Sequence[str] = ("page.css",),
) -> str:
    """A page with plots, of a template that extends `pages/templates/page.html`.

    Its content are `numbers`, `notices`, `origin`, and whatever its own sections need; `data`, a JSON value, is what
    its scripts draw from. Scripts and styles are files of this package.
    """
    from markupsafe import Markup  # noqa: PLC0415  (only where a page is written)

    drawing, script, style = map(_resources, (["svg_plot.js"], scripts, styles))
    policy = (
        f"default-src 'none'; script-src {_hash(drawing)} {_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    ours = {"style": style, "data": _json(data), "drawing": drawing, "script": script}
    unescaped = {name: Markup(text) for name, text in ours.items()}
    return render(template, {**content, "policy": policy, "title": title, **unescaped})


def as_bytes(html: str) -> bytes:
    """A page as its file holds it; a lone surrogate, as file names may have, is shown as its number."""
    return html.encode("utf-8", "backslashreplace")


def write_page(path: Path, html: str) -> None:
    """Writes a page; it appears under its name only when it is complete."""
    write_whole(path, [as_bytes(html)])


def target(path: str | os.PathLike[str]) -> Path:
    """The file to write a page to, in a folder that exists."""
    try:
        found = Path(path)
    except TypeError:
        raise InvalidParameterError("path", "name a file", path) from None
    if not found.parent.is_dir():
        raise StarcertError(f"{found}: the folder {found.parent} does not exist. Make it first, or name another file.")
    if found.is_dir():
        raise StarcertError(f"{found}: is a folder. Name a file in it, such as {found / 'report.html'}.")
    return found


def _resources(names: Sequence[str]) -> str:
    return "\n".join((files("starcert.pages") / name).read_text(encoding="utf-8") for name in names)


@cache
def templates() -> Environment:
    """The templates of the package: text is escaped, and a missing name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (only where a page is written)

    found = Environment(loader=PackageLoader("starcert", ""), autoescape=True, undefined=StrictUndefined)
    found.trim_blocks = found.lstrip_blocks = found.keep_trailing_newline = True
    found.filters["cut"] = _cut
    return found


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
