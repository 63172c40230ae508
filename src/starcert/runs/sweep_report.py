"""The report of a sweep: its levels one by one, what to know before a choice, and its table `sweep.csv`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from starcert.claims.gains import share_interval, worth_sentence
from starcert.claims.outcomes import SizeCounts
from starcert.report.answer import BlindShare, answer_in, percent
from starcert.report.blocks import Headline, KeyFigure, Marked, Notice, Phrase, Report, Section, TableBlock, Text, Tones
from starcert.report.findings import frozen, nothing_to_flip
from starcert.runs.grid import noise_text
from starcert.runs.run_file import RUN
from starcert.runs.sweep_levels import SweepLevel, SweepResult
from starcert.system.files import versions
from starcert.system.output import plural, quantity

TABLE, PAGE = "sweep.csv", "sweep.html"

OTHER = "PATH/TO/OTHER_GRAPHS"
"""Stands in a command for data that the user has to name: a path that does not exist, so that the command does not run
unread, and not a name, which might be that of a data set to download."""

_MAX_TIES = 12


def sweep_report(sweep: SweepResult) -> Report:
    """A sweep as blocks for a page, a terminal and programs."""
    first, some = sweep.levels[0], sweep.suggested
    return Report(
        title=f"Choosing the noise: {sweep.settings.run.data_title}",
        answers=list(_answers(sweep)),
        statement=list(_statement(sweep)),
        numbers=[
            KeyFigure(f"{len(sweep.levels):,}", "noise levels", "number-levels"),
            KeyFigure(f"{first.n_graphs:,}", "graphs", "number-graphs"),
            KeyFigure(
                f"{first.majority_share:.1%}", "majority-class share", "number-majority",
                sweep.class_names[sweep.majority],
            ),
            *(KeyFigure(f"{each.blind:.1%}", "right, blind model", "number-blind") for each in first.gains[:1]),
            KeyFigure(
                f"{len(sweep.worthwhile):,}",
                "Pareto-optimal levels that are better than a constant answer",
                "number-unbeaten",
            ),
        ],
        notices=list(notices(sweep)),
        sections=[
            Section("levels", "Level by level", list(_levels(sweep))),
            Section("next", "What to do next", [Text(phrase=each) for each in _next(sweep)]),
        ],
        origin=[{"Settings": list(_settings_shown(sweep))}, {"Provenance": list(versions().items())}],
        skip=("levels", "the levels"),
        needs_script="",
        values={
            "class_names": list(sweep.class_names),
            "goal": sweep.goal,
            "suggested": None if some is None else some + 1,
            "ties": [] if some is None else [number + 1 for number in sweep.ties],
            "next": None if some is None else next_command(sweep, some, str(sweep.folder / RUN)),
        },
    )  # fmt: skip


def _answers(sweep: SweepResult) -> Iterator[Headline]:
    """The answer of the level to certify next, or that there is none; without a threat, its accuracy."""
    if sweep.suggested is None:
        yield Headline(advice(sweep), Tones(()), {})
        return
    level, threat = sweep.levels[sweep.suggested], sweep.settings.run.threat
    about = f"Level {sweep.suggested + 1}, {noise_text(level.noise)}"
    blind = next((BlindShare(each.blind) for each in level.gains[:1]), None)
    if threat is not None and level.by_size:
        found = level.by_size[-1]
        attacked = "broken" in dict(_size_counts(sweep, found))
        same = [each for each in level.gains if each.attacks == found.label]
        blind = BlindShare(same[0].blind) if same else None
        yield answer_in(found, "graphs", labelled=True, attacked=attacked, blind=blind, about=about)
        return
    shares = ("right", level.accuracy), ("abstains", level.n_abstained / level.n_graphs)
    wrong = ("wrong", 1 - sum(share for _, share in shares))
    more = "" if blind is None else f"; {blind.model}: {percent(blind.right)}"
    phrase = f"{percent(level.accuracy)} right of {quantity(level.n_graphs, 'graph')}{more}."
    yield Headline(phrase, Tones((shares[0], wrong, shares[1])), {"right": level.accuracy}, about)


def _statement(sweep: SweepResult) -> Iterator[Phrase]:
    yield (
        f"{quantity(len(sweep.levels), 'noise level')}, each tried with {sweep.settings.run.samples:,} noisy copies of "
        f"every graph on {about_graphs(sweep)}. More noise certifies more flips and costs accuracy; this report shows "
        "what is to be had for what. A certification with more samples reaches further at every level."
    )
    yield (
        "A level is ", Marked("Pareto-optimal"), " if no other one is at least as accurate, reaches at least as far on "
        "every axis, and is better in one of these. How far a level reaches on an axis is its mean certified radius: "
        "how many flips there alone are certified, the mean over the graphs that have sites there, 0 for a graph that "
        "is answered wrong or not at all."
    )  # fmt: skip


def _levels(sweep: SweepResult) -> Iterator[TableBlock | Text]:
    """The table of levels: of its columns, a terminal has those that fit."""
    rows, threat = [_cells(sweep, number) for number in sweep.order], sweep.settings.counted
    heads = list(rows[0])
    few = [head for head in heads if head != "less the best"]
    yield TableBlock(
        name="level-table", heads=heads, rows=[list(row.values()) for row in rows], head_column=False, left=2,
        only="page", key="levels", values=list(sweep_rows(sweep)),
    )  # fmt: skip
    title = f"{len(rows):,} noise levels on {about_graphs(sweep)}"
    # Only at a space does a cell break: after a comma, never in the name of a region.
    short = [[str(row[head]).replace(",", ", ") if head == "noise" else row[head] for head in few] for row in rows]
    yield TableBlock(title=title, heads=few, rows=short, left=2, only="terminal", more="sweep.csv has all")
    counted = ""
    if threat is not None:
        what = "Any k" if threat.by_radius else f"Under {threat.label}"
        attacks = "at most k flips, wherever they are" if threat.by_radius else "its attacks, which are all listed"
        counted = (
            f" {what}: how many graphs are right and certified, broken (an attack is known; only with own_samples) or "
            f"open under {attacks}."
        )
        without = [each.n_without for each in sweep.levels[0].by_size[-1:]]
        if not threat.by_radius and any(without):
            counted += f" {without[0]} of the graphs can not be attacked so, and are left out there."
    caption = (
        "Accuracy: answered right, abstentions count as wrong; in brackets an interval that holds with probability 95% "
        "over the choice of graphs. Less the best: the difference from the best level on the same graphs, with such an "
        f"interval; a tie if it holds 0.{counted}"
    )
    yield Text(phrase=caption, caption=True, only="page")


def _cells(sweep: SweepResult, number: int) -> dict[str, Phrase]:
    """The cells of a level in the table, by column."""
    level, own, threat = sweep.levels[number], sweep.standings[number], sweep.settings.run.threat
    found: dict[str, Phrase] = {"level": f"{number + 1}", "noise": noise_text(level.noise)}
    found["accuracy"] = _within(level.accuracy, *share_interval(level.n_right, level.n_graphs))
    if threat is not None:
        found[f"certified, {threat.label}"] = _within(own.value, own.low, own.high)
    apart = f"({_share_apart(own.least, own.most)}){', tie' * own.tie}"
    best = number == sweep.suggested
    found["less the best"] = "best" if best else (f"{_share_apart(own.by)} ", Marked(apart, "small"))
    found["abstains"] = f"{level.n_abstained / level.n_graphs:.1%}"
    for axis, mean in zip(level.noise.axes, level.mean_radii, strict=True):
        found[f"mean radius, {axis}"] = "–" if mean is None else f"{mean:.2f}"
    for each in level.by_size:
        for what, n in _size_counts(sweep, each):
            found[f"{each.label}: {what}"] = "–" if n is None else f"{n:,}"
    found |= {f"structure gain, {gain.attacks}": str(gain) for gain in level.gains[1:2]}
    by = sweep.beaten_by[number]
    verdict = ["Pareto-optimal" if by is None else f"dominated by level {by + 1}"]
    verdict += ["no better than a constant"] * level.constant
    verdict += [f"too few votes for {', '.join(level.short)}"] * bool(level.short)
    found["verdict"] = ", ".join(verdict)
    return found


def _within(value: float, low: float, high: float) -> Phrase:
    return (f"{value:.1%} ", Marked(f"({low:.0%}–{high:.0%})", "small"))


def _share_apart(*values: float) -> str:
    """A difference of two shares, or the two ends of an interval for it."""
    return " to ".join(dict.fromkeys(f"{value:+.1%}" for value in values)).replace("-", "−")


def _size_counts(sweep: SweepResult, found: SizeCounts) -> list[tuple[str, int | None]]:
    """The numbers of certified, broken and open graphs; without votes at attacked graphs nothing can be broken."""
    counts = [("certified", found.n_certified), ("broken", found.n_broken), ("open", found.n_open)]
    attacked = sweep.settings.run.evidence and sweep.settings.run.own_samples != 0
    return [(name, count) for name, count in counts if attacked or name != "broken"]


def about_graphs(sweep: SweepResult) -> str:
    """Which graphs the levels were tried on."""
    run = sweep.settings.run
    undivided = run.split == "all"
    part = "all graphs" if undivided else f"the {run.split} part"
    if run.limit is not None:
        which = "graphs of every class" if sweep.drawn else f"{'the' if undivided else 'its'} first graphs"
        part = f"{'' if undivided else f'{part}, '}{which} (--limit {run.limit:,})"
    without = f"; {sweep.n_unlabelled:,} without a known class are left out" if sweep.n_unlabelled else ""
    return f"{quantity(sweep.levels[0].n_graphs, 'graph')}: {part} of {run.data_title}{without}"


def _settings_shown(sweep: SweepResult) -> Iterator[tuple[str, str]]:
    run = sweep.settings.run
    yield "model", str(run.model) + (", the same for all levels" if sweep.one_model else ", made for each level")
    yield "data", about_graphs(sweep)
    yield "regions", str(run.regions or "every node pair")
    yield "grid", str(sweep.settings.grid)
    for key in ("samples", "selection_samples", "alpha", "family", "seed", "split_seed"):
        yield key, str(getattr(run, key))
    if run.evidence:
        yield "evidence", f"yes, with at most {run.own_samples:,} votes at attacked versions of a graph"
    if run.threat is not None:
        yield "threat", f"{run.threat}: {run.threat.label}"
    if run.plan != "fixed":
        yield "plan", run.plan


def _next(sweep: SweepResult) -> Iterator[str]:
    """The next steps after a sweep."""
    yield from filter(None, [tie_sentence(sweep), *_blind_sentences(sweep), advice(sweep)])
    if sweep.suggested is not None:
        yield f"  {next_command(sweep, sweep.suggested, os.path.relpath(sweep.folder / RUN))}"


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
    more = f" and {len(ties) - _MAX_TIES:,} more" if len(ties) > _MAX_TIES else ""
    others = f"{plural(len(ties), 'level')} {', '.join(str(number + 1) for number in ties[:_MAX_TIES])}{more}"
    apart = _share_apart(min(each.by for each in behind), max(each.by for each in behind))
    widest = _share_apart(min(each.least for each in behind), max(each.most for each in behind))
    return (
        f"{head} A tie: these graphs cannot tell it from {others}. They differ from it by {apart}, and the 95% "
        f"interval of that, {widest}{' at the widest' * (len(ties) > 1)}, holds 0."
    )


def _blind_sentences(sweep: SweepResult) -> Iterator[str]:
    """The accuracy of a blind model on the same graphs, and the gain of the level to certify next."""
    if sweep.blind is None or sweep.blind.missing:
        yield from () if sweep.blind is None else [f"No blind model: {sweep.blind.missing}"]
        return
    yield f"A blind model is right on {sweep.levels[0].gains[0].blind:.1%}: {sweep.blind.model}."
    if sweep.suggested is not None:
        gains = sweep.levels[sweep.suggested].gains
        for each in gains[1:2]:
            if each.gain is not None:
                yield f"Level {sweep.suggested + 1} gains {each} on it, against {each.attacks}."
        yield from filter(None, [worth_sentence(gains)])


def advice(sweep: SweepResult) -> str:
    """Which level to certify next, and why."""
    named = sweep.settings.run.threat is not None
    if sweep.suggested is None:
        lacks = f"has any {sweep.goal}" if named else "certifies a flip"
        then = "other levels, more --samples, or another --threat" if named else "other levels, or more --samples"
        return f"No level that is better than a constant answer {lacks}. Next: {then}."
    best = f"best level by {sweep.goal}" if named else "most accurate of the Pareto-optimal levels that certify a flip"
    return f"Next, for the {best}:"


def next_command(sweep: SweepResult, number: int, run_file: str) -> str:
    """The command that certifies a level on graphs that the sweep has not seen: the test part, or those of the user."""
    command = ["starcert", "certify", run_file, "--noise", noise_text(sweep.levels[number].noise)]
    command += ["--data", OTHER] if sweep.settings.run.split == "all" else ["--split", "test"]
    return shlex.join([*command, "--out", "certified"])


def notices(sweep: SweepResult) -> Iterator[Notice]:
    """The warnings that apply, the weightiest first."""
    levels, n, run = sweep.levels, sweep.levels[0].n_graphs, sweep.settings.run
    n_constant = sum(level.constant for level in levels)
    majority = f"always answering {sweep.class_names[sweep.majority]!r} is right on {levels[0].majority_share:.1%}"
    if n_constant == len(levels):
        text = f"At every level {majority} or more than the smoothed classifier. Try less noise, or training with it."
        yield Notice("No level is better than a constant answer", text)
    elif n_constant:
        text = (
            f"There, {majority} or more than the smoothed classifier. A constant answer is robust against everything, "
            "and worthless: however far their radii go, leave these levels."
        )
        yield Notice(f"No better than a constant answer: {n_constant:,} of {quantity(len(levels), 'level')}", text)
    elsewhere = (
        f"Certify the level on other graphs: name them where the command has {OTHER}. Have you no others? Sweep again "
        "with --split validation and another --out, and certify with --split test."
        if run.split == "all"
        else "Certify the level on the test part, which no sweep has seen."
    )
    text = (
        "The best of many levels looks better on the graphs it was chosen on than it is: the accuracies and radii here "
        f"are for choosing, not for reporting. {elsewhere} A certification draws fresh votes, whatever its seed."
    )
    yield Notice("A level that is chosen here must be certified on other graphs", text)
    if any(level.short for level in levels):
        yield _too_few_votes(levels, run.samples, by_p_a=run.evidence)
    yield from nothing_to_flip(dict(zip(levels[0].noise.axes, levels[0].n_without, strict=True)), n)
    if sweep.anchored:
        yield Notice("Anchored regions", f"{' '.join(sweep.anchored[:5])} {frozen('graph')}")
    if n < 50:
        text = f"One graph more or less is {1 / n:.1%} of accuracy. Small differences between levels mean nothing."
        yield Notice(f"Only {quantity(n, 'graph')}", text)


def _too_few_votes(levels: Sequence[SweepLevel], samples: int, *, by_p_a: bool) -> Notice:
    axes = [axis for axis in levels[0].noise.axes if any(axis in level.short for level in levels)]
    needed = [votes for level in levels for votes in level.short.values()]
    text = (
        f"Even if all {samples:,} votes agreed, no flip would be certified{' by p_A' * by_p_a} there, at the levels "
        "that the table says it of."
    )
    if None in needed:
        text += " At some of them no number of votes could."
    if enough := [votes for votes in needed if votes is not None]:
        text += f" Where votes could, {max(enough):,} would do, and a radius of 0 says nothing: take more --samples."
    return Notice(f"Too few votes for a single flip: {', '.join(axes)}", text)


def sweep_rows(sweep: SweepResult) -> Iterator[dict[str, object]]:
    """The results of each level, by column; None where there is nothing to say."""
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
            **_gains(level),
            "no_better_than_constant": level.constant,
            "abstained": level.n_abstained / level.n_graphs,
            "base_accuracy": level.n_base_right / level.n_graphs,
            **{f"graphs_without_{axis}": n for axis, n in zip(axes, level.n_without, strict=True)},
            **{f"mean_radius_{axis}": mean for axis, mean in zip(axes, level.mean_radii, strict=True)},
            **_by_size(sweep, level),
            "unbeaten": beater is None,
            "beaten_by": None if beater is None else beater + 1,
        }


def _by_goal(sweep: SweepResult, number: int) -> dict[str, object]:
    """The standing of a level: its share right and certified under the threat, if any, and that less the best."""
    threat, own = sweep.settings.run.threat, sweep.standings[number]
    goal = "accuracy" if threat is None else f"accuracy@{threat}"
    named = {} if threat is None else {goal: own.value, f"{goal}_low": own.low, f"{goal}_high": own.high}
    ends = {"": own.by, "_low": own.least, "_high": own.most}
    apart = {f"{goal}_less_best{end}": value for end, value in ends.items()}
    return {**named, **apart, "tie_with_best": own.tie, "best": number == sweep.suggested}


def _by_size(sweep: SweepResult, level: SweepLevel) -> dict[str, float | None]:
    """Shares of the graphs that are right and certified by p_A, by whichever argument, broken or open."""
    threat = sweep.settings.counted
    called = "any" if threat is None or threat.by_radius else "threat"
    return {
        f"{called}_{each.size}_{name}": each.share(count)
        for each in level.by_size
        for name, count in (("by_p_A", each.n_by_p_A), *_size_counts(sweep, each))
        if each.n_graphs
    }


def _gains(level: SweepLevel) -> Mapping[str, object]:
    """The accuracy of a blind model on the same graphs, and what the level gains on it, with an interval."""
    if not level.gains:
        return {}
    return {"blind_accuracy": level.gains[0].blind} | {
        f"structure_gain_{each.attacks.replace(' ', '_')}{end}": value
        for each in level.gains
        for end, value in (("", each.gain), ("_low", each.low), ("_high", each.high))
    }
