"""The page of a sweep: the grid as maps, the trade-off front, and every level in a table, in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
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
    parts = {
        "statement": _statement(sweep),
        "numbers": "".join(_numbers(sweep)),
        "notices": "".join(document.notice_html(notice.head, notice.text) for notice in notices(sweep)),
        "table": _table(sweep),
        "settings": document.table_html(_settings(sweep)),
        "provenance": document.table_html(versions().items()),
    }
    data = run.data if isinstance(run.data, str) else run.data.name
    html = document.assemble(
        document.resources("starcert.runs", ["sweep_page.html"]),
        parts,
        title=f"Choosing the noise: {data}",
        style=document.resources("starcert.report", ["page.css"])
        + document.resources("starcert.runs", ["sweep_page.css"]),
        script=document.resources("starcert.report", ["text.js", "charts.js"])
        + document.resources("starcert.runs", ["sweep_plots.js", "sweep_page.js"]),
        data=_data(sweep),
        plotly=plotly,
    )
    document.write_page(file, html)


def _statement(sweep: SweepResult) -> str:
    n = len(sweep.levels)
    return (
        f"<p>{n:,} noise level{'s' * (n != 1)}, each tried with {sweep.settings.run.samples:,} noisy copies of every "
        f"graph on {escape(about_graphs(sweep))}. More noise certifies more flips and costs accuracy; this page shows "
        "what is to be had for what. A certification with more samples reaches further at every level.</p>"
        "<p>A level is <em>unbeaten</em> if no other one is at least as accurate, reaches at least as far on every "
        "axis, and is better in one of these. How far a level reaches on an axis is its mean certified radius: how "
        "many flips there alone are certified, the mean over the graphs that have sites there, 0 for a graph that is "
        "answered wrong or not at all.</p>"
    )


def _numbers(sweep: SweepResult) -> Iterator[str]:
    level = sweep.levels[0]
    name = escape(sweep.class_names[sweep.majority])
    yield document.number_html(f"{len(sweep.levels):,}", "noise levels", "number-levels")
    yield document.number_html(f"{level.n_graphs:,}", "graphs", "number-graphs")
    share = f"{level.majority_share:.1%}"
    yield document.number_html(share, f"majority-class share (<bdi>{name}</bdi>)", "number-majority")
    unbeaten = f"{len(sweep.worthwhile):,}"
    yield document.number_html(unbeaten, "unbeaten levels that are better than a constant answer", "number-unbeaten")


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


def _table(sweep: SweepResult) -> str:
    axes = sweep.levels[0].noise.axes
    heads = ["level", "noise", "accuracy", "abstains", *(f"mean radius, {axis}" for axis in axes)]
    heads += ["volume", "score", "most frequent answer", "verdict"]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(_row(sweep, number) for number in sweep.order)
    return f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"


def _row(sweep: SweepResult, number: int) -> str:
    level = sweep.levels[number]
    answer = "none" if level.answer is None else sweep.class_names[level.answer]
    cells = [
        f"{level.accuracy:.1%}",
        f"{level.n_abstained / level.n_graphs:.1%}",
        *(f"{mean:.2f}" for mean in level.mean_radii),
        "" if level.volume is None else f"{level.volume:,.1f}",
        "" if level.score is None else f"{level.score:,}",
    ]
    kind = "constant" if level.constant else "unbeaten" if sweep.beaten_by[number] is None else "beaten"
    return (
        f'<tr data-level="{number}" class="{kind}"><td>{number + 1}</td>'
        f'<td class="name"><button type="button">{escape(noise_text(level.noise))}</button></td>'
        + "".join(f'<td class="figure">{cell}</td>' for cell in cells)
        + f"<td><bdi>{escape(answer)}</bdi> {level.answer_share:.0%}</td><td>{escape(verdict(sweep, number))}</td></tr>"
    )


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
