"""The sites of a graph: the node pairs that an attacker may flip, as one flat row of bits.

Sampling and voting work on flat positions and region numbers alone; this is where they become node pairs again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError
from starcert.graphs.blocks import AnyBlock, Indices
from starcert.graphs.content import digest
from starcert.graphs.disjoint import check_disjoint
from starcert.graphs.frame import Frame
from starcert.graphs.graph import Graph

__all__ = ["Sites"]


@dataclass(frozen=True, eq=False, repr=False)
class Sites:
    """A partition bound to a graph: its sites, numbered consecutively, region after region.

    However they are made, the regions are disjoint: sites that share a node pair are refused. Nothing here is as large
    as the number of sites: positions and node pairs are turned into one another by arithmetic.

    Attributes:
        graph: the graph, whose edges are the clean bits.
        regions: the names of the regions.
        blocks: the node pairs of each region.
        anchored: whether the regions were read off a graph's own edges.
        reason: why they are anchored, a sentence; empty if they are not.

    Example:
        >>> from starcert.graphs import Partition
        >>> sites = Partition.from_node_sets({"core": range(3), "rest": range(3, 5)}).sites(Graph(5, [(0, 2), (2, 3)]))
        >>> sites.sizes, sites.offsets, sites.n_sites, sites.n_fixed
        ((3, 1), (0, 3), 4, 6)
        >>> sites.endpoints([1, 3]), sites.locate([2, 2], [0, 3])
        ((array([0, 3]), array([2, 4])), array([ 1, -1]))
        >>> sites.ones, sites.fixed_edges
        ((array([1]), array([], dtype=int64)), array([[2, 3]]))
    """

    graph: Graph
    regions: tuple[str, ...]
    blocks: tuple[AnyBlock, ...]
    anchored: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        check_disjoint(self.regions, self.blocks, self.graph.nodes)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.graph, self.regions, self.blocks, self.anchored, self.reason)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{region}: {size:,}" for region, size in zip(self.regions, self.sizes, strict=True))
        return f"Sites({sizes}{', anchored' if self.anchored else ''})"

    def marked(self, reason: str) -> Sites:
        """These sites, anchored for this reason."""
        return _restore(self.graph, self.regions, self.blocks, True, reason)

    @cached_property
    def frame(self) -> Frame:
        """What noise leaves alone in the graph."""
        return Frame.of(self.graph)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many sites each region has."""
        return tuple(block.size for block in self.blocks)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The position of the first site of each region."""
        return tuple(accumulate(self.sizes, initial=0))[:-1]

    @property
    def n_sites(self) -> int:
        """How many sites there are in all regions."""
        return sum(self.sizes)

    @property
    def n_fixed(self) -> int:
        """How many node pairs lie in no region: no noise there, and nothing is certified."""
        return self.graph.n_nodes * (self.graph.n_nodes - 1) // 2 - self.n_sites

    @cached_property
    def key(self) -> str:
        """A hex digest of what the sites are: regions, their node pairs as indices, anchored or not.

        The edges of the graph play no part: a graph and its noisy copy have the same sites.
        """
        return digest("sites", self.regions, [block.content for block in self.blocks], self.anchored)

    def endpoints(self, positions: npt.ArrayLike) -> tuple[Indices, Indices]:
        """The node indices u < v of sites.

        Args:
            positions: flat positions of sites, from 0 to n_sites − 1, in any order.
        """
        flat = _as_indices(positions, self.n_sites, "positions", "positions of sites")
        u, v = np.empty_like(flat), np.empty_like(flat)
        for block, offset in zip(self.blocks, self.offsets, strict=True):
            where = (flat >= offset) & (flat < offset + block.size)
            if where.all():
                return block.endpoints(flat - offset)
            u[where], v[where] = block.endpoints(flat[where] - offset)
        return u, v

    def locate(self, u: npt.ArrayLike, v: npt.ArrayLike) -> Indices:
        """The flat positions of node pairs, −1 for fixed pairs.

        Args:
            u: node indices.
            v: node indices, as many; either may be the smaller one. A node with itself is a fixed pair.
        """
        n_nodes = self.graph.n_nodes
        one, other = _as_indices(u, n_nodes, "u", "node indices"), _as_indices(v, n_nodes, "v", "node indices")
        if len(one) != len(other):
            raise InvalidParameterError("v", f"be as long as 'u', {len(one)}", len(other))
        positions = np.full(len(one), -1, dtype=np.int64)
        for block, offset in zip(self.blocks, self.offsets, strict=True):
            numbers = block.locate(one, other, n_nodes)
            np.copyto(positions, numbers + offset, where=numbers >= 0)
        return positions

    @cached_property
    def _positions_of_edges(self) -> Indices:
        return self.locate(self.graph.edges[:, 0], self.graph.edges[:, 1])

    @cached_property
    def ones(self) -> tuple[Indices, ...]:
        """For each region the flat positions of the sites whose clean bit is 1, ascending, read-only."""
        found = np.sort(self._positions_of_edges)
        bounds = [(offset, offset + size) for offset, size in zip(self.offsets, self.sizes, strict=True)]
        parts = tuple(found[slice(*np.searchsorted(found, bound))].copy() for bound in bounds)
        for part in parts:
            part.setflags(write=False)
        return parts

    @cached_property
    def fixed_edges(self) -> Indices:
        """The edges of the graph that lie in no region, shape (k, 2), read-only."""
        edges = self.graph.edges[self._positions_of_edges < 0]
        edges.setflags(write=False)
        return edges


def _restore(*values: object) -> Sites:
    """Sites that were checked when they were first made: nobody need do that again."""
    sites = object.__new__(Sites)
    for field, value in zip(fields(Sites), values, strict=True):
        object.__setattr__(sites, field.name, value)
    return sites


def _as_indices(values: npt.ArrayLike, limit: int, name: str, what: str) -> Indices:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidParameterError(name, f"be a row of {what}", values)
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        raise InvalidParameterError(name, f"be {what} below {limit}, 0 or more", array[wrong.argmax()].item())
    return array.astype(np.int64, copy=False)
