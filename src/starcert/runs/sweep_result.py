"""A sweep: its settings, its levels, which are worth a certification, and what to know before choosing one.

Its page shows the grid as maps, the trade-off front, and every level in a table, in one file.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path

from starcert.graphs.content import digest
from starcert.noise import Noise
from starcert.report import document
from starcert.report.findings import Notice, nothing_to_flip, share_interval
from starcert.runs.grid import Grid, noise_text
from starcert.runs.output_folder import RUN
from starcert.runs.settings import RunSettings
from starcert.runs.sweep_levels import SweepLevel, beaten_by
from starcert.system.provenance import versions

__all__ = [
    "OTHER",
    "SweepResult",
    "SweepSettings",
    "about_graphs",
    "next_command",
    "notices",
    "sweep_rows",
    "verdict",
    "write_sweep_page",
]

MOST_NAMED = 5
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
    """

    run: RunSettings
    grid: Grid
    own_noise: Noise
    certifying: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def levels(self) -> tuple[Noise, ...]:
        """The noise levels."""
        return self.grid.levels(self.run.noise)

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
    def suggested(self) -> int | None:
        """The most accurate of the worthwhile levels that certify a flip at all; None if there is none."""
        return next((number for number in self.worthwhile if any(self.levels[number].mean_radii)), None)


def sweep_rows(sweep: SweepResult) -> Iterator[dict[str, object]]:
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
            **_by_counts(level),
            "volume": level.volume,
            "score": level.score,
            "unbeaten": beater is None,
            "beaten_by": None if beater is None else beater + 1,
        }


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


def about_graphs(sweep: SweepResult) -> str:
    """Which graphs the levels were tried on."""
    run, n = sweep.settings.run, sweep.levels[0].n_graphs
    data = run.data if isinstance(run.data, str) else run.data.name
    if run.split == "all":
        which = "graphs of every class" if sweep.drawn else "the first graphs"
        part = "all graphs" if run.limit is None else f"{which} (--limit {run.limit:,})"
    else:
        which = "graphs of every class" if sweep.drawn else "its first graphs"
        part = f"the {run.split} part" + ("" if run.limit is None else f", {which} (--limit {run.limit:,})")
    without = f"; {sweep.n_unlabelled:,} without a known class are left out" if sweep.n_unlabelled else ""
    return f"{n:,} graph{'s' * (n != 1)}: {part} of {data}{without}"


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


def write_sweep_page(path: str | os.PathLike[str], sweep: SweepResult) -> None:
    """Writes a sweep as one self-contained HTML page; it appears under its name only when it is complete."""
    file = document.target(path)
    run = sweep.settings.run
    said = {
        "n_levels": len(sweep.levels),
        "samples": run.samples,
        "evidence": run.evidence,
        "about_graphs": about_graphs(sweep),
        "numbers": list(_numbers(sweep)),
        "notices": notices(sweep),
        "heads": _heads(sweep),
        "rows": [_row(sweep, number) for number in sweep.order],
        "origin": [{"Settings": list(_settings(sweep))}, {"Provenance": list(versions().items())}],
    }
    html = document.assemble(
        "runs/sweep_page.html",
        said,
        title=f"Choosing the noise: {run.data_title}",
        style=document.resources("starcert.report", ["page.css"])
        + document.resources("starcert.runs", ["sweep_page.css"]),
        script=document.resources("starcert.report", ["text.js", "charts.js"])
        + document.resources("starcert.runs", ["sweep_plots.js", "sweep_page.js"]),
        data=_data(sweep),
    )
    document.write_page(file, html)


def _numbers(sweep: SweepResult) -> Iterator[document.KeyFigure]:
    level = sweep.levels[0]
    yield document.KeyFigure(f"{len(sweep.levels):,}", "noise levels", "number-levels")
    yield document.KeyFigure(f"{level.n_graphs:,}", "graphs", "number-graphs")
    share, name = f"{level.majority_share:.1%}", sweep.class_names[sweep.majority]
    yield document.KeyFigure(share, "majority-class share", "number-majority", name)
    unbeaten = f"{len(sweep.worthwhile):,}"
    yield document.KeyFigure(unbeaten, "unbeaten levels that are better than a constant answer", "number-unbeaten")


def _settings(sweep: SweepResult) -> Iterator[tuple[str, str]]:
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
    if run.plan != "fixed":
        yield "plan", run.plan


def _heads(sweep: SweepResult) -> list[str]:
    axes = [f"mean radius, {axis}" for axis in sweep.levels[0].noise.axes]
    if sweep.settings.run.evidence:
        axes += [f"by p_A alone, {axis}" for axis in sweep.levels[0].noise.axes]
    return ["level", "noise", "accuracy", "abstains", *axes, "volume", "score", "most frequent answer", "verdict"]


def _row(sweep: SweepResult, number: int) -> dict[str, object]:
    """What the table says of a level."""
    level = sweep.levels[number]
    return {
        "number": number,
        "kind": "constant" if level.constant else "unbeaten" if sweep.beaten_by[number] is None else "beaten",
        "noise": noise_text(level.noise),
        "cells": [
            f"{level.accuracy:.1%} ({'–'.join(f'{end:.0%}' for end in share_interval(level.n_right, level.n_graphs))})",
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in level.mean_radii),
            *(f"{mean:.2f}" for mean in (() if level.by_counts is None else level.by_counts.mean_radii)),
            "" if level.volume is None else f"{level.volume:,.1f}",
            "" if level.score is None else f"{level.score:,}",
        ],
        "answer": "none" if level.answer is None else sweep.class_names[level.answer],
        "answer_share": f"{level.answer_share:.0%}",
        "verdict": verdict(sweep, number),
    }


def _data(sweep: SweepResult) -> dict[str, object]:
    factors = sweep.settings.grid.factors
    # Which value of each factor every level has, in the order of the grid.
    places = product(*(range(len(factor.values)) for factor in factors))
    first = sweep.levels[0]
    return {
        "factors": [{"name": factor.name, "values": list(factor.texts)} for factor in factors],
        "axes": list(first.noise.axes),
        "majority": first.majority_share,
        "chosen": sweep.unbeaten[0] if sweep.suggested is None else sweep.suggested,
        "levels": [
            {
                "noise": noise_text(level.noise),
                "at": at,
                "accuracy": level.accuracy,
                "radii": list(level.mean_radii),
                "volume": level.volume,
                "score": level.score,
                "unbeaten": sweep.beaten_by[number] is None,
                "constant": level.constant,
                "verdict": verdict(sweep, number),
                "command": next_command(sweep, number, f"{sweep.folder.name}/{RUN}"),
            }
            for number, (level, at) in enumerate(zip(sweep.levels, places, strict=True))
        ],
    }
