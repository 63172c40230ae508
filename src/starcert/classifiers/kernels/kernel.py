"""Common parts of all kernels: graphs become flat arrays, features of training graphs columns, graphs rows.

What a kernel sees (a label, a pair of labels at a distance, a neighbourhood) becomes a 64-bit hash. Equal things have
equal hashes. Different ones collide with a probability of about 2⁻⁶⁴ a pair, which changes a feature and never a
certificate: the classifier remains a function of the noisy copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.objects import Graph, NodeFrame
from starcert.objects.content import digest
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.system.errors import InvalidParameterError, needing

with needing("Graph kernels need", "kernels"):
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted

Hashes = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DEGREE = "degree"  # node labels that are degrees, and no node data
DATA = "data"  # node labels that follow the training graphs; see `labels_in`
_USUAL = ("label", "atomic_number")  # the names of node labels in TU data sets and in molecules


class Collection(NamedTuple):
    """Graphs one after the other, from a list or from a batch of noisy copies."""

    nodes: Integers  # where the nodes of each graph begin, and where the last one's end (graphs + 1 entries)
    starts: Integers  # the same for the edges
    u: Integers  # one end of each edge, counted from 0 in its graph
    v: Integers  # the other end
    labels: Hashes  # a hash for each node


class Counts(NamedTuple):
    """Features by row, each once: where each row begins (rows + 1 entries), the features, how often each is there."""

    starts: Integers
    hashes: Hashes
    values: Floats

    def normalised(self) -> Counts:
        """With the values of every row divided by their Euclidean norm."""
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return self._replace(values=self.values / np.sqrt(np.bincount(rows, weights=self.values**2))[rows])


class GraphKernel(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A graph kernel κ(G, H) = ⟨φ(G), φ(H)⟩ by its feature map φ, a scikit-learn transformer of graphs.

    A class of kernels defines which features a graph has, in `count`.

    Args:
        node_labels: what the label of a node is: "degree", the name of an attribute in the node data, or None, which
            makes all nodes alike. "data": the node data `label` (TU data sets) or `atomic_number` (molecules), if all
            training graphs have it, and else degrees.
        normalize: divide φ(G) by its norm, features that training has not seen included. A graph without features
            stays zero.

    Attributes:
        known_: the features of the training graphs, as sorted hashes: the columns.
        node_labels_: where node labels follow the data, their name.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.svm import SVC
        >>> from starcert import Graph
        >>> from starcert.classifiers.kernels import WeisfeilerLehman
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> model = make_pipeline(WeisfeilerLehman(normalize=True), SVC(kernel="linear"))
        >>> model.fit([star, ring], ["star", "ring"]).predict([ring]).tolist()
        ['ring']
    """

    def __init__(self, *, node_labels: str | None = DATA, normalize: bool = False) -> None:
        self.node_labels = node_labels
        self.normalize = normalize

    @property
    def labels_used(self) -> str | None:
        """The label of a node: as specified, or as the training graphs have it."""
        return self.node_labels_ if self.node_labels == DATA else self.node_labels

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803  (scikit-learn's name)
        shown: str = super().__repr__(N_CHAR_MAX)
        follows = self.node_labels == DATA and hasattr(self, "known_")
        return f"{shown} on node labels {self.node_labels_!r}" if follows else shown

    @abstractmethod
    def count(self, graphs: Collection) -> Counts:
        """The features of each graph, a function of that graph alone."""

    @property
    def is_quick(self) -> bool:
        """True if `weighted_sums` counts no features."""
        return False

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """The bytes that a graph of this size takes while its features are counted."""
        return 400.0 * (n_nodes + n_edges)

    def fit(self, X: Sequence[Graph] | NoisyGraphs, y: object = None) -> Self:  # noqa: N803
        """Learn which features there are."""
        self.fit_transform(X)
        return self

    def transform(self, X: Sequence[Graph] | NoisyGraphs) -> Any:  # noqa: ANN401, N803  (scipy carries no types)
        """The features of each graph, a sparse matrix (graphs, columns), without those that training has not seen."""
        check_is_fitted(self, "known_")
        return self._matrix(self._counted(X))

    def fit_transform(self, X: Sequence[Graph] | NoisyGraphs, y: object = None) -> Any:  # noqa: ANN401, N803
        """Both, counted once."""
        if self.node_labels == DATA:
            self.node_labels_ = labels_in([X.frame.with_edges(())] if isinstance(X, NoisyGraphs) else checked_graphs(X))
        counts = self._counted(X)
        self.known_ = np.unique(counts.hashes)
        return self._matrix(counts)

    def weighted_sums(self, graphs: NoisyGraphs, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """For each copy the weighted sum of its features, and a bound on that sum for weights of these sizes, ≥ 0."""
        features = self.transform(graphs)
        return features @ weights, features @ sizes

    def _counted(self, graphs: Sequence[Graph] | NoisyGraphs) -> Counts:
        counts = self.count(collect(graphs, self.labels_used))
        return counts.normalised() if self.normalize else counts

    def _matrix(self, counts: Counts) -> Any:  # noqa: ANN401
        begins, columns, values = look_up(*counts, self.known_)
        return csr_array((values, columns, begins.astype(np.int32)), shape=(len(begins) - 1, len(self.known_)))


def collect(graphs: Sequence[Graph] | NoisyGraphs, node_labels: str | None) -> Collection:
    """The collection of a list of graphs, or of the copies of a batch, with the node labels of `GraphKernel`."""
    if not isinstance(node_labels, str | None):
        requirement = "be 'degree' or the name of an attribute in node_data"
        raise InvalidParameterError("node_labels", requirement, node_labels, "None makes all nodes alike.")
    if isinstance(graphs, NoisyGraphs):
        nodes = graphs.frame.n_nodes * np.arange(len(graphs) + 1)
        framed, times, parts = [graphs.frame.with_edges(())], len(graphs), graphs.edges()
        refuse_directed(graphs.frame)
    else:
        framed, times = checked_graphs(graphs), 1
        nodes = np.cumsum([0, *(graph.n_nodes for graph in framed)])
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in framed)])
        starts = np.cumsum([0, *(graph.n_edges for graph in framed)])
        parts = EdgeList(starts, pairs[:, 0].copy(), pairs[:, 1].copy())
    if node_labels == DEGREE:
        counted = [graphs.degrees().reshape(-1)] if isinstance(graphs, NoisyGraphs) else map(_degrees, framed)
        labels: Hashes = np.concatenate([np.empty(0, np.uint64), *counted]).astype(np.uint64)
    elif node_labels is None:
        labels = np.zeros(nodes[-1], np.uint64)
    elif isinstance(graphs, NoisyGraphs) and node_labels in graphs.frame.node_sites:
        shown = graphs.frame.node_sites[node_labels]
        if shown.categories is None:
            hint = "Name the categories: graph.with_categories(name, categories)."
            raise InvalidParameterError("node_labels", "have a name for each category", node_labels, hint)
        hashes = np.array([_hash(category) for category in shown.categories], np.uint64)
        labels = hashes[graphs.node_values(node_labels).reshape(-1)]
    else:
        listed = [_hash(label) for graph in framed for label in node_labels_of(graph, node_labels)]
        labels = np.tile(np.array(listed, np.uint64), times)
    return Collection(nodes, *parts[:3], labels)


def checked_graphs(graphs: Sequence[Graph]) -> list[Graph]:
    """The graphs as a list, or an error that names the first value that is not a graph."""
    if isinstance(graphs, Graph | str) or not hasattr(graphs, "__iter__"):
        raise InvalidParameterError("X", "be a list of starcert Graphs", graphs)
    listed = list(graphs)
    for index, graph in enumerate(listed):
        if not isinstance(graph, Graph):
            hint = "Graph.from_networkx, from_numpy, from_scipy and from_pyg make one."
            raise InvalidParameterError(f"X[{index}]", "be a starcert Graph", graph, hint)
        if graph.n_nodes == 0:
            raise InvalidParameterError(f"X[{index}]", "have at least one node", graph)
        refuse_directed(graph.frame)
    return listed


def refuse_directed(frame: NodeFrame) -> None:
    """Kernels count neighbours without direction: what only the direction shows would be lost silently."""
    if frame.directed:
        hint = "Make the graph undirected, or use a model that reads directions (from_pyg, from_callable)."
        raise InvalidParameterError("X", "hold undirected graphs, for kernels", frame, hint)


def labels_in(graphs: Sequence[Graph]) -> str:
    """The node labels of these graphs: the usual node data, if all of them have it; else "degree"."""
    for name in _USUAL if graphs else ():
        with suppress(InvalidParameterError):  # there are none of this name, or rows of numbers
            for graph in graphs:
                node_labels_of(graph, name)
            return name
    return DEGREE


def node_labels_of(graph: Graph, node_labels: str) -> list[Hashable]:
    """The label of every node, by the name of an attribute in the node data."""
    if node_labels not in graph.node_data:
        known = ", ".join(map(repr, graph.node_data)) or "none"
        hint = f"{graph!r} has {known}."
        if node_labels in graph.anchored_data:
            hint = f"{node_labels!r} is anchored data, which tell of the clean graph's own edges. " + hint
        requirement = "be 'degree' or the name of an attribute in node_data"
        raise InvalidParameterError("node_labels", requirement, node_labels, hint)
    data: Any = graph.node_data[node_labels]
    labels = data.tolist() if hasattr(data, "tolist") else list(data)
    for label in labels:
        if not isinstance(label, Hashable):
            raise InvalidParameterError(f"node_data[{node_labels}]", "hold one hashable label for each node", label)
    return list(labels)


def _hash(label: Hashable) -> int:
    """The same in every process; 1.0 is the label 1."""
    whole = isinstance(label, float) and label.is_integer()
    return int(digest(int(label) if whole or isinstance(label, bool) else label)[:16], 16)  # type: ignore[call-overload]


def _degrees(graph: Graph) -> Integers:
    return np.bincount(graph.edges.reshape(-1), minlength=graph.n_nodes)


@compiled
def neighbours(graphs: Collection, graph: int) -> tuple[Integers, Integers]:
    """Where the neighbours of each node of a graph begin, and all neighbours: `near[begin[i]:begin[i + 1]]` are i's."""
    n, first, last = graphs.nodes[graph + 1] - graphs.nodes[graph], graphs.starts[graph], graphs.starts[graph + 1]
    end, near = np.zeros(n + 1, np.int64), np.empty(2 * (last - first), np.int64)
    for edge in range(first, last):
        end[graphs.u[edge]] += 1
        end[graphs.v[edge]] += 1
    for node in range(1, n + 1):
        end[node] += end[node - 1]
    for edge in range(first, last):  # from the back: every end becomes a beginning
        for one, other in ((graphs.u[edge], graphs.v[edge]), (graphs.v[edge], graphs.u[edge])):
            end[one] -= 1
            near[end[one]] = other
    return end, near


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Another hash for each hash, without any pattern (the finaliser of splitmix64)."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def join(first: np.uint64, second: np.uint64) -> np.uint64:
    """A hash of two in this order. The sum of mixed hashes is one of hashes in no order, and may be the second here."""
    joined: np.uint64 = mix(mix(~first) + second)  # not mix(first): it could be one more term of such a sum
    return joined


@compiled
def slot(table: Integers, hashes: Hashes, value: np.uint64) -> np.int64:
    """Where a hash table holds the place of a value among some hashes, or the free slot where it would."""
    mask = np.uint64(table.size - 1)
    at = mix(value) & mask
    while table[at] >= 0 and hashes[table[at]] != value:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@compiled
def empty_table(entries: int) -> Integers:
    """A hash table with room for this many places in a list of hashes, which is kept beside it; −1 is free."""
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    return np.full(slots, -1, np.int64)


@compiled
def look_up(
    starts: Integers, hashes: Hashes, values: Floats, known: Hashes
) -> tuple[Integers, npt.NDArray[np.int32], Floats]:
    """Rows of features as rows of a sparse matrix, with a column for each known hash; the others are left out."""
    table = empty_table(known.size)
    for place in range(known.size):
        table[slot(table, known, known[place])] = place
    begins, columns, kept = np.zeros(starts.size, np.int64), np.empty(hashes.size, np.int32), np.empty(hashes.size)
    end = 0
    for row in range(starts.size - 1):
        for i in range(starts[row], starts[row + 1]):
            place = table[slot(table, known, hashes[i])]
            if place >= 0:
                columns[end], kept[end] = place, values[i]
                end += 1
        begins[row + 1] = end
    return begins, columns[:end], kept[:end]


def count_hashes(starts: Integers, ends: Integers, hashes: Hashes) -> Counts:
    """The features of rows of hashes, where row i is `hashes[starts[i]:ends[i]]`."""
    return Counts(*_count_hashes(starts, ends, hashes))


@compiled
def _count_hashes(starts: Integers, ends: Integers, hashes: Hashes) -> tuple[Integers, Hashes, Floats]:
    begins = np.zeros(starts.size + 1, np.int64)
    found, counts = np.empty(hashes.size, np.uint64), np.zeros(hashes.size)
    end = 0
    for row in range(starts.size):
        for value in np.sort(hashes[starts[row] : ends[row]]):
            if end == begins[row] or found[end - 1] != value:
                found[end] = value
                end += 1
            counts[end - 1] += 1.0
        begins[row + 1] = end
    return begins, found[:end].copy(), counts[:end].copy()
