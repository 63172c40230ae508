"""Figures that several studies draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.datasets.dataset import Dataset
from starcert.display import drawing
from starcert.display.maps import RadiusMap
from starcert.objects.noise import Noise
from starcert_studies.voted import Grid, Tally, Voted, median_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = "#BFE3F7"
"""Certified by a third argument: a paler tone of the second."""


def radius_maps(found: Mapping[str, Voted], box: Any, height: float, many: str = "graphs") -> Figure:  # noqa: ANN401
    """Maps of the share that is right and certified at each radius of a box, above each other."""
    maps = {
        title: RadiusMap.from_certificates(each.certificates, each.labels, max_radius=box, many=many)
        for title, each in found.items()
    }
    figure = drawing.new_figure(drawing.PAGE, height * len(maps) + 0.5)
    axes = np.atleast_1d(figure.subplots(len(maps), 1, sharex=True)).tolist()
    for ax, (title, each) in zip(axes, maps.items(), strict=True):
        each.plot(ax, bar=False).set(title=each.titled(title), yticks=range(each.share.shape[0]))
        if ax is not axes[-1]:
            ax.set_xlabel("")
    each.bar(axes[0].collections[0], axes)
    return figure


def number_grids(
    panels: Sequence[Mapping[str, npt.ArrayLike]],
    rows: Sequence[object] = (),
    columns: Sequence[object] = (),
    *,
    names: tuple[str, str, str],
    limits: tuple[float, float] = (0.0, 1.0),
    digits: int = 2,
    height: float,
    font_size: float = 6,
    majority: float | None = None,
) -> Figure:
    """Grids of numbers on one scale, row by row of panels by their titles; `names` are of rows, columns, numbers.

    Rows and columns are numbered where they are not given. The share of the most frequent class is marked on the scale.
    """
    figure = drawing.new_figure(drawing.PAGE, height)
    axes = figure.subplots(len(panels), len(panels[0]), squeeze=False)
    for i, line in enumerate(panels):
        for j, (title, values) in enumerate(line.items()):
            ax, numbers = axes[i][j], np.asarray(values, float)
            _draw_numbers(ax, numbers, limits, digits, font_size)
            ax.set_xticks(range(numbers.shape[1]), [str(each) for each in columns or range(numbers.shape[1])])
            ax.set_yticks(range(numbers.shape[0]), [str(each) for each in rows or range(numbers.shape[0])])
            ax.set(title=title, ylabel=names[0] if j == 0 else "", xlabel=names[1] if i == len(panels) - 1 else "")
    bar = figure.colorbar(figure.axes[0].images[0], ax=figure.axes, label=names[2], pad=0.02)
    if majority is not None:
        bar.ax.axhline(majority, color=drawing.MAJORITY, lw=2)
        bar.ax.set_title("― majority\nclass", color=drawing.MAJORITY, fontsize="x-small")
    return figure


def _draw_numbers(ax: Axes, numbers: Grid, limits: tuple[float, float], digits: int, font_size: float) -> None:
    """Numbers from dark to light, the first row at the top, black on light cells and white on dark ones; NaN: none."""
    low, high = limits
    ax.imshow(numbers, cmap=drawing.SHADES, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    for (i, j), value in np.ndenumerate(numbers):
        if np.isfinite(value):
            colour = "black" if value - low > 0.5 * (high - low) else "white"
            ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=font_size, color=colour)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def beside_paper(
    paper: Mapping[str, Any], name: str, values: npt.ArrayLike, digits: int, limits: tuple[float, float]
) -> Figure:
    """The same grid of p_random and p_motif here and in the paper, on one scale."""
    title = name.replace("_", " ")
    panels = {f"{title}, here": values, f"{title}, in the paper": paper[name]}
    rows, columns = ([f"{p:g}" for p in paper[key]] for key in ("p_random", "p_motif"))
    names = ("flip probability p_random", "flip probability p_motif", title)
    return number_grids([panels], rows, columns, names=names, limits=limits, digits=digits, height=2.7)


def level_curves(shares: Mapping[str, Grid], majority: float) -> Figure:
    """The share right and certified by flips anywhere, a curve for each level by its name."""
    figure = drawing.new_figure(drawing.COLUMN, 2.3)
    ax = figure.add_subplot()
    for number, (name, share) in enumerate(shares.items()):
        ax.plot(range(4), share, marker="os^Dv"[number], ms=4, lw=1.2, color=drawing.colour_of(number), label=name)
    ax.axhline(majority, color=drawing.MAJORITY, lw=0.8, ls=":")
    ax.text(2.4, majority, "majority class", fontsize=6, color=drawing.MAJORITY, va="bottom")
    ax.set(xlabel="flips anywhere", ylabel="share right and certified", xticks=range(4), ylim=(-0.03, 1.05))
    ax.legend(frameon=False)
    return figure


def noise_figure(data: Dataset, noise: Noise) -> Figure:
    """The noise of each node pair of the first test graph, in the upper triangle; fixed pairs are left white."""
    figure, graph = drawing.new_figure(drawing.COLUMN, 2.7), data.test.graphs[0]
    assert data.partition is not None
    sites = data.partition.sites(graph)
    regions, present = drawing.region_matrix(sites), np.zeros((graph.n_nodes,) * 2, dtype=bool)
    present[tuple(graph.edges.T)] = True
    flips = np.full(regions.shape, np.nan)
    for i, region in enumerate(sites.regions):
        flips[(regions == i) & (present | present.T)] = noise[region].change(1)
        flips[(regions == i) & ~(present | present.T)] = noise[region].change(0)
    flips[np.tril_indices(graph.n_nodes)] = np.nan
    ax = figure.add_subplot()
    image = ax.imshow(flips, cmap=drawing.SHADES, vmin=0, vmax=0.5, interpolation="nearest")
    figure.colorbar(image, ax=ax, label="probability of a flip")
    ax.set(xlabel="node", ylabel="node")
    return figure


def verdict_bars(rows: Mapping[str, Sequence[Tally]], many: str = "graphs") -> Figure:
    """What is known about each radius, one thin bar for each draw, as shares of the objects that are answered right."""
    max_draws = max(map(len, rows.values()))
    figure = drawing.new_figure(drawing.PAGE, 1.2 + (0.14 + 0.02 * max_draws) * len(rows))
    ax = figure.add_subplot()
    colours = {"by p_A": drawing.COLOURS[0], "by evidence": drawing.COLOURS[4], "with own votes": PALE,
               "open": drawing.FIXED, "broken": drawing.COLOURS[5]}  # fmt: skip
    for row, draws in enumerate(rows.values()):
        thickness = 0.84 / len(draws)
        places = row - 0.42 + thickness * (np.arange(len(draws)) + 0.5)
        ranked = sorted(draws, key=lambda one: (-one.with_own_votes, one.broken, -one.by_evidence, -one.by_p_A))
        left = np.zeros(len(draws))
        for (name, colour), width in zip(colours.items(), np.array([_segments(one) for one in ranked]).T, strict=True):
            ax.barh(places, width, thickness, left=left, color=colour, label=name if row == 0 else None)
            left += width
        ax.text(1.01, row, median_range([one.with_own_votes for one in draws]), va="center")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    numbers = "how many are certified" + ", median (range)" * (max_draws > 1)
    ax.set(xlabel=f"share of right {many}; beside it {numbers}", xlim=(0, 1))
    figure.legend(*ax.get_legend_handles_labels(), ncols=len(colours), frameon=False, loc="outside upper center")
    return figure


def _segments(one: Tally) -> list[float]:
    by_p = min(one.by_p_A, one.by_evidence)
    counts = by_p, one.by_evidence - by_p, one.with_own_votes - one.by_evidence, one.open, one.broken
    return [count / max(one.right, 1) for count in counts]


def draws_figure(
    x: Sequence[float],
    here: npt.ArrayLike,
    paper: npt.ArrayLike,
    others: Sequence[npt.ArrayLike],
    dotted: Mapping[str, npt.ArrayLike],
    **axes: object,
) -> Figure:
    """A number by x: here, in the paper, for other draws of the data, and dotted lines beside them."""
    figure = drawing.new_figure(drawing.COLUMN, 2.6)
    ax = figure.add_subplot()
    for k, draw in enumerate(others):
        ax.plot(x, draw, color="#bbbbbb", lw=0.8, label="other draws of the data" if k == 0 else None)
    ax.plot(x, here, marker="o", ms=3, color=drawing.colour_of(0), label="here")
    ax.plot(x, paper, marker="s", ms=3, color=drawing.colour_of(1), label="in the paper")
    for name, line in dotted.items():
        ax.plot(x, line, color="black", ls=":", lw=1, label=name)
    ax.set(**axes)
    ax.legend(frameon=False)
    return figure


def class_examples(data: Dataset, height: float) -> Figure:
    """The first test graph of each class, with its regions."""
    figure = drawing.new_figure(drawing.PAGE, height)
    for ax, label in zip(figure.subplots(1, 2), (0, 1), strict=True):
        graph = data.test.graphs[int(np.flatnonzero(data.test.labels == label)[0])]
        assert data.partition is not None
        drawing.region_graph(data.partition.sites(graph), ax=ax)
        ax.set_title(f"class {label} ({data.label_names[label]})")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, ncols=len(names), frameon=False, loc="outside lower center")
    return figure
