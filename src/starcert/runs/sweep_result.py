"""A sweep: its settings, its levels, which are worth a certification, and what to know before choosing one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from starcert.certificates.metrics import FlipVerdicts
from starcert.objects.content import digest
from starcert.objects.noise import Noise
from starcert.pages.document import Notice
from starcert.pages.findings import nothing_to_flip
from starcert.pages.intervals import share_interval
from starcert.runs.grid import Grid, noise_text
from starcert.runs.settings import RunSettings
from starcert.runs.sweep_goal import ACCURACY, Goal, Marks, Standing, standings
from starcert.runs.sweep_levels import SweepLevel, beaten_by

__all__ = [
    "OTHER",
    "SweepResult",
    "SweepSettings",
    "about_graphs",
    "advice",
    "flip_counts",
    "next_command",
    "notices",
    "sweep_rows",
    "tie_sentence",
    "verdict",
]

MOST_NAMED = 5
MOST_TIES = 12
OTHER = "PATH/TO/OTHER_GRAPHS"
"""Stands in a command for data that the user has to name. It is a path that is not there, so that the command does not
run unread, and no name, which might be that of a data set to download."""


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep needs to know: the settings of a run, and a grid of noise levels instead of one noise.

    Attributes:
        run: what all levels share; its noise is that of the first level.
        grid: the noise levels.
        own_noise: the noise that the user gave; that of the first level if none was given, or one with other axes.
        certifying: what the run file says for certifying alone, by its keys.
        goal: what the user wants the best level of; None: accuracy, of the unbeaten levels that certify a flip.
    """

    run: RunSettings
    grid: Grid
    own_noise: Noise
    certifying: Mapping[str, object] = field(default_factory=dict)
    goal: Goal | None = None

    @cached_property
    def levels(self) -> tuple[Noise, ...]:
        """The noise levels."""
        return self.grid.levels(self.run.noise)

    @property
    def most_flips(self) -> int:
        """Up to how many flips, wherever they are, results are counted: the threat's, 2 with evidence, else 0."""
        return 2 * self.run.evidence if self.run.threat is None else self.run.threat.most

    @property
    def seed(self) -> int:
        """The seed of the votes: another than that of a certification with the same settings.

        The noise of a certificate must not be chosen on the votes that bound it, so these come from other streams,
        whatever the seeds are.
        """
        return int(digest("sweep", self.run.seed)[:15], 16)


@dataclass(frozen=True)
class SweepResult:
    """What came out of a sweep.

    Attributes:
        settings: what was tried, and on what.
        levels: the measures of each noise level, in the order of the grid.
        class_names: what the classes are called.
        majority: the most frequent class of the graphs.
        n_unlabelled: how many graphs were left out because their class is not known.
        anchored: why regions are anchored, each reason once.
        one_model: whether one model served all levels, rather than one made for each.
        folder: the output folder.
        marks: for each level, what each graph adds to the goal.
        drawn: whether a limit drew the graphs from every class, instead of the first ones.
    """

    settings: SweepSettings
    levels: tuple[SweepLevel, ...]
    class_names: tuple[str, ...]
    majority: int
    n_unlabelled: int
    anchored: tuple[str, ...]
    one_model: bool
    folder: Path
    marks: tuple[Marks, ...]
    drawn: bool = False

    @cached_property
    def beaten_by(self) -> tuple[int | None, ...]:
        """For each level, the first unbeaten one that beats it; None if none does.

        One level beats another if its accuracy and its mean certified radius on every axis are at least as high, and
        one of them is higher.
        """
        return tuple(beaten_by([level.criteria for level in self.levels]))

    @cached_property
    def unbeaten(self) -> tuple[int, ...]:
        """The levels that no other one beats, the most accurate first."""
        found = [number for number, by in enumerate(self.beaten_by) if by is None]
        return tuple(sorted(found, key=lambda number: (-self.levels[number].n_right, number)))

    @cached_property
    def worthwhile(self) -> tuple[int, ...]:
        """The unbeaten levels that are more accurate than a constant answer, the most accurate first.

        Those that are not can beat none of these: they are less accurate.
        """
        return tuple(number for number in self.unbeaten if not self.levels[number].constant)

    @property
    def order(self) -> list[int]:
        """The levels as a table lists them: the unbeaten ones first, and among equals the more accurate."""
        rest = [number for number, by in enumerate(self.beaten_by) if by is not None]
        return [*self.unbeaten, *sorted(rest, key=lambda number: (-self.levels[number].n_right, number))]

    @property
    def goal(self) -> Goal:
        """What levels are compared by when the best one is looked for."""
        return self.settings.goal or ACCURACY

    @cached_property
    def suggested(self) -> int | None:
        """The level to certify next; None if there is none.

        It is more accurate than a constant answer. Without a goal it is the most accurate of the unbeaten levels that
        certify a flip at all; with one it has the most of that, and more than nothing.
        """
        if self.settings.goal is None:
            return next((number for number in self.worthwhile if any(self.levels[number].mean_radii)), None)
        totals = [sum(mark for mark in marks if mark is not None) for marks in self.marks]
        some = [number for number, total in enumerate(totals) if total and not self.levels[number].constant]
        return max(some, key=lambda number: (totals[number], -self.order.index(number)), default=None)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """How each level stands by the goal beside the suggested one, or the first unbeaten one if there is none."""
        best = self.unbeaten[0] if self.suggested is None else self.suggested
        return tuple(standings(self.goal, self.marks, best))

    @property
    def ties(self) -> list[int]:
        """The levels that cannot be told apart from the suggested one, constant answers left out, in their order."""
        return [
            number
            for number, each in enumerate(self.standings)
            if each.tie and number != self.suggested and not self.levels[number].constant
        ]


def advice(sweep: SweepResult) -> str:
    """Which level to certify next, and why."""
    if sweep.suggested is None and sweep.settings.goal is None:
        return "No level that is better than a constant answer certifies a flip. Next: other levels, or more --samples."
    if sweep.suggested is None:
        none = f"No level that is better than a constant answer has any {sweep.goal.words}."
        return f"{none} Next: other levels, more --samples, or another --best."
    if sweep.settings.goal is None:
        return "Next, for the most accurate of the unbeaten levels that certify a flip:"
    return f"Next, for the best level by {sweep.goal.words}:"


def tie_sentence(sweep: SweepResult) -> str:
    """Which levels are as good as the suggested one, for all that these graphs can tell, and within how much."""
    best = sweep.suggested
    if best is None or len(sweep.levels) == 1:
        return ""
    goal, own, ties = sweep.goal, sweep.standings[best], sweep.ties
    head = f"Level {best + 1}, by {goal.words}: {goal.show(own.value)} (95% interval {goal.within(own.low, own.high)})."
    if not ties:
        return f"{head} All others have clearly less, or are no better than a constant answer."
    behind = [sweep.standings[number] for number in ties]
    others = f"level{'s' * (len(ties) > 1)} {_listed(ties)}"
    apart = goal.apart(min(each.by for each in behind), max(each.by for each in behind))
    widest = goal.apart(min(each.least for each in behind), max(each.most for each in behind))
    return (
        f"{head} A tie: these graphs cannot tell it from {others}. They differ from it by {apart}, and the 95% "
        f"interval of that, {widest}{' at the widest' * (len(ties) > 1)}, holds 0."
    )


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - MOST_TIES:,} more" if len(numbers) > MOST_TIES else ""
    return ", ".join(str(number + 1) for number in numbers[:MOST_TIES]) + more


def sweep_rows(sweep: SweepResult) -> Iterator[dict[str, object]]:
    """What is known about each level, by column; None where there is nothing to say."""
    for number, level in enumerate(sweep.levels):
        axes = level.noise.axes
        laws = [level.noise[region] for region in level.noise.regions]
        # One number for each axis; how many values there are stands after them.
        chances = [chance for law in laws for chance in list(law.numbers.values())[: len(law.suffixes)]]
        beater = sweep.beaten_by[number]
        yield {
            "level": number + 1,
            "noise": noise_text(level.noise),
            **{f"p_{axis}": chance for axis, chance in zip(axes, chances, strict=True)},
            "graphs": level.n_graphs,
            "samples": sweep.settings.run.samples,
            "accuracy": level.accuracy,
            **dict(zip(("accuracy_low", "accuracy_high"), share_interval(level.n_right, level.n_graphs), strict=True)),
            **_by_goal(sweep, number),
            "majority_share": level.majority_share,
            "no_better_than_constant": level.constant,
            "abstained": level.n_abstained / level.n_graphs,
            "most_frequent_answer": None if level.answer is None else sweep.class_names[level.answer],
            "most_frequent_answer_share": level.answer_share,
            "base_accuracy": level.n_base_right / level.n_graphs,
            **{f"graphs_without_{axis}": n for axis, n in zip(axes, level.n_without, strict=True)},
            **{f"mean_radius_{axis}": mean for axis, mean in zip(axes, level.mean_radii, strict=True)},
            **{
                f"right_at_{axis}_{step}": share
                for axis, shares in zip(axes, level.shares, strict=True)
                for step, share in zip(level.steps, shares, strict=True)
            },
            **_by_counts(level),
            **_by_flips(sweep, level),
            "volume": level.volume,
            "score": level.score,
            "unbeaten": beater is None,
            "beaten_by": None if beater is None else beater + 1,
        }


def _by_goal(sweep: SweepResult, number: int) -> dict[str, object]:
    """How a level stands by the goal; where none is named, what there is to say beyond its accuracy."""
    goal, own = sweep.goal, sweep.standings[number]
    named: dict[str, object] = {str(goal): own.value, f"{goal}_low": own.low, f"{goal}_high": own.high}
    apart: dict[str, object] = {
        f"{goal}_less_best": own.by,
        f"{goal}_less_best_low": own.least,
        f"{goal}_less_best_high": own.most,
    }
    return (named if goal != ACCURACY else {}) | apart | {"tie_with_best": own.tie, "best": number == sweep.suggested}


def _by_counts(level: SweepLevel) -> dict[str, object]:
    """With evidence, how far the level reaches by p_A alone."""
    if level.by_counts is None:
        return {}
    axes, (means, shares) = level.noise.axes, level.by_counts
    return {f"mean_radius_by_p_A_{axis}": mean for axis, mean in zip(axes, means, strict=True)} | {
        f"right_at_{axis}_{step}_by_p_A": share
        for axis, of_axis in zip(axes, shares, strict=True)
        for step, share in zip(level.steps, of_axis, strict=True)
    }


def flip_counts(sweep: SweepResult, found: FlipVerdicts) -> list[tuple[str, int]]:
    """How many graphs are certified, broken and open; without votes at attacked graphs nothing can be broken."""
    counts = [("certified", found.n_certified), ("broken", found.n_broken), ("open", found.n_open)]
    attacked = sweep.settings.run.evidence and sweep.settings.run.own_samples != 0
    return [(name, count) for name, count in counts if attacked or name != "broken"]


def _by_flips(sweep: SweepResult, level: SweepLevel) -> dict[str, object]:
    """Shares of the graphs that are right and certified by p_A, by whichever argument, broken or open."""
    return {
        f"any_{each.flips}_{name}": count / each.n_graphs
        for each in level.any_flips
        for name, count in (("by_p_A", each.n_by_p_A), *flip_counts(sweep, each))
        if each.n_graphs
    }


def about_graphs(sweep: SweepResult) -> str:
    """Which graphs the levels were tried on."""
    run, n = sweep.settings.run, sweep.levels[0].n_graphs
    if run.split == "all":
        which = "graphs of every class" if sweep.drawn else "the first graphs"
        part = "all graphs" if run.limit is None else f"{which} (--limit {run.limit:,})"
    else:
        which = "graphs of every class" if sweep.drawn else "its first graphs"
        part = f"the {run.split} part" + ("" if run.limit is None else f", {which} (--limit {run.limit:,})")
    without = f"; {sweep.n_unlabelled:,} without a known class are left out" if sweep.n_unlabelled else ""
    return f"{n:,} graph{'s' * (n != 1)}: {part} of {run.data_title}{without}"


def next_command(sweep: SweepResult, number: int, run_file: str) -> str:
    """The command that certifies a level, with fresh votes and on graphs that the sweep has not seen.

    Where the data are divided, that is the test part; otherwise the user has to name them.
    """
    words = ["starcert", "certify", run_file, "--noise", noise_text(sweep.levels[number].noise)]
    words += ["--data", OTHER] if sweep.settings.run.split == "all" else ["--split", "test"]
    return shlex.join([*words, "--out", "certified"])


def verdict(sweep: SweepResult, number: int) -> str:
    """What there is to say about a level, in a few words."""
    by = sweep.beaten_by[number]
    words = ["unbeaten" if by is None else f"beaten by level {by + 1}"]
    if sweep.levels[number].constant:
        words.append("no better than a constant")
    if sweep.levels[number].short:
        words.append(f"too few votes for {', '.join(sweep.levels[number].short)}")
    return ", ".join(words)


def notices(sweep: SweepResult) -> list[Notice]:
    """The warnings that apply, the weightiest first."""
    return list(_notices(sweep))


def _notices(sweep: SweepResult) -> Iterator[Notice]:
    levels, n = sweep.levels, sweep.levels[0].n_graphs
    constant = [number for number, level in enumerate(levels) if level.constant]
    majority = f"always answering {sweep.class_names[sweep.majority]!r} is right on {levels[0].majority_share:.1%}"
    if len(constant) == len(levels):
        text = f"At every level {majority} or more than the smoothed classifier. Try less noise, or training with it."
        yield Notice("No level is better than a constant answer", text)
    elif constant:
        text = (
            f"There, {majority} or more than the smoothed classifier. A constant answer is robust against everything, "
            f"and worthless: however far their radii go, leave these levels. {_named(sweep, constant)}"
        )
        told = f"{len(constant):,} of {len(levels):,} level{'s' * (len(levels) != 1)}"
        yield Notice(f"No better than a constant answer: {told}", text)
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
    short = _short(sweep)
    if short:
        axes = ", ".join(dict.fromkeys(axis for axis, _ in short))
        where = "; ".join(_where(sweep, *each) for each in list(short.items())[:MOST_NAMED])
        more = f"; and so on, {len(short) - MOST_NAMED:,} more" if len(short) > MOST_NAMED else ""
        how = "certified by p_A" if sweep.settings.run.evidence else "certified"
        text = f"Even if all {sweep.settings.run.samples:,} votes agreed, no flip would be {how} in {where}{more}."
        if any(least is not None for _, least in short):
            text += " Where more votes could, a radius of 0 says nothing about the level: take more --samples."
        yield Notice(f"Too few votes for a single flip: {axes}", text)
    first = sweep.levels[0]
    empty = nothing_to_flip(dict(zip(first.noise.axes, first.n_without, strict=True)), n)
    if empty is not None:
        yield empty
    if sweep.anchored:
        text = " ".join(sweep.anchored[:MOST_NAMED]) + " The certificates speak of regions frozen at each clean graph."
        yield Notice("Anchored regions", text)
    if n < 50:
        text = f"One graph more or less is {1 / n:.1%} of accuracy. Small differences between levels mean nothing."
        yield Notice(f"Only {n:,} graph{'s' * (n != 1)}", text)


def _short(sweep: SweepResult) -> dict[tuple[str, int | None], list[int]]:
    """The levels with too few votes for a flip, by the axis and by how many votes would do there."""
    found: dict[tuple[str, int | None], list[int]] = {}
    for axis in sweep.levels[0].noise.axes:
        for number, level in enumerate(sweep.levels):
            if axis in level.short:
                found.setdefault((axis, level.short[axis]), []).append(number)
    return found


def _where(sweep: SweepResult, short: tuple[str, int | None], numbers: Sequence[int]) -> str:
    axis, least = short
    could = "none ever could" if least is None else f"{least:,} votes could"
    if len(numbers) == len(sweep.levels):
        return f"{axis} ({could})"
    named = ", ".join(str(number + 1) for number in numbers[:MOST_NAMED])
    more = f" and {len(numbers) - MOST_NAMED:,} more" if len(numbers) > MOST_NAMED else ""
    return f"{axis} at level{'s' * (len(numbers) != 1)} {named}{more} ({could})"


def _named(sweep: SweepResult, numbers: Sequence[int]) -> str:
    named = "; ".join(noise_text(sweep.levels[number].noise) for number in numbers[:MOST_NAMED])
    more = f"; and {len(numbers) - MOST_NAMED:,} more" if len(numbers) > MOST_NAMED else ""
    return f"({named}{more}.)"
