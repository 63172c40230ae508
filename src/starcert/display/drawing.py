"""Common parts of the plots: a figure, and its style; and graphs with their regions coloured.

The same colour for the same thing, legible to the colour-blind, readable at column width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.objects import Sites
from starcert.system.errors import needing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette: regions, classes and curves take these in their order."""

FIXED = "#505050"  # what lies in no region
MAJORITY = "#D55E00"  # the share of the most frequent class, in every plot that has an accuracy
SHADES = "cividis"  # the colour map of every number from low (dark) to high (light)

TONES = {"certified by p_A": "#0072B2", "certified by evidence": "#7CC4EE", "open": "#E3E7EB", "broken": "#D55E00"}
"""The states of a radius, and their colours: distinct to the colour-blind, and in grey."""

DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (3, 3)))
"""The line styles of edge types; after the last they repeat."""

LINE, NEW_LINE = 40, "\n"  # the most characters of a title on one line
COLUMN, PAGE = 3.4, 7.0  # widths of a column and of a page, in inches


def colour_of(number: int) -> str:
    """The colour of the region, class or curve with this number."""
    return COLOURS[number % len(COLOURS)]


@contextmanager
def style() -> Iterator[None]:
    """Small clean type, vector text that can be searched, and files that do not depend on when they were made."""
    from matplotlib import rc_context  # noqa: PLC0415  (only where something is drawn)

    sizes = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8)
    sizes |= dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 7)
    spines = dict.fromkeys(("axes.spines.top", "axes.spines.right"), False)
    files = {"savefig.dpi": 200, "svg.fonttype": "none", "svg.hashsalt": "starcert"}
    settings: dict[Any, Any] = {**sizes, **spines, **files}
    with rc_context(settings):
        yield


def with_notes(title: str, *notes: str) -> str:
    """A title with what else must be said, in brackets; a long one has two lines.

    Example:
        >>> with_notes("Certified", "", "anchored regions"), with_notes("Certified", "")
        ('Certified (anchored regions)', 'Certified')
    """
    said = ", ".join(filter(None, notes))
    return f"{title}{' ' if len(title) + len(said) < LINE else NEW_LINE}({said})" if said else title


def whole_ticks(*axes: Axis) -> None:
    """Lets counts of flips have ticks at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  (only where something is drawn)

    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True))


def make_room(ax: Axes) -> None:
    """Lets the figure keep its parts apart where nothing else does: a scale would lie on the plot beside it."""
    figure: Any = ax.figure
    if hasattr(figure, "set_layout_engine") and figure.get_layout_engine() is None:
        with suppress(RuntimeError):  # it has scales already that another layout placed
            figure.set_layout_engine("constrained")


def new_figure(width: float, height: float, *, dpi: float = 150) -> Figure:
    """A figure without a window, its size in inches."""
    with needing("Plots need", "plots"):
        from matplotlib.figure import Figure  # noqa: PLC0415  (only where something is drawn)
    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure."""
    return new_figure(6.4, 3.6).add_subplot() if ax is None else ax


Positions = npt.NDArray[np.float64]


def region_matrix(sites: Sites) -> npt.NDArray[np.int64]:
    """The number of the region of every node pair, −1 for fixed ones; shape (nodes, nodes), symmetric.

    Of a directed graph entry [u, v] is that of the arc from u to v. Regions of other sites play no part.
    """
    n = sites.graph.n_nodes
    regions = np.full((n, n), -1, dtype=np.int64)
    for number, block in enumerate(sites.blocks):
        if block.layer == sites.graph.layers[0].name:
            u, v = block.coordinates(np.arange(block.size))
            regions[u, v] = number
            if not sites.graph.directed:
                regions[v, u] = number
    return regions


def layout(sites: Sites, *, seed: int = 0) -> Positions:
    """Where to draw the nodes: forces along the edges, from a start that depends on the seed alone."""
    import networkx as nx  # noqa: PLC0415  (slow to import)

    graph = nx.Graph(sites.graph.edges.tolist())
    graph.add_nodes_from(range(sites.graph.n_nodes))
    places = nx.kamada_kawai_layout(graph, pos=nx.random_layout(graph, seed=seed))
    return np.array([places[node] for node in range(sites.graph.n_nodes)])


def region_graph(
    sites: Sites,
    *,
    positions: Positions | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws a graph: each edge in the colour of its region, each node in that of the region most of its pairs are in.

    Arcs have heads, and types of edges differ in their dashes.

    Args:
        sites: the graph and its regions.
        positions: where the nodes are, shape (nodes, 2); by default from `layout`.
        ax: where to draw.
    """
    ax = new_axes(ax)
    places = layout(sites) if positions is None else positions
    regions = region_matrix(sites)
    colours: Mapping[int, str] = {-1: FIXED} | {i: colour_of(i) for i in range(len(sites.regions))}
    edges = {(u, v) for u, v in sites.graph.edges.tolist()}
    types = np.zeros(len(edges), dtype=int) if sites.graph.edge_types is None else sites.graph.edge_types - 1
    for (u, v), number in zip(sites.graph.edges.tolist(), types.tolist(), strict=True):
        look = {"color": colours[int(regions[u, v])], "lw": 0.9, "ls": DASHES[number % len(DASHES)], "zorder": 1}
        if sites.graph.directed:
            bend = {"connectionstyle": "arc3,rad=0.15"} if (v, u) in edges else {}
            arrow = {"arrowstyle": "-|>", "shrinkA": 3, "shrinkB": 3, "mutation_scale": 8, **bend, **look}
            ax.annotate("", places[v], places[u], arrowprops=arrow, zorder=1)
        else:
            ax.plot(*places[[u, v]].T, solid_capstyle="round", **look)
    for node, place in enumerate(places):
        counts = [int((regions[node] == i).sum()) for i in range(len(sites.regions))]
        home = int(np.argmax(counts)) if any(counts) else -1
        ax.plot(*place, "o", ms=5, color=colours[home], mec="white", mew=0.6, zorder=2)
    for i, (region, block) in enumerate(zip(sites.regions, sites.blocks, strict=True)):
        if block.layer == sites.graph.layers[0].name:
            ax.plot([], [], color=colours[i], marker="o", lw=0.9, ms=4, label=region)
    for number, name in enumerate(sites.graph.type_names):
        ax.plot([], [], color=FIXED, lw=0.9, ls=DASHES[number % len(DASHES)], label=str(name))
    if len(sites.fixed_edges):
        ax.plot([], [], color=FIXED, lw=0.9, label="fixed")
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
