"""What the page looks up: the slack of every radius on two axes, and the share of graphs certified there.

Slack depends on the noise alone, and a graph with failure probability f = 1 − p_lower is certified at a radius in the
two-class margin iff f ≤ the largest float below slack, which is proved. So a table of these floats is all that a
page needs to move a frontier with p_lower, and its verdicts are those of the library.

An axis may reach thousands of flips. It is then tabulated in steps, and every verdict is still about the very radius
that it stands at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.attacks import slacks_of
from starcert.metrics import Radii, certified_counts, has_sites, open_ended, right
from starcert.noise import Noise
from starcert.report.slices import Pair, Slices

__all__ = ["SlackTables", "Surfaces", "slack_tables", "surfaces", "ticks"]

MOST_TICKS = 200
"""The most counts of one axis in the table of a page that has one table; more tables share the same room."""

SMALLEST_FAILURE = 1e-6
"""The slider goes at least so far: about what two million unanimous votes show."""


def ticks(end: int, most: int) -> list[int]:
    """The counts from 0 to `end` that are tabulated: all of them, or in steps, about `most` of them.

    Example:
        >>> ticks(4, 10), ticks(25, 10)
        ([0, 1, 2, 3, 4], [0, 3, 6, 9, 12, 15, 18, 21, 24])
    """
    return list(range(0, end + 1, max(1, -(-end // most))))


def _most_ticks(n_pairs: int) -> int:
    return max(10, int(MOST_TICKS / math.sqrt(n_pairs)))


@dataclass(frozen=True)
class SlackTables:
    """The slacks of all slices.

    Attributes:
        least: the smallest failure probability that the tables serve.
        ticks: on each axis the counts that are tabulated.
        rows: for each slice, and for each count on its first axis, the largest floats below slack along the other
            axis, for as long as they serve `least`. A slice with one axis has one row.
    """

    least: float
    ticks: list[list[int]]
    rows: list[list[list[float]]]


def slack_tables(archive: Archive, slices: Slices) -> SlackTables:
    """The slacks as far as the slider can go: down to a power of ten that no graph's failure probability is below."""
    smallest = float(archive.certificates.bounds.failure.min())
    least = min(SMALLEST_FAILURE, 10.0 ** math.floor(math.log10(smallest)), smallest)
    most = _most_ticks(len(slices.pairs))
    axes = [ticks(slices.reach(axis, least), most) for axis in range(len(archive.noise.axes))]
    return SlackTables(least, axes, [_rows(archive.noise, pair, axes, least) for pair in slices.pairs])


def _rows(noise: Noise, pair: Pair, axes: Sequence[Sequence[int]], least: float) -> list[list[float]]:
    slacks = slacks_of(noise.product)

    def below(*counts: int) -> float:
        placed = dict(zip(pair, counts, strict=True))
        return slacks.bracket(tuple(placed.get(axis, 0) for axis in range(len(noise.axes)))).below

    def serves(value: float) -> bool:
        return value >= least

    first, last = axes[pair[0]], axes[pair[-1]]
    if len(pair) == 1:
        return [list(takewhile(serves, map(below, last)))]
    rows = (list(takewhile(serves, (below(up, across) for across in last))) for up in first)
    return list(takewhile(bool, rows))


@dataclass(frozen=True)
class Surfaces:
    """How many graphs are certified at each radius, slice by slice.

    A slice counts the graphs that have sites on each of its axes: the others would be certified there for nothing.

    Attributes:
        ticks: on each axis the counts that are tabulated.
        n_graphs: for each slice how many graphs it counts.
        n_labelled: how many of these have a known class.
        majority: the most frequent class among these and how many graphs have it; None without labels.
        certified: for each slice the number of graphs certified at each radius, shape (first axis, other axis).
        right: the same for the graphs that are also answered right.
    """

    ticks: list[list[int]]
    n_graphs: list[int]
    n_labelled: list[int]
    majority: list[tuple[int, int] | None]
    certified: list[npt.NDArray[np.int64]]
    right: list[npt.NDArray[np.int64]]


def surfaces(archive: Archive, slices: Slices) -> Surfaces:
    """Counts the graphs that are certified at each radius.

    An attacker who may flip more sites than a graph has flips them all: a graph that is certified up to its capacity
    is certified at every larger count too.
    """
    n_axes = len(archive.noise.axes)
    is_right = right(archive.certificates, archive.labels)
    there = has_sites(archive.certificates)
    capacities = [capacity or (None,) * n_axes for capacity in archive.capacities]
    ends = [0] * n_axes
    tallies: list[dict[Radii, list[int]]] = []
    counted = [np.flatnonzero(there[:, list(pair)].all(axis=1)).tolist() for pair in slices.pairs]
    for pair, numbers in zip(slices.pairs, counted, strict=True):
        tally: dict[Radii, list[int]] = {(): [0, 0]}
        for graph in numbers:
            capacity, radii = capacities[graph], slices.of(graph, pair)
            for place, axis in enumerate(pair):
                ends[axis] = max(ends[axis], *(radius[place] for radius in radii), 0)
            sizes = [capacity[axis] for axis in pair]
            counts = tally.setdefault(open_ended(radii, sizes), [0, 0])
            counts[0] += 1
            counts[1] += int(is_right[graph])
        tallies.append(tally)
    most = _most_ticks(len(slices.pairs))
    # One count beyond the furthest shows that nothing is certified there, unless nobody asked or nothing is there.
    axes = [
        ticks(end + 1 if limit is None else min(end + 1, limit), most)
        for end, limit in zip(ends, slices.box, strict=True)
    ]
    found = [
        certified_counts(tally, [axes[axis] for axis in pair]).reshape(2, -1, len(axes[pair[-1]]))
        for pair, tally in zip(slices.pairs, tallies, strict=True)
    ]
    classes = [Counter(label for graph in each if (label := archive.labels[graph]) is not None) for each in counted]
    return Surfaces(
        axes,
        [len(each) for each in counted],
        [each.total() for each in classes],
        [most_frequent(each) for each in classes],
        [counts[0] for counts in found],
        [counts[1] for counts in found],
    )


def most_frequent(classes: Counter[int]) -> tuple[int, int] | None:
    """The most frequent class, of equals the first, and how often it is there; None if there is none."""
    return min(classes.items(), key=lambda item: (-item[1], item[0]), default=None)
