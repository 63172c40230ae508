"""The graph: nodes with opaque data, edges or arcs, perhaps of several types; and its frame.

The frame is what noise leaves alone: all that a classifier receives beside the noisy edges. A certificate for an answer
that looks at the clean graph's edges would be false, so whatever answers for noisy copies gets a frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects import content
from starcert.objects.blocks import NodePairs
from starcert.objects.content import NodeSites, bits_of, categories_of, copies_of
from starcert.objects.convert import Parts
from starcert.objects.formats import Formats
from starcert.objects.layers import EDGE_LAYERS, Coordinates, Indices, Layer, Values
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number

if TYPE_CHECKING:
    from starcert.objects.kinds import Kind


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Graph(Formats):
    """A simple graph with opaque node data: undirected or directed, its edges of one type or several.

    Args:
        n_nodes: how many nodes there are.
        edges: pairs of node indices, in any order and orientation, each once; of a directed graph source and target.
        nodes: the names of the nodes; their indices if left out.
        node_data: data by attribute name, a sequence or an array with one entry for each node, copied. Every noisy copy
            has them as they are: they must not reveal edges. Data that do (degrees, bonds, labels of edges) belong to:
        anchored_data: data of the nodes that reveal this graph's own edges, or values of its sites, by other names.
            Noisy copies come without them, and regions that are derived from them are anchored.
        directed: whether edges are arcs.
        edge_types: for each of the given edges the name of its type; the law `Edges` says how noise changes them.
        type_names: the names of all types there may be, 255 at most; those that occur if left out.
        edge_data: numbers of edges by name: one, or a row, for each of the given edges.
        added_edge_data: what an edge that noise adds has in their place; the mean of this graph's edges if left out.

    Attributes:
        edges: read-only, shape (n_edges, 2), rows in lexicographic order, u < v in every row if it is undirected.
        edge_types: the type of each row of `edges`, a whole number from 1, as in `type_names`; None if they have none.
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

    kind: ClassVar[Kind]  # `graph_kind.GRAPHS`
    n_nodes: int
    edges: Indices
    nodes: tuple[Hashable, ...]
    node_data: Mapping[str, object]
    anchored_data: Mapping[str, object]
    directed: bool
    edge_types: Values | None
    type_names: tuple[Hashable, ...]
    edge_data: Mapping[str, content.EdgeNumbers]
    added_edge_data: Mapping[str, content.EdgeNumbers]
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
        n_nodes = whole_number("n_nodes", n_nodes, 0)
        if not isinstance(directed, bool):
            raise InvalidParameterError("directed", "be True or False", directed)
        pairs, order = content.edges_of_pairs(edges, n_nodes, directed=directed)
        types, names = content.types_of_edges(edge_types, type_names, order)
        numbers = content.numbers_of_edges({} if edge_data is None else edge_data, order)
        added = content.added_numbers({} if added_edge_data is None else added_edge_data, numbers)
        named = content.names_of_nodes(nodes, n_nodes)
        anchored = content.data_of_nodes({} if anchored_data is None else anchored_data, n_nodes, "anchored_data")
        data = content.data_of_nodes({} if node_data is None else node_data, n_nodes, "node_data")
        for twice in data.keys() & anchored.keys():
            raise InvalidParameterError("anchored_data", "have other names than the node data", twice)
        vars(self).update(
            n_nodes=n_nodes,
            edges=pairs,
            nodes=named,
            node_data=MappingProxyType(content.NodeData(data, anchored)),
            anchored_data=MappingProxyType(anchored),
            directed=directed,
            edge_types=types,
            type_names=names,
            edge_data=MappingProxyType(numbers),
            added_edge_data=MappingProxyType(added),
            node_sites=MappingProxyType({}),
        )

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.edges)

    @cached_property
    def key(self) -> str:
        """A hex digest of the edges, the names of the nodes and their data: the same for equal graphs everywhere."""
        more = {
            "directed": self.directed,
            "types": () if self.edge_types is None else (self.type_names, self.edge_types),
            "edge data": {name: (values, self.added_edge_data[name]) for name, values in self.edge_data.items()},
            "node sites": {name: (each.form, each.values) for name, each in self.node_sites.items()},
        }
        data = {**self.node_data, **self.anchored_data}
        return _digest("graph", self.nodes, (self.n_nodes, self.edges), data, more)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Its sites: the node pairs or arcs, then the data of nodes that are sites, by name."""
        edges = NodePairs.of(self.nodes, max(1, len(self.type_names)), directed=self.directed)
        return (edges, *(each.layer for each in self.node_sites.values()))

    @cached_property
    def frame(self) -> NodeFrame:
        """The part that noise leaves alone."""
        return NodeFrame.of(self)

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The values of sites that are not 0: of edges 1, or their type."""
        if layer in self.node_sites:
            return self.node_sites[layer].nonzero()
        assert layer == self.layers[0].name
        return tuple(self.edges.T), np.ones(self.n_edges, np.uint8) if self.edge_types is None else self.edge_types

    def with_bits(self, name: str) -> Graph:
        """The graph whose node data of that name, zeros and ones, are sites: noise and attacks may flip them.

        They leave the node data and become a layer of their own, with nodes and columns as coordinates.

        Example:
            >>> graph = Graph(2, [(0, 1)], node_data={"x": [[0, 1, 1], [1, 0, 0]]}).with_bits("x")
            >>> graph, [layer.name for layer in graph.layers]
            (Graph(2 nodes, 1 edges, node sites: x), ['pairs', 'x'])
        """
        return self._with_sites(bits_of(name, self._taken(name)))

    def with_categories(self, name: str, categories: Sequence[Hashable] | None = None) -> Graph:
        """The graph whose node data of that name are sites, each a category: noise and attacks may change them.

        They become a layer of their own, and noisy copies show them in the form in which they came. `categories` are
        all that there may be, or the names of the columns of one-hot rows; without them the data must be such rows.

        Example:
            >>> graph = Graph(3, [(0, 1)], node_data={"element": ["C", "N", "C"]})
            >>> graph.with_categories("element", ("C", "N", "O")).layers[1].alphabet
            3
        """
        return self._with_sites(categories_of(name, self._taken(name), categories))

    def without(self, name: str) -> Graph:
        """The graph without the node data of that name, such as classes of its nodes, which no classifier may see."""
        self._taken(name)
        kept = {key: data for key, data in self.node_data.items() if key != name}
        return _restore(self.parts._replace(node_data=kept), self.node_sites)

    def with_node_data(self, name: str, data: object) -> Graph:
        """The graph with node data of that name, in place of any that are there.

        Example:
            >>> Graph(2, [(0, 1)]).with_node_data("train_mask", [True, False]).node_data
            mappingproxy({'train_mask': (True, False)})
        """
        return _restore(self.parts._replace(node_data={**self.node_data, name: data}), self.node_sites)

    def with_anchored(self, name: str) -> Graph:
        """The graph whose node data of that name are anchored: no noisy copy shows them, but regions may rest on them.

        So `atomic_number` may stay where atoms are sites: it would give away what noise and attacks change.

        Example:
            >>> Graph(2, [(0, 1)], node_data={"element": ["C", "O"]}).with_anchored("element")
            Graph(2 nodes, 1 edges, anchored data: element)
        """
        anchored = {**self.anchored_data, name: self._taken(name)}
        return _restore(self.without(name).parts._replace(anchored_data=anchored), self.node_sites)

    def with_some_edges(self, kept: npt.NDArray[np.bool_]) -> Graph:
        """The graph with those of its edges that are kept; nodes and their data stay, but for anchored ones.

        Example:
            >>> Graph(3, [(0, 1), (1, 2)]).with_some_edges(np.array([False, True])).edges.tolist()
            [[1, 2]]
        """
        parts = self.parts
        types = parts.edge_types and [name for name, here in zip(parts.edge_types, kept, strict=True) if here]
        numbers = {name: values[kept] for name, values in self.edge_data.items()}
        fewer = parts._replace(edges=self.edges[kept], anchored_data=None, edge_types=types, edge_data=numbers)
        return _restore(fewer, self.node_sites)

    def _taken(self, name: str) -> object:
        if name not in self.node_data:
            listed = ", ".join(self.node_data) or "which has none"
            raise InvalidParameterError("name", f"be node data of the graph, {listed}", name)
        if name in EDGE_LAYERS:
            raise InvalidParameterError("name", "be no name of another layer", name)
        return self.node_data[name]

    def _with_sites(self, more: NodeSites) -> Graph:
        graph = self.without(more.name)
        for name in copies_of(more, graph.node_data):
            message = (
                f"The node data {name!r} say the same as {more.name!r}, and noise leaves them alone: a classifier that "
                f"reads them sees the clean values. Take them out: graph.without({name!r}), or keep them for regions "
                f"alone, before the sites: graph.with_anchored({name!r})."
            )
            warnings.warn(message, StarcertWarning, stacklevel=3)
        return _restore(graph.parts, {**self.node_sites, more.name: more})

    @property
    def parts(self) -> Parts:
        """The parts that make the graph again."""
        names = None if self.edge_types is None else self.type_names
        types = None if self.edge_types is None else [self.type_names[each - 1] for each in self.edge_types.tolist()]
        data = dict(self.node_data), dict(self.anchored_data)
        numbers = dict(self.edge_data), dict(self.added_edge_data)
        return Parts(self.n_nodes, self.edges, self.nodes, *data, self.directed, types, names, *numbers)

    @property
    @override
    def _shown_parts(self) -> Parts:
        shown = {name: each.shown(each.values) for name, each in self.node_sites.items()}
        return self.parts._replace(anchored_data=None, node_data={**self.node_data, **shown})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return False
        # The key does not show which of the data are anchored.
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

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.parts, dict(self.node_sites))


@dataclass(frozen=True, eq=False, repr=False)
class NodeFrame:
    """The nodes of a graph, their names and their data, without any edge: the same for all its noisy copies.

    Its attributes are those of the graph, but `edge_data` has just the shapes of the numbers that edges have, and
    `node_sites` zeros in place of all values.

    Example:
        >>> frame = NodeFrame.of(Graph(3, [(0, 1), (1, 2)], node_data={"element": ["C", "N", "O"]}))
        >>> frame, frame.with_edges([(0, 2)])
        (NodeFrame(3 nodes, node data: element), Graph(3 nodes, 1 edges, node data: element))
        >>> frame.key == NodeFrame.of(frame.with_edges([])).key
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
        more = {
            "directed": self.directed,
            "types": self.type_names,
            "edge data": self.edge_data,
            "node sites": [each.form for each in self.node_sites.values()],
        }
        return _digest("frame", self.nodes, (self.n_nodes,), self.node_data, more)

    def with_edges(
        self,
        pairs: npt.ArrayLike | Iterable[tuple[int, int]],
        types: Values | None = None,
        edge_data: Mapping[str, npt.ArrayLike] | None = None,
        node_values: Mapping[str, Values] | None = None,
    ) -> Graph:
        """The graph that has these edges, pairs of node indices, in this frame.

        Types are whole numbers from 1, and values of the data of nodes that are sites have the shape (nodes, columns).
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
        return isinstance(other, NodeFrame) and (self is other or self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"NodeFrame({self.n_nodes} nodes{data})"

    def __reduce__(self) -> tuple[object, ...]:
        more = self.directed, self.type_names, dict(self.edge_data), dict(self.node_sites)
        return _restore_frame, (self.n_nodes, self.nodes, dict(self.node_data), *more)


def _digest(
    word: str, nodes: tuple[Hashable, ...], size: tuple[object, ...], data: object, more: Mapping[str, object]
) -> str:
    """The digest of a graph or a frame; plain ones have neither names of nodes nor anything more in it."""
    names = None if nodes == tuple(range(len(nodes))) else nodes
    kept = {name: value for name, value in more.items() if value}
    return content.digest(word, *size, names, data, *([kept] if kept else []))


def _restore(parts: Parts, node_sites: Mapping[str, NodeSites]) -> Graph:
    graph = Graph(**parts._asdict())
    data = content.NodeData(graph.node_data, graph.anchored_data, node_sites)
    vars(graph).update(node_sites=MappingProxyType(dict(node_sites)), node_data=MappingProxyType(data))
    return graph


def _restore_frame(n_nodes: int, nodes: tuple[Hashable, ...], node_data: Mapping[str, object], *more: Any) -> NodeFrame:  # noqa: ANN401
    return NodeFrame(n_nodes, nodes, Graph(n_nodes, (), nodes=nodes, node_data=node_data).node_data, *more)
