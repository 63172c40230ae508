"""Sets of sites of a graph, described by the names of nodes; a graph turns them into regions of its layers.

Sets of node pairs serve directed graphs too: they are both arcs of each pair.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from starcert.objects import blocks
from starcert.objects.arcs import BothWays, ListedArcs
from starcert.objects.graph import Graph
from starcert.objects.layers import Indices, Region
from starcert.objects.node_sites import NodeGrid, NodeLayer
from starcert.system.errors import InvalidParameterError

__all__ = [
    "Across",
    "ArcSet",
    "Everything",
    "Index",
    "Inside",
    "Node",
    "Nodes",
    "OfLayer",
    "Outside",
    "Pair",
    "PairSet",
    "Pairs",
    "SiteSet",
    "Within",
    "region_of",
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


@dataclass(frozen=True)
class ArcSet:
    """Arcs of a directed graph, one by one."""

    arcs: frozenset[tuple[Node, Node]]

    def block(self, index: Index) -> Region:
        """These arcs in a graph."""
        rows = index.of_nodes(node for arc in self.arcs for node in arc).reshape(-1, 2)
        return ListedArcs(rows[np.lexsort([rows[:, 1], rows[:, 0]])])


@dataclass(frozen=True)
class OfLayer:
    """A layer of a graph, or some nodes and columns of one that is data of nodes.

    Attributes:
        layer: the name of the layer.
        nodes: the nodes; None: all.
        columns: the numbers of the columns; None: all.
    """

    layer: str
    nodes: Nodes | None = None
    columns: frozenset[int] | None = None

    def block(self, index: Index) -> Region:
        """These sites in a graph."""
        known = {layer.name: layer for layer in index.graph.layers}
        if self.layer not in known:
            hint = "Data of nodes become a layer by graph.with_bits(name) or graph.with_categories(name, categories)."
            raise InvalidParameterError("regions", f"name layers of the graph, {', '.join(known)}", self.layer, hint)
        layer = known[self.layer]
        if self.nodes is None and self.columns is None:
            return layer.everything()
        if not isinstance(layer, NodeLayer):
            raise InvalidParameterError("regions", "take nodes or columns of data of nodes", self.layer)
        nodes = None if self.nodes is None else np.sort(index.of_nodes(self.nodes))
        columns = None if self.columns is None else np.array(sorted(self.columns), dtype=np.int64)
        if columns is not None and len(columns) and (columns[0] < 0 or columns[-1] >= layer.n_columns):
            raise InvalidParameterError(
                "columns", f"be below {layer.n_columns}, those of {self.layer}", int(columns[-1])
            )
        return NodeGrid(layer, nodes, columns)


PairSet: TypeAlias = Everything | Inside | Outside | Within | Across | Pairs
SiteSet: TypeAlias = PairSet | ArcSet | OfLayer


def region_of(part: SiteSet, index: Index) -> Region:
    """The sites of a set in a graph: of node pairs both arcs, where the graph is directed."""
    block = part.block(index)
    both = index.graph.directed and isinstance(block, blocks.Block | blocks.Listed)
    return BothWays(block) if both else block  # type: ignore[arg-type]  # what is told in the line above


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
