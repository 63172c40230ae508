"""Verdicts counted: how many graphs are certified by which argument, broken or open at a radius, in each draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from starcert.pages.plots.drawing import COLOURS, FIXED, PAGE, new_figure
from starcert_studies.evidence_votes import Judged, Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Draws", "RadiusTally", "named", "spread", "tallies", "verdict_bars"]

PALE = "#BFE3F7"
"""Certified by a third argument: a paler tone of the second."""


@dataclass(frozen=True)
class RadiusTally:
    """How many graphs of a question are what, at one radius.

    Attributes:
        question: the question.
        radius: the radius in words; "any k flips" for all radii of k flips together.
        graphs: how many there are.
        right: of them, those that the smoothed classifier answers, and right; all that follows is among these.
        by_p_A: certified by p_A alone, at the whole alpha: the paper's certificate.
        by_counts: by p_A at the part of alpha that it has beside evidence.
        shared: by p_A or by evidence from the same votes.
        own: the same with votes at attacked graphs.
        broken: an attack is known.
        lost: certified by p_A at its part of alpha, and not with evidence: none.
        shared_away: certified by p_A at the whole alpha, and not with evidence, where alpha is shared.
        own_votes: votes at attacked graphs, on average over all graphs, for all radii of the question together.
    """

    question: Question
    radius: str
    graphs: int
    right: int
    by_p_A: int  # noqa: N815  (the paper's symbol)
    by_counts: int
    shared: int
    own: int
    broken: int
    lost: int
    shared_away: int
    own_votes: float

    @property
    def open(self) -> int:
        """Neither certified nor broken."""
        return self.right - self.own - self.broken


Draws: TypeAlias = Sequence[RadiusTally]
"""The tallies of one radius, draw by draw."""


def tallies(question: Question, found: Sequence[Judged]) -> list[RadiusTally]:
    """A tally for each radius of a question, and for any flips anywhere."""
    right = [one for one in found if one["class"] == one["truth"] and not one["abstained"]]
    own_votes = float(np.mean([one["own_votes"] for one in found]))
    groups = {str(radius): [i] for i, radius in enumerate(question.radii)}
    for flips in range(1, (question.max_flips or 0) + 1):
        name = "any flip" if flips == 1 else f"any {flips} flips"
        groups[name] = [i for i, radius in enumerate(question.radii) if sum(radius) == flips]
    told = []
    for name, places in groups.items():

        def all_of(one: Judged, way: str, places: list[int] = places) -> bool:
            return all(one[way][i] in {True, "certified"} for i in places)

        broken = [any(one["own"][i] == "broken" for i in places) for one in right]
        lost, away = (
            sum(all_of(one, way) and not all_of(one, "own") for one in right) for way in ("by_counts", "by_p_A")
        )
        by_p, by_counts, shared, own = (
            sum(all_of(one, way) for one in right) for way in ("by_p_A", "by_counts", "shared", "own")
        )
        counts = by_p, by_counts, shared, own, sum(broken), lost, away
        told.append(RadiusTally(question, name, len(found), len(right), *counts, own_votes))
    return told


def spread(values: Sequence[float]) -> str:
    """The median of a figure over the draws, and its range where the draws differ.

    Example:
        >>> spread([95, 50, 100]), spread([50, 50]), spread([3, 4])
        ('95 (50–100)', '50', '3.5 (3–4)')
    """
    median, least, most = (f"{value:.9g}" for value in (np.median(values), min(values), max(values)))
    return median if least == most else f"{median} ({least}–{most})"


def named(question: Question) -> str:
    """A question in a few words: data, model and noise."""
    return f"{question.data}, {question.model}, {question.noise[0]:g}/{question.noise[1]:g}"


def verdict_bars(told: Sequence[Draws], many: str = "graphs") -> Figure:
    """What is known about each radius, one thin bar a draw, as shares of those graphs that are answered right."""
    most = max(len(draws) for draws in told)
    figure = new_figure(PAGE, 1.2 + (0.14 + 0.02 * most) * len(told))
    ax = figure.add_subplot()
    tones = {"by p_A": COLOURS[0], "by evidence": COLOURS[4], "with own votes": PALE, "open": FIXED,
             "broken": COLOURS[5]}  # fmt: skip
    for row, draws in enumerate(told):
        thickness = 0.84 / len(draws)
        places = row - 0.42 + thickness * (np.arange(len(draws)) + 0.5)
        ranked = sorted(draws, key=lambda one: (-one.own, one.broken, -one.shared, -one.by_p_A))
        left = np.zeros(len(draws))
        for name, colour in tones.items():
            widths = np.array([_parts(one)[name] / max(one.right, 1) for one in ranked])
            ax.barh(places, widths, thickness, left=left, color=colour, label=name if row == 0 else None)
            left += widths
        ax.text(1.01, row, spread([one.own for one in draws]), va="center")
    ax.set_yticks(range(len(told)), [f"{named(draws[0].question)}: {draws[0].radius}" for draws in told])
    ax.invert_yaxis()
    ax.set(xlabel=f"share of right {many}; beside it how many are certified, median (range)", xlim=(0, 1))
    figure.legend(*ax.get_legend_handles_labels(), ncols=len(tones), frameon=False, loc="outside upper center")
    return figure


def _parts(one: RadiusTally) -> dict[str, int]:
    by_p = min(one.by_p_A, one.shared)
    return {
        "by p_A": by_p,
        "by evidence": one.shared - by_p,
        "with own votes": one.own - one.shared,
        "open": one.open,
        "broken": one.broken,
    }
