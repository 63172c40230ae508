"""Attackers of edges: some pairs alone, a budget for each node, edges that get other ends or exchange them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import EDGE_LAYERS, Indices, find_places
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, VALUES, Attacks, Ground, Rows, ground_of
from starcert.objects.threats.base import (
    CountedThreat,
    Threat,
    UnfitError,
    at_most,
    continue_attacks,
    refuse_many,
)
from starcert.objects.threats.flips import any_move
from starcert.objects.threats.site_threat import MAX_WORK, Limits, Mask, SiteThreat
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

Predicate = Callable[..., Any]
"""From the frame and the coordinates of sites, one array each, to whether each site may be attacked."""


NAMED = 5  # nodes that a label names


def check_edges(threat: Threat, sites: Sites) -> None:
    """Refuses an object without node pairs or arcs to attack."""
    if not any(block.layer in EDGE_LAYERS for block in sites.blocks):
        requirement = f"fit the objects: {threat.label} needs node pairs or arcs in the regions"
        layers = ", ".join(dict.fromkeys(block.layer for block in sites.blocks))
        raise UnfitError("threat", requirement, f"{type(sites.clean).__name__} with sites in {layers or 'no layer'}")


class EdgeThreat(SiteThreat):
    """Sets of changes of node pairs or arcs."""

    @override
    def check(self, sites: Sites) -> None:
        check_edges(self, sites)

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return any_move(sites.layers[region]) & (sites.layers[region].name in EDGE_LAYERS)


def names_of(given: object) -> tuple[str, ...]:
    """Names as texts know them: one, or several."""
    listed = [given] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
    return tuple(dict.fromkeys(str(each) for each in listed))


def nodes_named(names: tuple[str, ...], sites: Sites) -> Indices:
    """The indices of the nodes with these names, as texts have them."""
    nodes: tuple[Hashable, ...] = sites.graph.nodes
    known = dict[str, int]()
    for index, node in enumerate(nodes):
        if known.setdefault(str(node), index) != index and str(node) in names:
            raise UnfitError("threat", "name nodes that differ in their text", str(node))
    for name in names:
        if name not in known:
            raise UnfitError("threat", "name nodes of the graph", name, did_you_mean(name, known))
    return np.array([known[name] for name in names], dtype=np.int64)


@dataclass(frozen=True)
class Controlled(EdgeThreat):
    """An attacker who controls some nodes, and flips at most `most` pairs with one of them; `controlled:2,nodes=a|b`.

    Which nodes these are is outside knowledge, the same for the clean and the attacked graph: its reverse is itself.
    Nodes are given by their names.
    """

    nodes: tuple[str, ...]
    most: int
    word = "controlled"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nodes", names_of(self.nodes))

    @property
    @override
    def label(self) -> str:
        more = f" and {len(self.nodes) - NAMED:,} more" if len(self.nodes) > NAMED else ""
        return f"{at_most(self.most, 'flip')} at {', '.join(self.nodes[:NAMED])}{more}"

    @override
    def check(self, sites: Sites) -> None:
        check_edges(self, sites)
        nodes_named(self.nodes, sites)

    @override
    def candidates(self, sites: Sites) -> Mask:
        ground, nodes = ground_of(sites), nodes_named(self.nodes, sites)
        return ground.is_edge & (np.isin(ground.u, nodes) | np.isin(ground.v, nodes))


@dataclass(frozen=True)
class Where(SiteThreat):
    """An attacker who changes at most `most` of the sites that a function chooses; in text `where:2,name=near`.

    The function gets the frame, which has all that cannot be attacked, and the coordinates of the sites of one layer,
    an array each; it returns a truth value for each site. As it never sees an edge, it chooses the same sites for the
    clean and the attacked object: its reverse is itself. (A function that kept what it read off edges elsewhere would
    be anchored; nobody but its author can know.)

    Args:
        predicate: from the frame and arrays of coordinates (u and v; node and column; site) to truth values.
        most: how many sites.
        name: what text calls it, its own name if left out; `read_threat` has to be given the function by that name.
        layer: the layer of these sites, the first of the object if left out.

    Example:
        >>> from starcert.objects import Graph
        >>> def near(frame, u, v):
        ...     place = np.asarray(frame.node_data["place"])
        ...     return abs(place[u] - place[v]) < 3
        >>> sites = Sites.everything(Graph(3, [(0, 1)], node_data={"place": [0, 2, 4]}), "all")
        >>> str(Where(near, 1)), list(Where(near, 1).attacks(sites, 1))
        ('where:1,name=near', [((0, 0),), ((2, 1),)])
    """

    predicate: Predicate
    most: int
    name: str = ""
    layer: str = ""
    word = "where"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.predicate):
            raise InvalidParameterError("predicate", "be a function of the frame and coordinates", self.predicate)
        object.__setattr__(self, "name", self.name or getattr(self.predicate, "__name__", "predicate"))

    @property
    @override
    def label(self) -> str:
        return at_most(self.most, f"flip where {self.name}", f"flips where {self.name}")

    @property
    @override
    def options(self) -> dict[str, object]:
        given: dict[str, object] = {"name": self.name, "layer": self.layer}
        return {name: value for name, value in given.items() if value}

    @classmethod
    @override
    def read(cls, most: int | None, options: Mapping[str, Any]) -> Self:
        given = dict(options)
        predicate, name = given.pop("predicates", {}).get(given.get("name")), given.get("name")
        if predicate is None:
            hint = "Give read_threat the function: predicates={'near': near}."
            raise InvalidParameterError("threat", "have a function for its name", name, hint)
        return cls(predicate, most, **given)  # type: ignore[arg-type]

    def _layer(self, sites: Sites) -> str:
        return self.layer or sites.clean.layers[0].name

    @override
    def check(self, sites: Sites) -> None:
        if self._layer(sites) not in [block.layer for block in sites.blocks]:
            layers = ", ".join(dict.fromkeys(block.layer for block in sites.blocks))
            raise UnfitError("threat", f"choose among sites of the layers in the regions, {layers}", self._layer(sites))

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return any_move(sites.layers[region]) & (sites.layers[region].name == self._layer(sites))

    @override
    def candidates(self, sites: Sites) -> Mask:
        found = np.zeros(sites.n_sites, dtype=np.bool_)
        for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
            if block.layer == self._layer(sites):
                chosen = np.asarray(self.predicate(sites.frame, *block.coordinates(np.arange(size))))
                if chosen.shape not in ((), (size,)) or chosen.dtype != np.bool_:
                    requirement = f"return a truth value for each of {size:,} sites"
                    raise InvalidParameterError("predicate", requirement, f"{chosen.dtype} of shape {chosen.shape}")
                found[offset : offset + size] = chosen
        return found


@dataclass(frozen=True)
class LocalBudget(EdgeThreat):
    """An attacker with at most `most` flips of pairs in all, and at most `per_node` at each node; `local:3,per_node=1`.

    A flip counts at both of its ends. The budgets are numbers that no attack changes, so its reverse is itself. With
    `strength` in place of `per_node`, a node has the budget max(0, degree − largest degree + strength), as SCIP-MPNN
    has it. That is *anchored*: an attack changes degrees, so the attacked graph would have other budgets, and no
    budgets of its own lead back.

    With counting="scip", `most` counts entries of the adjacency matrix: a flip of an undirected pair is two units.

    Example:
        >>> str(LocalBudget(6, per_node=1, counting="scip")), LocalBudget(3, per_node=1).label
        ('local:6,per_node=1,counting=scip', 'at most 3 flips, 1 at each node')
    """

    most: int
    per_node: int | None = None
    strength: int | None = None
    counting: Literal["flips", "scip"] = "flips"
    word = "local"
    limited = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.per_node is None) == (self.strength is None):
            given = {"per_node": self.per_node, "strength": self.strength}
            raise InvalidParameterError("LocalBudget", "be given either per_node or strength", given)
        name = "per_node" if self.strength is None else "strength"
        object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        if self.counting not in ("flips", "scip"):
            raise InvalidParameterError("counting", "be 'flips' or 'scip'", self.counting)

    @property
    @override
    def label(self) -> str:
        total = at_most(self.most, *(("entry", "entries") if self.counting == "scip" else ("flip",)))
        local = f"{self.per_node:,} at each node" if self.strength is None else f"local strength {self.strength:,}"
        return f"{total}, {local}"

    @property
    @override
    def reverse(self) -> Threat | None:
        return self if self.strength is None else None

    @property
    @override
    def anchored(self) -> str:
        return "" if self.strength is None else "The budgets of nodes follow from their degrees in the clean graph."

    @override
    def n_changes(self, sites: Sites, size: int) -> int:
        units = 2 if self.counting == "scip" and not sites.graph.directed else 1
        return size // units if 1 <= size <= self.most and size % units == 0 else 0

    @override
    def budgets(self, sites: Sites, changes: Rows) -> Limits:
        ground, graph = ground_of(sites), sites.graph
        limit = np.full(graph.n_nodes, self.per_node or 0)
        if self.strength is not None:
            degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
            limit = np.maximum(0, degrees - degrees.max(initial=0) + self.strength)
        ends = np.stack([ground.u, ground.v], axis=1)[changes // VALUES]
        return Limits(ends, np.ones(len(changes), dtype=np.int64), np.zeros_like(limit), limit)


class StepThreat(CountedThreat):
    """An attacker whose units follow one another, each at the object that those before have left."""

    @abstractmethod
    def steps(self, sites: Sites) -> Attacks:
        """What one unit can do to an object."""

    @override
    def check(self, sites: Sites) -> None:
        check_edges(self, sites)

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        self.check(sites)
        if not 1 <= size <= self.most:
            return Attacks()
        found = self.steps(sites)
        earlier = found
        for _ in range(1, size):
            found = continue_attacks(self, sites, found, replace(self, most=1), 1) - earlier  # type: ignore[type-var]
            earlier = earlier | found
        return found


@dataclass(frozen=True)
class Rewire(StepThreat):
    """An attacker who rewires at most `most` edges: u–v becomes u–w, of the same type; in text `rewire:1`.

    An arc keeps its source or its target. Which edges can be rewired differs at the attacked graph, but a rewired edge
    can be rewired back in as many units: its reverse is itself, and nothing is anchored.
    """

    most: int
    word = "rewire"
    unit = "rewired edge"

    @override
    def steps(self, sites: Sites) -> Attacks:
        ground = ground_of(sites)
        if (total := self._n_units(sites)) > MAX_ATTACKS:
            refuse_many(self, 1, total)
        ends, pairs = _ends(ground, sites), np.flatnonzero(ground.is_edge)
        present, absent = pairs[ground.values[pairs] > 0], pairs[ground.values[pairs] == 0]
        rows = []
        for one in ends:
            for other in ends:
                there = absent[np.argsort(other[absent], kind="stable")]
                first = np.searchsorted(other[there], one[present])
                number = np.searchsorted(other[there], one[present], side="right") - first
                moved = np.repeat(present, number)
                place = np.arange(len(moved)) - np.repeat(np.cumsum(number) - number - first, number)
                rows.append(np.stack([VALUES * moved, VALUES * there[place] + ground.values[moved]], axis=1))
        return Attacks.of(rows)

    def _n_units(self, sites: Sites) -> int:
        """For each end how many edges are there, times how many are not: two pairs share at most one end."""
        ground = ground_of(sites)
        ends = np.stack(_ends(ground, sites))[:, ground.is_edge]
        here = ground.values[ground.is_edge] > 0
        n = int(ends.max(initial=-1)) + 1
        return int(np.bincount(ends[:, here].ravel(), minlength=n) @ np.bincount(ends[:, ~here].ravel(), minlength=n))

    @override
    def count(self, sites: Sites, size: int) -> int:
        self.check(sites)
        return self._n_units(sites) if size == 1 else super().count(sites, size)


def _ends(ground: Ground, sites: Sites) -> tuple[Indices, Indices]:
    """The two ends of each site, with different numbers for sources and targets of arcs."""
    return ground.u, ground.v + (sites.graph.n_nodes if sites.graph.directed else 0)


@dataclass(frozen=True)
class Swap(StepThreat):
    """An attacker who lets two edges exchange ends, at most `most` times; degrees stay; in text `swap:1`.

    u–v and x–y become u–y and x–v, or u–x and v–y, where these are absent; arcs become u→y and x→v. Of two edges of
    different types either new one may have either type. Edges that have exchanged ends can exchange them again: its
    reverse is itself, and nothing is anchored.
    """

    most: int
    word = "swap"
    unit = "swap of two edges"
    units = "swaps of two edges"

    @override
    def steps(self, sites: Sites) -> Attacks:
        ground, directed, n = ground_of(sites), sites.graph.directed, sites.graph.n_nodes
        pairs = np.flatnonzero(ground.is_edge)
        present = pairs[ground.values[pairs] > 0]
        if len(present) ** 2 > MAX_WORK:
            refuse_many(self, 1)
        codes = ground.u[pairs] * n + ground.v[pairs]
        pairs = pairs[np.argsort(codes)]
        codes.sort()
        one, other = (present[each] for each in np.triu_indices(len(present), 1))
        (u, v), (x, y) = ((ground.u[each], ground.v[each]) for each in (one, other))
        rows = []
        for ends in [((u, y), (x, v))] if directed else [((u, y), (x, v)), ((u, x), (v, y))]:
            news = []
            for a, b in ends:
                code = a * n + b if directed else np.minimum(a, b) * n + np.maximum(a, b)
                place = find_places(codes, code)
                news.append(np.where(place >= 0, pairs[place], -1))
            fine = np.minimum(*news) >= 0  # edges with a common end would become a loop, or what there is
            fine &= (ground.values[news[0]] == 0) & (ground.values[news[1]] == 0)
            gone = [VALUES * each[fine] for each in (one, other)]
            types = [ground.values[each[fine]].astype(np.int64) for each in (one, other)]
            for given in (types, types[::-1]):
                made = [VALUES * new[fine] + value for new, value in zip(news, given, strict=True)]
                rows.append(np.stack([*gone, *made], axis=1))
        return Attacks.of(rows)
