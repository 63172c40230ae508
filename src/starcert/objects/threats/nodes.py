"""Attackers of whole nodes: some lose all their edges, and spare nodes get some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.graph import Graph
from starcert.objects.graph_kind import like_node_sites
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, VALUES, Attacks, Rows, ground_of
from starcert.objects.threats.base import Threat, at_most, check_most, refuse_many
from starcert.objects.threats.edges import Controlled, StepThreat, names_of
from starcert.objects.threats.flips import Deletions, moves_to_zero
from starcert.objects.threats.site_threat import Mask, list_sets
from starcert.system.errors import InvalidParameterError

SPARE = "spare"  # the name of a spare node


@dataclass(frozen=True)
class DeleteNode(StepThreat):
    """An attacker who removes at most `most` nodes: they stay, without any edge in the regions; `delete_node:1`.

    Which edges go is read off the clean graph. From the attacked graph `RestoreNode` leads back: nodes without edges
    get some. So nothing is anchored, but the two differ: a certificate against `DeleteNode` does not say that no node
    has already been removed from the graph.
    """

    most: int
    word = "delete_node"
    unit = "removed node"

    @property
    @override
    def reverse(self) -> Threat:
        return RestoreNode(self.most)

    @override
    def steps(self, sites: Sites) -> Attacks:
        ground = ground_of(sites)
        present = np.flatnonzero(ground.is_edge & (ground.values > 0))
        ends = np.concatenate([ground.u[present], ground.v[present]])
        order = np.argsort(ends, kind="stable")
        edges = np.tile(present, 2)[order]
        borders = np.flatnonzero(np.diff(ends[order])) + 1
        return Attacks.of(VALUES * each[None] for each in np.split(edges, borders))


@dataclass(frozen=True)
class RestoreNode(StepThreat):
    """An attacker who gives any edges to at most `most` nodes that have none in the regions; in text `restore_node:1`.

    The reverse of `DeleteNode`. A node with n pairs has 2ⁿ − 1 sets of them, so this is for small graphs.
    """

    most: int
    word = "restore_node"
    unit = "node without edges that gets some"
    units = "nodes without edges that get some"

    @property
    @override
    def reverse(self) -> Threat:
        return DeleteNode(self.most)

    @override
    def steps(self, sites: Sites) -> Attacks:
        ground, found, total = ground_of(sites), list[Rows](), 0
        present = ground.is_edge & (ground.values > 0)
        busy = np.concatenate([ground.u[present], ground.v[present]])
        changes = ground.changes
        for node in np.setdiff1d(np.arange(sites.graph.n_nodes), busy):
            at_node = (ground.u == node) | (ground.v == node)
            own = changes[at_node[changes // VALUES]]
            for number in range(1, int(at_node.sum()) + 1):
                rows = own[list_sets(self, own // VALUES, number)]
                found.append(rows)
                total += len(rows)
                if total > MAX_ATTACKS:
                    refuse_many(self, 1)
        return Attacks.of(found)


@dataclass(frozen=True)
class InjectNode(Controlled):
    """An attacker who injects nodes with at most `edges` edges in all; in text `inject:2`, or `inject:2,nodes=a|b`.

    A graph is certified together with spare nodes, which have no edges (`with_spare_nodes`). Their pairs are sites, and
    an injected node is a spare one that gets edges. Its reverse deletes edges at these nodes.
    """

    nodes: tuple[str, ...] = (SPARE,)
    most: int = field(init=False, repr=False, compare=False)
    edges: int = field(kw_only=True)
    word = "inject"

    @override
    def __post_init__(self) -> None:
        check_most(self, "edges")
        object.__setattr__(self, "most", self.edges)
        object.__setattr__(self, "nodes", names_of(self.nodes))

    @property
    @override
    def label(self) -> str:
        edges = at_most(self.most, "edge")
        return f"an injected node with {edges}" if len(self.nodes) == 1 else f"injected nodes with {edges} in all"

    @override
    def label_of(self, size: int) -> str:
        return replace(self, edges=size).label

    @property
    @override
    def reverse(self) -> Threat:
        return Controlled(self.nodes, self.most) & Deletions(self.most)

    @property
    @override
    def options(self) -> dict[str, object]:
        return {} if self.nodes == (SPARE,) else {"nodes": self.nodes}

    @classmethod
    @override
    def read(cls, most: int | None, options: Mapping[str, Any]) -> Self:
        return cls(edges=most, **options)  # type: ignore[arg-type]

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        layer = sites.layers[region]
        return moves_to_zero(layer).T & (layer.name in EDGE_LAYERS)


def injected_nodes(threat: object) -> tuple[str, ...]:
    """The names of the spare nodes that a threat, or a part of it, injects."""
    parts = threat.nodes if isinstance(threat, InjectNode) else ()
    for each in getattr(threat, "parts", (getattr(threat, "left", None), getattr(threat, "right", None))):
        parts += injected_nodes(each) if each is not None else ()
    return tuple(dict.fromkeys(parts))


def with_spare_nodes(
    graph: Graph, node_data: Mapping[str, Sequence[Any]] | None = None, *, names: Sequence[str] = (SPARE,)
) -> Graph:
    """The graph with spare nodes, which have no edges, so that it can be certified against `InjectNode`.

    Args:
        graph: the graph.
        node_data: for each of the graph's node data (and data that are sites) the entries of the spare nodes. Anchored
            data are left out, unless they are here too.
        names: the names of the spare nodes.

    Example:
        >>> path = Graph(2, [(0, 1)], node_data={"element": ["C", "N"]})
        >>> more = with_spare_nodes(path, {"element": ["O"]})
        >>> more.nodes, more.node_data["element"], more.n_edges
        ((0, 1, 'spare'), ('C', 'N', 'O'), 1)
    """
    given = dict(node_data or {})
    shown = {name: each.shown(each.values) for name, each in graph.node_sites.items()}
    wanted = {**graph.node_data, **shown}
    anchored = {name: data for name, data in graph.anchored_data.items() if name in given}
    for name in given.keys() ^ {*wanted, *anchored}:
        requirement = f"have entries of the spare nodes for {', '.join(wanted) or 'nothing'}"
        raise InvalidParameterError("node_data", requirement, f"{name} {'too' if name in given else 'missing'}")
    for name, entries in given.items():
        if len(entries) != len(names):
            raise InvalidParameterError(f"node_data[{name}]", f"have {len(names)} entries, one a spare node", entries)
    types = None if graph.edge_types is None else [graph.type_names[each - 1] for each in graph.edge_types.tolist()]
    more = Graph(
        graph.n_nodes + len(names),
        graph.edges,
        nodes=(*graph.nodes, *names),
        node_data={name: _longer(data, given[name]) for name, data in wanted.items()},
        anchored_data={name: _longer(data, given[name]) for name, data in anchored.items()},
        directed=graph.directed,
        edge_types=types,
        type_names=None if types is None else graph.type_names,
        edge_data=graph.edge_data,
        added_edge_data=graph.added_edge_data,
    )
    return like_node_sites(more, graph)


def _longer(data: Any, entries: Sequence[Any]) -> object:  # noqa: ANN401  (an array or a sequence)
    if isinstance(data, np.ndarray):
        return np.concatenate([data, np.asarray(entries, dtype=data.dtype)])
    return [*data, *entries]
