"""Attackers of edges: some pairs alone, a budget for each node, edges that get other ends or exchange them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import EDGE_LAYERS, Coordinates, Indices, find_places
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, VALUES, Attacks, Mask, Moves, UnfitError, check_reach
from starcert.objects.threats.base import Find, Threat, at_most, refuse_many
from starcert.objects.threats.sets import MAX_WORK, Limits, SiteThreat
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

Predicate = Callable[..., Any]
"""From the frame and the coordinates of sites, one array each, to whether each site may be attacked."""
EDGES = "node pairs or arcs"
NAMED = 5  # nodes that a label names
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Controlled(SiteThreat):
    """An attacker who controls some nodes, and flips at most `most` pairs with one of them; `controlled:2,nodes=a|b`.

    Which nodes these are is outside knowledge, the same for the clean and the attacked graph: its reverse is itself.
    Nodes are given by their names.

    Example:
        >>> from starcert.objects import Graph
        >>> mine = Controlled((0,), 1)
        >>> str(mine), list(mine.attacks(Sites.everything(Graph(3, [(0, 1)]), "all"), 1))
        ('controlled:1,nodes=0', [((0, 0),), ((1, 1),)])
    """

    nodes: tuple[str, ...]
    most: int
    word = "controlled"
    needs = EDGES
    hint = ""  # where there is no such node

    def __post_init__(self) -> None:
        super().__post_init__()
        several = hasattr(self.nodes, "__iter__") and not isinstance(self.nodes, str)
        names = map(str, self.nodes if several else [self.nodes])
        object.__setattr__(self, "nodes", tuple(dict.fromkeys(names)))

    @override
    def label_of(self, size: int) -> str:
        more = f" and {len(self.nodes) - NAMED:,} more" if len(self.nodes) > NAMED else ""
        return f"{at_most(size, 'flip')} at {', '.join(self.nodes[:NAMED])}{more}"

    @override
    def check(self, sites: Sites) -> None:
        super().check(sites)
        known = list(map(str, sites.graph.nodes))
        for name in self.nodes:
            if name not in known:
                raise UnfitError("threat", "name nodes of the graph", name, did_you_mean(name, known, self.hint))
            if known.count(name) > 1:
                raise UnfitError("threat", "name nodes that differ in their text", name)

    def _controlled(self, sites: Sites) -> Mask:
        return np.array([str(node) in self.nodes for node in sites.graph.nodes], dtype=np.bool_)

    @override
    def reach(self, sites: Sites) -> Indices:
        mine, every = np.flatnonzero(self._controlled(sites)), np.arange(sites.graph.n_nodes)
        one, other = (each.ravel() for each in np.meshgrid(mine, every))
        apart = one != other
        ends = np.concatenate([one[apart], other[apart]]), np.concatenate([other[apart], one[apart]])
        layers = {block.layer for block in sites.blocks} & set(EDGE_LAYERS)
        found = np.concatenate([_NOWHERE, *(sites.locate(*ends, layer=layer) for layer in sorted(layers))])
        return np.unique(found[found >= 0])

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        controlled = self._controlled(sites)
        return moves.edge & (controlled[moves.u] | controlled[moves.v])


@dataclass(frozen=True)
class Where(SiteThreat):
    """An attacker who changes at most `most` of the sites that a function chooses; in text `where:2,name=near`.

    The function gets the frame, which has all that cannot be attacked, and the coordinates of the sites of one layer,
    an array each; it returns a truth value for each site. As it never sees an edge, it chooses the same sites for the
    clean and the attacked object: its reverse is itself. It must not keep what it derived from edges elsewhere.

    Args:
        predicate: from the frame and arrays of coordinates (u and v; node and column; site) to truth values.
        most: how many sites.
        name: what text calls it, by default the function's own name; `file.py:near` in run files and commands.
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

    @override
    def label_of(self, size: int) -> str:
        name = self.name.rpartition(":")[2]
        return at_most(size, f"flip where {name}", f"flips where {name}")

    @classmethod
    @override
    def read(cls, numbers: Sequence[int], options: Mapping[str, Any], find: Find) -> Self:
        return super().read(numbers, {**options, "predicate": find(options.get("name", ""))}, find)

    def _layer(self, sites: Sites) -> str:
        return self.layer or sites.clean.layers[0].name

    @override
    def check(self, sites: Sites) -> None:
        layers = list(dict.fromkeys(block.layer for block in sites.blocks))
        if (layer := self._layer(sites)) not in layers:
            raise UnfitError("threat", f"choose among sites of the layers in the regions, {', '.join(layers)}", layer)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        found = np.zeros(sites.n_sites, dtype=np.bool_)
        for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
            if block.layer == self._layer(sites):
                found[offset : offset + size] = self._chosen(sites, block.coordinates(np.arange(size)), size)
        return found[moves.site]

    def _chosen(self, sites: Sites, coordinates: Coordinates, size: int) -> Mask:
        """The answers of the predicate for sites with these coordinates, checked."""
        called = f"predicate {self.name}"
        try:
            chosen: Mask = np.asarray(self.predicate(sites.frame, *coordinates))
        except Exception as error:
            takes, raised = f"take the frame and {len(coordinates)} arrays of coordinates", type(error).__name__
            hint = f"It raised {f'{raised}: {error}' if str(error) else raised}."
            raise InvalidParameterError(called, takes, self.name, hint) from error
        if chosen.shape not in ((), (size,)) or chosen.dtype != np.bool_:
            requirement = f"return a truth value for each of {size:,} sites"
            raise InvalidParameterError(called, requirement, f"{chosen.dtype} of shape {chosen.shape}")
        return chosen


@dataclass(frozen=True)
class LocalBudget(SiteThreat):
    """An attacker with at most `most` flips of pairs in all, and at most `per_node` at each node; `local:3,per_node=1`.

    A flip counts at both of its ends. The budgets are numbers that no attack changes, so its reverse is itself.

    Example:
        >>> str(LocalBudget(3, per_node=1)), LocalBudget(3, per_node=1).label
        ('local:3,per_node=1', 'at most 3 flips, 1 at each node')
    """

    most: int
    per_node: int
    word = "local"
    needs = EDGES

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "per_node", whole_number("per_node", self.per_node, 1))

    @override
    def label_of(self, size: int) -> str:
        return f"{at_most(size, 'flip')}, {self.per_node:,} at each node"

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return moves.edge

    @override
    def budgets(self, sites: Sites, moves: Moves) -> Limits:
        limit = np.full(sites.graph.n_nodes, self.per_node)
        ends = np.stack([moves.u, moves.v], axis=1)
        return Limits(ends, np.ones(len(ends), dtype=np.int64), np.zeros_like(limit), limit)


def edges_of(sites: Sites) -> tuple[Indices, Indices, Indices, Indices]:
    """The sites of edges that are there, of those that are not, and the two ends of each site.

    Sources and targets of arcs have different numbers.
    """
    check_reach(sites.n_sites)
    u, v = sites.ends
    present, absent = (np.flatnonzero((u >= 0) & here) for here in (sites.values > 0, sites.values == 0))
    return present, absent, u, v + (sites.graph.n_nodes if sites.graph.directed else 0)


@dataclass(frozen=True)
class Rewire(Threat):
    """An attacker who rewires at most `most` edges: u–v becomes u–w, of the same type; in text `rewire:1`.

    An arc keeps its source or its target. Which edges can be rewired differs at the attacked graph, but a rewired edge
    can be rewired back in as many units: its reverse is itself, and nothing is anchored.

    Example:
        >>> from starcert.objects import Graph
        >>> sites = Sites.everything(Graph(3, [(0, 1)]), "all")
        >>> str(Rewire(1)), list(Rewire(1).attacks(sites, 1))
        ('rewire:1', [((0, 0), (1, 1)), ((0, 0), (2, 1))])
    """

    most: int
    word = "rewire"
    unit = "rewired edge"
    needs = EDGES
    symmetric = True

    @override
    def steps(self, sites: Sites) -> Attacks:
        if (total := self._n_steps(sites)) > MAX_ATTACKS:
            refuse_many(self, 1, total)
        present, absent, *ends = edges_of(sites)
        rows = []
        for one, other in product(ends, repeat=2):
            there = absent[np.argsort(other[absent], kind="stable")]
            first, beyond = (np.searchsorted(other[there], one[present], side) for side in ("left", "right"))
            moved = np.repeat(present, beyond - first)
            place = np.arange(len(moved)) - np.repeat(np.cumsum(beyond - first) - beyond, beyond - first)
            rows.append(np.stack([VALUES * moved, VALUES * there[place] + sites.values[moved]], axis=1))
        return Attacks.of(rows)

    def _n_steps(self, sites: Sites) -> int:
        """For each end how many edges are there, times how many are not: two pairs share at most one end."""
        present, absent, *ends = edges_of(sites)
        here, not_here = (np.bincount(np.concatenate([end[each] for end in ends])) for each in (present, absent))
        n = min(len(here), len(not_here))
        return int(here[:n] @ not_here[:n])

    @override
    def count(self, sites: Sites, size: int) -> int:
        self.check(sites)
        return self._n_steps(sites) if size == 1 else super().count(sites, size)


@dataclass(frozen=True)
class Swap(Threat):
    """An attacker who swaps the ends of two edges, at most `most` times; degrees stay; in text `swap:1`.

    u–v and x–y become u–y and x–v, or u–x and v–y, where these are absent; arcs become u→y and x→v. Of two edges of
    different types either new one may have either type. Edges that have exchanged ends can exchange them again: its
    reverse is itself, and nothing is anchored.

    Example:
        >>> from starcert.objects import Graph
        >>> sites = Sites.everything(Graph(4, [(0, 1), (2, 3)]), "all")
        >>> str(Swap(1)), list(Swap(1).attacks(sites, 1))
        ('swap:1', [((0, 0), (1, 1), (4, 1), (5, 0)), ((0, 0), (2, 1), (3, 1), (5, 0))])
    """

    most: int
    word = "swap"
    unit = "swap of two edges"
    units = "swaps of two edges"
    needs = EDGES
    symmetric = True

    @override
    def steps(self, sites: Sites) -> Attacks:
        (present, absent, start, end), values = edges_of(sites), sites.values
        if len(present) ** 2 > MAX_WORK:
            refuse_many(self, 1)
        n = 2 * sites.graph.n_nodes
        absent = absent[np.argsort(start[absent] * n + end[absent])]
        one, other = (present[each] for each in np.triu_indices(len(present), 1))
        (u, v), (x, y) = ((start[each], end[each]) for each in (one, other))
        rows = []
        for ends in [((u, y), (x, v))] + [((u, x), (v, y))] * (not sites.graph.directed):
            codes = [np.minimum(*pair) * n + np.maximum(*pair) for pair in ends]
            places = [find_places(start[absent] * n + end[absent], code) for code in codes]
            fine = np.minimum(*places) >= 0  # edges with a common end would become a loop, or what there is
            old = np.stack([one[fine], other[fine]], axis=1)
            new = np.stack([absent[place[fine]] for place in places], axis=1)
            rows += [np.hstack([VALUES * old, VALUES * new + values[types]]) for types in (old, old[:, ::-1])]
        return Attacks.of(rows)
