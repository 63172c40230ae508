"""Runs side by side: the graphs that all of them have, in one order, and what each run says about these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.archive import Archive, BlindRow, ExactArchive
from starcert.claims.certificates import Certificates
from starcert.claims.metrics import has_sites, right
from starcert.claims.outcomes import Outcomes
from starcert.claims.question import size_within
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.math.choices import Level
from starcert.objects.threats import Threat
from starcert.report.blocks import Notice
from starcert.report.findings import stated
from starcert.system.errors import InvalidParameterError

MAX_NAMED = 20  # the most classes that are named in a message

Mask = npt.NDArray[np.bool_]
AnyArchive: TypeAlias = Archive | ExactArchive


class ComparedRun:
    """One run, restricted to the graphs that all runs have: `rows` are their places in it, in the first run's order."""

    by_votes: ClassVar[bool] = True  # whether it certifies by p_A
    archive: Any  # an `Archive`, or that of another method

    def __init__(self, name: str, archive: AnyArchive, rows: Sequence[int]) -> None:
        self.name, self.archive, self.rows = name, archive, list(rows)
        self.results, self.axes, capacities = self._read()
        self.one, self.labels = archive.word, [archive.labels[row] for row in rows]
        self.right = self.results.right(archive.labels)[self.rows]
        self.answered = ~self.results.abstained[self.rows]
        names = [archive.class_names[label] for label in self.results.labels[self.rows].tolist()]
        self.answers = [name if given else "abstains" for name, given in zip(names, self.answered, strict=True)]
        blind = BlindRow.of(archive)
        self.blind = None if blind is None or blind.missing else right(blind.answers, archive.labels)[self.rows]
        sizes = (capacities[row] for row in rows)
        self.n_sites = [None if each is None else sum(each) for each in sizes]  # on all axes; None: not known

    def _read(self) -> tuple[Certificates[Any], tuple[str, ...], Sequence[Sequence[int] | None]]:
        """Its results, the axes that they have, and how many sites each row has on them."""
        return self.archive.certificates, self.archive.noise.axes, self.archive.capacities

    def certified(self, flips: Mapping[str, int]) -> Mask:
        """Which graphs are certified against these numbers of flips on some axes, and none on the others.

        None are against flips on an axis that it does not have.
        """
        if any(n for axis, n in flips.items() if axis not in self.axes):
            return np.zeros(len(self.rows), dtype=np.bool_)
        radius = tuple(flips.get(axis, 0) for axis in self.axes)
        return self.results.certified(radius)[self.rows] if self.axes else self.answered

    @cached_property
    def _unknown_at(self) -> Callable[[Level], str]:
        return unknown_at(self.results)

    def why_unknown(self, flips: Mapping[str, int]) -> str:
        """Why it would say nothing that no graph is certified against these flips; "" where it is a finding."""
        return self._unknown_at(tuple(flips.get(axis, 0) for axis in self.axes))

    @cached_property
    def reach(self) -> dict[str, list[int]]:
        """By axis, for each graph the most flips that are certified there alone; −1 after an abstention."""
        frontiers = self.results.frontiers() if self.axes else []
        return {
            axis: [max((radius[place] for radius in frontiers[row].radii), default=-1) for row in self.rows]
            for place, axis in enumerate(self.axes)
        }

    def requested(self, axis: str) -> int | None:
        """The farthest look on an axis; None: to the end."""
        return None if self.archive.max_radius is None else self.archive.max_radius[self.axes.index(axis)]

    def outcomes(self, threat: Threat) -> Outcomes:
        """The outcome of each graph under a threat."""
        return self.results.outcomes(threat).only(self.rows)

    @property
    def asked(self) -> Threat | None:
        """The threat whose attacks were listed; None where the question was one about radii."""
        return self.results.listed_threat

    @property
    def counted(self) -> Threat | None:
        """Under which threat its own results are counted."""
        return self.results.counted

    def knows(self, threat: Threat) -> bool:
        """True for the threat of `certify` that lists its attacks, or the same with more units."""
        questions = self.results.asked or ()
        return bool(questions) and questions[0].size_of(threat) is not None

    def weighed(self, threat: Threat) -> bool:
        """True if there is evidence under a threat."""
        return self.results.verdicts is not None and (self.results.asked is None) is threat.by_radius

    def notices(self) -> Iterator[Notice]:
        """The notices about this run alone."""
        return (Notice(f"{self.name}: {head}", text) for head, text in stated(self.archive))

    def about(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The way it was made: its noise, the settings with these names, alpha and evidence."""
        archive, settings = self.archive, self.archive.settings
        yield from ((f"noise in {region}", archive.noise[region].describe()) for region in archive.noise.regions)
        yield from ((name, str(settings[name])) for name in names if settings.get(name) is not None)
        together = f" for all {archive.together:,} together" if archive.together > 1 else ""
        yield "alpha", f"{archive.alpha:g}{together}"
        yield "evidence", "no" if archive.evidence is None else "yes"

    def has_sites(self, axes: Sequence[str]) -> Mask:
        """Which graphs have something to flip on each of these axes."""
        places = [self.axes.index(axis) for axis in axes]
        found: Mask = np.all(has_sites(self.results)[np.ix_(self.rows, places)], axis=1)
        return found


class ComparedExact(ComparedRun):
    """A run that tried attacks. It has no axes: what is compared is its answers, and what they withstand by size."""

    by_votes = False

    @override
    def _read(self) -> tuple[Certificates[Any], tuple[str, ...], Sequence[Sequence[int] | None]]:
        result = self.archive.result
        return result, (), [result.proof.capacities[number] for number in result.objects.tolist()]

    @property
    @override
    def asked(self) -> Threat | None:
        return None if self.counted.by_radius else self.counted

    @property
    @override
    def counted(self) -> Threat:
        threat: Threat = self.results.proof.threat
        return threat

    @override
    def knows(self, threat: Threat) -> bool:
        return size_within(self.counted, threat) is not None

    @override
    def weighed(self, threat: Threat) -> bool:
        return True

    @override
    def notices(self) -> Iterator[Notice]:
        text = (
            "Every attack was tried on the model itself, without noise. It is another classifier than the smoothed "
            "ones: what it withstands is compared by the size of attacks, and on no axis."
        )
        yield Notice(f"{self.name}: {self.results.proof.method}", text)

    @override
    def about(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        settings = self.archive.settings
        yield "method", self.results.proof.method
        yield "threat", str(self.counted)
        yield from ((name, str(settings[name])) for name in names if settings.get(name) is not None)
        yield "forward passes", f"{self.results.proof.forward_passes:,}"


def compared_runs(runs: Mapping[str, AnyArchive]) -> list[ComparedRun]:
    """The runs with the graphs that all of them have, matched by name; an error if there are none."""
    if len(runs) < 2:
        raise InvalidParameterError("runs", "be two or more", len(runs), "Name two folders of runs.")
    (name, first), *others = runs.items()
    places = [_places(each, first) for each in runs.values()]
    shared = [graph for graph in range(len(first)) if all(graph in each for each in places)]
    one = first.word
    for (other, archive), place in zip(others, places[1:], strict=True):
        rows = {graph: place[graph] for graph in shared}
        found = _differs(archive, first, rows, name) if place else _apart(archive, first)
        if found:
            must = f"be about the same {archive.word}s and classes as {name}"
            hint = "Certify both runs on the same data, or on parts of it that overlap."
            raise InvalidParameterError(other, must, found[0], f"{found[1]} {hint}")
    if not shared:
        must, hint = f"have a {one} in common", "Compare those that have one two by two."
        raise InvalidParameterError("runs", must, f"no name of a {one} that is in all of them", hint)
    chosen = list[ComparedRun]()
    for (each, archive), place in zip(runs.items(), places, strict=True):
        there = [place[graph] for graph in shared]
        kind = ComparedExact if isinstance(archive, ExactArchive) else ComparedRun
        chosen.append(kind(each, archive, there))
    return chosen


def _places(archive: AnyArchive, first: AnyArchive) -> dict[int, int]:
    """For the graphs of the first run, where they stand in another; names of several graphs match nothing."""
    if archive.names == first.names:
        return {row: row for row in range(len(first))}
    here, there = ({name: row for row, name in enumerate(each.names)} for each in (first, archive))
    often = Counter(first.names) + Counter(archive.names)
    return {row: there[name] for name, row in here.items() if name in there and often[name] == 2}


def _differs(archive: AnyArchive, first: AnyArchive, rows: Mapping[int, int], name: str) -> tuple[str, str] | None:
    """The differences of the classes of a run from those of the first, and a sentence about them; None if none."""
    classes = archive.class_names
    if classes != first.class_names:
        own, others = (", ".join(names[:MAX_NAMED]) for names in (classes, first.class_names))
        return "other class names", f"Its classes are called {own}, those of {name} {others}."
    for there, here in rows.items():
        if archive.labels[here] != first.labels[there]:
            labels = (archive.labels[here], first.labels[there])
            own, others = ("not known" if label is None else classes[label] for label in labels)
            return "other labels", f"The true class of {first.names[there]} is {own} here, and {others} there."
    return None


def _apart(archive: AnyArchive, first: AnyArchive) -> tuple[str, str]:
    """Why no graph of a run is one of the first."""
    one, there = archive.word, set(first.names)
    both = next((name for name in archive.names if name in there), None)
    if both is not None:
        return "the same name twice", f"The names that are in both, such as {both}, are those of several {one}s."
    own, other = (next(iter(each.names), "none") for each in (archive, first))
    return "other names", f"No {one}'s name is in both: here is for example {own}, there {other}."
