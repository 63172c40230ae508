"""Slices: what is certified on two axes at a time, all other axes at 0.

A page can draw two axes. With one or two axes a slice is the whole frontier; with more, a slice is a part of it: its
radii say nothing about flips on three axes at once.

All slices are searched in one box that holds every graph's own, and cut down to the graph afterwards: certified radii
are a down-set, so the frontier in a smaller box is made of the maximal ones among min(radius, limits). A slice is
then searched and proved once for all graphs with the same bounds, whatever their sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from starcert.archive import Archive
from starcert.attacks import slacks_of, tradeoffs_of
from starcert.core.frontier import Frontier, Frontiers, find_frontier
from starcert.core.margins import MultiClass
from starcert.noise import Noise

__all__ = ["Limits", "Pair", "Radii", "Slices", "box_of", "clip", "limits_of", "pairs_of"]

Pair: TypeAlias = tuple[int, ...]
"""The numbers of the two axes of a slice in ascending order; of the one axis if the noise has no more."""

Radii: TypeAlias = tuple[tuple[int, ...], ...]
Limits: TypeAlias = tuple[int | None, ...]


def pairs_of(noise: Noise) -> list[Pair]:
    """All slices of a noise.

    Example:
        >>> pairs_of(Noise(a=0.1, b=0.2, c=0.3)), pairs_of(Noise(a=0.1))
        ([(0, 1), (0, 2), (1, 2)], [(0,)])
    """
    numbers = range(len(noise.axes))
    return list(combinations(numbers, min(2, len(numbers))))


def limits_of(archive: Archive) -> list[Limits]:
    """For each graph the most flips to look at on each axis: what was asked about, and what there is; None: no end."""
    open_ended: Limits = (None,) * len(archive.noise.axes)
    asked = archive.max_radius or open_ended
    return [tuple(_least(pair) for pair in zip(asked, box or open_ended, strict=True)) for box in archive.boxes]


def box_of(archive: Archive) -> Limits:
    """On each axis the most flips that any graph has; None: no end."""
    return tuple(_most(column) for column in zip(*limits_of(archive), strict=True))


def clip(radii: Radii, limits: Limits) -> Radii:
    """The maximal radii inside smaller limits, in lexicographic order.

    Example:
        >>> clip(((0, 9), (1, 5), (3, 2)), (2, 6))
        ((0, 6), (1, 5), (2, 2))
        >>> clip(((0, 9), (1, 5), (3, 2)), (None, 4))
        ((1, 4), (3, 2))
    """
    cut = {tuple(r if limit is None else min(r, limit) for r, limit in zip(x, limits, strict=True)) for x in radii}
    # From the largest first count down, a radius is maximal iff its last count is a record.
    found: list[tuple[int, ...]] = []
    for radius in sorted(cut, reverse=True):
        if not found or (len(radius) > 1 and radius[-1] > found[-1][-1]):
            found.append(radius)
    return tuple(reversed(found))


class Slices:
    """The slices of an archive's graphs, each searched and proved once.

    Attributes:
        pairs: the axes of each slice.
        box: on each axis the most flips that any graph has.
        verified: whether every verdict so far is proved, those beyond the frontiers included.
    """

    def __init__(self, archive: Archive) -> None:
        self.pairs = pairs_of(archive.noise)
        self._limits = limits_of(archive)
        self.box = box_of(archive)
        self.verified = True
        bounds = archive.certificates.bounds
        self._failure: list[float] = bounds.failure.tolist()
        self._other: list[float] = bounds.other.tolist()
        product = archive.noise.product
        self._tradeoffs = tradeoffs_of(product)
        self._two_class = {pair: Frontiers(slacks_of(product), self._box_of(pair)) for pair in self.pairs}
        self._multi_class = {pair: _Sandwich() for pair in self.pairs}

    def of(self, graph: int, pair: Pair) -> Radii:
        """The maximal certified radii of a graph on the axes of `pair`; none if it abstains."""
        frontier = self._frontier(pair, self._failure[graph], self._other[graph])
        self.verified = self.verified and frontier.verified
        return clip(project(frontier.radii, pair), tuple(self._limits[graph][axis] for axis in pair))

    def reach(self, axis: int, failure: float) -> int:
        """How far an axis alone is certified, in the two-class margin, for any graph with this bound on 1 − p_A."""
        radii = self._two_class[next(pair for pair in self.pairs if axis in pair)].at(failure).radii
        return max((radius[axis] for radius in radii), default=0)

    def _frontier(self, pair: Pair, failure: float, other: float) -> Frontier:
        if not other < failure:
            return self._two_class[pair].at(failure)
        known = self._multi_class[pair]
        frontier = known.find(failure, other)
        if frontier is None:
            frontier = find_frontier(MultiClass(self._tradeoffs, failure, other), self._box_of(pair))
            known.add(failure, other, frontier)
        return frontier

    def _box_of(self, pair: Pair) -> Limits:
        return tuple(limit if axis in pair else 0 for axis, limit in enumerate(self.box))


class _Sandwich:
    """Multi-class frontiers by their two bounds, with the ones in between for nothing.

    Smaller bounds certify more. So a frontier that two pairs of bounds share is that of every pair between them, and
    its verdicts are proved there too.
    """

    def __init__(self) -> None:
        self._frontiers: list[Frontier] = []
        self._numbers: dict[Frontier, int] = {}
        self._known = np.empty((64, 3))  # failure, other, number of the frontier
        self._used = 0

    def find(self, failure: float, other: float) -> Frontier | None:
        """The frontier for these bounds, if it is known or lies between two equal ones."""
        failures, others, numbers = self._known[: self._used].T
        better = numbers[(failures <= failure) & (others <= other)]
        worse = numbers[(failures >= failure) & (others >= other)]
        both = np.intersect1d(better, worse)
        return self._frontiers[int(both[0])] if both.size else None

    def add(self, failure: float, other: float, frontier: Frontier) -> None:
        """Remembers the frontier that was found for these bounds."""
        if frontier not in self._numbers:
            self._numbers[frontier] = len(self._frontiers)
            self._frontiers.append(frontier)
        if self._used == len(self._known):
            self._known = np.concatenate([self._known, np.empty_like(self._known)])
        self._known[self._used] = failure, other, self._numbers[frontier]
        self._used += 1


def project(radii: Iterable[Sequence[int]], pair: Pair) -> Radii:
    """The counts of radii on the axes of a pair."""
    return tuple(tuple(radius[axis] for axis in pair) for radius in radii)


def _least(values: Iterable[int | None]) -> int | None:
    """The smallest value; None, no end, if there is no other."""
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[int | None]) -> int | None:
    """The largest value; None, no end, is larger than any."""
    known = list(values)
    return None if None in known else max((value for value in known if value is not None), default=0)
