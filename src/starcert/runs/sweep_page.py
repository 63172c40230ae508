"""The page of a sweep: the grid as maps, the trade-off front, and every level in a table, in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

from starcert.report import document
from starcert.runs.grid import noise_text
from starcert.runs.output_folder import RUN
from starcert.runs.sweep_result import SweepResult, about_graphs, next_command, notices, verdict
from starcert.system.provenance import versions

__all__ = ["write_sweep_page"]


def write_sweep_page(path: str | os.PathLike[str], sweep: SweepResult) -> None:
    """Writes a sweep as one self-contained HTML page; it appears under its name only when it is complete."""
    file = document.target(path)
    plotly = document.plotly_script()
    run = sweep.settings.run
    said = {
        "n_levels": len(sweep.levels),
        "samples": run.samples,
        "about_graphs": about_graphs(sweep),
        "numbers": list(_numbers(sweep)),
        "notices": notices(sweep),
        "heads": _heads(sweep),
        "rows": [_row(sweep, number) for number in sweep.order],
        "origin": [{"Settings": list(_settings(sweep))}, {"Provenance": list(versions().items())}],
    }
    data = run.data if isinstance(run.data, str) else run.data.name
    html = document.assemble(
        "runs/sweep_page.html",
        said,
        title=f"Choosing the noise: {data}",
        style=document.resources("starcert.report", ["page.css"])
        + document.resources("starcert.runs", ["sweep_page.css"]),
        script=document.resources("starcert.report", ["text.js", "charts.js"])
        + document.resources("starcert.runs", ["sweep_plots.js", "sweep_page.js"]),
        data=_data(sweep),
        plotly=plotly,
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


def _heads(sweep: SweepResult) -> list[str]:
    axes = [f"mean radius, {axis}" for axis in sweep.levels[0].noise.axes]
    return ["level", "noise", "accuracy", "abstains", *axes, "volume", "score", "most frequent answer", "verdict"]


def _row(sweep: SweepResult, number: int) -> dict[str, object]:
    """What the table says of a level."""
    level = sweep.levels[number]
    return {
        "number": number,
        "kind": "constant" if level.constant else "unbeaten" if sweep.beaten_by[number] is None else "beaten",
        "noise": noise_text(level.noise),
        "cells": [
            f"{level.accuracy:.1%}",
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in level.mean_radii),
            "" if level.volume is None else f"{level.volume:,.1f}",
            "" if level.score is None else f"{level.score:,}",
        ],
        "answer": "none" if level.answer is None else sweep.class_names[level.answer],
        "answer_share": f"{level.answer_share:.0%}",
        "verdict": verdict(sweep, number),
    }


def _data(sweep: SweepResult) -> dict[str, object]:
    factors = sweep.settings.grid.factors
    places = _places([len(factor.values) for factor in factors])
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


def _places(sizes: list[int]) -> Iterator[list[int]]:
    """Which value of each factor every level has, in the order of the grid."""
    return (list(at) for at in product(*map(range, sizes)))
