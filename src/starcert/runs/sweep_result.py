"""The results of a sweep: which levels are worth a certification, and what to know before a choice."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from starcert.archive import BlindRow
from starcert.claims.gains import StructureGain, worth_sentence
from starcert.claims.outcomes import SizeCounts
from starcert.report.blocks import Notice
from starcert.report.findings import frozen, nothing_to_flip
from starcert.runs.grid import SweepSettings, noise_text
from starcert.runs.sweep_levels import Marks, Standing, SweepLevel, beaten_by, standings

TABLE, PAGE = "sweep.csv", "sweep.html"

OTHER = "PATH/TO/OTHER_GRAPHS"
"""Stands in a command for data that the user has to name: a path that does not exist, so that the command does not run
unread, and not a name, which might be that of a data set to download."""

_MAX_NAMED = 5
_MAX_TIES = 12


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep."""

    settings: SweepSettings  # what was tried, and on what
    levels: tuple[SweepLevel, ...]  # the measures of each noise level, in the order of the grid
    class_names: tuple[str, ...]  # what the classes are called
    majority: int  # the most frequent class of the graphs
    n_unlabelled: int  # how many graphs were left out because their class is not known
    anchored: tuple[str, ...]  # why regions are anchored, each reason once
    one_model: bool  # whether one model served all levels, rather than one made for each
    folder: Path  # the output folder
    marks: tuple[Marks, ...]  # for each level, what each graph adds to the goal
    drawn: bool = False  # whether a limit drew the graphs from every class, instead of the first ones
    blind: BlindRow | None = None  # what a model answers that sees nothing an attack can change
    gains: tuple[tuple[StructureGain, ...], ...] = ()  # what each level gains on it; none where there is no such model

    @cached_property
    def beaten_by(self) -> tuple[int | None, ...]:
        """For each level, the first unbeaten one that beats it by its `criteria`; None if none does."""
        return tuple(beaten_by([level.criteria for level in self.levels]))

    @cached_property
    def order(self) -> list[int]:
        """The levels as a table lists them: the unbeaten ones first, and among equals the more accurate."""
        numbers = range(len(self.levels))
        return sorted(numbers, key=lambda each: (self.beaten_by[each] is not None, -self.levels[each].n_right))

    @cached_property
    def unbeaten(self) -> tuple[int, ...]:
        """The levels that no other one beats, the most accurate first."""
        return tuple(number for number in self.order if self.beaten_by[number] is None)

    @cached_property
    def worthwhile(self) -> tuple[int, ...]:
        """The unbeaten levels that are more accurate than a constant answer, the most accurate first."""
        return tuple(number for number in self.unbeaten if not self.levels[number].constant)

    @property
    def goal(self) -> str:
        """The goal by which the best level is chosen, in words."""
        threat = self.settings.run.threat
        return "accuracy" if threat is None else f"accuracy certified against {threat.label}"

    @cached_property
    def suggested(self) -> int | None:
        """The level to certify next, better than a constant answer; None if there is none.

        Without a threat it is the most accurate unbeaten level that certifies a flip; with one the best under it.
        """
        if self.settings.run.threat is None:
            return next((number for number in self.worthwhile if any(self.levels[number].mean_radii)), None)
        totals = [sum(mark for mark in marks if mark is not None) for marks in self.marks]
        some = [number for number, total in enumerate(totals) if total and not self.levels[number].constant]
        return max(some, key=lambda number: (totals[number], -self.order.index(number)), default=None)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """The standing of each level beside the suggested one, or the first Pareto-optimal one if there is none."""
        best = self.unbeaten[0] if self.suggested is None else self.suggested
        return tuple(standings(self.marks, best))

    @property
    def ties(self) -> list[int]:
        """The levels that cannot be told apart from the suggested one, constant answers left out, in their order."""
        tied = [number for number, each in enumerate(self.standings) if each.tie and number != self.suggested]
        return [number for number in tied if not self.levels[number].constant]


def advice(sweep: SweepResult) -> str:
    """Which level to certify next, and why."""
    none, named = "No level that is better than a constant answer", sweep.settings.run.threat is not None
    if sweep.suggested is None and named:
        return f"{none} has any {sweep.goal}. Next: other levels, more --samples, or another --threat."
    if sweep.suggested is None:
        return f"{none} certifies a flip. Next: other levels, or more --samples."
    best = f"best level by {sweep.goal}"
    return f"Next, for the {best if named else 'most accurate of the Pareto-optimal levels that certify a flip'}:"


def blind_sentences(sweep: SweepResult) -> Iterator[str]:
    """The accuracy of a blind model on the same graphs, and the gain of the level to certify next."""
    if sweep.blind is None or sweep.blind.missing:
        yield from () if sweep.blind is None else [f"No blind model: {sweep.blind.missing}"]
        return
    yield f"A blind model is right on {sweep.gains[0][0].blind:.1%}: {sweep.blind.model}."
    if sweep.suggested is not None:
        gains = sweep.gains[sweep.suggested]
        yield from (
            f"Level {sweep.suggested + 1} gains {each} on it, against {each.attacks}."
            for each in gains[1:2]
            if each.gain is not None
        )
        yield from filter(None, [worth_sentence(gains)])


def tie_sentence(sweep: SweepResult) -> str:
    """Which levels are as good as the suggested one, for all that these graphs can tell, and within how much."""
    best = sweep.suggested
    if best is None or len(sweep.levels) == 1:
        return ""
    own, ties = sweep.standings[best], sweep.ties
    head = f"Level {best + 1}, by {sweep.goal}: {own.value:.1%} (95% interval {own.low:.0%}–{own.high:.0%})."
    if not ties:
        return f"{head} All others have clearly less, or are no better than a constant answer."
    behind = [sweep.standings[number] for number in ties]
    others = f"level{'s' * (len(ties) > 1)} {_listed(ties, _MAX_TIES)}"
    apart = share_apart(min(each.by for each in behind), max(each.by for each in behind))
    widest = share_apart(min(each.least for each in behind), max(each.most for each in behind))
    return (
        f"{head} A tie: these graphs cannot tell it from {others}. They differ from it by {apart}, and the 95% "
        f"interval of that, {widest}{' at the widest' * (len(ties) > 1)}, holds 0."
    )


def _listed(numbers: Sequence[int], most: int = _MAX_NAMED) -> str:
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return ", ".join(str(number + 1) for number in numbers[:most]) + more


def mean_shown(mean: float | None) -> str:
    """A mean radius; a dash where 0 would say nothing."""
    return "–" if mean is None else f"{mean:.2f}"


def size_counts(sweep: SweepResult, found: SizeCounts) -> list[tuple[str, int | None]]:
    """The numbers of certified, broken and open graphs; without votes at attacked graphs nothing can be broken."""
    counts = [("certified", found.n_certified), ("broken", found.n_broken), ("open", found.n_open)]
    attacked = sweep.settings.run.evidence and sweep.settings.run.own_samples != 0
    return [(name, count) for name, count in counts if attacked or name != "broken"]


def about_graphs(sweep: SweepResult) -> str:
    """Which graphs the levels were tried on."""
    run, n = sweep.settings.run, sweep.levels[0].n_graphs
    undivided = run.split == "all"
    part = "all graphs" if undivided else f"the {run.split} part"
    if run.limit is not None:
        which = "graphs of every class" if sweep.drawn else f"{'the' if undivided else 'its'} first graphs"
        part = f"{'' if undivided else f'{part}, '}{which} (--limit {run.limit:,})"
    without = f"; {sweep.n_unlabelled:,} without a known class are left out" if sweep.n_unlabelled else ""
    return f"{n:,} graph{'s' * (n != 1)}: {part} of {run.data_title}{without}"


def next_command(sweep: SweepResult, number: int, run_file: str) -> str:
    """The command that certifies a level on graphs that the sweep has not seen: the test part, or those of the user."""
    command = ["starcert", "certify", run_file, "--noise", noise_text(sweep.levels[number].noise)]
    command += ["--data", OTHER] if sweep.settings.run.split == "all" else ["--split", "test"]
    return shlex.join([*command, "--out", "certified"])


def verdict(sweep: SweepResult, number: int) -> str:
    """The verdict on a level, in a few words."""
    by = sweep.beaten_by[number]
    parts = ["Pareto-optimal" if by is None else f"dominated by level {by + 1}"]
    if sweep.levels[number].constant:
        parts.append("no better than a constant")
    if sweep.levels[number].short:
        parts.append(f"too few votes for {', '.join(sweep.levels[number].short)}")
    return ", ".join(parts)


def notices(sweep: SweepResult) -> Iterator[Notice]:
    """The warnings that apply, the weightiest first."""
    levels, n = sweep.levels, sweep.levels[0].n_graphs
    constant = [number for number, level in enumerate(levels) if level.constant]
    majority = f"always answering {sweep.class_names[sweep.majority]!r} is right on {levels[0].majority_share:.1%}"
    if len(constant) == len(levels):
        text = f"At every level {majority} or more than the smoothed classifier. Try less noise, or training with it."
        yield Notice("No level is better than a constant answer", text)
    elif constant:
        named = "; ".join(noise_text(levels[number].noise) for number in constant[:_MAX_NAMED])
        more = f"; and {len(constant) - _MAX_NAMED:,} more" if len(constant) > _MAX_NAMED else ""
        text = (
            f"There, {majority} or more than the smoothed classifier. A constant answer is robust against everything, "
            f"and worthless: however far their radii go, leave these levels. ({named}{more}.)"
        )
        count = f"{len(constant):,} of {len(levels):,} level{'s' * (len(levels) != 1)}"
        yield Notice(f"No better than a constant answer: {count}", text)
    elsewhere = (
        f"Certify the level on other graphs: name them where the command has {OTHER}. Have you no others? Sweep again "
        "with --split validation and another --out, and certify with --split test."
        if sweep.settings.run.split == "all"
        else "Certify the level on the test part, which no sweep has seen."
    )
    text = (
        "The best of many levels looks better on the graphs it was chosen on than it is: the accuracies and radii here "
        f"are for choosing, not for reporting. {elsewhere} A certification draws fresh votes, whatever its seed."
    )
    yield Notice("A level that is chosen here must be certified on other graphs", text)
    short: dict[tuple[str, int | None], list[int]] = defaultdict(list)  # levels, by axis and votes that would do
    for axis, number in product(levels[0].noise.axes, range(len(levels))):
        if axis in levels[number].short:
            short[axis, levels[number].short[axis]].append(number)
    if short:
        axes = ", ".join(dict.fromkeys(axis for axis, _ in short))
        where = "; ".join(_where(sweep, *each) for each in list(short.items())[:_MAX_NAMED])
        more = f"; and so on, {len(short) - _MAX_NAMED:,} more" if len(short) > _MAX_NAMED else ""
        how = "certified by p_A" if sweep.settings.run.evidence else "certified"
        text = f"Even if all {sweep.settings.run.samples:,} votes agreed, no flip would be {how} in {where}{more}."
        if any(least is not None for _, least in short):
            text += " Where more votes could, a radius of 0 says nothing about the level: take more --samples."
        yield Notice(f"Too few votes for a single flip: {axes}", text)
    yield from nothing_to_flip(dict(zip(levels[0].noise.axes, levels[0].n_without, strict=True)), n)
    if sweep.anchored:
        yield Notice("Anchored regions", f"{' '.join(sweep.anchored[:_MAX_NAMED])} {frozen('graph')}")
    if n < 50:
        text = f"One graph more or less is {1 / n:.1%} of accuracy. Small differences between levels mean nothing."
        yield Notice(f"Only {n:,} graph{'s' * (n != 1)}", text)


def _where(sweep: SweepResult, short: tuple[str, int | None], numbers: Sequence[int]) -> str:
    axis, least = short
    could = "none ever could" if least is None else f"{least:,} votes could"
    if len(numbers) == len(sweep.levels):
        return f"{axis} ({could})"
    return f"{axis} at level{'s' * (len(numbers) != 1)} {_listed(numbers)} ({could})"


def share_apart(*values: float) -> str:
    """A difference of two shares, or the two ends of an interval for it."""
    return " to ".join(dict.fromkeys(f"{value:+.1%}" for value in values)).replace("-", "−")
