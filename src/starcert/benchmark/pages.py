"""The files of a benchmark: one page with its figures inside, and the same for machines and papers."""

from __future__ import annotations

import base64
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starcert.benchmark.archives import Theirs
from starcert.benchmark.data import file_name
from starcert.benchmark.outcomes import read_threat
from starcert.benchmark.table import BLIND, Line
from starcert.claims.tables import latex
from starcert.display.drawing import MAJORITY, TONES, new_figure, style, whole_ticks
from starcert.report.document import policy_of, render
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 5  # panels beside each other
FEW = 100  # test objects, below which intervals of gains are wide
WORDS = {
    "flips": "node pairs that flip", "deletions": "deleted edges", "additions": "added edges", "rewire": "moved edges",
}  # fmt: skip


class Shown(NamedTuple):
    """A data set under a threat, for the page."""

    data: str
    words: str
    lines: Sequence[Line]
    figure: str  # the name of its files
    picture: str  # as a data URI

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


def write_outputs(out: Path, lines: Sequence[Line], theirs: Sequence[Theirs], about: Mapping[str, Any]) -> None:
    """Writes `index.html`, `benchmark.csv`, `benchmark.json`, `benchmark.tex`, `benchmark.md` and the figures."""
    (out / "figures").mkdir(exist_ok=True)
    shown = [_shown(out, data, threat, [line for line in lines if (line.data, line.threat) == (data, threat)])
             for data, threat in dict.fromkeys((line.data, line.threat) for line in lines)]  # fmt: skip
    write_whole(out / "benchmark.csv", csv_lines([row for line in lines for row in line.rows()]))
    published = tomllib.loads(resources.files("starcert.benchmark").joinpath("published.toml").read_text("utf-8"))
    everything = {**about, "lines": [asdict(line) for line in lines], "theirs": [asdict(each) for each in theirs],
                  "published": published["figures"]}  # fmt: skip
    write_whole(out / "benchmark.json", [json.dumps(everything, indent=1), "\n"])
    write_whole(out / "benchmark.tex", [latex_tables(shown)])
    write_whole(out / "benchmark.md", [markdown_tables(shown)])
    tried = list({(line.data, line.method): line for line in reversed(lines)}.values())[::-1]
    content = {"title": "Methods side by side", "policy": policy_of(), "shown": shown,
               "published": published["figures"], "theirs": theirs,
               "means": list(dict.fromkeys((line.method, line.certifies, line.alpha) for line in lines)),
               "methods": tried, "made": json.dumps(about, indent=1)}  # fmt: skip
    write_whole(out / "index.html", [render("report/templates/benchmark.html", content)])


def _shown(out: Path, data: str, threat: str, lines: Sequence[Line]) -> Shown:
    name, words = file_name(f"{data}-{threat.replace(':', '-')}"), WORDS.get(lines[0].kind, read_threat(threat).label)
    figure = draw(lines)
    for ending, about in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
        file = io.BytesIO()
        with style():
            figure.savefig(file, format=ending, metadata=about, dpi="figure")
        write_whole(out / "figures" / f"{name}.{ending}", [file.getvalue()])
    picture = base64.b64encode((out / "figures" / f"{name}.svg").read_bytes()).decode()
    return Shown(data, words, lines, name, f"data:image/svg+xml;base64,{picture}")


def draw(lines: Sequence[Line]) -> Figure:
    """A panel for each method: certified, open and broken by size, and the blind model across."""
    rows = -(-len(lines) // ACROSS)
    with style():
        figure = new_figure(1.9 * ACROSS, 1.75 * rows + 0.4)
        axes = figure.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
        for ax, line in zip(axes, lines, strict=False):
            _panel(ax, line)
        for ax in axes[len(lines) :]:
            ax.remove()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(ax: Axes, line: Line) -> None:
    shares = [(cell.size, 100 * cell.certified, 100 * (cell.certified + cell.open))
              for cell in line.cells if cell.certified is not None and cell.open is not None]  # fmt: skip
    sizes, safe, unknown = zip(*shares, strict=True)
    top = [100 * line.right] * len(shares)
    ax.plot(sizes, safe, color=TONES["certified by p_A"], marker=".", label="right and certified")
    ax.fill_between(sizes, safe, unknown, color=TONES["open"], lw=0, label="right, open")
    ax.fill_between(
        sizes, unknown, top, color=TONES["broken"], alpha=0.45, lw=0, label="right, broken by a known attack"
    )
    if line.blind is not None:
        ax.axhline(100 * line.blind, color=MAJORITY, lw=0.9, ls="--", label="blind")
    ax.set(title=line.method, ylim=(0, 101), xlim=(0, line.cells[-1].size))
    ax.set_xlabel(f"{line.kind}, at most")
    ax.set_ylabel(f"% of test {line.objects}")
    ax.label_outer()
    whole_ticks(ax.xaxis)


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
