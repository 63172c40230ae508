"""The graphs of a page as its scripts draw them: edges, and the node pairs or arcs of each region.

As few numbers as will do: regions write themselves (`Region.to_json`), edges as a listed block does. Regions and node
names that many graphs share are written once. Regions of other sites, such as the features of nodes, and objects that
are no graphs have nothing to draw: they are described.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from starcert.objects import CleanObject, Graph, Region
from starcert.objects.formats import element_symbols
from starcert.objects.sites import Sites

__all__ = ["DRAWN_EDGES", "DRAWN_NODES", "Drawings", "drawings", "is_large"]

DRAWN_NODES = 300
"""Larger graphs are described, not drawn: nobody would see anything."""
DRAWN_EDGES = 3_000
ROOM = 4_000_000
"""The most numbers that all drawings of a page may take; graphs beyond are described, not drawn."""
LONGEST_NAME = 60


class Drawings:
    """The drawings of a page, collected graph by graph.

    Attributes:
        blocks: the different regions, as sets of pairs.
        names: the different tuples of node names.
        graphs: for each graph what to draw, None if it is only described.
    """

    def __init__(self, regions: Sequence[str]) -> None:
        self.regions = regions
        self.blocks: list[dict[str, Any]] = []
        self.names: list[list[str]] = []
        self.graphs: list[dict[str, Any] | None] = []
        self._known_blocks: dict[object, int] = {}
        self._known_names: dict[object, int] = {}
        self._room = ROOM

    def add(self, sites: Sites) -> None:
        """Draws one more graph, if it is small enough and there is room."""
        graph = sites.clean
        if not isinstance(graph, Graph):
            self.graphs.append(None)
            return
        by_name = dict(zip(sites.regions, sites.blocks, strict=True))
        if is_large(graph) or self._room <= 0:
            self.graphs.append(None)
            return
        self._room -= graph.n_edges
        edges, n = graph.edges, int(graph.edges.max(initial=0)) + 1
        drawing: dict[str, Any] = {
            "n": graph.n_nodes,
            "edges": {"n": n, "pairs": np.diff(edges @ np.array([n, 1]), prepend=0).tolist()},
            "blocks": [
                self._block(by_name[region]) if by_name[region].layer == graph.layers[0].name else None
                for region in self.regions
            ],
        }
        if graph.directed:
            drawing["directed"] = True
        if graph.edge_types is not None:
            drawing["types"] = graph.edge_types.tolist()
            drawing["type_names"] = self._named([str(name)[:LONGEST_NAME] for name in graph.type_names])
        if graph.nodes != tuple(range(graph.n_nodes)):
            drawing["names"] = self._named([str(node)[:LONGEST_NAME] for node in graph.nodes])
        symbols = element_symbols(graph.node_data, graph.node_sites)
        if symbols is not None:
            drawing["symbols"] = self._named(symbols)
        self.graphs.append(drawing)

    def _block(self, block: Region) -> int:
        key = type(block), *(array.tobytes() for array in block.content)
        if key not in self._known_blocks:
            self._known_blocks[key] = len(self.blocks)
            self.blocks.append(block.to_json())
            self._room -= sum(array.size for array in block.content)
        return self._known_blocks[key]

    def _named(self, names: list[str]) -> int:
        key = tuple(names)
        if key not in self._known_names:
            self._known_names[key] = len(self.names)
            self.names.append(names)
            self._room -= sum(map(len, names)) // 3
        return self._known_names[key]


def is_large(clean: CleanObject) -> bool:
    """Whether it is a graph too large to be drawn."""
    return isinstance(clean, Graph) and (clean.n_nodes > DRAWN_NODES or clean.n_edges > DRAWN_EDGES)


def drawings(sites: Sequence[Sites], regions: Sequence[str]) -> Drawings:
    """The drawings of graphs with these regions."""
    found = Drawings(regions)
    for each in sites:
        found.add(each)
    return found
