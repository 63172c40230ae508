"""The TU data sets: where a copy lies, or where to get one; and its raw files, read and checked line by line.

Local copies are read without torch; PyTorch Geometric only downloads.

Graphs and nodes are numbered from 1. NAME_A.txt has a line "u, v" for each direction of each edge,
NAME_graph_indicator.txt the graph of each node, NAME_graph_labels.txt the class of each graph, and, if there are such,
NAME_node_labels.txt and NAME_node_attributes.txt a line for each node, NAME_edge_labels.txt one for each of NAME_A.txt.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from starcert.datasets.dataset import Dataset, numbered_names
from starcert.objects import Graph
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.processes import in_words

CATALOGUE = "https://chrsmrrs.github.io/datasets"

_NAME = re.compile(r"\w[\w.+-]*")

_PYG_COLUMNS = 1000  # as far apart as this, labels have the columns that PyG gives them, gaps included
_MAX_BYTES = 2**30  # limit of one-hot labels, which are held twice: for all graphs and in each of them


def tu(
    name: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    edge_labels: bool = False,
    edge_types: bool = False,
) -> Dataset:
    r"""A data set of the TU collection, such as MUTAG or PROTEINS, with its classes numbered from 0.

    Every graph has, as far as the data set does, the node data `label` (whole numbers), `x` (the labels one-hot, in the
    columns of PyTorch Geometric; where labels lie 1,000 or more apart, a column for each that there is) and
    `attributes` (numbers). Data of edges are left out, except labels that are requested; `said` lists them.

    Without `root` it is read from the first of these that has it: the folder that the environment variable
    STARCERT_DATA names; for MUTAG the copy inside the GraKeL package; starcert's cache, a folder of the user. Otherwise
    PyTorch Geometric downloads it into that cache.

    Args:
        name: its name in the collection, case-sensitive; or the path of its folder, such as Path("MUTAG").
        root: a folder that holds NAME_A.txt and the files beside it, or holds them in NAME/raw or in NAME.
        edge_labels: whether to keep the labels of edges, as the anchored data `edge_labels`: for each node the pairs
            (neighbour, label). Regions of molecules can be made from them; noisy copies come without them.
        edge_types: whether the labels of edges are their types, which noise and attacks may change.

    Raises:
        StarcertError: if it is nowhere to be had, or if its files contradict each other.

    Example:
        >>> files = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "-1\n1"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for kind, text in files.items():
        ...         _ = Path(folder, f"TINY_{kind}.txt").write_text(text)
        ...     data = tu("TINY", root=folder)
        >>> data, data.label_names, data.graphs[0]
        (Dataset(TINY, 2 graphs, by class: 1, 1), (-1, 1), Graph(2 nodes, 1 edges))
    """
    is_path = isinstance(name, str) and "/" in name.replace(os.sep, "/") and os.path.isdir(os.path.expanduser(name))
    if root is None and (is_path or isinstance(name, os.PathLike)):
        found = raw_files(Path(name).expanduser())
        if found is None:
            hint = "It holds NAME_A.txt and the files beside it, or holds them in raw, in NAME or in NAME/raw."
            raise InvalidParameterError("name", "be the folder of a TU data set, or its name", str(name), hint)
        name, root = found
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        hint = f"The names are listed at {CATALOGUE}."
        raise InvalidParameterError("name", "be the name of a TU data set, such as 'MUTAG'", name, hint)
    folder = _folder(name, root)
    graphs, labels, label_names = read(folder, name, edge_labels=edge_labels, edge_types=edge_types)
    said = []
    if _path(folder, name, "edge_labels").is_file() and not (edge_labels or edge_types):
        how = f"tu({name!r}, edge_types=True), in a run with --edge-types edge_labels"
        said.append(f"Labels of edges are left out. They are types with {how}.")
    if _path(folder, name, "edge_attributes").is_file():
        said.append("Attributes of edges are left out: give them to Graph as edge_data.")
    names = numbered_names(name, range(1, len(graphs) + 1))
    return Dataset(graphs, labels, label_names=label_names, name=name, names=names, said=said)


def raw_files(folder: Path) -> tuple[str, Path] | None:
    """The name of the TU data set in a folder, and the folder of its raw files; None if there is none."""
    for place in (folder, folder / "raw", folder / folder.name / "raw", folder / folder.name):
        names = sorted(path.name.removesuffix("_A.txt") for path in place.glob("*_A.txt"))
        if len(names) > 1:
            hint = "Give the folder of one of them."
            raise InvalidParameterError("data", "be the folder of one data set", f"{place} with {names}", hint)
        if names and _NAME.fullmatch(names[0]):
            return names[0], place
    return None


def _folder(name: str, root: str | os.PathLike[str] | None) -> Path:
    if root is not None:
        folder = _find(name, Path(root))
        if folder is None:
            raise StarcertError(
                f"There is no {name}_A.txt in {Path(root)}, nor in {Path(name, 'raw')} or {name} below it. Names are "
                f"case-sensitive. Without root, other places are tried, and then a download."
            )
        return folder
    places = _places(name)
    for place in filter(None, places.values()):
        if (folder := _find(name, place)) is not None:
            return folder
    try:
        return _download(name)
    except _CannotDownloadError as error:
        tried = [*places, f"a download with PyTorch Geometric ({error})"]
        raise NowhereError(name, "; ".join(tried)) from error


class NowhereError(StarcertError):
    """A TU data set that was not found anywhere: its name, and where it was looked for."""

    def __init__(self, name: str, tried: str) -> None:
        super().__init__(
            f"The TU data set {name} is nowhere to be had. Tried: {tried}. Names are case-sensitive and "
            f"listed at {CATALOGUE}. Without a connection, fetch {name}.zip on another machine, unpack it, and "
            f"give the folder that holds {name}_A.txt: tu({name!r}, root=folder)."
        )
        self.tried = tried


def local_names() -> list[str]:
    """The names of the data sets that need no download, in alphabetical order."""
    places = filter(None, _places("MUTAG").values())
    files = [path for place in places for depth in ("", "*/", "*/raw/") for path in place.glob(f"{depth}*_A.txt")]
    return sorted({path.name.removesuffix("_A.txt") for path in files})


def _places(name: str) -> dict[str, Path | None]:
    """The folders where a data set may lie, by what they are called in an error."""
    given = os.environ.get("STARCERT_DATA")
    places = {f"STARCERT_DATA ({given or 'not set'})": Path(given) if given else None}
    if name == "MUTAG":
        # Without importing it: GraKeL takes seconds, and only its folder is wanted.
        grakel = find_spec("grakel")
        inside = Path(grakel.origin).parent / "tests/data/MUTAG" if grakel is not None and grakel.origin else None
        places["the copy in GraKeL (pip install grakel)"] = inside
    return {**places, f"the cache ({_cache()})": _cache()}


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~", ".cache")).expanduser() / "starcert" / "TU"


def _find(name: str, root: Path) -> Path | None:
    root = Path(os.path.expanduser(root))  # somebody who is not known here stays as written
    folders = (root / name / "raw", root / name, root)
    return next((folder for folder in folders if (folder / f"{name}_A.txt").is_file()), None)


class _CannotDownloadError(Exception): ...


def _download(name: str) -> Path:
    try:
        datasets, aiohttp = import_module("torch_geometric.datasets"), import_module("aiohttp")
    except ModuleNotFoundError as error:
        raise _CannotDownloadError("which is not installed. Try: pip install 'starcert[torch]'") from error
    cache = _cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Into a folder of its own first: an interrupted download must not look like a copy.
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            datasets.TUDataset(fresh, name)
            Path(fresh, name).rename(cache / name)
    except (OSError, BadZipFile, aiohttp.ClientError) as error:
        # Another process may have been faster: its copy is as good.
        if _find(name, cache) is None:
            raise _CannotDownloadError(f"which failed: {type(error).__name__}: {error}") from error
    folder = _find(name, cache)
    if folder is None:
        raise _CannotDownloadError(f"which brought no {name}_A.txt")
    return folder


class _Table(NamedTuple):
    """The numbers in a file, line by line."""

    path: Path
    rows: npt.NDArray[Any]

    def refuse(self, wrong: npt.NDArray[np.bool], problem: str) -> None:
        """Refuses the first line that is wrong, if any; {} in the problem is its content."""
        if wrong.any():
            line = int(wrong.argmax())
            _refuse(self.path, line, problem.format(", ".join(map(str, self.rows[line].tolist()))))

    def refuse_length(self, length: int, of: str) -> None:
        """Refuses a file that does not have one line for each of these things."""
        if len(self.rows) != length:
            must = f"must have a line for each of the {length:,} {of}, has {len(self.rows):,}"
            raise StarcertError(f"{self.path}: {must}.")


def read(
    folder: Path, name: str, *, edge_labels: bool = False, edge_types: bool = False
) -> tuple[list[Graph], Indices, tuple[int, ...]]:
    """The graphs of a data set, their classes from 0, and the labels that the files have for those classes."""
    graph_of, label_of = (_table(folder, name, kind, columns=1) for kind in ("graph_indicator", "graph_labels"))
    classes, labels = np.unique(label_of.rows[:, 0], return_inverse=True)
    starts = _starts(graph_of, label_of)
    arcs = _table(folder, name, "A", columns=2)
    edges = _edges(arcs, graph_of.rows[:, 0])
    cuts = np.searchsorted(edges[:, 0], starts[1:-1])
    node_data: dict[str, Sequence[object]] = {
        key: np.split(rows, starts[1:-1]) for key, rows in _node_data(folder, name, int(starts[-1])).items()
    }
    by_node, types, type_names = None, None, None
    if edge_labels or edge_types:
        of_arcs, of_edges = _edge_labels(_table(folder, name, "edge_labels", columns=1), arcs, len(graph_of.rows))
        assert len(of_edges) == len(edges)  # both in lexicographic order
        by_node = _labels_by_node(of_arcs, arcs, starts) if edge_labels else None
        if edge_types:
            types, type_names = np.split(of_edges, cuts), tuple(np.unique(of_edges).tolist())
    graphs = [
        Graph(
            int(starts[number + 1] - starts[number]),
            ours - starts[number],
            node_data={key: pieces[number] for key, pieces in node_data.items()},
            anchored_data={"edge_labels": by_node[number]} if by_node else None,
            edge_types=types[number] if types else None,
            type_names=type_names,
        )
        for number, ours in enumerate(np.split(edges, cuts))
    ]
    return graphs, labels.astype(np.int64), tuple(classes.tolist())


def _starts(graph_of: _Table, label_of: _Table) -> Indices:
    """The first node of each graph, counted from 0, and the number of all nodes at the end."""
    numbers, n_graphs = graph_of.rows[:, 0], len(label_of.rows)
    problem = f"graph {{}} is none of the {n_graphs:,} that {label_of.path.name} labels"
    graph_of.refuse((numbers < 1) | (numbers > n_graphs), problem)
    graph_of.refuse(np.diff(numbers, prepend=0) < 0, "graph {} comes after a later one; nodes go graph by graph")
    sizes = np.bincount(numbers, minlength=n_graphs + 1)[1:]
    label_of.refuse(sizes == 0, f"the class of a graph (label {{}}) that has no node in {graph_of.path.name}")
    return np.concatenate([[0], np.cumsum(sizes)])


def _edges(arcs: _Table, graph_of: Indices) -> Indices:
    """The edges u < v of all graphs, nodes numbered through from 0, in lexicographic order."""
    n_nodes = len(graph_of)
    u, v = arcs.rows.T - 1
    beyond = (np.minimum(u, v) < 0) | (np.maximum(u, v) >= n_nodes)
    arcs.refuse(beyond, f"{{}} is no pair of nodes from 1 to {n_nodes:,}")
    arcs.refuse(u == v, "{} is a self-loop, which starcert's graphs do not have; take it out")
    arcs.refuse(graph_of[u] != graph_of[v], "{} joins nodes of different graphs")
    there, back = u * n_nodes + v, v * n_nodes + u
    arcs.refuse(~np.isin(back, there), "{} without its other direction; directed graphs are not covered")
    # Some of the published files say the same edge more than once: it is one edge nevertheless.
    return np.stack(np.divmod(np.unique(there[u < v]), n_nodes), axis=1)


def _node_data(folder: Path, name: str, n_nodes: int) -> dict[str, npt.NDArray[Any]]:
    data: dict[str, npt.NDArray[Any]] = {}
    if _path(folder, name, "node_labels").is_file():
        labels = _table(folder, name, "node_labels")
        labels.refuse_length(n_nodes, "nodes")
        data["label"] = labels.rows[:, 0] if labels.rows.shape[1] == 1 else labels.rows
        data["x"] = _one_hot(labels)
    if _path(folder, name, "node_attributes").is_file():
        attributes = _table(folder, name, "node_attributes", number=float)
        attributes.refuse_length(n_nodes, "nodes")
        data["attributes"] = attributes.rows
    return data


def _edge_labels(labels: _Table, arcs: _Table, n_nodes: int) -> tuple[Indices, Indices]:
    """The label of each line of arcs, and of each edge u < v in lexicographic order."""
    labels.refuse_length(len(arcs.rows), f"lines of {arcs.path.name}")
    low, high = np.sort(arcs.rows - 1, axis=1).T
    # The same edge again, either way round, must have the same label.
    _, first, same = np.unique(low * n_nodes + high, return_index=True, return_inverse=True)
    of_arcs = labels.rows[:, 0]
    labels.refuse(of_arcs != of_arcs[first[same]], "the edge of this line has another label elsewhere")
    return of_arcs, of_arcs[first]


def _labels_by_node(of_arcs: Indices, arcs: _Table, starts: Indices) -> list[list[frozenset[tuple[int, int]]]]:
    """For each node of each graph the pairs of a neighbour, numbered in its graph, and the label of the edge."""
    ends: list[set[tuple[int, int]]] = [set() for _ in range(int(starts[-1]))]
    u, v = arcs.rows.T - 1
    neighbours = v - starts[np.searchsorted(starts, v, side="right") - 1]
    for node, neighbour, label in zip(u.tolist(), neighbours.tolist(), of_arcs.tolist(), strict=True):
        ends[node].add((neighbour, label))
    frozen = [frozenset(pairs) for pairs in ends]
    return [frozen[start:end] for start, end in pairwise(starts.tolist())]


def _one_hot(labels: _Table) -> npt.NDArray[np.float32]:
    """A column for every whole number from the least to the greatest label, as PyG has them, used or not.

    Labels that lie far apart have a column for each one that there is; several labels a node, columns side by side.
    """
    codes = np.empty(labels.rows.shape, dtype=np.int64)
    widths = []
    for column, values in enumerate(labels.rows.T):
        found, place = np.unique(values, return_inverse=True)
        span = int(found[-1]) - int(found[0]) + 1  # may be more than 64 bits hold
        as_pyg = span <= max(_PYG_COLUMNS, len(found))
        codes[:, column] = values - found[0] if as_pyg else place.reshape(-1)
        widths.append(span if as_pyg else len(found))
    needed = 4 * len(codes) * sum(widths)
    if needed > _MAX_BYTES:
        raise StarcertError(
            f"{labels.path}: the labels of {len(codes):,} nodes would take {in_words(needed)} as {sum(widths):,} "
            "columns of features. Write fewer different labels into the file, or take it away: it need not be there."
        )
    x = np.zeros((len(codes), sum(widths)), dtype=np.float32)
    np.put_along_axis(x, codes + np.array([0, *accumulate(widths)][:-1], dtype=np.int64), 1, axis=1)
    return x


def _path(folder: Path, name: str, kind: str) -> Path:
    return folder / f"{name}_{kind}.txt"


def _table(
    folder: Path, name: str, kind: str, *, columns: int | None = None, number: type[int] | type[float] = int
) -> _Table:
    """The numbers in a file, separated by commas: as many in every line as `columns` says, or the first line has."""
    path = _path(folder, name, kind)
    try:
        # What is not UTF-8 is no number either, and is complained about with its line below.
        lines = path.read_text(encoding="utf-8", errors="replace").rstrip().split("\n")
    except FileNotFoundError:
        reasons = {
            "edge_labels": f"the edges of {name} have no labels. Leave edge_types and edge_labels out.",
            "graph_labels": f"{name} needs it. Data sets without classes are not covered.",
        }
        raise StarcertError(f"{path}: is missing; {reasons.get(kind, f'{name} needs it.')}") from None
    if lines == [""]:
        if kind != "A":
            raise StarcertError(f"{path}: is empty.")
        if not path.stat().st_size:
            hint = "Fetch it again; if no graph has any edge, let it hold one empty line."
            raise StarcertError(f"{path}: has 0 bytes. {hint}")
        lines = []  # graphs without edges
    width = columns or lines[0].count(",") + 1
    dtype, what = (np.int64, "whole number") if number is int else (np.float64, "number")
    values = []
    for line, text in enumerate(lines):
        cells = text.split(",")
        if len(cells) != width:
            _refuse(path, line, f"{text!r} is not {width} {what}{'s separated by commas' if width > 1 else ''}")
        for cell in cells:
            try:
                values.append(dtype(number(cell)))
            except (ValueError, OverflowError):
                _refuse(path, line, f"{cell.strip()!r} is no {what}")
    return _Table(path, np.array(values, dtype=dtype).reshape(-1, width))


def _refuse(path: Path, line: int, problem: str) -> NoReturn:
    raise StarcertError(f"{path}, line {line + 1}: {problem}.")
