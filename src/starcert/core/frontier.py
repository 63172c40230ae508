"""The frontier of the certified radii, found without walking the box and proved where it counts.

Certified radii are a down-set: what withstands an attack withstands a smaller one (`docs/mathematics.md`
has the proof). So they are known by their maximal elements, and it is enough to prove two things: that each
maximal radius is certified, and that each minimal radius beyond them is not.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from starcert.core.alike import Alike
from starcert.core.channels import MAX_RADIUS
from starcert.core.halves import count_cells
from starcert.core.margins import Margin, MultiClass, Slacks, TwoClass
from starcert.core.search import MOST_CELLS, Found, find_reaches, search
from starcert.errors import InvalidParameterError

__all__ = ["Frontier", "Frontiers", "Radius", "find_frontier"]

Radius: TypeAlias = tuple[int, ...]

MOST_RADII = 100_000
"""So many radii are listed on either side of a frontier."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The maximal certified radii; everything below one of them is certified, and nothing else in the box.

    A search that would take too long ends before it is complete. Every radius that it has found is proved to be
    certified; others may be certified too, and `Certificate.certified` decides any one of them.

    Attributes:
        radii: the maximal certified radii, in lexicographic order. Empty when not even the graph itself is
            certified (abstention).
        beyond: the minimal radii of the box that are not certified.
        verified: whether all of it is proved: that `radii` are certified, which always is, and that nothing else is.
        incomplete: why the search ended before everything in the box was decided; "" if everything is.

    Example:
        >>> frontier = Frontier(((0, 3), (1, 1)), ((0, 4), (1, 2), (2, 0)), verified=True)
        >>> frontier.covers((0, 2)), frontier.covers((1, 2)), frontier.incomplete
        (True, False, '')
    """

    radii: tuple[Radius, ...]
    beyond: tuple[Radius, ...]
    verified: bool
    incomplete: str = ""

    def covers(self, radius: Radius) -> bool:
        """Whether `radius`, one count an axis, lies below one of the maximal radii."""
        return any(all(r <= m for r, m in zip(radius, maximal, strict=True)) for maximal in self.radii)

    def __len__(self) -> int:
        return len(self.radii)


def find_frontier(margin: Margin, limits: tuple[int | None, ...]) -> Frontier:
    """Searches the box of radii up to `limits` (None: as far as it goes), then proves what it found."""
    axes = Alike(margin.product, limits)
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
    radii, all_radii = axes.spread(found.maximal, most=MOST_RADII, free=True)
    beyond, all_beyond = axes.spread(found.minimal, most=MOST_RADII, free=False)
    incomplete = found.incomplete
    if not (all_radii and all_beyond):
        incomplete = f"axes under one law can share their flips in more than {MOST_RADII:,} ways"
    return Frontier(tuple(radii), tuple(beyond), verified and not incomplete, incomplete)


def _search(margin: Margin, axes: Alike) -> Found:
    """The borders in sums over axes that are alike: what a margin says depends on nothing else."""
    box = axes.sums
    origin = (0,) * len(box)

    few = margin.product.binary  # the cells of one axis are few, however far it reaches

    def cells(powers: Radius) -> int:
        return count_cells(margin.product, powers)

    def certified(powers: Radius) -> bool:
        return (few or cells(powers) <= MOST_CELLS) and margin.suggests(axes.radius(powers))

    corner = tuple(limit for limit in box if limit is not None)
    ended = len(corner) == len(box) and not axes.endless
    if (
        ended
        and (max(corner, default=0) <= 2 * MAX_RADIUS if few and len(box) <= 2 else cells(corner) <= MOST_CELLS // 8)
        and certified(corner)
    ):
        return Found([corner], [])  # the whole box
    if not certified(origin):
        return Found([], [origin])
    reaches = find_reaches(certified, box)
    endless = [axes.endless_axis(i) for i, reach in enumerate(reaches) if box[i] is None and reach == MAX_RADIUS]
    if endless := sorted([*endless, *axes.endless]):
        raise InvalidParameterError(
            "max_radius",
            f"be given where the certified radius has no end: axis number {endless[0] + 1} is certified beyond "
            f"{MAX_RADIUS:,} flips",
            None,
            "Give max_radius, for instance the number of node pairs in each region.",
        )

    def by_proof(powers: Radius) -> bool:
        return margin.needs_proof(axes.radius(powers))

    return search(certified, box, reaches=reaches, cells=cells, by_proof=by_proof, few=few)


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
        if frontier.incomplete:  # others may find more: each looks for itself
            self._starts.insert(position, failure)
            self._known.insert(position, (failure, frontier))
            return frontier
        # It holds for every failure probability that all these proofs serve.
        start = max((self._slacks.bracket(radius).at_least for radius in frontier.beyond), default=0.0)
        end = min((self._slacks.bracket(radius).below for radius in frontier.radii), default=1.0)
        if start <= failure <= end:
            self._starts.insert(position, start)
            self._known.insert(position, (end, frontier))
        return frontier
