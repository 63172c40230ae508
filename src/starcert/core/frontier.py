"""The frontier of the certified radii, found without walking the box and proved where it counts.

Certified radii are a down-set: what withstands an attack withstands a smaller one (`docs/mathematics.md`
has the proof). So they are known by their maximal elements, and it is enough to prove two things: that each
maximal radius is certified, and that each minimal radius beyond them is not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from starcert.core.channels import MAX_RADIUS
from starcert.core.margins import Margin, MultiClass, TwoClass
from starcert.core.slacks import Slacks
from starcert.errors import InvalidParameterError

__all__ = ["Frontier", "Frontiers", "Radius", "find_frontier"]

Radius: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frontier:
    """The maximal certified radii; everything below one of them is certified, and nothing else in the box.

    Attributes:
        radii: the maximal certified radii, in lexicographic order. Empty when not even the graph itself is
            certified (abstention).
        beyond: the minimal radii of the box that are not certified.
        verified: whether every verdict on `radii` and `beyond` is proved. Those on `radii` always are.

    Example:
        >>> frontier = Frontier(((0, 3), (1, 1)), ((0, 4), (1, 2), (2, 0)), verified=True)
        >>> frontier.covers((0, 2)), frontier.covers((1, 2))
        (True, False)
    """

    radii: tuple[Radius, ...]
    beyond: tuple[Radius, ...]
    verified: bool

    def covers(self, radius: Radius) -> bool:
        """Whether `radius`, one count an axis, lies below one of the maximal radii."""
        return any(all(r <= m for r, m in zip(radius, maximal, strict=True)) for maximal in self.radii)

    def __len__(self) -> int:
        return len(self.radii)


def find_frontier(margin: Margin, limits: tuple[int | None, ...]) -> Frontier:
    """Searches the box of radii up to `limits` (None: as far as it goes), then proves what it found."""
    radii: list[Radius]
    beyond: list[Radius]
    corner = tuple(limit for limit in limits if limit is not None)
    if len(corner) == len(limits) and margin.suggests(corner):
        radii, beyond = [corner], []  # the whole box
    else:
        radii, beyond = _search(margin.suggests, limits)
    verified = True
    for expected, side in ((True, radii), (False, beyond)):
        for radius in side:
            verdict = margin.proves(radius)
            if verdict is None and not expected:
                verified = False
            elif verdict is not expected:
                raise ArithmeticError(f"floats and proof disagree at radius {radius}: please report this as a bug")
    return Frontier(tuple(radii), tuple(beyond), verified)


def _search(certified: Callable[[Radius], bool], limits: tuple[int | None, ...]) -> tuple[list[Radius], list[Radius]]:
    """Maximal certified and minimal other radii, by a staircase over one axis for each prefix of the others.

    The *height* of a prefix is the largest certified count on the last axis (−1 if none). Heights fall as the
    prefix grows, so that the heights of the predecessors bound it, and a search starts there: two axes cost
    about R1 + R2 + 1 evaluations. The axis that reaches furthest is the last one. Prefixes are visited in the
    order of their sum, and only those with a certified predecessor: nothing is allocated in the size of the box.
    """
    n_axes = len(limits)
    origin = (0,) * n_axes
    if not certified(origin):
        return [], [origin]
    if n_axes == 0:
        return [origin], []

    def along(axis: int) -> Callable[[int], bool]:
        return lambda count: certified((*origin[:axis], count, *origin[axis + 1 :]))

    reaches = []
    for axis, limit in enumerate(limits):
        reach = _climb(along(axis), MAX_RADIUS if limit is None else limit)
        if limit is None and reach == MAX_RADIUS:
            raise InvalidParameterError(
                "max_radius",
                f"be given where the certified radius has no end: axis number {axis + 1} is certified beyond "
                f"{MAX_RADIUS:,} flips",
                None,
                "Give max_radius, for instance the number of node pairs in each region.",
            )
        reaches.append(reach)
    last = max(range(n_axes), key=reaches.__getitem__)
    others = [axis for axis in range(n_axes) if axis != last]

    def full(prefix: Radius, height: int) -> Radius:
        return (*prefix[:last], height, *prefix[last:])

    def above(prefix: Radius) -> Callable[[int], bool]:
        return lambda height: certified(full(prefix, height))

    def step(prefix: Radius, i: int, by: int) -> Radius:
        return (*prefix[:i], prefix[i] + by, *prefix[i + 1 :])

    def in_box(axis: int, count: int) -> bool:
        limit = limits[axis]
        return limit is None or count <= limit

    heights: dict[Radius, int] = {}
    beyond: list[Radius] = []
    level: list[Radius] = [(0,) * len(others)]
    while level:
        successors: dict[Radius, None] = {}
        for prefix in level:
            bound = min((heights[step(prefix, i, -1)] for i in range(len(others)) if prefix[i]), default=reaches[last])
            height = _descend(above(prefix), bound)
            heights[prefix] = height
            # One more is not certified; it is minimal if every predecessor is: their heights reach it.
            if height < bound or (not any(prefix) and in_box(last, height + 1)):
                beyond.append(full(prefix, height + 1))
            if height >= 0:
                successors.update(
                    (step(prefix, i, 1), None) for i in range(len(others)) if in_box(others[i], prefix[i] + 1)
                )
        # A prefix counts only when all its predecessors are certified.
        level = [
            prefix
            for prefix in successors
            if all(heights.get(step(prefix, i, -1), -1) >= 0 for i in range(len(others)) if prefix[i])
        ]
    maximal = [
        full(prefix, height)
        for prefix, height in heights.items()
        if height >= 0 and all(heights.get(step(prefix, i, 1), -1) < height for i in range(len(others)))
    ]
    return sorted(maximal), sorted(beyond)


def _climb(certified: Callable[[int], bool], limit: int) -> int:
    """The largest certified count up to `limit`, zero being certified: doubling, then bisection."""
    good, step = 0, 1
    while good < limit:
        probe = min(good + step, limit)
        if not certified(probe):
            return _bisect(certified, good, probe)
        good, step = probe, 2 * step
    return good


def _descend(certified: Callable[[int], bool], bound: int) -> int:
    """The largest certified count up to `bound`, or −1: usually it is `bound` or just below."""
    bad, step = bound + 1, 1
    while bad > 0:
        probe = max(bad - step, 0)
        if certified(probe):
            return _bisect(certified, probe, bad)
        bad, step = probe, 2 * step
    return -1


def _bisect(certified: Callable[[int], bool], good: int, bad: int) -> int:
    while bad - good > 1:
        middle = (good + bad) // 2
        if certified(middle):
            good = middle
        else:
            bad = middle
    return good


class Frontiers:
    """The frontiers of one noise in one box, each searched and proved once.

    A two-class frontier stays the same while the failure probability moves between two proved slacks, so most graphs
    are a look-up.
    """

    def __init__(self, slacks: Slacks, limits: tuple[int | None, ...]) -> None:
        self._slacks = slacks
        self._limits = limits
        self._starts: list[float] = []
        self._known: list[tuple[float, Frontier]] = []
        self._multi: dict[tuple[float, float], Frontier] = {}

    def of(self, margin: TwoClass | MultiClass) -> Frontier:
        """The frontier under either margin; that of a multi-class one is remembered for the same bounds alone."""
        if isinstance(margin, TwoClass):
            return self.at(margin.failure)
        bounds = margin.failure, margin.other
        if bounds not in self._multi:
            self._multi[bounds] = find_frontier(margin, self._limits)
        return self._multi[bounds]

    def at(self, failure: float) -> Frontier:
        """The frontier of a graph with this upper bound on 1 − p_A."""
        position = bisect_right(self._starts, failure)
        if position and failure <= self._known[position - 1][0]:
            return self._known[position - 1][1]
        frontier = find_frontier(TwoClass(self._slacks, failure), self._limits)
        # It holds for every failure probability that all these proofs serve.
        start = max((self._slacks.bracket(radius).at_least for radius in frontier.beyond), default=0.0)
        end = min((self._slacks.bracket(radius).below for radius in frontier.radii), default=1.0)
        if start <= failure <= end:
            self._starts.insert(position, start)
            self._known.insert(position, (end, frontier))
        return frontier
