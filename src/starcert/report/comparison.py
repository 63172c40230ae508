"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`. What a run says is read from its outcomes under a threat, and under flips on
each axis of its noise.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from starcert.archive import Archive, BlindRow
from starcert.claims.certificates import Certificates
from starcert.claims.gains import StructureGain, paired_difference
from starcert.claims.metrics import right
from starcert.claims.outcomes import TOO_FAR, Mask, Outcomes, SizeCounts, in_words, size_steps
from starcert.claims.question import size_within
from starcert.objects.threats import AnyFlips, Threat, read_threat
from starcert.objects.words import AttackWords
from starcert.report.blocks import (
    Curve,
    Notice,
    Panel,
)
from starcert.report.findings import stated
from starcert.system.errors import InvalidParameterError

MAX_FLIPS = 60  # where curves end
MAX_COMPARED = 5  # the most flips on each axis for which differences are given
MAX_NAMED = 20  # the most classes that are named in a message
SHOWN_SETTINGS = ("model", "classifier", "data", "split", "limit", "regions", "samples", "seed")


class ComparedRun:
    """One run, restricted to the graphs that all runs have: `rows` are their places in it, in the first run's order."""

    def __init__(self, name: str, archive: Archive, rows: Sequence[int]) -> None:
        self.name, self.archive, self.rows = name, archive, list(rows)
        self.results: Certificates = archive.certificates
        self.labels = [archive.labels[row] for row in rows]
        self.anchored = [archive.anchored[row] for row in rows]
        self.right = self.results.right(archive.labels)[self.rows]
        blind = BlindRow.of(archive)
        self.blind = None if blind is None or blind.missing else right(blind.answers, archive.labels)[self.rows]
        frontiers = [each.radii for each in self.results.frontiers()] if self.results.of_radii else []
        furthest = max((max(radius) for radii in frontiers for radius in radii), default=0)
        flips = min(furthest + 1, MAX_FLIPS)
        self.by_axis = {axis: each.only(self.rows) for axis, each in self.results.by_axis(flips).items()}
        self.reach = {  # by axis, for each graph the most flips that are certified there alone; −1 after an abstention
            axis: [max((radius[place] for radius in frontiers[row]), default=-1) for row in self.rows]
            for place, axis in enumerate(self.by_axis)
        }
        capacities = (
            [archive.certificates.proof.capacities[number] for number in archive.certificates.objects.tolist()]
            if archive.plain
            else archive.capacities
        )
        self.n_sites = [None if (each := capacities[row]) is None else sum(each) for row in self.rows]

    @property
    def answers(self) -> list[str]:
        """The name of the class of each graph."""
        names, labels = self.archive.class_names, self.results.labels.tolist()
        abstained = self.results.abstained
        return ["abstains" if abstained[row] else names[labels[row]] for row in self.rows]

    @cached_property
    def own(self) -> Outcomes:
        """The outcomes under the threat that it was asked about."""
        return self.results.outcomes()

    @property
    def listed(self) -> Threat | None:
        """The threat of the run if its attacks were listed; None where the run is about radii."""
        return None if self.own.threat.by_radius else self.own.threat

    def outcomes(self, threat: Threat) -> Outcomes:
        """The outcome of each graph under a threat."""
        found = self.own if self.own.threat == threat else self.results.outcomes(threat)
        return found.only(self.rows)

    def weighed(self, threat: Threat) -> bool:
        """True if more than p_A is known under a threat."""
        return self.results.weighed and (self.listed is None) is threat.by_radius

    def about(self) -> Iterator[tuple[str, str]]:
        """How it was made: its noise or method, settings, alpha and evidence."""
        archive, settings = self.archive, self.archive.settings
        if archive.plain:
            yield from (("method", self.results.proof.method), ("threat", str(self.results.threat)))
        else:
            yield from ((f"noise in {region}", archive.noise[region].describe()) for region in archive.noise.regions)
        yield from ((name, str(settings[name])) for name in SHOWN_SETTINGS if settings.get(name) is not None)
        if archive.plain:
            yield "forward passes", f"{archive.certificates.proof.forward_passes:,}"
        else:
            together = f" for all {archive.together:,} together" if archive.together > 1 else ""
            yield from (("alpha", f"{archive.alpha:g}{together}"), ("evidence", "yes" if archive.evidence else "no"))

    def notices(self) -> Iterator[Notice]:
        """The notices about this run alone."""
        if not self.archive.plain:
            yield from (Notice(f"{self.name}: {head}", text) for head, text in stated(self.archive))
            return
        text = (
            "Every attack was tried on the model itself, without noise. It is another classifier than the smoothed "
            "ones: what it withstands is compared by the size of attacks, and on no axis."
        )
        yield Notice(f"{self.name}: {self.results.proof.method}", text)


def compared_runs(runs: Mapping[str, Archive]) -> list[ComparedRun]:
    """The runs with the graphs that all of them have, matched by name; an error if there are none."""
    if len(runs) < 2:
        raise InvalidParameterError("runs", "be two or more", len(runs), "Name two folders of runs.")
    (name, first), *_ = runs.items()
    places, one = {each: _places(archive, first) for each, archive in runs.items()}, first.word
    for other, archive in runs.items():
        if found := _differs(archive, first, places[other], name):
            hint = "Certify both runs on the same data, or on parts of it that overlap."
            must = f"be about the same {one}s and classes as {name}"
            raise InvalidParameterError(other, must, found[0], f"{found[1]} {hint}")
    shared = [graph for graph in range(len(first)) if all(graph in each for each in places.values())]
    if not shared:
        must, hint = f"have a {one} in common", "Compare those that have one two by two."
        raise InvalidParameterError("runs", must, f"no name of a {one} that is in all of them", hint)
    return [ComparedRun(each, runs[each], [place[graph] for graph in shared]) for each, place in places.items()]


def _places(archive: Archive, first: Archive) -> dict[int, int]:
    """For the graphs of the first run, where they stand in another; names of several graphs match nothing."""
    if archive.names == first.names:
        return {row: row for row in range(len(first))}
    here, there = ({name: row for row, name in enumerate(each.names)} for each in (first, archive))
    often = Counter(first.names) + Counter(archive.names)
    return {row: there[name] for name, row in here.items() if name in there and often[name] == 2}


def _differs(archive: Archive, first: Archive, rows: Mapping[int, int], name: str) -> tuple[str, str] | None:
    """How the graphs and classes of a run differ from those of the first, and a sentence about it; None if they fit."""
    classes, one = archive.class_names, archive.word
    if not rows:
        if both := next((each for each in archive.names if each in first.names), None):
            return "the same name twice", f"The names that are in both, such as {both}, are those of several {one}s."
        own, others = (next(iter(each.names), "none") for each in (archive, first))
        return "other names", f"No {one}'s name is in both: here is for example {own}, there {others}."
    if classes != first.class_names:
        own, others = (", ".join(names[:MAX_NAMED]) for names in (classes, first.class_names))
        return "other class names", f"Its classes are called {own}, those of {name} {others}."
    for there, here in rows.items():
        if (label := archive.labels[here]) != (known := first.labels[there]):
            own, others = ("not known" if each is None else classes[each] for each in (label, known))
            return "other labels", f"The true class of {first.names[there]} is {own} here, and {others} there."
    return None


class _Attacker(NamedTuple):
    """The attacks of at most a size, in words, and the outcomes of each run under them."""

    attacks: str
    size: int
    outcomes: Sequence[Outcomes]

    @property
    def possible(self) -> Mask:
        """Which graphs can be attacked so in all runs."""
        found: Mask = np.all([each.possible(self.size) for each in self.outcomes], axis=0)
        return found

    @property
    def certified(self) -> list[Mask]:
        """By run, which graphs are certified."""
        return [each.certified(self.size) for each in self.outcomes]

    @property
    def reasons(self) -> list[str]:
        """By run, why it would say nothing that no graph is certified; "" where that is a finding."""
        return [each.why_unknown(self.size, self.possible) for each in self.outcomes]


class Difference(NamedTuple):
    """The difference of a run from the first one, in the share of graphs right and certified against some flips."""

    run: str
    flips: str
    share: float | None  # None where 0 would say nothing
    by: float | None = None  # its share less that of the first run; None where either says nothing
    low: float | None = None
    high: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table, without the name of the run."""
        share, by, interval = "–" if self.share is None else f"{self.share:.1%}", "–", "–"
        if self.by is not None:
            by, interval = f"{self.by:+.1%}", f"{self.low:+.1%} to {self.high:+.1%}"
        return self.flips, share, by.replace("-", "−"), interval.replace("-", "−")


class Comparison:
    """Runs on the same graphs under one threat: what each says, and how the others differ from the first."""

    def __init__(self, runs: Sequence[ComparedRun], threat: Threat) -> None:
        self.runs, self.threat, self.one = runs, threat, runs[0].archive.word
        self.outcomes = [each.outcomes(threat) for each in runs]
        self.labelled = np.array([label is not None for label in runs[0].labels])
        self.known = bool(self.labelled.any())
        self.among = self.labelled if self.known else np.ones(len(runs[0].rows), bool)
        self.n_graphs = int(self.among.sum())  # those with a known class, all where none is known
        self.what = "right and certified" if self.known else "certified"
        self.shared = [axis for axis in runs[0].by_axis if all(axis in each.by_axis for each in runs)]
        # Whether an attacker finds as many sites to flip in every graph, whichever run it is, and as many attacks.
        self.same_sites = all(run.n_sites == runs[0].n_sites for run in runs)
        by_graph = zip(*self.outcomes, strict=True)
        self.same_lists = all(len({each.attacks for each in of_graph}) == 1 for of_graph in by_graph)
        self.by_size = not all(each.by_axis for each in runs)  # then there are no axes that all of them have
        columns = ["certified size"] if self.by_size else self.shared
        self.heads = (self.one, "true class", *(f"{run.name}: {head}" for run in runs for head in ("answer", *columns)))

    def right(self, run: ComparedRun) -> Mask:
        """Which graphs may count as certified in a run: those answered right, all where no class is known."""
        return run.right if self.known else self.among

    @cached_property
    def attackers(self) -> list[_Attacker]:
        """No flip; flips under the threat, where it is the same attacker in all runs; and flips on each shared axis."""
        runs, found = self.runs, [_Attacker("no flip", 0, self.outcomes)]
        sizes = size_steps(self.threat.most) if self.same_sites and self.same_lists else []
        found += [_Attacker(self.threat.label_of(size), size, self.outcomes) for size in sizes]
        for axis in self.shared:
            words = AttackWords(runs[0].results.noise).axes[list(runs[0].by_axis).index(axis)]
            furthest, outcomes = max(max(run.reach[axis]) for run in runs), [run.by_axis[axis] for run in runs]
            for n in range(1, min(MAX_COMPARED, furthest) + 1):
                each = _Attacker(f"{n} {words.one if n == 1 else words.many}", n, outcomes)
                found += [each] * (TOO_FAR not in each.reasons)
        return found

    @cached_property
    def verdicts(self) -> list[tuple[str, SizeCounts, bool]]:
        """The states of the graphs of each run under attacks of some sizes, and true if it has evidence on these."""
        found = []
        for size in size_steps(self.threat.most):
            for run, outcomes in zip(self.runs, self.outcomes, strict=True):
                counts = outcomes.counts_among(size, self.among, self.right(run) & outcomes.answered)
                found.append((run.name, counts, run.weighed(self.threat)))
        return found

    @property
    def panels(self) -> list[Panel]:
        """The shares by the number of flips on one axis, with none on the others: a plot for each axis."""
        found: dict[str, list[Curve]] = {}
        for run in self.runs:
            for axis, outcomes in run.by_axis.items():
                there = self.among & outcomes.possible(1)
                x = range(outcomes.threat.most + 1) if there.any() else ()
                why = [outcomes.why_unknown(n, there) for n in x]
                y = [float((outcomes.certified(n) & self.right(run))[there].mean()) for n in x]
                known = list(takewhile(lambda n: why[n] != TOO_FAR and (y[n] or not why[n]), x))  # noqa: B023  (at once)
                hover = [f"{run.name}: {n} flips in {axis}\n{y[n]:.1%} {self.what}" for n in known]
                found.setdefault(axis, []).extend([Curve(run.name, known, y[: len(known)], hover)] if known else [])
        return [Panel(f"flips in {axis}", f"share {self.what}", lines) for axis, lines in found.items()]

    @cached_property
    def differences(self) -> list[Difference]:
        """The differences of the other runs from the first."""
        found, hits = [], [self.right(run) for run in self.runs]
        for each in self.attackers:
            there = self.among & each.possible
            masks = [(mask & hit)[there] for mask, hit in zip(each.certified, hits, strict=True)]
            known = [mask.any() or not why for mask, why in zip(masks, each.reasons, strict=True)]
            for run, mask, says in zip(self.runs[1:], masks[1:], known[1:], strict=True):
                if there.any():
                    apart = paired_difference(masks[0], mask) if says and known[0] else ()
                    found.append(Difference(run.name, each.attacks, float(mask.mean()) if says else None, *apart))
        return found

    @cached_property
    def gains(self) -> list[tuple[str, StructureGain]]:
        """The gain of each run on its blind model."""
        found = []
        for each in self.attackers:
            there = self.labelled & each.possible
            for run, mask, why in zip(self.runs, each.certified, each.reasons, strict=True):
                if run.blind is not None and there.any():
                    found.append((run.name, StructureGain.of(each.attacks, mask & run.right, run.blind, there, why)))
        return found

    @property
    def notes(self) -> list[str]:
        """Why there are dashes: of what a run says nothing, or p_A alone does."""
        return in_words(
            (f"{run.name} against {each.attacks}", bool((mask & each.possible).any()), why)
            for each in self.attackers
            for run, mask, why in zip(self.runs, each.certified, each.reasons, strict=True)
        )

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        """The graphs on which runs differ: in their answers, or in how far they are certified, column by column."""
        found, first = [], self.runs[0]
        answers = [run.answers for run in self.runs]
        for graph, (row, label) in enumerate(zip(first.rows, first.labels, strict=True)):
            said = [of_run[graph] for of_run in answers]
            counts = [self._reaches(run, of_run, graph) for run, of_run in zip(self.runs, self.outcomes, strict=True)]
            apart = sum(abs(a - b) for each in counts[1:] for a, b in zip(each, counts[0], strict=True))
            if len(set(said)) == 1 and not apart:
                continue
            texts = (("–" if count < 0 else f"{count:,}" for count in of_run) for of_run in counts)
            cells = [cell for answer, of_run in zip(said, texts, strict=True) for cell in (answer, *of_run)]
            truth = "unknown" if label is None else first.archive.class_names[label]
            found.append((len(set(said)), apart, (first.archive.names[row], truth, *cells)))
        found.sort(key=lambda each: (-each[0], -each[1]))
        return [cells for _, _, cells in found]

    def _reaches(self, run: ComparedRun, outcomes: Outcomes, graph: int) -> list[int]:
        """The sizes, or the flips on each axis, up to which a graph is certified; −1 where that is not known."""
        judged = [outcomes] if self.by_size else [run.by_axis[axis] for axis in self.shared]
        sizes = [each[graph].certified if each[graph].answer is not None else None for each in judged]
        if self.by_size:
            return [-1 if size is None else size for size in sizes]
        reach = [run.reach[axis][graph] for axis in self.shared]
        return [-1 if size is None else far for size, far in zip(sizes, reach, strict=True)]


def compare(runs: Mapping[str, Archive], *, threat: Threat | str | None = None) -> Comparison:
    """Compares runs on the graphs that all of them have, each with the first.

    `threat` is the attacker: any flips, or one that all runs were asked about and that lists its attacks. By default
    that one, or else as many flips as any run was asked about, at least 2.
    """
    found = compared_runs(runs)
    listed = {str(run.listed): run.listed for run in found}
    if threat is None:
        common = found[0].listed
        if len(listed) > 1 or common is None:
            counted = [run.own.threat for run in found]
            common = AnyFlips(max([2, *(each.flips or 2 for each in counted if each.by_radius)]))
        return Comparison(found, common)
    wanted = listed.get(str(threat)) or read_threat(threat)
    for run in found if not wanted.by_radius else ():
        if run.listed is None or size_within(run.listed, wanted) is None:
            was = "radii" if run.listed is None else str(run.listed)
            hint = f"Certify it again with --threat {shlex.quote(str(wanted))}, or compare under flips:2."
            raise InvalidParameterError("threat", f"be what {run.name} was asked about, {was}", str(wanted), hint)
    return Comparison(found, wanted)
