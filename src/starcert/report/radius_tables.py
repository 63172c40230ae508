"""The lookup tables of the page, two axes at a time, others at 0: slices of frontiers, slacks, and shares of graphs.

With one or two axes a slice is the whole frontier; with more, its radii say nothing about flips on three axes at once.
A slice is searched and proved once for all graphs with the same bounds, in a box that holds every graph's own, and cut
down to the graph afterwards: the frontier in a smaller box consists of the maximal ones among min(radius, limits).

Slack depends on the noise alone, and a graph with failure probability f = 1 − p_lower is certified at a radius in the
two-class margin iff f ≤ the largest float below slack, which is proved. So with a table of these floats a page can
move a frontier with p_lower, and its verdicts are those of the library. Long axes are tabulated in steps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import combinations, takewhile
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims import metrics
from starcert.claims.metrics import certified_counts, has_sites, is_unknown, open_ended, right
from starcert.claims.slack import slacks_of
from starcert.claims.vote_proof import margin_of
from starcert.math.fallback import PLAIN
from starcert.math.frontier import Frontiers
from starcert.objects.noise import Noise

Pair: TypeAlias = tuple[int, ...]
"""The numbers of the two axes of a slice in ascending order; of the one axis if the noise has no more."""

Radii: TypeAlias = tuple[tuple[int, ...], ...]
Limits: TypeAlias = tuple[int | None, ...]
Grids: TypeAlias = list[npt.NDArray[np.int64]]


def pairs_of(noise: Noise) -> list[Pair]:
    """All slices of a noise."""
    return list(combinations(range(len(noise.axes)), min(2, len(noise.axes))))


def limits_of(archive: Archive) -> list[Limits]:
    """For each graph the most flips to look at on each axis, by request and by its sites; None: no end."""
    endless: Limits = (None,) * len(archive.noise.axes)
    requested = archive.max_radius or endless
    boxes = (zip(requested, box or endless, strict=True) for box in archive.boxes)
    return [tuple(min((n for n in pair if n is not None), default=None) for pair in box) for box in boxes]


def box_of(archive: Archive) -> Limits:
    """On each axis the most flips that any graph has; None: no end."""
    columns = zip(*limits_of(archive), strict=True)
    return tuple(None if None in column else max(n for n in column if n is not None) for column in columns)


def clip(radii: Radii, limits: Limits) -> Radii:
    """The maximal radii inside smaller limits, in lexicographic order."""
    cut = {tuple(r if limit is None else min(r, limit) for r, limit in zip(x, limits, strict=True)) for x in radii}
    # From the largest first count down, a radius is maximal iff its last count is a record.
    found: list[tuple[int, ...]] = []
    for radius in sorted(cut, reverse=True):
        if not found or (len(radius) > 1 and radius[-1] > found[-1][-1]):
            found.append(radius)
    return tuple(reversed(found))


def project(radii: Iterable[Sequence[int]], pair: Pair) -> Radii:
    """The counts of radii on the axes of a pair."""
    return tuple(tuple(radius[axis] for axis in pair) for radius in radii)


class Slices:
    """The slices of an archive's graphs, each searched and proved once: `pairs` are the axes of each.

    `verified` is whether every verdict so far is proved, those beyond the frontiers included.
    """

    def __init__(self, archive: Archive) -> None:
        self.pairs = pairs_of(archive.noise)
        self.box = box_of(archive)
        self.verified = True
        self._limits = limits_of(archive)
        self._certificates, self._noise = archive.certificates, archive.noise
        self.with_evidence = archive.certificates.verdicts is not None and archive.certificates.asked is None
        bounds = archive.certificates.bounds
        self._bounds = list(zip(bounds.failure.tolist(), bounds.other.tolist(), bounds.contests, strict=True))
        self._frontiers_in = cache(self._search)

    def _search(self, pair: Pair, limit: float) -> Frontiers:
        box = tuple(n if axis in pair else 0 for axis, n in enumerate(self.box))
        return Frontiers(slacks_of(self._noise.product, limit), box)

    @cached_property
    def _frontiers(self) -> list[Radii]:
        return [frontier.radii for frontier in self._certificates.frontiers()]

    def of(self, graph: int, pair: Pair) -> Radii:
        """The maximal certified radii of a graph on the axes of `pair`, by either argument; none if it abstains."""
        by_counts = self.by_counts(graph, pair)
        if not by_counts or not self.with_evidence:
            return by_counts
        return self._clip((*by_counts, *project(self._frontiers[graph], pair)), graph, pair)

    def by_counts(self, graph: int, pair: Pair) -> Radii:
        """The maximal radii that the bounds on the class probabilities certify alone."""
        failure, other, contest = self._bounds[graph]
        frontier = self._frontiers_in(pair, contest.limit).of(margin_of(self._noise, failure, other, contest))
        self.verified = self.verified and frontier.verified
        return self._clip(project(frontier.radii, pair), graph, pair)

    def _clip(self, radii: Radii, graph: int, pair: Pair) -> Radii:
        return clip(radii, tuple(self._limits[graph][axis] for axis in pair))

    def reach(self, axis: int, failure: float) -> int:
        """The largest certified number on an axis alone, in the two-margin, with this bound on 1 − p_A."""
        radii = self._frontiers_in(next(pair for pair in self.pairs if axis in pair), PLAIN.limit).at(failure).radii
        return max((radius[axis] for radius in radii), default=0)


MAX_TICKS = 200
"""The most counts of one axis in the table of a page that has one table; several tables share the same space."""

SMALLEST_FAILURE = 1e-6  # where the slider ends at the latest: about what two million unanimous votes show


def ticks(end: int, most: int) -> list[int]:
    """The counts from 0 to `end` that are tabulated: all of them, or in steps, about `most` of them."""
    return list(range(0, end + 1, max(1, -(-end // most))))


def _max_ticks(n_pairs: int) -> int:
    return max(10, int(MAX_TICKS / math.sqrt(n_pairs)))


class SlackTables(NamedTuple):
    """The slacks of all slices, at the tabulated counts (`ticks`) of each axis.

    `rows` are, for each slice and each count on its first axis, the largest floats below slack along the other axis,
    as far as they serve the failure probability `least`. A slice with one axis has one row.
    """

    least: float
    ticks: list[list[int]]
    rows: list[list[list[float]]]


def slack_tables(archive: Archive, slices: Slices) -> SlackTables:
    """The slacks as far as the slider can go: down to a power of ten that no graph's failure probability is below."""
    smallest = float(archive.certificates.bounds.failure.min())
    least = min(SMALLEST_FAILURE, 10.0 ** math.floor(math.log10(smallest)), smallest)
    most = _max_ticks(len(slices.pairs))
    axes = [ticks(slices.reach(axis, least), most) for axis in range(len(archive.noise.axes))]
    return SlackTables(least, axes, [_rows(archive.noise, pair, axes, least) for pair in slices.pairs])


def _rows(noise: Noise, pair: Pair, axes: Sequence[Sequence[int]], least: float) -> list[list[float]]:
    slacks = slacks_of(noise.product)

    def row(*first: int) -> list[float]:
        found = []
        for count in axes[pair[-1]]:
            placed = dict(zip(pair, (*first, count), strict=True))
            found.append(slacks.bracket(tuple(placed.get(axis, 0) for axis in range(len(noise.axes)))).below)
            if found[-1] < least:
                return found[:-1]
        return found

    return [row()] if len(pair) == 1 else list(takewhile(bool, map(row, axes[pair[0]])))


class Surfaces(NamedTuple):
    """The number of graphs certified at each radius, slice by slice.

    A slice counts the graphs that have sites on each of its axes: the others would be certified there for nothing.
    """

    ticks: list[list[int]]  # on each axis the counts that are tabulated
    graphs: list[int]  # for each slice how many graphs it counts
    labelled: list[int]  # how many of these have a known class
    majority: list[tuple[int, int] | None]  # the most frequent class among these and how many graphs have it
    certified: Grids  # for each slice how many graphs are certified at each radius, shape (first axis, other axis)
    right: Grids  # how many of them are also answered right; masked, like the others, where 0 would say nothing
    by_counts: tuple[Grids, Grids] | None  # with evidence, both by the bounds on the class probabilities alone


def surfaces(archive: Archive, slices: Slices) -> Surfaces:
    """Counts the graphs that are certified at each radius.

    An attacker who may flip more sites than a graph has flips them all: a graph that is certified up to its capacity
    is certified at every larger count too.
    """
    there = has_sites(archive.certificates)
    among = [np.flatnonzero(there[:, list(pair)].all(axis=1)).tolist() for pair in slices.pairs]
    by_pair = list(zip(slices.pairs, among, strict=True))
    is_right = right(archive.certificates, archive.labels)
    endless: Limits = (None,) * len(archive.noise.axes)

    ends = [0] * len(archive.noise.axes)
    for pair, graphs in by_pair:
        for radius in (radius for graph in graphs for radius in slices.of(graph, pair)):
            for axis, count in zip(pair, radius, strict=True):
                ends[axis] = max(ends[axis], count)
    most = _max_ticks(len(slices.pairs))
    # One count beyond the furthest shows that nothing is certified there, unless the box ends before.
    axes = [
        ticks(end + 1 if limit is None else min(end + 1, limit), most)
        for end, limit in zip(ends, slices.box, strict=True)
    ]

    def at(pair: Pair) -> Callable[[Pair], Pair]:
        def radius(place: Pair) -> Pair:
            counts = {axis: axes[axis][n] for axis, n in zip(pair, place, strict=True)}
            return tuple(counts.get(axis, 0) for axis in range(len(axes)))

        return radius

    def grids(radii_of: Callable[[int, Pair], Radii]) -> tuple[Grids, Grids]:
        found = list[npt.NDArray[np.int64]]()
        for pair, graphs in by_pair:
            by_radii: dict[metrics.Radii, list[int]] = {(): [0, 0]}  # how many graphs, and how many of them right
            for graph in graphs:
                sizes = [(archive.capacities[graph] or endless)[axis] for axis in pair]
                counts = by_radii.setdefault(open_ended(radii_of(graph, pair), sizes), [0, 0])
                counts[0] += 1
                counts[1] += int(is_right[graph])
            tables = certified_counts(by_radii, [axes[axis] for axis in pair])
            unknown = np.stack([is_unknown(archive.certificates, each, at(pair)) for each in tables])
            found.append(np.ma.array(tables, mask=unknown).reshape(2, -1, len(axes[pair[-1]])))
        return [grid[0] for grid in found], [grid[1] for grid in found]

    classes = [Counter(label for graph in each if (label := archive.labels[graph]) is not None) for each in among]
    return Surfaces(
        axes,
        [len(each) for each in among],
        [each.total() for each in classes],
        [most_frequent(each) for each in classes],
        *grids(slices.of),
        grids(slices.by_counts) if slices.with_evidence else None,
    )


def most_frequent(classes: Counter[int]) -> tuple[int, int] | None:
    """The most frequent class, of equals the first, and how often it is there; None if there is none."""
    return min(classes.items(), key=lambda item: (-item[1], item[0]), default=None)
