"""The graph: nodes with data that nobody here looks into, edges or arcs, perhaps of several types; and its frame.

The frame is what noise leaves alone: all that a classifier is told beside the noisy edges. An answer that looks at the
clean graph's edges is no function of the noisy copy, and a certificate for it would be false. So whoever answers for
noisy copies gets a frame, and whoever wants a graph gets the copy itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from starcert.objects import convert, convert_pyg, molecules
from starcert.objects.arcs import ARCS, Arcs
from starcert.objects.blocks import PAIRS
from starcert.objects.content import digest
from starcert.objects.edge_data import EdgeNumbers, added_numbers, numbers_of_edges, types_of_edges
from starcert.objects.layers import Coordinates, Indices, Layer, Values
from starcert.objects.node_data import NodeData, data_of_nodes, names_of_nodes
from starcert.objects.node_sites import NodeSites, bits_of, categories_of, same_in_other_words
from starcert.objects.pairs import NodePairs
from starcert.objects.picture import element_symbols, graph_svg
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number

__all__ = ["Frame", "Graph"]

MOST_DRAWN = 80
"""Graphs with more nodes are not drawn in a notebook."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Graph:
    """A simple graph with opaque node data: undirected or directed, its edges of one type or several.

    Args:
        n_nodes: how many nodes there are.
        edges: pairs of node indices, in any order and orientation, each once; of a directed graph source and target.
        nodes: the names of the nodes; their indices if left out.
        node_data: data by attribute name, a sequence or an array with one entry for each node. They are copied:
            sequences become tuples, arrays read-only arrays, tensors stay tensors. Noise leaves them alone, and every
            noisy copy has them: they must not tell of edges. What does (degrees, bonds, labels of edges) cannot be
            recognised here, and belongs to:
        anchored_data: data of the nodes that tell of this graph's own edges, by other names. Noisy copies come
            without them, and regions that are read off them are anchored.
        directed: whether edges are arcs.
        edge_types: for each of the given edges the name of its type. A node pair then has a value for each type beside
            that of no edge, and the law `Edges` says how noise changes them.
        type_names: the names of all types there may be, 255 at most; those that occur if left out.
        edge_data: numbers that ride along with edges, by name: one, or a row, for each of the given edges.
        added_edge_data: what an edge that noise adds has in their place; the mean of this graph's edges if left out.

    Attributes:
        n_nodes: how many nodes there are.
        edges: read-only, shape (n_edges, 2), rows in lexicographic order, u < v in every row if it is undirected.
        nodes: the names of the nodes.
        node_data: the data of the nodes by attribute name.
        anchored_data: the data of the nodes that tell of this graph's own edges, by attribute name.
        directed: whether edges are arcs.
        edge_types: the type of each row of `edges`, a whole number from 1; None if they have none.
        type_names: the name of type i + 1 is entry i.
        edge_data: numbers of each row of `edges`, by name.
        added_edge_data: what an added edge shows, by name.
        node_sites: data of nodes that are sites, by name: see `with_bits` and `with_categories`.

    Example:
        >>> data = {"element": ["C", "N", "O"]}
        >>> graph = Graph(3, [(2, 1), (0, 1)], node_data=data, anchored_data={"degree": [1, 2, 1]})
        >>> graph
        Graph(3 nodes, 2 edges, node data: element, anchored data: degree)
        >>> graph.edges.tolist()
        [[0, 1], [1, 2]]
        >>> bonds = Graph(3, [(2, 1), (0, 1)], edge_types=["double", "single"], type_names=("single", "double"))
        >>> bonds.edge_types, bonds
        (array([1, 2], dtype=uint8), Graph(3 nodes, 2 edges of 2 types))
        >>> Graph(3, [(2, 1), (1, 2)], directed=True)
        Graph(3 nodes, 2 arcs)
    """

    n_nodes: int
    edges: Indices
    nodes: tuple[Hashable, ...]
    node_data: Mapping[str, object]
    anchored_data: Mapping[str, object]
    directed: bool
    edge_types: Values | None
    type_names: tuple[Hashable, ...]
    edge_data: Mapping[str, EdgeNumbers]
    added_edge_data: Mapping[str, EdgeNumbers]
    node_sites: Mapping[str, NodeSites]

    def __init__(
        self,
        n_nodes: int,
        edges: npt.ArrayLike | Iterable[tuple[int, int]],
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
        anchored_data: Mapping[str, object] | None = None,
        directed: bool = False,
        edge_types: Sequence[Hashable] | npt.NDArray[Any] | None = None,
        type_names: Sequence[Hashable] | None = None,
        edge_data: Mapping[str, npt.ArrayLike] | None = None,
        added_edge_data: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        set_field = object.__setattr__
        set_field(self, "n_nodes", whole_number("n_nodes", n_nodes, 0))
        if not isinstance(directed, bool):
            raise InvalidParameterError("directed", "be True or False", directed)
        set_field(self, "directed", directed)
        pairs, order = convert.from_pairs(edges, self.n_nodes, directed=directed)
        types, names = types_of_edges(edge_types, type_names, order)
        numbers = numbers_of_edges({} if edge_data is None else edge_data, order)
        added = added_numbers({} if added_edge_data is None else added_edge_data, numbers)
        set_field(self, "edges", pairs)
        set_field(self, "edge_types", types)
        set_field(self, "type_names", names)
        set_field(self, "edge_data", MappingProxyType(numbers))
        set_field(self, "added_edge_data", MappingProxyType(added))
        set_field(self, "node_sites", MappingProxyType({}))
        set_field(self, "nodes", names_of_nodes(nodes, self.n_nodes))
        anchored = data_of_nodes({} if anchored_data is None else anchored_data, self.n_nodes, "anchored_data")
        data = data_of_nodes({} if node_data is None else node_data, self.n_nodes, "node_data")
        for twice in data.keys() & anchored.keys():
            raise InvalidParameterError("anchored_data", "have other names than the node data", twice)
        set_field(self, "node_data", MappingProxyType(NodeData(data, anchored)))
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
        return digest("graph", self.n_nodes, self.edges, self.nodes if named else None, data, *self._more)

    @property
    def _more(self) -> tuple[dict[str, object], ...]:
        """What the digest of a plain graph does not have."""
        more = {
            "directed": self.directed,
            "types": () if self.edge_types is None else (self.type_names, self.edge_types),
            "edge data": {name: (values, self.added_edge_data[name]) for name, values in self.edge_data.items()},
            "node sites": {name: (each.form, each.values) for name, each in self.node_sites.items()},
        }
        return ({name: value for name, value in more.items() if value},) if any(more.values()) else ()

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The sites that it has: its node pairs or arcs, then the data of nodes that are sites, by name."""
        n_types = max(1, len(self.type_names))
        edges = Arcs.of(self.nodes, n_types) if self.directed else NodePairs.of(self.nodes, n_types)
        return (edges, *(each.layer for each in self.node_sites.values()))

    @cached_property
    def frame(self) -> Frame:
        """What noise leaves alone."""
        return Frame.of(self)

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The values of sites that are not 0: of edges 1, or their type."""
        if layer in self.node_sites:
            return self.node_sites[layer].nonzero()
        assert layer == self.layers[0].name
        return tuple(self.edges.T), np.ones(self.n_edges, np.uint8) if self.edge_types is None else self.edge_types

    def with_bits(self, name: str) -> Graph:
        """The graph whose node data of that name, zeros and ones, are sites: noise and attacks may flip them.

        They leave the node data and become a layer of their own, with nodes and columns as coordinates. Noisy copies
        have them, as noise left them.

        Example:
            >>> graph = Graph(2, [(0, 1)], node_data={"x": [[0, 1, 1], [1, 0, 0]]}).with_bits("x")
            >>> graph, [layer.name for layer in graph.layers]
            (Graph(2 nodes, 1 edges, node sites: x), ['pairs', 'x'])
        """
        return self._with_sites(bits_of(name, self._taken(name)))

    def with_categories(self, name: str, categories: Sequence[Hashable] | None = None) -> Graph:
        """The graph whose node data of that name are sites, each a category: noise and attacks may change them.

        Args:
            name: the node data. They leave it and become a layer of their own. Noisy copies have them, as noise left
                them, in the form in which they came.
            categories: all categories there may be; without them the data must be one-hot rows.

        Example:
            >>> graph = Graph(3, [(0, 1)], node_data={"element": ["C", "N", "C"]})
            >>> graph.with_categories("element", ("C", "N", "O")).layers[1].alphabet
            3
        """
        return self._with_sites(categories_of(name, self._taken(name), categories))

    def without(self, name: str) -> Graph:
        """The graph without the node data of that name, such as classes of its nodes, which no classifier may see."""
        arguments = self._arguments
        self._taken(name)
        del arguments["node_data"][name]
        return _restore(arguments, dict(self.node_sites))

    def _taken(self, name: str) -> object:
        if name not in self.node_data:
            listed = ", ".join(self.node_data) or "which has none"
            raise InvalidParameterError("name", f"be node data of the graph, {listed}", name)
        if name in (PAIRS, ARCS):
            raise InvalidParameterError("name", "be no name of another layer", name)
        return self.node_data[name]

    def _with_sites(self, more: NodeSites) -> Graph:
        arguments = self._arguments
        del arguments["node_data"][more.name]
        for name in same_in_other_words(more, arguments["node_data"]):
            warnings.warn(
                f"The node data {name!r} say the same as {more.name!r}, and noise leaves them alone: a classifier that "
                f"reads them is told the clean values. Take them out: graph.without({name!r}).",
                StarcertWarning,
                stacklevel=3,
            )
        return _restore(arguments, {**self.node_sites, more.name: more})

    @property
    def _arguments(self) -> dict[str, Any]:
        """What the graph is made from again."""
        typed = self.edge_types is not None
        return {
            "n_nodes": self.n_nodes,
            "edges": self.edges,
            "nodes": self.nodes,
            "node_data": dict(self.node_data),
            "anchored_data": dict(self.anchored_data),
            "directed": self.directed,
            "edge_types": [self.type_names[each - 1] for each in self.edge_types.tolist()] if typed else None,  # type: ignore[union-attr]
            "type_names": self.type_names if typed else None,
            "edge_data": dict(self.edge_data),
            "added_edge_data": dict(self.added_edge_data),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return False
        # The key does not tell which of the data are anchored.
        return self is other or (self.key == other.key and self.anchored_data.keys() == other.anchored_data.keys())

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        kinds = {
            "edge data": self.edge_data,
            "node data": self.node_data,
            "anchored data": self.anchored_data,
            "node sites": self.node_sites,
        }
        data = "".join(f", {kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
        types = f" of {len(self.type_names)} types" if self.type_names else ""
        return f"Graph({self.n_nodes} nodes, {self.n_edges} {'arcs' if self.directed else 'edges'}{types}{data})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a drawing, if the graph is small, and a line about it."""
        said = f"<p>{escape(repr(self))}</p>"
        if self.n_nodes > MOST_DRAWN or self.n_edges > 4 * MOST_DRAWN:
            return said
        texts = element_symbols(self.node_data, self.node_sites) or [str(node) for node in self.nodes]
        return graph_svg(self.n_nodes, self.edges, directed=self.directed, texts=texts) + said

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._arguments, dict(self.node_sites))

    @classmethod
    def from_networkx(
        cls,
        graph: object,
        *,
        edge_types: str | None = None,
        type_names: Sequence[Hashable] | None = None,
        edge_data: Sequence[str] = (),
    ) -> Self:
        """The graph of a `networkx.Graph`, or the directed one of a `networkx.DiGraph`.

        The nodes keep their names and their order. Attributes that all nodes carry become node data. Edge attributes
        that are not named here are left out, which a warning says; a weight other than 1 is refused, and so are
        multigraphs and self-loops.

        Args:
            graph: the networkx graph.
            edge_types: the edge attribute that is the type of an edge.
            type_names: all types there may be.
            edge_data: edge attributes that are numbers.
        """
        return cls._of(convert.from_networkx(graph, edge_types, type_names, edge_data))

    def to_networkx(self) -> Any:  # noqa: ANN401  (networkx carries no types)
        """A `networkx.Graph` or `DiGraph` with the names of the nodes and their data; anchored data are left out.

        The type of an edge is its attribute `type`; data of edges are attributes of their names.
        """
        return convert.to_networkx(self._parts)

    @classmethod
    def from_numpy(
        cls,
        adjacency: npt.ArrayLike,
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
        directed: bool = False,
    ) -> Self:
        """The graph of a dense adjacency matrix: square, of zeros and ones, with a zero diagonal.

        It must be symmetric, unless the graph is directed: row and column of an arc are its source and target.

        Example:
            >>> Graph.from_numpy([[0, 1], [1, 0]])
            Graph(2 nodes, 1 edges)
        """
        parts = convert.from_numpy(adjacency, directed)
        return cls(parts.n_nodes, parts.edges, nodes=nodes, node_data=node_data, directed=directed)

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
        directed: bool = False,
    ) -> Self:
        """The graph of a sparse adjacency matrix, which is as `from_numpy` has it."""
        parts = convert.from_scipy(adjacency, directed)
        return cls(parts.n_nodes, parts.edges, nodes=nodes, node_data=node_data, directed=directed)

    def to_scipy(self) -> Any:  # noqa: ANN401  (scipy carries no types)
        """The adjacency matrix as a `scipy.sparse.csr_array` of bytes: widen it before counting with it."""
        return convert.to_scipy(self._parts)

    @classmethod
    def from_pyg(
        cls,
        data: object,
        *,
        directed: bool = False,
        edge_types: str | None = None,
        type_names: Sequence[Hashable] | None = None,
        edge_data: Sequence[str] = (),
    ) -> Self:
        """The graph of a `torch_geometric.data.Data`.

        Its edge_index must hold both directions of every edge once, unless the graph is directed, and no self-loops.
        Whatever PyG calls a node attribute becomes node data. Edge attributes that are not named here are left out,
        which a warning says, but an edge_weight other than 1 is refused.

        Args:
            data: the `Data`.
            directed: whether the columns of edge_index are arcs.
            edge_types: the attribute that is the type of an edge, for instance "edge_attr": one-hot rows, or numbers.
            type_names: what the types are called, in the order of the columns; their numbers if left out. For all
                graphs of a data set they should be the same: where types are numbers, name all that occur.
            edge_data: attributes that are numbers of edges.
        """
        return cls._of(convert_pyg.from_pyg(data, directed, edge_types, type_names, edge_data))

    def to_pyg(self) -> Any:  # noqa: ANN401  (torch_geometric carries no types)
        """A `torch_geometric.data.Data` with both directions of every edge, sorted, and the node data as tensors.

        Arcs come in their own direction. Types are one-hot rows of `edge_attr`; data of edges keep their names. PyG has
        no names for nodes: they are left out, and so are anchored data. Data that are no numbers become lists.
        """
        return convert_pyg.to_pyg(self._parts)

    @classmethod
    def from_rdkit(cls, molecule: object, *, elements: molecules.Elements = None, bond_types: bool = False) -> Self:
        """The graph of an RDKit molecule: atoms are nodes, bonds are edges. It needs the extra `molecules`.

        The node data are `atomic_number` and `formal_charge`, whole numbers. What follows from the bonds is anchored
        data: `hydrogens`, how many hang on an atom that are no nodes, and `bonds`, for each atom the pairs
        (neighbour, order), where an order is single, double, triple or aromatic.

        Args:
            molecule: an `rdkit.Chem.Mol`, sanitized.
            elements: symbols such as ("C", "N", "O"); then the node data `x` has a column for each of them, one-hot.
                With "usual" they are B, C, N, O, F, Si, P, S, Cl, Se, Br and I, and one more column is for all others.
                Nothing else is in x: degree, hydrogens, hybridisation, aromaticity and rings follow from bonds. All
                noisy copies would show those of the clean molecule, and certificates would be false.
            bond_types: whether the orders of bonds are types of edges: single, double, triple and aromatic.
        """
        return cls._of(molecules.from_rdkit(molecule, elements, bond_types))

    @classmethod
    def from_smiles(cls, smiles: str, *, elements: molecules.Elements = None, bond_types: bool = False) -> Self:
        """The graph of the molecule that a SMILES string describes, hydrogens left out; see `from_rdkit`.

        Example:
            >>> aniline = Graph.from_smiles("c1ccccc1N", elements=("C", "N"))
            >>> aniline
            Graph(7 nodes, 7 edges, node data: atomic_number, formal_charge, x, anchored data: hydrogens, bonds)
            >>> Graph.from_smiles("c1ccccc1N", elements="usual").node_data["x"].shape
            (7, 13)
            >>> aniline.anchored_data["hydrogens"].tolist()
            [1, 1, 1, 1, 1, 0, 2]
            >>> Graph.from_smiles("CC=O", bond_types=True).type_names
            ('single', 'double', 'triple', 'aromatic')
        """
        return cls._of(molecules.from_smiles(smiles, elements, bond_types))

    @classmethod
    def _of(cls, parts: convert.Parts) -> Self:
        n_nodes, edges, *_ = parts
        return cls(n_nodes, edges, **{name: value for name, value in parts._asdict().items() if name not in _PLACED})

    @property
    def _parts(self) -> convert.Parts:
        shown = {name: each.shown(each.values) for name, each in self.node_sites.items()}
        return convert.Parts(**self._arguments | {"anchored_data": None, "node_data": {**self.node_data, **shown}})


_PLACED = ("n_nodes", "edges")


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """The nodes of a graph, their names and their data, without any edge: the same for all its noisy copies.

    Attributes:
        n_nodes: how many nodes there are.
        nodes: the names of the nodes.
        node_data: the data of the nodes by attribute name.
        directed: whether edges are arcs.
        type_names: the names of the types of edges; empty if they have none.
        edge_data: the names of the numbers that edges have, and how many each is: (), or a number of columns.
        node_sites: data of nodes that are sites, by name, without their values: 0 stands for all of them.

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
    directed: bool = False
    type_names: tuple[Hashable, ...] = ()
    edge_data: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    node_sites: Mapping[str, NodeSites] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The frame of a graph."""
        shapes = {name: values.shape[1:] for name, values in graph.edge_data.items()}
        bare = {name: each.bare for name, each in graph.node_sites.items()}
        return cls(graph.n_nodes, graph.nodes, graph.node_data, graph.directed, graph.type_names, shapes, bare)

    @cached_property
    def key(self) -> str:
        """A hex digest of the names of the nodes and their data: the same for equal frames everywhere."""
        named = self.nodes != tuple(range(self.n_nodes))
        more = {
            "directed": self.directed,
            "types": self.type_names,
            "edge data": self.edge_data,
            "node sites": [each.form for each in self.node_sites.values()],
        }
        told = ({name: value for name, value in more.items() if value},) if any(more.values()) else ()
        return digest("frame", self.n_nodes, self.nodes if named else None, self.node_data, *told)

    def with_edges(
        self,
        pairs: npt.ArrayLike | Iterable[tuple[int, int]],
        types: Values | None = None,
        edge_data: Mapping[str, npt.ArrayLike] | None = None,
        node_values: Mapping[str, Values] | None = None,
    ) -> Graph:
        """The graph that has these edges, pairs of node indices, in this frame.

        Args:
            pairs: the edges.
            types: their types, whole numbers from 1, if they have any.
            edge_data: their numbers by name.
            node_values: values of the data of nodes that are sites, shape (nodes, columns). They are node data again.
        """
        shown = {name: self.node_sites[name].shown(values) for name, values in (node_values or {}).items()}
        return Graph(
            self.n_nodes,
            pairs,
            nodes=self.nodes,
            node_data={**self.node_data, **shown},
            directed=self.directed,
            edge_types=None if types is None else [self.type_names[each - 1] for each in types.tolist()],
            type_names=None if types is None else self.type_names,
            edge_data=edge_data,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self is other or self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"Frame({self.n_nodes} nodes{data})"

    def __reduce__(self) -> tuple[object, ...]:
        more = self.directed, self.type_names, dict(self.edge_data), dict(self.node_sites)
        return _restore_frame, (self.n_nodes, self.nodes, dict(self.node_data), *more)


def _restore(arguments: Mapping[str, Any], node_sites: Mapping[str, NodeSites]) -> Graph:
    graph = Graph(**arguments)
    object.__setattr__(graph, "node_sites", MappingProxyType(dict(node_sites)))
    data = NodeData(graph.node_data, graph.anchored_data, node_sites)
    object.__setattr__(graph, "node_data", MappingProxyType(data))
    return graph


def _restore_frame(n_nodes: int, nodes: tuple[Hashable, ...], node_data: Mapping[str, object], *more: Any) -> Frame:  # noqa: ANN401
    return Frame(n_nodes, nodes, Graph(n_nodes, (), nodes=nodes, node_data=node_data).node_data, *more)
