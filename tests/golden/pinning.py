"""What the golden set pins of a result: every number to the bit, and no text.

Floats are pinned as they are in memory, in hexadecimal. The reason for a verdict is a text; the numbers in it (attacks
weighed, votes drawn for them) are pinned in ascending order, so that a sentence may be reworded.
"""

import csv
import difflib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np

import starcert as sc
from starcert.system.files import versions

FINGERPRINTS = 64
"""Classes of a classifier whose votes are a digest of the copies that it sees."""


STORY = ("folder", "report", "file", "seconds", "version")
"""Where, how fast and by which version something was computed: no part of what was found."""


def plain(certificates) -> list[dict[str, object]]:
    """What certificates claim."""
    return [
        {
            "label": one.label,
            "failure": float(one.bounds.failure[0]).hex(),
            "other": float(one.bounds.other[0]).hex(),
            "radii": [list(radius) for radius in one.frontier.radii],
            "beyond": [list(radius) for radius in one.frontier.beyond],
            "verified": one.frontier.verified,
            "capacity": list(one.capacity),
            "anchored": bool(one.anchored),
        }
        for one in certificates
    ]


def votes_of(votes) -> dict[str, list[list[int]]]:
    return {"estimation": votes.counts.tolist(), "selection": votes.selection.tolist()}


def weighed(certificates, max_flips: int) -> dict[str, object]:
    """What certificates with evidence claim, and their verdicts on every level of at most `max_flips` flips."""
    return {
        "votes": votes_of(certificates.votes),
        "certificates": plain(certificates),
        "counted": [[list(radius) for radius in one.frontier_by_p_A.radii] for one in certificates],
        "any_flips": [one.any_flips for one in certificates],
        "broken": [[list(level) for level in one.broken] for one in certificates],
        "own_votes": [one.verdicts.own_votes for one in certificates],
        "levels": [dict(_verdicts(one, max_flips)) for one in certificates],
    }


def _verdicts(one, max_flips: int) -> Iterator[tuple[str, object]]:
    limits = map(min, one.capacity, one.max_radius or one.capacity)
    for level in product(*(range(min(limit, max_flips) + 1) for limit in limits)):
        if sum(level) <= max_flips:
            verdict = [one.verdict(level), numbers_in(one.why(level))]
            yield str(level), verdict if one.attack(level) is None else [*verdict, _attack(one.attack(level))]


def _attack(found) -> dict[str, object]:
    return {
        "sites": list(found.sites),
        "values": list(found.values),
        "votes": list(found.votes),
        "delta": found.delta.hex(),
    }


def numbers_in(text: str) -> list[int]:
    """The whole numbers in a text, ascending."""
    return sorted(int(number.replace(",", "")) for number in re.findall(r"\d+(?:,\d{3})*", text))


def fingerprint(*views: Callable[[object], np.ndarray]):
    """A classifier that depends on every entry of these views of a copy: its votes are a digest of the copies."""

    def answers(batch):
        return sum(_mixed(np.asarray(view(batch)).reshape(len(batch), -1)) for view in views) % 65_521 % FINGERPRINTS

    return sc.classifiers.from_callable(answers, on="batch", n_classes=FINGERPRINTS, description="fingerprint")


def _mixed(values: np.ndarray) -> np.ndarray:
    """A number for each row; `einsum` adds whole numbers exactly and converts few of them at a time."""
    weights = (np.random.PCG64(0).random_raw(values.shape[1]) >> np.uint64(33)).astype(np.int64)
    return np.einsum("ij,j->i", values, weights, dtype=np.int64, casting="unsafe")


def copies(objects, noise, regions, *views, samples: int = 512) -> list[list[int]]:
    """The fingerprints of noisy copies of each object."""
    smoothed = sc.SmoothedClassifier(fingerprint(*views), noise, regions)
    return smoothed.vote(objects, samples=samples, seed=11).counts.tolist()


def claims_in(path: Path) -> dict[str, object]:
    """The numbers in a file of certificates."""
    written = json.loads(path.read_text(encoding="utf-8"))
    texts = ("format", "version", "says", "audit", "settings", "provenance", "evidence")
    head = {name: value for name, value in written.items() if name not in (*texts, "graphs")}
    if "drawn" in head:
        with np.load(path.with_name(head["drawn"].pop("counts")["file"])) as file:
            head["chunks"] = {name: file[name].tolist() for name in file.files}
    return head | {"graphs": [each | {"anchored": bool(each["anchored"])} for each in written["graphs"]]}


def table_in(path: Path, key: str) -> dict[str, dict[str, object]]:
    """The numbers, truth values and radii in a CSV file: for each row, named by its column `key`, by column.

    The ends of confidence intervals come from scipy, whose last digits are its own affair.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row[key]: {
            column: cell
            for column, cell in row.items()
            if not column.endswith(("_low", "_high")) and re.fullmatch(r"True|False||\[.*\]|[-+0-9.e]+", cell)
        }
        for row in rows
    }


def cells_in(path: Path) -> dict[str, list[str]]:
    """All columns of a CSV file, texts too, but for the last digits of what comes from scipy."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {column: [_short(column, row[column]) for row in rows] for column in rows[0]}


def _short(column: str, cell: str) -> str:
    from_scipy = column in ("low", "high", "chance") or column.endswith(("_low", "_high"))
    return f"{float(cell):.9g}" if from_scipy and cell else cell


def without_story(told: object) -> object:
    """A JSON value without folders and times, and with floats of nine digits: others pin them to the bit."""
    if isinstance(told, dict):
        return {key: without_story(value) for key, value in told.items() if key not in STORY}
    if isinstance(told, list):
        return [without_story(each) for each in told]
    return float(f"{told:.9g}") if isinstance(told, float) else told


class _Words(HTMLParser):
    """Collects the texts of a page, a line for each block; cells of a table are divided by bars."""

    INLINE = frozenset(
        ("a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "u")
    )
    HIDDEN = frozenset(("pre", "script", "style", "svg"))

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.hidden = [""], 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in self.HIDDEN
        self._divide(tag)
        named = dict(attrs)
        self.lines[-1] += "".join(f" {named[key]} " for key in ("aria-label", "alt") if named.get(key))

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in self.HIDDEN
        self._divide(tag)

    def _divide(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.lines[-1] += " | " if self.lines[-1] and not self.lines[-1].endswith("| ") else ""
        elif tag not in self.INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        self.lines[-1] += data if not self.hidden else ""


def words_in(path: Path) -> list[str]:
    """The texts of a page, without its drawings, records in JSON, digests, and the versions of packages."""
    reader, packages = _Words(), versions()
    reader.feed(path.read_text(encoding="utf-8"))
    lines = (re.sub(r"\b[0-9a-f]{32}\b", "…", " ".join(line.split()).strip(" |")) for line in reader.lines)
    return [line for line in lines if line and line.partition(" | ")[0] not in packages]


def differences(found: object, expected: object, where: str = "") -> Iterator[str]:
    """Where a result is not what is pinned. It may have entries that are not pinned: files and tables may grow."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key, value in expected.items():
            if key in found:
                yield from differences(found[key], value, f"{where}/{key}")
            else:
                yield f"{where}/{key}: missing"
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, f"{where}/{number}")
    elif _are_lines(found) and _are_lines(expected):
        changed = difflib.unified_diff(expected, found, "pinned", "found", lineterm="", n=0)
        yield from (f"{where}: {line}" for line in changed)
    elif type(found) is not type(expected) or found != expected:
        yield f"{where}: {found!r}, pinned {expected!r}"


def _are_lines(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
