"""The table of a sweep: one line for each noise level, for spreadsheets and data frames."""

from __future__ import annotations

from collections.abc import Iterator

from starcert.runs.grid import noise_text
from starcert.sweeps.result import Sweep
from starcert.system.tables import csv_line

__all__ = ["lines", "rows"]


def rows(sweep: Sweep) -> Iterator[dict[str, object]]:
    """What is known about each level, by column; None where there is nothing to say."""
    for number, level in enumerate(sweep.levels):
        axes = level.noise.axes
        laws = [level.noise[region] for region in level.noise.regions]
        chances = [chance for law in laws for chance in law.numbers.values()]
        beater = sweep.beaten_by[number]
        yield {
            "level": number + 1,
            "noise": noise_text(level.noise),
            **{f"p_{axis}": chance for axis, chance in zip(axes, chances, strict=True)},
            "graphs": level.n_graphs,
            "samples": sweep.settings.run.samples,
            "accuracy": level.accuracy,
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
            "volume": level.volume,
            "score": level.score,
            "unbeaten": beater is None,
            "beaten_by": None if beater is None else beater + 1,
        }


def lines(sweep: Sweep) -> Iterator[str]:
    """The rows as CSV, line by line; what is not known is empty."""
    for number, row in enumerate(rows(sweep)):
        if number == 0:
            yield csv_line(row)
        yield csv_line(row.values())
