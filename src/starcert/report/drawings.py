"""The graphs as the page draws them: edges and the node pairs of each region, as few numbers as will do.

Regions write themselves (`Block.to_json`), edges as a listed block does. Regions and node names that many graphs share
are written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starcert.graphs import Region
from starcert.graphs.blocks import Listed
from starcert.graphs.sites import Sites

__all__ = ["DRAWN_EDGES", "DRAWN_NODES", "Drawings", "drawings"]

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
        graph = sites.graph
        by_name = dict(zip(sites.regions, sites.blocks, strict=True))
        if graph.n_nodes > DRAWN_NODES or graph.n_edges > DRAWN_EDGES or self._room <= 0:
            self.graphs.append(None)
            return
        self._room -= graph.n_edges
        drawing: dict[str, Any] = {
            "n": graph.n_nodes,
            "edges": Listed(graph.edges).to_json(),
            "blocks": [self._block(by_name[region]) for region in self.regions],
        }
        if graph.nodes != tuple(range(graph.n_nodes)):
            drawing["names"] = self._named([str(node)[:LONGEST_NAME] for node in graph.nodes])
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


def drawings(sites: Sequence[Sites], regions: Sequence[str]) -> Drawings:
    """The drawings of graphs with these regions."""
    found = Drawings(regions)
    for each in sites:
        found.add(each)
    return found
