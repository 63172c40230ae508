"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from starcert.claims.gains import worth_sentence
from starcert.claims.outcomes import Outcome, size_steps
from starcert.claims.paired import StructureGain, paired_difference
from starcert.claims.unknown import in_words
from starcert.objects.laws.law import Move
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Threat, read_threat
from starcert.objects.words import AttackWords
from starcert.report.compared_runs import (
    AnyArchive,
    ComparedRun,
    Mask,
    compared_runs,
)
from starcert.report.document import KeyFigure, Notice, as_bytes, assemble, target, write_page
from starcert.report.findings import VerdictRow, reasons_of
from starcert.report.worth import GAIN_HEADS, gain_cells
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.output import plural, quantity

MAX_FLIPS = 60  # where curves end
MAX_COMPARED = 5  # the most flips on each axis for which differences are given
MAX_DIFFERENT = 300  # the most graphs on which runs differ that are listed
SHOWN_SETTINGS = ("model", "classifier", "data", "split", "limit", "regions", "samples", "seed")


class Difference(NamedTuple):
    """How a run differs from the first one, in the share of graphs that are right and certified against some flips."""

    run: str
    flips: str
    share: float | None  # None where 0 would say nothing
    by: float | None = None  # its share less that of the first run; None where either says nothing
    low: float | None = None
    high: float | None = None

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """It as a row of a table."""
        share = "–" if self.share is None else f"{self.share:.1%}"
        if self.by is None or self.low is None or self.high is None:
            return self.run, self.flips, share, "–", "–"
        return self.run, self.flips, share, f"{self.by:+.1%}", f"{self.low:+.1%} to {self.high:+.1%}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says."""

    names: tuple[str, ...]
    one: str  # what is compared: a graph, a node, a row of a table
    n_graphs: int  # how many graphs count: those with a known class, all where none is known
    known: bool  # whether classes are known, so that only right answers count
    threat: Threat  # the attacker under whom verdicts are counted
    verdicts: tuple[tuple[str, VerdictRow, bool], ...]  # name of the run, row of any k flips, evidence or not
    curves: tuple[dict[str, object], ...]  # for each run and axis, the shares by the number of flips there alone
    differences: tuple[Difference, ...]
    gains: tuple[tuple[str, StructureGain], ...]  # for each run with a blind model, what it gains on that
    notes: tuple[str, ...]  # why there are dashes
    notices: tuple[Notice, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the graphs on which answers or radii differ, the most different first
    origin: tuple[dict[str, list[tuple[str, str]]], ...]  # how each run was made


def compare(runs: Mapping[str, AnyArchive], *, threat: Threat | str | None = None) -> Comparison:
    """Compares runs on the graphs that all of them have, each with the first.

    `threat` is the attacker: any flips, or one that all runs were asked about and that lists its attacks. By default
    that one, or else as many flips as any run was asked about, at least 2.
    """
    found = compared_runs(runs)
    side = _SideBySide(found, _attacker(found, threat))
    one, gains = found[0].one, tuple(side.gains())
    return Comparison(
        names=tuple(runs),
        one=one,
        n_graphs=int(side.among.sum()),
        known=side.known,
        threat=side.threat,
        verdicts=tuple(side.verdicts()),
        curves=tuple(curve for run in found for curve in side.curves(run)),
        differences=tuple(side.differences()),
        gains=gains,
        notes=tuple(in_words(side.unknown())),
        notices=(*_notices(side), *_without_gain(gains, one)),
        heads=(one, "true class", *(f"{name}: {what}" for name in runs for what in ("answer", *side.columns))),
        rows=tuple(side.rows()),
        origin=tuple({each.name: list(each.about(SHOWN_SETTINGS))} for each in found),
    )


def _attacker(runs: Sequence[ComparedRun], given: Threat | str | None) -> Threat:
    """The threat to compare runs under: the given one, or what all of them were asked about."""
    listed = {str(run.asked): run.asked for run in runs if run.asked is not None}
    if given is not None:
        threat = listed.get(str(given)) or read_threat(given)
        for run in runs if not threat.by_radius else ():
            if not run.knows(threat):
                was = "radii" if run.asked is None else str(run.asked)
                hint = f"Certify it again with --threat {shlex.quote(str(threat))}, or compare under flips:2."
                raise InvalidParameterError("threat", f"be what {run.name} was asked about, {was}", str(threat), hint)
        return threat
    if len(listed) == 1 and all(run.asked is not None for run in runs):
        return next(iter(listed.values()))
    counted = [each.flips for run in runs if (each := run.counted) is not None and each.by_radius]
    return AnyFlips(max([2, *(flips for flips in counted if flips is not None)]))


class _Attacker(NamedTuple):
    """Some flips, the graphs with enough sites for them in all runs, and what each run says of them."""

    flips: str  # in words
    possible: Mask
    certified: list[Mask]  # by run
    reasons: list[str]  # by run, why it would say nothing that no graph is certified; "" where that is a finding


class _SideBySide:
    """Runs on the same graphs under one threat."""

    def __init__(self, runs: Sequence[ComparedRun], threat: Threat) -> None:
        self.runs, self.threat = runs, threat
        self.outcomes = [each.outcomes(threat) for each in runs]
        self.labelled = np.array([label is not None for label in runs[0].labels])
        self.known = bool(self.labelled.any())
        self.among = self.labelled if self.known else np.ones(len(runs[0].rows), bool)
        self.shared = [axis for axis in runs[0].axes if all(axis in each.axes for each in runs)]
        # Whether an attacker finds as many sites to flip in every graph, whichever run it is, and as many attacks.
        self.same_sites = all(run.n_sites == runs[0].n_sites for run in runs)
        self.same_lists = all(len({each.attacks for each in of_graph}) == 1 for of_graph in self._by_graph)
        self.by_size = not all(each.by_votes for each in runs)  # then there are no axes that all of them have
        self.columns = ["certified size"] if self.by_size else self.shared

    @property
    def _by_graph(self) -> Iterator[tuple[Outcome, ...]]:
        return zip(*self.outcomes, strict=True)

    def right(self, run: ComparedRun) -> Mask:
        """Which graphs may count as certified in a run: those answered right, all where no class is known."""
        return run.right if self.known else self.among

    @cached_property
    def steps(self) -> list[int]:
        """Some sizes that were requested of all runs."""
        return size_steps(self.threat.most)

    @cached_property
    def attackers(self) -> list[_Attacker]:
        """No flip; flips under the threat, where it is the same attacker in all runs; and flips on each shared axis."""
        runs, found = self.runs, list[_Attacker]()
        everything = np.ones(len(runs[0].rows), bool)
        found.append(_Attacker("no flip", everything, [run.answered for run in runs], [""] * len(runs)))
        for n in self.steps if self.same_sites and self.same_lists else ():
            possible = np.all([each.possible(n) for each in self.outcomes], axis=0)
            certified = [each.certified(n) for each in self.outcomes]
            reasons = [each.why_unknown(n, possible) for each in self.outcomes]
            found.append(_Attacker(self.threat.label_of(n), possible, certified, reasons))
        for axis in self.shared:
            noise = runs[0].archive.noise
            words = AttackWords(noise).axes[noise.axes.index(axis)]
            limits = [limit for run in runs if (limit := run.requested(axis)) is not None]
            far = min([MAX_COMPARED, max(max(run.reach[axis]) for run in runs), *limits])
            possible = np.all([run.has_sites([axis]) for run in runs], axis=0)
            for n in range(1, far + 1):
                certified = [run.certified({axis: n}) for run in runs]
                reasons = [run.why_unknown({axis: n}) for run in runs]
                found.append(_Attacker(f"{n} {words.one if n == 1 else words.many}", possible, certified, reasons))
        return found

    def verdicts(self) -> Iterator[tuple[str, VerdictRow, bool]]:
        """What becomes of the graphs of each run under attacks of some sizes."""
        for size in self.steps:
            for run, outcomes in zip(self.runs, self.outcomes, strict=True):
                counts = outcomes.counts_among(size, self.among, self.right(run) & run.answered)
                yield run.name, VerdictRow.of(counts, by_votes=run.by_votes), run.weighed(self.threat)

    def curves(self, run: ComparedRun) -> Iterator[dict[str, object]]:
        """The share of a run by the number of flips on each of its axes."""
        furthest = max(map(max, run.reach.values()), default=0)
        for axis in run.axes:
            there, limit = self.among & run.has_sites([axis]), run.requested(axis)
            end = min(furthest + 1, MAX_FLIPS, MAX_FLIPS if limit is None else limit)
            x = list(range(end + 1)) if there.any() else []
            y = [float((run.certified({axis: n}) & self.right(run))[there].mean()) for n in x]
            known = list(takewhile(lambda n: y[n] or not run.why_unknown({axis: n}), x))  # noqa: B023  (used at once)
            yield {"run": run.name, "axis": axis, "x": known, "y": y[: len(known)]}

    def differences(self) -> Iterator[Difference]:
        """How the other runs differ from the first."""
        hits = [self.right(run) for run in self.runs]
        for flips, possible, certified, reasons in self.attackers:
            there = self.among & possible
            masks = [(mask & hit)[there] for mask, hit in zip(certified, hits, strict=True)]
            known = [mask.any() or not why for mask, why in zip(masks, reasons, strict=True)]
            for run, mask, says in zip(self.runs[1:], masks[1:], known[1:], strict=True):
                if there.any():
                    apart = paired_difference(masks[0], mask) if says and known[0] else ()
                    yield Difference(run.name, flips, float(mask.mean()) if says else None, *apart)

    def gains(self) -> Iterator[tuple[str, StructureGain]]:
        """What each run gains on its blind model."""
        for flips, possible, certified, reasons in self.attackers:
            there = self.labelled & possible
            for run, mask, why in zip(self.runs, certified, reasons, strict=True):
                if run.blind is not None and there.any():
                    yield run.name, StructureGain.of(flips, mask & run.right, run.blind, there, why)

    def unknown(self) -> Iterator[tuple[str, bool, str]]:
        """Of what a run says nothing, or p_A alone does, and why."""
        for flips, possible, certified, reasons in self.attackers:
            for run, mask, why in zip(self.runs, certified, reasons, strict=True):
                yield f"{run.name} against {flips}", bool((mask & possible).any()), why

    def rows(self) -> list[tuple[str, ...]]:
        """The graphs on which runs differ: in their answers, or in how far they are certified, column by column."""
        runs, archive, found = self.runs, self.runs[0].archive, []
        reaches = [
            [[-1 if one.answer is None or one.certified is None else one.certified for one in of_run]]
            if self.by_size
            else [run.reach[axis] for axis in self.shared]
            for run, of_run in zip(runs, self.outcomes, strict=True)
        ]
        # Where nothing is known of a single flip, a reach of 0 is a dash, as it is after an abstention.
        axes = () if self.by_size else self.shared
        least = [[int(bool(run.why_unknown({axis: 1}))) for axis in axes] or [0] for run in runs]
        for graph, (row, label) in enumerate(zip(runs[0].rows, runs[0].labels, strict=True)):
            answers = [run.answers[graph] for run in runs]
            counts = [[of_axis[graph] for of_axis in of_run] for of_run in reaches]
            apart = sum(abs(a - b) for each in counts[1:] for a, b in zip(each, counts[0], strict=True))
            if len(set(answers)) == 1 and not apart:
                continue
            texts = (
                ("–" if reach < low else f"{reach:,}" for reach, low in zip(*each, strict=True))
                for each in zip(counts, least, strict=True)
            )
            cells = [cell for answer, of_run in zip(answers, texts, strict=True) for cell in (answer, *of_run)]
            truth = "unknown" if label is None else archive.class_names[label]
            found.append((len(set(answers)), apart, (archive.names[row], truth, *cells)))
        found.sort(key=lambda each: (-each[0], -each[1]))
        return [cells for _, _, cells in found]


def _without_gain(gains: Sequence[tuple[str, StructureGain]], one: str) -> Iterator[Notice]:
    """Says which runs gain nothing on their blind models under the smallest attacks."""
    for name in dict.fromkeys(run for run, _ in gains):
        if sentence := worth_sentence([each for run, each in gains if run == name], f"{one}s"):
            yield Notice(f"{name}: worth no more than a blind model", sentence)


def _notices(side: _SideBySide) -> Iterator[Notice]:
    """What a reader must know: what is left out, other data, and attackers that are not the same."""
    runs, threat, shared = side.runs, side.threat, side.shared
    first, one = runs[0], runs[0].one
    others = {run.name: len(run.archive) - len(run.rows) for run in runs if len(run.archive) > len(run.rows)}
    if others:
        left = "; ".join(f"{name}, {quantity(n, one)}" for name, n in others.items())
        text = f"What only some runs have is left out: {left}. Graphs are matched by their names."
        yield Notice(f"Compared on the {quantity(len(first.rows), one)} that all runs have", text)
    for run in runs[1:]:
        digests = [each.archive.settings.get("digests") for each in (first, run)]
        before, now = (each.get("data") if isinstance(each, Mapping) else None for each in digests)
        if run.archive.names == first.archive.names and before and now and before != now:
            text = f"Their {one}s have the same names and classes as those of {first.name}, but not the same content."
            yield Notice(f"{run.name} was made from other data", text)
    anchored = {run.name: [run.archive.anchored[row] for row in run.rows] for run in runs}
    if any(each != anchored[first.name] for each in anchored.values()):
        reasons = "; ".join(f"{name} {_anchors(each, one)}" for name, each in anchored.items())
        text = f"What an attacker may change is not the same in all of them: {reasons}."
        yield Notice("The runs do not have the same threat model", text)
    asked = {run.name: run.asked for run in runs}
    if len({str(each) for each in asked.values()}) > 1:
        listed = "; ".join(f"{name}: {'radii' if each is None else each.label}" for name, each in asked.items())
        more = "Evidence about listed attacks says nothing about others."
        text = f"They are compared under {threat.label} ({listed}). {more}"
        yield Notice("The runs were asked about different attackers", text)
    yield from (notice for run in runs for notice in run.notices())
    yield from _other_laws(runs, shared) if shared else ()
    alone = {run.name: [axis for axis in run.axes if axis not in shared] for run in runs}
    if axes := "; ".join(f"{name}: {', '.join(own)}" for name, own in alone.items() if own):
        head = "Some axes are not those of all runs" if shared else "The runs have no axis in common"
        text = f"Axes that only some runs have are shown in curves alone ({axes})."
        yield Notice(head, text if shared else f"{text} Without flips their answers are compared all the same.")
    if not side.same_sites:
        yield _other_sites(runs)
    elif not side.same_lists:
        text = "Other numbers of attacks are listed, as regions or data differ, and no differences are given."
        yield Notice(f"{threat.label[0].upper()}{threat.label[1:]} is not the same attacker in all runs", text)


def _anchors(reasons: Sequence[str], one: str) -> str:
    """Whether a run is anchored, in how many of its graphs, and why."""
    if not (n := sum(map(bool, reasons))):
        return "is not anchored"
    where = "" if n == len(reasons) else f" in {n:,} of {quantity(len(reasons), one)}"
    return f"is anchored{where} ({reasons_of(reasons, ' And {} further reasons.').rstrip('.')})"


def _other_laws(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[Notice]:
    """Says which axes have one name, but count other moves of an attacker, since they are of other laws."""
    known = [_moves(run.archive.noise) for run in runs]
    differ = [axis for axis in shared if len({each[axis][1:] for each in known}) > 1]
    if differ:
        laws = "; ".join(
            f"{run.name}: {', '.join(f'{region} under {run.archive.noise[region]!r}' for region in regions)}"
            for run, each in zip(runs, known, strict=True)
            if (regions := list(dict.fromkeys(each[axis][0] for axis in differ)))
        )
        text = f"The same number of flips there does not mean the same attacker in all runs ({laws})."
        yield Notice(f"One name, different laws: {', '.join(differ)}", text)


def _moves(noise: Noise) -> dict[str, tuple[str, int, frozenset[Move]]]:
    """For each axis its region, how many values a site has there, and the moves that it counts."""
    return {
        region + suffix: (region, noise[region].alphabet, frozenset(moves))
        for region in noise
        for suffix, moves in zip(noise[region].suffixes, noise[region].moves, strict=True)
    }


def _other_sites(runs: Sequence[ComparedRun]) -> Notice:
    """Says that "any flip" is not the same attacker in all runs."""
    sites = list(zip(*(run.n_sites for run in runs), strict=True))
    graph = next(number for number, each in enumerate(sites) if len(set(each)) > 1)
    numbers = ", ".join(
        f"{'an unknown number' if n is None else f'{n:,}'} in {run.name}"
        for run, n in zip(runs, sites[graph], strict=True)
    )
    name = runs[0].archive.names[runs[0].rows[graph]]
    text = (
        f"An attacker flips sites in the regions of a run, and these differ (sites of {name}: {numbers}). Certified, "
        "broken and open are counted for each run by itself, and no differences are given."
    )
    return Notice("Any flip is not the same attacker in all runs", text)


def write_comparison(
    path: str | os.PathLike[str], runs: Mapping[str, AnyArchive], *, threat: Threat | str | None = None
) -> Comparison:
    """Writes a comparison as one HTML page, and returns what it says; a file with other content is not replaced."""
    file = target(path)
    found = compare(runs, threat=threat)
    what, n_rows = "right and certified" if found.known else "certified", len(found.rows)
    content: dict[str, object] = {
        "found": found,
        "same": found.one if found.n_graphs == 1 else quantity(found.n_graphs, found.one),
        "what": what,
        "shown": found.rows[:MAX_DIFFERENT],
        "numbers": [
            KeyFigure(f"{len(found.names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", plural(found.n_graphs, found.one), "number-graphs"),
            KeyFigure(f"{n_rows:,}", f"{plural(n_rows, found.one)} on which they differ", "number-different"),
        ],
        "notices": found.notices,
        "gain_heads": GAIN_HEADS,
        "gains": [(run, *gain_cells(each)) for run, each in found.gains],
        "origin": found.origin,
    }
    html = assemble(
        "report/templates/compare.html",
        content,
        title=f"Compared: {', '.join(found.names)}",
        scripts=["text.js", "charts.js", "compare.js"],
        data={"curves": list(found.curves), "what": what},
    )
    try:
        same = file.is_file() and file.read_bytes() == as_bytes(html)
    except OSError:
        same = False  # its content is not known
    if file.is_file() and not same:
        raise StarcertError(f"{file}: is there already, with other content. Name another file: --out another.html")
    if not same:
        write_page(file, html)
    return found
