"""The report of a run whose outputs are numbers: every interval as a line, beside the estimate and the true number."""

from __future__ import annotations

import numpy as np

from starcert.archive import IntervalArchive
from starcert.report.blocks import IntervalRow, Intervals, KeyFigure, Report, Section, TableBlock, Text
from starcert.report.findings import anchored_notice
from starcert.system.output import at_most, holds_at_least


def interval_report(archive: IntervalArchive, title: str) -> Report:
    """The report on the outputs on noisy copies of each row, and of all that an attacker can make of it."""
    result, word, claims = archive.result, archive.word, [archive.title(each) for each in archive.claims]
    means = [place for place, claim in enumerate(archive.claims) if claim.above is None][::-1]  # the widest first
    order = sorted(range(len(archive)), key=lambda row: result[row].estimate)
    low, high, steps = result.proof.outputs.low, result.proof.outputs.high, result.proof.outputs.steps
    share = f"each {word}" if result.together == 1 else f"all {result.together:,} {word}s together"
    whose = "Each interval by itself contains" if result.together == 1 else "Those of a column together contain"
    alpha = result.proof.alpha
    statement = (
        f"The model gives a number from {low} to {high}, known here by its step of {steps}. {whose}, with probability "
        f"at least {holds_at_least(alpha)} over the sampling, the mean output on noisy copies of the {word} and "
        f"of every {word} that the attacker can make of it. This is about the smoothed model, not about the truth."
    )
    drawn, rows, values = [], [], []
    for row in order:
        name, label, found, estimate = (
            archive.names[row],
            archive.labels[row],
            archive.intervals[row],
            result[row].estimate,
        )
        drawn.append(IntervalRow(name, [found[place] for place in means], estimate, label))
        ends = (f"{low:.4g} to {high:.4g}" for low, high in found)
        rows.append((name, "–" if label is None else f"{label:.4g}", f"{estimate:.4g}", *ends))
    for row, (name, label) in enumerate(zip(archive.names, archive.labels, strict=True)):
        about = {"name": name, "true": label, "estimate": result[row].estimate}
        values.append({**about, "intervals": archive.intervals[row]})
    caption = (
        "Thin lines: under the threat, if there is one. Thick lines: without attack. Dots are estimates, red marks the "
        "true numbers, where they are known."
    )
    return Report(
        title=title,
        statement=[statement],
        numbers=[
            KeyFigure(f"{len(archive):,}", f"{word}s", "rows"),
            KeyFigure(at_most(alpha), f"alpha, for {share}", "alpha"),
        ],
        notices=list(anchored_notice(archive.anchored, word)),
        sections=[
            Section(
                "intervals",
                "Intervals",
                [
                    Intervals(low=low, high=high, rows=drawn, about=f"Intervals of each {word}, by its estimate"),
                    Text(phrase=caption, caption=True, only="page"),
                    TableBlock(
                        title="What intervals are worth",
                        heads=("interval", "mean width", "true inside", "mean worst error"),
                        rows=_figures(archive),
                        only="terminal",
                    ),
                    TableBlock(
                        title=f"Each {word}", heads=("name", "true", "estimate", *claims), rows=rows,
                        key="intervals", values=values,
                    ),
                ],
            )
        ],
        origin=[
            {"Settings": [(name, str(value)) for name, value in archive.settings.items()]},
            {"Versions": list(archive.provenance.items())},
        ],
        values={"alpha": alpha, "together": result.together, "claims": claims},
        needs_script="",
    )  # fmt: skip


def _figures(archive: IntervalArchive) -> list[tuple[str, ...]]:
    """Of each claim the mean width of its intervals and, where true numbers are known, how these lie to it.

    That is the share of them inside, and how far an interval reaches from the true number, on average.
    """
    found = list[tuple[str, ...]]()
    known = [row for row, label in enumerate(archive.labels) if label is not None]
    truth = np.array([archive.labels[row] for row in known], dtype=float)
    for claim, ends in zip(archive.claims, np.array(archive.intervals).transpose(1, 2, 0), strict=True):
        inside = reach = "–"
        if known and claim.above is None:
            low, high = ends[:, known]
            inside = f"{((low <= truth) & (truth <= high)).mean():.1%}"
            reach = f"{np.maximum(high - truth, truth - low).mean():.4g}"
        found.append((archive.title(claim), f"{(ends[1] - ends[0]).mean():.4g}", inside, reach))
    return found
