"""Regions by which nodes they are: the pairs inside sets of nodes, and between them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition
from starcert.regions.builder import Builder
from starcert.regions.rule import RegionRule, divided

__all__ = ["BUILDER", "REST", "node_sets"]

_WHY = "You know which nodes matter: the certificate then speaks of them and of the others apart."

REST = "*"
"""In place of nodes: all that are in no other set."""

_MOST = 10_000_000

_Given: TypeAlias = str | Iterable[Hashable]
_Set: TypeAlias = frozenset[Hashable] | None


def node_sets(sets: Mapping[str, _Given], *, between: str | Mapping[str, tuple[str, str]] | None = None) -> RegionRule:
    """Regions of the pairs inside given node sets, and of the pairs between them.

    They follow from the names of the nodes alone: not anchored.

    Args:
        sets: the nodes of each set by name, disjoint; the pairs inside a set are a region of the same name. Nodes are
            an iterable of names, or text: `0-9` for the nodes 0 to 9, both included, `0-4+7` for several pieces, other
            words for nodes called so, and `*`, for one set at most, for all nodes that are in no other set.
        between: the region of all pairs between different sets; or, region by region, the names of two sets.
            Pairs in no region are fixed.

    Example:
        >>> rule = node_sets({"motif": "0-9", "random": "*"}, between="bridge")
        >>> rule.description
        'node_sets:motif=0-9,random=*,between=bridge'
        >>> rule(Graph(12, [])).sites(Graph(12, [])).sizes
        (45, 1, 20)
    """
    if not isinstance(sets, Mapping) or not sets or not all(isinstance(region, str) for region in sets):
        hint = "Write for instance node_sets:motif=0-9,random=10-19,between=bridge."
        raise InvalidParameterError("sets", "name at least one set of nodes", sets, hint)
    chosen = {region: _nodes(given, f"sets[{region}]") for region, given in sets.items()}
    rests = [region for region, nodes in chosen.items() if nodes is None]
    if len(rests) > 1:
        raise InvalidParameterError("sets", "leave the remaining nodes, *, to one set", " and ".join(rests))
    home: dict[Hashable, str] = {}
    for region, nodes in chosen.items():
        for node in nodes or ():
            if home.setdefault(node, region) != region:
                twice = f"{node!r} in both {home[node]!r} and {region!r}"
                raise InvalidParameterError("sets", "have no common node", twice)
    more = () if between is None else (between,) if isinstance(between, str) else tuple(between)
    rule = RegionRule(
        "node_sets",
        {
            **{region: given if isinstance(given, str) else _text(chosen[region]) for region, given in sets.items()},
            "between": between,
        },
        (*chosen, *more),
        partial(
            _divide, sets=chosen, between=between if between is None or isinstance(between, str) else dict(between)
        ),
        _WHY,
    )
    if not rests:
        rule(Graph(0, []))  # a name that no region can have, or an unknown set, is refused now
    return rule


def _divide(
    graph: Graph, *, sets: Mapping[str, _Set], between: str | Mapping[str, tuple[str, str]] | None
) -> Partition:
    named = {node for nodes in sets.values() for node in nodes or ()}
    full = {
        region: frozenset(node for node in graph.nodes if node not in named) if nodes is None else nodes
        for region, nodes in sets.items()
    }
    if between is None or isinstance(between, str):
        return divided(full, between=between)
    return Partition.from_node_sets(full, between=between)


def _nodes(given: _Given, parameter: str) -> _Set:
    """The nodes that were given; None for those that are in no other set."""
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InvalidParameterError(parameter, "be nodes", given, "Write for instance 0-9, 0-4+7 or *.")
    if not isinstance(given, str):
        try:
            return frozenset(given)
        except TypeError:
            raise InvalidParameterError(parameter, "be names of nodes", given) from None
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
            if not low <= high <= low + _MOST:
                raise InvalidParameterError(parameter, "be ranges from the smaller node to the larger", piece)
            nodes.update(range(low, high + 1))
        else:
            nodes.add(piece)
    return frozenset(nodes)


def _text(nodes: _Set) -> str:
    """Nodes as `_nodes` reads them, runs of whole numbers as ranges."""
    numbers = sorted(node for node in nodes or () if isinstance(node, int) and node >= 0)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = sorted(str(node) for node in nodes or () if not (isinstance(node, int) and node >= 0))
    return "+".join([f"{low}-{high}" if low < high else str(low) for low, high in runs] + words)


BUILDER = Builder(
    "node_sets",
    node_sets,
    "one for each set that is named; between=… for pairs of different sets",
    _WHY,
    "",
    {"between": str},
    collects="sets",
    example="node_sets:motif=0-9,random=10-19,between=bridge",
)
