"""Graphs from and to PyTorch Geometric, by the rules of `starcert.objects.convert`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import is_tensor
from starcert.objects.convert import Indices, Parts, arcs_of, edge_names, edges_of, entries, load, say_left_out
from starcert.system.errors import InvalidParameterError, whole_number

__all__ = ["from_pyg", "is_pyg", "to_pyg"]


def is_pyg(value: object) -> bool:
    """Whether this is a `torch_geometric.data.Data`, or a batch of them."""
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
    if edge_index.dim() != 2 or str(edge_index.layout) != "torch.strided" or not _counts(edge_index):
        got = f"{edge_index.layout} of {edge_index.dtype}, shape {tuple(edge_index.shape)}"
        raise InvalidParameterError("edge_index", "be a dense tensor of two rows of whole numbers", got)
    weights = getattr(data, "edge_weight", None)
    if weights is not None and (not is_tensor(weights) or weights.shape[:1] != edge_index.shape[1:]):
        raise InvalidParameterError("edge_weight", "be a tensor with an entry for each column of edge_index", weights)
    wanted = edge_names(edge_types, edge_data)
    if weights is not None and "edge_weight" not in wanted and bool((weights != 1).any()):
        first = int((weights != 1).int().argmax())
        pair = tuple(data.edge_index[:, first].tolist())
        hint = "Keep it with Graph.from_pyg(data, edge_data=['edge_weight']), or take it out: data.edge_weight = None."
        raise InvalidParameterError("data", "be unweighted", f"{pair} with weight {weights[first].tolist()}", hint)
    rows, columns = data.edge_index.numpy(force=True)
    n_nodes = _as_count(data.num_nodes)
    for key in _OF_NODES:
        values = getattr(data, key, None)
        if is_tensor(values) and tuple(values.shape[:1]) != (n_nodes,):
            requirement = f"have a row for each of the {n_nodes} nodes"
            raise InvalidParameterError(key, requirement, f"a tensor of shape {tuple(values.shape)}")
    # PyG also calls those node attributes that run over the nodes in their last dimension, such as mesh faces.
    of_nodes = [key for key in data.keys() if data.is_node_attr(key) and len(data[key]) == n_nodes]  # noqa: SIM118
    # By their names: what has as many entries as there are edges may have them by chance.
    of_edges = [key for key in data.keys() if key.startswith("edge_") and key not in ("edge_index", "edge_weight")]  # noqa: SIM118
    left_out = [key for key in of_edges if key not in wanted and key not in of_nodes]
    say_left_out(left_out, "Graph.from_pyg(data, …)")
    edges, kept = edges_of(rows, columns, n_nodes, "edge_index", directed)
    carried = {name: _of_both_ways(data, name, rows, columns, kept, directed=directed) for name in wanted}
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
    return Parts(
        n_nodes,
        edges,
        None,
        {key: data[key] for key in of_nodes},
        directed=directed,
        edge_types=types,
        type_names=type_names,
        edge_data={name: data[name].numpy(force=True)[kept] for name in edge_data},
    )


def _of_both_ways(
    data: Any,  # noqa: ANN401  (torch may be missing)
    name: str,
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    kept: Indices,
    *,
    directed: bool,
) -> tuple[npt.NDArray[Any], int]:
    """The data of the edges that are kept, checked to be the same both ways: one-hot rows by their column.

    Returns:
        The data, and how many columns one-hot rows have; 0 for others.
    """
    if name not in data or not is_tensor(data[name]) or len(data[name]) != len(rows):
        raise InvalidParameterError("data", f"have {name!r} for each column of edge_index", data)
    values = data[name].numpy(force=True)
    if not directed:
        place = {pair: number for number, pair in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))}
        back = np.array([place[v, u] for u, v in zip(rows.tolist(), columns.tolist(), strict=True)], dtype=np.int64)
        differ = (values != values[back]).reshape(len(values), -1).any(axis=1)
        if differ.any():
            pair = int(rows[differ.argmax()]), int(columns[differ.argmax()])
            hint = "Give directed=True to keep them apart."
            raise InvalidParameterError("data", f"have the same {name} both ways", f"{pair} differs", hint)
    if values.ndim == 2 and values.shape[1] > 1 and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all():
        return values.argmax(axis=1)[kept], values.shape[1]
    return (values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)[kept], 0


_OF_NODES = ("x", "pos")
"""What PyG calls data of nodes, whatever shape they have."""


def _counts(tensor: Any) -> bool:  # noqa: ANN401  (torch may be missing)
    return not (tensor.is_floating_point() or tensor.is_complex() or str(tensor.dtype) == "torch.bool")


def _as_count(value: Any) -> int:  # noqa: ANN401  (whatever stands in a `Data`)
    return whole_number("num_nodes", value.item() if is_tensor(value) and value.numel() == 1 else value, 0)


def to_pyg(parts: Parts) -> Any:  # noqa: ANN401  (torch_geometric carries no types)
    """A `torch_geometric.data.Data` with both directions of every edge, sorted, and the node data as tensors."""
    pyg = load("torch_geometric.data", "'starcert[torch]'")
    torch = import_module("torch")
    rows, columns, order = arcs_of(parts)
    data = pyg.Data(edge_index=torch.from_numpy(np.stack([rows, columns])), num_nodes=parts.n_nodes)
    for name, numbers in (parts.edge_data or {}).items():
        data[name] = torch.from_numpy(np.asarray(numbers, dtype=np.float32)[order])
    if parts.edge_types is not None:
        names = list(parts.type_names or ())
        types = torch.tensor([names.index(each) for each in parts.edge_types], dtype=torch.int64)[order]
        data["edge_attr"] = torch.nn.functional.one_hot(types, len(names)).float()
    for name, values in (parts.node_data or {}).items():
        if name in ("edge_index", "num_nodes"):
            raise InvalidParameterError("node_data", "not use a name that PyG uses for the graph itself", name)
        data[name] = _as_tensor(values, torch)
    return data


def _as_tensor(values: object, torch: ModuleType) -> object:
    if is_tensor(values):
        return values.clone()
    array = np.array(values) if _is_numeric(values) else None
    # PyG carries what is no number as a list, and still knows it as data of the nodes.
    return list(entries(values)) if array is None else torch.from_numpy(array)


def _is_numeric(values: object) -> bool:
    try:
        return np.asarray(values).dtype.kind in "biufc"
    except ValueError:  # entries of different shapes
        return False
