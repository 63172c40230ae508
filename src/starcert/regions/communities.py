"""Regions by how a graph hangs together: the pairs inside its communities, and the pairs between them."""

from __future__ import annotations

from functools import partial
from typing import Any

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition
from starcert.graphs.pairsets import Across, Within
from starcert.regions.builder import Builder
from starcert.regions.numbers import positive, whole
from starcert.regions.rule import RegionRule, canonical_order

__all__ = ["BUILDER", "REGIONS", "communities"]

_WHY = "Edges between communities hold a graph together in few places: they can be given another noise than the rest."
_REASON = "The communities were found from the edges of the clean graph."
REGIONS = ("inside", "between")

_METHODS = ("louvain", "greedy")


def communities(resolution: float = 1.0, *, method: str = "louvain", seed: int = 0) -> RegionRule:
    """Regions of the pairs inside one community (`inside`) and of the pairs of different ones (`between`).

    Communities maximise modularity, as networkx finds them. The names of the regions do not depend on how many there
    are, so that one noise serves all graphs. They are read off the edges: anchored.

    The answer depends on the edges and the names of the nodes, not on their order. Ties are broken along the names.

    Args:
        resolution: above 1 for more and smaller communities, below 1 for fewer and larger ones.
        method: "louvain" (Blondel et al. 2008), or "greedy" (Clauset, Newman and Moore 2004), which needs no seed and
            takes longer.
        seed: of the Louvain method, which looks at nodes in a random order.

    Example:
        >>> graph = Graph(6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
        >>> communities()(graph).sites(graph).sizes
        (6, 9)
    """
    resolution = positive(resolution, "resolution")
    if method not in _METHODS:
        raise InvalidParameterError("method", f"be one of {', '.join(_METHODS)}", method)
    seed = whole(seed, "seed", 0)
    return RegionRule(
        "communities",
        {"resolution": resolution, "method": method, "seed": seed},
        REGIONS,
        partial(_divide, resolution=resolution, method=method, seed=seed),
        _WHY,
        _REASON,
    )


def _divide(graph: Graph, *, resolution: float, method: str, seed: int) -> Partition:
    import networkx as nx  # noqa: PLC0415  (takes its time)

    order = canonical_order(graph)
    place = {index: position for position, index in enumerate(order)}
    # Small whole numbers in their order: networkx goes through sets, and sets of names have another order every time.
    canonical = nx.Graph()
    canonical.add_nodes_from(range(graph.n_nodes))
    canonical.add_edges_from(sorted(tuple(sorted((place[u], place[v]))) for u, v in graph.edges.tolist()))
    found: list[Any]
    if not graph.n_edges:  # modularity divides by the number of edges; nothing holds these nodes together
        found = [{position} for position in range(graph.n_nodes)]
    elif method == "louvain":
        found = nx.community.louvain_communities(canonical, resolution=resolution, seed=seed)
    else:
        found = nx.community.greedy_modularity_communities(canonical, resolution=resolution)
    groups = tuple(frozenset(graph.nodes[order[position]] for position in group) for group in sorted(found, key=min))
    return Partition(((REGIONS[0], Within(groups)), (REGIONS[1], Across(groups))))


BUILDER = Builder(
    "communities", communities, ", ".join(REGIONS), _WHY, _REASON, {"resolution": float, "method": str, "seed": int}
)
