"""Regions by sets of nodes: named, of one label, or found as communities."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from starcert.objects.content import canonical_order, is_tensor
from starcert.objects.graph import Graph
from starcert.objects.partition import Partition, as_nodes, divide_nodes, texts_of_labels
from starcert.objects.regions.builder import (
    Names,
    RegionRule,
    builder,
    check_attribute,
    check_number,
    data_of,
    join_names,
    rule_by,
    split_names,
)
from starcert.objects.site_sets import Across, Nodes, Within
from starcert.system.errors import InvalidParameterError, whole_number

_METHODS = ("louvain", "greedy")

REST = "*"  # in place of nodes: all that are in no other set
OTHER = "other"  # the region of the labels that are not listed

_LONGEST_RANGE = 10_000_000


@builder(
    "one for each set that is named; between=… for pairs of different sets",
    why="You know which nodes matter: the certificate then covers them and the others separately.",
    example="node_sets:motif=0-9,random=10-19,between=bridge",
)
def node_sets(
    sets: Mapping[str, str | Iterable[Hashable]], *, between: str | Mapping[str, tuple[str, str]] | None = None
) -> RegionRule:
    """Regions of the pairs inside given node sets, and of the pairs between them: not anchored.

    Args:
        sets: the nodes of each set by name, disjoint; the pairs inside a set are a region of the same name. Nodes are
            an iterable of names, or text: `0-9` for the nodes 0 to 9, both included, `0-4+7` for several pieces, other
            words for nodes called so, and `*`, for one set at most, for all nodes that are in no other set.
        between: the region of all pairs between different sets; or, region by region, the names of two sets.
            Pairs in no region are fixed.

    Example:
        >>> rule = node_sets({"motif": "0-9", "random": "*"}, between="bridge")
        >>> rule.description, rule(Graph(12, [])).sites(Graph(12, [])).sizes
        ('node_sets:motif=0-9,random=*,between=bridge', (45, 1, 20))
    """
    if not isinstance(sets, Mapping) or not sets or not all(isinstance(region, str) for region in sets):
        hint = "Write for instance node_sets:motif=0-9,random=10-19,between=bridge."
        raise InvalidParameterError("sets", "name at least one set of nodes", sets, hint)
    chosen = {region: _nodes(given, f"sets[{region}]") for region, given in sets.items()}
    rests = [region for region, nodes in chosen.items() if nodes is None]
    if len(rests) > 1:
        raise InvalidParameterError(
            "sets", f"gives the remaining nodes, *, to {' and '.join(rests)}. Only one set can have them."
        )
    home: dict[Hashable, str] = {}
    for node, region in ((node, region) for region, nodes in chosen.items() for node in nodes or ()):
        if home.setdefault(node, region) != region:
            twice = f"{node!r} in both {home[node]!r} and {region!r}"
            raise InvalidParameterError("sets", "have no common node", twice)
    more = () if between is None else (between,) if isinstance(between, str) else tuple(between)
    written = {region: given if isinstance(given, str) else _text(chosen[region]) for region, given in sets.items()}
    divide = partial(_divide_by_sets, sets=chosen, between=dict(between) if isinstance(between, Mapping) else between)
    rule = RegionRule("", {**written, "between": between}, (*chosen, *more), divide)
    if not rests:
        rule(Graph(0, []))  # a name that no region can have, or an unknown set, is refused now
    return rule


def _divide_by_sets(
    graph: Graph, *, sets: Mapping[str, Nodes | None], between: str | Mapping[str, tuple[str, str]] | None
) -> Partition:
    named = {node for nodes in sets.values() for node in nodes or ()}
    full = {
        region: frozenset(node for node in graph.nodes if node not in named) if nodes is None else nodes
        for region, nodes in sets.items()
    }
    if between is None or isinstance(between, str):
        return divide_nodes(full, between=between)
    return Partition.from_node_sets(full, between=between)


def _nodes(given: object, parameter: str) -> Nodes | None:
    """The nodes of a set; None for those that are in no other set."""
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InvalidParameterError(parameter, "be nodes", given, "Write for instance 0-9, 0-4+7 or *.")
    if not isinstance(given, str):
        return as_nodes(given, parameter)
    if given.strip() == REST:
        return None
    nodes: set[Hashable] = set()
    for piece in map(str.strip, given.split("+")):
        if not piece or piece == REST:
            hint = "Write for instance 0-9 or 0-4+7; * stands alone."
            raise InvalidParameterError(parameter, "be nodes and ranges of nodes, with a + between them", given, hint)
        if re.fullmatch(r"\d+(-\d+)?", piece):
            first, _, last = piece.partition("-")
            low, high = int(first), int(last or first)
            if not low <= high <= low + _LONGEST_RANGE:
                raise InvalidParameterError(parameter, "be ranges from the smaller node to the larger", piece)
            nodes.update(range(low, high + 1))
        else:
            nodes.add(piece)
    return frozenset(nodes)


def _text(nodes: Nodes | None) -> str:
    """Nodes as `_nodes` reads them, runs of whole numbers as ranges."""
    numbers = np.array(sorted(node for node in nodes or () if isinstance(node, int) and node >= 0), dtype=object)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1) if len(numbers) else []
    words = sorted(str(node) for node in nodes or () if not (isinstance(node, int) and node >= 0))
    return "+".join([f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs] + words)


@builder(
    "one for each label, or one for all (inside=…); between=… for pairs of different labels",
    why="The kind of a node is known apart from its edges, and ties inside a kind differ from ties between kinds.",
)
def node_labels(
    attribute: str = "label", *, between: str | None = None, inside: str | None = None, labels: Names = None
) -> RegionRule:
    """Regions of the pairs whose nodes carry the same label, and of those whose labels differ.

    They follow from the data of the nodes alone: not anchored, unless the labels are `anchored_data`. A noise has the
    same regions for all graphs, but a graph may lack a label: then give `labels` or `inside`.

    Args:
        attribute: the node data with the labels: one for each node, or one-hot rows, with a region for each column.
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
    check_attribute(attribute)
    for name, region in (("between", between), ("inside", inside)):
        if not isinstance(region, str | None):
            raise InvalidParameterError(name, "be the name of a region", region)
    listed = None if labels is None else split_names(labels, "labels")
    if inside is not None and listed is not None:
        raise InvalidParameterError("labels", "cannot be combined with 'inside', which joins all labels.")
    of_labels = (inside,) if inside is not None else None if listed is None else (*listed, OTHER)
    regions = None if of_labels is None else of_labels if between is None else (*of_labels, between)
    given = {"attribute": attribute, "between": between, "inside": inside, "labels": join_names(listed)}
    return rule_by(_divide_by_labels, regions, **given)


def _divide_by_labels(
    graph: Graph, *, attribute: str, between: str | None, inside: str | None, labels: str | None
) -> Partition:
    found, known = _labels(graph, attribute)
    names = known if labels is None else (*labels.split("/"), OTHER)
    groups: dict[str, list[object]] = {name: [] for name in names}
    for node, label in zip(graph.nodes, found, strict=True):
        groups[label if label in groups else OTHER].append(node)
    sets: dict[str, Nodes] = {label: frozenset(members) for label, members in groups.items()}
    if inside is None:
        return divide_nodes(sets, between=between)
    both = ((inside, Within(tuple(sets.values()))), (between or "", Across(tuple(sets.values()))))
    return Partition(both if between is not None else both[:1])


def _labels(graph: Graph, attribute: str) -> tuple[list[str], tuple[str, ...]]:
    """The label of every node, and all labels that have a region."""
    data = data_of(graph, attribute)
    rows = np.asarray(data) if isinstance(data, np.ndarray) or is_tensor(data) else None
    if rows is not None and rows.ndim == 2:
        for wrong in np.flatnonzero(~np.isin(rows, (0, 1)).all(axis=1) | (rows.sum(axis=1) != 1)):
            got = f"{rows[wrong].tolist()} at node {graph.nodes[wrong]!r}"
            hint = "Features that are not labels go to the builder similar_features."
            wanted = "hold one label or one one-hot row for each node"
            raise InvalidParameterError(f"node_data[{attribute}]", wanted, got, hint)
        return [str(column) for column in rows.argmax(axis=1)], tuple(map(str, range(rows.shape[1])))
    values = rows.tolist() if rows is not None else list(data)  # type: ignore[call-overload]
    found = texts_of_labels(values, f"node_data[{attribute}]")
    return found, tuple(dict.fromkeys(found))


@builder(
    "inside, between",
    why="Few edges between communities hold a graph together, so they may need another noise than the rest.",
    reason="The communities were found from the edges of the clean graph.",
)
def communities(resolution: float = 1.0, *, method: str = "louvain", seed: int = 0) -> RegionRule:
    """Regions of the pairs inside one community (`inside`) and of the pairs of different ones (`between`).

    Communities maximise modularity, as networkx finds them, whatever the order of the nodes. They are derived from the
    edges: anchored.

    Args:
        resolution: above 1 for more and smaller communities, below 1 for fewer and larger ones.
        method: "louvain" (Blondel et al. 2008), or "greedy" (Clauset, Newman and Moore 2004), which takes longer.
        seed: of the Louvain method, which looks at nodes in a random order.

    Example:
        >>> graph = Graph(6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
        >>> communities()(graph).sites(graph).sizes
        (6, 9)
    """
    resolution = check_number(resolution, "resolution")
    if method not in _METHODS:
        raise InvalidParameterError("method", f"be one of {', '.join(_METHODS)}", method)
    seed = whole_number("seed", seed, 0)
    return rule_by(_divide_by_community, ("inside", "between"), resolution=resolution, method=method, seed=seed)


def _divide_by_community(graph: Graph, *, resolution: float, method: str, seed: int) -> Partition:
    import networkx as nx  # noqa: PLC0415  (slow to import)

    order = canonical_order(graph.nodes)
    place = {index: position for position, index in enumerate(order)}
    # Small whole numbers in their order: networkx goes through sets, and sets of names have another order every time.
    canonical = nx.empty_graph(graph.n_nodes)
    canonical.add_edges_from(sorted(tuple(sorted((place[u], place[v]))) for u, v in graph.edges.tolist()))
    found: list[Any]
    if not graph.n_edges:  # modularity divides by the number of edges; nothing holds these nodes together
        found = [{position} for position in range(graph.n_nodes)]
    elif method == "louvain":
        found = nx.community.louvain_communities(canonical, resolution=resolution, seed=seed)
    else:
        found = nx.community.greedy_modularity_communities(canonical, resolution=resolution)
    groups = tuple(frozenset(graph.nodes[order[position]] for position in group) for group in sorted(found, key=min))
    return Partition((("inside", Within(groups)), ("between", Across(groups))))
