"""The graphs of a page as its scripts draw them: edges, regions, and what evidence shows about their sites.

As few numbers as will do: regions write themselves (`Region.to_json`), edges as a listed block does. Regions and node
names that many graphs share are written once. Regions of other sites, such as the features of nodes, and objects that
are not graphs have nothing to draw: they are described.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.certificates.attack_axes import influences
from starcert.certificates.certificate import Certificate
from starcert.files import Archive
from starcert.objects import CleanObject, Graph, Region
from starcert.objects.formats import element_symbols
from starcert.objects.sites import Sites

__all__ = ["DRAWN_EDGES", "DRAWN_NODES", "Drawings", "drawings", "is_large", "verdict_data"]

DRAWN_NODES = 300
"""Larger graphs are described, not drawn: nothing could be made out."""
DRAWN_EDGES = 3_000
MAX_NUMBERS = 4_000_000
"""The most numbers that all drawings of a page may take; graphs beyond are described, not drawn."""
LONGEST_NAME = 60

MAX_LEVELS = 300
"""The most levels of a graph with the reason for their verdict."""
MAX_PAIRS = 150
"""The most node pairs of a graph that are drawn by their influence."""
MAX_NAMED = 8
"""The most sites of an attack that are named."""
LEAST_SHARE = 0.05
"""Pairs with less than this share of the greatest influence are left out."""

Positions = npt.NDArray[np.int64]


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
        self._left = MAX_NUMBERS

    def add(self, sites: Sites) -> None:
        """Draws one more graph, if it is small enough and there is room."""
        graph, by_name = sites.clean, dict(zip(sites.regions, sites.blocks, strict=True))
        if not isinstance(graph, Graph) or is_large(graph) or self._left <= 0:
            self.graphs.append(None)
            return
        self._left -= graph.n_edges
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
            self._left -= sum(array.size for array in block.content)
        return self._known_blocks[key]

    def _named(self, names: list[str]) -> int:
        key = tuple(names)
        if key not in self._known_names:
            self._known_names[key] = len(self.names)
            self.names.append(names)
            self._left -= sum(map(len, names)) // 3
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


def verdict_data(archive: Archive, sites: Sequence[Sites], drawn: Sequence[bool]) -> dict[str, Any] | None:
    """What the browser draws of evidence, row by row, with the sites of each; None where there is none."""
    certificates = archive.certificates
    if certificates.verdicts is None:
        return None
    texts: dict[str, int] = {}
    graphs = []
    for one, each, shown, record in zip(certificates, sites, drawn, archive.votes.records, strict=True):
        graphs.append(
            {
                "any_flips": None if one.capacity is None else one.any_flips,
                "broken": [list(level) for level in one.broken],
                "reasons": _reasons(one, texts),
                "attack": _attack(one, each),
                "pairs": _pairs(influences(record, each, archive.noise), each) if shown and record is not None else [],
            }
        )
    return {"texts": list(texts), "graphs": graphs}


def _reasons(one: Certificate, texts: dict[str, int]) -> list[int]:
    """The levels that were looked at beyond p_A, each followed by the number of the text with its reason."""
    if one.verdicts is None:
        return []
    found: list[int] = []
    for level in sorted(one.verdicts.levels, key=lambda level: (sum(level), level))[:MAX_LEVELS]:
        found.extend((*level, texts.setdefault(one.verdicts.levels[level].why, len(texts))))
    return found


def _attack(one: Certificate, sites: Sites) -> dict[str, Any] | None:
    """The attack that breaks the smallest broken level."""
    if not one.broken:
        return None
    level = min(one.broken, key=lambda level: (sum(level), level))
    attack = one.attack(level)
    if attack is None:
        return None
    positions = np.array(attack.sites, dtype=np.int64)
    moved = zip(attack.sites[:MAX_NAMED], attack.values or repeat(None), strict=False)
    named = [_site_name(sites, position) + _new_value(sites, position, value) for position, value in moved]
    return {
        "level": list(level),
        "pairs": _edge_pairs(positions, sites)[0],
        "named": named,
        "n_sites": len(attack.sites),
        "votes": list(attack.votes),
        "delta": attack.delta,
    }


def _pairs(gains: npt.NDArray[np.float64], sites: Sites) -> list[list[int]]:
    """The pairs with most influence, each with its share of the greatest in percent."""
    most = gains.max(initial=0.0)
    if not most > 0:
        return []
    order = np.argsort(-gains, kind="stable")[:MAX_PAIRS]
    order = order[gains[order] >= LEAST_SHARE * most]
    pairs, kept = _edge_pairs(order, sites)
    shares = np.rint(100 * gains[kept] / most).astype(int).tolist()
    return [[*pair, share] for pair, share in zip(pairs, shares, strict=True)]


def _edge_pairs(positions: Positions, sites: Sites) -> tuple[list[list[int]], Positions]:
    """The node indices of the sites that are node pairs or arcs, and which sites these are."""
    if not isinstance(sites.clean, Graph):
        return [], positions[:0]
    edges = [block.layer == sites.clean.layers[0].name for block in sites.blocks]
    kept = positions[np.array(edges, dtype=np.bool_)[_regions(positions, sites)]]
    return (np.stack(sites.coordinates(kept), axis=1).tolist() if len(kept) else []), kept


def _regions(positions: Positions, sites: Sites) -> Positions:
    return np.searchsorted(np.cumsum(sites.sizes), positions, side="right")


def _new_value(sites: Sites, position: int, value: int | None) -> str:
    """The new value of a site that has more than two, in words; "" for a bit."""
    if value is None:
        return ""
    layer = sites.layers[int(_regions(np.array([position]), sites)[0])]
    if isinstance(sites.clean, Graph) and layer.name == sites.clean.layers[0].name:
        return f" ({str(sites.clean.type_names[value - 1])[:LONGEST_NAME]})" if value else " (absent)"
    return f" (value {value})"


def _site_name(sites: Sites, position: int) -> str:
    """A site in words, such as a–b for a node pair, a→b for an arc, and x 3, 14 for a feature of a node."""
    layer = sites.layers[int(_regions(np.array([position]), sites)[0])]
    place = [int(each[0]) for each in sites.coordinates([position])]
    if isinstance(sites.clean, Graph) and layer.name == sites.clean.layers[0].name:
        sign = "→" if sites.clean.directed else "–"
        return sign.join(str(sites.clean.nodes[node])[:LONGEST_NAME] for node in place)
    return f"{layer.name} {', '.join(map(str, place))}"
