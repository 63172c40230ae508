"""Regions by the rings of a molecule: atoms on a ring, and all others."""

from __future__ import annotations

from starcert.graphs import Graph, Partition
from starcert.regions.builder import Builder
from starcert.regions.rule import RegionRule, divided

__all__ = ["BUILDER", "REGIONS", "ring_atoms"]

_WHY = "Rings are the stiff part of a molecule: a change there is another thing than a change in a side chain."
_REASON = "Which atoms lie on rings was read off the bonds of the clean graph."
REGIONS = ("ring", "rest", "between")


def ring_atoms() -> RegionRule:
    """Regions of the pairs of two ring atoms (`ring`), of two others (`rest`), and of one of each (`between`).

    A node is a ring atom if it lies on a cycle of the graph. That needs neither elements nor bond orders nor RDKit, and
    works on any graph. Rings are made of edges: anchored.

    Example:
        >>> toluene = Graph(7, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6)])
        >>> ring_atoms()(toluene).sites(toluene).sizes
        (15, 0, 6)
    """
    return RegionRule("ring_atoms", {}, REGIONS, _divide, _WHY, _REASON)


def _divide(graph: Graph) -> Partition:
    import networkx as nx  # noqa: PLC0415  (takes its time)

    skeleton = nx.Graph(graph.edges.tolist())
    # An edge is a bridge if it lies on no cycle.
    skeleton.remove_edges_from(list(nx.bridges(skeleton)))
    ring = frozenset(graph.nodes[index] for index, degree in skeleton.degree if degree)
    return divided({REGIONS[0]: ring, REGIONS[1]: frozenset(graph.nodes) - ring}, between=REGIONS[2])


BUILDER = Builder("ring_atoms", ring_atoms, ", ".join(REGIONS), _WHY, _REASON, {})
