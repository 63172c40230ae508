"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
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
from starcert.report.blocks import (
    Curve,
    Curves,
    KeyFigure,
    Marked,
    Notice,
    Panel,
    Phrase,
    Report,
    Section,
    TableBlock,
    Text,
)
from starcert.report.compared_runs import (
    AnyArchive,
    ComparedRun,
    Mask,
    compared_runs,
)
from starcert.report.document import as_bytes, page_of, target, write_page
from starcert.report.findings import VerdictRow, reasons_of
from starcert.report.page_data import MAX_LINES
from starcert.report.worth import GAIN_HEADS, gain_cells, gains_section
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
        """How many graphs count: those with a known class, all where none is known."""
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
        """What becomes of the graphs of each run under attacks of some sizes, and whether it has evidence on these."""
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
        """What shares are of."""
        return "right and certified" if self.known else "certified"

    @cached_property
    def differences(self) -> list[Difference]:
        """How the other runs differ from the first."""
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
        """What each run gains on its blind model."""
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
    def notices(self) -> list[Notice]:
        """What a reader must know."""
        return [*_notices(self), *_without_gain(self.gains, self.one)]

    @property
    def heads(self) -> tuple[str, ...]:
        """What stands above the columns of `rows`."""
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


def _without_gain(gains: Sequence[tuple[str, StructureGain]], one: str) -> Iterator[Notice]:
    """Says which runs gain nothing on their blind models under the smallest attacks."""
    for name in dict.fromkeys(run for run, _ in gains):
        if sentence := worth_sentence([each for run, each in gains if run == name], f"{one}s"):
            yield Notice(f"{name}: worth no more than a blind model", sentence)


def _notices(side: Comparison) -> Iterator[Notice]:
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
    return f"is anchored{where} ({reasons_of(reasons).rstrip('.')})"


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


def _named(text: str) -> Phrase:
    """A name from data, in its own direction of writing."""
    return (Marked(text, "bdi"),)


def comparison_report(found: Comparison) -> Report:
    """A comparison as blocks."""
    one, n_rows, first, by_radius = found.one, len(found.rows), found.names[0], found.threat.by_radius
    same = one if found.n_graphs == 1 else quantity(found.n_graphs, one)
    return Report(
        title=f"Compared: {', '.join(found.names)}",
        statement=[
            (
                f"{len(found.names)} runs on the same {same}. Each is compared with the first, ",
                Marked(first, "bdi"),
                f", {one} by {one}.",
            )
        ],
        numbers=[
            KeyFigure(f"{len(found.names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", plural(found.n_graphs, one), "number-graphs"),
            KeyFigure(f"{n_rows:,}", f"{plural(n_rows, one)} on which they differ", "number-different"),
        ],
        notices=found.notices,
        sections=[
            _verdicts(found, by_radius),
            Section(
                "curves",
                "Axis by axis",
                [
                    Text(
                        phrase=f"The share of {one}s that are {found.what} against a number of flips on one axis, with "
                        "none on the others.",
                        only="page",
                    ),
                    Curves(
                        name="compare-plot",
                        panels=(panels := found.panels),
                        about=f"Shares {found.what}, run by run and axis by axis; the table below has the differences.",
                        many=len(panels) > MAX_LINES,
                    ),
                ],
            ),
            _differences(found, first),
            *_gains(found),
            _different(found),
        ],
        origin=[{run.name: list(run.about(SHOWN_SETTINGS))} for run in found.runs],
        values={"runs": list(found.names), "threat": str(found.threat), "n_rows": found.n_graphs},
        skip=("different", f"the {one}s"),
    )


def _verdicts(found: Comparison, by_radius: bool) -> Section:
    one, right = found.one, "right" if found.known else "answered"
    listed = f"the attacks on the list: {found.threat.label}"
    attackers = "an attacker with at most this many flips, wherever they are" if by_radius else listed
    verdicts = found.verdicts
    cells = [(_named(run), row.attacks, *row.cells(weighed).values()) for run, row, weighed in verdicts]
    heads = ("run", "flips" if by_radius else "attacks", "listed", f"{one}s", right, "certified by p_A",
             "certified with evidence", "broken", "open")  # fmt: skip
    values = [{"run": run, **row._asdict(), "weighed": weighed} for run, row, weighed in verdicts]
    meaning = f"What becomes of the {one}s that are answered{' right' * found.known}, for {attackers}."
    caption = (
        "Certified with evidence: by either argument; of a plain model, by trying every attack. A dash: the run has no "
        "evidence about these attacks, or does not list them."
    )
    table = TableBlock(
        name="verdict-table", heads=heads, rows=cells, left=2, head_column=False, key="verdicts", values=values
    )
    blocks = [Text(phrase=meaning), table, Text(phrase=caption, caption=True, only="page")]
    return Section("verdicts", "Certified, open, broken", blocks)


def _differences(found: Comparison, first: str) -> Section:
    meaning = (
        f"The share {found.what}, less that of ", Marked(first, "bdi"), f" on the same {found.one}s. Each interval "
        f"holds with probability 95% over the choice of {found.one}s, by itself; one that contains 0 shows no "
        "difference.",
    )  # fmt: skip
    rows = [(_named(each.run), *(cell.replace("-", "−") for cell in each.cells[1:])) for each in found.differences]
    heads, values = ("run", "flips", "share", "difference", "interval"), [each._asdict() for each in found.differences]
    table = TableBlock(
        name="difference-table", heads=heads, rows=rows, left=2, head_column=False, key="differences", values=values
    )
    notes = [Text(phrase=" ".join(notes), caption=True)] if (notes := found.notes) else []
    return Section("differences", "Differences", [Text(phrase=meaning), table, *notes])


def _gains(found: Comparison) -> list[Section]:
    rows = [(_named(run), *gain_cells(each)) for run, each in found.gains]
    return [gains_section(("run", *GAIN_HEADS), rows, f"{found.one}s", [])] if rows else []


def _different(found: Comparison) -> Section:
    heading, n = f"{found.one.capitalize()}s on which they differ", len(found.rows)
    if not n:
        return Section("different", heading, [Text(phrase="There are none: all answers and radii are equal.")])
    rows = [tuple(_named(cell) for cell in row) for row in found.rows[:MAX_DIFFERENT]]
    caption = "Under the name of an axis: the most flips that are certified there alone."
    caption += f" The {MAX_DIFFERENT} most different of {n}." * (n > MAX_DIFFERENT)
    table = TableBlock(
        name="different-table", heads=found.heads, rows=rows, left=2, head_column=False, most=20,
        key="different", values=[dict(zip(found.heads, row, strict=True)) for row in found.rows],
    )  # fmt: skip
    return Section("different", heading, [table, Text(phrase=caption, caption=True)])


def write_comparison(
    path: str | os.PathLike[str], runs: Mapping[str, AnyArchive], *, threat: Threat | str | None = None
) -> Comparison:
    """Writes a comparison as one HTML page, and returns it; a file with other content is not replaced."""
    file, found = target(path), compare(runs, threat=threat)
    report = comparison_report(found)
    try:
        there = file.read_bytes() if file.is_file() else None
    except OSError:
        there = b""  # its content is not known
    if there not in (None, as_bytes(page_of(report))):
        raise StarcertError(f"{file}: is there already, with other content. Name another file: --out another.html")
    if there is None:
        write_page(file, report)
    return found
