"""The methods of `Graph` that convert: from and to networkx, numpy, scipy, PyTorch Geometric and RDKit.

On the way out anchored data stay behind: no other format keeps them apart from the data that are safe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from starcert.objects import convert, molecules
from starcert.objects.content import as_array, is_tensor
from starcert.objects.convert import Parts, edges_of, load_module
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError


class Formats(ABC):
    """The conversions of a graph."""

    @classmethod
    def _of(cls, parts: Parts) -> Self:
        return cls(**parts._asdict())

    @property
    @abstractmethod
    def _shown_parts(self) -> Parts:
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
        networkx, parts = load_module("networkx", "networkx"), self._shown_parts
        graph = networkx.DiGraph() if parts.directed else networkx.Graph()
        nodes = list(parts.nodes or ())
        graph.add_nodes_from(nodes)
        for name, values in (parts.node_data or {}).items():
            networkx.set_node_attributes(graph, dict(zip(nodes, _entries(values), strict=True)), name)
        named = [(nodes[u], nodes[v]) for u, v in parts.edges.tolist()]
        graph.add_edges_from(named)
        carried = {**(parts.edge_data or {}), **({} if parts.edge_types is None else {"type": parts.edge_types})}
        for name, values in carried.items():
            networkx.set_edge_attributes(graph, dict(zip(named, _entries(values), strict=True)), name)
        return graph

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
        matrix = np.asarray(adjacency)
        if matrix.dtype.kind not in "biuf":
            hint = "A scipy matrix goes to Graph.from_scipy."
            raise InvalidParameterError("adjacency", "be an array of zeros and ones", adjacency, hint)
        return cls._of_matrix(matrix, nodes, node_data, directed)

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
        from scipy import sparse  # noqa: PLC0415

        if not sparse.issparse(adjacency):
            hint = "A numpy array goes to Graph.from_numpy."
            raise InvalidParameterError("adjacency", "be a sparse matrix or array of scipy", adjacency, hint)
        entries = sparse.csr_array(adjacency, copy=True)
        entries.sum_duplicates()
        entries.eliminate_zeros()
        return cls._of_matrix(entries.tocoo(), nodes, node_data, directed)

    @classmethod
    def _of_matrix(
        cls,
        matrix: Any,  # noqa: ANN401  (of numpy or scipy)
        nodes: Iterable[Hashable] | None,
        node_data: Mapping[str, object] | None,
        directed: bool,
    ) -> Self:
        if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
            wanted = "be square, with a row and a column for each node"
            raise InvalidParameterError("adjacency", wanted, matrix.shape)
        if isinstance(matrix, np.ndarray):
            rows, columns = np.nonzero(matrix)
            values = matrix[rows, columns]
        else:
            rows, columns, values = matrix.row, matrix.col, matrix.data
        for wrong in np.flatnonzero(values != 1):
            got = f"{values[wrong].item()!r} at {(int(rows[wrong]), int(columns[wrong]))}"
            raise InvalidParameterError("adjacency", "hold only 0 and 1", got)
        edges, _ = edges_of(rows, columns, matrix.shape[0], "adjacency", directed)
        return cls._of(Parts(matrix.shape[0], edges, nodes, node_data, directed=directed))

    def to_scipy(self) -> Any:  # noqa: ANN401  (scipy carries no types)
        """The adjacency matrix as a `scipy.sparse.csr_array` of bytes: widen it before counting with it."""
        from scipy import sparse  # noqa: PLC0415

        parts = self._shown_parts
        rows, columns, _ = _arcs_of(parts)
        ones = np.ones(len(rows), dtype=np.int8)
        return sparse.csr_array((ones, (rows, columns)), shape=(parts.n_nodes, parts.n_nodes))

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
        pyg = load_module("torch_geometric.data", "'starcert[torch]'")
        torch, parts = import_module("torch"), self._shown_parts
        rows, columns, order = _arcs_of(parts)
        data = pyg.Data(edge_index=torch.from_numpy(np.stack([rows, columns])), num_nodes=parts.n_nodes)
        for name, numbers in (parts.edge_data or {}).items():
            data[name] = torch.from_numpy(np.asarray(numbers, dtype=np.float32)[order])
        if parts.edge_types is not None:
            names = list(parts.type_names or ())
            types = torch.tensor([names.index(each) for each in parts.edge_types], dtype=torch.int64)[order]
            data["edge_attr"] = torch.nn.functional.one_hot(types, len(names)).float()
        for name, values in (parts.node_data or {}).items():
            if name in ("edge_index", "num_nodes"):
                problem = f"cannot be called {name!r}, as PyG calls a part of the graph so."
                raise InvalidParameterError("node_data", problem)
            data[name] = _as_tensor(values, torch)
        return data

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


def _entries(values: Any) -> Sequence[object]:  # noqa: ANN401  (opaque data)
    """The data of each node or edge; one number each as a number of Python."""
    one_number_each = (isinstance(values, np.ndarray) or is_tensor(values)) and values.ndim == 1
    return values.tolist() if one_number_each else list(values)


def _arcs_of(parts: Parts) -> tuple[Indices, Indices, Indices]:
    """Both directions of every edge, or the arcs, sorted by the first and then by the second node; and their edges."""
    edges = parts.edges
    if parts.directed:
        return edges[:, 0], edges[:, 1], np.arange(len(edges))
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.lexsort([columns, rows])
    return rows[order], columns[order], order % max(1, len(edges))


def _as_tensor(values: object, torch: ModuleType) -> object:
    if is_tensor(values):
        return values.clone()
    array = as_array(values)
    if array is not None and array.dtype.kind in "biufc":
        return torch.from_numpy(array.copy())
    return list(_entries(values))  # PyG still knows it as data of the nodes
