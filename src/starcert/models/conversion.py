"""Graphs as GraKeL wants them: an adjacency matrix, a label for every node, a label for every edge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph

__all__ = ["DEGREE", "grakel_input", "node_labels_of"]

DEGREE = "degree"
"""The node label that is no node data: the degree."""

EDGE_LABEL = 1
"""Edges have no labels of their own: all have this one."""


def grakel_input(graphs: Sequence[Graph], node_labels: str) -> list[list[Any]]:
    """One list (adjacency matrix, node labels, edge labels) for each graph, the nodes called 0, 1, ….

    Args:
        graphs: starcert graphs, with one node at least.
        node_labels: "degree", or the name of an attribute in the node data.

    Example:
        >>> adjacency, labels, edges = grakel_input([Graph(3, [(0, 1), (1, 2)])], "degree")[0]
        >>> labels
        {0: 1, 1: 2, 2: 1}
    """
    if not isinstance(node_labels, str):
        raise InvalidParameterError("node_labels", "be 'degree' or the name of an attribute in node_data", node_labels)
    if isinstance(graphs, Graph | str) or not hasattr(graphs, "__iter__"):
        raise InvalidParameterError("X", "be a list of starcert Graphs", graphs)
    converted = []
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            hint = "Graph.from_networkx, from_numpy, from_scipy and from_pyg make one."
            raise InvalidParameterError(f"X[{index}]", "be a starcert Graph", graph, hint)
        if graph.n_nodes == 0:
            raise InvalidParameterError(f"X[{index}]", "have at least one node", graph)
        labels = dict(enumerate(node_labels_of(graph, node_labels)))
        edges = {(u, v): EDGE_LABEL for one, other in graph.edges.tolist() for u, v in ((one, other), (other, one))}
        # GraKeL takes a graph without edge labels for unlabelled and refuses it; nobody looks at a label of no edge.
        converted.append([graph.to_numpy().astype(int), labels, edges or {(0, 0): EDGE_LABEL}])
    return converted


def node_labels_of(graph: Graph, node_labels: str) -> list[Hashable]:
    """The label of every node."""
    if node_labels == DEGREE:
        degrees = [0] * graph.n_nodes
        for end in graph.edges.reshape(-1).tolist():
            degrees[end] += 1
        return list(degrees)
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
