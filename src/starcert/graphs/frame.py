"""The frame of a graph: what noise leaves alone. It is all that a classifier is told beside the noisy edges.

An answer that looks at the clean graph's edges is no function of the noisy copy, and a certificate for it would be
false. So whoever answers for noisy copies gets a frame, and whoever wants a graph gets the copy itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy.typing as npt

from starcert.graphs.content import digest
from starcert.graphs.graph import Graph

__all__ = ["Frame"]


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """The nodes of a graph, their names and their data, without any edge: the same for all its noisy copies.

    Attributes:
        n_nodes: how many nodes there are.
        nodes: the names of the nodes.
        node_data: the data of the nodes by attribute name.

    Example:
        >>> frame = Frame.of(Graph(3, [(0, 1), (1, 2)], node_data={"element": ["C", "N", "O"]}))
        >>> frame, frame.with_edges([(0, 2)])
        (Frame(3 nodes, node data: element), Graph(3 nodes, 1 edges, node data: element))
        >>> frame.key == Frame.of(frame.with_edges([])).key
        True
    """

    n_nodes: int
    nodes: tuple[Hashable, ...]
    node_data: Mapping[str, object]

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The frame of a graph."""
        return cls(graph.n_nodes, graph.nodes, graph.node_data)

    @cached_property
    def key(self) -> str:
        """A hex digest of the names of the nodes and their data: the same for equal frames everywhere."""
        named = self.nodes != tuple(range(self.n_nodes))
        return digest("frame", self.n_nodes, self.nodes if named else None, self.node_data)

    def with_edges(self, pairs: npt.ArrayLike | Iterable[tuple[int, int]]) -> Graph:
        """The graph that has these edges, pairs of node indices, in this frame."""
        return Graph(self.n_nodes, pairs, nodes=self.nodes, node_data=self.node_data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self is other or self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"Frame({self.n_nodes} nodes{data})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.n_nodes, self.nodes, dict(self.node_data))


def _restore(n_nodes: int, nodes: tuple[Hashable, ...], node_data: Mapping[str, object]) -> Frame:
    return Frame.of(Graph(n_nodes, (), nodes=nodes, node_data=node_data))
