"""The synthetic study: its figures, its tables, and the whole of it."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from starcert.objects.noise import Noise
from starcert.pages.plots.drawing import (
    COLUMN,
    MAJORITY,
    PAGE,
    colour_of,
    layout,
    new_figure,
    noise_matrix,
    region_graph,
)
from starcert.pages.plots.maps import NumberGrid, RadiusMap
from starcert_studies.outcome import Outcome, Picture, Table, published
from starcert_studies.parts import StudyParts
from starcert_studies.synthetic_checks import checks, summary
from starcert_studies.synthetic_votes import (
    DRAWN_ROWS,
    FEATURED,
    FEATURED_BOX,
    Grid,
    SyntheticResults,
    SyntheticSettings,
    compute,
    settings,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TITLE", "SyntheticSettings", "pictures", "run", "settings", "tables"]

SHOWN_ISOTROPIC = (0.02, 0.04, 0.08, 0.12, 0.2)
"""Half of the isotropic levels are left out of the figure, as in the paper, so that curves can be told apart."""


def pictures(found: SyntheticResults) -> list[Picture]:
    """Every figure, in the order of the paper."""
    p = "p = (0.02, 0.45)"
    return [
        Picture(
            "graphs",
            "Two test graphs with their regions and the bridge, which is fixed: on the left a cycle (negative), on the "
            "right a complete graph (positive).",
            partial(_graphs, found),
        ),
        Picture(
            "noise_matrix",
            f"The noise at {p}: the probability with which each node pair flips. Pairs between motif and random part "
            "are fixed.",
            partial(_noise_matrix, found),
        ),
        Picture(
            "score",
            "Score at each noise level: how many of the 64 radii from (0, 0) to (7, 7) hold for more than half of the "
            "test graphs. Left: here. Right: in the paper.",
            partial(_beside, found.score, "score", 0, (0.0, 16.0)),
        ),
        Picture(
            "accuracy",
            "Share of test graphs whose true class has the most votes, even where the smoothed classifier would "
            "abstain: so the paper counts its accuracy (it has 1 at (0.16, 0.05), where its smallest p_lower is 0.49). "
            "A constant answer has 0.50. Left: here. Right: in the paper. Where it drops, the draw of the training "
            "graphs decides: see below. The table has beside it the accuracy, in which an abstention is not right.",
            partial(_beside, found.plurality, "accuracy", 2, (0.5, 1.0)),
        ),
        Picture(
            "smallest_p_lower",
            "The smallest lower bound p_lower of all test graphs. Left: here. Right: in the paper.",
            partial(_beside, found.smallest_p_lower, "smallest_p_lower", 2, (0.4, 1.0)),
        ),
        Picture(
            "draws",
            "Why no figure can be had to the last digit: the smallest p_lower at p_random = 0.45 for independent draws "
            "of the data, each with its own machine, beside the paper's.",
            partial(_draws, found),
        ),
        Picture(
            "anisotropic",
            f"Share of test graphs that are right and certified at {p}, for every radius with up to 45 flips in the "
            "random part, which are all there are.",
            partial(_anisotropic, found),
        ),
        Picture(
            "isotropic",
            "The same for isotropic noise, where a flip may lie anywhere.",
            partial(_isotropic, found),
        ),
    ]


def _graphs(found: SyntheticResults) -> Figure:
    figure = new_figure(PAGE, 2.6)
    for number, ax in enumerate(figure.subplots(1, 2)):
        graph = found.data.test.graphs[int(np.flatnonzero(found.data.test.labels == number)[0])]
        assert found.data.partition is not None
        sites = found.data.partition.sites(graph)
        region_graph(sites, positions=layout(sites), ax=ax)
        ax.set_title(f"class {number} ({found.data.label_names[number]})")
        if number:
            ax.legend(loc="lower right", frameon=False)
    return figure


def _noise_matrix(found: SyntheticResults) -> Figure:
    figure = new_figure(COLUMN, 2.7)
    assert found.data.partition is not None
    noise = Noise(motif=FEATURED[0], random=FEATURED[1])
    ax = noise_matrix(found.data.partition.sites(found.data.test.graphs[0]), noise, ax=figure.add_subplot())
    ax.set(xticks=range(0, 20, 5), yticks=range(0, 20, 5))
    ax.text(6.5, 2.5, "motif", color="white", ha="center", fontsize=7)
    ax.text(16.3, 12.5, "random", color="black", ha="center", fontsize=7)
    return figure


def _beside(values: Grid, name: str, digits: int, limits: tuple[float, float]) -> Figure:
    """The same table here and in the paper, on one scale."""
    figures = published("synthetic")
    figure = new_figure(PAGE, 2.7)
    for ax, (title, shown) in zip(
        figure.subplots(1, 2), (("here", values), ("in the paper", np.array(figures[name], float))), strict=True
    ):
        grid = NumberGrid(
            shown,
            [f"{r:g}" for r in figures["p_random"]],
            [f"{m:g}" for m in figures["p_motif"]],
            "flip probability p_random",
            "flip probability p_motif",
            name.replace("_", " "),
            limits,
            digits,
        )
        grid.plot(ax, bar=False).set_title(f"{name.replace('_', ' ')}, {title}")
    figure.colorbar(figure.axes[0].images[0], ax=figure.axes, label=name.replace("_", " "), pad=0.02)
    return figure


def _draws(found: SyntheticResults) -> Figure:
    figures = published("synthetic")
    figure = new_figure(COLUMN, 2.5)
    ax = figure.add_subplot()
    for number, draw in enumerate(found.draws[1:]):
        ax.plot(
            figures["p_motif"], draw.smallest_p_lower[0], color="#bbbbbb", lw=0.8,
            label="other draws of the data" if number == 0 else None,
        )  # fmt: skip
    ax.plot(figures["p_motif"], found.smallest_p_lower[0], color=colour_of(0), marker="o", ms=3, label="here")
    row = figures["p_random"].index(DRAWN_ROWS[0])
    ax.plot(
        figures["p_motif"], figures["smallest_p_lower"][row], color=colour_of(1), marker="s", ms=3, label="in the paper"
    )
    ax.axhline(0.5, color=MAJORITY, lw=0.8, ls=":")
    ax.set(xlabel="flip probability p_motif", ylabel="smallest p_lower", ylim=(0.3, 1.02))
    ax.legend(frameon=False, loc="lower left")
    return figure


def _anisotropic(found: SyntheticResults) -> Figure:
    figure = new_figure(PAGE, 1.7)
    chart = RadiusMap.from_certificates(found.featured.certificates, found.data.test.labels, max_radius=FEATURED_BOX)
    ax = chart.plot(figure.add_subplot())
    ax.set(yticks=range(5), xticks=range(0, 46, 5), title="")
    return figure


def _isotropic(found: SyntheticResults) -> Figure:
    figure = new_figure(COLUMN, 2.3)
    ax = figure.add_subplot()
    for number, p in enumerate(SHOWN_ISOTROPIC):
        share = found.isotropic_shares[p]
        ax.plot(range(4), share, marker="os^Dv"[number], ms=4, lw=1.2, color=colour_of(number), label=f"p = {p:g}")
    ax.axhline(found.data.test.majority_share, color=MAJORITY, lw=0.8, ls=":")
    ax.text(3.05, found.data.test.majority_share, "majority class", color=MAJORITY, fontsize=6, ha="right", va="bottom")
    ax.set(xlabel="flips anywhere", ylabel="share right and certified", xticks=range(4), ylim=(-0.03, 1.05))
    ax.legend(frameon=False)
    return figure


def tables(found: SyntheticResults) -> list[Table]:
    """Every number that a figure shows."""
    figures = published("synthetic")
    rows, columns = figures["p_random"], figures["p_motif"]
    grid = [
        [
            columns[j], rows[i], int(found.score[i, j]), figures["score"][i][j], found.accuracy[i, j],
            found.plurality[i, j], figures["accuracy"][i][j], found.smallest_p_lower[i, j],
            figures["smallest_p_lower"][i][j],
        ]
        for i, j in product(range(len(rows)), range(len(columns)))
    ]  # fmt: skip
    isotropic = [
        [p, radius, float(share), level.smallest_p_lower]
        for p, level in found.isotropic.items()
        for radius, share in enumerate(found.isotropic_shares[p])
    ]
    draws = [
        [
            draw.seed,
            draw.support_vectors,
            r,
            m,
            int(draw.score[i, j]),
            draw.plurality[i, j],
            draw.smallest_p_lower[i, j],
        ]
        for draw in found.draws
        for (i, r), (j, m) in product(enumerate(DRAWN_ROWS), enumerate(columns))
    ]
    return [
        Table(
            "grid",
            "Score, accuracy and smallest p_lower at every noise level, here and in the paper. In the accuracy an "
            "abstention is no right answer; the plurality is the share of graphs whose true class has the most votes, "
            "which is what the paper shows as accuracy.",
            ["p_motif", "p_random", "score", "published_score", "accuracy", "plurality", "published_accuracy",
             "smallest_p_lower",
             "published_smallest_p_lower"],
            grid,
            shown=False,
        ),
        Table(
            "anisotropic",
            "Share of test graphs that are right and certified at p = (0.02, 0.45), by radius.",
            ["r_motif", "r_random", "share"],
            [[i, j, float(share)] for (i, j), share in np.ndenumerate(found.featured_shares)],
            shown=False,
        ),
        Table(
            "isotropic",
            "Share of test graphs that are right and certified under isotropic noise, by radius.",
            ["p", "radius", "share", "smallest_p_lower"],
            isotropic,
            shown=False,
        ),
        Table(
            "draws",
            "The study on independent draws of the data; the first is its own.",
            ["data_seed", "support_vectors", "p_random", "p_motif", "score", "plurality", "smallest_p_lower"],
            draws,
            shown=False,
        ),
        Table(
            "base_accuracy",
            "Accuracy of the base classifier without noise; a constant answer has 0.5.",
            ["graphs", "accuracy"],
            list(found.base_accuracy.items()),
        ),
    ]  # fmt: skip


TITLE = "Synthetic data: the motif decides, the random part does not"


def run(settings: SyntheticSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    values = {
        "base_accuracy": found.base_accuracy,
        "majority_share": found.data.test.majority_share,
        "certified_at_1_45": dict(zip([draw.seed for draw in found.draws], found.featured_draws, strict=True)),
        "support_vectors": {draw.seed: draw.support_vectors for draw in found.draws},
    }
    return Outcome(summary(found), pictures(found), tables(found), checks(found), values)
