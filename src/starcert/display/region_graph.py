"""A graph with its regions coloured, and the matrix of its flip probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.display.axes import new_axes
from starcert.display.style import FIXED, SHADES, colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from starcert.graphs import Sites
    from starcert.noise import Noise

__all__ = ["layout", "noise_matrix", "region_graph", "region_matrix"]

Positions = npt.NDArray[np.float64]


def region_matrix(sites: Sites) -> npt.NDArray[np.int64]:
    """The number of the region of every node pair, −1 for fixed ones; shape (nodes, nodes), symmetric.

    Example:
        >>> from starcert.graphs import Graph, Partition
        >>> sites = Partition.from_node_sets({"core": [0, 1], "rest": [2, 3]}).sites(Graph(4, [(0, 1)]))
        >>> region_matrix(sites)[[0, 0, 3], [1, 2, 2]].tolist()
        [0, -1, 1]
    """
    n = sites.graph.n_nodes
    regions = np.full((n, n), -1, dtype=np.int64)
    u, v = sites.coordinates(np.arange(sites.n_sites))
    regions[u, v] = regions[v, u] = np.repeat(np.arange(len(sites.regions)), sites.sizes)
    return regions


def layout(sites: Sites, *, seed: int = 0) -> Positions:
    """Where to draw the nodes: forces along the edges, from a start that depends on the seed alone."""
    import networkx as nx  # noqa: PLC0415  (slow to import)

    graph = nx.Graph(sites.graph.edges.tolist())
    graph.add_nodes_from(range(sites.graph.n_nodes))
    places = nx.kamada_kawai_layout(graph, pos=nx.random_layout(graph, seed=seed))
    return np.array([places[node] for node in range(sites.graph.n_nodes)])


def region_graph(sites: Sites, *, positions: Positions | None = None, ax: Axes | None = None) -> Axes:
    """Draws a graph: each edge in the colour of its region, each node in that of the region most of its pairs are in.

    Args:
        sites: the graph and its regions.
        positions: where the nodes are, shape (nodes, 2); by default from `layout`.
        ax: where to draw.
    """
    ax = new_axes(ax)
    places = layout(sites) if positions is None else positions
    regions = region_matrix(sites)
    colours: Mapping[int, str] = {-1: FIXED} | {i: colour_of(i) for i in range(len(sites.regions))}
    for u, v in sites.graph.edges.tolist():
        ax.plot(*places[[u, v]].T, color=colours[int(regions[u, v])], lw=0.9, zorder=1, solid_capstyle="round")
    for node, place in enumerate(places):
        counts = [int((regions[node] == i).sum()) for i in range(len(sites.regions))]
        home = int(np.argmax(counts)) if any(counts) else -1
        ax.plot(*place, "o", ms=5, color=colours[home], mec="white", mew=0.6, zorder=2)
    for i, region in enumerate(sites.regions):
        ax.plot([], [], color=colours[i], marker="o", lw=0.9, ms=4, label=region)
    if len(sites.fixed_edges):
        ax.plot([], [], color=FIXED, lw=0.9, label="fixed")
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def noise_matrix(sites: Sites, noise: Noise, *, ax: Axes | None = None) -> Axes:
    """Draws the probability with which every node pair flips, in the upper triangle; fixed pairs are left white."""
    ax = new_axes(ax)
    regions = region_matrix(sites)
    n = sites.graph.n_nodes
    present = np.zeros((n, n), dtype=bool)
    present[tuple(sites.graph.edges.T)] = True
    present |= present.T
    flips = np.full((n, n), np.nan)
    for i, region in enumerate(sites.regions):
        flips[(regions == i) & present] = noise[region].delete
        flips[(regions == i) & ~present] = noise[region].add
    flips[np.tril_indices(n)] = np.nan
    image = ax.imshow(flips, cmap=SHADES, vmin=0, vmax=0.5, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="probability of a flip")
    ax.set(xlabel="node", ylabel="node")
    return ax
