"""Layers, regions and clean objects: what sites are, whatever they mean.

A layer is a set of sites with coordinates: the pairs of n nodes, n × f feature bits, a row of cells. A region is a
subset of a layer, stored compactly and numbered from 0. A new layer is a subclass of `Layer` with other coordinates,
and an object that has it, see `CleanObject`; a classifier sees plain vectors, or a view that `starcert.sampling.views`
names.

    Layer:  row of sites (`Layer`), columns (`ColumnLayer`), node data (`NodeLayer`), pairs or arcs (`blocks.NodePairs`)
    Region: any sites one by one (`Numbered`), nodes × columns (`NodeGrid`), blocks of node pairs (`blocks.Block`),
            listed pairs or arcs (`blocks.Listed`), both arcs of pairs (`blocks.BothWays`)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.system.errors import InvalidParameterError

PAIRS, ARCS = "pairs", "arcs"
EDGE_LAYERS = (PAIRS, ARCS)  # the layers whose sites are the edges of graphs: undirected or directed
CELLS, WORDS = "cells", "words"
OPEN_LAYERS = (CELLS, WORDS)  # the layers whose sites hold anything: a value says whether it is hidden, or written anew

Indices: TypeAlias = npt.NDArray[np.int64]
Coordinates: TypeAlias = Sequence[Indices]
"""One array for each coordinate."""
Values: TypeAlias = npt.NDArray[np.uint8]
"""Values of sites, from 0 to the layer's alphabet − 1."""


@dataclass(frozen=True, eq=False)
class Region(ABC):
    """A subset of a layer, its sites numbered from 0; picklable, and small for any number of sites.

    Example:
        >>> cells = Layer("cells", size=4, alphabet=2).everything()
        >>> cells.layer, cells.size, cells.locate(np.array([2, 9])).tolist()
        ('cells', 4, [2, -1])
    """

    @property
    @abstractmethod
    def layer(self) -> str:
        """The name of the layer."""

    @property
    def content(self) -> tuple[Indices, ...]:
        """The arrays that define the sites, for a digest."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, np.ndarray))

    @property
    def size(self) -> int:
        """The number of sites: of entries of the first array, where sites come one by one."""
        return len(self.content[0])

    @abstractmethod
    def coordinates(self, numbers: Indices) -> Coordinates:
        """The coordinates of sites by their numbers, from 0 to size − 1."""

    @abstractmethod
    def locate(self, *coordinates: Indices) -> Indices:
        """The numbers of the sites with these coordinates, −1 for those that are not in the region."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The region in JSON, as the report's page reads it: numbers as distances to the one before."""


@dataclass(frozen=True)
class Layer:
    """A set of sites. As it is, a row of them with their number as the only coordinate; others are subclasses.

    A site has at most 256 values, 0 … alphabet − 1, and 0 is the value of most sites: objects list the others.

    Example:
        >>> Layer("cells", size=4, alphabet=3).everything().to_json()
        {'layer': 'cells', 'sites': [0, 1, 1, 1]}
    """

    name: str
    size: int
    alphabet: int

    @property
    def ranges(self) -> tuple[tuple[str, int], ...]:
        """For each coordinate its name and how many values it takes, from 0."""
        return (("site", self.size),)

    def coordinates(self, numbers: Indices) -> Coordinates:
        """The coordinates of sites from 0 to size − 1."""
        return (numbers,)

    def numbers(self, *coordinates: Indices) -> Indices:
        """The numbers of sites by their coordinates; −1 for coordinates that no site has."""
        (numbers,) = coordinates
        return numbers

    def everything(self) -> Region:
        """The region of all sites."""
        return Numbered(self, np.arange(self.size))

    def check(self, regions: Mapping[str, Region]) -> None:
        """Refuses regions that are not well formed, and two that share a site."""
        owners = np.full(self.size, -1, dtype=np.int64)
        for number, (name, region) in enumerate(regions.items()):
            sites = self.numbers(*region.coordinates(np.arange(region.size)))
            outside, ascending = sites[(sites < 0) | (sites >= self.size)].tolist(), np.sort(sites)
            if wrong := outside or [f"{each} twice" for each in ascending[1:][np.diff(ascending) == 0].tolist()]:
                wanted = f"hold sites of the layer {self.name}, 0 to {self.size - 1}, each once"
                raise InvalidParameterError(f"regions[{name}]", wanted, wrong[0])
            taken = sites[owners[sites] >= 0]
            if len(taken):
                where = tuple(int(each[0]) for each in self.coordinates(taken[:1]))
                refuse_overlap(where if len(where) > 1 else f"site {where[0]}", list(regions)[owners[taken[0]]], name)
            owners[sites] = number


@runtime_checkable
class CleanObject(Protocol):
    """An object to smooth: values of the sites of its layers, in a frame; immutable and picklable. A `Graph` is one.

    Example:
        >>> import starcert as sc
        >>> graph = sc.Graph(3, [(0, 1)])
        >>> isinstance(graph, CleanObject), graph.layers[0].name, graph.nonzero("pairs")[1].tolist()
        (True, 'pairs', [1])
    """

    @property
    def key(self) -> str:
        """A hex digest of values and frame: the same for equal objects everywhere. It seeds the noise."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Its layers, each with a different name."""

    @property
    def frame(self) -> Any:  # noqa: ANN401  (whatever the object has)
        """All that a classifier receives beside the noisy values: noise leaves it alone. It has a `key` too."""

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The coordinates of the sites of a layer whose value is not 0, and their values."""


@dataclass(frozen=True, eq=False)
class Numbered(Region):
    """Sites of any layer one by one, by their numbers in the layer, ascending."""

    of: Layer
    sites: Indices

    @property
    @override
    def layer(self) -> str:
        return self.of.name

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        return self.of.coordinates(self.sites[numbers])

    @override
    def locate(self, *coordinates: Indices) -> Indices:
        return find_places(self.sites, self.of.numbers(*coordinates))

    @override
    def to_json(self) -> dict[str, Any]:
        return {"layer": self.layer, "sites": np.diff(self.sites, prepend=0).tolist()}


@dataclass(frozen=True)
class ColumnLayer(Layer):
    """The columns of a row that have one number of values; their coordinate is the number of the column in the row."""

    columns: tuple[int, ...]  # ascending
    n_columns: int  # of the row

    @property
    @override
    def ranges(self) -> tuple[tuple[str, int], ...]:
        return (("column", self.n_columns),)

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        return (np.array(self.columns, dtype=np.int64)[numbers],)

    @override
    def numbers(self, *coordinates: Indices) -> Indices:
        return find_places(np.array(self.columns, dtype=np.int64), coordinates[0])


@dataclass(frozen=True)
class NodeLayer(Layer):
    """Data of n nodes in some columns, node after node."""

    n_nodes: int
    n_columns: int

    @property
    @override
    def ranges(self) -> tuple[tuple[str, int], ...]:
        return ("node", self.n_nodes), ("column", self.n_columns)

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        return np.divmod(numbers, max(1, self.n_columns))

    @override
    def numbers(self, *coordinates: Indices) -> Indices:
        node, column = coordinates
        return node * self.n_columns + column

    @override
    def everything(self) -> Region:
        return NodeGrid(self, np.arange(self.n_nodes), np.arange(self.n_columns))

    @override
    def check(self, regions: Mapping[str, Region]) -> None:
        grids = {name: region for name, region in regions.items() if isinstance(region, NodeGrid)}
        if len(grids) < len(regions):
            super().check(regions)
            return
        # Grids are compared by their nodes and columns, never site by site.
        for (one, first), (other, second) in combinations(grids.items(), 2):
            node = np.intersect1d(first.nodes, second.nodes)
            column = np.intersect1d(first.columns, second.columns)
            if len(node) and len(column):
                refuse_overlap(f"node {node[0]}, column {column[0]} of {self.name}", one, other)


@dataclass(frozen=True, eq=False)
class NodeGrid(Region):
    """Some columns of some nodes, ascending, node after node."""

    of: NodeLayer
    nodes: Indices
    columns: Indices

    @property
    @override
    def layer(self) -> str:
        return self.of.name

    @property
    @override
    def size(self) -> int:
        return len(self.nodes) * len(self.columns)

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        node, column = np.divmod(numbers, max(1, len(self.columns)))
        return self.nodes[node], self.columns[column]

    @override
    def locate(self, *coordinates: Indices) -> Indices:
        nodes, columns = coordinates
        row, column = find_places(self.nodes, nodes), find_places(self.columns, columns)
        return np.where((row < 0) | (column < 0), -1, row * len(self.columns) + column)

    @override
    def to_json(self) -> dict[str, Any]:
        # Each number as its distance to the one before; all nodes or columns, if left out.
        shape = [self.of.n_nodes, self.of.n_columns]
        chosen = {"nodes": self.nodes, "columns": self.columns}
        some = [name for name, size in zip(chosen, shape, strict=True) if len(chosen[name]) < size]
        return {"layer": self.layer, "grid": shape} | {name: np.diff(chosen[name], prepend=0).tolist() for name in some}


def find_places(ascending: Indices, wanted: Indices) -> Indices:
    """The places of wanted numbers in an ascending array; −1 for those that are not there."""
    if not len(ascending):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[places] == wanted, places, -1)


def refuse_overlap(site: object, one: str, other: str) -> NoReturn:
    """Raises the error that names a site in two regions."""
    got = f"{site} in both {one!r} and {other!r}"
    raise InvalidParameterError("regions", "be disjoint", got, "Give each site to one region at most.")
