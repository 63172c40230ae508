"""Rules: a function from a graph to its partition, for graphs that do not share their nodes.

Regions that a rule reads off the graph's own edges are anchored. A rule need not say so: it is given a graph that
notices when its edges are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from starcert.errors import InvalidParameterError
from starcert.graphs.graph import Graph
from starcert.graphs.partition import Partition

__all__ = ["Rule", "partition_by_rule"]

Rule: TypeAlias = Callable[[Graph], Partition]


class _Watched(Graph):
    """A graph that remembers whether anybody looked at its edges."""

    def __getattribute__(self, name: str) -> object:
        if name == "edges":
            object.__setattr__(self, "edges_were_read", True)
        return super().__getattribute__(name)


def partition_by_rule(rule: Rule, graph: Graph) -> Partition:
    """The partition that a rule gives for a graph, marked as anchored if the rule looked at the edges.

    A rule that reads edges but does not depend on them can say so: `rule.anchored = False`.

    Example:
        >>> touched = lambda graph: Partition.from_node_sets({"touched": set(graph.edges.ravel().tolist())})
        >>> partition_by_rule(touched, Graph(4, [(0, 1), (0, 2)])).anchored
        True
    """
    watched = object.__new__(_Watched)
    watched.__dict__.update({name: value for name, value in vars(graph).items() if name != "key"})
    partition = rule(watched)
    if not isinstance(partition, Partition):
        raise InvalidParameterError(
            "regions", "return a Partition for each graph", f"{type(partition).__name__} for {graph!r}"
        )
    read = vars(watched).get("edges_were_read", False)
    if read and not partition.anchored and getattr(rule, "anchored", None) is not False:
        return replace(partition, anchored=True, reason="The rule for the regions reads the graph's own edges.")
    return partition
