"""The search for a frontier: how far each axis reaches, then what is certified inside the box of reaches.

Certified radii are a down-set, and those of one axis have no gaps: doubling and bisection find the last one. Inside the
box of these reaches, two axes are a staircase: the *height* of a count on the shorter axis is the largest certified
count on the other one, and heights fall, so each search starts where the one before ended: about R1 + R2 + 1
evaluations. More axes are searched by their borders (`find_borders`).

What that costs is counted in cells, on every machine alike; a search that would cost too much ends early, with what it
has found so far.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.channels import MAX_RADIUS

Predicate: TypeAlias = Callable[[tuple[int, ...]], bool]  # something about a radius, usually whether it is certified
Counts: TypeAlias = npt.NDArray[np.int64]

MAX_CELLS = 2**19  # of the halves of a radius on more than two axes: a proof holds them all in memory
MAX_WORK = 2**26  # the most cells that are looked at for one frontier, proofs included: a matter of seconds
FLAT = 512  # what an evaluation costs beside its own cells, in cells
PROOF = 8  # how many evaluations a proof costs, apart from its cells
PROVED_CELL = 32  # how much more a cell costs in a proof, which takes it in balls, than in an evaluation
WIDE = 8  # where an axis may go further than this, a climb begins with strides on all axes at once


@dataclass(slots=True)
class Found:
    """Maximal certified and minimal other radii, and why there may be more of either; "" if there are none."""

    maximal: list[tuple[int, ...]]
    minimal: list[tuple[int, ...]]
    incomplete: str = ""


def find_reaches(certified: Predicate, limits: tuple[int | None, ...]) -> tuple[int, ...]:
    """The largest certified count on each axis alone, up to `limits` or `MAX_RADIUS`, radius 0 being certified."""

    def reach(axis: int, limit: int | None) -> int:
        before, after = (0,) * axis, (0,) * (len(limits) - axis - 1)
        end = MAX_RADIUS if limit is None else min(limit, MAX_RADIUS)
        return climb(lambda count: certified((*before, count, *after)), end)

    return tuple(reach(axis, limit) for axis, limit in enumerate(limits))


def search(
    certified: Predicate,
    limits: tuple[int | None, ...],
    *,
    reaches: tuple[int, ...],
    cells: Callable[[tuple[int, ...]], int],
    by_proof: Predicate = lambda _: False,
    few: bool = True,
) -> Found:
    """The borders of the certified radii in a box, given how far each axis is certified alone.

    `cells` counts the cells of a radius: what it costs to evaluate it, and more where `by_proof` says that it took a
    proof. With `few`, the cells of one axis are few however far it reaches, so that none is too large to look at.
    """
    too_many = f"radii with more than {MAX_CELLS:,} cells are not looked at"

    def price(radius: tuple[int, ...], *, proof: bool = False) -> int:
        return PROOF * FLAT + PROVED_CELL * cells(radius) if proof else FLAT + cells(radius)

    sides = [
        (*(0,) * axis, reach + 1, *(0,) * (len(limits) - axis - 1))
        for axis, (reach, limit) in enumerate(zip(reaches, limits, strict=True))
        if limit is None or reach < limit
    ]
    found = Found([], [side for side in sides if max(side) <= MAX_RADIUS and (few or cells(side) <= MAX_CELLS)])
    if len(sides) > len(found.minimal):
        found.incomplete = f"more than {MAX_RADIUS:,} flips under one law are not looked at" if few else too_many
    steps = min(reaches) + 1 if len(limits) == 2 else 1
    cost = steps * (4 * price(reaches) + 2 * price(reaches, proof=True))
    if len(limits) <= 2 and cost <= MAX_WORK and (few or cells(reaches) <= MAX_CELLS):
        maximal, minimal = staircase(certified, reaches)
        found.maximal, found.minimal = maximal, found.minimal + minimal
        return found
    known: dict[tuple[int, ...], bool] = {}
    work = 0

    def evaluate(radius: tuple[int, ...]) -> bool:
        nonlocal work
        if radius not in known:
            if not (few and len(radius) <= 2) and price(radius) > MAX_CELLS:
                return False
            if found.maximal and work > MAX_WORK:
                raise _SpentError
            known[radius] = certified(radius)
            work += price(radius, proof=by_proof(radius))
        return known[radius]

    try:
        for radius, verdict in find_borders(evaluate, reaches):
            if not verdict and radius not in known:
                found.incomplete = too_many
                continue
            if found.maximal and work > MAX_WORK:
                raise _SpentError
            work += price(radius, proof=True) + len(known) // 8  # it will be proved; what is known was looked through
            (found.maximal if verdict else found.minimal).append(radius)
    except _SpentError:
        found.incomplete = f"the search ended after {MAX_WORK:,} cells"
    return found


class _SpentError(Exception):
    """The search has cost as much as it may."""


def climb(certified: Callable[[int], bool], limit: int) -> int:
    """The largest certified count up to `limit`, zero being certified: doubling, then bisection."""
    good, step = 0, 1
    while good < limit:
        probe = min(good + step, limit)
        if not certified(probe):
            return _bisect(certified, good, probe)
        good, step = probe, 2 * step
    return good


def staircase(certified: Predicate, reaches: tuple[int, ...]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Maximal certified and minimal other radii of a box of at most two axes, as far as each is certified alone."""
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
    return good + bisect_left(range(good + 1, bad), True, key=lambda count: not certified(count))


def find_borders(certified: Predicate, reaches: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Maximal certified radii (with True) and minimal others (with False) of a box, as they are found.

    It asks about as many radii as the borders have, times a few, and never walks what lies between.

    What no maximal radius covers is known by its minimal elements, the *candidates*. Each is asked about once. If it is
    not certified, it is a minimal radius beyond: all that is smaller is covered, hence certified. If it is, the search
    climbs from it to a new maximal radius y, and candidates below y give way to larger ones (`_raised`). When no
    candidate is left, both borders are complete. Ended before that, what was found is still true.

    `reaches` is the box: how far each axis is certified alone. First come maximal radii that reach as far, for each
    axis; then the candidates in the order in which they arose, so that the first radii are spread over the border.
    """
    box = np.array(reaches, np.int64)
    maximal = refuted = np.empty((len(box), 0), np.int64)  # radii are columns
    candidates = np.zeros((len(box), 1), np.int64)

    def holds(counts: Counts) -> bool:
        return certified(tuple(counts.tolist()))

    def climb_from(start: Counts) -> tuple[int, ...]:
        nonlocal maximal, refuted, candidates
        y, refuted = _climb(holds, start, refuted, box, turn=maximal.shape[1])
        below = _all_axes(candidates <= y[:, None])
        raised = [_raised(candidate, y, maximal, box) for candidate in candidates[:, below].T]
        candidates = np.concatenate([candidates[:, ~below], *raised], axis=1)
        maximal = np.concatenate([maximal, y[:, None]], axis=1)
        return tuple(y.tolist())

    for axis, reach in enumerate(reaches):
        side = np.zeros_like(box)
        side[axis] = reach
        if not _all_axes(maximal >= side[:, None]).any():
            yield climb_from(side), True
    while candidates.size:
        candidate = candidates[:, 0]
        if not _all_axes(refuted <= candidate[:, None]).any() and holds(candidate):
            yield climb_from(candidate), True
        else:
            refuted = np.concatenate([refuted, candidate[:, None]], axis=1)
            candidates = candidates[:, 1:]
            yield tuple(candidate.tolist()), False


def _climb(
    holds: Callable[[Counts], bool], start: Counts, refuted: Counts, box: Counts, *, turn: int
) -> tuple[Counts, Counts]:
    """A maximal certified radius above a certified one, by strides, then axis by axis; and all that is refuted."""
    y = start.copy()
    stride = _ceiling(refuted, y, box) - y
    while stride.max() > WIDE:
        stride //= 2
        if holds(y + stride):
            y += stride
    for axis in (np.arange(len(y)) + turn) % len(y):  # each axis has its turn to be the first
        ceiling = _ceiling(refuted, y, box)[axis]
        probe, bad = y.copy(), ceiling + 1
        while bad - y[axis] > 1:
            probe[axis] = (y[axis] + bad) // 2
            if holds(probe):
                y[axis] = probe[axis]
            else:
                bad = probe[axis]
        if bad <= ceiling:
            probe[axis] = bad
            refuted = np.concatenate([refuted, probe[:, None]], axis=1)
    return y, refuted


def _ceiling(refuted: Counts, counts: Counts, box: Counts) -> Counts:
    """The largest count of each axis above a certified radius, the others unchanged, below all that is refuted."""
    ceiling = box.copy()
    axes, near = _all_axes_but_one(refuted <= counts[:, None])
    np.minimum.at(ceiling, axes, refuted[axes, near] - 1)
    return ceiling


def _raised(candidate: Counts, y: Counts, maximal: Counts, box: Counts) -> Counts:
    """The candidates that take the place of one, c, below the new maximal radius y: c with count i raised to y_i + 1.

    That one is minimal among the uncovered iff lowering any other count c_j > 0 makes it covered: iff some maximal
    radius m has m_j = c_j − 1, reaches y_i + 1 on axis i, and c on the other axes.
    """
    axes, near = _all_axes_but_one(maximal >= candidate[:, None])
    covers = maximal[axes, near] == candidate[axes] - 1
    # How far the maximal radii that cover the candidate less one on axis j (row) reach on axis i (column).
    reach = np.full((len(box), len(box)), -1)
    np.maximum.at(reach, axes[covers], maximal[:, near[covers]].T)
    minimal = ((reach > y) | (candidate == 0)[:, None] | np.eye(len(box), dtype=bool)).all(axis=0)
    chosen = np.flatnonzero(minimal & (y < box))
    raised = np.repeat(candidate[:, None], len(chosen), axis=1)
    raised[chosen, np.arange(len(chosen))] = y[chosen] + 1
    return raised


def _all_axes(holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The columns in which something holds on every axis (row)."""
    everywhere: npt.NDArray[np.bool_] = np.logical_and.reduce(holds, axis=0)
    return everywhere


def _all_axes_but_one(holds: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The columns in which something holds on every axis but one, with that axis."""
    failing = np.add.reduce(~holds, axis=0, dtype=np.uint8)  # few axes: small numbers are quicker
    columns = np.flatnonzero(failing == 1)
    return holds[:, columns].argmin(axis=0), columns
