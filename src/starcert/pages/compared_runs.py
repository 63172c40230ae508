"""Runs side by side: the graphs that all of them have, in one order, and what each run says about these.

Maps show over two axes how many graphs each run certifies, and where two runs differ for sure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from starcert.certificates.metrics import FlipOutcome, Radii, flip_outcomes, has_sites, open_ended, right
from starcert.files import Archive
from starcert.math.frontier import Frontier
from starcert.pages.intervals import difference_interval
from starcert.pages.radius_tables import Slices, project, ticks
from starcert.system.errors import InvalidParameterError

__all__ = ["ComparedRun", "DifferenceMap", "Mask", "compared_runs", "difference_maps", "run_pairs", "shared_axes"]

MAX_NAMED = 20
"""The most classes that are named in a message."""
MAX_TICKS = 16
"""The most counts of flips on an axis of a map."""
MAX_ALL_PAIRS = 4
"""Of more runs than this, each is compared with the first only."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ComparedRun:
    """One run, restricted to the graphs that all runs have.

    Attributes:
        name: what it is called.
        archive: its certificates.
        rows: where the compared graphs stand in it, in the order of the first run.
    """

    name: str
    archive: Archive
    rows: tuple[int, ...]

    @property
    def one(self) -> str:
        """What is compared: a graph, a node, a row of a table."""
        if self.archive.nodes is not None:
            return "node"
        return str(self.archive.settings.get("objects", "graphs")).rstrip("s")

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of its noise."""
        return self.archive.noise.axes

    @cached_property
    def labels(self) -> list[int | None]:
        """The true class of each graph; None: not known."""
        return [self.archive.labels[row] for row in self.rows]

    @cached_property
    def right(self) -> Mask:
        """Which graphs it answers right."""
        return right(self.archive.certificates, self.archive.labels)[list(self.rows)]

    @cached_property
    def answered(self) -> Mask:
        """Which graphs it gives an answer for."""
        return self.certified({})

    @cached_property
    def answers(self) -> list[str]:
        """Its answer for each graph, in words."""
        labels, names = self.archive.certificates.labels, self.archive.class_names
        rows = zip(self.rows, self.answered, strict=True)
        return [names[labels[row]] if given else "abstains" for row, given in rows]

    def certified(self, flips: Mapping[str, int]) -> Mask:
        """Which graphs are certified against these numbers of flips on some axes, and none on the others."""
        radius = tuple(flips.get(axis, 0) for axis in self.axes)
        return self.archive.certificates.certified(radius)[list(self.rows)]

    @cached_property
    def _frontiers(self) -> list[Frontier]:
        found = self.archive.certificates.frontiers()
        return [found[row] for row in self.rows]

    def reach(self, axis: str) -> list[int]:
        """For each graph the most flips that are certified on one axis alone; −1 after an abstention."""
        place = self.axes.index(axis)
        return [max((radius[place] for radius in each.radii), default=-1) for each in self._frontiers]

    def asked(self, axis: str) -> int | None:
        """How far it looked on an axis; None: to the end."""
        return None if self.archive.max_radius is None else self.archive.max_radius[self.axes.index(axis)]

    def outcomes(self, most: int) -> list[FlipOutcome]:
        """What is known about each graph under at most this many flips, wherever they are."""
        found = flip_outcomes(self.archive.certificates, most)
        return [found[row] for row in self.rows]

    @cached_property
    def n_sites(self) -> list[int | None]:
        """How many sites of each graph an attacker may flip, on all axes; None: not known."""
        sizes = [self.archive.capacities[row] for row in self.rows]
        return [None if each is None else sum(each) for each in sizes]

    def has_sites(self, axes: Sequence[str]) -> Mask:
        """Which graphs have something to flip on each of these axes."""
        places = [self.axes.index(axis) for axis in axes]
        found: Mask = np.all(has_sites(self.archive.certificates)[np.ix_(self.rows, places)], axis=1)
        return found

    @cached_property
    def _slices(self) -> Slices:
        return Slices(self.archive)

    def radii(self, axes: Sequence[str], graph: int) -> Radii:
        """The maximal certified radii of a graph on one or two axes; where all sites are taken, there is no end."""
        places, row = [self.axes.index(axis) for axis in axes], self.rows[graph]
        pair = next(each for each in self._slices.pairs if set(places) <= set(each))
        sizes = self.archive.capacities[row]
        found = project(self._slices.of(row, pair), tuple(map(pair.index, places)))
        return open_ended(found, None if sizes is None else [sizes[place] for place in places])


def compared_runs(runs: Mapping[str, Archive]) -> list[ComparedRun]:
    """The runs with the graphs that all of them have, matched by name.

    Raises:
        InvalidParameterError: if there are fewer than two runs, they have no graph in common, or a graph has not the
            same class in all of them.
    """
    names, archives = list(runs), list(runs.values())
    if len(archives) < 2:
        raise InvalidParameterError("runs", "be two or more", len(archives), "Name two folders of runs.")
    first = archives[0]
    places = [_places(each, first) for each in archives]
    shared = [graph for graph in range(len(first)) if all(graph in each for each in places)]
    found = [
        ComparedRun(name, each, tuple(place[graph] for graph in shared))
        for name, each, place in zip(names, archives, places, strict=True)
    ]
    for run, place in zip(found[1:], places[1:], strict=True):
        why = _differs(run, found[0]) if place else _apart(run, found[0])
        if why:
            must = f"be about the same {run.one}s and classes as {names[0]}"
            hint = "Certify both runs on the same data, or on parts of it that overlap."
            raise InvalidParameterError(run.name, must, why[0], f"{why[1]} {hint}")
    if not shared:
        must, hint = f"have a {found[0].one} in common", "Compare those that have one two by two."
        raise InvalidParameterError("runs", must, f"no name of a {found[0].one} that is in all of them", hint)
    return found


def _places(archive: Archive, first: Archive) -> dict[int, int]:
    """For the graphs of the first run, where they stand in another; names of several graphs match nothing."""
    if archive.names == first.names:
        return {row: row for row in range(len(first))}
    here, there = ({name: row for row, name in enumerate(each.names)} for each in (first, archive))
    often = Counter(first.names) + Counter(archive.names)
    return {row: there[name] for name, row in here.items() if name in there and often[name] == 2}


def _differs(run: ComparedRun, first: ComparedRun) -> tuple[str, str] | None:
    """How the classes of a run differ from those of the first, and a sentence about it; None: not at all."""
    here, there = (each.archive.class_names for each in (run, first))
    if here != there:
        own, others = (", ".join(names[:MAX_NAMED]) for names in (here, there))
        return "other class names", f"Its classes are called {own}, those of {first.name} {others}."
    for row, *labels in zip(first.rows, run.labels, first.labels, strict=True):
        if labels[0] != labels[1]:
            own, others = ("not known" if label is None else here[label] for label in labels)
            return "other labels", f"The true class of {first.archive.names[row]} is {own} here, and {others} there."
    return None


def _apart(run: ComparedRun, first: ComparedRun) -> tuple[str, str]:
    """Why no graph of a run is one of the first."""
    there = set(first.archive.names)
    both = next((name for name in run.archive.names if name in there), None)
    if both is not None:
        return "the same name twice", f"The names that are in both, such as {both}, are those of several {run.one}s."
    own, other = (next(iter(each.archive.names), "none") for each in (run, first))
    return "other names", f"No {run.one}'s name is in both: here is for example {own}, there {other}."


def shared_axes(runs: Sequence[ComparedRun]) -> list[str]:
    """The axes that the noises of all runs have."""
    return [axis for axis in runs[0].axes if all(axis in each.axes for each in runs)]


@dataclass(frozen=True, slots=True)
class DifferenceMap:
    """How many graphs each run certifies over one or two axes, all others at 0.

    Attributes:
        axes: the names of the axes: the y axis and the x axis, or the x axis alone.
        ticks: the counts of flips on each of them.
        graphs: how many graphs count: those with sites on these axes (and a known class).
        counts: for each run, how many of them are certified (and right) at each radius: a row for each y.
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
    return every if n_runs <= MAX_ALL_PAIRS else [pair for pair in every if pair[0] == 0]


def difference_maps(runs: Sequence[ComparedRun], hits: Sequence[Mask], among: Mask) -> list[DifferenceMap]:
    """The maps of all pairs of axes that the runs share; one along a single axis if they share no more.

    Args:
        runs: what is compared.
        hits: for each run, which graphs may count as certified: all, or those that it answers right.
        among: which graphs count at all.
    """
    axes = shared_axes(runs)
    found = (_map(runs, hits, among, pair) for pair in combinations(axes, min(2, len(axes))) if pair)
    return [each for each in found if each.graphs]


def _map(runs: Sequence[ComparedRun], hits: Sequence[Mask], among: Mask, axes: tuple[str, ...]) -> DifferenceMap:
    there = np.flatnonzero(among & np.all([run.has_sites(axes) for run in runs], axis=0)).tolist()
    at = tuple(tuple(ticks(_end(runs, axis), MAX_TICKS)) for axis in axes)
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
    return max(0, min([max(max(run.reach(axis)) for run in runs) + 1, *asked]))


def _certified(
    run: ComparedRun, hit: Mask, axes: tuple[str, ...], graphs: Sequence[int], at: tuple[tuple[int, ...], ...]
) -> Mask:
    """Which of the graphs are certified at each radius: shape (graphs, y, x), with one y on a single axis."""
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
                y = np.searchsorted(at[0], radius[0], "right") if len(at) > 1 else 1
                known[radii][:y, : np.searchsorted(at[-1], radius[-1], "right")] = True
        found[place] = known[radii]
    return found


@cache
def _is_clear(gained: int, lost: int, total: int) -> bool:
    if not total:
        return False
    _, low, high = difference_interval(gained, lost, total)
    return low > 0 or high < 0
