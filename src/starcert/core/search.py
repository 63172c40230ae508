"""The search for a frontier: how far each axis reaches, then what is certified inside the box of reaches.

Nothing larger than the reaches needs to be looked at: certified radii are a down-set. Certified counts of one axis have
no gaps, so doubling and bisection find the last one. Inside the box, two axes are a staircase: the *height* of a count
on the shorter axis is the largest certified count on the other one, and heights fall, so each search starts where the
one before ended: about R1 + R2 + 1 evaluations. More axes are searched by their borders.

What that costs is counted in cells, since that is what time and memory follow, on every machine alike; a search that
would cost too much ends early, with what it has found so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starcert.core.borders import find_borders
from starcert.core.channels import MAX_RADIUS

__all__ = ["MOST_CELLS", "MOST_WORK", "Found", "climb", "find_reaches", "search", "staircase"]

MOST_CELLS = 2**19
"""Radii on more than two axes are looked at while their halves have no more cells: a proof holds them all in memory."""

MOST_WORK = 2**26
"""So many cells are looked at for one frontier, proofs included: a matter of seconds."""

FLAT = 512
"""What an evaluation costs beside its own cells, in cells."""

PROOF = 8
"""A proof costs as much as so many evaluations, apart from its cells."""

PROVED_CELL = 32
"""A cell costs so much more in a proof, which takes it in balls, than in an evaluation."""


@dataclass(slots=True)
class Found:
    """Maximal certified and minimal other radii.

    Attributes:
        maximal: certified, and no larger one is.
        minimal: not certified, and every smaller one is.
        incomplete: why there may be more of either; "" if there are none.
    """

    maximal: list[tuple[int, ...]]
    minimal: list[tuple[int, ...]]
    incomplete: str = ""


def find_reaches(certified: Callable[[tuple[int, ...]], bool], limits: tuple[int | None, ...]) -> tuple[int, ...]:
    """How far each axis is certified alone, up to `limits` or `MAX_RADIUS`, radius 0 being certified.

    Example:
        >>> find_reaches(lambda radius: 3 * radius[0] + radius[1] <= 10, (None, 7))
        (3, 7)
    """
    origin = (0,) * len(limits)

    def along(axis: int) -> Callable[[int], bool]:
        return lambda count: certified((*origin[:axis], count, *origin[axis + 1 :]))

    ends = (MAX_RADIUS if limit is None else min(limit, MAX_RADIUS) for limit in limits)
    return tuple(climb(along(axis), end) for axis, end in enumerate(ends))


def search(
    certified: Callable[[tuple[int, ...]], bool],
    limits: tuple[int | None, ...],
    *,
    reaches: tuple[int, ...],
    cells: Callable[[tuple[int, ...]], int],
    by_proof: Callable[[tuple[int, ...]], bool] = lambda _: False,
    few: bool = True,
) -> Found:
    """The borders of the certified radii in a box.

    Args:
        certified: whether a radius is certified.
        limits: the box; None: no end.
        reaches: how far each axis is certified alone.
        cells: how many cells a radius has, which is what it costs to evaluate it.
        by_proof: whether the evaluation of a radius has taken a proof.
        few: whether the cells of one axis are few, however far it reaches, so that none is too large to be looked at.

    Example:
        >>> search(lambda radius: sum(radius) <= 2, (9, 1), reaches=(2, 1), cells=sum)
        Found(maximal=[(2, 0), (1, 1)], minimal=[(3, 0), (2, 1)], incomplete='')
    """
    sides = [
        (*(0,) * axis, reach + 1, *(0,) * (len(limits) - axis - 1))
        for axis, (reach, limit) in enumerate(zip(reaches, limits, strict=True))
        if limit is None or reach < limit
    ]
    found = Found([], [side for side in sides if max(side) <= MAX_RADIUS and (few or cells(side) <= MOST_CELLS)])
    if len(sides) > len(found.minimal):
        found.incomplete = f"more than {MAX_RADIUS:,} flips under one law are not looked at" if few else _too_many()
    steps = min(reaches) + 1 if len(limits) == 2 else 1
    cost = steps * (4 * _evaluation(cells(reaches)) + 2 * _proof(cells(reaches)))
    if len(limits) <= 2 and cost <= MOST_WORK and (few or cells(reaches) <= MOST_CELLS):
        maximal, minimal = staircase(certified, reaches)
        found.maximal, found.minimal = maximal, found.minimal + minimal
        return found
    asked: dict[tuple[int, ...], bool] = {}
    work = 0

    def ask(radius: tuple[int, ...]) -> bool:
        nonlocal work
        if radius not in asked:
            if not (few and len(radius) <= 2) and FLAT + cells(radius) > MOST_CELLS:
                return False
            if found.maximal and work > MOST_WORK:
                raise _SpentError
            asked[radius] = certified(radius)
            work += (_proof if by_proof(radius) else _evaluation)(cells(radius))
        return asked[radius]

    try:
        for radius, verdict in find_borders(ask, reaches):
            if not verdict and radius not in asked:
                found.incomplete = _too_many()
                continue
            if found.maximal and work > MOST_WORK:
                raise _SpentError
            work += _proof(cells(radius)) + len(asked) // 8  # it will be proved; what is known was looked through
            (found.maximal if verdict else found.minimal).append(radius)
    except _SpentError:
        found.incomplete = f"the search ended after {MOST_WORK:,} cells"
    return found


def _too_many() -> str:
    return f"radii with more than {MOST_CELLS:,} cells are not looked at"


class _SpentError(Exception):
    """The search has cost as much as it may."""


def _evaluation(cells: int) -> int:
    return FLAT + cells


def _proof(cells: int) -> int:
    return PROOF * FLAT + PROVED_CELL * cells


def climb(certified: Callable[[int], bool], limit: int) -> int:
    """The largest certified count up to `limit`, zero being certified: doubling, then bisection.

    Example:
        >>> climb(lambda count: count <= 37, 10**9)
        37
    """
    good, step = 0, 1
    while good < limit:
        probe = min(good + step, limit)
        if not certified(probe):
            return _bisect(certified, good, probe)
        good, step = probe, 2 * step
    return good


def staircase(
    certified: Callable[[tuple[int, ...]], bool], reaches: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Maximal certified and minimal other radii of a box with at most two axes, each certified alone as far as it goes.

    Example:
        >>> staircase(lambda radius: 3 * radius[0] + radius[1] <= 8, (2, 8))
        ([(0, 8), (1, 5), (2, 2)], [(1, 6), (2, 3)])
    """
    if len(reaches) < 2:
        return [reaches], []
    long = 0 if reaches[0] >= reaches[1] else 1

    def radius(count: int, height: int) -> tuple[int, ...]:
        return (height, count) if long == 0 else (count, height)

    maximal, minimal = [], []
    height = reaches[long]
    for count in range(1, reaches[1 - long] + 1):
        lower = _descend(lambda probe, count=count: certified(radius(count, probe)), height)  # type: ignore[misc]
        if lower < height:
            maximal.append(radius(count - 1, height))
            minimal.append(radius(count, lower + 1))
        height = lower
    maximal.append(radius(reaches[1 - long], height))
    return maximal, minimal


def _descend(certified: Callable[[int], bool], bound: int) -> int:
    """The largest certified count up to `bound`, zero being certified: usually it is `bound` or just below."""
    bad, step = bound + 1, 1
    while bad > 1:
        probe = max(bad - step, 0)
        if probe == 0 or certified(probe):
            return _bisect(certified, probe, bad)
        bad, step = probe, 2 * step
    return 0


def _bisect(certified: Callable[[int], bool], good: int, bad: int) -> int:
    while bad - good > 1:
        middle = (good + bad) // 2
        if certified(middle):
            good = middle
        else:
            bad = middle
    return good
