"""The study of molecules: its figures, its tables, and the whole of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.display.canvas import COLUMN, MAJORITY, PAGE, colour_of, new_figure
from starcert.display.maps import NumberGrid
from starcert.experiments.checks import published
from starcert.experiments.mutag_checks import SHOWN_RADIUS, certified_at, checks, clearly_better, summary
from starcert.experiments.mutag_votes import BOX, MODELS, MutagResults, MutagSettings, compute, settings
from starcert.experiments.outcome import Outcome, Picture, Table
from starcert.experiments.parts import StudyParts
from starcert.metrics import accuracy, certified_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TITLE", "MutagSettings", "pictures", "run", "settings", "tables"]

CERTIFICATES = ("anisotropic", "sparsity_aware")
TITLES = {"anisotropic": "anisotropic (anchored)", "sparsity_aware": "sparsity-aware"}


def pictures(found: MutagResults) -> list[Picture]:
    """Every figure."""
    about = (
        "Share of right molecules that are certified, by deletions and additions. Left: anisotropic, anchored at the "
        "clean molecule. Right: sparsity-aware."
    )
    return [
        Picture(
            "split",
            f"{about} One test set of {len(found.split.labels)} molecules. Above: here. Below: in the paper.",
            partial(_split, found),
        ),
        Picture(
            "every",
            f"{about} Of {found.tested}, {found.every.accuracy:.1%} are answered right; the majority class has "
            f"{found.majority_share:.1%}.",
            partial(_every, found),
        ),
        Picture(
            "sweep",
            "Accuracy of the smoothed network by cross-validation, for each noise. The share of the majority class is "
            "marked on the scale: darker cells are no better than a constant answer.",
            partial(_sweep, found),
        ),
        Picture(
            "trade_off",
            f"Accuracy against the share that is right and certified at {SHOWN_RADIUS[0]} deletion and "
            f"{SHOWN_RADIUS[1]} addition (sparsity-aware), one point a noise. Those that no other beats are named "
            "delete/add. The dotted line is a constant answer.",
            partial(_trade_off, found),
        ),
    ]  # fmt: skip


def _panel(ax: Axes, values: npt.ArrayLike, title: str, *, left: bool, bottom: bool) -> None:
    grid = NumberGrid(
        np.asarray(values, float),
        range(BOX[0] + 1),
        range(BOX[1] + 1),
        "deletions" if left else "",
        "additions" if bottom else "",
        "share of right molecules certified",
        (0.0, 1.0),
        2,
    )
    grid.plot(ax, bar=False, font_size=5).set_title(title)


def _scale(figure: Figure) -> None:
    """One scale for all panels."""
    figure.colorbar(figure.axes[0].images[0], ax=figure.axes, label="share of right molecules certified", pad=0.02)


def _split(found: MutagResults) -> Figure:
    figure = new_figure(PAGE, 3.8)
    axes = figure.subplots(2, 2)
    for column, name in enumerate(CERTIFICATES):
        ours = certified_ratio(found.split.certificates[name], found.split.labels, max_radius=BOX)
        _panel(axes[0][column], ours, f"{TITLES[name]}, here", left=column == 0, bottom=False)
        theirs = published("mutag")[name]
        _panel(axes[1][column], theirs, f"{TITLES[name]}, in the paper", left=column == 0, bottom=True)
    _scale(figure)
    return figure


def _every(found: MutagResults) -> Figure:
    figure = new_figure(PAGE, 2.1)
    for column, (ax, name) in enumerate(zip(figure.subplots(1, 2), CERTIFICATES, strict=True)):
        ours = certified_ratio(found.every.certificates[name], found.every.labels, max_radius=BOX)
        _panel(ax, ours, TITLES[name], left=column == 0, bottom=True)
    _scale(figure)
    return figure


def _sweep(found: MutagResults) -> Figure:
    figure = new_figure(PAGE, 2.1)
    deletes, adds = found.settings.deletes, found.settings.adds
    for column, (ax, (name, model)) in enumerate(zip(figure.subplots(1, len(MODELS)), MODELS.items(), strict=True)):
        values = np.array([[found.sweep[name, d, a].accuracy for a in adds] for d in deletes])
        grid = NumberGrid(
            values, deletes, adds, "probability of deletion" if column == 0 else "", "probability of addition",
            "accuracy", (0.5, 1.0), 3,
        )  # fmt: skip
        grid.plot(ax, bar=False, font_size=7).set_title(model.title)
    bar = figure.colorbar(figure.axes[0].images[0], ax=figure.axes, label="accuracy", pad=0.02)
    bar.ax.axhline(found.majority_share, color=MAJORITY, lw=2)
    bar.ax.set_title("― majority\nclass", color=MAJORITY, fontsize="x-small")
    return figure


def _trade_off(found: MutagResults) -> Figure:
    figure = new_figure(COLUMN, 2.8)
    ax = figure.add_subplot()
    points = {at: (certified_at(judged), judged.accuracy) for at, judged in found.sweep.items()}
    for number, (name, model) in enumerate(MODELS.items()):
        own = [point for at, point in points.items() if at[0] == name]
        ax.plot(*zip(*own, strict=True), "os"[number], ms=4, color=colour_of(number), label=model.title)
    unbeaten = [at for at, point in points.items() if not any(_beats(other, point) for other in points.values())]
    for number, at in enumerate(sorted(unbeaten, key=lambda at: points[at])):
        place = (points[at][0] + 0.15 * (number - len(unbeaten) / 2), points[at][1] + 0.05)  # side by side, above them
        line = {"arrowstyle": "-", "lw": 0.5, "color": "#555555"}
        ax.annotate(f"{at[1]:g}/{at[2]:g}", points[at], xytext=place, fontsize=6, ha="center", arrowprops=line)
    ax.axhline(found.majority_share, color=MAJORITY, lw=0.8, ls=":")
    ax.text(0.0, found.majority_share, "majority class", fontsize=6, color=MAJORITY, va="top")
    ax.set(xlabel=f"share right and certified at {SHOWN_RADIUS}", ylabel="accuracy", xlim=(-0.02, 1), ylim=(0.6, 0.95))
    ax.legend(frameon=False, loc="upper left")
    return figure


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def tables(found: MutagResults) -> list[Table]:
    """Every number that a figure shows."""
    ratios = []
    for where, judged in (("split", found.split), ("every", found.every)):
        shares = [certified_ratio(each, judged.labels, max_radius=BOX) for each in judged.certificates.values()]
        for radius in np.ndindex(shares[0].shape):
            theirs = [published("mutag")[name][radius[0]][radius[1]] for name in CERTIFICATES]
            ratios.append([where, *radius, *(float(share[radius]) for share in shares), *theirs])
    sweep: list[list[object]] = [
        [MODELS[model].title, delete, add, accuracy(judged.clean, judged.labels), judged.accuracy,
         found.majority_share, judged.largest_share,
         clearly_better(judged, found.majority_share)[0], certified_at(judged)]
        for (model, delete, add), judged in found.sweep.items()
    ]  # fmt: skip
    return [
        Table(
            "sweep",
            "Cross-validation by network and noise. A setting is clearly better than a constant answer where the "
            "binomial probability of so many right answers by a constant one is below 0.01.",
            ["network", "delete", "add", "accuracy_without_noise", "accuracy", "majority_share",
             "largest_share_of_answers", "clearly_better_than_constant", "right_and_certified_at_1_1"],
            sweep,
        ),
        Table(
            "ratios",
            "Share of right molecules that are certified, by deletions and additions; the paper's beside ours.",
            ["molecules", "deletions", "additions", "anisotropic_anchored", "sparsity_aware",
             "published_anisotropic_anchored", "published_sparsity_aware"],
            ratios,
            shown=False,
        ),
    ]  # fmt: skip


TITLE = "MUTAG: bonds that break and bonds that form"


def run(settings: MutagSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    values = {"majority_share": found.majority_share, "graphs": len(found.every.labels)}
    return Outcome(summary(found), pictures(found), tables(found), checks(found), values)
