"""The sites of an object: those that an attacker may change, region after region, as one flat row; and target nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import digest, read_only
from starcert.objects.graph import Graph, NodeFrame
from starcert.objects.layers import EDGE_LAYERS, PAIRS, CleanObject, Coordinates, Indices, Layer, Region, Values
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True, eq=False, repr=False)
class Sites:
    """Regions bound to a clean object: its sites, numbered consecutively, region after region.

    Regions that share a site are refused. Nothing here is as large as the number of sites: positions and coordinates
    are turned into one another by arithmetic.

    Example:
        >>> from starcert.objects import Partition
        >>> sites = Partition.from_node_sets({"core": range(3), "rest": range(3, 5)}).sites(Graph(5, [(0, 2), (2, 3)]))
        >>> sites.sizes, sites.offsets, sites.n_fixed, sites.counts
        ((3, 1), (0, 3), 6, ((2, 1), (1, 0)))
        >>> sites.coordinates([1, 3]), sites.locate([2, 2], [0, 3])
        ((array([0, 3]), array([2, 4])), array([ 1, -1]))
    """

    clean: CleanObject
    regions: tuple[str, ...]
    blocks: tuple[Region, ...]  # the regions, each a subset of one of the object's layers
    anchored: bool = False  # whether they were derived from a graph's own edges
    reason: str = ""  # why they are anchored

    def __post_init__(self) -> None:
        named = list(zip(self.regions, self.blocks, strict=True))
        known = [layer.name for layer in self.clean.layers]
        for region, block in named:
            if block.layer not in known:
                raise InvalidParameterError(f"regions[{region}]", f"lie in a layer of {', '.join(known)}", block.layer)
        for layer in self.clean.layers:
            layer.check({region: block for region, block in named if block.layer == layer.name})

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # nothing that is computed from these

    def __repr__(self) -> str:
        sizes = ", ".join(f"{region}: {size:,}" for region, size in zip(self.regions, self.sizes, strict=True))
        return f"Sites({sizes}{', anchored' if self.anchored else ''})"

    @classmethod
    def everything(cls, clean: CleanObject, region: str) -> Sites:
        """Every site of an object in one region."""
        if len(clean.layers) != 1:
            names = ", ".join(layer.name for layer in clean.layers)
            example = {f"region{number}": layer.name for number, layer in enumerate(clean.layers, start=1)}
            hint = f"Give each a region, or some of them: {example}."
            raise InvalidParameterError(
                "regions", f"is missing: it says where the regions are in the layers {names}. {hint}"
            )
        return cls(clean, (region,), (clean.layers[0].everything(),))

    def mark_anchored(self, reason: str) -> Sites:
        """These sites, anchored for this reason."""
        marked = copy(self)
        vars(marked).update(anchored=True, reason=reason)
        return marked

    def of_other(self, clean: CleanObject, values: Values | None = None) -> Sites:
        """The same sites of another object, whose layers have the same sites; with its values there, if known."""
        other = copy(self)
        known = {"values": values, "ends": vars(self).get("ends")}
        vars(other).update(clean=clean, **{name: each for name, each in known.items() if each is not None})
        return other

    @property
    def graph(self) -> Graph:
        """The clean object, for those who need a graph."""
        if not isinstance(self.clean, Graph):
            raise InvalidParameterError("sites", "be those of a Graph", type(self.clean).__name__)
        return self.clean

    @property
    def frame(self) -> Any:  # noqa: ANN401  (whatever the object has)
        """The part of the object that noise leaves alone: of a graph its `NodeFrame`."""
        return self.clean.frame

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layer of each region."""
        return tuple(self._layer(block.layer) for block in self.blocks)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of sites in each region."""
        return tuple(block.size for block in self.blocks)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The position of the first site of each region."""
        return tuple(accumulate(self.sizes, initial=0))[:-1]

    @property
    def n_sites(self) -> int:
        """The number of sites in all regions."""
        return sum(self.sizes)

    @property
    def n_fixed(self) -> int:
        """The number of sites of the object in no region: no noise there, and nothing is certified."""
        return sum(layer.size for layer in self.clean.layers) - self.n_sites

    @cached_property
    def key(self) -> str:
        """A hex digest of the regions and their sites; of values only where the object's kind does not check them."""
        layers = [block.layer for block in self.blocks]
        # Sites of node pairs keep the digest that they had when there were no others.
        more: tuple[object, ...] = () if set(layers) <= {PAIRS} else (layers,)
        if not getattr(getattr(self.clean, "kind", None), "checked", False):  # its own key may be that of others, too
            more += ([self.clean.nonzero(layer.name) for layer in self.clean.layers],)
        return digest("sites", self.regions, [block.content for block in self.blocks], self.anchored, *more)

    def span(self, layer: str) -> tuple[int, int]:
        """The positions of the sites of a layer: from the first to before the second."""
        here = [number for number, block in enumerate(self.blocks) if block.layer == layer]
        if not here:
            return 0, 0
        if here[-1] - here[0] >= len(here):
            raise InvalidParameterError(
                "regions",
                f"mixes layers: {', '.join(block.layer for block in self.blocks)}. Name those of one layer together.",
            )
        return self.offsets[here[0]], self.offsets[here[-1]] + self.sizes[here[-1]]

    def coordinates(self, positions: npt.ArrayLike) -> tuple[Indices, ...]:
        """The coordinates of sites of one layer by their flat positions: of a node pair its node indices u < v."""
        flat = _as_indices(positions, self.n_sites, "positions", "positions of sites")
        layer = self.layers[int(np.searchsorted(self.offsets, flat[0], side="right")) - 1] if len(flat) else None
        found = tuple(np.empty_like(flat) for _ in (layer or self.clean.layers[0]).ranges)
        for block, offset in zip(self.blocks, self.offsets, strict=True):
            where = (flat >= offset) & (flat < offset + block.size)
            if len(flat) and where.all():
                return tuple(block.coordinates(flat - offset))
            if where.any():
                for values, part in zip(found, block.coordinates(flat[where] - offset), strict=True):
                    values[where] = part
        return found

    def locate(self, *coordinates: npt.ArrayLike, layer: str | None = None) -> Indices:
        """The flat positions of sites of a layer, by default the first, by their coordinates; −1 for fixed ones."""
        of = self._layer(layer)
        ranges = zip(coordinates, of.ranges, strict=True)
        given = [_as_indices(each, limit, name, f"coordinates of {of.name}") for each, (name, limit) in ranges]
        for values, (name, _) in zip(given[1:], of.ranges[1:], strict=True):
            if len(values) != len(given[0]):
                raise InvalidParameterError(name, f"be as long as {of.ranges[0][0]!r}, {len(given[0])}", len(values))
        return self._located(of, given)

    def _located(self, layer: Layer, coordinates: Coordinates) -> Indices:
        positions = np.full(len(coordinates[0]), -1, dtype=np.int64)
        for block, offset in zip(self.blocks, self.offsets, strict=True):
            if block.layer == layer.name:
                numbers = block.locate(*coordinates)
                np.copyto(positions, numbers + offset, where=numbers >= 0)
        return positions

    def _layer(self, name: str | None) -> Layer:
        known = {layer.name: layer for layer in self.clean.layers}
        if name is not None and name not in known:
            raise InvalidParameterError("layer", f"be one of {', '.join(known)}", name)
        return self.clean.layers[0] if name is None else known[name]

    @cached_property
    def _positions(self) -> tuple[Indices, ...]:
        """For each layer of the object where its values are that are not 0, −1 for fixed ones."""
        return tuple(self._located(layer, self.clean.nonzero(layer.name)[0]) for layer in self.clean.layers)

    @cached_property
    def nonzero(self) -> tuple[Indices, Values]:
        """The flat positions of the sites whose clean value is not 0, ascending, and those values; read-only."""
        positions = np.concatenate(self._positions)
        values = np.concatenate([self.clean.nonzero(layer.name)[1] for layer in self.clean.layers])
        order = np.argsort(positions)[int((positions < 0).sum()) :]
        return read_only(positions[order]), read_only(values[order])

    @cached_property
    def values(self) -> Values:
        """The clean value of every site, read-only."""
        values = np.zeros(self.n_sites, dtype=np.uint8)
        positions, others = self.nonzero
        values[positions] = others
        return read_only(values)

    @cached_property
    def ends(self) -> tuple[Indices, Indices]:
        """The two nodes of every site; −1 for sites that are no pairs or arcs."""
        return self.ends_at(np.arange(self.n_sites))

    def ends_at(self, positions: Indices) -> tuple[Indices, Indices]:
        """The two nodes of some sites; −1 for those that are no pairs or arcs."""
        u, v = np.full((2, len(positions)), -1, dtype=np.int64)
        regions = self.regions_at(positions)
        for number, (block, offset) in enumerate(zip(self.blocks, self.offsets, strict=True)):
            if block.layer in EDGE_LAYERS:
                here = regions == number
                u[here], v[here] = block.coordinates(positions[here] - offset)
        return u, v

    def regions_at(self, positions: npt.ArrayLike) -> Indices:
        """The number of the region of each of some sites."""
        found: Indices = np.searchsorted(self.offsets, positions, side="right") - 1
        return found

    def alphabets_at(self, positions: Indices) -> Indices:
        """The number of values of each of some sites."""
        return np.array([layer.alphabet for layer in self.layers], dtype=np.int64)[self.regions_at(positions)]

    @cached_property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """For each region how many of its sites have each clean value, from 0 on."""
        positions, values = self.nonzero
        found = []
        for layer, offset, size in zip(self.layers, self.offsets, self.sizes, strict=True):
            here = slice(*np.searchsorted(positions, [offset, offset + size]))
            others = np.bincount(values[here], minlength=layer.alphabet)[1:].tolist()
            found.append((size - sum(others), *others))
        return tuple(found)

    def capacity(self, noise: Noise) -> tuple[int, ...]:
        """The number of sites that an attacker can change on each axis: larger radii hold no further attack."""
        counts = dict(zip(self.regions, self.counts, strict=True))
        return tuple(count for region in noise for count in noise[region].capacity(counts[region]))

    @cached_property
    def fixed_edges(self) -> Indices:
        """The edges of a graph that lie in no region, shape (k, 2), read-only."""
        return read_only(self.graph.edges[self._positions[0] < 0])

    @cached_property
    def fixed_types(self) -> Values:
        """The values of these edges: their types, or 1."""
        return read_only(self.graph.nonzero(self.clean.layers[0].name)[1][self._positions[0] < 0])


def _as_indices(values: npt.ArrayLike, limit: int, name: str, what: str) -> Indices:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidParameterError(name, f"be a row of {what}", values)
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        raise InvalidParameterError(name, f"be {what} below {limit}, 0 or more", array[wrong.argmax()].item())
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False, slots=True)
class TargetNodes:
    """Index and name of the node of each row, where nodes are classified: those of the first graph, then of the next.

    Example:
        >>> from starcert.objects import Graph
        >>> nodes = TargetNodes.of([Graph(4, [(0, 1)], nodes="abcd").frame], [np.array([1, 3])])
        >>> nodes.index, nodes.names, nodes.labels([5, 6, 7, 8])
        (array([1, 3]), ('b', 'd'), array([6, 8]))
    """

    index: Indices
    names: tuple[Hashable, ...]
    n_nodes: tuple[int, ...]  # of each graph

    @classmethod
    def of(cls, frames: Sequence[NodeFrame], nodes: Sequence[npt.ArrayLike]) -> TargetNodes:
        """The rows of graphs with these frames, given the node indices of the targets of each."""
        parts = [_checked(number, frame, each) for number, (frame, each) in enumerate(zip(frames, nodes, strict=True))]
        names = tuple(frame.nodes[node] for frame, part in zip(frames, parts, strict=True) for node in part.tolist())
        index = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        return cls(read_only(index), names, tuple(frame.n_nodes for frame in frames))

    def __len__(self) -> int:
        return len(self.index)

    def labels(self, labels: npt.ArrayLike | Sequence[int | None]) -> npt.NDArray[np.generic]:
        """One label a row: as they are given, or, of one graph, picked from the labels of all its nodes."""
        given: npt.NDArray[np.generic] = np.asarray(labels)
        if given.shape == (len(self),):
            if self.n_nodes == given.shape and not np.array_equal(self.index, np.arange(len(self))):
                wanted = "distinguish rows from nodes, which are in another order"
                hint = "Let target_nodes name them in ascending order."
                raise InvalidParameterError("labels", wanted, "both", hint)
            return given
        if len(self.n_nodes) == 1 and given.shape == self.n_nodes:
            return given[self.index]
        all_nodes = f", or for each of all {self.n_nodes[0]} nodes" if len(self.n_nodes) == 1 else ""
        raise InvalidParameterError("labels", f"have one class for each of {len(self)} nodes{all_nodes}", given.shape)


def _checked(number: int, frame: NodeFrame, nodes: npt.ArrayLike) -> Indices:
    given = np.asarray(nodes)
    fits = given.ndim == 1 and given.dtype.kind in "iu" and (given.size == 0 or given.min() >= 0)
    if not fits or (given.size and given.max() >= frame.n_nodes) or len(np.unique(given)) < len(given):
        wanted = f"be indices of the {frame.n_nodes} nodes of graph {number}, each once"
        raise InvalidParameterError("target_nodes", wanted, given.tolist()[:8] if given.ndim == 1 else given.shape)
    return given.astype(np.int64)
