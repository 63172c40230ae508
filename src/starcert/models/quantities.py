"""Numbers of a graph whose change under few added and deleted edges is known: what `Statistics` learns from.

Of each quantity two things are known: its values on a graph, and a box that holds its values on every graph that
at most d deleted and a added edges make of it. The proofs are in docs/mathematics.md, and the tests enumerate them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects import Graph
from starcert.system.errors import InvalidParameterError

Whole = npt.NDArray[np.int64]

LABEL = "label"  # the node data that hold the labels of nodes
TAILS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)  # the degrees d of which "d or more" is counted
LARGEST = 8  # how many of the largest degrees and core numbers there are
MAX_LABELS = 16  # of more labels, the rarest count as one


class ValueBox(NamedTuple):
    """The values between two corners, both within it."""

    low: Whole
    high: Whole


@dataclass(frozen=True)
class Quantity(ABC):
    """Some numbers of a graph, none below 0, and how far few changes of edges move them.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> EdgeCount().values(ring), EdgeCount().box(ring, deletions=1, additions=9)
        (array([4]), ValueBox(low=array([3]), high=array([6])))
    """

    labels: tuple[Hashable, ...] = ()  # the labels of nodes in the training graphs

    name: ClassVar[str]
    moves: ClassVar[bool] = True  # whether edges change it at all

    @abstractmethod
    def values(self, graph: Graph) -> Whole:
        """Its values on a graph."""

    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[Whole | int, Whole | int]:
        """By how much it falls and grows at most, after at most these numbers of deleted and added edges."""
        return 0, 0

    def box(self, graph: Graph, deletions: int, additions: int) -> ValueBox:
        """A box that holds its values after at most these numbers of deleted and added edges."""
        now, (down, up) = self.values(graph), self.reach(graph, deletions, additions)
        return ValueBox(np.maximum(0, now - down), now + up)

    def points(self, graph: Graph, deletions: int, additions: int, limit: int) -> Whole | None:
        """All values that it may have then, one a row; None if they may be more than a limit."""
        low, high = self.box(graph, deletions, additions)
        if np.prod(high - low + 1.0) > limit:
            return None
        axes = np.meshgrid(*(np.arange(start, end + 1) for start, end in zip(low, high, strict=True)), indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1) if axes else np.zeros((1, 0), dtype=np.int64)


class NodeCount(Quantity):
    """The number of nodes."""

    name, moves = "nodes", False

    @override
    def values(self, graph: Graph) -> Whole:
        return np.array([graph.n_nodes])


class LabelCounts(Quantity):
    """The number of nodes with each label of the training graphs, and with another one."""

    name, moves = "labels", False

    @override
    def values(self, graph: Graph) -> Whole:
        return np.bincount(_label_numbers(graph, self.labels), minlength=len(self.labels) + 1)


class EdgeCount(Quantity):
    """The number of edges."""

    name = "edges"

    @override
    def values(self, graph: Graph) -> Whole:
        return np.array([graph.n_edges])

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, int]:
        return deletions, min(additions, graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges)


class EdgesByLabel(Quantity):
    """The number of edges that join nodes of each two labels."""

    name = "edges by label"

    @override
    def values(self, graph: Graph) -> Whole:
        n = len(self.labels) + 1
        return np.bincount(self.places(graph, graph.edges), minlength=n * (n + 1) // 2)

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, Whole]:
        return deletions, np.minimum(self._absent(graph), additions)

    @override
    def points(self, graph: Graph, deletions: int, additions: int, limit: int) -> Whole | None:
        """All of them: what is lost and what is gained on each pair of labels, at most so much in all."""
        present, absent = self.values(graph), self._absent(graph)
        lost, gained = (
            list(_vectors(most, total, limit)) for most, total in ((present, deletions), (absent, additions))
        )
        if len(lost) * len(gained) > limit:
            return None
        every = np.array(gained)[:, None] - np.array(lost)[None]
        return np.unique(present + every.reshape(-1, len(present)), axis=0)

    def _absent(self, graph: Graph) -> Whole:
        sizes = np.bincount(_label_numbers(graph, self.labels), minlength=len(self.labels) + 1)
        i, j = np.triu_indices(len(sizes))
        return np.where(i == j, sizes[i] * (sizes[i] - 1) // 2, sizes[i] * sizes[j]) - self.values(graph)

    def places(self, graph: Graph, pairs: Whole) -> Whole:
        """Which of the numbers counts an edge at each of these pairs."""
        number, n = _label_numbers(graph, self.labels), len(self.labels) + 1
        place = np.zeros((n, n), dtype=np.int64)
        place[np.triu_indices(n)] = np.arange(n * (n + 1) // 2)
        first, second = np.sort(number[pairs], axis=1).T
        found: Whole = place[first, second]
        return found


class DegreeCounts(Quantity):
    """The number of nodes with at least 1, 2, 3, … edges: a changed edge moves two nodes by one."""

    name = "degrees"

    @override
    def values(self, graph: Graph) -> Whole:
        found: Whole = (_degrees(graph)[:, None] >= np.array(TAILS)).sum(axis=0)
        return found

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, Whole]:
        return 2 * deletions, np.minimum(2 * additions, graph.n_nodes - self.values(graph))


class LargestDegrees(Quantity):
    """The largest degrees in descending order, each of which an edge moves by at most one."""

    name = "largest degrees"

    @override
    def values(self, graph: Graph) -> Whole:
        return _largest(_degrees(graph))

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, Whole]:
        n = graph.n_nodes
        most = np.where(np.arange(LARGEST) < n, max(0, n - 1), 0)
        return deletions, np.minimum(additions, most - self.values(graph))


class CoreNumbers(LargestDegrees):
    """The largest core numbers, likewise."""

    name = "cores"

    @override
    def values(self, graph: Graph) -> Whole:
        import networkx as nx  # noqa: PLC0415  (slow to import)

        numbers = nx.core_number(graph.to_networkx())
        return _largest(np.array(list(numbers.values()), dtype=np.int64))


class TriangleCount(Quantity):
    """The number of triangles."""

    name = "triangles"

    @override
    def values(self, graph: Graph) -> Whole:
        common, (u, v) = _common_neighbours(graph), graph.edges.T
        return np.array([common[u, v].sum() // 3])

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, int]:
        """A lost triangle holds a deleted edge; a new one holds one added edge, or is the only one of two of them."""
        common, absent = _common_neighbours(graph), np.triu(np.ones((graph.n_nodes,) * 2, dtype=bool), 1)
        u, v = graph.edges.T
        absent[u, v] = False
        lost, gained = (np.sort(some)[::-1] for some in (common[u, v], common[absent]))
        return int(lost[:deletions].sum()), int(gained[:additions].sum()) + additions * (additions - 1) // 2


class ComponentCount(Quantity):
    """The number of connected components."""

    name = "components"

    @override
    def values(self, graph: Graph) -> Whole:
        from scipy.sparse import coo_array, csgraph  # noqa: PLC0415  (slow to import)

        u, v = graph.edges.T
        matrix = coo_array((np.ones(len(u)), (u, v)), shape=(graph.n_nodes,) * 2)
        return np.array([csgraph.connected_components(matrix, directed=False)[0] if graph.n_nodes else 0])

    @override
    def reach(self, graph: Graph, deletions: int, additions: int) -> tuple[int, int]:
        (now,), n = self.values(graph).tolist(), graph.n_nodes
        least = max(min(1, n), now - additions, n - graph.n_edges - additions)
        return now - least, min(deletions, n - now)


QUANTITIES: dict[str, type[Quantity]] = {
    each.name: each
    for each in (NodeCount, LabelCounts, EdgeCount, EdgesByLabel, DegreeCounts, LargestDegrees, CoreNumbers,
                 TriangleCount, ComponentCount)
}  # fmt: skip


def quantities_named(names: Sequence[str], train: Sequence[Graph]) -> tuple[Quantity, ...]:
    """The quantities with these names, with the labels of training graphs."""
    for name in names:
        if name not in QUANTITIES:
            raise InvalidParameterError("quantities", f"be some of {', '.join(QUANTITIES)}", name)
    labels = _labels_of(train)
    return tuple(QUANTITIES[name](labels) for name in names)


def _labels_of(graphs: Sequence[Graph]) -> tuple[Hashable, ...]:
    every = [np.asarray(graph.node_data[LABEL]) for graph in graphs if LABEL in graph.node_data]
    if not every:
        return ()
    labels, counts = np.unique(np.concatenate(every), return_counts=True)
    frequent = labels[np.argsort(-counts, kind="stable")[:MAX_LABELS]]
    return tuple(sorted(frequent.tolist(), key=str))


def _label_numbers(graph: Graph, labels: tuple[Hashable, ...]) -> Whole:
    place = {label: number for number, label in enumerate(labels)}
    given = graph.node_data.get(LABEL) if labels else None
    if given is None:
        return np.full(graph.n_nodes, len(labels))
    return np.array([place.get(label, len(labels)) for label in np.asarray(given).tolist()], dtype=np.int64)


def _degrees(graph: Graph) -> Whole:
    return np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)


def _largest(numbers: Whole) -> Whole:
    found = np.zeros(LARGEST, dtype=np.int64)
    ranked = np.sort(numbers)[::-1][:LARGEST]
    found[: len(ranked)] = ranked
    return found


def _common_neighbours(graph: Graph) -> Whole:
    matrix = np.zeros((graph.n_nodes,) * 2, dtype=np.int64)
    u, v = graph.edges.T
    matrix[u, v] = matrix[v, u] = 1
    return matrix @ matrix


def _vectors(most: Whole, total: int, limit: int) -> Iterator[tuple[int, ...]]:
    """The whole vectors from 0 to `most` with at most this sum; no more than `limit` + 1 of them."""
    free = np.flatnonzero(most).tolist()
    n = 0
    for size in range(min(total, int(most.sum())) + 1):
        for chosen in combinations_with_replacement(free, size):
            counts = np.bincount(chosen, minlength=len(most)) if chosen else np.zeros(len(most), dtype=np.int64)
            if (counts <= most).all():
                yield tuple(counts.tolist())
                n += 1
                if n > limit:
                    return
