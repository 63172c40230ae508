"""Summaries of the certificates of many graphs: accuracy, certified accuracy and ratio, score.

An answer is `right` if it is given and is the true class; an abstention is not. The share of the most frequent class
belongs beside each of them: heavy noise makes any classifier constant, and a constant classifier certifies everything.
So does an axis without sites, or a threat without attacks: `SizeCounts` are of the graphs that can be attacked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.claims.gains import StructureGain, structure_gain
from starcert.claims.outcomes import Labels, Mask, Outcome, Outcomes, SizeCounts, known, majority_share, share_of
from starcert.claims.slack import too_few_votes, votes_needed
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.claims.verdict import lies_within
from starcert.math.choices import Level
from starcert.math.frontier import levels_of
from starcert.objects.noise import RadiusLike
from starcert.system.errors import InvalidParameterError

__all__ = [
    "Outcome",
    "Outcomes",
    "Radii",
    "SizeCounts",
    "StructureGain",
    "accuracy",
    "certified_counts",
    "certified_ratio",
    "certified_share",
    "has_sites",
    "majority_share",
    "open_ended",
    "radii_of_flips",
    "right",
    "score",
    "structure_gain",
    "too_few_votes",
    "votes_needed",
]  # fmt: skip

Shares = npt.NDArray[np.float64]
Radii: TypeAlias = tuple[tuple[float, ...], ...]
"""Maximal certified radii; a count is infinite where an attacker finds no further site."""


def certified_share(certificates: Certificates, labels: Labels | None = None, *, max_radius: RadiusLike) -> Shares:
    """The share of graphs that are certified (and right, given labels) at every radius up to `max_radius`.

    Entry [i, j, …] is the share at the radius (i, j, …): with labels, of the graphs whose class is known. A graph
    without sites on an axis counts as certified there: `has_sites` tells such graphs apart. Beyond the threat, and
    where no number of votes certifies anything, it is NaN instead of 0.

    Example:
        >>> import starcert as sc
        >>> certified_share(sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2)), max_radius=2)
        array([1. , 0.5, 0. ])
    """
    answered, among = _answered_of(certificates, labels)
    box, frontiers = certificates.within(max_radius), Counter[Radii]()
    grid = [range(limit + 1) for limit in certificates.noise.radius(max_radius, "max_radius")]
    hits = (answered & among).tolist()
    for one, frontier, capacity, hit in zip(box, box.frontiers(), certificates.capacity, hits, strict=True):
        # Where a search ended early, all radii that are certified take the place of the maximal ones.
        radii = [each for each in product(*grid) if one.certified(each)] if frontier.incomplete else frontier.radii
        frontiers[open_ended(radii, capacity)] += hit
    counts = certified_counts(frontiers, grid)
    if not among.any():
        return np.full(counts.shape, np.nan)
    found: Shares = counts / among.sum()
    found[is_unknown(certificates, counts)] = np.nan
    return found


def is_unknown(
    certificates: Certificates, counts: npt.NDArray[np.int64], at: Callable[[Level], Level] = tuple
) -> npt.NDArray[np.bool_]:
    """At which places of a grid a count of 0 certified graphs says nothing; `at` makes a radius of a place."""
    why_unknown = unknown_at(certificates)
    found: Mask = counts == 0
    for place in np.argwhere(found).tolist():
        found[tuple(place)] = bool(why_unknown(at(tuple(place))))
    return found


def certified_ratio(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> Shares:
    """Of the graphs that are answered `right`, the share that is certified at every radius up to `max_radius`."""
    whole = accuracy(certificates, labels)
    share = certified_share(certificates, labels, max_radius=max_radius)
    return share / whole if whole else np.full_like(share, np.nan)


def score(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> int:
    """The paper's score: at how many radii up to `max_radius` more than half of the graphs are right and certified."""
    return int((certified_share(certificates, labels, max_radius=max_radius) > 0.5).sum())


def has_sites(certificates: Certificates) -> Mask:
    """Which graphs (rows) have sites on which axes (columns); those of unknown capacity are taken to have some."""
    unknown = (1,) * len(certificates.noise.axes)
    sizes = np.array([unknown if each is None else each for each in certificates.capacity], dtype=np.int64)
    return sizes.reshape(-1, len(unknown)) > 0


def radii_of_flips(certificates: Certificates, most: int) -> list[tuple[int, ...]]:
    """Every radius of 1 to `most` flips in all that lies in the box and that some graph has sites for."""
    anywhere = (most,) * len(certificates.noise.axes)
    sizes = [anywhere if each is None else each for each in certificates.capacity]
    limits = anywhere if certificates.max_radius is None else certificates.max_radius
    radii = (radius for flips in range(1, most + 1) for radius in levels_of(flips, limits))
    return [radius for radius in radii if any(lies_within(radius, size) for size in sizes)]


def _answered_of(certificates: Certificates, labels: Labels | None) -> tuple[Mask, Mask]:
    """Which graphs are answered (right, given labels), and which are eligible: with labels, those of a known class."""
    if labels is None:
        return ~certificates.abstained, np.ones(len(certificates), dtype=np.bool_)
    return right(certificates, labels), known_classes(certificates, labels)


def __dir__() -> list[str]:
    return sorted(__all__)


def right(answers: Certificates | npt.ArrayLike, labels: Labels) -> Mask:
    """Which graphs are answered right: an answer is given, and it is the true class, which is known.

    Args:
        answers: the certificates of the graphs, or plain answers, such as the base classifier's own.
        labels: the true classes; beside plain answers in the same words as these.

    Example:
        >>> import starcert as sc
        >>> right(sc.certify(sc.Bounds.certain([0.9, 0.5, 0.9, 0.9]), sc.Noise(all=0.2)), [0, 0, 1, None])
        array([ True, False, False, False])
    """
    if isinstance(answers, Certificates):
        return answers.right(labels)
    given, truth = np.asarray(answers), np.asarray(labels)
    if truth.shape != given.shape or truth.ndim != 1:
        raise InvalidParameterError("labels", f"have one class for each of {len(given)} graphs", truth.shape)
    classes = [label for label in truth.tolist() if label is not None]
    if len({isinstance(each, str) for each in (*given.tolist(), *classes)}) > 1:
        hint = "Give both as names, or both as class numbers."
        raise InvalidParameterError("labels", f"be classes as the answers are, {given.tolist()[:3]}", classes[:3], hint)
    return np.asarray(given == truth)


def accuracy(answers: Certificates | npt.ArrayLike, labels: Labels) -> float:
    """The share of graphs that are answered `right`, of those whose class is known; NaN if none is.

    Example:
        >>> accuracy([0, 1, 1], [0, 1, 0])
        0.6666666666666666
    """
    return share_of(right(answers, labels), known_classes(answers, labels))


def known_classes(answers: Certificates | npt.ArrayLike, labels: Labels) -> Mask:
    """Of which graphs the class is known."""
    truth = answers.truth(labels) if isinstance(answers, Certificates) else np.asarray(labels)
    return known(truth.tolist())


def certified_counts(frontiers: Mapping[Radii, npt.ArrayLike], ticks: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """The number of graphs certified at each radius of a grid, by their frontiers. All such counts are made here.

    Args:
        frontiers: for each set of maximal radii, how many graphs have it; or several such numbers, each summed by
            itself: all of them, those that are answered right, … The result has shape (numbers, *grid) then.
        ticks: on each axis, the counts of flips of the grid, in ascending order.

    Example:
        >>> certified_counts({((0, 2), (1, 1)): 3, ((1, math.inf),): 1, (): 5}, [(0, 1, 2), (0, 1, 2)]).tolist()
        [[4, 4, 4], [4, 4, 1], [0, 0, 0]]
    """
    numbers = np.array([np.asarray(each) for each in frontiers.values()], dtype=np.int64)
    *others, last = map(np.asarray, ticks)
    shape = tuple(len(axis) for axis in others)
    # ends[…, k]: the graphs that are certified at exactly the first k counts of the last axis.
    ends = np.zeros((*numbers.shape[1:], *shape, len(last) + 1), dtype=np.int64)
    places = np.indices(shape, sparse=True)
    for radii, number in zip(frontiers, numbers, strict=True):
        heights = np.full(shape, -1.0)
        for radius in radii:
            below = tuple(
                slice(np.searchsorted(axis, count, "right")) for axis, count in zip(others, radius, strict=False)
            )
            heights[below] = np.maximum(heights[below], radius[-1])
        covers = np.searchsorted(last, heights, side="right")
        here: Any = (..., *places, covers)
        ends[here] += np.reshape(number, (*number.shape, *[1] * len(shape)))
    return ends[..., :0:-1].cumsum(axis=-1)[..., ::-1]


def open_ended(radii: Sequence[Sequence[int]], capacity: Sequence[int | None] | None) -> Radii:
    """The radii, without an end where they take all sites of an axis (its capacity; None: not known).

    Example:
        >>> open_ended(((0, 4), (1, 2)), (3, 4))
        ((0, inf), (1, 2))
    """
    if capacity is None:
        return tuple(map(tuple, radii))
    ends = [math.inf if size is None else size for size in capacity]
    return tuple(
        tuple(math.inf if count >= end else count for count, end in zip(radius, ends, strict=True)) for radius in radii
    )
