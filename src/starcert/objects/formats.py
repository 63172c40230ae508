"""Graphs in other forms: methods of `Graph` from and to other libraries, and the picture that a notebook shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from starcert.objects import convert, molecules

if TYPE_CHECKING:
    from starcert.objects.graph import Graph
    from starcert.objects.node_sites import NodeSites

MAX_DRAWN = 80  # graphs with more nodes are not drawn in a notebook

_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og"
)
SYMBOLS = tuple(_ELEMENTS.split())
"""The elements, from atomic number 1 on."""
SIZE, MARGIN = (320, 220), 16
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="16" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#56616e"/></marker></defs>'
)
ELEMENT = "atomic_number"


class Formats(ABC):
    """The conversions of a graph; see `starcert.objects.convert` and `starcert.objects.molecules`."""

    @classmethod
    def _of(cls, parts: convert.Parts) -> Self:
        return cls(**parts._asdict())

    @property
    @abstractmethod
    def _shown_parts(self) -> convert.Parts:
        """The parts of the graph as other libraries see them: without anchored data."""

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

        Attributes that all nodes carry become node data. Edge attributes that are not named here are left out with a
        warning; a weight other than 1 is refused, and so are multigraphs and self-loops.

        Args:
            graph: the networkx graph.
            edge_types: the edge attribute that is the type of an edge.
            type_names: all types there may be.
            edge_data: edge attributes that are numbers.
        """
        return cls._of(convert.from_networkx(graph, edge_types, edge_data)._replace(type_names=type_names))

    def to_networkx(self) -> Any:  # noqa: ANN401  (networkx carries no types)
        """A `networkx.Graph` or `DiGraph` with names and data of nodes and edges, but for anchored data.

        The type of an edge is its attribute `type`.
        """
        return convert.to_networkx(self._shown_parts)

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
            >>> from starcert import Graph
            >>> Graph.from_numpy([[0, 1], [1, 0]])
            Graph(2 nodes, 1 edges)
        """
        return cls._of(convert.from_numpy(adjacency, directed)._replace(nodes=nodes, node_data=node_data))

    def to_numpy(self) -> npt.NDArray[np.int8]:
        """The dense adjacency matrix, of zeros and ones in bytes: widen it before counting with it."""
        matrix: npt.NDArray[np.int8] = self.to_scipy().toarray()
        return matrix

    @classmethod
    def from_scipy(
        cls,
        adjacency: object,
        *,
        nodes: Iterable[Hashable] | None = None,
        node_data: Mapping[str, object] | None = None,
        directed: bool = False,
    ) -> Self:
        """The graph of a sparse adjacency matrix; see `from_numpy`."""
        return cls._of(convert.from_scipy(adjacency, directed)._replace(nodes=nodes, node_data=node_data))

    def to_scipy(self) -> Any:  # noqa: ANN401  (scipy carries no types)
        """The adjacency matrix as a `scipy.sparse.csr_array` of bytes: widen it before counting with it."""
        return convert.to_scipy(self._shown_parts)

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
        Whatever PyG calls a node attribute becomes node data. Edge attributes that are not named here are left out
        with a warning, but an edge_weight other than 1 is refused.

        Args:
            data: the `Data`.
            directed: whether the columns of edge_index are arcs.
            edge_types: the attribute that is the type of an edge, for instance "edge_attr": one-hot rows, or numbers.
            type_names: what the types are called, in the order of the columns; their numbers if left out. Where types
                are numbers, name all that occur in the data set.
            edge_data: attributes that are numbers of edges.
        """
        return cls._of(convert.from_pyg(data, directed, edge_types, type_names, edge_data))

    def to_pyg(self) -> Any:  # noqa: ANN401  (torch_geometric carries no types)
        """A `torch_geometric.data.Data` with both directions of every edge, sorted, and the node data as tensors.

        Types are one-hot rows of `edge_attr`; data of edges keep their names. The names of nodes and anchored data are
        left out. Data that are not numbers become lists.
        """
        return convert.to_pyg(self._shown_parts)

    @classmethod
    def from_rdkit(cls, molecule: object, *, elements: molecules.Elements = None, bond_types: bool = False) -> Self:
        """The graph of an RDKit molecule: atoms are nodes, bonds are edges. It needs the extra `molecules`.

        The node data are `atomic_number` and `formal_charge`. What follows from the bonds is anchored data:
        `hydrogens`, the number of an atom's hydrogens that are not nodes, and `bonds`, for each atom the pairs
        (neighbour, order), where an order is single, double, triple or aromatic.

        Args:
            molecule: an `rdkit.Chem.Mol`, sanitized.
            elements: symbols such as ("C", "N", "O"); then the node data `x` has a column for each of them, one-hot.
                With "usual" they are B, C, N, O, F, Si, P, S, Cl, Se, Br and I, and one more column is for all others.
            bond_types: whether the orders of bonds are types of edges: single, double, triple and aromatic.
        """
        return cls._of(molecules.from_rdkit(molecule, elements, bond_types))

    @classmethod
    def from_smiles(cls, smiles: str, *, elements: molecules.Elements = None, bond_types: bool = False) -> Self:
        """The graph of the molecule that a SMILES string describes, hydrogens left out; see `from_rdkit`.

        Example:
            >>> from starcert import Graph
            >>> aniline = Graph.from_smiles("c1ccccc1N", elements=("C", "N"))
            >>> aniline
            Graph(7 nodes, 7 edges, node data: atomic_number, formal_charge, x, anchored data: hydrogens, bonds)
            >>> aniline.anchored_data["hydrogens"].tolist()
            [1, 1, 1, 1, 1, 0, 2]
            >>> Graph.from_smiles("CC=O", bond_types=True).type_names
            ('single', 'double', 'triple', 'aromatic')
        """
        return cls._of(molecules.from_smiles(smiles, elements, bond_types))


def element_symbols(data: Mapping[str, object], sites: Mapping[str, NodeSites]) -> list[str] | None:
    """The element of each node, from `atomic_number`, or from sites that are symbols; None where nothing says it."""
    own, known = sites.get(ELEMENT), frozenset(SYMBOLS)
    if (
        named := next((each for each in sites.values() if each.categories and known.issuperset(each.categories)), None)
    ) is not None:
        return [str((named.categories or ())[value]) for value in named.values[:, 0].tolist()]
    numbers = np.asarray(data.get(ELEMENT, ()) if own is None else own.shown(own.values))
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        return None
    if numbers.min() < 1 or numbers.max() > len(SYMBOLS):
        return None
    return [SYMBOLS[number - 1] for number in numbers.tolist()]


def graph_html(graph: Graph) -> str:
    """A drawing of a graph, if it is small, and a line about it."""
    line = f"<p>{escape(repr(graph))}</p>"
    if graph.n_nodes > MAX_DRAWN or graph.n_edges > 4 * MAX_DRAWN:
        return line
    texts = element_symbols(graph.node_data, graph.node_sites) or [str(node) for node in graph.nodes]
    return _svg(graph.n_nodes, graph.edges, graph.directed, texts) + line


def _svg(n_nodes: int, edges: npt.NDArray[np.int64], directed: bool, texts: Sequence[str]) -> str:
    """The drawing, with a text in each node; texts of more than two characters show on hovering."""
    points = _points(n_nodes, edges)
    head, marker = (HEAD, ' marker-end="url(#head)"') if directed else ("", "")
    ends = ((*points[u], *points[v]) for u, v in edges.tolist())
    lines = "".join(f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"{marker}/>' for a, b, c, d in ends)
    nodes = "".join(_node(*point, text) for point, text in zip(points, texts, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE[0]}" height="{SIZE[1]}" '
        f'viewBox="0 0 {SIZE[0]} {SIZE[1]}" role="img">{head}'
        f'<g stroke="#56616e" stroke-width="1.5">{lines}</g>{nodes}</svg>'
    )


def _node(x: float, y: float, text: str) -> str:
    label = f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="middle" font-size="9">{escape(text)}</text>'
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="#fff" stroke="#0072b2" stroke-width="1.5">'
        f"<title>{escape(text)}</title></circle>{label if len(text) <= 2 else ''}"
    )


def _points(n_nodes: int, edges: npt.NDArray[np.int64]) -> list[tuple[float, float]]:
    """The places of the nodes in a drawing: the same for the same graph."""
    import networkx as nx  # noqa: PLC0415  (a tenth of a second; only where a picture is drawn)

    graph = nx.empty_graph(n_nodes)
    graph.add_edges_from(edges.tolist())
    placed: dict[Any, Any] = nx.spring_layout(graph, seed=0, iterations=100)
    points = np.array([placed[node] for node in range(n_nodes)]).reshape(n_nodes, 2)
    low, high = points.min(axis=0, initial=1), points.max(axis=0, initial=-1)
    scaled = MARGIN + (points - low) / np.maximum(high - low, 1e-9) * (np.array(SIZE) - 2 * MARGIN)
    return [(float(x), float(y)) for x, y in scaled]
