"""The value of the certificates of a noise level, and comparisons of levels.

Of a graph only what is right counts: where the smoothed classifier abstains or answers wrong, its radius is 0. On an
axis only graphs with sites there count.

With a threat the best level has most graphs that are right and certified under it, of those that can be attacked so;
without one, the most accurate of the unbeaten levels that certify a flip is the best.

All levels are tried on the same graphs, so they are compared graph by graph. A level whose difference from the best
has an interval that contains 0 is a *tie*: these graphs cannot tell the two apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.claims import metrics
from starcert.claims.certificates import Certificates
from starcert.claims.gains import paired_difference, share_interval
from starcert.claims.outcomes import SizeCounts, steps_to
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.math.copies import Level
from starcert.math.frontier import levels_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.report.findings import short_axes
from starcert.system.errors import StarcertError
from starcert.system.output import progress_bar

Radii = tuple[tuple[int, ...], ...]

Marks: TypeAlias = tuple[float | None, ...]
"""For each graph 1 if it is right and certified as the best level is to be, 0 if not; None: it does not count."""


@dataclass(frozen=True, eq=False)
class LevelOutcome:
    """The results at one noise level, graph by graph."""

    noise: Noise
    truth: npt.NDArray[np.int64]  # the class of each graph
    base: npt.NDArray[np.int64]  # the base classifier's answer on each clean graph
    answers: npt.NDArray[np.int64]  # the smoothed classifier's answer on each graph
    right: npt.NDArray[np.bool_]  # which graphs it answers right; an abstention is not right
    radii: tuple[Radii, ...]  # the maximal certified radii of each graph; none after an abstention
    capacities: npt.NDArray[np.int64]  # how many sites an attacker finds in each graph (row) on each axis (column)
    max_radius: tuple[int, ...] | None  # the box of radii that was looked at; None: all
    short: dict[str, int | None]  # the axes with too few votes to certify a flip; see `short_axes`
    by_counts: tuple[Radii, ...] | None = None  # with evidence, the radii by bounds on the class probabilities alone
    by_size: tuple[SizeCounts, ...] = ()  # what becomes of the graphs under a threat: any 1, any 2, … flips
    why_unknown: Callable[[Level], str] = lambda _radius: ""  # why a share of 0 at a radius would say nothing

    @property
    def reach(self) -> npt.NDArray[np.int64]:
        """The certified radius of each graph (row) on each axis (column) alone, 0 unless it is answered right."""
        nothing = (0,) * len(self.noise.axes)
        far = [tuple(map(max, zip(*radii, strict=True))) if radii else nothing for radii in self.radii]
        return np.where(self.right[:, None], np.array(far, dtype=np.int64), 0)


class LevelReach(NamedTuple):
    """The certified radii of a level on each axis."""

    # the mean certified flips on that axis alone; None if no graph has sites there, and where 0 would say nothing
    mean_radii: tuple[float | None, ...]
    # for each of some counts of flips, the share of the axis's graphs that are right and certified there, a graph with
    # fewer sites if it is with all of them flipped; None beyond the box that was looked at, if no graph has sites, and
    # where 0 would say nothing
    shares: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class SweepLevel:
    """The measures of one noise level."""

    noise: Noise
    n_graphs: int  # on how many graphs it was tried
    n_right: int  # how many the smoothed classifier answers right, without abstentions
    n_abstained: int  # on how many it abstains
    n_base_right: int  # how many the base classifier answers right without noise
    n_majority: int  # how many graphs have the most frequent class: a constant answer is right on these
    answer: int | None  # the class that the smoothed classifier answers most often; None if it always abstains
    n_answer: int  # how often it does
    n_without: tuple[int, ...]  # for each axis, how many graphs have no sites there; radii and shares leave them out
    mean_radii: tuple[float | None, ...]  # for each axis; see `LevelReach`
    steps: tuple[int, ...]  # some counts of flips
    shares: tuple[tuple[float | None, ...], ...]  # for each axis and each of these steps; see `LevelReach`
    short: dict[str, int | None]  # the axes with too few votes to certify a flip; see `short_axes`
    by_counts: LevelReach | None = None  # with evidence, the reach by the bounds on the class probabilities alone
    by_size: tuple[SizeCounts, ...] = ()  # what becomes of the graphs under a threat: any 1, any 2, … flips

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
    def answer_share(self) -> float:
        """The share of the most frequent answer among all that the smoothed classifier gives."""
        return self.n_answer / max(1, self.n_graphs - self.n_abstained)

    @property
    def criteria(self) -> tuple[float, ...]:
        """The criteria for comparing levels: the accuracy, and the mean certified radius on every axis."""
        return (self.accuracy, *(mean or 0.0 for mean in self.mean_radii))


def outcome_of(
    certificates: Certificates,
    truth: Sequence[int],
    base: Sequence[int],
    capacities: Sequence[tuple[int, ...]],
    threat: Threat | None = None,
) -> LevelOutcome:
    """The results of certificates, graph by graph, and under a threat."""
    votes, alpha = certificates.votes, certificates.bounds.alpha
    assert votes is not None and alpha is not None  # noqa: PT018
    possible = [max(sizes) > 0 for sizes in zip(*capacities, strict=True)]
    radii, by_counts = [], []
    with progress_bar("radii", len(certificates)) as advance:
        for one in certificates:
            radii.append(one.frontier.radii)
            by_counts.append(one.frontier_by_p_A.radii)
            advance(1)
    return LevelOutcome(
        certificates.noise,
        np.array(truth, dtype=np.int64),
        np.array(base, dtype=np.int64),
        np.asarray(certificates.labels),
        metrics.right(certificates, truth),
        tuple(radii),
        np.array(capacities, dtype=np.int64),
        certificates.max_radius,
        short_axes(certificates.noise, votes, alpha, certificates.bounds.family_size, possible),
        tuple(by_counts) if certificates.verdicts is not None and certificates.asked is None else None,
        () if threat is None else tuple(certificates.counts(truth, threat)),
        unknown_at(certificates),
    )


def measure_levels(outcomes: Sequence[LevelOutcome]) -> tuple[SweepLevel, ...]:
    """The measures of all levels, at the same steps."""
    steps = tuple(steps_to(max(int(each.reach.max()) for each in outcomes)))
    return tuple(_level(each, steps) for each in outcomes)


def _level(outcome: LevelOutcome, steps: tuple[int, ...]) -> SweepLevel:
    answered, n_graphs = np.array([len(radii) > 0 for radii in outcome.radii]), len(outcome.truth)
    given = Counter(outcome.answers[answered].tolist())
    answer, n_answer = min(given.items(), key=lambda item: (-item[1], item[0])) if given else (None, 0)
    by_counts = None if outcome.by_counts is None else _reach(replace(outcome, radii=outcome.by_counts), steps)
    return SweepLevel(
        noise=outcome.noise,
        n_graphs=n_graphs,
        n_right=int(outcome.right.sum()),
        n_abstained=int((~answered).sum()),
        n_base_right=int((outcome.base == outcome.truth).sum()),
        n_majority=int(np.unique(outcome.truth, return_counts=True)[1].max()),
        answer=answer,
        n_answer=n_answer,
        n_without=tuple((outcome.capacities <= 0).sum(axis=0).tolist()),
        steps=steps,
        **_reach(outcome, steps)._asdict(),
        short=outcome.short,
        by_counts=by_counts,
        by_size=outcome.by_size,
    )


def _reach(outcome: LevelOutcome, steps: Sequence[int]) -> LevelReach:
    reach = outcome.reach
    n_there = np.maximum((outcome.capacities > 0).sum(axis=0), 1)

    def unknown(axis: int, step: int) -> bool:
        return bool(outcome.why_unknown(tuple(step * (axis == other) for other in range(reach.shape[1]))))

    def share(axis: int, step: int) -> float | None:
        sites = outcome.capacities[:, axis]
        if not sites.any() or (outcome.max_radius is not None and step > outcome.max_radius[axis]):
            return None
        found = float(np.mean((outcome.right & (reach[:, axis] >= np.minimum(step, sites)))[sites > 0]))
        return None if not found and unknown(axis, step) else found

    shares = tuple(tuple(share(axis, step) for step in steps) for axis in range(reach.shape[1]))
    known = [sites.any() and not unknown(axis, 1) for axis, sites in enumerate(outcome.capacities.T)]
    means = zip((reach.sum(axis=0) / n_there).tolist(), known, strict=True)
    return LevelReach(tuple(mean if mean or finding else None for mean, finding in means), shares)


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


def marks_of(threat: Threat | None, certificates: Certificates, outcome: LevelOutcome) -> Marks:
    """Which graphs are right and certified under the threat at one level, or right where there is none."""
    there, safe = np.ones_like(outcome.right), outcome.right
    if threat is not None and threat.by_radius and (limits := threat.limits(outcome.noise)) is not None:
        reach = np.minimum(outcome.capacities, limits).sum(axis=1)
        there = reach >= min(1, sum(limits))
        flips = sum(limits) if threat.flips is None else min(threat.flips, sum(limits))
        safe = np.all([certificates.certified(level) for level in levels_of(flips, limits)], axis=0)
    elif threat is not None:
        known = certificates.outcomes(threat)
        there, safe = known.possible(threat.most), known.certified(threat.most)
    if threat is not None and not there.any():
        raise StarcertError(f"No graph can be attacked under the threat {threat}. Name another --threat.")
    marks = (outcome.right & safe).astype(float).tolist()
    return tuple(mark if counts else None for mark, counts in zip(marks, there, strict=True))


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
