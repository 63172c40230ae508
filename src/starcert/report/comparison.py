"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from starcert.claims.gains import StructureGain, paired_difference
from starcert.claims.outcomes import Outcome, in_words, size_steps
from starcert.objects.threats import AnyFlips, Threat, read_threat
from starcert.objects.words import AttackWords
from starcert.report.blocks import (
    Curve,
    Panel,
)
from starcert.report.compared_runs import (
    AnyArchive,
    ComparedRun,
    Mask,
    compared_runs,
)
from starcert.report.findings import VerdictRow
from starcert.system.errors import InvalidParameterError

MAX_FLIPS = 60  # where curves end
MAX_COMPARED = 5  # the most flips on each axis for which differences are given


class Difference(NamedTuple):
    """The difference of a run from the first one, in the share of graphs right and certified against some flips."""

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


def compare(runs: Mapping[str, AnyArchive], *, threat: Threat | str | None = None) -> Comparison:
    """Compares runs on the graphs that all of them have, each with the first.

    `threat` is the attacker: any flips, or one that all runs were asked about and that lists its attacks. By default
    that one, or else as many flips as any run was asked about, at least 2.
    """
    found = compared_runs(runs)
    return Comparison(found, _attacker(found, threat))


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


class Comparison:
    """Runs on the same graphs under one threat: what each says, and how the others differ from the first."""

    def __init__(self, runs: Sequence[ComparedRun], threat: Threat) -> None:
        self.runs, self.threat = runs, threat
        self.names, self.one = tuple(run.name for run in runs), runs[0].one
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

    @property
    def n_graphs(self) -> int:
        """The number of graphs that count: those with a known class, all where none is known."""
        return int(self.among.sum())

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

    @cached_property
    def verdicts(self) -> list[tuple[str, VerdictRow, bool]]:
        """The states of the graphs of each run under attacks of some sizes, and true if it has evidence on these."""
        found = []
        for size in self.steps:
            for run, outcomes in zip(self.runs, self.outcomes, strict=True):
                counts = outcomes.counts_among(size, self.among, self.right(run) & run.answered)
                found.append((run.name, VerdictRow.of(counts, by_votes=run.by_votes), run.weighed(self.threat)))
        return found

    @property
    def panels(self) -> list[Panel]:
        """The shares by the number of flips on one axis, with none on the others: a plot for each axis."""
        found: dict[str, list[Curve]] = {}
        for run in self.runs:
            furthest = max(map(max, run.reach.values()), default=0)
            for axis in run.axes:
                there, limit = self.among & run.has_sites([axis]), run.requested(axis)
                end = min(furthest + 1, MAX_FLIPS, MAX_FLIPS if limit is None else limit)
                x = list(range(end + 1)) if there.any() else []
                y = [float((run.certified({axis: n}) & self.right(run))[there].mean()) for n in x]
                known = list(takewhile(lambda n: y[n] or not run.why_unknown({axis: n}), x))  # noqa: B023  (at once)
                hover = [f"{run.name}: {n} flips in {axis}\n{y[n]:.1%} {self.what}" for n in known]
                found.setdefault(axis, []).extend([Curve(run.name, known, y[: len(known)], hover)] if known else [])
        return [Panel(f"flips in {axis}", f"share {self.what}", lines) for axis, lines in found.items()]

    @property
    def what(self) -> str:
        """The set that shares are of."""
        return "right and certified" if self.known else "certified"

    @cached_property
    def differences(self) -> list[Difference]:
        """The differences of the other runs from the first."""
        found, hits = [], [self.right(run) for run in self.runs]
        for flips, possible, certified, reasons in self.attackers:
            there = self.among & possible
            masks = [(mask & hit)[there] for mask, hit in zip(certified, hits, strict=True)]
            known = [mask.any() or not why for mask, why in zip(masks, reasons, strict=True)]
            for run, mask, says in zip(self.runs[1:], masks[1:], known[1:], strict=True):
                if there.any():
                    apart = paired_difference(masks[0], mask) if says and known[0] else ()
                    found.append(Difference(run.name, flips, float(mask.mean()) if says else None, *apart))
        return found

    @cached_property
    def gains(self) -> list[tuple[str, StructureGain]]:
        """The gain of each run on its blind model."""
        found = []
        for flips, possible, certified, reasons in self.attackers:
            there = self.labelled & possible
            for run, mask, why in zip(self.runs, certified, reasons, strict=True):
                if run.blind is not None and there.any():
                    found.append((run.name, StructureGain.of(flips, mask & run.right, run.blind, there, why)))
        return found

    @property
    def notes(self) -> list[str]:
        """Why there are dashes: of what a run says nothing, or p_A alone does."""
        return in_words(
            (f"{run.name} against {flips}", bool((mask & possible).any()), why)
            for flips, possible, certified, reasons in self.attackers
            for run, mask, why in zip(self.runs, certified, reasons, strict=True)
        )

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns of `rows`."""
        return (
            self.one,
            "true class",
            *(f"{name}: {what}" for name in self.names for what in ("answer", *self.columns)),
        )

    @cached_property
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
