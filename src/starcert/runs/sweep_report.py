"""The report of a sweep, with the levels over the grid and one by one, and its table `sweep.csv`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from starcert.claims.gains import share_interval
from starcert.report.blocks import KeyFigure, Marked, Phrase, Report, Section, Shade, TableBlock, Text
from starcert.runs.grid import noise_text
from starcert.runs.run_file import RUN
from starcert.runs.sweep_levels import LevelReach, SweepLevel
from starcert.runs.sweep_result import (
    SweepResult,
    about_graphs,
    advice,
    blind_sentences,
    mean_shown,
    next_command,
    notices,
    share_apart,
    size_counts,
    tie_sentence,
    verdict,
)
from starcert.system.files import versions


def sweep_report(sweep: SweepResult) -> Report:
    """A sweep as blocks: a page has maps of it, a terminal has the table of levels."""
    run, first = sweep.settings.run, sweep.levels[0]
    majority = sweep.class_names[sweep.majority]
    return Report(
        title=f"Choosing the noise: {run.data_title}",
        statement=list(_statement(sweep)),
        numbers=[
            KeyFigure(f"{len(sweep.levels):,}", "noise levels", "number-levels"),
            KeyFigure(f"{first.n_graphs:,}", "graphs", "number-graphs"),
            KeyFigure(f"{first.majority_share:.1%}", "majority-class share", "number-majority", majority),
            *(KeyFigure(f"{each[0].blind:.1%}", "right, blind model", "number-blind") for each in sweep.gains[:1]),
            KeyFigure(
                f"{len(sweep.worthwhile):,}",
                "Pareto-optimal levels that are better than a constant answer",
                "number-unbeaten",
            ),
        ],
        notices=list(notices(sweep)),
        sections=[
            *_maps(sweep),
            Section("levels", "Level by level", list(_levels(sweep))),
            Section("next", "What to do next", [Text(phrase=each) for each in _next(sweep)]),
        ],
        origin=[{"Settings": list(_settings_shown(sweep))}, {"Provenance": list(versions().items())}],
        skip=("levels", "the levels"),
        needs_script="",
        values={
            "class_names": list(sweep.class_names),
            "goal": sweep.goal,
            "suggested": None if sweep.suggested is None else sweep.suggested + 1,
            "ties": [] if sweep.suggested is None else [number + 1 for number in sweep.ties],
            "next": None if sweep.suggested is None else next_command(sweep, sweep.suggested, str(sweep.folder / RUN)),
        },
    )


def _statement(sweep: SweepResult) -> Iterator[Phrase]:
    levels = f"{len(sweep.levels):,} noise level{'s' * (len(sweep.levels) != 1)}"
    yield (
        f"{levels}, each tried with {sweep.settings.run.samples:,} noisy copies of every graph on "
        f"{about_graphs(sweep)}. More noise certifies more flips and costs accuracy; this report shows what is "
        "to be had for what. A certification with more samples reaches further at every level."
    )
    both = (
        " Radii count what is certified by p_A, how often the class won, or by evidence, where the flips of the votes "
        "fell; the table has those by p_A alone beside them."
    )
    yield (
        "A level is ", Marked("Pareto-optimal"), " if no other one is at least as accurate, reaches at least as far on "
        "every axis, and is better in one of these. How far a level reaches on an axis is its mean certified radius: "
        "how many flips there alone are certified, the mean over the graphs that have sites there, 0 for a graph that "
        "is answered wrong or not at all." + both * (sweep.levels[0].by_counts is not None),
    )  # fmt: skip


def _levels(sweep: SweepResult) -> Iterator[TableBlock | Text]:
    """The table of levels: of its columns, a terminal has those that fit."""
    rows, threat = [_cells(sweep, number) for number in sweep.order], sweep.settings.counted
    heads = list(rows[0])
    alone = tuple(head for head in heads if head.startswith("by p_A alone"))
    few = [head for head in heads if head not in ("less the best", "most frequent answer", *alone)]
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
        f"interval; a tie if it holds 0.{counted} Most frequent answer: its share among the answers that are given."
    )
    yield Text(phrase=caption, caption=True, only="page")


def _cells(sweep: SweepResult, number: int) -> dict[str, Phrase]:
    """The cells of a level in the table, by column."""
    level, own, threat = sweep.levels[number], sweep.standings[number], sweep.settings.run.threat
    axes, by_counts = level.noise.axes, () if level.by_counts is None else level.by_counts.mean_radii
    found: dict[str, Phrase] = {"level": f"{number + 1}", "noise": noise_text(level.noise)}
    found["accuracy"] = _within(level.accuracy, *share_interval(level.n_right, level.n_graphs))
    if threat is not None:
        found[f"certified, {threat.label}"] = _within(own.value, own.low, own.high)
    best = number == sweep.suggested
    found["less the best"] = "best" if best else (
        f"{share_apart(own.by)} ", Marked(f"({share_apart(own.least, own.most)}){', tie' * own.tie}", "small"),
    )  # fmt: skip
    found["abstains"] = f"{level.n_abstained / level.n_graphs:.1%}"
    found |= {f"mean radius, {axis}": mean_shown(mean) for axis, mean in zip(axes, level.mean_radii, strict=True)}
    found |= {f"by p_A alone, {axis}": mean_shown(mean) for axis, mean in zip(axes, by_counts, strict=False)}
    for each in level.by_size:
        for what, n in size_counts(sweep, each):
            found[f"{each.label}: {what}"] = "–" if n is None else f"{n:,}"
    for gain in sweep.gains[number][1:2] if sweep.gains else ():
        found[f"structure gain, {gain.attacks}"] = str(gain)
    answer = "none" if level.answer is None else sweep.class_names[level.answer]
    found["most frequent answer"] = (Marked(answer, "bdi"), f" {level.answer_share:.0%}")
    found["verdict"] = verdict(sweep, number)
    return found


def _within(value: float, low: float, high: float) -> Phrase:
    return (f"{value:.1%} ", Marked(f"({low:.0%}–{high:.0%})", "small"))


def _next(sweep: SweepResult) -> Iterator[str]:
    """The next steps after a sweep."""
    yield from filter(None, [tie_sentence(sweep), *blind_sentences(sweep), advice(sweep)])
    if sweep.suggested is not None:
        yield f"  {next_command(sweep, sweep.suggested, os.path.relpath(sweep.folder / RUN))}"


def _maps(sweep: SweepResult) -> Iterator[Section]:
    """On a page, where a grid varies two things: accuracy and how far levels reach, a map of each over the grid."""
    factors, levels = sweep.settings.grid.factors, sweep.levels
    varied = [place for place, factor in enumerate(factors) if len(factor.values) > 1]
    if len(varied) != 2:
        return
    up, across = (factors[place] for place in varied)
    measures: dict[str, list[float | None]] = {"accuracy": [level.accuracy for level in levels]}
    if sweep.settings.run.threat is not None:
        measures[sweep.goal] = [each.value for each in sweep.standings]
    for place, axis in enumerate(levels[0].noise.axes):
        measures[f"mean certified radius, {axis}"] = [level.mean_radii[place] for level in levels]
    blocks: list[TableBlock | Text] = []
    for name, values in measures.items():
        most = 1.0 if "accuracy" in name else max((value or 0.0 for value in values), default=0.0) or 1.0
        texts = [f"{value:.0%}" if "accuracy" in name and value is not None else mean_shown(value) for value in values]
        marks = [
            " ✗" if level.constant else " ★" if by is None else ""
            for level, by in zip(levels, sweep.beaten_by, strict=True)
        ]
        cells: list[Phrase] = [
            (Shade(text + mark, (value or 0.0) / most),) for text, mark, value in zip(texts, marks, values, strict=True)
        ]
        width = len(across.values)
        rows = [(text, *cells[k * width : (k + 1) * width]) for k, text in enumerate(up.texts)]
        heads = (f"{name}: {up.name} ↓  {across.name} →", *across.texts)
        blocks.append(TableBlock(heads=heads, rows=rows, shaded=True))
    caption = (
        f"★ Pareto-optimal. ✗ no better than a constant answer: accuracy at most the majority-class share, "
        f"{levels[0].majority_share:.1%}."
    )
    yield Section("maps", "Over the grid", [*blocks, Text(phrase=caption, caption=True)], "page")


def _settings_shown(sweep: SweepResult) -> Iterator[tuple[str, str]]:
    run = sweep.settings.run
    yield "model", str(run.model) + (", the same for all levels" if sweep.one_model else ", made for each level")
    yield "data", about_graphs(sweep)
    yield "regions", str(run.regions or "every node pair")
    yield "grid", str(sweep.settings.grid)
    fixed = sweep.settings.grid.fixed(sweep.levels[0].noise)
    if fixed:
        yield "noise at all levels", ", ".join(f"{name}={law}" for name, law in fixed.items())
    for key in ("samples", "selection_samples", "alpha", "family", "seed", "split_seed"):
        yield key, str(getattr(run, key))
    if run.evidence:
        yield "evidence", f"yes, with at most {run.own_samples:,} votes at attacked versions of a graph"
    if run.threat is not None:
        yield "threat", f"{run.threat}: {run.threat.label}"
    if run.plan != "fixed":
        yield "plan", run.plan


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
            **_gains(sweep, number),
            "no_better_than_constant": level.constant,
            "abstained": level.n_abstained / level.n_graphs,
            "most_frequent_answer": None if level.answer is None else sweep.class_names[level.answer],
            "most_frequent_answer_share": level.answer_share,
            "base_accuracy": level.n_base_right / level.n_graphs,
            **{f"graphs_without_{axis}": n for axis, n in zip(axes, level.n_without, strict=True)},
            **_reaches(level, LevelReach(level.mean_radii, level.shares)),
            **({} if level.by_counts is None else _reaches(level, level.by_counts, "by_p_A_", "_by_p_A")),
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


def _reaches(level: SweepLevel, reach: LevelReach, before: str = "", after: str = "") -> dict[str, float | None]:
    """The reach of a level, by axis and step; `before` and `after` mark columns that are about p_A alone."""
    axes = level.noise.axes
    return {f"mean_radius_{before}{axis}": mean for axis, mean in zip(axes, reach.mean_radii, strict=True)} | {
        f"right_at_{axis}_{step}{after}": share
        for axis, shares in zip(axes, reach.shares, strict=True)
        for step, share in zip(level.steps, shares, strict=True)
    }


def _by_size(sweep: SweepResult, level: SweepLevel) -> dict[str, float | None]:
    """Shares of the graphs that are right and certified by p_A, by whichever argument, broken or open."""
    threat = sweep.settings.counted
    called = "any" if threat is None or threat.by_radius else "threat"
    return {
        f"{called}_{each.size}_{name}": each.share(count)
        for each in level.by_size
        for name, count in (("by_p_A", each.n_by_p_A), *size_counts(sweep, each))
        if each.n_graphs
    }


def _gains(sweep: SweepResult, number: int) -> Mapping[str, object]:
    """The accuracy of a blind model on the same graphs, and what the level gains on it, with an interval."""
    if not sweep.gains:
        return {}
    gains = sweep.gains[number]
    return {"blind_accuracy": gains[0].blind} | {
        f"structure_gain_{each.attacks.replace(' ', '_')}{end}": value
        for each in gains
        for end, value in (("", each.gain), ("_low", each.low), ("_high", each.high))
    }
