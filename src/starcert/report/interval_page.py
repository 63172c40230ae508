"""The page of a run whose outputs are numbers: every interval as a line, beside the estimate and the true number."""

from __future__ import annotations

import os
from typing import NamedTuple

from starcert.archive import IntervalArchive
from starcert.report.document import KeyFigure, Notice, assemble, target, write_page
from starcert.system.output import at_most, holds_at_least

MAX_DRAWN = 200  # rows of the plot; the table has all of them
WIDTH, ROW, LEFT = 900, 16, 160  # of the plot, in pixels


class DrawnRow(NamedTuple):
    """A row of the plot: places in pixels."""

    name: str
    y: int
    bars: tuple[tuple[float, float], ...]  # of each claim about the mean, the widest first
    estimate: float
    truth: float | None


def write_interval_page(path: str | os.PathLike[str], archive: IntervalArchive, title: str) -> None:
    """Writes intervals as one HTML page that loads nothing."""
    result, claims = archive.result, archive.claims
    means = [place for place, claim in enumerate(claims) if claim.above is None][::-1]
    order = sorted(range(len(archive)), key=lambda row: result[row].estimate)
    low, high = result.outputs.low, result.outputs.high

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * (min(max(value, low), high) - low) / (high - low), 1)

    rows = []
    for y, row in enumerate(order[:MAX_DRAWN]):
        bars = tuple((x(archive.intervals[row][place][0]), x(archive.intervals[row][place][1])) for place in means)
        label = archive.labels[row]
        truth = None if label is None else x(label)
        rows.append(DrawnRow(archive.names[row][:22], ROW * (y + 1), bars, x(result[row].estimate), truth))
    notices = [
        Notice("Anchored", f"{reason} The intervals are about regions frozen at each object.")
        for reason in sorted({each for each in result.anchored if each})
    ]
    share = f"each {archive.word}" if result.together == 1 else f"all {result.together:,} {archive.word}s together"
    content: dict[str, object] = {
        "numbers": [
            KeyFigure(f"{len(archive):,}", f"{archive.word}s", "rows"),
            KeyFigure(at_most(result.alpha), f"alpha, for {share}", "alpha"),
        ],
        "notices": notices,
        "holds": holds_at_least(result.alpha),
        "together": result.together > 1,
        "word": archive.word,
        "outputs": (low, high, result.outputs.steps),
        "titles": [archive.title(each) for each in claims],
        "drawn": rows,
        "ticks": [(x(value), f"{value:.3g}") for value in (low + (high - low) * i / 4 for i in range(5))],
        "size": (WIDTH, ROW * (len(rows) + 3)),
        "table": [
            (archive.names[row], archive.labels[row], result[row].estimate, archive.intervals[row]) for row in order
        ],
        "origin": [{"Settings": [(name, str(value)) for name, value in archive.settings.items()]},
                   {"Versions": list(archive.provenance.items())}],
    }  # fmt: skip
    page = assemble("report/templates/intervals.html", content, title=title, scripts=(), data=None)
    write_page(target(path), page)
