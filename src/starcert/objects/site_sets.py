"""Sets of sites of a graph, described by the names of nodes; a graph turns them into regions of its layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from typing_extensions import override

from starcert.objects import blocks
from starcert.objects.blocks import AnyBlock
from starcert.objects.graph import Graph
from starcert.objects.layers import Indices, NodeGrid, NodeLayer, Region
from starcert.system.errors import InvalidParameterError

Node: TypeAlias = Hashable
Nodes: TypeAlias = frozenset[Node]
Pair: TypeAlias = frozenset[Node]


class Index:
    """The places of a graph's nodes, by name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._places = {node: place for place, node in enumerate(graph.nodes)}

    def of_nodes(self, nodes: Iterable[Node]) -> Indices:
        """The indices of nodes, or an error that names the one that the graph does not have."""
        try:
            return np.fromiter((self._places[node] for node in nodes), dtype=np.int64)
        except KeyError as error:
            unknown = f"{self.graph!r} without a node {error.args[0]!r}"
            hint = "Regions go by the names of nodes: see graph.nodes."
            raise InvalidParameterError("graph", "have every node of the regions", unknown, hint) from None

    def of_pairs(self, pairs: Iterable[Iterable[Node]], *, swap: bool = True) -> Indices:
        """The indices of pairs, one row each, in lexicographic order; u < v in every row unless `swap` is False."""
        rows = self.of_nodes(node for pair in pairs for node in pair).reshape(-1, 2)
        rows = np.sort(rows, axis=1) if swap else rows
        return rows[np.lexsort([rows[:, 1], rows[:, 0]])]


class SiteSet(ABC):
    """A set of sites of whatever graph has the nodes."""

    @abstractmethod
    def region(self, index: Index) -> Region:
        """These sites in a graph."""


class PairSet(SiteSet):
    """A set of node pairs; of a directed graph, both arcs of each pair."""

    @abstractmethod
    def block(self, index: Index) -> AnyBlock:
        """These pairs in a graph."""

    @override
    def region(self, index: Index) -> Region:
        block = self.block(index)
        return blocks.BothWays(block) if index.graph.directed else block


@dataclass(frozen=True)
class Inside(PairSet):
    """The pairs inside a node set, but for some."""

    nodes: Nodes
    but: frozenset[Pair] = frozenset()

    @override
    def block(self, index: Index) -> AnyBlock:
        block = blocks.inside(index.of_nodes(self.nodes))
        return blocks.without(block, index.of_pairs(self.but)) if self.but else block


@dataclass(frozen=True)
class Across(PairSet):
    """The pairs between different groups of nodes; these are disjoint."""

    groups: tuple[Nodes, ...]

    @override
    def block(self, index: Index) -> AnyBlock:
        return blocks.across([index.of_nodes(group) for group in self.groups])


@dataclass(frozen=True)
class Within(PairSet):
    """The pairs inside one of several groups of nodes, which are disjoint: what `Across` leaves out."""

    groups: tuple[Nodes, ...]

    @override
    def block(self, index: Index) -> AnyBlock:
        return blocks.within([index.of_nodes(group) for group in self.groups])


@dataclass(frozen=True)
class Outside(PairSet):
    """All node pairs of whatever graph there is, but those inside a node set; with an empty set, simply all pairs."""

    nodes: Nodes = frozenset()

    @override
    def block(self, index: Index) -> AnyBlock:
        ours = index.of_nodes(self.nodes)
        return blocks.outside(ours, np.setdiff1d(np.arange(index.graph.n_nodes), ours))


@dataclass(frozen=True)
class Pairs(PairSet):
    """Pairs one by one."""

    pairs: frozenset[Pair]

    @override
    def block(self, index: Index) -> AnyBlock:
        return blocks.Listed(index.of_pairs(self.pairs))


@dataclass(frozen=True)
class ArcSet(SiteSet):
    """Arcs of a directed graph, one by one."""

    arcs: frozenset[tuple[Node, Node]]

    @override
    def region(self, index: Index) -> Region:
        return blocks.Listed(index.of_pairs(self.arcs, swap=False), directed=True)


@dataclass(frozen=True)
class OfLayer(SiteSet):
    """A layer of a graph, or some nodes and columns of one that is data of nodes; None: all."""

    layer: str
    nodes: Nodes | None = None
    columns: frozenset[int] | None = None

    @override
    def region(self, index: Index) -> Region:
        known = {layer.name: layer for layer in index.graph.layers}
        if self.layer not in known:
            hint = "Data of nodes become a layer by graph.with_bits(name) or graph.with_categories(name, categories)."
            raise InvalidParameterError("regions", f"name layers of the graph, {', '.join(known)}", self.layer, hint)
        layer = known[self.layer]
        if self.nodes is None and self.columns is None:
            return layer.everything()
        if not isinstance(layer, NodeLayer):
            raise InvalidParameterError("regions", "take nodes or columns of data of nodes", self.layer)
        nodes = np.sort(index.of_nodes(index.graph.nodes if self.nodes is None else self.nodes))
        chosen = range(layer.n_columns) if self.columns is None else sorted(self.columns)
        columns = np.array(chosen, dtype=np.int64)
        if len(columns) and (columns[0] < 0 or columns[-1] >= layer.n_columns):
            wanted = f"be below {layer.n_columns}, those of {self.layer}"
            raise InvalidParameterError("columns", wanted, int(columns[-1]))
        return NodeGrid(layer, nodes, columns)
