"""What each noise level of a sweep is worth, and which level is the best.

Of a graph only what is right counts: where the smoothed classifier abstains or answers wrong, its radius is 0. On an
axis only graphs with sites there count.

With a threat the best level has most graphs that are right and certified under it, of those that can be attacked so;
without one, the most accurate of the unbeaten levels that certify a flip is the best.

All levels are tried on the same graphs, so they are compared graph by graph. A level whose difference from the best
has an interval that contains 0 is a *tie*: these graphs cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np

from starcert.archive import BlindRow
from starcert.claims import metrics
from starcert.claims.certificates import Certificates
from starcert.claims.gains import StructureGain, paired_difference, share_interval, structure_gains
from starcert.claims.outcomes import Mask, SizeCounts
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.math.frontier import levels_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.report.findings import short_axes
from starcert.runs.grid import SweepSettings
from starcert.system.errors import StarcertError
from starcert.system.output import progress_bar

Marks: TypeAlias = tuple[float | None, ...]
"""For each graph 1 if it is right and certified as the best level is to be, 0 if not; None: it does not count."""


@dataclass(frozen=True)
class SweepLevel:
    """The measures of one noise level."""

    noise: Noise
    n_graphs: int  # on how many graphs it was tried
    n_right: int  # how many the smoothed classifier answers right, without abstentions
    n_abstained: int  # on how many it abstains
    n_base_right: int  # how many the base classifier answers right without noise
    n_majority: int  # how many graphs have the most frequent class: a constant answer is right on these
    n_without: tuple[int, ...]  # for each axis, how many graphs have no sites there; radii leave them out
    # for each axis the mean certified flips there alone; None if no graph has sites, and where 0 would say nothing
    mean_radii: tuple[float | None, ...]
    short: dict[str, int | None]  # the axes with too few votes to certify a flip; see `short_axes`
    marks: Marks  # what each graph adds to the goal
    by_size: tuple[SizeCounts, ...] = ()  # what becomes of the graphs under a threat: any 1, any 2, … flips
    gains: tuple[StructureGain, ...] = ()  # what it gains on a blind model; none where there is no such model

    @property
    def accuracy(self) -> float:
        """The share of graphs that the smoothed classifier answers right; an abstention is not right."""
        return self.n_right / self.n_graphs

    @property
    def majority_share(self) -> float:
        """The accuracy of the best constant answer."""
        return self.n_majority / self.n_graphs

    @property
    def constant(self) -> bool:
        """True if a constant answer is as accurate."""
        return self.n_right <= self.n_majority

    @property
    def criteria(self) -> tuple[float, ...]:
        """The criteria for comparing levels: the accuracy, and the mean certified radius on every axis."""
        return (self.accuracy, *(mean or 0.0 for mean in self.mean_radii))


def measure_level(
    certificates: Certificates,
    truth: Sequence[int],
    base: Sequence[int],
    capacities: Sequence[tuple[int, ...]],
    *,
    threat: Threat | None = None,
    counted: Threat | None = None,
    blind: Sequence[int | None] = (),
) -> SweepLevel:
    """The measures of a level from its certificates, the classes of its graphs and the base classifier's answers.

    Graphs are marked under the threat; they are counted, and compared with the answers of a blind model, by size.
    """
    votes, alpha = certificates.votes, certificates.bounds.alpha
    assert votes is not None and alpha is not None  # noqa: PT018
    right, sizes = metrics.right(certificates, truth), np.array(capacities, dtype=np.int64)
    reach = np.zeros_like(sizes)
    with progress_bar("radii", len(certificates)) as advance:
        for number, one in enumerate(certificates):
            if right[number] and (radii := one.frontier.radii):
                reach[number] = np.max(radii, axis=0)
            advance(1)
    why_unknown, n_there, n_axes = unknown_at(certificates), (sizes > 0).sum(axis=0), sizes.shape[1]
    means: list[float | None] = (reach.sum(axis=0) / np.maximum(n_there, 1)).tolist()
    for axis, unit in enumerate(map(tuple, np.eye(n_axes, dtype=int).tolist())):
        if not means[axis] and (not n_there[axis] or why_unknown(unit)):
            means[axis] = None
    return SweepLevel(
        noise=certificates.noise,
        n_graphs=len(truth),
        n_right=int(right.sum()),
        n_abstained=sum(one.abstained for one in certificates),
        n_base_right=int((np.array(base) == np.array(truth)).sum()),
        n_majority=int(np.unique(truth, return_counts=True)[1].max()),
        n_without=tuple((sizes <= 0).sum(axis=0).tolist()),
        mean_radii=tuple(means),
        short=short_axes(certificates.noise, votes, alpha, certificates.bounds.family_size, (n_there > 0).tolist()),
        marks=marks_of(threat, certificates, right, capacities),
        by_size=() if counted is None else tuple(certificates.counts(truth, counted)),
        gains=tuple(structure_gains(certificates, truth, blind, counted, flips=1)) if blind else (),
    )


def marks_of(
    threat: Threat | None, certificates: Certificates, right: Mask, capacities: Sequence[tuple[int, ...]]
) -> Marks:
    """Which graphs are right and certified under the threat at one level, or right where there is none."""
    there, safe = np.ones_like(right), right
    if threat is not None and threat.by_radius and (limits := threat.limits(certificates.noise)) is not None:
        there = np.minimum(capacities, limits).sum(axis=1) >= min(1, sum(limits))
        flips = sum(limits) if threat.flips is None else min(threat.flips, sum(limits))
        safe = np.all([certificates.certified(level) for level in levels_of(flips, limits)], axis=0)
    elif threat is not None:
        known = certificates.outcomes(threat)
        there, safe = known.possible(threat.most), known.certified(threat.most)
    if threat is not None and not there.any():
        raise StarcertError(f"No graph can be attacked under the threat {threat}. Name another --threat.")
    marks = (right & safe).astype(float).tolist()
    return tuple(mark if counts else None for mark, counts in zip(marks, there, strict=True))


def beaten_by(criteria: Sequence[Sequence[float]]) -> list[int | None]:
    """For each candidate, the first unbeaten one that beats it; None if none does.

    One candidate beats another if it is at least as good by every criterion (more is better) and better by one.

    Example:
        >>> beaten_by([(0.8, 1), (0.8, 2), (0.9, 1), (0.8, 3)])
        [2, 3, None, None]
    """
    if not len(criteria):
        return []
    rows = np.asarray(criteria, dtype=np.float64)
    beating = [(rows >= row).all(axis=1) & (rows > row).any(axis=1) for row in rows]
    front = ~np.array([each.any() for each in beating])
    return [int(np.argmax(each & front)) if each.any() else None for each in beating]


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of a level: its share of marked graphs, that less the share of the best, an interval for each."""

    value: float
    low: float
    high: float
    by: float
    least: float
    most: float

    @property
    def tie(self) -> bool:
        """True if it cannot be told apart from the best level."""
        return self.least <= 0 <= self.most


def standings(marks: Sequence[Marks], best: int) -> list[Standing]:
    """The standing of each level, beside the best one."""
    rows = np.array([[mark for mark in each if mark is not None] for each in marks]) > 0
    return [
        Standing(float(row.mean()), *share_interval(int(row.sum()), len(row)), *paired_difference(rows[best], row))
        for row in rows
    ]


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep."""

    settings: SweepSettings  # what was tried, and on what
    levels: tuple[SweepLevel, ...]  # the measures of each noise level, in the order of the grid
    class_names: tuple[str, ...]  # what the classes are called
    majority: int  # the most frequent class of the graphs
    n_unlabelled: int  # how many graphs were left out because their class is not known
    anchored: tuple[str, ...]  # why regions are anchored, each reason once
    one_model: bool  # whether one model served all levels, rather than one made for each
    folder: Path  # the output folder
    drawn: bool = False  # whether a limit drew the graphs from every class, instead of the first ones
    blind: BlindRow | None = None  # what a model answers that sees nothing an attack can change

    @cached_property
    def beaten_by(self) -> tuple[int | None, ...]:
        """For each level, the first unbeaten one that beats it by its `criteria`; None if none does."""
        return tuple(beaten_by([level.criteria for level in self.levels]))

    @cached_property
    def order(self) -> list[int]:
        """The levels as a table lists them: the unbeaten ones first, and among equals the more accurate."""
        numbers = range(len(self.levels))
        return sorted(numbers, key=lambda each: (self.beaten_by[each] is not None, -self.levels[each].n_right))

    @cached_property
    def worthwhile(self) -> list[int]:
        """The unbeaten levels that are more accurate than a constant answer, the most accurate first."""
        return [each for each in self.order if self.beaten_by[each] is None and not self.levels[each].constant]

    @property
    def goal(self) -> str:
        """The goal by which the best level is chosen, in words."""
        threat = self.settings.run.threat
        return "accuracy" if threat is None else f"accuracy certified against {threat.label}"

    @cached_property
    def suggested(self) -> int | None:
        """The level to certify next, better than a constant answer; None if there is none."""
        if self.settings.run.threat is None:
            return next((each for each in self.worthwhile if any(self.levels[each].mean_radii)), None)
        totals = [sum(mark for mark in level.marks if mark is not None) for level in self.levels]
        some = [number for number, total in enumerate(totals) if total and not self.levels[number].constant]
        return max(some, key=lambda each: (totals[each], -self.order.index(each)), default=None)

    @cached_property
    def standings(self) -> list[Standing]:
        """The standing of each level beside the suggested one, or the first Pareto-optimal one if there is none."""
        best = self.order[0] if self.suggested is None else self.suggested
        return standings([level.marks for level in self.levels], best)

    @property
    def ties(self) -> list[int]:
        """The levels that cannot be told apart from the suggested one, constant answers left out, in their order."""
        tied = [number for number, each in enumerate(self.standings) if each.tie and number != self.suggested]
        return [number for number in tied if not self.levels[number].constant]
