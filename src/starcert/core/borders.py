"""The two borders of a down-set of radii: its maximal elements, and the minimal ones beyond it.

Whether a radius is certified is asked one radius at a time, and every answer costs. So the search asks about as many
radii as the borders have, times a few, and never walks what lies between. At any time it knows some *maximal* certified
radii, and some *refuted* ones that are not certified.

What no maximal radius covers is known by its minimal elements, the *candidates*. Each is asked about once. If it is
not certified, it is a minimal radius beyond: all that is smaller is covered, hence certified. If it is, the search
climbs from it to a new maximal radius y, and candidates below y give way to larger ones. When no candidate is left,
nothing is open: both borders are complete. Ended before that, what was found is still true.

A candidate c below y gives way to c with one count, say the i-th, raised to y_i + 1. That one is minimal among the
uncovered iff lowering any other count c_j > 0 makes it covered: iff some maximal radius m has m_j = c_j − 1, reaches
y_i + 1 on axis i, and c on the other axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["find_borders"]

Counts: TypeAlias = npt.NDArray[np.int64]

WIDE = 8
"""Where an axis may go further than this, a climb begins with strides on all axes at once."""


def find_borders(
    certified: Callable[[tuple[int, ...]], bool], reaches: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Maximal certified radii (with True) and minimal others (with False) of a box, as they are found.

    `reaches` is the box: how far each axis is certified alone. First come maximal radii that reach as far, for each
    axis; then the candidates in the order in which they arose, so that the first radii are spread over the border.

    Example:
        >>> sorted(find_borders(lambda radius: sum(radius) <= 2, (2, 2)))
        [((0, 2), True), ((1, 1), True), ((1, 2), False), ((2, 0), True), ((2, 1), False)]
    """
    box = np.array(reaches, np.int64)
    maximal, refuted, candidates = (_Points(len(box)) for _ in range(3))
    candidates.add(np.zeros((len(box), 1), np.int64))

    def holds(counts: Counts) -> bool:
        return certified(tuple(counts.tolist()))

    def climb(start: Counts) -> tuple[int, ...]:
        y = _climb(holds, start, refuted, box, turn=maximal.all.shape[1])
        below = _all_axes(candidates.all <= y[:, None])
        raised = [_raised(candidate, y, maximal.all, box) for candidate in candidates.all[:, below].T]
        candidates.drop(below)
        for columns in raised:
            candidates.add(columns)
        maximal.add(y[:, None])
        return tuple(y.tolist())

    for axis, reach in enumerate(reaches):
        side = np.zeros_like(box)
        side[axis] = reach
        if not _all_axes(maximal.all >= side[:, None]).any():
            yield climb(side), True
    while candidates.all.size:
        candidate = candidates.all[:, 0].copy()
        if not _all_axes(refuted.all <= candidate[:, None]).any() and holds(candidate):
            yield climb(candidate), True
        else:
            refuted.add(candidate[:, None])
            candidates.drop_first()
            yield tuple(candidate.tolist()), False


class _Points:
    """Radii as the columns of an array that grows."""

    def __init__(self, n_axes: int) -> None:
        self._columns = np.empty((n_axes, 64), np.int64)
        self._start = self._stop = 0

    @property
    def all(self) -> Counts:
        return self._columns[:, self._start : self._stop]

    def add(self, columns: Counts) -> None:
        stop = self._stop + columns.shape[1]
        if stop > self._columns.shape[1]:
            self._columns = np.concatenate([self.all, np.empty((len(columns), stop), np.int64)], axis=1)
            self._start, self._stop = 0, self._stop - self._start
            stop = self._stop + columns.shape[1]
        self._columns[:, self._stop : stop] = columns
        self._stop = stop

    def drop_first(self) -> None:
        self._start += 1

    def drop(self, which: npt.NDArray[np.bool_]) -> None:
        kept = np.delete(self.all, which, axis=1)
        self._stop = self._start + kept.shape[1]
        self._columns[:, self._start : self._stop] = kept


def _climb(holds: Callable[[Counts], bool], start: Counts, refuted: _Points, box: Counts, *, turn: int) -> Counts:
    """A maximal certified radius above a certified one: by strides on all axes at once, then axis by axis."""
    y = start.copy()
    stride = _ceiling(refuted.all, y, box) - y
    while stride.max() > WIDE:
        stride //= 2
        if holds(y + stride):
            y += stride
    for axis in (np.arange(len(y)) + turn) % len(y):  # each axis has its turn to be the first
        ceiling = _ceiling(refuted.all, y, box)[axis]
        probe, bad = y.copy(), ceiling + 1
        while bad - y[axis] > 1:
            probe[axis] = (y[axis] + bad) // 2
            if holds(probe):
                y[axis] = probe[axis]
            else:
                bad = probe[axis]
        if bad <= ceiling:
            probe[axis] = bad
            refuted.add(probe[:, None])
    return y


def _ceiling(refuted: Counts, counts: Counts, box: Counts) -> Counts:
    """How far each axis may go from a certified radius, the others unchanged, before the box or a refuted radius."""
    ceiling = box.copy()
    axes, near = _all_axes_but_one(refuted <= counts[:, None])
    np.minimum.at(ceiling, axes, refuted[axes, near] - 1)
    return ceiling


def _raised(candidate: Counts, y: Counts, maximal: Counts, box: Counts) -> Counts:
    """The candidates that take the place of one below the new maximal radius y, as columns."""
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
    """Where something holds on every axis (row)."""
    everywhere: npt.NDArray[np.bool_] = np.logical_and.reduce(holds, axis=0)
    return everywhere


def _all_axes_but_one(holds: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where something holds on every axis but one: that axis, and the column."""
    failing = np.add.reduce(~holds, axis=0, dtype=np.uint8)  # few axes: small numbers are quicker
    columns = np.flatnonzero(failing == 1)
    return holds[:, columns].argmin(axis=0), columns
