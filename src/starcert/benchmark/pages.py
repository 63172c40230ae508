"""The files of a benchmark: one page, and the same for machines and papers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from starcert.benchmark.archives import Theirs
from starcert.benchmark.outcomes import read_threat
from starcert.benchmark.table import BLIND, Line, percent
from starcert.claims.tables import latex
from starcert.report.blocks import Curve, Curves, Panel, Report, Section, TableBlock, Text
from starcert.report.document import as_bytes, page_of
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

FEW = 100  # test objects, below which intervals of gains are wide


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
    return Report(title="Methods side by side", statement=texts["statement"], numbers=(), notices=(),
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
