"""Graphs of networkx and of PyTorch Geometric, read as the parts of a graph.

Anything but a simple graph is refused, and the error names the offending pair. Data of edges come along where they are
named, as types or as numbers; others are left out with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.objects.content import is_tensor, sorted_pairs
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning, whole_number


class Parts(NamedTuple):
    """The parts of a graph, as `Graph` takes them."""

    n_nodes: int
    edges: Indices
    nodes: Iterable[Hashable] | None = None
    node_data: Mapping[str, object] | None = None
    anchored_data: Mapping[str, object] | None = None
    directed: bool = False
    edge_types: Sequence[Hashable] | None = None
    type_names: Sequence[Hashable] | None = None
    edge_data: Mapping[str, Any] | None = None
    added_edge_data: Mapping[str, Any] | None = None


def is_networkx(value: object) -> bool:
    """True for a graph of networkx, of whatever kind."""
    return all(hasattr(value, method) for method in ("is_directed", "is_multigraph", "edges", "nodes"))


def from_networkx(source: object, edge_types: str | None = None, edge_data: Sequence[str] = ()) -> Parts:
    """The parts of a `networkx.Graph` or `DiGraph`; the other arguments as in `Graph.from_networkx`."""
    graph: Any = source
    if not is_networkx(graph):
        raise InvalidParameterError("graph", "be a networkx graph", source)
    if graph.is_multigraph():
        simple = "DiGraph(graph), which keeps directions" if graph.is_directed() else "Graph(graph)"
        hint = f"Make parallel edges one edge, for example with networkx.{simple}."
        raise InvalidParameterError("graph", f"is a multigraph. {hint}")
    wanted = _edge_names(edge_types, edge_data)
    nodes = list(graph)
    index = {node: position for position, node in enumerate(nodes)}
    listed = list(graph.edges(data=True))
    for u, v, carries in listed:
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
                requirement = f"have the attribute {name!r} on every edge"
                raise InvalidParameterError("graph", requirement, f"{(u, v)!r} without", hint)
    edges = np.array([(index[u], index[v]) for u, v, _ in listed], dtype=np.int64).reshape(-1, 2)
    carried = {name: [carries[name] for *_, carries in listed] for name in wanted}
    left_out = {name for *_, carries in listed for name in carries} - {*wanted, "weight"}
    _warn_left_out(sorted(map(str, left_out)), "Graph.from_networkx(graph, …)")
    records = [graph.nodes[node] for node in nodes]
    names = [name for name in records[0] if all(name in record for record in records)] if records else []
    some = sorted({str(name) for record in records for name in record} - set(map(str, names)))
    if some:
        missing = f"Some nodes have no {' and no '.join(map(repr, some))}: it is left out for all nodes."
        warnings.warn(f"{missing} Give every node a value to keep it.", StarcertWarning, stacklevel=3)
    node_data = {name: [record[name] for record in records] for name in names}
    types = None if edge_types is None else carried[edge_types]
    numbers = {name: carried[name] for name in edge_data}
    return Parts(len(nodes), edges, nodes, node_data, None, graph.is_directed(), types, None, numbers)


def _edge_names(edge_types: object, edge_data: object) -> list[str]:
    """The names of the requested data of edges."""
    if not isinstance(edge_types, str | None):
        raise InvalidParameterError("edge_types", "be the name of an edge attribute", edge_types)
    if isinstance(edge_data, str) or not isinstance(edge_data, Sequence):
        raise InvalidParameterError("edge_data", "be a list of names of edge attributes", edge_data)
    return [*([] if edge_types is None else [edge_types]), *edge_data]


def _warn_left_out(names: Sequence[str], call: str) -> None:
    """Warns of data of edges that were not requested, with the arguments of a call that keep them."""
    if names:
        message = (
            f"Data of edges are left out: {', '.join(names)}. Name them to keep them: {call} takes types of edges "
            f"(edge_types={names[0]!r}) and numbers (edge_data=[{names[0]!r}]). In a run: --edge-types {names[0]}."
        )
        warnings.warn(message, StarcertWarning, stacklevel=4)


def is_pyg(value: object) -> bool:
    """True for a `torch_geometric.data.Data`, or a batch of them."""
    return hasattr(value, "is_node_attr") and hasattr(value, "edge_index")


def from_pyg(
    source: object,
    directed: bool = False,
    edge_types: str | None = None,
    type_names: Sequence[Hashable] | None = None,
    edge_data: Sequence[str] = (),
) -> Parts:
    """The parts of a `torch_geometric.data.Data`; the other arguments as in `Graph.from_pyg`."""
    data: Any = source
    edge_index = getattr(data, "edge_index", None)
    if not (is_tensor(edge_index) and hasattr(data, "is_node_attr")) or edge_index.shape[:1] != (2,):
        hint = "A graph without edges has an edge_index of shape (2, 0)."
        raise InvalidParameterError("data", "be a torch_geometric Data with an edge_index of two rows", source, hint)
    if hasattr(data, "to_data_list") and data.num_graphs != 1:
        hint = "Take its graphs one by one: batch.to_data_list()."
        raise InvalidParameterError("data", "be one graph", f"a batch of {data.num_graphs}", hint)
    whole = not (edge_index.is_floating_point() or edge_index.is_complex() or str(edge_index.dtype) == "torch.bool")
    if edge_index.dim() != 2 or str(edge_index.layout) != "torch.strided" or not whole:
        got = f"{edge_index.layout} of {edge_index.dtype}, shape {tuple(edge_index.shape)}"
        raise InvalidParameterError("edge_index", "be a dense tensor of two rows of whole numbers", got)
    weights = getattr(data, "edge_weight", None)
    if weights is not None and (not is_tensor(weights) or weights.shape[:1] != edge_index.shape[1:]):
        raise InvalidParameterError("edge_weight", "be a tensor with an entry for each column of edge_index", weights)
    wanted = _edge_names(edge_types, edge_data)
    if weights is not None and "edge_weight" not in wanted and bool((weights != 1).any()):
        first = int((weights != 1).int().argmax())
        pair = tuple(data.edge_index[:, first].tolist())
        hint = "Keep it with Graph.from_pyg(data, edge_data=['edge_weight']), or take it out: data.edge_weight = None."
        raise InvalidParameterError("data", "be unweighted", f"{pair} with weight {weights[first].tolist()}", hint)
    rows, columns = data.edge_index.numpy(force=True)
    number = data.num_nodes
    n_nodes = whole_number("num_nodes", number.item() if is_tensor(number) and number.numel() == 1 else number, 0)
    for key in ("x", "pos"):  # what PyG calls data of nodes, whatever shape they have
        values = getattr(data, key, None)
        if is_tensor(values) and tuple(values.shape[:1]) != (n_nodes,):
            requirement = f"have a row for each of the {n_nodes} nodes"
            raise InvalidParameterError(key, requirement, f"a tensor of shape {tuple(values.shape)}")
    keys = list(data.keys())
    # PyG also calls those node attributes that run over the nodes in their last dimension, such as mesh faces.
    of_nodes = [key for key in keys if data.is_node_attr(key) and len(data[key]) == n_nodes]
    # By their names: what has as many entries as there are edges may have them by chance.
    of_edges = [key for key in keys if key.startswith("edge_") and key not in ("edge_index", "edge_weight")]
    _warn_left_out([key for key in of_edges if key not in (*wanted, *of_nodes)], "Graph.from_pyg(data, …)")
    edges, kept = edges_of(rows, columns, n_nodes, "edge_index", directed)
    carried = {name: _of_both_ways(data, name, rows, columns, kept, directed) for name in wanted}
    types: list[Hashable] | None = None
    if edge_types is not None:
        given, n_columns = carried[edge_types]
        if given.ndim > 1:
            hint = f"Take the column that is the type: data.kind = data.{edge_types}[:, 0], and edge_types='kind'."
            requirement = f"have one-hot rows, or one number an edge, as {edge_types}"
            raise InvalidParameterError("data", requirement, f"shape {tuple(data[edge_types].shape)}", hint)
        types = given.tolist()
        if n_columns:
            type_names = range(n_columns) if type_names is None else list(type_names)
            if len(type_names) != n_columns:
                raise InvalidParameterError("type_names", f"name the {n_columns} columns of {edge_types}", type_names)
            types = [type_names[column] for column in given.tolist()]
    node_data = {key: data[key] for key in of_nodes}
    numbers = {name: data[name].numpy(force=True)[kept] for name in edge_data}
    return Parts(n_nodes, edges, None, node_data, None, directed, types, type_names, numbers)


def _of_both_ways(
    data: Mapping[str, Any], name: str, rows: Indices, columns: Indices, kept: Indices, directed: bool
) -> tuple[npt.NDArray[Any], int]:
    """The data of the edges that are kept, the same both ways; of one-hot rows the column, and how many there are."""
    if name not in data or not is_tensor(data[name]) or len(data[name]) != len(rows):
        raise InvalidParameterError("data", f"have {name!r} for each column of edge_index", data)
    values = data[name].numpy(force=True)
    if not directed:
        forth, back = np.lexsort([columns, rows]), np.lexsort([rows, columns])  # each arc, and its other direction
        differ = forth[(values[forth] != values[back]).any(axis=tuple(range(1, values.ndim)))]
        if len(differ):
            got = f"{(int(rows[differ.min()]), int(columns[differ.min()]))} differs"
            hint = "Give directed=True to keep them apart."
            raise InvalidParameterError("data", f"have the same {name} both ways", got, hint)
    if values.ndim == 2 and values.shape[1] > 1 and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all():
        return values.argmax(axis=1)[kept], values.shape[1]
    return (values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)[kept], 0


def edges_of(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_nodes: int, name: str, directed: bool
) -> tuple[Indices, Indices]:
    """The edges of a list of directed pairs, and which of the pairs each is; undirected, it has both directions."""
    utils = "torch_geometric.utils" if name == "edge_index" else ""
    loops = utils and f"{utils}.remove_self_loops takes them out."
    twice = utils and f"{utils}.coalesce makes one of them."
    once, pairs = "have each direction of an edge once", np.stack([rows, columns], axis=1)
    arcs, order = sorted_pairs(pairs, n_nodes, name, once, loops=loops, twice=twice)
    if directed:
        return arcs, order
    missing = np.setdiff1d(arcs @ [n_nodes, 1], arcs @ [1, n_nodes], assume_unique=True)
    if len(missing):
        u, v = divmod(int(missing[0]), n_nodes)
        hint = "Give directed=True to keep directions."
        hint += f" {utils}.to_undirected adds the other direction." if utils else ""
        raise InvalidParameterError(name, "have both directions of every edge", f"{(u, v)} without {(v, u)}", hint)
    forth = arcs[:, 0] < arcs[:, 1]
    return arcs[forth], order[forth]


def load_module(module: str, package: str) -> ModuleType:
    """A module of another library, or an error that says what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise StarcertError(f"This needs {module.partition('.')[0]}. Try: pip install {package}") from error
