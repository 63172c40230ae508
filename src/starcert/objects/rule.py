"""Rules: a function from a graph to its partition, for graphs that do not share their nodes.

Regions that a rule reads off the graph's own edges are anchored. A rule need not say so: it is first called with a
graph that has nodes and their data and nothing else. Only a rule that fails then, or asks for edges, gets to see any.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, TypeVar

from starcert.objects.graph import Graph, NodeFrame
from starcert.objects.partition import Partition
from starcert.objects.site_sets import ArcSet, Inside, Pairs, SiteSet
from starcert.system.errors import InvalidParameterError

Rule: TypeAlias = Callable[[Graph], Partition]

READS_EDGES = "The rule for the regions reads the graph's own edges."
"""The reason for anchored regions where the rule has none of its own."""

Value = TypeVar("Value")

_SHOWN = ("n_nodes", "nodes", "node_data")


class EdgesAskedError(Exception):
    """A function wants to know more of a graph than its nodes and their data."""


class _Edgeless(Graph):
    """The nodes of a graph and their data; it remembers a request for anything else, even if its error was caught."""

    def __getattribute__(self, name: str) -> object:
        if name in (*_SHOWN, "__class__"):
            return object.__getattribute__(self, name)
        object.__setattr__(self, "asked", True)
        raise EdgesAskedError(name)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"Graph({self.n_nodes} nodes, edges not shown{data})"


def without_edges(function: Callable[[Graph], Value], frame: NodeFrame) -> Value:
    """The value of a function that sees the nodes of a graph and their data; an error if it fails or asks for more.

    Example:
        >>> without_edges(lambda graph: graph.n_edges, Graph(3, [(0, 1)]).frame)
        Traceback (most recent call last):
        starcert.objects.rule.EdgesAskedError: n_edges
    """
    bare = frame.with_edges(())  # with data of its own: a function may write into them
    shown = object.__new__(_Edgeless)
    for name in _SHOWN:
        object.__setattr__(shown, name, getattr(bare, name))
    try:
        value = function(shown)
    except Exception as error:  # whatever it is: the function may have failed because it had no edges
        raise EdgesAskedError(str(error)) from error
    if "asked" in object.__getattribute__(shown, "__dict__"):
        raise EdgesAskedError("more than the nodes and their data, and an error about it was caught")
    return value


def stated_by_author(rule: Callable[[Graph], object]) -> bool | None:
    """The value that the author of a rule has given its attribute `anchored`; None if there is none.

    False must be an attribute of this very rule or its class: a property that happens to be false states nothing.
    """
    if inspect.getattr_static(rule, "anchored", None) is False:
        return False
    return True if getattr(rule, "anchored", False) else None


def partition_by_rule(rule: Callable[[Graph], object], graph: Graph) -> Partition:
    """The partition that a rule gives for a graph, marked as anchored if the rule may have read the edges.

    The answer to a graph without edges is not anchored (unless it is just the edges, which a rule may have known
    beforehand). If the rule asks for edges, or fails, it is called with the graph itself, and the partition is marked
    in place: a rule that keeps its answers gives it marked again. Edges are not held back from a rule whose author
    states `rule.anchored = False`.
    """
    stated = stated_by_author(rule)
    if stated is False:
        partition = _checked(rule(graph), graph)
        return partition if partition.anchored else replace(partition, anchored=False)
    if stated is None:
        try:
            return _mark_unanchored(_checked(without_edges(rule, graph.frame), graph), graph)
        except EdgesAskedError:
            pass
    partition = _checked(rule(graph), graph)
    if not partition.anchored:
        object.__setattr__(partition, "anchored", True)
        object.__setattr__(partition, "reason", READS_EDGES)
    return partition


def _checked(partition: object, graph: Graph) -> Partition:
    if not isinstance(partition, Partition):
        got = f"{type(partition).__name__} for {graph!r}"
        raise InvalidParameterError("regions", "return a Partition for each graph", got)
    return partition


def _mark_unanchored(partition: Partition, graph: Graph) -> Partition:
    """The answer of a rule without edges: it may list some edges by chance, but not just the edges."""
    if partition.anchored is not None or any(_is_just_the_edges(part, graph) for _, part in partition.parts):
        return partition  # the rule had its answer already: `Partition.sites` looks at it
    return replace(partition, anchored=False)


def _is_just_the_edges(part: SiteSet, graph: Graph) -> bool:
    """True if a set of pairs is all edges of a graph and no others, one by one, or leaves out just these."""
    named: frozenset[object] = frozenset()
    if isinstance(part, ArcSet):
        named = frozenset(part.arcs)
    elif isinstance(part, Pairs | Inside):
        named = frozenset(part.pairs if isinstance(part, Pairs) else part.but)
    ends = [(graph.nodes[u], graph.nodes[v]) for u, v in graph.edges.tolist()]
    edges: set[object] = set(ends) if isinstance(part, ArcSet) else set(map(frozenset, ends))
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // (1 if isinstance(part, ArcSet) else 2)
    if not 0 < len(edges) < n_pairs:
        return False  # there are no edges to derive regions from
    return named == edges or (len(named) == n_pairs - len(edges) and named.isdisjoint(edges))
