"""Sets of node pairs, described by the names of nodes; a graph turns them into blocks of node indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from starcert.errors import InvalidParameterError
from starcert.graphs import blocks
from starcert.graphs.graph import Graph
from starcert.graphs.layers import Indices

__all__ = [
    "Across",
    "Everything",
    "Index",
    "Inside",
    "Node",
    "Nodes",
    "Outside",
    "Pair",
    "PairSet",
    "Pairs",
    "Within",
    "shared_pair",
]

Node: TypeAlias = Hashable
Nodes: TypeAlias = frozenset[Node]
Pair: TypeAlias = frozenset[Node]


class Index:
    """Where each node of a graph stands, by name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._places = {node: place for place, node in enumerate(graph.nodes)}

    def of_nodes(self, nodes: Iterable[Node]) -> Indices:
        """The indices of nodes, or an error that names the one that the graph does not have."""
        try:
            return np.fromiter((self._places[node] for node in nodes), dtype=np.int64)
        except KeyError as error:
            unknown = f"{self.graph!r} without a node {error.args[0]!r}"
            hint = "Regions speak of nodes by name: see graph.nodes."
            raise InvalidParameterError("graph", "have every node of the regions", unknown, hint) from None

    def of_pairs(self, pairs: Iterable[Pair]) -> Indices:
        """The indices u < v of pairs, one row each, in lexicographic order."""
        rows = np.sort(self.of_nodes(node for pair in pairs for node in pair).reshape(-1, 2), axis=1)
        return rows[np.lexsort([rows[:, 1], rows[:, 0]])]


@dataclass(frozen=True)
class Everything:
    """All node pairs of whatever graph there is."""

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        return blocks.inside(np.arange(index.graph.n_nodes))


@dataclass(frozen=True)
class Inside:
    """The pairs inside a node set, but for some."""

    nodes: Nodes
    but: frozenset[Pair] = frozenset()

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        return blocks.without(blocks.inside(index.of_nodes(self.nodes)), index.of_pairs(self.but))


@dataclass(frozen=True)
class Across:
    """The pairs between different groups of nodes, which are disjoint."""

    groups: tuple[Nodes, ...]

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        return blocks.across([index.of_nodes(group) for group in self.groups])


@dataclass(frozen=True)
class Within:
    """The pairs inside one of several groups of nodes, which are disjoint: what `Across` leaves out."""

    groups: tuple[Nodes, ...]

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        return blocks.within([index.of_nodes(group) for group in self.groups])


@dataclass(frozen=True)
class Outside:
    """All node pairs of whatever graph there is, but those inside a node set."""

    nodes: Nodes

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        ours = index.of_nodes(self.nodes)
        return blocks.outside(ours, np.setdiff1d(np.arange(index.graph.n_nodes), ours))


@dataclass(frozen=True)
class Pairs:
    """Pairs one by one."""

    pairs: frozenset[Pair]

    def block(self, index: Index) -> blocks.AnyBlock:
        """These pairs in a graph."""
        return blocks.Listed(index.of_pairs(self.pairs))


PairSet: TypeAlias = Everything | Inside | Outside | Within | Across | Pairs


def shared_pair(one: tuple[Nodes, Nodes], other: tuple[Nodes, Nodes]) -> tuple[Node, Node] | None:
    """Two different nodes that lie on the two sides of one and also on the two sides of the other, if there are any.

    The sides of the pairs between two sets are those sets; pairs inside a set have it on both sides. Sets are
    intersected and at most a few nodes are looked at, however many pairs there are.

    Example:
        >>> three, even = frozenset({1, 2, 3}), frozenset({2, 4})
        >>> shared_pair((three, three), (even, even)), shared_pair((three, even - three), (even, three - even))
        (None, (1, 4))
    """
    for first, second in (other, other[::-1]):
        left, right = one[0] & first, one[1] & second
        pair = next(((u, v) for u in left for v in right if u != v), None)
        if pair is not None:
            return pair
    return None
