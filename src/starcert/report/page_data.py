"""The data of the page: one plain value, column by column, from which the browser makes everything that moves.

Graphs are drawn from edges and the node pairs of each region, as few numbers as will do. Regions write themselves
(`Block.to_json`), edges as a listed block does. Regions and node names that many graphs share are written once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from starcert.archive import Archive
from starcert.core.confidence import share_of_alpha, spends_on_all_classes
from starcert.graphs import Region
from starcert.graphs.blocks import Listed
from starcert.graphs.sites import Sites
from starcert.metrics import right
from starcert.report.findings import Notice, ReportSummary, fixed_pairs, notices, summary
from starcert.report.radius_tables import slack_tables, surfaces
from starcert.report.slices import Slices, limits_of
from starcert.system.output import holds_at_least

__all__ = ["DRAWN_EDGES", "DRAWN_NODES", "Drawings", "PageData", "drawings", "page_data"]

Key = TypeVar("Key", bound=Hashable)

SAMPLES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The numbers of samples that the page can try at the observed share of votes."""


@dataclass(frozen=True)
class PageData:
    """Everything that the page says.

    Attributes:
        data: what the browser draws from, as JSON can say it.
        counts: the numbers that stand first.
        notices: what a reader must know.
        fixed: how many node pairs lie in no region, a sentence; "" if none do.
    """

    data: dict[str, Any]
    counts: ReportSummary
    notices: list[Notice]
    fixed: str


def page_data(archive: Archive, sites: Sequence[Sites]) -> PageData:
    """Computes the page of an archive; `sites` are those of its graphs."""
    slices = Slices(archive)
    radii = [_once([slices.of(graph, pair) for graph in range(len(archive))]) for pair in slices.pairs]
    abstained = [not radii[0][0][number] for number in radii[0][1]]
    counts = summary(archive, abstained)
    tables = slack_tables(archive, slices)
    shares = surfaces(archive, slices)
    bounds = archive.certificates.bounds
    drawn = drawings(sites, archive.noise.regions)
    anchors = _once(list(archive.anchored))
    boxes = _once(limits_of(archive))
    data = {
        "axes": list(archive.noise.axes),
        "regions": [
            {"name": region, "law": archive.noise[region].words(), "axes": _axes_of(archive, region)}
            for region in archive.noise.regions
        ],
        "classes": list(archive.class_names),
        "holds": holds_at_least(archive.alpha),
        "labelled": counts.n_labelled,
        "pairs": [list(pair) for pair in slices.pairs],
        "slack": {"least": tables.least, "ticks": tables.ticks, "rows": tables.rows},
        "surface": {
            "ticks": shares.ticks,
            "graphs": shares.n_graphs,
            "labelled": shares.n_labelled,
            "majority": shares.majority,
            "certified": [table.tolist() for table in shares.certified],
            "right": [table.tolist() for table in shares.right],
        },
        "slices": [{"radii": [_flat(each) for each in different], "of": of} for different, of in radii],
        "graphs": {
            "names": list(archive.names),
            "truth": [-1 if label is None else label for label in archive.labels],
            "answer": bounds.labels.tolist(),
            "right": right(archive.certificates, archive.labels).astype(int).tolist(),
            "failure": bounds.failure.tolist(),
            "multi": (bounds.other < bounds.failure).astype(int).tolist(),
            "votes": archive.votes.counts.tolist(),
            "limits": {"different": boxes[0], "of": boxes[1]},
            "anchored": {"different": anchors[0], "of": anchors[1]},
            "n_nodes": [each.graph.n_nodes for each in sites],
            "n_edges": [each.graph.n_edges for each in sites],
            "region_sites": [_by_region(archive, each, each.sizes) for each in sites],
            "region_edges": [_by_region(archive, each, [ones.size for ones in each.ones]) for each in sites],
            "fixed_pairs": [each.n_fixed for each in sites],
            "fixed_edges": [len(each.fixed_edges) for each in sites],
        },
        "more_samples": _more_samples(archive),
        "drawings": {"blocks": drawn.blocks, "names": drawn.names, "graphs": drawn.graphs},
        "drawn": {"nodes": DRAWN_NODES, "edges": DRAWN_EDGES},
    }
    return PageData(data, counts, notices(archive, counts, slices), fixed_pairs([each.n_fixed for each in sites]))


def _axes_of(archive: Archive, region: str) -> list[int]:
    return [archive.noise.axes.index(region + suffix) for suffix in archive.noise[region].suffixes]


def _by_region(archive: Archive, sites: Sites, values: Sequence[int]) -> list[int]:
    found = dict(zip(sites.regions, values, strict=True))
    return [found[region] for region in archive.noise.regions]


def _once(values: Sequence[Key]) -> tuple[list[Key], list[int]]:
    """The different values in the order of their coming, and for each value which one it is."""
    numbers: dict[Key, int] = {}
    of = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), of


def _flat(radii: Sequence[Sequence[int]]) -> list[int]:
    return [count for radius in radii for count in radius]


def _more_samples(archive: Archive) -> dict[str, Any]:
    """The failure probability that other numbers of samples would show if the votes fell in the same shares.

    That is a question, not a certificate: the limits are computed in floats and rounded up, not proved. Votes for
    other classes are rounded up too, so that fewer samples never look better than they are.
    """
    from scipy.special import betainccinv  # noqa: PLC0415  (as in core.confidence)

    counts, labels = archive.votes.counts, archive.certificates.labels
    totals = counts.sum(axis=1)
    others = totals - counts[np.arange(len(labels)), labels]
    everything = spends_on_all_classes(
        archive.votes, alpha=archive.alpha, together=archive.together, margins=archive.margins
    )
    rows, of = np.unique(np.stack([others, totals, everything], axis=1), axis=0, return_inverse=True)
    samples = np.array(SAMPLES)
    wrong = np.ceil(np.round(rows[:, :1] * (samples / rows[:, 1:2]), 6))
    shares = [
        share_of_alpha(
            archive.alpha,
            counts.shape[1],
            selected_apart=archive.votes.selection is not None,
            all_classes=all_classes,
            together=archive.together,
        )
        for all_classes in (False, True)
    ]
    inside = wrong < samples
    limits = betainccinv(wrong + 1, np.where(inside, samples - wrong, 1), np.array(shares, dtype=float)[rows[:, 2:]])
    failure = np.where(inside, np.minimum(limits * (1 + 1e-9), 1.0), 1.0)
    return {"samples": list(SAMPLES), "failure": failure.tolist(), "of": of.reshape(-1).tolist()}


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
