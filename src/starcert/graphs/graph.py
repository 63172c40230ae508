"""The graph: undirected, unweighted, simple, with node data that nobody here looks into; and its frame.

The frame is what noise leaves alone: all that a classifier is told beside the noisy edges. An answer that looks at the
clean graph's edges is no function of the noisy copy, and a certificate for it would be false. So whoever answers for
noisy copies gets a frame, and whoever wants a graph gets the copy itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError, whole_number
from starcert.graphs import convert, molecules
from starcert.graphs.content import digest, frozen_copy
from starcert.graphs.layers import Coordinates, Indices, Layer, Values
from starcert.graphs.pairs import NodePairs

__all__ = ["Frame", "Graph"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Graph:
    """An undirected, unweighted, simple graph with opaque node data.

    Args:
        n_nodes: how many nodes there are.
        edges: pairs of node indices, in any order and orientation, each once.
        nodes: the names of the nodes; their indices if left out.
        node_data: data by attribute name, a sequence or an array with one entry for each node. They are copied:
            sequences become tuples, arrays read-only arrays, tensors stay tensors. Noise leaves them alone, and every
            noisy copy has them: they must not tell of edges. What does (degrees, bonds, labels of edges) cannot be
            recognised here, and belongs to:
        anchored_data: data of the nodes that tell of this graph's own edges, by other names. Noisy copies come
            without them, and regions that are read off them are anchored.

    Attributes:
        n_nodes: how many nodes there are.
        edges: read-only, shape (n_edges, 2), with u < v in every row, rows in lexicographic order.
        nodes: the names of the nodes.
        node_data: the data of the nodes by attribute name.
        anchored_data: the data of the nodes that tell of this graph's own edges, by attribute name.

    Example:
        >>> data = {"element": ["C", "N", "O"]}
        >>> graph = Graph(3, [(2, 1), (0, 1)], node_data=data, anchored_data={"degree": [1, 2, 1]})
        >>> graph
        Graph(3 nodes, 2 edges, node data: element, anchored data: degree)
        >>> graph.edges.tolist()
        [[0, 1], [1, 2]]
    """

    n_nodes: int
    edges: Indices
    nodes: tuple[Hashable, ...]
    node_data: Mapping[str, object]
    anchored_data: Mapping[str, object]

    def __init__(
        self,
        n_nodes: int,
        edges: npt.ArrayLike | Iterable[tuple[int, int]],
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
        anchored_data: Mapping[str, object] | None = None,
    ) -> None:
        set_field = object.__setattr__
        set_field(self, "n_nodes", whole_number("n_nodes", n_nodes, 0))
        set_field(self, "edges", convert.from_pairs(edges, self.n_nodes))
        set_field(self, "nodes", _as_names(nodes, self.n_nodes))
        anchored = _as_data({} if anchored_data is None else anchored_data, self.n_nodes, "anchored_data")
        data = _NodeData(_as_data({} if node_data is None else node_data, self.n_nodes, "node_data"), anchored)
        for twice in data.keys() & anchored.keys():
            raise InvalidParameterError("anchored_data", "have other names than the node data", twice)
        set_field(self, "node_data", MappingProxyType(data))
        set_field(self, "anchored_data", MappingProxyType(anchored))

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return len(self.edges)

    @cached_property
    def key(self) -> str:
        """A hex digest of the edges, the names of the nodes and their data: the same for equal graphs everywhere."""
        named = self.nodes != tuple(range(self.n_nodes))
        data = {**self.node_data, **self.anchored_data}
        return digest("graph", self.n_nodes, self.edges, self.nodes if named else None, data)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The sites that it has: its node pairs. See `starcert.graphs.layers.CleanObject`."""
        return (NodePairs.of(self.nodes),)

    @cached_property
    def frame(self) -> Frame:
        """What noise leaves alone."""
        return Frame.of(self)

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The edges as sites: the node indices of each, and a 1."""
        assert layer == self.layers[0].name
        return tuple(self.edges.T), np.ones(self.n_edges, dtype=np.uint8)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return False
        # The key does not tell which of the data are anchored.
        return self is other or (self.key == other.key and self.anchored_data.keys() == other.anchored_data.keys())

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        kinds = {"node data": self.node_data, "anchored data": self.anchored_data}
        data = "".join(f", {kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
        return f"Graph({self.n_nodes} nodes, {self.n_edges} edges{data})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.n_nodes, self.edges, self.nodes, dict(self.node_data), dict(self.anchored_data))

    @classmethod
    def from_networkx(cls, graph: object) -> Self:
        """The graph of a `networkx.Graph`.

        The nodes keep their names and their order. Attributes that all nodes carry become node data; edge attributes
        are left out, but a weight other than 1 is refused, and so are directed graphs, multigraphs and self-loops.
        """
        return cls._of(convert.from_networkx(graph))

    def to_networkx(self) -> Any:  # noqa: ANN401  (networkx carries no types)
        """A `networkx.Graph` with the names of the nodes and their data as attributes; anchored data are left out."""
        return convert.to_networkx(self._parts)

    @classmethod
    def from_numpy(
        cls,
        adjacency: npt.ArrayLike,
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
    ) -> Self:
        """The graph of a dense adjacency matrix: square, symmetric, of zeros and ones, with a zero diagonal.

        Example:
            >>> Graph.from_numpy([[0, 1], [1, 0]])
            Graph(2 nodes, 1 edges)
        """
        parts = convert.from_numpy(adjacency)
        return cls(parts.n_nodes, parts.edges, nodes=nodes, node_data=node_data)

    def to_numpy(self) -> npt.NDArray[np.int8]:
        """The dense adjacency matrix, of zeros and ones in bytes: widen it before counting with it."""
        return convert.to_numpy(self._parts)

    @classmethod
    def from_scipy(
        cls,
        adjacency: object,
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
    ) -> Self:
        """The graph of a sparse adjacency matrix: square, symmetric, of zeros and ones, with a zero diagonal."""
        parts = convert.from_scipy(adjacency)
        return cls(parts.n_nodes, parts.edges, nodes=nodes, node_data=node_data)

    def to_scipy(self) -> Any:  # noqa: ANN401  (scipy carries no types)
        """The adjacency matrix as a `scipy.sparse.csr_array` of bytes: widen it before counting with it."""
        return convert.to_scipy(self._parts)

    @classmethod
    def from_pyg(cls, data: object) -> Self:
        """The graph of a `torch_geometric.data.Data`.

        Its edge_index must hold both directions of every edge once, and no self-loops. Whatever PyG calls a node
        attribute becomes node data; edge attributes are left out, but an edge_weight other than 1 is refused.
        """
        return cls._of(convert.from_pyg(data))

    def to_pyg(self) -> Any:  # noqa: ANN401  (torch_geometric carries no types)
        """A `torch_geometric.data.Data` with both directions of every edge, sorted, and the node data as tensors.

        PyG has no names for nodes: they are left out, and so are anchored data. Data that are no numbers become lists.
        """
        return convert.to_pyg(self._parts)

    @classmethod
    def from_rdkit(cls, molecule: object, *, elements: Sequence[str] | None = None) -> Self:
        """The graph of an RDKit molecule: atoms are nodes, bonds are edges. It needs the extra `molecules`.

        The node data are `atomic_number` and `formal_charge`, whole numbers. What follows from the bonds is anchored
        data: `hydrogens`, how many hang on an atom that are no nodes, and `bonds`, for each atom the pairs
        (neighbour, order), where an order is single, double, triple or aromatic.

        Args:
            molecule: an `rdkit.Chem.Mol`, sanitized.
            elements: symbols such as ("C", "N", "O"); then the node data `x` has a column for each of them, one-hot.
        """
        return cls._of(molecules.from_rdkit(molecule, elements))

    @classmethod
    def from_smiles(cls, smiles: str, *, elements: Sequence[str] | None = None) -> Self:
        """The graph of the molecule that a SMILES string describes, hydrogens left out; see `from_rdkit`.

        Example:
            >>> aniline = Graph.from_smiles("c1ccccc1N", elements=("C", "N"))
            >>> aniline
            Graph(7 nodes, 7 edges, node data: atomic_number, formal_charge, x, anchored data: hydrogens, bonds)
            >>> aniline.anchored_data["hydrogens"].tolist()
            [1, 1, 1, 1, 1, 0, 2]
        """
        return cls._of(molecules.from_smiles(smiles, elements))

    @classmethod
    def _of(cls, parts: convert.Parts) -> Self:
        return cls(
            parts.n_nodes,
            parts.edges,
            nodes=parts.nodes,
            node_data=parts.node_data,
            anchored_data=parts.anchored_data,
        )

    @property
    def _parts(self) -> convert.Parts:
        return convert.Parts(self.n_nodes, self.edges, self.nodes, self.node_data)


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """The nodes of a graph, their names and their data, without any edge: the same for all its noisy copies.

    Attributes:
        n_nodes: how many nodes there are.
        nodes: the names of the nodes.
        node_data: the data of the nodes by attribute name.

    Example:
        >>> frame = Frame.of(Graph(3, [(0, 1), (1, 2)], node_data={"element": ["C", "N", "O"]}))
        >>> frame, frame.with_edges([(0, 2)])
        (Frame(3 nodes, node data: element), Graph(3 nodes, 1 edges, node data: element))
        >>> frame.key == Frame.of(frame.with_edges([])).key
        True
    """

    n_nodes: int
    nodes: tuple[Hashable, ...]
    node_data: Mapping[str, object]

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The frame of a graph."""
        return cls(graph.n_nodes, graph.nodes, graph.node_data)

    @cached_property
    def key(self) -> str:
        """A hex digest of the names of the nodes and their data: the same for equal frames everywhere."""
        named = self.nodes != tuple(range(self.n_nodes))
        return digest("frame", self.n_nodes, self.nodes if named else None, self.node_data)

    def with_edges(self, pairs: npt.ArrayLike | Iterable[tuple[int, int]]) -> Graph:
        """The graph that has these edges, pairs of node indices, in this frame."""
        return Graph(self.n_nodes, pairs, nodes=self.nodes, node_data=self.node_data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self is other or self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"Frame({self.n_nodes} nodes{data})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_frame, (self.n_nodes, self.nodes, dict(self.node_data))


class _NodeData(dict[str, object]):
    """Node data that say of a name they do not have where its data are."""

    def __init__(self, data: Mapping[str, object], anchored: Mapping[str, object]) -> None:
        super().__init__(data)
        self._anchored = frozenset(anchored)

    def __missing__(self, name: object) -> NoReturn:
        where = f"{name!r} tells of the graph's own edges: it is in graph.anchored_data"
        raise KeyError(where if name in self._anchored else name)


def _restore(
    n_nodes: int,
    edges: Indices,
    nodes: Sequence[Hashable],
    node_data: Mapping[str, object],
    anchored_data: Mapping[str, object],
) -> Graph:
    return Graph(n_nodes, edges, nodes=nodes, node_data=node_data, anchored_data=anchored_data)


def _restore_frame(n_nodes: int, nodes: tuple[Hashable, ...], node_data: Mapping[str, object]) -> Frame:
    return Frame.of(Graph(n_nodes, (), nodes=nodes, node_data=node_data))


def _as_names(nodes: Iterable[Hashable] | None, n_nodes: int) -> tuple[Hashable, ...]:
    if nodes is None:
        return tuple(range(n_nodes))
    names = tuple(nodes)
    if len(names) != n_nodes:
        raise InvalidParameterError("nodes", f"be {n_nodes} names, one for each node", f"{len(names)} names")
    seen: set[Hashable] = set()
    for name in names:
        try:
            known = name in seen
        except TypeError:
            raise InvalidParameterError("nodes", "be hashable names", name) from None
        if known:
            raise InvalidParameterError("nodes", "name each node once", f"{name!r} twice")
        seen.add(name)
    return names


def _as_data(data: object, n_nodes: int, parameter: str) -> dict[str, object]:
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        raise InvalidParameterError(parameter, "map names of attributes to data", data)
    return {name: frozen_copy(values, n_nodes, f"{parameter}[{name}]") for name, values in data.items()}
