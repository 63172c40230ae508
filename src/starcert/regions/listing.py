"""Two regions that share all node pairs of a graph: the smaller one is listed, the larger one is all the others."""

from __future__ import annotations

from starcert.errors import StarcertError
from starcert.graphs import Graph, Partition
from starcert.graphs.layers import Indices
from starcert.graphs.pairsets import Inside, Pairs, PairSet

__all__ = ["MOST_LISTED", "listed_against_rest", "too_many"]

MOST_LISTED = 1_000_000
"""The most node pairs that are listed one by one: each takes a few hundred bytes."""


def listed_against_rest(graph: Graph, pairs: Indices, listed: str, rest: str, order: tuple[str, str]) -> Partition:
    """A region of these pairs and a region of all others.

    Args:
        graph: the graph.
        pairs: node indices, one pair a row, each once.
        listed: the region of the pairs.
        rest: the region of the others.
        order: both regions, in the order that the partition has them.

    Example:
        >>> import numpy as np
        >>> graph = Graph(4, [])
        >>> partition = listed_against_rest(graph, np.array([[0, 2]]), "few", "many", ("many", "few"))
        >>> partition, partition.sites(graph).sizes
        (Partition(many, few), (5, 1))
    """
    if len(pairs) > MOST_LISTED:
        raise too_many(listed, rest)
    named = frozenset(frozenset((graph.nodes[u], graph.nodes[v])) for u, v in pairs.tolist())
    parts: dict[str, PairSet] = {listed: Pairs(named), rest: Inside(frozenset(graph.nodes), named)}
    return Partition(tuple((region, parts[region]) for region in order))


def too_many(one: str, other: str) -> StarcertError:
    """The error where neither region is small enough to be listed."""
    return StarcertError(
        f"The regions {one} and {other} both have more than {MOST_LISTED:,} node pairs, too many to be listed. "
        "Choose a threshold or a quantile that leaves fewer in one of them, or regions that are described by node sets."
    )
