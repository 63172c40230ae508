"""Regions by what nodes are: the pairs inside one label, and the pairs between different labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition
from starcert.graphs.content import is_tensor
from starcert.graphs.pairsets import Across, Nodes, Within
from starcert.regions.builder import Builder
from starcert.regions.rule import RegionRule, divided
from starcert.regions.text import text_of, words_of

__all__ = ["BUILDER", "OTHER", "data_of", "node_labels"]

_WHY = "The kind of a node is known apart from its edges, and ties inside a kind differ from ties between kinds."

OTHER = "other"
"""The region of the labels that are not listed."""


def node_labels(
    attribute: str = "label",
    *,
    between: str | None = None,
    inside: str | None = None,
    labels: str | list[str] | tuple[str, ...] | None = None,
) -> RegionRule:
    """Regions of the pairs whose nodes carry the same label, and of those whose labels differ.

    They follow from the data of the nodes alone, which no attack on edges changes: not anchored. (That is true as long
    as the data are: a label that was computed from the edges, such as a degree, is anchored in fact, and only its
    author can know. Labels among the graph's `anchored_data` are known to be, and so are regions that are read off
    them.)

    A noise has the same regions for all graphs, but a graph may lack a label. One-hot rows have a region for each
    column, used or not. For plain labels either say which have a region of their own (`labels`), or put all pairs of
    equal labels into one region (`inside`).

    Args:
        attribute: the node data with the labels: one for each node, or one-hot rows, whose label is their column.
        between: the region of all pairs with different labels, which are fixed otherwise.
        inside: one region for all pairs with equal labels; by default each label has a region, called as the label.
        labels: the labels that have a region of their own in every graph, in text 0/1/2; all others share the region
            `other`. By default those that a graph has, in the order in which its nodes first show them.

    Example:
        >>> graph = Graph(4, [(0, 1)], node_data={"label": [6, 6, 8, 8]})
        >>> node_labels("label", between="mixed")(graph)
        Partition(6, 8, mixed)
        >>> node_labels("label", inside="same", between="mixed")(graph).sites(graph).sizes
        (2, 4)
    """
    if not isinstance(attribute, str) or not attribute:
        raise InvalidParameterError("attribute", "be the name of node data", attribute, "TU graphs have 'label', 'x'.")
    for name, region in (("between", between), ("inside", inside)):
        if not (region is None or isinstance(region, str)):
            raise InvalidParameterError(name, "be the name of a region", region)
    listed = None if labels is None else words_of(labels, "labels")
    if inside is not None and listed is not None:
        raise InvalidParameterError("labels", "be left out where 'inside' joins all labels", labels)
    of_labels = (inside,) if inside is not None else None if listed is None else (*listed, OTHER)
    regions = None if of_labels is None else of_labels if between is None else (*of_labels, between)
    return RegionRule(
        "node_labels",
        {
            "attribute": attribute,
            "between": between,
            "inside": inside,
            "labels": text_of(listed),
        },
        regions,
        partial(_divide, attribute=attribute, between=between, inside=inside, listed=listed),
        _WHY,
    )


def _divide(
    graph: Graph, *, attribute: str, between: str | None, inside: str | None, listed: tuple[str, ...] | None
) -> Partition:
    found, known = _labels(graph, attribute)
    names = known if listed is None else (*listed, OTHER)
    groups: dict[str, list[object]] = {name: [] for name in names}
    for node, label in zip(graph.nodes, found, strict=True):
        groups[label if label in groups else OTHER].append(node)
    sets: dict[str, Nodes] = {label: frozenset(members) for label, members in groups.items()}
    if inside is None:
        return divided(sets, between=between)
    both = ((inside, Within(tuple(sets.values()))), (between or "", Across(tuple(sets.values()))))
    return Partition(both if between is not None else both[:1])


def _labels(graph: Graph, attribute: str) -> tuple[list[str], tuple[str, ...]]:
    """The label of every node, and all labels that have a region."""
    data = data_of(graph, attribute)
    rows = np.asarray(data) if isinstance(data, np.ndarray) or is_tensor(data) else None
    if rows is not None and rows.ndim == 2:
        wrong = ~(((rows == 0) | (rows == 1)).all(axis=1) & (rows.sum(axis=1) == 1))
        if wrong.any():
            first = int(wrong.argmax())
            raise InvalidParameterError(
                f"node_data[{attribute}]",
                "hold one label or one one-hot row for each node",
                f"{rows[first].tolist()} at node {graph.nodes[first]!r}",
                "Features that are no labels go to the builder similar_features.",
            )
        return [str(column) for column in rows.argmax(axis=1)], tuple(map(str, range(rows.shape[1])))
    values = rows.tolist() if rows is not None else list(data)  # type: ignore[call-overload]
    # A region cannot be called 6.0, and a file of numbers means the label 6 by it.
    found = [str(int(value) if isinstance(value, float) and value.is_integer() else value) for value in values]
    said: dict[str, object] = {}
    for text, value in zip(found, values, strict=True):
        if said.setdefault(text, value) != value:
            raise InvalidParameterError(f"node_data[{attribute}]", "be told apart by their str", (said[text], value))
    return found, tuple(said)


def data_of(graph: Graph, attribute: str) -> object:
    """The data of the nodes by name, anchored or not, or an error that says which there are."""
    if attribute in graph.node_data:
        return graph.node_data[attribute]
    if attribute in graph.anchored_data:
        return graph.anchored_data[attribute]
    known = ", ".join(map(repr, [*graph.node_data, *graph.anchored_data])) or "none"
    raise InvalidParameterError(
        "attribute", "name data that every node has", attribute, f"{graph!r} has {known}; choose one of its data."
    )


BUILDER = Builder(
    "node_labels",
    node_labels,
    "one for each label, or one for all (inside=…); between=… for pairs of different labels",
    _WHY,
    "",
    {"attribute": str, "between": str, "inside": str, "labels": str},
)
