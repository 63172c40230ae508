"""Where the graphs of a run come from: a TU data set, files of text, tensors, arrays or molecules, or a function."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from starcert.datasets import Dataset, npz, tu
from starcert.datasets import graph_files as texts
from starcert.datasets.dataset import numbered_names
from starcert.datasets.graph_files import check_edge_types, refuse_edge_types
from starcert.datasets.table_files import Alphabets, read_categories
from starcert.datasets.tables import Columns, measurement_in, number_labels, refuse_columns
from starcert.datasets.tensor_files import read_tensors
from starcert.datasets.tu_files import CATALOGUE, NowhereError, local_names, raw_files
from starcert.methods.estimator import as_object
from starcert.objects import Categories, CleanObject
from starcert.objects.kinds import Kind, kind_of
from starcert.runs.setting_values import TABLE
from starcert.runs.user_code import Reference, TuName, load_instance, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.output import note

_MOLECULES = (".smi", ".smiles", ".csv")


def load_graphs(
    source: Path | str | Reference,
    *,
    of_nodes: bool = False,
    columns: Columns | None = None,
    edge_types: str | None = None,
    kind: Reference | str | None = None,
    alphabets: Alphabets | None = None,
    numbers: bool = False,
    quiet: bool = False,
) -> Dataset:
    """The graphs of a TU data set by name, of a folder of graph files, of a file, or of a function.

    With `of_nodes` a PyG file of one graph may have a class for each of its nodes: they stay its node data `y`. The
    settings `columns` and `edge_types` say which columns of a table hold what, and which attribute is an edge's type.
    `kind` is what reads the file, where that does not follow from its name; "table" reads categories, with the values
    in `alphabets`. With `numbers`, labels may be measurements:
    each different one is a class, by its name. What was left out is shown, unless `quiet`.
    """
    if kind is None:
        data = _read(source, of_nodes, columns, edge_types)
    elif isinstance(kind, str):
        if not isinstance(source, Path) or not source.is_file():
            raise InvalidParameterError("data", f"be a file for the kind {TABLE}", str(source), "Name a file .csv.")
        data = read_categories(source, columns or {}, alphabets or {})
    else:
        data = _of_kind(source, load_instance(kind, Kind, "kind"))
    for name in (*data.names, *data.class_names):
        try:
            name.encode()
        except UnicodeEncodeError:  # file names can hold any bytes
            hint = "Rename the file, the graph or the class: the results name it."
            raise InvalidParameterError("data", "have names that UTF-8 can write", name, hint) from None
    for sentence in () if quiet else data.said:
        note(sentence)
    return data if numbers else _with_classes(data, source)


def _with_classes(data: Dataset, where: object) -> Dataset:
    """The data, unless their labels are measurements."""
    if (fraction := measurement_in(data.class_names)) is None:
        return data
    raise StarcertError(
        f"{where}: {fraction} is a measurement, not a class; there are {len(data.class_names)} different numbers. "
        "Divide them into classes first, give them names, or choose another column of a table: --columns label=COLUMN. "
        "A model that gives numbers too has intervals certified: --outputs LOW..HIGH is their range."
    )


def _read(source: Path | str | Reference, of_nodes: bool, columns: Columns | None, edge_types: str | None) -> Dataset:
    raw = raw_files(source) if isinstance(source, Path) and not source.is_file() else None
    if isinstance(source, Path) and (source.suffix in _MOLECULES if source.is_file() else raw is None):
        return (texts.read_smiles if source.is_file() else texts.read_folder)(source, columns, edge_types)
    tensors = isinstance(source, Path) and raw is None and source.suffix not in (".py", ".npz")
    if columns and not (tensors and set(columns) == {"label"}):
        refuse_columns(columns, f"{source} has none")
    if raw is not None:
        return _tu(*raw, edge_types)
    if isinstance(source, str):
        return _tu_or_folder(source, edge_types)
    if isinstance(source, Path):
        return _read_file(source, of_nodes, edge_types, (columns or {}).get("label", "y"))
    if edge_types is not None:
        refuse_edge_types(edge_types, f"{source} makes graphs with the types that it likes")
    return _of_function(source)


def _read_file(source: Path, of_nodes: bool, edge_types: str | None, label: str) -> Dataset:
    if source.suffix == ".py":
        hint = "Name a function in it that returns them: file.py:function. The model is --model file.py:function."
        raise InvalidParameterError("data", "be graphs, not code", str(source), hint)
    if source.suffix != ".npz":
        return read_tensors(source, of_nodes=of_nodes, edge_types=edge_types, label=label)
    if edge_types is not None:
        refuse_edge_types(edge_types, f"the edges of {source.name} carry nothing")
    return npz(source)


def with_node_labels(data: Dataset, label: str = "y", *, numbers: bool = False) -> Dataset:
    """The data for classifying the nodes of one graph: its node data `y`, or of another name, are their classes."""
    if len(data) != 1 or not kind_of(*data.graphs).has_nodes:
        what = "one graph" if len(data) == 1 else f"{len(data)} graphs"
        hint = "Nodes are certified of one graph: a folder with one file, a PyG file with one Data, or an .npz file."
        raise InvalidParameterError("targets", f"be graphs for data of {what}", "nodes", hint)
    graph = data.graphs[0]
    if label != "y" and (data.of_nodes or label not in graph.node_data):
        there = "which are those of the file" if data.of_nodes else ", ".join(graph.node_data) or "which has none"
        raise InvalidParameterError("columns.label", f"name node data of the graph, {there}", label)
    if data.of_nodes:
        return data
    if label not in graph.node_data:
        return Dataset(graph, names=data.names, label_names=data.label_names, numbered=data.numbered)
    given: Any = graph.node_data[label]
    classes = list(given.tolist() if hasattr(given, "tolist") else given)  # an array, a tensor, a tuple
    if all(isinstance(each, float) and each.is_integer() for each in classes):
        classes = [int(each) for each in classes]
    labels, class_names, numbered = number_labels(list(map(str, classes)))
    found = Dataset(graph.without(label), labels, names=data.names, label_names=class_names, numbered=numbered)
    return found if numbers else _with_classes(found, f"{data.names[0]}, node data {label}")


def _of_function(reference: Reference) -> Dataset:
    """The result of a user's function: a data set, or objects, possibly with classes and names."""
    made: Any = reference.load()
    if not callable(made):
        raise InvalidParameterError("data", "name a function that returns objects and their classes", str(reference))
    with running_user_code(reference.file):
        found = made()
    if isinstance(found, Dataset):
        if found.of_nodes:
            return replace(found, names=found.names or (found.name,), numbered=True)
        called = found.class_names or tuple(map(str, range(max(found.known, default=-1) + 1)))
        labels = [None if label is None else called[label] for label in found.labels.tolist()]
        given = found.graphs, labels, found.names or None
        return replace(_of_objects(given, str(reference), reference.name), parts=found.parts)
    return _of_objects(found, str(reference), reference.name)


def _of_kind(source: Path | str | Reference, kind: Kind) -> Dataset:
    """The data that a kind reads from a file or a folder."""
    reader = f"{type(kind).__name__}.read"
    if not isinstance(source, Path):
        hint = f"Name a file of {kind.word}s, or leave kind out."
        raise InvalidParameterError("data", f"be a file or a folder for {reader}", str(source), hint)
    try:
        found = kind.read(source)
    except Exception as error:  # whatever somebody else's code may raise
        why = "" if isinstance(error, StarcertError) else f"{type(error).__name__}: "
        raise StarcertError(f"{source}: has no {kind.word}s that can be read: {why}{error}") from error
    objects = found[0] if isinstance(found, tuple) and found else found
    if isinstance(objects, list | tuple) and not objects:
        raise StarcertError(f"{source}: has no {kind.word}s.")
    return _of_objects(found, reader, source.stem)


def _of_objects(found: Any, maker: str, name: str) -> Dataset:  # noqa: ANN401  (what a user's code returns)
    """The data set of objects, possibly with classes and names, which are otherwise numbered after `name`."""
    several = isinstance(found, tuple) and len(found) in (2, 3) and not isinstance(found[0], CleanObject)
    objects, labels, names = (*found, None)[:3] if several else (found, None, None)
    if hasattr(objects, "iterrows"):  # a DataFrame: its columns are categories
        objects = Categories.from_frame(objects)
    if isinstance(objects, CleanObject) or not isinstance(objects, list | tuple) or not objects:
        hint = "Let it return a list of graphs, also of networkx or PyG, or of rows; or that, their classes and names."
        requirement = f"be what {maker} returns, a list of objects"
        raise InvalidParameterError("data", requirement, type(objects).__name__, hint)
    objects = [as_object(each, f"data[{number}]") for number, each in enumerate(objects)]
    names = numbered_names(name, range(1, len(objects) + 1)) if names is None else list(map(str, names))
    for what, given in (("name", names), ("class", labels)):
        if given is not None and len(given) != len(objects):
            raise InvalidParameterError("data", f"have a {what} for each of {len(objects)} objects", len(given))
    if labels is None:
        return Dataset(objects, names=names)
    named = ["" if each is None else str(each) for each in labels]
    classes, class_names, numbered = number_labels(named)
    return Dataset(objects, classes, names=names, label_names=class_names, numbered=numbered)


def _tu_or_folder(name: str, edge_types: str | None) -> Dataset:
    """The TU data set of a name, or a message for someone who meant a folder."""
    try:
        return _tu(name, None, edge_types)
    except NowhereError as error:
        path = name.path if isinstance(name, TuName) else Path(name).absolute()
        beside: Iterable[Path] = path.parent.iterdir() if os.path.isdir(path.parent) else ()
        near = {each.name.lower(): str(each) for each in beside} | {each.lower(): each for each in local_names()}
        close = get_close_matches(name.lower(), near, n=1)
        meant = f" Did you mean {near[close[0]]}?" if close else ""
        raise StarcertError(
            f"There is no file or folder {path}, and {name} is not a TU data set that could be found.{meant} Tried: "
            f"{error.tried}. TU data sets are listed at {CATALOGUE}; upper and lower case matter. Without a "
            f"connection, fetch {name}.zip on another machine, unpack it, and give its folder: --data {name}."
        ) from error


def _tu(name: str, root: Path | None, edge_types: str | None) -> Dataset:
    if edge_types is not None:
        check_edge_types(edge_types, (texts.EDGE_LABELS,), name)
    return tu(name, root=root, edge_types=edge_types is not None)
