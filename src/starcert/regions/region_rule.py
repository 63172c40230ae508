"""The region rule: a function from a graph to its partition that knows its name, its parameters and its regions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from starcert.graphs import Graph, Partition
from starcert.graphs.pairsets import Across, Inside, Nodes, PairSet

__all__ = ["Divide", "RegionRule", "canonical_order", "divided"]

Divide: TypeAlias = Callable[[Graph], Partition]


@dataclass(frozen=True, repr=False, eq=False)
class RegionRule:
    """A rule for the regions of any graph, made by one of the builders of `starcert.regions`.

    It is given as `regions` to a `SmoothedClassifier`. Rules are equal if they say the same in records, and they can be
    sent to other processes.

    Attributes:
        name: the builder that made it.
        parameters: what the builder was given, by name, read-only.
        regions: the names of the regions, or None if only a graph can tell.
        divide: the function from a graph to its partition; it can be pickled.
        why: why one would choose it, a sentence.
        reason: how the regions follow from the graph's own edges, a sentence; empty if they do not. An empty one is no
            proof: regions that are read off edges all the same are marked when the rule is bound to a graph.

    Example:
        >>> from starcert import regions
        >>> rule = regions.communities(resolution=1.5)
        >>> rule
        RegionRule(communities:resolution=1.5,method=louvain,seed=0)
        >>> rule.regions, rule.anchored
        (('inside', 'between'), True)
        >>> rule(Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]))
        Partition(inside, between, anchored)
    """

    name: str
    parameters: Mapping[str, object]
    regions: tuple[str, ...] | None
    divide: Divide
    why: str
    reason: str = ""
    described: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def anchored(self) -> bool:
        """Whether the rule says that its regions are read off the graph's own edges."""
        return bool(self.reason)

    @property
    def description(self) -> str:
        """The rule in a line, for records: as `build` reads it, where text can say it."""
        if self.described:
            return self.described
        given = ",".join(f"{name}={value}" for name, value in self.parameters.items() if value is not None)
        return f"{self.name}:{given}" if given else self.name

    def __call__(self, graph: Graph) -> Partition:
        """The partition of a graph, marked as anchored with the reason if the rule is."""
        partition = self.divide(graph)
        return replace(partition, anchored=True, reason=self.reason) if self.reason else partition

    def __repr__(self) -> str:
        return f"RegionRule({self.description})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegionRule) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.name, dict(self.parameters), self.regions, self.divide, self.why, self.reason)
        return partial(RegionRule, described=self.described), fields


def divided(sets: Mapping[str, Nodes], *, between: str | None = None) -> Partition:
    """A region of the pairs inside each of some disjoint node sets, and one of all pairs between them.

    Example:
        >>> divided({"ring": frozenset({0, 1}), "rest": frozenset({2})}, between="between")
        Partition(ring, rest, between)
    """
    parts: list[tuple[str, PairSet]] = [(region, Inside(nodes)) for region, nodes in sets.items()]
    if between is not None:
        parts.append((between, Across(tuple(sets.values()))))
    return Partition(tuple(parts))


def canonical_order(graph: Graph) -> list[int]:
    """The indices of the nodes in an order that follows from their names alone.

    What is computed in this order gives the same answer by name however the nodes were listed.

    Example:
        >>> canonical_order(Graph(4, [], nodes=["b", 10, "a", 9]))
        [3, 1, 2, 0]
    """

    def by_name(index: int) -> tuple[str, int, str]:
        name: Hashable = graph.nodes[index]
        whole = isinstance(name, int)
        return ("" if whole else type(name).__name__, name if isinstance(name, int) else 0, "" if whole else repr(name))

    return sorted(range(graph.n_nodes), key=by_name)
