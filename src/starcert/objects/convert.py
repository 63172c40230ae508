"""Graphs from pairs of nodes, and from and to networkx, numpy and scipy.

Every format is checked on its way in: what is no simple graph is refused with the offending pair. Data of edges come
along where they are named, as types or as numbers; others are left out, and that is said. On the way out anchored data
stay behind: no other format keeps them apart from the data that are safe.
Each function speaks of the parts of a graph (see `Parts`) and imports the other library where it needs it.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import import_module
from numbers import Integral
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.objects.content import is_tensor
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning

__all__ = [
    "Parts",
    "arcs_of",
    "edge_names",
    "edges_of",
    "entries",
    "from_networkx",
    "from_numpy",
    "from_pairs",
    "from_scipy",
    "is_index",
    "is_networkx",
    "load",
    "say_left_out",
    "to_networkx",
    "to_numpy",
    "to_scipy",
]

Indices = npt.NDArray[np.int64]


class Parts(NamedTuple):
    """What a graph is made of, as `Graph` takes it: edges are pairs of node indices."""

    n_nodes: int
    edges: Indices
    nodes: Sequence[Hashable] | None = None
    node_data: Mapping[str, object] | None = None
    anchored_data: Mapping[str, object] | None = None
    directed: bool = False
    edge_types: Sequence[Hashable] | None = None
    type_names: Sequence[Hashable] | None = None
    edge_data: Mapping[str, Any] | None = None
    added_edge_data: Mapping[str, Any] | None = None


def is_index(value: object) -> bool:
    """Whether this is a whole number, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_networkx(value: object) -> bool:
    """Whether this is a graph of networkx, of whatever kind."""
    return all(hasattr(value, method) for method in ("is_directed", "is_multigraph", "edges", "nodes"))


def from_networkx(
    source: object,
    edge_types: str | None = None,
    type_names: Sequence[Hashable] | None = None,
    edge_data: Sequence[str] = (),
) -> Parts:
    """The parts of a `networkx.Graph` or `DiGraph`; the other arguments as in `Graph.from_networkx`."""
    graph: Any = source
    if not is_networkx(graph):
        raise InvalidParameterError("graph", "be a networkx graph", source)
    if graph.is_multigraph():
        simple = "DiGraph(graph), which keeps directions" if graph.is_directed() else "Graph(graph)"
        hint = f"Make parallel edges one edge, for example with networkx.{simple}."
        raise InvalidParameterError("graph", "not be a multigraph", source, hint)
    wanted = edge_names(edge_types, edge_data)
    nodes = list(graph)
    index = {node: position for position, node in enumerate(nodes)}
    edges = np.empty((graph.number_of_edges(), 2), dtype=np.int64)
    carried: dict[str, list[Any]] = {name: [] for name in wanted}
    left_out: set[str] = set()
    for row, (u, v, carries) in enumerate(graph.edges(data=True)):
        if u == v:
            raise InvalidParameterError("graph", "have no self-loops", (u, v))
        weight = carries.get("weight", 1)
        if weight != 1 and "weight" not in wanted:
            hint = (
                "Keep weights with Graph.from_networkx(graph, edge_data=['weight']), or let all of them be 1: "
                "networkx.set_edge_attributes(graph, 1, 'weight')."
            )
            raise InvalidParameterError("graph", "be unweighted", f"{(u, v)!r} with weight {weight!r}", hint)
        for name in wanted:
            if name not in carries:
                hint = f"It has {', '.join(map(str, carries)) or 'no attributes'}."
                raise InvalidParameterError(
                    "graph", f"have the attribute {name!r} on every edge", f"{(u, v)!r} without", hint
                )
            carried[name].append(carries[name])
        left_out.update(str(name) for name in carries if name not in wanted and name != "weight")
        edges[row] = index[u], index[v]
    say_left_out(sorted(left_out), "Graph.from_networkx(graph, …)")
    records = [graph.nodes[node] for node in nodes]
    names = [name for name in records[0] if all(name in record for record in records)] if records else []
    some = sorted({str(name) for record in records for name in record} - set(map(str, names)))
    if some:
        warnings.warn(
            f"Some nodes have no {' and no '.join(map(repr, some))}: it is left out for all nodes. Give every node a "
            "value to keep it.",
            StarcertWarning,
            stacklevel=3,
        )
    return Parts(
        len(nodes),
        edges,
        nodes,
        {name: [record[name] for record in records] for name in names},
        directed=graph.is_directed(),
        edge_types=None if edge_types is None else carried[edge_types],
        type_names=type_names,
        edge_data={name: carried[name] for name in edge_data},
    )


def edge_names(edge_types: object, edge_data: object) -> list[str]:
    """The names of the data of edges that are asked for."""
    if not isinstance(edge_types, str | None):
        raise InvalidParameterError("edge_types", "be the name of an edge attribute", edge_types)
    if isinstance(edge_data, str) or not isinstance(edge_data, Sequence):
        raise InvalidParameterError("edge_data", "be a list of names of edge attributes", edge_data)
    return [*([] if edge_types is None else [edge_types]), *edge_data]


def say_left_out(names: Sequence[str], call: str) -> None:
    """Warns of data of edges that nobody asked for, with the arguments of a call that keep them."""
    if names:
        warnings.warn(
            f"Data of edges are left out: {', '.join(names)}. Name them to keep them: {call} takes types of edges "
            f"(edge_types={names[0]!r}) and numbers (edge_data=[{names[0]!r}]). In a run: --edge-types {names[0]}.",
            StarcertWarning,
            stacklevel=4,
        )


def to_networkx(parts: Parts) -> Any:  # noqa: ANN401  (networkx carries no types)
    """A `networkx.Graph` or `DiGraph` with the names of the nodes, and data of nodes and edges as attributes."""
    networkx = load("networkx", "networkx")
    graph = networkx.DiGraph() if parts.directed else networkx.Graph()
    nodes = list(range(parts.n_nodes) if parts.nodes is None else parts.nodes)
    graph.add_nodes_from(nodes)
    for name, values in (parts.node_data or {}).items():
        for node, value in zip(nodes, entries(values), strict=True):
            graph.nodes[node][name] = value
    named = [(nodes[u], nodes[v]) for u, v in parts.edges.tolist()]
    graph.add_edges_from(named)
    carried = {**(parts.edge_data or {}), **({} if parts.edge_types is None else {"type": parts.edge_types})}
    for name, values in carried.items():
        for edge, value in zip(named, entries(values), strict=True):
            graph.edges[edge][name] = value
    return graph


def from_numpy(adjacency: npt.ArrayLike, directed: bool = False) -> Parts:
    """The parts of a graph with this dense adjacency matrix."""
    matrix = np.asarray(adjacency)
    if matrix.dtype.kind not in "biuf":
        hint = "A scipy matrix goes to Graph.from_scipy."
        raise InvalidParameterError("adjacency", "be an array of zeros and ones", adjacency, hint)
    _check_square(matrix.shape)
    wrong = (matrix != 0) & (matrix != 1)
    if wrong.any():
        pair = tuple(map(int, np.unravel_index(int(wrong.argmax()), wrong.shape)))
        _refuse_value(pair, matrix[pair])
    rows, columns = np.nonzero(matrix)
    return Parts(len(matrix), edges_of(rows, columns, len(matrix), "adjacency", directed)[0], directed=directed)


def to_numpy(parts: Parts) -> npt.NDArray[np.int8]:
    """The dense adjacency matrix."""
    matrix = np.zeros((parts.n_nodes, parts.n_nodes), dtype=np.int8)
    matrix[arcs_of(parts)[:2]] = 1
    return matrix


def from_scipy(source: object, directed: bool = False) -> Parts:
    """The parts of a graph with this sparse adjacency matrix, which stays sparse."""
    from scipy import sparse  # noqa: PLC0415

    if not sparse.issparse(source):
        hint = "A numpy array goes to Graph.from_numpy."
        raise InvalidParameterError("adjacency", "be a sparse matrix or array of scipy", source, hint)
    given: Any = source
    _check_square(given.shape)
    matrix = sparse.csr_array(given, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix = matrix.tocoo()
    wrong = matrix.data != 1
    if wrong.any():
        first = int(wrong.argmax())
        _refuse_value((int(matrix.row[first]), int(matrix.col[first])), matrix.data[first])
    n_nodes = matrix.shape[0]
    edges, _ = edges_of(matrix.row, matrix.col, n_nodes, "adjacency", directed)
    return Parts(n_nodes, edges, directed=directed)


def to_scipy(parts: Parts) -> Any:  # noqa: ANN401  (scipy carries no types)
    """The adjacency matrix as a `scipy.sparse.csr_array`, with sorted indices."""
    from scipy import sparse  # noqa: PLC0415

    rows, columns, _ = arcs_of(parts)
    ones = np.ones(len(rows), dtype=np.int8)
    return sparse.csr_array((ones, (rows, columns)), shape=(parts.n_nodes, parts.n_nodes))


def entries(values: Any) -> Sequence[object]:  # noqa: ANN401  (opaque data)
    """What each node or edge has of these data; one number each as a number of Python."""
    one_number_each = (isinstance(values, np.ndarray) or is_tensor(values)) and values.ndim == 1
    return values.tolist() if one_number_each else list(values)


def arcs_of(parts: Parts) -> tuple[Indices, Indices, Indices]:
    """Both directions of every edge, or the arcs, sorted by the first and then by the second node; and their edges."""
    edges = parts.edges
    if parts.directed:
        return edges[:, 0], edges[:, 1], np.arange(len(edges))
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.lexsort([columns, rows])
    return rows[order], columns[order], order % max(1, len(edges))


def edges_of(
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    n_nodes: int,
    name: str,
    directed: bool,
) -> tuple[Indices, Indices]:
    """The edges of a list of directed pairs, and which of the pairs each is.

    Of an undirected graph it must hold each direction of each edge once; its edges are those with u < v.
    """
    arcs = np.stack([rows, columns], axis=1).astype(np.int64)
    wrong = ((arcs < 0) | (arcs >= n_nodes)).any(axis=1)
    if wrong.any():
        raise InvalidParameterError(name, f"hold node indices below {n_nodes}, 0 or more", _pair(arcs[wrong.argmax()]))
    remedies = _REMEDIES.get(name, {})
    loops = arcs[:, 0] == arcs[:, 1]
    if loops.any():
        raise InvalidParameterError(name, "have no self-loops", _pair(arcs[loops.argmax()]), remedies.get("loops", ""))
    order = np.lexsort([arcs[:, 1], arcs[:, 0]])
    arcs = arcs[order]
    twice = (arcs[1:] == arcs[:-1]).all(axis=1)
    if twice.any():
        got = f"{_pair(arcs[twice.argmax()])} twice"
        raise InvalidParameterError(name, "have each direction of an edge once", got, remedies.get("twice", ""))
    if directed:
        return arcs, order
    missing = np.setdiff1d(arcs @ [n_nodes, 1], arcs @ [1, n_nodes], assume_unique=True)
    if len(missing):
        u, v = divmod(int(missing[0]), n_nodes)
        hint = f"Give directed=True to keep directions. {remedies.get('directed', '')}".rstrip()
        raise InvalidParameterError(name, "have both directions of every edge", f"{(u, v)} without {(v, u)}", hint)
    forth = arcs[:, 0] < arcs[:, 1]
    return arcs[forth], order[forth]


_REMEDIES = {
    "edge_index": {
        "loops": "torch_geometric.utils.remove_self_loops takes them out.",
        "twice": "torch_geometric.utils.coalesce makes one of them.",
        "directed": "torch_geometric.utils.to_undirected adds the other direction.",
    }
}
"""What mends a list of edges, where the library that it comes from has something."""


def _pair(row: Indices) -> tuple[int, int]:
    return int(row[0]), int(row[1])


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidParameterError("adjacency", "be square, with a row and a column for each node", shape)


def _refuse_value(pair: tuple[int, ...], value: Any) -> None:  # noqa: ANN401  (a number of any kind)
    raise InvalidParameterError("adjacency", "hold only 0 and 1", f"{value.item()!r} at {pair}")


def load(module: str, package: str) -> ModuleType:
    """The module, or an error that names the package to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise StarcertError(f"This needs {module.partition('.')[0]}. Try: pip install {package}") from error


def from_pairs(
    values: npt.ArrayLike | Iterable[tuple[int, int]], n_nodes: int, *, directed: bool = False
) -> tuple[Indices, Indices]:
    """The edges, sorted and read-only, or an error that names the first pair that cannot be one.

    Args:
        values: pairs of node indices, each once; of arcs source and target.
        n_nodes: how many nodes there are.
        directed: whether they are arcs; the nodes of an edge are put in order, u < v.

    Returns:
        The edges, and which of the given pairs each of them is.
    """
    if not isinstance(values, Iterable):
        raise InvalidParameterError("edges", "be pairs of node indices", values)
    listed: Any = values if hasattr(values, "__array__") else list(values)
    try:
        pairs = np.asarray(listed)
    except ValueError:  # entries of different lengths
        pairs = np.empty(0, dtype=object)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        pairs = _pairs_one_by_one(listed)
    wrong = ((pairs < 0) | (pairs >= n_nodes)).any(axis=1)
    if wrong.any():
        pair = tuple(pairs[wrong.argmax()].tolist())
        raise InvalidParameterError("edges", f"be pairs of node indices below {n_nodes}, 0 or more", pair)
    edges = pairs.astype(np.int64) if directed else np.sort(pairs.astype(np.int64), axis=1)
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        raise InvalidParameterError("edges", "have no self-loops", tuple(edges[loops.argmax()].tolist()))
    order = np.lexsort([edges[:, 1], edges[:, 0]])
    edges = edges[order]
    twice = (edges[1:] == edges[:-1]).all(axis=1)
    if twice.any():
        pair = tuple(edges[twice.argmax()].tolist())
        wanted = "hold each arc once" if directed else "hold each pair once, in one orientation"
        raise InvalidParameterError("edges", wanted, f"{pair} twice")
    edges.setflags(write=False)
    return edges, order


def _pairs_one_by_one(listed: Iterable[Any]) -> npt.NDArray[Any]:
    """What numpy did not read as whole numbers in two columns: nothing, huge numbers, or something to refuse."""
    pairs = []
    for pair in listed:
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2 or not all(map(is_index, pair)):
            got = tuple(pair.tolist()) if isinstance(pair, np.ndarray) and pair.ndim == 1 else pair
            hint = "Transpose an edge_index that has two rows." if len(np.shape(got)) and len(got) > 2 else ""
            raise InvalidParameterError("edges", "be pairs of whole numbers, the indices of nodes", got, hint)
        pairs.append([int(index) for index in pair])
    return np.array(pairs, dtype=object).reshape(-1, 2)
