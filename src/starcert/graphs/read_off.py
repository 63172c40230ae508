"""Regions that look as if they had been read off the edges of the very graph they are bound to."""

from __future__ import annotations

from collections.abc import Iterator

from starcert.graphs.blocks import AnyBlock, Listed
from starcert.graphs.graph import Graph
from starcert.graphs.sites import Sites

__all__ = ["read_off"]

FEWEST = 2
"""A single pair that is an edge says nothing."""


def read_off(sites: Sites) -> str:
    """Why these sites look as if they were read off the edges of their graph; "" if they do not.

    Two kinds of regions do: those whose pairs are named one by one and are all edges of the graph, and those that take
    in all node pairs, or all inside a set, but for exactly the edges. Regions of node sets are never of that kind, even
    if somebody has found the sets by the edges: that cannot be seen.

    Example:
        >>> from starcert.graphs import Partition
        >>> graph = Graph(4, [(0, 1), (1, 2)])
        >>> read_off(Partition.from_pairs({"bonds": [(1, 0), (1, 2)]}, anchored=False).sites(graph))
        'The pairs of the region bonds are edges of the clean graph, as if they were read off it.'
    """
    return " ".join(_sentences(sites))


def _sentences(sites: Sites) -> Iterator[str]:
    for number, (region, block) in enumerate(zip(sites.regions, sites.blocks, strict=True)):
        if not isinstance(block, Listed) and not len(block.holes):
            continue
        n_edges = len(sites.ones[number])
        if n_edges == block.size >= FEWEST:
            yield f"The pairs of the region {region} are edges of the clean graph, as if they were read off it."
        elif n_edges == 0 and _leaves_out_just_the_edges(block, sites.graph):
            yield f"The region {region} leaves out just the edges of the clean graph, as if they were read off it."


def _leaves_out_just_the_edges(block: AnyBlock, graph: Graph) -> bool:
    """Whether a block without any edge lacks nothing but edges."""
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    if isinstance(block, Listed):
        return block.size >= FEWEST and 0 < graph.n_edges == n_pairs - block.size
    edges = block.whole.locate(graph.edges[:, 0], graph.edges[:, 1], graph.n_nodes)
    return len(block.holes) >= FEWEST and int((edges >= 0).sum()) == len(block.holes)
