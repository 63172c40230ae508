"""The page of a sweep: the grid as maps, the trade-off front, the advice, and every level in a table, in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

from starcert.pages import document
from starcert.pages.intervals import share_interval
from starcert.runs.grid import noise_text
from starcert.runs.output_folder import RUN
from starcert.runs.sweep_goal import Goal, Standing
from starcert.runs.sweep_result import (
    SweepResult,
    about_graphs,
    advice,
    flip_counts,
    next_command,
    notices,
    tie_sentence,
    verdict,
)
from starcert.system.provenance import versions

__all__ = ["write_sweep_page"]


def write_sweep_page(path: str | os.PathLike[str], sweep: SweepResult) -> None:
    """Writes a sweep as one self-contained HTML page; it appears under its name only when it is complete."""
    file = document.target(path)
    run = sweep.settings.run
    said = {
        "n_levels": len(sweep.levels),
        "samples": run.samples,
        "evidence": run.evidence,
        "any_flips": sweep.settings.most_flips,
        "about_graphs": about_graphs(sweep),
        "advice": advice(sweep),
        "tie": tie_sentence(sweep),
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
        style=document.resources("starcert.pages", ["page.css"])
        + document.resources("starcert.runs", ["sweep_page.css"]),
        script=document.resources("starcert.pages", ["text.js", "charts.js"])
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
    if run.threat is not None:
        yield "threat", str(run.threat)
    if run.plan != "fixed":
        yield "plan", run.plan


def _heads(sweep: SweepResult) -> list[str]:
    axes = [f"mean radius, {axis}" for axis in sweep.levels[0].noise.axes]
    if sweep.settings.run.evidence:
        axes += [f"by p_A alone, {axis}" for axis in sweep.levels[0].noise.axes]
    for each in sweep.levels[0].any_flips:
        axes += [f"any {each.flips:,}: {what}" for what, _ in flip_counts(sweep, each)]
    goal = [] if sweep.settings.goal is None else [str(sweep.goal).replace("@", " @ ").replace(",", ", ")]
    found = ["accuracy", *goal, "less the best", "abstains"]
    return ["level", "noise", *found, *axes, "volume", "score", "most frequent answer", "verdict"]


def _row(sweep: SweepResult, number: int) -> dict[str, object]:
    """What the table says of a level."""
    level, goal, own = sweep.levels[number], sweep.goal, sweep.standings[number]
    return {
        "number": number,
        "kind": "constant" if level.constant else "unbeaten" if sweep.beaten_by[number] is None else "beaten",
        "noise": noise_text(level.noise),
        "cells": [
            f"{level.accuracy:.1%} ({'–'.join(f'{end:.0%}' for end in share_interval(level.n_right, level.n_graphs))})",
            *([] if sweep.settings.goal is None else [f"{goal.show(own.value)} ({goal.within(own.low, own.high)})"]),
            "best" if number == sweep.suggested else _less(goal, own),
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in level.mean_radii),
            *(f"{mean:.2f}" for mean in (() if level.by_counts is None else level.by_counts.mean_radii)),
            *(f"{n:,}" for each in level.any_flips for _, n in flip_counts(sweep, each)),
            "" if level.volume is None else f"{level.volume:,.1f}",
            "" if level.score is None else f"{level.score:,}",
        ],
        "answer": "none" if level.answer is None else sweep.class_names[level.answer],
        "answer_share": f"{level.answer_share:.0%}",
        "verdict": verdict(sweep, number),
    }


def _standing(sweep: SweepResult, number: int) -> str:
    """How a level stands by the goal, in words; "" where that is its accuracy, which is told anyway."""
    goal, own = sweep.goal, sweep.standings[number]
    found = "" if sweep.settings.goal is None else f"{goal.words} {goal.show(own.value)}; "
    if number == sweep.suggested:
        return f"{found}the best"
    return f"{found}less the best by {goal.words}: {_less(goal, own)}"


def _less(goal: Goal, own: Standing) -> str:
    """By how much a level differs from the best one, and whether that is a tie."""
    apart = f"{goal.apart(own.by)} ({goal.apart(own.least, own.most)})"
    return f"{apart}, tie" if own.tie else apart


def _data(sweep: SweepResult) -> dict[str, object]:
    factors = sweep.settings.grid.factors
    # Which value of each factor every level has, in the order of the grid.
    places = product(*(range(len(factor.values)) for factor in factors))
    first, goal = sweep.levels[0], sweep.settings.goal
    return {
        "factors": [{"name": factor.name, "values": list(factor.texts)} for factor in factors],
        "axes": list(first.noise.axes),
        "majority": first.majority_share,
        "goal": None if goal is None else {"name": goal.words, "share": goal.kind == "accuracy"},
        "chosen": sweep.unbeaten[0] if sweep.suggested is None else sweep.suggested,
        "levels": [
            {
                "noise": noise_text(level.noise),
                "at": at,
                "accuracy": level.accuracy,
                "radii": list(level.mean_radii),
                "volume": level.volume,
                "score": level.score,
                "goal": sweep.standings[number].value,
                "unbeaten": sweep.beaten_by[number] is None,
                "constant": level.constant,
                "verdict": verdict(sweep, number),
                "standing": _standing(sweep, number),
                "command": next_command(sweep, number, f"{sweep.folder.name}/{RUN}"),
            }
            for number, (level, at) in enumerate(zip(sweep.levels, places, strict=True))
        ],
    }
