"""The picture of an example: the graph with its regions in colour, and the certified flips on each axis."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from PIL import Image

import starcert as sc
from starcert.display.drawing import COLOURS, PAGE, layout, new_figure, region_graph, style
from starcert.objects import Sites

INK = "#333333"
MARKS = "os^Dvph"


def draw(
    file: str,
    sites: Sites,
    certificate: sc.Certificate,
    title: str,
    *,
    names: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> None:
    """Writes the picture; `names` are labels of the nodes, "" for none, and nodes of equal `kinds` look alike."""
    with style():
        figure = new_figure(PAGE, 2.8, dpi=150)
        left, right = figure.subplots(1, 2, width_ratios=[1.3, 1])
        places = layout(sites)
        region_graph(sites, positions=places, ax=left)
        lines = [left.plot([], [], color=COLOURS[number])[0] for number in range(len(sites.regions))]
        marks = dict(zip(dict.fromkeys(kinds), MARKS, strict=False))
        dots = [left.plot([], [], mark, ms=4, color=INK)[0] for mark in marks.values()]
        for node, place in enumerate(places):
            left.plot(*place, marks[kinds[node]] if kinds else "o", ms=5.5, color=INK, mec="white", mew=0.5, zorder=3)
            if names and names[node]:
                _write(left, names[node], place)
        left.margins(0.1)
        words = [*sites.regions, *marks]
        look = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "frameon": False, "fontsize": 8}
        left.legend([*lines, *dots], words, ncols=4 if len(" ".join(words)) < 40 else 2, **look)
        _bars(right, sites, certificate)
        figure.suptitle(title, fontsize=9.5, color=INK)
        figure.savefig(file, dpi=150)
    Image.open(file).convert("RGB").quantize(48).save(file, optimize=True)  # a few colours are enough


def _write(ax: Axes, text: str, place: Sequence[float]) -> None:
    """Symbols of atoms replace the dot, longer names go below it."""
    symbol = len(text) <= 2
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"} if symbol else None
    ax.annotate(
        text,
        place,
        (0, 0 if symbol else -4),
        textcoords="offset points",
        ha="center",
        va="center" if symbol else "top",
        fontsize=7,
        color=INK,
        bbox=box,
        path_effects=[withStroke(linewidth=2, foreground="white")],
        zorder=4,
    )


def _bars(ax: Axes, sites: Sites, certificate: sc.Certificate) -> None:
    """A bar for each axis: how many flips are certified there while everything else stays unchanged."""
    reach = [max(counts) for counts in zip(*certificate.frontier.radii, strict=True)]
    for row, (axis, most, there) in enumerate(zip(certificate.noise.axes, reach, certificate.capacity, strict=True)):
        ax.barh(row, most, height=0.45, color=COLOURS[sites.regions.index(axis.partition(".")[0])])
        ax.text(0, row - 0.3, f"{axis}: any {most:,} of {there:,}", va="bottom", fontsize=8, color=INK)
    ax.set(xlim=(0, max(4, *reach) * 1.02), ylim=(len(reach) - 0.6, -0.8), yticks=[])
    ax.set_xlabel("certified flips, on one axis alone", color=INK)
    ax.locator_params(axis="x", integer=True)
    ax.spines["left"].set_visible(False)
