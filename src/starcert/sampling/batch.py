"""A batch of noisy copies of one graph, and the views of it that classifiers ask for.

Samplers know sites and flips; only here do node pairs come back. Nothing is built before it is asked for. Every view,
down to the order of its edges, is a function of the copies and of what noise leaves alone, never of the clean graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled

if TYPE_CHECKING:
    import networkx as nx

    from starcert.graphs import Frame, Graph, Sites

__all__ = ["EdgeList", "NoisyGraphs"]

Integers = npt.NDArray[np.int64]

CLEAN_GRAPH = "An answer that looks at the clean graph is not a function of the noisy copy: use batch.frame."


class EdgeList(NamedTuple):
    """The edges of all copies, one after the other.

    Attributes:
        starts: where the edges of each copy begin, and where the last one's end (copies + 1 entries).
        u: one end of each edge, a node index from 0.
        v: the other end, larger than u.
    """

    starts: Integers
    u: Integers
    v: Integers

    def pairs(self) -> Iterator[Integers]:
        """The edges of each copy, shape (edges, 2)."""
        listed = np.column_stack([self.u, self.v])
        for begin, end in pairwise(self.starts.tolist()):
            yield listed[begin:end]


class NoisyGraphs(ABC):
    """Noisy copies of one graph. Fixed sites are as they were; every copy is simple and undirected."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    @property
    def frame(self) -> Frame:
        """What noise leaves alone: the nodes, their names and their data."""
        return self._sites.frame

    @property
    def graph(self) -> NoReturn:
        """The clean graph is shown to nobody."""
        raise ValueError(CLEAN_GRAPH)

    @property
    def sites(self) -> NoReturn:
        """The sites know the clean graph, and are shown to nobody."""
        raise ValueError(CLEAN_GRAPH)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, samples: slice) -> NoisyGraphs:
        """Some of the copies."""

    @property
    @abstractmethod
    def bits(self) -> npt.NDArray[np.uint8]:
        """The noisy bit of every site that may move, shape (copies, sites)."""

    @abstractmethod
    def edges(self) -> EdgeList:
        """The edges of all copies, fixed ones included."""

    @abstractmethod
    def degrees(self) -> npt.NDArray[np.int32]:
        """The degree of every node, shape (copies, nodes)."""

    def split(self, most: int) -> Iterator[NoisyGraphs]:
        """The copies in portions of at most so many."""
        for start in range(0, len(self), most):
            yield self[start : start + most]

    def adjacency(self) -> npt.NDArray[np.uint8]:
        """Dense adjacency matrices, shape (copies, nodes, nodes)."""
        edges, n = self.edges(), self.frame.n_nodes
        dense = np.zeros((len(self), n, n), dtype=np.uint8)
        copy = np.repeat(np.arange(len(self)), np.diff(edges.starts))
        dense[copy, edges.u, edges.v] = 1
        dense[copy, edges.v, edges.u] = 1
        return dense

    def edge_index(self) -> tuple[Integers, Integers]:
        """All copies as one block-diagonal graph: `edge_index` in both directions, and the copy of each node."""
        n = self.frame.n_nodes
        return _both_directions(*self.edges(), n), np.repeat(np.arange(len(self)), n)

    def copies(self) -> Iterator[Graph]:
        """Each copy as a starcert `Graph`."""
        return map(self.frame.with_edges, self.edges().pairs())

    def networkx(self) -> Iterator[nx.Graph]:
        """Each copy as a networkx graph with the names and the data of the nodes."""
        import networkx as nx  # noqa: PLC0415  (a tenth of a second)

        nodes = self.frame.nodes
        template = self.frame.with_edges(()).to_networkx()
        for pairs in self.edges().pairs():
            copy = nx.Graph(template)
            copy.add_edges_from((nodes[u], nodes[v]) for u, v in pairs.tolist())
            yield copy


@compiled
def _both_directions(starts: Integers, u: Integers, v: Integers, n_nodes: int) -> Integers:
    """Every edge there and back, the nodes of copy i counted from i · n_nodes."""
    index = np.empty((2, 2 * u.size), np.int64)
    for copy in range(starts.size - 1):
        shift = copy * n_nodes
        for k in range(starts[copy], starts[copy + 1]):
            one, other = u[k] + shift, v[k] + shift
            index[0, 2 * k] = index[1, 2 * k + 1] = one
            index[1, 2 * k] = index[0, 2 * k + 1] = other
    return index
