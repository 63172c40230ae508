"""Certified radii in short: how many graphs are certified at each of a grid, and radii without an end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Radii: TypeAlias = tuple[tuple[float, ...], ...]
"""Maximal certified radii; a count is infinite where an attacker finds no further site."""


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
