"""Runs side by side: the graphs that all of them have, in one order, and what each run says of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from starcert.certificates.metrics import FlipOutcome, Radii, flip_outcomes, has_sites, open_ended, right
from starcert.files import Archive
from starcert.math.frontier import Frontier
from starcert.pages.radius_tables import Slices, project
from starcert.system.errors import InvalidParameterError

__all__ = ["ComparedRun", "Mask", "compared_runs", "same_sites", "shared_axes"]

MOST_NAMED = 20
"""So many classes are named in a message."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ComparedRun:
    """One run, as far as its graphs are those of the others.

    Attributes:
        name: what it is called.
        archive: its certificates.
        rows: where the graphs that are compared stand in it, in the order of the first run.
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
    def frontiers(self) -> list[Frontier]:
        """The frontier of each graph."""
        found = self.archive.certificates.frontiers()
        return [found[row] for row in self.rows]

    @cached_property
    def answers(self) -> list[str]:
        """What it answers for each graph, in words."""
        labels, names = self.archive.certificates.labels, self.archive.class_names
        rows = zip(self.rows, self.answered, strict=True)
        return [names[labels[row]] if given else "abstains" for row, given in rows]

    def reach(self, axis: str) -> list[int]:
        """For each graph the most flips that are certified on one axis alone; −1 after an abstention."""
        place = self.axes.index(axis)
        return [max((radius[place] for radius in each.radii), default=-1) for each in self.frontiers]

    def furthest(self, axis: str) -> int:
        """The most flips on one axis alone that any graph is certified against."""
        return max(self.reach(axis))

    def asked(self, axis: str) -> int | None:
        """How far it looked on an axis; None: to the end."""
        return None if self.archive.max_radius is None else self.archive.max_radius[self.axes.index(axis)]

    def certified(self, flips: Mapping[str, int]) -> Mask:
        """Which graphs are certified against so many flips on some axes, and none on the others."""
        radius = tuple(flips.get(axis, 0) for axis in self.axes)
        return self.archive.certificates.certified(radius)[list(self.rows)]

    def outcomes(self, most: int) -> list[FlipOutcome]:
        """What is known about each graph under at most so many flips, wherever they are."""
        found = flip_outcomes(self.archive.certificates, most)
        return [found[row] for row in self.rows]

    @cached_property
    def answered(self) -> Mask:
        """Which graphs it gives an answer for."""
        return self.archive.certificates.certified((0,) * len(self.axes))[list(self.rows)]

    @cached_property
    def n_sites(self) -> list[int | None]:
        """How many sites of each graph an attacker may flip, all axes together; None: not known."""
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
    """The runs with the graphs that all of them have, told by their names.

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


def _differs(run: ComparedRun, first: ComparedRun) -> tuple[str, str] | None:
    """What a run says otherwise than the first about classes, and a sentence about it; None: nothing."""
    here, there = (each.archive.class_names for each in (run, first))
    if here != there:
        called, others = (", ".join(names[:MOST_NAMED]) for names in (here, there))
        return "other class names", f"Its classes are called {called}, those of {first.name} {others}."
    for row, own, other in zip(first.rows, run.labels, first.labels, strict=True):
        if own != other:
            true, told = ("not known" if label is None else here[label] for label in (own, other))
            return "other labels", f"The true class of {first.archive.names[row]} is {true} here, and {told} there."
    return None


def _apart(run: ComparedRun, first: ComparedRun) -> tuple[str, str]:
    """Why no graph of a run is one of the first."""
    there = set(first.archive.names)
    both = next((name for name in run.archive.names if name in there), None)
    if both is not None:
        return "the same name twice", f"The names that are in both, such as {both}, are those of several {run.one}s."
    own, other = (next(iter(each.archive.names), "none") for each in (run, first))
    return "other names", f"No {run.one}'s name is in both: here is for example {own}, there {other}."


def _places(archive: Archive, first: Archive) -> dict[int, int]:
    """For the graphs of the first run, where they stand in another; a name that several graphs have tells nothing."""
    if archive.names == first.names:
        return {row: row for row in range(len(first))}
    here, there = ({name: row for row, name in enumerate(each.names)} for each in (first, archive))
    often = Counter(first.names) + Counter(archive.names)
    return {row: there[name] for name, row in here.items() if name in there and often[name] == 2}


def shared_axes(runs: Sequence[ComparedRun]) -> list[str]:
    """The axes that the noises of all runs have."""
    return [axis for axis in runs[0].axes if all(axis in each.axes for each in runs)]


def same_sites(runs: Sequence[ComparedRun]) -> bool:
    """Whether an attacker finds as many sites to flip in every graph, whichever run it is."""
    return all(run.n_sites == runs[0].n_sites for run in runs)
