"""What all kernels share: graphs become flat arrays, features of training graphs columns, graphs rows.

A collection is the same for a list of graphs and for a batch of noisy copies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np

from starcert.classifiers.kernels.hashing import Counts, Floats, Hashes, Integers, look_up
from starcert.math.arithmetic import compiled
from starcert.objects import Graph, NodeFrame
from starcert.objects.content import digest
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.system.errors import InvalidParameterError, StarcertError

try:
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise StarcertError(
        f"Graph kernels need scikit-learn ({error}). Install it with: pip install 'starcert[kernels]'"
    ) from error

__all__ = ["DATA", "DEGREE", "Collection", "GraphKernel", "checked_graphs", "labels_in", "neighbours", "node_labels_of"]

DEGREE = "degree"
"""Node labels that are degrees, and no node data."""

DATA = "data"
"""Node labels that follow the training graphs; see `labels_in`."""

_USUAL = ("label", "atomic_number")
"""The names of node labels in TU data sets and in molecules."""


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
        """What the label of a node is: as specified, or as the training graphs have it."""
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
        """Whether `weighted_sums` counts no features: on small graphs it takes some ten nanoseconds a copy then."""
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
            listed = [X.frame.with_edges(())] if isinstance(X, NoisyGraphs) else checked_graphs(X)
            self.node_labels_ = labels_in(listed)
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


class Collection(NamedTuple):
    """Some graphs, one after the other.

    Attributes:
        nodes: where the nodes of each graph begin, and where the last one's end (graphs + 1 entries).
        starts: the same for the edges.
        u: one end of each edge, counted from 0 in its graph.
        v: the other end.
        labels: a hash for each node.
    """

    nodes: Integers
    starts: Integers
    u: Integers
    v: Integers
    labels: Hashes


def collect(graphs: Sequence[Graph] | NoisyGraphs, node_labels: str | None) -> Collection:
    """The collection of a list of graphs, or of the copies of a batch, with the node labels of `GraphKernel`.

    Example:
        >>> collect([Graph(3, [(0, 1), (1, 2)]), Graph(2, [])], "degree").labels.tolist()
        [1, 2, 1, 0, 0]
    """
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
        labels: Hashes = _degrees(nodes, *parts[:3])
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
    """The node labels of these graphs: the usual node data, if all of them have it; else "degree".

    Example:
        >>> labels_in([Graph(2, [(0, 1)], node_data={"atomic_number": [6, 8]})]), labels_in([Graph(2, [])])
        ('atomic_number', 'degree')
    """
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


@compiled
def _degrees(nodes: Integers, starts: Integers, u: Integers, v: Integers) -> Hashes:
    degrees = np.zeros(nodes[-1], np.uint64)
    for graph in range(nodes.size - 1):
        for edge in range(starts[graph], starts[graph + 1]):
            degrees[nodes[graph] + u[edge]] += np.uint64(1)
            degrees[nodes[graph] + v[edge]] += np.uint64(1)
    return degrees


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
