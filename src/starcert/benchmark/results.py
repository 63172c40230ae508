"""The results of a benchmark: a line for each method, data set and threat, all folds together, and the files of them.

The gain of a method is what it has right and certified, less what a blind model has right, object by object.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.benchmark.archives import Theirs
from starcert.benchmark.data import DRAWN
from starcert.benchmark.outcomes import SIZES, kind_of, read_threat
from starcert.claims.gains import paired_difference
from starcert.claims.outcomes import Outcome
from starcert.claims.tables import latex
from starcert.report.blocks import Curve, Curves, Headline, Marked, Panel, Report, Section, TableBlock, Text, Tones
from starcert.report.document import as_bytes, page_of
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

Mask = npt.NDArray[np.bool_]

BLIND = "blind"
FEW = 100  # test objects, below which intervals of gains are wide


@dataclass(frozen=True)
class Cell:
    """All test objects under attacks of at most a size, in shares of all of them; what is wrong is counted apart."""

    size: int  # the number of changes
    certified: float | None = None  # right and certified; None, like all after it, where the method was not asked
    broken: float | None = None  # right, and an attack is known
    open: float | None = None  # right, and neither
    gain: float | None = None  # what is certified less what the blind model has right; None: it is that, or was not run
    low: float | None = None  # its 95% interval, paired object by object
    high: float | None = None

    def __str__(self) -> str:
        if self.gain is None or self.low is None or self.high is None:
            return "–" if self.certified is None else ""
        return f"{100 * self.gain:+.1f} ({100 * self.low:+.1f} to {100 * self.high:+.1f})".replace("-", "−")


@dataclass(frozen=True)
class Line:
    """A method on a data set under a threat."""

    data: str
    objects: str  # what is tested: graphs or nodes
    threat: str
    method: str
    model: str  # the network that it trains; "": none
    certifies: str  # what a certificate is about, and how sure it is
    alpha: float | None  # the probability of a false claim about an object; None: certain
    folds: int
    graphs: int  # tested, in all folds
    majority: float  # the share of the most frequent class
    right: float  # of all graphs, those that are answered right without attack
    abstained: float  # no answer, which counts as wrong
    blind: float | None  # what the blind model has right
    tries: int  # settings that validation chose from, in each fold
    chosen: str  # and how often each was
    votes: int
    forward_passes: int
    cells: tuple[Cell, ...]  # by size, no attack first
    asked: int | None  # the largest size that the method can speak about

    @property
    def kind(self) -> str:
        """The kind of attacks."""
        return kind_of(self.threat)[0]

    def texts(self) -> dict[str, str]:
        """The line of a table in words, by the heads of its columns; shares are in percent."""
        shares = {str(cell.size): percent(cell.certified) for cell in self.cells[1:]}
        plain = {"method": self.method, "right": percent(self.right), "abstained": percent(self.abstained)}
        return {**plain, **shares, "gain at 1": str(self.cells[1])}

    def rows(self) -> Iterator[dict[str, object]]:
        """Rows of a CSV file, one for each size; empty where the method was not asked."""
        about = {name: value for name, value in asdict(self).items() if name not in ("cells", "asked")}
        for cell in self.cells:
            yield {**about, "alpha": "" if self.alpha is None else self.alpha, **asdict(cell)}


def percent(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.1f}"


def lines_of(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The rows of all folds, as one line for each data set, threat and method: the blind model, then in their order."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["threat"], row["method"]), []).append(row)
    wise = {(row["data"], row["threat"], row["fold"]): _right(row) for row in rows if row["method"] == BLIND}
    found = [_line(sorted(each, key=lambda row: int(row["fold"])), wise) for each in groups.values()]
    places = {key: number for number, key in enumerate(dict.fromkeys((each.data, each.threat) for each in found))}
    return sorted(found, key=lambda each: (places[each.data, each.threat], each.method != BLIND))


def _right(row: Mapping[str, Any]) -> list[bool]:
    return [one[0] == label for one, label in zip(row["outcomes"], row["truth"], strict=True)]


def _line(rows: Sequence[Mapping[str, Any]], wise: Mapping[tuple[str, str, int], list[bool]]) -> Line:
    first, (_, most) = rows[0], kind_of(rows[0]["threat"])
    found = [Outcome(*one) for row in rows for one in row["outcomes"]]
    truth = [label for row in rows for label in row["truth"]]
    right = np.array([each for row in rows for each in _right(row)], dtype=np.bool_)
    answers = [wise.get((row["data"], row["threat"], row["fold"])) for row in rows]
    known = all(each is not None for each in answers)
    blind = np.array([one for each in answers for one in each or ()], dtype=np.bool_) if known else None
    numbers = None if first["data"] in DRAWN else [number for row in rows for number in row["numbers"]]
    limit = min((row["asked"] for row in rows if row["asked"] is not None), default=None)

    def cell(size: int) -> Cell:
        if limit is not None and size > limit:
            return Cell(size)
        states = np.array([one.state(size) for one in found])
        safe = right & (states == "certified")
        gain = () if blind is None or first["method"] == BLIND else gain_of(safe, blind, numbers)
        shares = (float((right & (states == state)).mean()) for state in ("broken", "open"))
        return Cell(size, float(safe.mean()), *shares, *gain)

    chosen = Counter(row["chosen"] for row in rows)
    return Line(
        **{name: first[name] for name in ("data", "objects", "threat", "method", "model", "certifies")},
        alpha=max((row["alpha"] for row in rows if row["alpha"] is not None), default=None),
        folds=len(rows),
        graphs=len(found),
        majority=max(Counter(truth).values()) / len(truth),
        right=float(right.mean()),
        abstained=float(np.mean([one.answer is None for one in found])),
        blind=None if blind is None else float(blind.mean()),
        tries=len(first["tries"]),
        chosen=", ".join(f"{name} ({times})" for name, times in chosen.items()),
        votes=sum(row["votes"] for row in rows),
        forward_passes=sum(row["forward_passes"] for row in rows),
        cells=tuple(cell(size) for size in SIZES if size <= most),
        asked=limit,
    )


def gain_of(safe: Mask, blind: Mask, numbers: Sequence[int] | None = None) -> tuple[float, float, float]:
    """The gain on objects that are right and certified, given which the blind model has right, and its interval.

    `numbers` says which objects are the same; None: all differ, and the interval is exact. Where splits test some of
    them several times, it is that of the mean over different objects, by its standard error.

    Example:
        >>> gain_of(np.array([True, True, False]), np.array([True, False, False]))[0]
        0.3333333333333333
    """
    if numbers is None or len(set(numbers)) == len(numbers):
        return paired_difference(blind, safe)
    _, places = np.unique(numbers, return_inverse=True)
    times = np.bincount(places)
    sums = np.bincount(places, weights=safe.astype(float) - blind)
    mean = float(sums.sum() / times.sum())
    error = float(np.sqrt(np.sum((sums - mean * times) ** 2)) / times.sum())
    return mean, mean - 1.96 * error, mean + 1.96 * error


@cache
def _read(name: str) -> dict[str, Any]:
    """A file of texts beside this one."""
    return tomllib.loads(resources.files("starcert.benchmark").joinpath(f"{name}.toml").read_text("utf-8"))


class Shown(NamedTuple):
    """A data set under a threat, with the results of each method."""

    data: str
    threat: str
    lines: Sequence[Line]

    @property
    def words(self) -> str:
        """The attacks in words."""
        found: str = _read("texts")["attacks"].get(self.lines[0].kind) or read_threat(self.threat).label
        return found

    @property
    def sentence(self) -> str:
        """A sentence on the gain at the smallest attacks, or on its absence."""
        if (share := self.lines[0].blind) is None:
            return "No blind model was run, so certificates cannot be compared with what is certified for free."
        others = [line for line in self.lines if line.method != BLIND and line.cells[1].certified is not None]
        best = max(others, default=None, key=lambda line: line.cells[1].certified or 0.0)
        first = (f"{self.lines[0].majority:.1%} are of the most frequent class. "
                 f"A model that sees no edges has {share:.1%} right, whatever the attack.")  # fmt: skip
        if (number := self.lines[0].graphs) < FEW:
            first = f"{first} With {number} test {self.lines[0].objects}, only large differences can be seen."
        if best is None:
            return first
        cell = best.cells[1]
        assert cell.gain is not None and cell.low is not None and cell.certified is not None  # noqa: PT018
        verdict = (
            "more than that, by the 95% interval" if cell.low > 0
            else "more than that, but perhaps by chance" if cell.gain > 0
            else "as many" if cell.gain == 0 else "fewer than that"
        )  # fmt: skip
        return f"{first} At size 1, “{best.method}” has the most right and certified, {cell.certified:.1%}: {verdict}."

    @property
    def headline(self) -> Headline | None:
        """The states under the smallest attacks with the method that certifies most; None where none was asked."""
        others = [line for line in self.lines if line.method != BLIND and line.cells[1].certified is not None]
        if not others:
            return None
        best = max(others, key=lambda line: line.cells[1].certified or 0.0)
        cell = best.cells[1]
        states = {"certified": cell.certified or 0.0, "broken": cell.broken or 0.0, "open": cell.open or 0.0}
        first, *more = (f"{percent(share)}% {state}" for state, share in states.items())
        told = ", ".join(["", *more, f"of {self.lines[0].graphs:,} {self.lines[0].objects}"])
        blind = "" if best.blind is None else f"; a model that sees no edges: {percent(best.blind)}%"
        shares = {"by-p-a": cell.certified or 0.0, "broken": cell.broken or 0.0, "open": cell.open or 0.0}
        shares |= {"wrong": max(0.0, 1 - sum(shares.values()) - best.abstained), "abstains": best.abstained}
        phrase = (f"“{best.method}” certifies most at size 1: ", Marked(first, "strong"), f"{told}{blind}.")
        values = {"data": self.data, "threat": self.threat, "method": best.method, **states, "blind": best.blind}
        return Headline(phrase, Tones(tuple(shares.items())), values, f"{self.data}, {self.words}")

    def section(self, number: int) -> Section:
        """The part of the page: a curve for each method, and the table."""
        first, curves = self.lines[0], list[Curve]()
        for line in self.lines:
            shares = {cell.size: cell.certified for cell in line.cells if cell.certified is not None}
            curves.append(Curve(line.method, list(shares), list(shares.values()), look="line"))
        about = f"Right and certified by the number of {self.words}, a line for each method"
        folds = "1 fold" if first.folds == 1 else f"{first.folds} folds"
        caption = (
            f"The share of the {first.graphs} test {first.objects} ({folds}) that is right and certified by the number "
            f"of {self.words}. Where a line ends early, no more changes were tried."
        )
        rows = []
        for line in self.lines:
            texts, one = line.texts(), line.cells[1]
            gain = texts.pop("gain at 1")
            rows.append([*texts.values(), percent(one.broken), percent(one.open), gain])
        heads = ["method", "right", "abstained", *(f"{cell.size}, %" for cell in first.cells[1:]), "broken at 1",
                 "open at 1", "gain at 1"]  # fmt: skip
        panel = Panel(f"{first.kind}, at most", f"share of test {first.objects}", curves)
        blocks = (
            Text(phrase=self.sentence),
            Curves(name=f"curves-{number}", panels=[panel], about=about),
            Text(phrase=caption, caption=True),
            TableBlock(name=f"table-{number}", heads=heads, rows=rows),
        )
        return Section(f"part-{number}", f"{self.data}: {self.words}", blocks)


def write_outputs(out: Path, lines: Sequence[Line], theirs: Sequence[Theirs], about: Mapping[str, Any]) -> None:
    """Writes `index.html`, `benchmark.csv`, `benchmark.json`, `benchmark.tex` and `benchmark.md`."""
    shown = [Shown(data, threat, [line for line in lines if (line.data, line.threat) == (data, threat)])
             for data, threat in dict.fromkeys((line.data, line.threat) for line in lines)]  # fmt: skip
    write_whole(out / "benchmark.csv", csv_lines([row for line in lines for row in line.rows()]))
    published = _read("published")["figures"]
    everything = {**about, "lines": [asdict(line) for line in lines], "theirs": [asdict(each) for each in theirs],
                  "published": published}  # fmt: skip
    write_whole(out / "benchmark.json", [json.dumps(everything, indent=1), "\n"])
    write_whole(out / "benchmark.tex", [latex_tables(shown)])
    write_whole(out / "benchmark.md", [markdown_tables(shown)])
    write_whole(out / "index.html", [as_bytes(page_of(report_of(shown, theirs, published, about)))])


def report_of(
    shown: Sequence[Shown], theirs: Sequence[Theirs], published: Sequence[Mapping[str, str]], about: Mapping[str, Any]
) -> Report:
    """The page of a benchmark as blocks."""
    lines, texts = [line for each in shown for line in each.lines], _read("texts")
    sections = [each.section(number) for number, each in enumerate(shown, start=1)]
    means = dict.fromkeys((line.method, line.certifies, line.alpha) for line in lines)
    tried = list({(line.data, line.method): line for line in reversed(lines)}.values())[::-1]
    tables: dict[tuple[str, str], list[dict[str, str]]] = {
        ("methods", "What each certificate means"): [
            {"method": method, "a certificate is about": what, "alpha": str(alpha or "none: certain")}
            for method, what, alpha in means
        ],
        ("tries", "What was tried and counted"): [
            {"data": line.data, "method": line.method, "tries": f"{line.tries}", "chosen": line.chosen,
             "votes": f"{line.votes:,}", "forward passes": f"{line.forward_passes:,}"}
            for line in tried
        ],
        ("others", "Results of others"): [each.row() for each in theirs],
        ("published", "As published"): [dict(each) for each in published],
    }  # fmt: skip
    for (name, heading), rows in tables.items():
        if rows:
            cells = [list(row.values()) for row in rows]
            folded = 0 if name == "published" else None
            table = TableBlock(
                name=f"{name}-table", heads=list(rows[0]), rows=cells, left=7, folded=folded, unfold=heading
            )
            text = Text(phrase=texts[name].format(kind=lines[0].kind))
            sections.append(Section(name, heading, (text, table)))
    settings = {name: value for name, value in about["settings"].items() if name != "versions"}
    made = {"Settings": settings, "Notes on data": about["notes"], "Versions": about["provenance"]}
    origin = {
        heading: [(name, each if isinstance(each, str) else json.dumps(each)) for name, each in values.items()]
        for heading, values in made.items()
    }
    answers = [each for each in (one.headline for one in shown) if each is not None]
    return Report(title="Methods side by side", answers=answers, statement=texts["statement"], numbers=(), notices=(),
                  sections=sections, origin=[origin])  # fmt: skip


def latex_tables(shown: Sequence[Shown]) -> str:
    r"""A table for each data set and threat, for \usepackage{booktabs}: percent that are right and certified."""
    made = []
    for each in shown:
        rows = [line.texts() for line in each.lines]
        what = f"right and certified at {each.words}, in percent; {each.lines[0].graphs} {each.lines[0].objects}"
        heads = [*[*rows[0]][:-1], "gain at 1 (95\\%)"]
        made += [f"% {latex(each.data)}: {what}", f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule",
                 " & ".join(heads) + r" \\", r"\midrule"]  # fmt: skip
        for row in rows:
            numbers = (text.replace("−", "$-$") for text in [*row.values()][1:])
            made.append(" & ".join([latex(row["method"]), *numbers]) + r" \\")
        made += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(made)


def markdown_tables(shown: Sequence[Shown]) -> str:
    """The same tables for a README: one for each data set and threat, with the sentence above it."""
    made = []
    for each in shown:
        rows = [line.texts() for line in each.lines]
        made += [f"## {each.data}: {each.words}", "", each.sentence, "", f"| {' | '.join(rows[0])} |",
                 f"| --- |{' --: |' * (len(rows[0]) - 1)}"]  # fmt: skip
        made += [f"| {' | '.join(row.values())} |" for row in rows] + [""]
    return "\n".join(made)
