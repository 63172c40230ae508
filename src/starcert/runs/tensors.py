"""Files of tensors: graphs as PyTorch Geometric saves them, read without running anything that is in the file."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.runs.data import RunData

__all__ = ["read_tensors"]

_ADVICE = "Write it with torch.save([data.to_dict() for data in dataset], FILE), or with InMemoryDataset.save."


def read_tensors(path: Path) -> RunData:
    """The graphs of a file that holds a list of `Data`, or of their dictionaries, or what `InMemoryDataset.save` wrote.

    Nothing but tensors, plain values and PyG's own `Data` is taken from the file (`weights_only`): it may come from
    anywhere. The classes are `y`, one whole number for each graph, where there is one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what PyG says about others when it is imported helps nobody here
            import torch  # noqa: PLC0415
            from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr  # noqa: PLC0415
            from torch_geometric.data.storage import GlobalStorage  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StarcertError(f"{path}: to read tensors needs {error.name}: pip install 'starcert[torch]'") from error
    # Before torch 2.5 nothing can be allowed for one reading: lists of dictionaries are read there, too.
    allowing: Any = getattr(torch.serialization, "safe_globals", lambda _: nullcontext())
    # What PyG has allowed for good must not be forbidden again afterwards.
    already: list[Any] = getattr(torch.serialization, "get_safe_globals", list)()
    needed = [each for each in (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage) if each not in already]
    try:
        with allowing(needed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about foreign files, which are then refused in our words
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())
        if "Unsupported" in reason or "global" in reason.lower():
            reason = "it holds more than tensors and plain values, and such a file could run anything"
        raise StarcertError(f"{path}: is no file of tensors that can be read: {reason[:200]}. {_ADVICE}") from error
    return _as_data(list(_records(stored, path)), path)


def _records(stored: object, path: Path) -> list[Any]:
    """Every graph as a `Data`."""
    from torch_geometric.data import Data  # noqa: PLC0415
    from torch_geometric.data.separate import separate  # noqa: PLC0415

    if isinstance(stored, tuple) and len(stored) in (2, 3) and isinstance(stored[1], Mapping):
        together = stored[0] if isinstance(stored[0], Data) else Data.from_dict(_texts(stored[0], path))
        slices: Any = stored[1]
        try:
            n_graphs = min(len(each) for each in slices.values()) - 1
            return [
                separate(Data, together, idx=number, slice_dict=slices, decrement=False) for number in range(n_graphs)
            ]
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raise StarcertError(f"{path}: its slices do not fit its tensors: {error}. {_ADVICE}") from error
    if isinstance(stored, Data):
        return [stored]
    if not isinstance(stored, list | tuple) or not stored:
        kind = "an empty list" if stored in ([], ()) else f"a {type(stored).__name__}"
        raise StarcertError(f"{path}: holds {kind}, not graphs. {_ADVICE}")
    return [each if isinstance(each, Data) else Data.from_dict(_texts(each, path)) for each in stored]


def _texts(item: object, path: Path) -> dict[str, Any]:
    if not isinstance(item, dict) or "edge_index" not in item:
        kind = type(item).__name__
        raise StarcertError(f"{path}: holds a {kind} without edge_index where a graph was expected. {_ADVICE}")
    return {str(name): value for name, value in item.items()}


def _as_data(records: list[Any], path: Path) -> RunData:
    graphs, labels = [], []
    for number, record in enumerate(records):
        label = getattr(record, "y", None)
        record.y = None  # the class of a graph is no data of its nodes, even where there is one node
        try:
            graphs.append(Graph.from_pyg(record))
        except InvalidParameterError as error:
            raise StarcertError(f"{path}, graph {number}: {error}") from error
        labels.append(None if label is None else _label(label, f"{path}, graph {number}"))
    digits = len(str(len(graphs) - 1))
    names = tuple(f"{path.stem} {number:0{digits}d}" for number in range(len(graphs)))
    known = [label for label in labels if label is not None]
    if not known:
        return RunData(tuple(graphs), names)
    class_names = tuple(map(str, range(max(known) + 1)))
    return RunData(tuple(graphs), names, tuple(labels), class_names, numbered=True)


def _label(label: Any, where: str) -> int:  # noqa: ANN401  (a tensor, or a number)
    value = label.reshape(-1).tolist() if hasattr(label, "reshape") else [label]
    if len(value) != 1 or value[0] != int(value[0]) or value[0] < 0:
        raise StarcertError(f"{where}: its y must be one class, a whole number from 0. It is {value[:5]}.")
    return int(value[0])
