"""The frontier of the certified radii, found without walking the box and proved where it counts.

Certified radii are a down-set (`docs/mathematics.md` has the proof). So they are known by their maximal elements, and
it is enough to prove that each maximal radius is certified, and that each minimal radius beyond them is not.

Axes may be *alike*: equal channels merge (`Product.powers`), and what is certified depends on the sum of their counts
alone. So a noise with many regions under one law has few axes to search: one for each factor, with the sum of the
counts on its axes. A sum is maximal among the certified ones, or minimal beyond them, iff every way to share it among
its axes is. On free axes any count is certified.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.cells import count_cells
from starcert.math.channels import MAX_RADIUS, Product
from starcert.math.margins import Margin, Slacks, TwoClass
from starcert.math.search import MAX_CELLS, Found, find_reaches, search
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import MAX_SHOWN, html_table

Radius: TypeAlias = tuple[int, ...]

MAX_RADII = 100_000  # the most radii that are listed on either side of a frontier


def levels_of(flips: int, limits: Radius) -> Iterator[Radius]:
    """Every way to share flips between axes with these limits: (2, 0), (1, 1), (0, 2) for 2 flips on 2 axes."""
    if len(limits) == 1:
        if flips <= limits[0]:
            yield (flips,)
        return
    for first in range(min(flips, limits[0]), -1, -1):
        for rest in levels_of(flips - first, limits[1:]):
            yield (first, *rest)


def levels_below(level: Radius) -> Iterator[Radius]:
    """The levels with one flip fewer, on any axis."""
    for axis, number in enumerate(level):
        if number:
            yield (*level[:axis], number - 1, *level[axis + 1 :])


def flips_covered(radii: Sequence[Radius], limits: Radius, most: int | None = None) -> int:
    """The largest k, at most `most`, such that every level of k flips within `limits` lies below one of the radii.

    It follows from what the radii hold, and from nothing else: without radii it is 0.

    Example:
        >>> flips_covered([(0, 3), (1, 1)], (2, 3)), flips_covered([(0, 3), (1, 1)], (0, 3))
        (1, 3)
    """
    most = sum(limits) if most is None else min(most, sum(limits))
    return max(0, _least_above(np.array(radii, dtype=np.int64).reshape(-1, len(limits)), limits, most + 1) - 1)


def _least_above(radii: npt.NDArray[np.int64], limits: Radius, most: int) -> int:
    """The least number of flips of a level that lies below none of the radii, at most `most`, axis after axis."""
    if not len(radii):
        return 0
    if not limits:
        return most
    first = radii[:, 0]
    steps = np.unique(first) if len(limits) > 1 else first.max(keepdims=True)
    for flips in [0, *(steps + 1).tolist()]:
        if flips > min(limits[0], most - 1):
            break
        most = min(most, flips + _least_above(radii[first >= flips][:, 1:], limits[1:], most - flips))
    return most


@dataclass(frozen=True, slots=True)
class Frontier:
    """The maximal certified radii; everything below one of them is certified, and nothing else in the box.

    A search that would take too long ends before it is complete. Every radius that it has found is proved to be
    certified; others may be certified too, and `Certificate.certified` decides any one of them.

    Example:
        >>> frontier = Frontier(((0, 3), (1, 1)), ((0, 4), (1, 2), (2, 0)), verified=True)
        >>> frontier.covers((0, 2)), frontier.covers((1, 2)), frontier.incomplete
        (True, False, '')
    """

    radii: tuple[Radius, ...]  # in lexicographic order; none where not even the graph itself is certified (abstention)
    beyond: tuple[Radius, ...]  # the minimal radii of the box that are not certified
    verified: bool  # all of it is proved: that `radii` are certified, which always is, and that nothing else is
    incomplete: str = ""  # why the search ended before everything in the box was decided; "" if everything is

    def covers(self, radius: Radius) -> bool:
        """True if `radius`, one count an axis, lies below one of the maximal radii."""
        return any(all(r <= m for r, m in zip(radius, maximal, strict=True)) for maximal in self.radii)

    def __len__(self) -> int:
        return len(self.radii)

    def _repr_html_(self) -> str:
        """For a notebook: a row for each of the first maximal radii, a column for each axis."""
        if not self.radii:
            return "<p>Nothing is certified, not even the clean object itself.</p>"
        rows = [{f"axis {axis + 1}": count for axis, count in enumerate(radius)} for radius in self.radii[:MAX_SHOWN]]
        more = f", the first {MAX_SHOWN} of {len(self):,}" if len(self) > MAX_SHOWN else ""
        return html_table(rows, caption=f"maximal certified radii{more}")


def find_frontier(margin: Margin, limits: tuple[int | None, ...]) -> Frontier:
    """Searches the box of radii up to `limits` (None: up to `MAX_RADIUS`), then proves what it found."""
    axes = Alike(margin.product, tuple(None if limit is None else min(limit, MAX_RADIUS) for limit in limits))
    found = _search(margin, axes)
    verified = not found.incomplete
    # One side after the other would list the cells of both twice: neighbours share most of them.
    verdicts = [(powers, True) for powers in found.maximal] + [(powers, False) for powers in found.minimal]
    for powers, expected in sorted(verdicts):
        radius = axes.radius(powers)
        verdict = margin.proves(radius)
        if verdict is None and not expected:
            verified = False
        elif verdict is not expected:
            raise ArithmeticError(f"floats and proof disagree at radius {radius}: please report this as a bug")
    radii, all_radii = axes.radii_of(found.maximal, most=MAX_RADII, free=True)
    beyond, all_beyond = axes.radii_of(found.minimal, most=MAX_RADII, free=False)
    incomplete = found.incomplete
    if not (all_radii and all_beyond):
        incomplete = f"axes under one law can share their flips in more than {MAX_RADII:,} ways"
    cut = [axis for axis, limit in enumerate(limits) if limit is not None and limit > MAX_RADIUS]
    if any(radius[axis] == MAX_RADIUS for radius in radii for axis in cut):
        incomplete = incomplete or f"more than {MAX_RADIUS:,} flips on one axis are not searched"
    return Frontier(tuple(radii), tuple(beyond), verified and not incomplete, incomplete)


def _search(margin: Margin, axes: Alike) -> Found:
    """The borders in sums over axes that are alike: what a margin says depends on nothing else."""
    box = axes.sums
    origin = (0,) * len(box)
    few = margin.product.binary  # the cells of one axis are few, however far it reaches

    def cells(powers: Radius) -> int:
        return count_cells(margin.product, powers)

    def certified(powers: Radius) -> bool:
        return (few or cells(powers) <= MAX_CELLS) and margin.suggests(axes.radius(powers))

    corner = tuple(limit for limit in box if limit is not None)
    ended = len(corner) == len(box) and not axes.endless
    if (
        ended
        and (max(corner, default=0) <= 2 * MAX_RADIUS if few and len(box) <= 2 else cells(corner) <= MAX_CELLS // 8)
        and certified(corner)
    ):
        return Found([corner], [])  # the whole box
    if not certified(origin):
        return Found([], [origin])
    reaches = find_reaches(certified, box)
    far = [i for i, reach in enumerate(reaches) if box[i] is None and reach == MAX_RADIUS]
    beyond = [axis for i in far for axis in axes.groups[i] if axes.limits[axis] is None]
    if endless := sorted([*beyond, *axes.endless]):
        axis = f"axis number {endless[0] + 1} is certified beyond {MAX_RADIUS:,} flips"
        hint = "Give max_radius, for instance the number of node pairs in each region."
        raise InvalidParameterError("max_radius", f"is missing, and the certified radius has no end: {axis}. {hint}")

    def by_proof(powers: Radius) -> bool:
        return margin.needs_proof(axes.radius(powers))

    return search(certified, box, reaches=reaches, cells=cells, by_proof=by_proof, few=few)


class Frontiers:
    """The frontiers of one noise in one box, each searched and proved once.

    A two-class frontier stays the same while the failure probability moves between two proved slacks, and a multi-class
    one between two bounds that share it: most graphs, and most nodes of a large one, are a look-up.
    """

    def __init__(self, slacks: Slacks, limits: tuple[int | None, ...]) -> None:
        self._slacks = slacks
        self._limits = limits
        self._starts: list[float] = []
        self._known: list[tuple[float, Frontier]] = []
        self._by_bounds: dict[tuple[float, float], Frontier] = {}
        self._complete: dict[Frontier, list[tuple[float, float]]] = {}  # the bounds of each multi-class one

    def of(self, margin: Margin) -> Frontier:
        """The frontier under either margin."""
        if isinstance(margin, TwoClass):
            return self.at(margin.failure)
        bounds = margin.failure, margin.other
        frontier = self._by_bounds.get(bounds, self._between(*bounds))
        if frontier is None:
            frontier = find_frontier(margin, self._limits)
            if frontier.verified and not frontier.incomplete:  # otherwise a search under other bounds may find more
                self._complete.setdefault(frontier, []).append(bounds)
            self._by_bounds[bounds] = frontier
        return frontier

    def _between(self, failure: float, other: float) -> Frontier | None:
        """A frontier of smaller bounds and of larger ones: it is that of these, too, and its verdicts are proved."""
        for frontier, known in self._complete.items():
            smaller = any(one <= failure and rival <= other for one, rival in known)
            if smaller and any(one >= failure and rival >= other for one, rival in known):
                return frontier
        return None

    def at(self, failure: float) -> Frontier:
        """The frontier of a graph with this upper bound on 1 − p_A."""
        position = bisect_right(self._starts, failure)
        if position and failure <= self._known[position - 1][0]:
            return self._known[position - 1][1]
        frontier = find_frontier(TwoClass(self._slacks, failure), self._limits)
        start = end = failure  # at other probabilities an incomplete search may find more
        if not frontier.incomplete:  # it holds for every failure probability that all these proofs serve
            start = max((self._slacks.bracket(radius).at_least for radius in frontier.beyond), default=0.0)
            end = min((self._slacks.bracket(radius).below for radius in frontier.radii), default=1.0)
        if start <= failure <= end:
            self._starts.insert(position, start)
            self._known.insert(position, (end, frontier))
        return frontier


@dataclass(frozen=True)
class Alike:
    """The axes of a product, grouped by factor, in a box with one limit an axis; None: no end."""

    product: Product
    limits: tuple[int | None, ...]

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each factor."""
        return tuple(self._axes_of(factor) for factor in range(len(self.product.factors)))

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The axes whose channel is free."""
        return self._axes_of(-1)

    @property
    def endless(self) -> tuple[int, ...]:
        """The free axes without a limit: certified without end."""
        return tuple(axis for axis in self.free if self.limits[axis] is None)

    @cached_property
    def sums(self) -> tuple[int | None, ...]:
        """The largest number of sites of each factor; None: no end."""
        limits = ([self.limits[axis] for axis in group] for group in self.groups)
        return tuple(None if None in each else sum(x for x in each if x is not None) for each in limits)

    @cached_property
    def plain(self) -> bool:
        """True if no two axes are alike and none is free: sums are radii."""
        return len(self.product.factors) == len(self.limits)

    def radius(self, powers: tuple[int, ...]) -> tuple[int, ...]:
        """One radius with these sums, free axes untouched."""
        if self.plain:
            return powers
        counts = [0] * len(self.limits)
        for group, power in zip(self.groups, powers, strict=True):
            missing = power
            for axis in group:
                limit = self.limits[axis]
                counts[axis] = missing if limit is None else min(missing, limit)
                missing -= counts[axis]
        return tuple(counts)

    def radii_of(self, sums: Iterable[Radius], *, most: int, free: bool) -> tuple[list[Radius], bool]:
        """The radii with these sums in lexicographic order, and whether they are all; free axes at their end, or at 0.

        Where there are more than `most`, counts are thinned out evenly; radii that attack one axis alone stay.
        """
        powers = list(sums)
        if self.plain:
            return sorted(powers[:most]), len(powers) <= most
        step, largest = 1, max((max(each, default=0) for each in powers), default=0)
        while step <= largest and self._more_than(most, powers, step):
            step *= 2
        radii = list(islice(chain.from_iterable(self._radii(each, step, free) for each in powers), most + 1))
        return sorted(radii[:most]), step == 1 and len(radii) <= most

    def _more_than(self, most: int, powers: Sequence[Radius], step: int) -> bool:
        """True if these sums can be shared in more ways than that."""
        limits, found = [tuple(self.limits[axis] for axis in group) for group in self.groups], 0
        for each in powers:
            shares = zip(each, limits, strict=True)
            found += prod(_n_shares(total, own, step, most + 1) for total, own in shares)
            if found > most:
                return True
        return False

    def _radii(self, powers: Radius, step: int, free: bool) -> Iterator[Radius]:
        counts = [0] * len(self.limits)
        if free:
            for axis in self.free:
                counts[axis] = self.limits[axis] or 0
        limits = [tuple(self.limits[axis] for axis in group) for group in self.groups]
        order = list(chain.from_iterable(self.groups))
        for shares in _share_all(list(zip(powers, limits, strict=True)), step):
            for axis, count in zip(order, shares, strict=True):
                counts[axis] = count
            yield tuple(counts)

    def _axes_of(self, factor: int) -> tuple[int, ...]:
        return tuple(axis for axis, each in enumerate(self.product.factor_of_axis) if each == factor)


def _share_all(groups: list[tuple[int, tuple[int | None, ...]]], step: int) -> Iterator[tuple[int, ...]]:
    """Every way to share a total within each group of limits, one group after the other."""
    if not groups:
        yield ()
        return
    for share in _share(*groups[0], step):
        for others in _share_all(groups[1:], step):
            yield (*share, *others)


def _share(total: int, limits: tuple[int | None, ...], step: int) -> Iterator[tuple[int, ...]]:
    """The ways to share a total; the last axis takes the rest."""
    if len(limits) == 1:
        yield (total,)
        return
    stepped, largest = _first_shares(total, limits, step)
    for count in chain(stepped, (largest,)):
        for others in _share(total - count, limits[1:], step):
            yield (count, *others)


def _first_shares(total: int, limits: tuple[int | None, ...], step: int) -> tuple[range, int]:
    """The counts of the first axis: from the least in steps, and the largest."""
    room = None if None in limits[1:] else sum(x for x in limits[1:] if x is not None)
    largest = total if limits[0] is None else min(total, limits[0])
    return range(0 if room is None else max(0, total - room), largest, step), largest


def _n_shares(total: int, limits: tuple[int | None, ...], step: int, enough: int) -> int:
    """The number of ways that `_share` finds, counted up to `enough`."""
    if len(limits) == 1:
        return 1
    stepped, largest = _first_shares(total, limits, step)
    if len(limits) == 2:
        return len(stepped) + 1
    found = 0
    for count in chain(stepped, (largest,)):
        found += _n_shares(total - count, limits[1:], step, enough - found)
        if found >= enough:
            break
    return found
