"""Attackers of whole nodes: some lose all their edges, and spare nodes get some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from starcert.objects.graph import Graph
from starcert.objects.graph_kind import like_node_sites
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Attacks, Mask, Moves
from starcert.objects.threats.base import Combined, Threat, at_most
from starcert.objects.threats.edges import EDGES, Controlled
from starcert.objects.threats.flips import Deletions
from starcert.system.errors import InvalidParameterError

SPARE = "spare"  # the name of a spare node


@dataclass(frozen=True)
class DeleteNode(Threat):
    """An attacker who removes at most `most` nodes: they stay, without any edge in the regions; `delete_node:1`.

    *Anchored*: which edges a node had cannot be told once they are removed. A certificate does not say that no node has
    already been removed from the graph.

    Example:
        >>> from starcert.objects import Sites
        >>> sites = Sites.everything(Graph(3, [(0, 1), (1, 2)]), "all")
        >>> str(DeleteNode(1)), list(DeleteNode(1).attacks(sites, 1))
        ('delete_node:1', [((0, 0),), ((2, 0),), ((0, 0), (2, 0))])
    """

    most: int
    word = "delete_node"
    moves_nodes = True
    unit = "removed node"
    anchor = "Which edges a removed node had is read from the clean graph."
    needs = EDGES

    @override
    def steps(self, sites: Sites) -> Attacks:
        present = np.flatnonzero(sites.values)
        u, v = sites.ends_at(present)
        present, u, v = present[u >= 0], u[u >= 0], v[u >= 0]
        return Attacks.of(VALUES * present[None, (u == node) | (v == node)] for node in np.union1d(u, v))


@dataclass(frozen=True, init=False)
class InjectNode(Controlled):
    """An attacker who injects nodes with at most `edges` edges in all; in text `inject:2`, or `inject:2,nodes=a|b`.

    A graph is certified together with spare nodes, which have no edges (`with_spare_nodes`). Their pairs are sites, and
    an injected node is a spare one that gets edges. Its reverse deletes edges at these nodes.
    `most` is the number of edges.

    Example:
        >>> InjectNode(edges=2), InjectNode(["a", "b"], edges=2).label
        (InjectNode(nodes=('spare',), most=2), 'injected nodes with at most 2 edges in all')
    """

    nodes: tuple[str, ...] = (SPARE,)
    most: int = 1
    word = "inject"
    moves_nodes = True
    hint = "Certify the graph with a spare node: starcert.threats.with_spare_nodes(graph)."

    def __init__(
        self, nodes: Sequence[object] = (SPARE,), most: int | None = None, *, edges: int | None = None
    ) -> None:
        if (edges is None) == (most is None):
            raise InvalidParameterError("edges", "be the number of edges, or most", edges)
        super().__init__(nodes, edges if most is None else most)  # type: ignore[arg-type]

    @override
    def label_of(self, size: int) -> str:
        edges = at_most(size, "edge")
        return f"an injected node with {edges}" if len(self.nodes) == 1 else f"injected nodes with {edges} in all"

    @property
    @override
    def reverse(self) -> Threat:
        return Controlled(self.nodes, self.most) & Deletions(self.most)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return super().allowed(sites, moves) & moves.adds


def injected_nodes(threat: Threat | None) -> tuple[str, ...]:
    """The names of the spare nodes that a threat, or a part of it, injects.

    Example:
        >>> injected_nodes(InjectNode(["a"], edges=2)), injected_nodes(DeleteNode(1))
        (('a',), ())
    """
    if isinstance(threat, Combined):
        return tuple(dict.fromkeys(name for each in threat.parts for name in injected_nodes(each)))
    return threat.nodes if isinstance(threat, InjectNode) else ()


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
    if {name: len(entries) for name, entries in given.items()} != dict.fromkeys([*wanted, *anchored], len(names)):
        requirement = f"have an entry of each spare node for {', '.join(wanted) or 'nothing: the graph has no data'}"
        raise InvalidParameterError("node_data", requirement, given)
    longer = graph.parts._replace(
        n_nodes=graph.n_nodes + len(names),
        nodes=(*graph.nodes, *names),
        node_data={name: _longer(data, given[name]) for name, data in wanted.items()},
        anchored_data={name: _longer(data, given[name]) for name, data in anchored.items()},
    )
    return like_node_sites(Graph(**longer._asdict()), graph)


def _longer(data: Any, entries: Sequence[Any]) -> object:  # noqa: ANN401  (an array or a sequence)
    if isinstance(data, np.ndarray):
        return np.concatenate([data, np.asarray(entries, dtype=data.dtype)])
    return [*data, *entries]
