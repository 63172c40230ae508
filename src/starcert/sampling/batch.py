"""A batch of noisy copies of one object, and the views of it that classifiers see.

Samplers know sites and values; only here do they mean something. Nothing is built before it is requested. Every view,
down to the order of its edges, is a function of the copies and of what noise leaves alone, never of the clean object.
Views come as numpy arrays, or as torch tensors on a device (`…_on`), however the copies were drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.flips import Flips, ShownFlips, as_positions
from starcert.objects import Graph, NodeFrame, Sites
from starcert.objects.content import NodeSites
from starcert.objects.kinds import kind_of
from starcert.objects.layers import ColumnLayer, NodeGrid, Numbered
from starcert.sampling.draws import Draw

if TYPE_CHECKING:
    import networkx as nx
    import torch

Integers = npt.NDArray[np.int64]

Copies: TypeAlias = Any
"""`NoisyCopies` of some kind, which depends on the clean object: `NoisyGraphs` of a graph, else `NoisyVectors`."""

Key: TypeAlias = bytes | str
"""The common parts of equal noisy copies of one object: see `keys_of`."""

CLEAN_GRAPH = "An answer that looks at the clean graph is not a function of the noisy copy: use batch.frame."


class NoisyCopies:
    """Noisy copies of one object. Fixed sites keep their clean values."""

    def __init__(self, sites: Sites, draw: Draw) -> None:
        self._sites = sites
        self._draw = draw

    @property
    def frame(self) -> Any:  # noqa: ANN401  (whatever the object has)
        """The parts that noise leaves alone: of a graph the nodes, their names and their data."""
        return self._sites.frame

    def _refuse(self) -> NoReturn:
        raise ValueError(CLEAN_GRAPH)

    # A classifier must not see the clean object, nor the sites, which know it.
    clean = graph = sites = property(_refuse)

    def __len__(self) -> int:
        return len(self._draw)

    def __getitem__(self, samples: slice) -> Self:
        return self._with(self._draw[samples])

    def _with(self, draw: Draw) -> Self:
        other = copy(self)
        other._draw = draw
        return other

    def split(self, most: int) -> Iterator[Self]:
        """The copies in portions of at most `most`."""
        for start in range(0, len(self), most):
            yield self[start : start + most]

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """The noisy value of every site that may change, shape (copies, sites), region after region."""
        return self._draw.values

    def _layer_values(self, name: str) -> npt.NDArray[np.uint8]:
        places = layer_places(self._sites, name)
        drawn = self._draw.part(*places.span).values
        if places.order is not None:
            drawn = drawn.take(places.order, axis=1)
        if places.numbers is None:
            return drawn
        values = np.tile(places.clean, (len(self), 1))
        values[:, places.numbers] = drawn
        return values


class LayerPlaces(NamedTuple):
    """The places that the values of a layer come from."""

    clean: npt.NDArray[np.uint8]  # the clean values of all its sites
    span: tuple[int, int] = (0, 0)  # the positions that noise may change lie in it, and maybe sites of other layers
    numbers: Integers | None = None  # the numbers in the layer of these sites, ascending; None: all of them
    order: Integers | None = None  # their places in the span; None: just as they are there


@lru_cache(16)
def layer_places(sites: Sites, name: str) -> LayerPlaces:
    """The places of a layer of an object."""
    (layer,) = (each for each in sites.clean.layers if each.name == name)
    coordinates, values = sites.clean.nonzero(name)
    clean = np.zeros(layer.size, dtype=np.uint8)
    clean[layer.numbers(*coordinates)] = values
    here = [(block, first) for block, first in zip(sites.blocks, sites.offsets, strict=True) if block.layer == name]
    if not here:
        return LayerPlaces(clean, numbers=np.empty(0, dtype=np.int64))
    span = here[0][1], here[-1][1] + here[-1][0].size
    if len(here) == 1 and here[0][0].size == layer.size and isinstance(here[0][0], Numbered | NodeGrid):
        return LayerPlaces(clean, span)
    numbers = np.concatenate([layer.numbers(*block.coordinates(np.arange(block.size))) for block, _ in here])
    places = np.concatenate([np.arange(first, first + block.size) for block, first in here]) - span[0]
    ascending = np.argsort(numbers)
    order = places[ascending]
    as_drawn = len(order) == span[1] - span[0] and (order[:-1] < order[1:]).all()
    changed = numbers[ascending] if len(numbers) < layer.size else None
    return LayerPlaces(clean, span, changed, None if as_drawn else order)


# These are no methods: a classifier that sees a batch must not learn from it what the clean object is.


def flips_of(batch: NoisyCopies, copies: Integers) -> Flips:
    """The sites that flipped in the copies with these numbers, and what they show if there are more than two values."""
    return batch._draw.flips_of(copies, batch._sites.nonzero)


def keys_of(batch: NoisyCopies) -> list[Key]:
    """For each copy a key that equal copies of the object share, and no others: its flips, and what they show.

    Flips as bits make bytes, and flips as positions make text, so that one form is never taken for the other.
    """
    flips = flips_of(batch, np.arange(len(batch)))
    if isinstance(flips, np.ndarray):
        width = flips.shape[1]
        found: list[Key] = np.ascontiguousarray(flips).view(f"V{width}")[:, 0].tolist() if width else [b""] * len(flips)
        return found
    places, shown = (as_positions(flips.places), flips.shown) if isinstance(flips, ShownFlips) else (flips, None)
    ends = list(pairwise(places.starts.tolist()))
    listed = np.ascontiguousarray(places.positions).tobytes().decode("latin-1")
    values = "" if shown is None else shown.tobytes().decode("latin-1")  # a position takes four letters, a value one
    return [listed[4 * start : 4 * end] + values[start:end] for start, end in ends]


def select_copies(batch: Copies, copies: Integers) -> Copies:
    """The copies of a batch with these numbers, in this order."""
    return batch._with(batch._draw.select(copies))


def replace_sites(batch: Copies, copies: Integers, positions: Integers, values: npt.NDArray[np.uint8]) -> Copies:
    """The same copies with other values at some sites, each named once with its copy."""
    return batch._with(batch._draw.replace(copies, positions, values))


class NoisyVectors(NoisyCopies):
    """Noisy copies of any object as plain vectors: the values of a whole layer, in the layer's own order."""

    def vectors(self, layer: str | None = None) -> npt.NDArray[np.uint8]:
        """The values of all sites of a layer, fixed ones too, shape (copies, sites).

        By default of the first, or of all columns of a row.
        """
        layers = self._sites.clean.layers
        if layer is not None or not isinstance(layers[0], ColumnLayer):
            return self._layer_values(layers[0].name if layer is None else layer)
        values = np.empty((len(self), layers[0].n_columns), dtype=np.uint8)
        for each in layers:
            values[:, each.columns] = self._layer_values(each.name)  # type: ignore[attr-defined]
        return values

    def rows(self, *, estimator: bool = False) -> Any:  # noqa: ANN401  (whatever the kind says)
        """The copies as a function of rows, or an estimator of scikit-learn, sees them."""
        return kind_of(self._sites.clean).as_copies(self._sites.clean, self.vectors(), estimator=estimator)

    def vectors_on(self, device: torch.device, layer: str | None = None) -> torch.Tensor:
        """The same on a device, as bytes."""
        return _on(self.vectors(layer), device)


class EdgeList(NamedTuple):
    """The edges of all copies, one after the other."""

    starts: Integers  # where the edges of each copy begin, and where the last one's end (copies + 1 entries)
    u: Integers  # one end of each edge, a node index from 0; of an arc its source
    v: Integers  # the other end, larger than u; of an arc its target
    types: npt.NDArray[np.uint8] | None = None  # the type of each edge, from 1; None if edges have none

    def pairs(self) -> Iterator[Integers]:
        """The edges of each copy, shape (edges, 2)."""
        listed = np.column_stack([self.u, self.v])
        for begin, end in pairwise(self.starts.tolist()):
            yield listed[begin:end]


class NodeOnes(NamedTuple):
    """Bits of nodes that are 1, row after row: a row is a node of a copy."""

    starts: Integers  # where each row begins, copy after copy, and where the last one ends (copies · nodes + 1 entries)
    columns: Integers  # the columns of its ones, ascending in each row
    n_columns: int  # how many columns there are


class NoisyGraphs(NoisyCopies, ABC):
    """Noisy copies of one graph: every copy is simple, and directed if the graph is."""

    @property
    @override
    def frame(self) -> NodeFrame:
        return self._sites.graph.frame

    @property
    def _edge_draw(self) -> Any:  # noqa: ANN401  (each subclass knows which draw it is)
        """The values of the sites that are node pairs or arcs."""
        return self._draw.part(*self._sites.span(self._sites.clean.layers[0].name))

    @abstractmethod
    def edges(self) -> EdgeList:
        """The edges of all copies, fixed ones included."""

    @abstractmethod
    def degrees(self) -> npt.NDArray[np.int32]:
        """The degree of every node, shape (copies, nodes); of a directed graph arcs in and out together."""

    def in_degrees(self) -> npt.NDArray[np.int32]:
        """The number of edges that end at every node, shape (copies, nodes); of an undirected graph its degree."""
        return self._ending("v") if self.frame.directed else self.degrees()

    def out_degrees(self) -> npt.NDArray[np.int32]:
        """The number of edges that begin at every node, shape (copies, nodes); of an undirected graph its degree."""
        return self._ending("u") if self.frame.directed else self.degrees()

    def _ending(self, end: str) -> npt.NDArray[np.int32]:
        n, edges = self.frame.n_nodes, self.edges()
        places = np.repeat(np.arange(len(self)) * n, np.diff(edges.starts)) + getattr(edges, end)
        return np.bincount(places, minlength=n * len(self)).astype(np.int32).reshape(len(self), n)

    def adjacency(self) -> npt.NDArray[np.uint8]:
        """Dense adjacency matrices, shape (copies, nodes, nodes): row and column of an arc are source and target.

        Entries are 1, or the type of the edge.
        """
        n, (starts, u, v, types) = self.frame.n_nodes, self.edges()
        dense = np.zeros((len(self), n, n), dtype=np.uint8)
        flat, first = dense.reshape(-1), np.repeat(np.arange(len(self)) * n, np.diff(starts))
        flat[(first + u) * n + v] = 1 if types is None else types
        if not self.frame.directed:
            flat[(first + v) * n + u] = 1 if types is None else types
        return dense

    def edge_index(self) -> tuple[Integers, Integers]:
        """All copies as one block-diagonal graph: `edge_index`, and the copy of each node.

        An edge comes in both directions, one after the other; an arc in its own.
        """
        n, (starts, u, v, _) = self.frame.n_nodes, self.edges()
        batch, first = np.repeat(np.arange(len(self)), n), np.repeat(np.arange(len(self)) * n, np.diff(starts))
        if self.frame.directed:
            return np.stack([u, v]) + first, batch
        index = np.empty((2, 2 * len(u)), dtype=np.int64)
        index[0, ::2] = index[1, 1::2] = u + first
        index[1, ::2] = index[0, 1::2] = v + first
        return index, batch

    def edge_types(self) -> npt.NDArray[np.uint8]:
        """The type of each column of `edge_index`, from 1."""
        types = self.edges().types
        if types is None:
            raise ValueError("the edges of the graph have no types: give it edge_types")
        return types if self.frame.directed else np.repeat(types, 2)

    def edge_data(self, name: str) -> npt.NDArray[np.float64]:
        """The numbers of each column of `edge_index`: those of the clean graph, or what an added edge has."""
        numbers = self._edge_numbers(name, self.edges())
        return numbers if self.frame.directed else np.repeat(numbers, 2, axis=0)

    def _edge_numbers(self, name: str, edges: EdgeList) -> npt.NDArray[np.float64]:
        """The numbers of each edge of the list."""
        graph = self._sites.graph
        if name not in graph.edge_data:
            raise ValueError(f"the graph has no edge data {name!r}; it has {sorted(graph.edge_data) or 'none'}")
        codes, wanted = graph.edges @ np.array([graph.n_nodes, 1]), edges.u * graph.n_nodes + edges.v
        place = np.searchsorted(codes, wanted)
        there = np.append(codes, -1)[place] == wanted
        return np.concatenate([graph.edge_data[name], graph.added_edge_data[name][None]])[
            np.where(there, place, len(codes))
        ]

    def node_values(self, name: str) -> npt.NDArray[np.uint8]:
        """The noisy values of data of nodes that are sites, shape (copies, nodes, columns)."""
        shape = self._node_sites(name).values.shape
        return self._layer_values(name).reshape(len(self), *shape)

    def node_ones(self, name: str) -> NodeOnes:
        """The noisy bits of nodes that are 1, where bits of nodes are sites."""
        if self._node_sites(name).alphabet != 2:
            raise ValueError(f"{name!r} are categories; ones are there where node data are bits")
        values = self.node_values(name)
        flat = values.reshape(-1, values.shape[2])
        rows, columns = np.nonzero(flat)
        return NodeOnes(np.searchsorted(rows, np.arange(len(flat) + 1)), columns, flat.shape[1])

    def _node_sites(self, name: str) -> NodeSites:
        found = self.frame.node_sites
        if name not in found:
            raise ValueError(f"the graph has no node sites {name!r}; it has {sorted(found) or 'none'}")
        return found[name]

    def degrees_on(self, device: torch.device) -> torch.Tensor:
        """The degree of every node, on a device."""
        return _on(self.degrees(), device)

    def adjacency_on(self, device: torch.device) -> torch.Tensor:
        """Dense adjacency matrices of floats, on a device: 1 for an edge, whatever its type."""
        dense = _on(self.adjacency(), device)
        return dense.bool().float() if self.frame.type_names else dense.float()

    def edge_index_on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """The block-diagonal `edge_index`, and the copy of each node, on a device."""
        edge_index, batch = self.edge_index()
        return _on(edge_index, device), _on(batch, device)

    def edge_types_on(self, device: torch.device) -> torch.Tensor:
        """The type of each column of `edge_index_on`, from 1, on a device."""
        return _on(self.edge_types(), device)

    def edge_data_on(self, name: str, device: torch.device) -> torch.Tensor:
        """The numbers of each column of `edge_index_on`, on a device."""
        return _on(self.edge_data(name), device)

    def node_values_on(self, name: str, device: torch.device) -> torch.Tensor:
        """The noisy values of data of nodes that are sites, on a device, shape (copies, nodes, columns)."""
        return _on(self.node_values(name), device)

    def copies(self) -> Iterator[Graph]:
        """Each copy as a starcert `Graph`. Data of nodes that are sites are node data there."""
        edges = self.edges()
        numbers = {name: self._edge_numbers(name, edges) for name in self.frame.edge_data}
        nodes = {name: self.node_values(name) for name in self.frame.node_sites}
        for copy_number, (pairs, (begin, end)) in enumerate(zip(edges.pairs(), pairwise(edges.starts), strict=True)):
            yield self.frame.with_edges(
                pairs,
                None if edges.types is None else edges.types[begin:end],
                {name: values[begin:end] for name, values in numbers.items()},
                {name: values[copy_number] for name, values in nodes.items()},
            )

    def networkx(self) -> Iterator[nx.Graph]:
        """Each copy as a networkx graph with the names and the data of the nodes, and the types and data of edges."""
        if self.frame.type_names or self.frame.edge_data or self.frame.node_sites:
            yield from (each.to_networkx() for each in self.copies())
            return
        import networkx as nx  # noqa: PLC0415  (a tenth of a second)

        nodes = self.frame.nodes
        template = self.frame.with_edges(()).to_networkx()
        kind = nx.DiGraph if self.frame.directed else nx.Graph
        for pairs in self.edges().pairs():
            graph = kind(template)
            graph.add_edges_from((nodes[u], nodes[v]) for u, v in pairs.tolist())
            yield graph


def _on(array: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    import torch  # noqa: PLC0415  (whoever names a device has it loaded)

    return torch.from_numpy(array).to(device)
