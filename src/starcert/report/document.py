"""A report as a page: blocks in templates, data and scripts, one HTML file that loads nothing and runs its own scripts.

Everything that comes from data is escaped: by the templates (jinja2, autoescape) as text in the page, as JSON in a
block that no name can break out of, and as text nodes in the browser. All of it passes through `harmless`, and text
that is written from right to left stands in `<bdi>`, so that it does not move its neighbours: `_shown` does that in
templates, `Text.element` in the browser. The page's own policy forbids every other script and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from starcert.report.blocks import Curves, Marked, Report, Shade, Tones
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import write_whole
from starcert.system.output import harmless

if TYPE_CHECKING:
    from jinja2 import Environment

ANSWER_TONES = {
    "by-p-a": "certified",
    "by-evidence": "ruled out",
    "broken": "broken",
    "open": "open",
    "unknown": "not known",
    "right": "right",
    "wrong": "not right",
    "abstains": "no answer",
}
"""The parts of the bar of an answer."""
DARKEST = 108, 86, 163  # the colour that the grounds of a map tend to; text is dark on all of them
LONGEST_VALUE = 2_000  # a value with more characters is cut: a page is for reading, the settings file for repeating


def render(template: str, content: Mapping[str, object]) -> str:
    """A template, by its path in the package, filled with content, in which everything is escaped."""
    return templates().get_template(template).render(content)


def page_of(report: Report) -> str:
    """A report as a page. Its scripts and styles are files of this package."""
    from markupsafe import Markup  # noqa: PLC0415  (only where a page is written)

    plots = {each.name: each for section in report.sections for each in section.blocks if isinstance(each, Curves)}
    data = {**report.data, "plots": {name: _curves_data(each) for name, each in plots.items()}}
    drawing, script = _resources(["text.js", "svg_plot.js", "charts.js"]), _resources(report.scripts)
    ours = {
        "style": _resources(["page.css"]),
        "data": _json(data),
        "drawing": drawing,
        "script": script,
    }
    content = {"report": report, "policy": policy_of(drawing, script), "answer_tones": ANSWER_TONES}
    return render("report/templates/page.html", {**content, **{name: Markup(text) for name, text in ours.items()}})


def _curves_data(block: Curves) -> dict[str, object]:
    panels = [{**each._asdict(), "lines": [line._asdict() for line in each.lines]} for each in block.panels]
    return {"panels": panels, "many": block.many}


def policy_of(*scripts: str) -> str:
    """The Content-Security-Policy of a page: scripts of its own, and pictures beside it."""
    sources = " ".join(map(_hash, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def as_bytes(html: str) -> bytes:
    """A page as its file holds it; a lone surrogate, as file names may have, is shown as its number."""
    return html.encode("utf-8", "backslashreplace")


def write_page(path: str | os.PathLike[str], report: Report) -> None:
    """Writes a report as a page; it appears under its name only when it is complete."""
    write_whole(target(path), [as_bytes(page_of(report))])


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
    return "\n".join((files("starcert.report") / name).read_text(encoding="utf-8") for name in names)


@cache
def templates() -> Environment:
    """The templates of the package: text is escaped, and a missing name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (only where a page is written)
    from markupsafe import escape  # noqa: PLC0415

    found = Environment(loader=PackageLoader("starcert", ""), autoescape=True, undefined=StrictUndefined)
    found.trim_blocks = found.lstrip_blocks = found.keep_trailing_newline = True
    found.filters["cut"] = _cut
    found.filters["text"] = lambda value: escape(harmless(str(value)))
    found.finalize = _shown
    return found


_FROM_RIGHT = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_FROM_RIGHT}](?:[{_FROM_RIGHT}\\s]*[{_FROM_RIGHT}])?")  # letters from right to left


def _shown(value: object) -> object:
    """A value as a template writes it: harmless, each part that is written from right to left by itself.

    Attributes and titles cannot hold elements: there a template writes `| text`, which leaves out these.
    """
    from markupsafe import Markup, escape  # noqa: PLC0415  (only where a page is written)

    if isinstance(value, Marked):
        return Markup("<{0}>{1}</{0}>").format(value.tag, _shown(value.text))
    if isinstance(value, Tones):
        bars = Markup('<i class="tone {}" style="width: {:.2f}%"></i>')
        return Markup('<div class="tones" aria-hidden="true">{}</div>').format(
            Markup("").join(bars.format(name, 100 * share) for name, share in value.shares)
        )
    if isinstance(value, Shade):
        ground = ", ".join(f"{255 - (255 - dark) * 0.55 * value.share:.0f}" for dark in DARKEST)
        return Markup('<span class="shade" style="background: rgb({})">{}</span>').format(ground, value.text)
    if isinstance(value, tuple):  # the parts of a text
        return Markup("").join(Markup("{}").format(_shown(each)) for each in value)
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = harmless(value)
    return Markup(_RUN.sub(r"<bdi>\g<0></bdi>", str(escape(text)))) if _RUN.search(text) else text


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"


# In JSON, what `harmless` makes visible ; an escaped backslash first, so that it begins none of them.
_ESCAPED = re.compile(r"\\(?:\\|u00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|u20(?:2[a-e]|6[6-9])|[bf])")


def _json(value: object) -> str:
    """JSON in ASCII without <, > and &: it cannot end the element that it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    text = _ESCAPED.sub(lambda found: json.dumps(harmless(json.loads(f'"{found[0]}"')))[1:-1], text)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
