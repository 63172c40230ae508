"""A sweep: its settings, its levels, which are worth a certification, and what to know before choosing one."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from starcert.certificates.metrics import FlipVerdicts
from starcert.objects.content import digest
from starcert.objects.noise import Noise
from starcert.pages.findings import Notice, nothing_to_flip
from starcert.runs.grid import ACCURACY, Goal, Grid, noise_text
from starcert.runs.models import asks_for
from starcert.runs.run_file import RunFile
from starcert.runs.settings import SWEEP_SAMPLES, RunSettings, run_settings
from starcert.runs.sweep_levels import Marks, Standing, SweepLevel, beaten_by, standings
from starcert.system.errors import InvalidParameterError

_MAX_NAMED = 5
_MAX_TIES = 12
OTHER = "PATH/TO/OTHER_GRAPHS"
"""Stands in a command for data that the user has to name: a path that does not exist, so that the command does not run
unread, and not a name, which might be that of a data set to download."""


_CERTIFYING_ALONE = ("samples", "selection_samples", "own_samples", "store", "out")
"""What a run file says only for `starcert certify`, unless it stands in its table [sweep]."""


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep needs to know: the settings of a run, and a grid of noise levels instead of one noise."""

    run: RunSettings  # what all levels share; its noise is that of the first level
    grid: Grid  # the noise levels
    own_noise: Noise  # the noise that the user gave; that of the first level if none was given, or one with other axes
    # what the run file says for certifying alone, by its keys
    certifying: Mapping[str, object] = field(default_factory=dict)
    # what the best level has most of; None: accuracy, of the unbeaten levels that certify a flip
    goal: Goal | None = None

    @cached_property
    def levels(self) -> tuple[Noise, ...]:
        """The noise levels."""
        return self.grid.levels(self.run.noise)

    @property
    def max_flips(self) -> int:
        """Up to how many flips, wherever they are, results are counted: the threat's, 2 with evidence, else 0."""
        return 2 * self.run.evidence if self.run.threat is None else self.run.threat.most

    @property
    def seed(self) -> int:
        """The seed of the votes: another than that of a certification with the same settings.

        The noise of a certificate must not be chosen on the votes that bound it, so these come from other streams,
        whatever the seeds are.
        """
        return int(digest("sweep", self.run.seed)[:15], 16)


def sweep_settings(
    file: RunFile, options: Mapping[str, object], grid: Grid | None, best: str | None = None
) -> SweepSettings:
    """The settings of a sweep from a run file and from options, grid and goal, which override it.

    How many samples there are, where the output goes and which part of the data is used, the file says in its table
    [sweep]: what it says elsewhere is for certifying. Of data that are divided the validation part is used.
    """
    grid = grid or file.grid
    if grid is None:
        hint = "For example --grid motif=0.02,0.05,0.1,random=0.2,0.45, or a table [sweep.grid] in a run file."
        raise InvalidParameterError("grid", "be given", None, hint)
    noise = options.get("noise", file.values.get("noise"))
    levels = grid.levels(noise if isinstance(noise, Noise) else None)
    chosen = options.get("split", file.sweep.get("split"))
    if chosen == "test":
        hint = "Levels that are chosen on the graphs they are then judged on look better than they are: use validation."
        raise InvalidParameterError("split", "leave the test part to certification", chosen, hint)
    divided = file.values.get("split", "all") != "all"
    shared = {key: value for key, value in file.values.items() if key not in _CERTIFYING_ALONE}
    values = {**shared, "samples": SWEEP_SAMPLES, "out": file.folder / "sweep", **file.sweep}
    if options.get("evidence", shared.get("evidence", False)):
        values = {"own_samples": 0, **values}
    part = chosen or ("validation" if divided else "all")
    run = run_settings(values, {**options, "noise": levels[0], "split": part})
    has_parts = run.splits is not None or "part" in (run.columns or {})
    undecided = chosen is None and not divided
    if undecided and (has_parts or any(asks_for(run.model, part) for part in ("train", "validation"))):
        run = replace(run, split="validation")
    own = noise if isinstance(noise, Noise) and noise.axes == levels[0].axes else levels[0]
    certifying = ("samples", "selection_samples", "own_samples", "limit")
    kept = {key: file.values[key] for key in certifying if key in file.values}
    named = "sweep.best" if best is None else "--best"
    wanted = file.best if best is None else best
    goal = Goal.parse(wanted, levels[0], run.max_radius, named) if wanted or best is not None else None
    return SweepSettings(run, grid, own, kept, goal)


@dataclass(frozen=True)
class SweepResult:
    """What came out of a sweep."""

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
        none = f"No level that is better than a constant answer has any {sweep.goal.description}."
        return f"{none} Next: other levels, more --samples, or another --best."
    if sweep.settings.goal is None:
        return "Next, for the most accurate of the unbeaten levels that certify a flip:"
    return f"Next, for the best level by {sweep.goal.description}:"


def tie_sentence(sweep: SweepResult) -> str:
    """Which levels are as good as the suggested one, for all that these graphs can tell, and within how much."""
    best = sweep.suggested
    if best is None or len(sweep.levels) == 1:
        return ""
    goal, own, ties = sweep.goal, sweep.standings[best], sweep.ties
    within = goal.within(own.low, own.high)
    head = f"Level {best + 1}, by {goal.description}: {goal.show(own.value)} (95% interval {within})."
    if not ties:
        return f"{head} All others have clearly less, or are no better than a constant answer."
    behind = [sweep.standings[number] for number in ties]
    others = f"level{'s' * (len(ties) > 1)} {_listed(ties, _MAX_TIES)}"
    apart = goal.apart(min(each.by for each in behind), max(each.by for each in behind))
    widest = goal.apart(min(each.least for each in behind), max(each.most for each in behind))
    return (
        f"{head} A tie: these graphs cannot tell it from {others}. They differ from it by {apart}, and the 95% "
        f"interval of that, {widest}{' at the widest' * (len(ties) > 1)}, holds 0."
    )


def _listed(numbers: Sequence[int], most: int = _MAX_NAMED) -> str:
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return ", ".join(str(number + 1) for number in numbers[:most]) + more


def flip_counts(sweep: SweepResult, found: FlipVerdicts) -> list[tuple[str, int]]:
    """How many graphs are certified, broken and open; without votes at attacked graphs nothing can be broken."""
    counts = [("certified", found.n_certified), ("broken", found.n_broken), ("open", found.n_open)]
    attacked = sweep.settings.run.evidence and sweep.settings.run.own_samples != 0
    return [(name, count) for name, count in counts if attacked or name != "broken"]


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
    command = ["starcert", "certify", run_file, "--noise", noise_text(sweep.levels[number].noise)]
    command += ["--data", OTHER] if sweep.settings.run.split == "all" else ["--split", "test"]
    return shlex.join([*command, "--out", "certified"])


def verdict(sweep: SweepResult, number: int) -> str:
    """What there is to say about a level, in a few words."""
    by = sweep.beaten_by[number]
    parts = ["unbeaten" if by is None else f"beaten by level {by + 1}"]
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
        text = (
            f"There, {majority} or more than the smoothed classifier. A constant answer is robust against everything, "
            f"and worthless: however far their radii go, leave these levels. {_named(sweep, constant)}"
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
    first = sweep.levels[0]
    empty = nothing_to_flip(dict(zip(first.noise.axes, first.n_without, strict=True)), n)
    if empty is not None:
        yield empty
    if sweep.anchored:
        text = " ".join(sweep.anchored[:_MAX_NAMED]) + " The certificates speak of regions frozen at each clean graph."
        yield Notice("Anchored regions", text)
    if n < 50:
        text = f"One graph more or less is {1 / n:.1%} of accuracy. Small differences between levels mean nothing."
        yield Notice(f"Only {n:,} graph{'s' * (n != 1)}", text)


def _where(sweep: SweepResult, short: tuple[str, int | None], numbers: Sequence[int]) -> str:
    axis, least = short
    could = "none ever could" if least is None else f"{least:,} votes could"
    if len(numbers) == len(sweep.levels):
        return f"{axis} ({could})"
    return f"{axis} at level{'s' * (len(numbers) != 1)} {_listed(numbers)} ({could})"


def _named(sweep: SweepResult, numbers: Sequence[int]) -> str:
    named = "; ".join(noise_text(sweep.levels[number].noise) for number in numbers[:_MAX_NAMED])
    more = f"; and {len(numbers) - _MAX_NAMED:,} more" if len(numbers) > _MAX_NAMED else ""
    return f"({named}{more}.)"
