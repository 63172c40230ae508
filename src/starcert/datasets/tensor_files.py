"""Graphs in files of tensors, as PyTorch Geometric keeps them; only tensors and plain values are taken from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from starcert.datasets import Dataset
from starcert.datasets import graph_files as texts
from starcert.datasets.dataset import numbered_names
from starcert.datasets.graph_files import check_edge_types
from starcert.datasets.tables import are_class_numbers, number_labels
from starcert.objects.content import is_tensor
from starcert.objects.convert import from_pyg
from starcert.system.errors import InvalidParameterError, StarcertError, needing
from starcert.system.processes import in_words

_FREE_NODES, _FREE_BYTES = 2**22, 2**26
"""Any file may claim this many nodes, and bytes of tensors; more only in proportion to its size."""

_ADVICE = "Write it with torch.save([data.to_dict() for data in dataset], FILE), or with InMemoryDataset.save."


def read_tensors(path: Path, *, of_nodes: bool = False, edge_types: str | None = None, label: str = "y") -> Dataset:
    """The graphs of a file that holds a list of `Data`, or of their dictionaries, or what `InMemoryDataset.save` wrote.

    Nothing but tensors, plain values and PyG's own `Data` is taken from the file (`weights_only`): it may come from
    anywhere. The classes are `y`, one whole number for each graph, where there is one; -1 and 1 are classes too.
    `label` is another attribute that holds them, or "y:3" for one of several columns.
    """
    with needing(f"{path}: to read tensors needs", "torch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns about other packages when it is imported
        import torch  # noqa: PLC0415
        from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr  # noqa: PLC0415
        from torch_geometric.data.storage import GlobalStorage  # noqa: PLC0415
    # What PyG has allowed for good must not be forbidden again afterwards.
    already = torch.serialization.get_safe_globals()
    needed = [each for each in (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage) if each not in already]
    _check_size(path)
    try:
        with torch.serialization.safe_globals(needed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about foreign files, which are refused below
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises nearly anything on a file of another format
        if path.suffix not in (".pt", ".pth", ""):
            advice = "Name one with --kind, such as --kind file.py:KIND, or install the package that has it."
            raise StarcertError(f"{path}: no kind here reads files {path.suffix}. {advice}") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        if "Unsupported operand" in reason or "Invalid magic number" in reason:
            reason = "torch.save did not write it, or it is damaged"
        elif "Unsupported" in reason or "global" in reason.lower():
            reason = "it holds more than tensors and plain values, and such a file could run anything"
        raise StarcertError(f"{path}: is not a file of tensors that can be read: {reason[:200]}. {_ADVICE}") from error
    try:
        return _as_data(_records(stored, path), path, of_nodes=of_nodes, edge_types=edge_types, source=label)
    except (TypeError, ValueError, AttributeError, LookupError, RuntimeError, AssertionError) as error:
        if isinstance(error, StarcertError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise StarcertError(f"{path}: holds what PyTorch Geometric cannot use: {reason}. {_ADVICE}") from error


def _check_size(path: Path) -> None:
    """Refuses a file that unpacks to far more than it is."""
    try:
        with ZipFile(path) as file:
            unpacked = sum(entry.file_size for entry in file.infolist())
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return  # an older kind of file, or not one of torch, which will say so
    if unpacked > _FREE_BYTES + 4 * path.stat().st_size:
        raise StarcertError(f"{path}: is compressed, to {in_words(unpacked)}. Files of torch are not. {_ADVICE}")


def _records(stored: object, path: Path) -> list[Any]:
    """Every graph as a `Data`."""
    from torch_geometric.data import Data  # noqa: PLC0415
    from torch_geometric.data.separate import separate  # noqa: PLC0415

    if isinstance(stored, tuple) and len(stored) in (2, 3) and isinstance(stored[1], Mapping):
        whole = stored[0] if isinstance(stored[0], Data) else Data.from_dict(_texts(stored[0], path))
        slices: Any = stored[1]
        try:
            n_graphs = min(len(each) for each in slices.values()) - 1
            if n_graphs > (size := path.stat().st_size):  # a bound takes eight bytes, unless a tensor repeats itself
                raise StarcertError(f"{path}: its slices tell of {n_graphs:,} graphs in {in_words(size)}. {_ADVICE}")
            cut = partial(separate, Data, whole, slice_dict=slices, decrement=False)
            return [cut(idx=number) for number in range(n_graphs)]
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


def _as_data(records: list[Any], path: Path, *, of_nodes: bool, edge_types: str | None, source: str) -> Dataset:
    parts, labels = [], []
    places = [f"{path}, graph {number}" for number in range(len(records))]
    _check_claims(records, path)
    if edge_types is not None:
        carried = {key for record in records for key in record.edge_attrs()}
        check_edge_types(edge_types, carried - {"edge_index"}, path.name)
    for where, record in zip(places, records, strict=True):
        label = _labels_of(record, source, where)
        if of_nodes and is_tensor(label) and record.num_nodes == label.numel() > 1:
            record.y, label = label.reshape(-1), None  # the classes of its nodes
        else:
            record.y = None  # the class of a graph is not data of its nodes, even if it has one
            record[source.partition(":")[0]] = None
        with texts.naming(where):
            parts.append(from_pyg(record, edge_types=edge_types))
        labels.append(None if label is None else _label(label, where))
    graphs = texts.graphs_of(parts, places, edge_types)
    names = numbered_names(path.stem, range(len(graphs)))
    known = sorted({label for label in labels if label is not None})
    if not known:
        return Dataset(graphs, names=names)
    if any(label % 1 for label in known):  # measurements
        found, called, _ = number_labels(["" if label is None else str(label) for label in labels])
        return Dataset(graphs, found, names=names, label_names=called)
    whole = [int(label) for label in known]
    numbered = are_class_numbers(whole)
    values = range(whole[-1] + 1) if numbered else whole
    numbers = {value: number for number, value in enumerate(values)}
    classes = [None if label is None else numbers[int(label)] for label in labels]
    return Dataset(graphs, classes, names=names, label_names=tuple(map(str, values)), numbered=numbered)


def _labels_of(record: Any, source: str, where: str) -> Any:  # noqa: ANN401  (tensors)
    """The attribute that holds the class of a graph, or one column of it."""
    name, several, column = source.partition(":")
    found = getattr(record, name, None)
    if found is None and source != "y":
        there = sorted(key for key in record.to_dict() if key != "edge_index")
        raise InvalidParameterError("columns.label", f"name what {where} has, {', '.join(there)}", name)
    if not several or found is None:
        return found
    columns = found.reshape(-1) if is_tensor(found) else []
    if not column.isdecimal() or int(column) >= len(columns):
        raise InvalidParameterError("columns.label", f"be {name}:0 to {name}:{len(columns) - 1} in {where}", source)
    chosen = columns[int(column)]
    return None if math.isnan(float(chosen)) else chosen


def _check_claims(records: Sequence[Any], path: Path) -> None:
    """Refuses what a file cannot mean: a number of nodes, or a tensor that repeats itself, costs a file nothing."""
    size, n_nodes, n_bytes = path.stat().st_size, 0, 0
    for number, record in enumerate(records):
        nodes = record.num_nodes if is_tensor(getattr(record, "edge_index", None)) else 0
        if is_tensor(nodes) and nodes.numel() == 1:
            nodes = nodes.item()
        n_nodes += nodes if isinstance(nodes, int) else 0
        n_bytes += sum(each.numel() * each.element_size() for each in record.to_dict().values() if is_tensor(each))
        for what, claimed, free in (
            (f"{n_nodes:,} nodes", n_nodes, _FREE_NODES),
            (f"{in_words(n_bytes)} of tensors", n_bytes, _FREE_BYTES),
        ):
            if claimed > free + 16 * size:
                raise StarcertError(
                    f"{path}, graph {number}: brings the file to {what}, though it has {in_words(size)}. Is num_nodes "
                    f"right, and does every tensor hold its own numbers? {_ADVICE}"
                )


def _label(label: Any, where: str) -> int | float:  # noqa: ANN401  (a tensor, or whatever else stood there)
    value: list[object] = [label]
    if is_tensor(label):
        value = label.reshape(-1)[:5].tolist() if str(label.layout) == "torch.strided" else []
    number = value[0] if len(value) == 1 else None
    if not isinstance(number, int | float) or not math.isfinite(number):
        shown = ", ".join(map(repr, value)) if len(repr(value)) < 100 else type(label).__name__
        raise StarcertError(f"{where}: its y must be one class, a whole number. It is {shown or 'empty'}.")
    return number if number % 1 else int(number)
