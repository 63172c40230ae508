"""Maps of a difference: over two axes, how many graphs each run certifies, and where two runs differ for sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from starcert.certificates.metrics import Radii
from starcert.pages.compared_runs import ComparedRun, Mask, shared_axes
from starcert.pages.intervals import counted_difference
from starcert.pages.radius_tables import ticks

__all__ = ["DifferenceMap", "difference_maps", "run_pairs"]

MOST_TICKS = 16
"""So many counts of flips on an axis of a map."""
MOST_ALL_PAIRS = 4
"""Of more runs than this, each is compared with the first only."""


@dataclass(frozen=True, slots=True)
class DifferenceMap:
    """How many graphs each run certifies over one or two axes, all others at 0.

    Attributes:
        axes: the names of the axes; of two, the first stands upright.
        ticks: the counts of flips on each of them.
        graphs: how many graphs count: those with sites on these axes (and a known class).
        counts: for each run, how many of them are certified (and right) at each radius: a row for each upright count.
        clear: for each pair of runs, where the interval of their difference does not hold 0.
    """

    axes: tuple[str, ...]
    ticks: tuple[tuple[int, ...], ...]
    graphs: int
    counts: tuple[tuple[tuple[int, ...], ...], ...]
    clear: tuple[tuple[tuple[bool, ...], ...], ...]


def run_pairs(n_runs: int) -> list[tuple[int, int]]:
    """Which runs are compared with which: all of them, or each with the first where they are many.

    Example:
        >>> run_pairs(3), len(run_pairs(9))
        ([(0, 1), (0, 2), (1, 2)], 8)
    """
    every = list(combinations(range(n_runs), 2))
    return every if n_runs <= MOST_ALL_PAIRS else [pair for pair in every if pair[0] == 0]


def difference_maps(runs: Sequence[ComparedRun], hits: Sequence[Mask], counted: Mask) -> list[DifferenceMap]:
    """The maps of all pairs of axes that the runs share; one along a single axis if they share no more.

    Args:
        runs: what is compared.
        hits: for each run, which graphs may count as certified: all, or those that it answers right.
        counted: which graphs count at all.
    """
    axes = shared_axes(runs)
    found = (_map(runs, hits, counted, pair) for pair in combinations(axes, min(2, len(axes))) if pair)
    return [each for each in found if each.graphs]


def _map(runs: Sequence[ComparedRun], hits: Sequence[Mask], counted: Mask, axes: tuple[str, ...]) -> DifferenceMap:
    there = np.flatnonzero(counted & np.all([run.has_sites(axes) for run in runs], axis=0)).tolist()
    at = tuple(tuple(ticks(_end(runs, axis), MOST_TICKS)) for axis in axes)
    grids = [_certified(run, hit, axes, there, at) for run, hit in zip(runs, hits, strict=True)]
    clear = []
    for before, after in run_pairs(len(runs)):
        gained, lost = ((grids[one] & ~grids[other]).sum(axis=0) for one, other in ((after, before), (before, after)))
        clear.append(
            tuple(
                tuple(_is_clear(int(more), int(less), len(there)) for more, less in zip(*row, strict=True))
                for row in zip(gained, lost, strict=True)
            )
        )
    counts = tuple(tuple(map(tuple, grid.sum(axis=0).tolist())) for grid in grids)
    return DifferenceMap(axes, at, len(there), counts, tuple(clear))


def _end(runs: Sequence[ComparedRun], axis: str) -> int:
    """How far a map goes: one flip beyond what any run certifies, and no further than all of them looked."""
    asked = [limit for run in runs if (limit := run.asked(axis)) is not None]
    return max(0, min([max(run.furthest(axis) for run in runs) + 1, *asked]))


def _certified(
    run: ComparedRun, hit: Mask, axes: tuple[str, ...], graphs: Sequence[int], at: tuple[tuple[int, ...], ...]
) -> Mask:
    """Which of the graphs are certified at each radius: shape (graphs, upright, across); one row on a single axis."""
    known: dict[Radii, Mask] = {}
    shape = (len(at[0]) if len(at) > 1 else 1, len(at[-1]))
    found = np.zeros((len(graphs), *shape), dtype=np.bool_)
    for place, graph in enumerate(graphs):
        if not hit[graph]:
            continue
        radii = run.radii(axes, graph)
        if radii not in known:
            known[radii] = np.zeros(shape, dtype=np.bool_)
            for radius in radii:
                up = np.searchsorted(at[0], radius[0], "right") if len(at) > 1 else 1
                known[radii][:up, : np.searchsorted(at[-1], radius[-1], "right")] = True
        found[place] = known[radii]
    return found


@cache
def _is_clear(gained: int, lost: int, total: int) -> bool:
    if not total:
        return False
    _, low, high = counted_difference(gained, lost, total)
    return low > 0 or high < 0
