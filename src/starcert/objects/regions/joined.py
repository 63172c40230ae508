"""Regions in several layers: whole layers by name, and rules joined, so that bonds and atoms have regions together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starcert.objects.graph import Graph
from starcert.objects.partition import Partition
from starcert.objects.regions.builder import RegionRule, builder, rule_by
from starcert.system.errors import InvalidParameterError


@builder(
    "one for each layer that is named",
    why="Data of nodes that are sites, such as elements, have regions beside those of node pairs: join them with |.",
    example="layers:bonds=pairs,atoms=x",
)
def layers(sets: Mapping[str, str]) -> RegionRule:
    """Regions that are whole layers: "pairs" or "arcs", or data of nodes that are sites (`Graph.with_categories`).

    Args:
        sets: for the name of each region its layer.

    Example:
        >>> graph = Graph(3, [(0, 1)], node_data={"x": [0, 1, 1]}).with_bits("x")
        >>> layers({"bonds": "pairs", "atoms": "x"})(graph).sites(graph)
        Sites(bonds: 3, atoms: 3)
    """
    if not isinstance(sets, Mapping) or not sets:
        hint = "Write layers:atoms=x, or layers({'atoms': 'x'})."
        raise InvalidParameterError("regions", "name the layer of at least one region", sets, hint)
    Partition.of_layers(sets)  # names that cannot be are refused now
    return rule_by(_divide_by_layers, tuple(sets), **sets)


def _divide_by_layers(_graph: Graph, /, **sets: str) -> Partition:
    return Partition.of_layers(sets)


def join(*rules: RegionRule) -> RegionRule:
    """The rule whose regions are those of all these rules, anchored if one of them is; in text `one | other`.

    Example:
        >>> from starcert.objects.regions import ring_atoms
        >>> rule = join(ring_atoms(), layers({"atoms": "x"}))
        >>> rule, rule.regions, rule.anchored
        (RegionRule(ring_atoms | layers:atoms=x), ('ring', 'rest', 'between', 'atoms'), True)
    """
    if len(rules) == 1:
        return rules[0]
    regions = None if any(each.regions is None for each in rules) else sum((each.regions or () for each in rules), ())
    if regions is not None and len(set(regions)) < len(regions):
        twice = next(region for region in regions if regions.count(region) > 1)
        raise InvalidParameterError("regions", "have different names where rules are joined", f"{twice!r} twice")
    described = " | ".join(each.description for each in rules)
    reason = " ".join(dict.fromkeys(each.reason for each in rules if each.reason))
    return RegionRule("", {}, regions, _Joined(rules), reason=reason, described=described)


@dataclass(frozen=True)
class _Joined:
    """Divides a graph by several rules."""

    rules: tuple[RegionRule, ...]

    def __call__(self, graph: Graph) -> Partition:
        found, *others = (rule(graph) for rule in self.rules)
        for other in others:
            found = found | other
        return found
