"""Graphs as kernels see them: flat arrays, the same for a list of graphs and for a batch of noisy copies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from starcert.core.arithmetic import compiled
from starcert.errors import InvalidParameterError
from starcert.graphs import Graph
from starcert.graphs.content import digest
from starcert.kernels.words import Integers, Words
from starcert.sampling.batch import EdgeList, NoisyGraphs

__all__ = ["DEGREE", "Collection", "checked_graphs", "collect", "neighbours", "node_labels_of"]

DEGREE = "degree"
"""The node label that is no node data: the degree."""


class Collection(NamedTuple):
    """Some graphs, one after the other.

    Attributes:
        nodes: where the nodes of each graph begin, and where the last one's end (graphs + 1 entries).
        starts: the same for the edges.
        u: one end of each edge, counted from 0 in its graph.
        v: the other end.
        labels: a word for each node.
    """

    nodes: Integers
    starts: Integers
    u: Integers
    v: Integers
    labels: Words


def collect(graphs: Sequence[Graph] | NoisyGraphs, node_labels: str | None) -> Collection:
    """The collection of a list of graphs, or of the copies of a batch.

    Args:
        graphs: starcert graphs, with one node at least.
        node_labels: "degree", the name of an attribute in the node data, or None: all nodes are alike.

    Example:
        >>> collect([Graph(3, [(0, 1), (1, 2)]), Graph(2, [])], "degree").labels.tolist()
        [1, 2, 1, 0, 0]
    """
    if not isinstance(node_labels, str | None):
        hint = "None makes all nodes alike."
        raise InvalidParameterError(
            "node_labels", "be 'degree' or the name of an attribute in node_data", node_labels, hint
        )
    if isinstance(graphs, NoisyGraphs):
        nodes = graphs.frame.n_nodes * np.arange(len(graphs) + 1)
        framed, times, parts = [graphs.frame.with_edges(())], len(graphs), graphs.edges()
    else:
        framed, times = checked_graphs(graphs), 1
        nodes = np.cumsum([0, *(graph.n_nodes for graph in framed)])
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in framed)])
        starts = np.cumsum([0, *(graph.n_edges for graph in framed)])
        parts = EdgeList(starts, pairs[:, 0].copy(), pairs[:, 1].copy())
    if node_labels == DEGREE:
        labels: Words = _degrees(nodes, *parts)
    elif node_labels is None:
        labels = np.zeros(nodes[-1], np.uint64)
    else:
        words = [_word(label) for graph in framed for label in node_labels_of(graph, node_labels)]
        labels = np.tile(np.array(words, np.uint64), times)
    return Collection(nodes, *parts, labels)


def checked_graphs(graphs: Sequence[Graph]) -> list[Graph]:
    """The graphs as a list, or an error that names what is none."""
    if isinstance(graphs, Graph | str) or not hasattr(graphs, "__iter__"):
        raise InvalidParameterError("X", "be a list of starcert Graphs", graphs)
    listed = list(graphs)
    for index, graph in enumerate(listed):
        if not isinstance(graph, Graph):
            hint = "Graph.from_networkx, from_numpy, from_scipy and from_pyg make one."
            raise InvalidParameterError(f"X[{index}]", "be a starcert Graph", graph, hint)
        if graph.n_nodes == 0:
            raise InvalidParameterError(f"X[{index}]", "have at least one node", graph)
    return listed


def node_labels_of(graph: Graph, node_labels: str) -> list[Hashable]:
    """The label of every node, by the name of an attribute in the node data."""
    if node_labels not in graph.node_data:
        known = ", ".join(map(repr, graph.node_data)) or "none"
        hint = f"{graph!r} has {known}."
        if node_labels in graph.anchored_data:
            hint = f"{node_labels!r} is anchored data, which tell of the clean graph's own edges. " + hint
        raise InvalidParameterError(
            "node_labels",
            "be 'degree' or the name of an attribute in node_data",
            node_labels,
            hint,
        )
    data: Any = graph.node_data[node_labels]
    labels = data.tolist() if hasattr(data, "tolist") else list(data)
    for label in labels:
        if not isinstance(label, Hashable):
            raise InvalidParameterError(f"node_data[{node_labels}]", "hold one hashable label for each node", label)
    return list(labels)


def _word(label: Hashable) -> int:
    """The same in every process; 1.0 is the label 1."""
    whole = isinstance(label, float) and label.is_integer()
    return int(digest(int(label) if whole or isinstance(label, bool) else label)[:16], 16)  # type: ignore[call-overload]


@compiled
def _degrees(nodes: Integers, starts: Integers, u: Integers, v: Integers) -> Words:
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
