"""The page of a sweep: the grid as maps, the trade-off front, the advice, and every level in a table, in one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from starcert.pages import document
from starcert.pages.document import Notice
from starcert.system.files import versions

__all__ = ["ShownLevel", "SweepPage", "write_sweep_page"]


@dataclass(frozen=True, kw_only=True)
class ShownLevel:
    """One noise level, as the page shows it."""

    noise: str  # as `--noise` takes it
    at: tuple[int, ...]  # which value of each factor of the grid it has
    accuracy: float  # the share of graphs answered right
    radii: tuple[float, ...]  # the mean certified radius on each axis
    volume: float | None  # how many radii are certified, the mean over all graphs; None if that was not counted
    score: int | None  # how many radii hold for more than half of the graphs; None if that was not counted
    goal: float  # its value by the goal
    unbeaten: bool  # whether no other level beats it
    constant: bool  # whether a constant answer is as accurate
    verdict: str  # what there is to say about it, in a few words
    standing: str  # how it compares with the best level by the goal, in words
    command: str  # what certifies it
    cells: tuple[str, ...]  # its figures in the table, in the order of `SweepPage.columns`
    answer: str  # the class that is answered most often
    answer_share: str  # how often, in percent


@dataclass(frozen=True, kw_only=True)
class SweepPage:
    """What the page of a sweep says."""

    title: str  # the heading
    texts: dict[str, object]  # sentences and numbers by their names in the template
    numbers: Sequence[document.KeyFigure]  # the key figures
    notices: Sequence[Notice]  # the warnings
    settings: Sequence[tuple[str, str]]  # how the sweep was made, by name
    columns: Sequence[str]  # the heads of the columns of figures
    order: Sequence[int]  # the levels as the table lists them
    factors: Sequence[tuple[str, tuple[str, ...]]]  # what the grid varies, and the values of each
    axes: tuple[str, ...]  # the axes of the noise
    majority: float  # the accuracy of the best constant answer
    goal: tuple[str, bool] | None  # the goal in words, and whether it is a share; None without a goal
    chosen: int  # the level that is shown first
    levels: Sequence[ShownLevel]  # every level, in the order of the grid


def write_sweep_page(path: str | os.PathLike[str], page: SweepPage) -> None:
    """Writes a sweep as one self-contained HTML page; it appears under its name only when it is complete."""
    file = document.target(path)
    said = {
        **page.texts,
        "n_levels": len(page.levels),
        "numbers": page.numbers,
        "notices": page.notices,
        "heads": ["level", "noise", *page.columns, "most frequent answer", "verdict"],
        "rows": [
            {"number": number, "kind": _kind(page.levels[number]), **asdict(page.levels[number])}
            for number in page.order
        ],
        "origin": [{"Settings": page.settings}, {"Provenance": list(versions().items())}],
    }
    in_table_only = ("cells", "answer", "answer_share")
    levels = [{key: value for key, value in asdict(each).items() if key not in in_table_only} for each in page.levels]
    data = {
        "factors": [{"name": name, "values": list(values)} for name, values in page.factors],
        "axes": page.axes,
        "majority": page.majority,
        "goal": None if page.goal is None else {"name": page.goal[0], "share": page.goal[1]},
        "chosen": page.chosen,
        "levels": levels,
    }
    html = document.assemble(
        "pages/templates/sweep.html",
        said,
        title=page.title,
        style=document.resources("starcert.pages", ["page.css", "sweep_page.css"]),
        script=document.resources("starcert.pages", ["text.js", "charts.js", "sweep_plots.js", "sweep_page.js"]),
        data=data,
    )
    document.write_page(file, html)


def _kind(level: ShownLevel) -> str:
    if level.constant:
        return "constant"
    return "unbeaten" if level.unbeaten else "beaten"
