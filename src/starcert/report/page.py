"""The page: text and data put together into one file that loads nothing and runs nothing but its own scripts.

Everything that comes from data is escaped: as text in the page, as JSON in a block that no name can break out of, and
as text nodes in the browser. The page's own policy forbids every other script and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from starcert.archive import Archive
from starcert.errors import InvalidParameterError, StarcertError
from starcert.files import write_whole
from starcert.graphs.sites import Sites
from starcert.report.content import Content, content, law_text
from starcert.report.findings import Notice, Summary
from starcert.smoothing import capacity

__all__ = ["write_report"]

SCRIPTS = ("text.js", "frontier.js", "layout.js", "drawing.js", "plots.js", "table.js", "page.js")
LONGEST_VALUE = 2_000
"""A setting with more characters is cut: the page is for reading, the settings file for repeating."""


def write_report(
    path: str | os.PathLike[str],
    archive: Archive,
    sites: Sequence[Sites],
    *,
    title: str = "Robustness certificates",
) -> None:
    """Writes certificates as one self-contained HTML page.

    The page opens from disk in any browser and loads nothing. It appears under its name only when it is complete.

    Args:
        path: the file to write; one that is there is replaced.
        archive: the certificates and what they are about.
        sites: for each graph of the archive its sites, as `SmoothedClassifier.sites` makes them: they are drawn.
        title: the heading of the page.

    Raises:
        InvalidParameterError: if `sites` are not those of the archive's graphs.
        StarcertError: if plotly is missing or the file cannot be written.
    """
    if not isinstance(archive, Archive):
        hint = "Make one with Archive.from_result(certificates)."
        raise InvalidParameterError("archive", "be an Archive", type(archive).__name__, hint)
    target = _target(path)
    sites = list(sites)
    _check_sites(archive, sites)
    plotly = _plotly()  # before the work, not after
    html = _page(archive, content(archive, sites), title, plotly)
    try:
        # A lone surrogate, as file names may have, is no text: it is shown as its number.
        write_whole(target, [html.encode("utf-8", "backslashreplace").decode("utf-8")])
    except OSError as error:
        advice = "See that the folder may be written to and has room, then run the same again."
        raise StarcertError(f"{target}: cannot write the report ({error.strerror or error}). {advice}") from error


def _page(archive: Archive, found: Content, title: str, plotly: str) -> str:
    resources = files("starcert.report")
    style = (resources / "page.css").read_text(encoding="utf-8")
    own = "\n".join((resources / name).read_text(encoding="utf-8") for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_hash(plotly)} {_hash(own)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": escape(policy),
        "title": escape(title),
        "style": style,
        "statement": _statement(archive),
        "numbers": "".join(_numbers(archive, found.counts)),
        "notices": "".join(map(_notice, found.notices)),
        "regions": _table((region, law_text(archive.noise[region])) for region in archive.noise.regions),
        "settings": _table(_settings(archive)),
        "provenance": _table(archive.provenance.items()),
        "data": _json(found.data),
        "plotly": plotly,
        "script": own,
    }
    template = (resources / "page.html").read_text(encoding="utf-8")
    # In one pass: what was put in is not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _statement(archive: Archive) -> str:
    graphs = "1 graph is" if len(archive) == 1 else f"{len(archive):,} graphs are"
    return (
        f"<p>On this page {graphs} certified for a smoothed classifier: its answer is the class that the base "
        "classifier gives most often when the node pairs of each region are flipped at random. A certified radius "
        "means that its answer stays the same as long as an attacker flips at most so many node pairs in each region "
        "and none outside them: a statement about the <em>smoothed</em> classifier, true with probability "
        f"≥&nbsp;1&nbsp;−&nbsp;alpha&nbsp;=&nbsp;{1 - archive.alpha:.6g} over the sampling, each certificate by "
        "itself.</p>"
    )


def _numbers(archive: Archive, counts: Summary) -> Iterator[str]:
    yield _number(f"{counts.n_graphs:,}", "graph" if counts.n_graphs == 1 else "graphs", "number-graphs")
    if counts.majority is not None:
        among = "" if counts.n_labelled == counts.n_graphs else f" of the {counts.n_labelled:,} with a known class"
        yield _number(f"{counts.n_right / counts.n_labelled:.1%}", f"answered right{among}", "number-accuracy")
        name = escape(archive.class_names[counts.majority[0]])
        share = f"{counts.majority[1] / counts.n_labelled:.1%}"
        yield _number(share, f"majority-class share (<bdi>{name}</bdi>)", "number-majority")
    else:
        yield _number("unknown", "accuracy: the true classes are not known", "number-accuracy")
    yield _number(f"{counts.n_abstained / counts.n_graphs:.1%}", "abstentions", "number-abstained")
    yield _number(f"{archive.alpha:g}", "alpha, the failure probability of each certificate", "number-alpha")


def _number(value: str, what: str, name: str) -> str:
    return f'<div class="number" id="{name}"><dt>{what}</dt><dd>{value}</dd></div>'


def _notice(notice: Notice) -> str:
    return f'<div class="notice" role="note"><h3>{escape(notice.head)}</h3><p>{escape(notice.text)}</p></div>'


def _settings(archive: Archive) -> Iterator[tuple[str, str]]:
    totals = archive.votes.counts.sum(axis=1)
    least, most = int(totals.min()), int(totals.max())
    yield "estimation votes per graph", f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if archive.votes.selection is None:
        yield "selection votes per graph", "none: the class is chosen on the estimation votes, at the price of alpha"
    else:
        chosen = archive.votes.selection.sum(axis=1)
        least, most = int(chosen.min()), int(chosen.max())
        yield "selection votes per graph", f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if archive.max_radius is not None:
        asked = zip(archive.noise.axes, archive.max_radius, strict=True)
        yield "max_radius", ", ".join(f"{axis} {count:,}" for axis, count in asked)
    yield from _flattened(archive.settings)


def _flattened(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(rows: Iterable[tuple[str, str]]) -> str:
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


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # noqa: PLC0415  (slow to import)

    script: str = get_plotlyjs()
    return script


def _check_sites(archive: Archive, sites: Sequence[Sites]) -> None:
    if len(sites) != len(archive):
        raise InvalidParameterError("sites", f"have one entry for each of {len(archive)} graphs", len(sites))
    for number, (each, known) in enumerate(zip(sites, archive.capacities, strict=True)):
        if not isinstance(each, Sites):
            hint = "Make them with SmoothedClassifier.sites(graph)."
            raise InvalidParameterError(f"sites[{number}]", "be Sites", type(each).__name__, hint)
        if set(each.regions) != set(archive.noise.regions):
            wanted = f"have the regions {', '.join(archive.noise.regions)}"
            raise InvalidParameterError(f"sites[{number}]", wanted, list(each.regions))
        if known is not None and capacity(each, archive.noise) != known:
            wanted = f"offer an attacker the sites of {archive.names[number]!r}, {known}"
            hint = "Give the sites of the archive's graphs in the archive's order."
            raise InvalidParameterError(f"sites[{number}]", wanted, capacity(each, archive.noise), hint)


def _target(path: str | os.PathLike[str]) -> Path:
    try:
        target = Path(path)
    except TypeError:
        raise InvalidParameterError("path", "name a file", path) from None
    if not target.parent.is_dir():
        raise StarcertError(
            f"{target}: the folder {target.parent} does not exist. Make it first, or name another file."
        )
    if target.is_dir():
        raise StarcertError(f"{target}: is a folder. Name a file in it, such as {target / 'report.html'}.")
    return target
