"""The table of a sweep, `sweep.csv`: what is known about each level, by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from starcert.claims.paired import share_interval
from starcert.runs.grid import noise_text
from starcert.runs.sweep_levels import LevelReach, SweepLevel
from starcert.runs.sweep_result import SweepResult, size_counts


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
