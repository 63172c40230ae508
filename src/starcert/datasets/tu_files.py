"""The raw files of a TU data set, read and checked line by line.

All graphs are numbered through, and so are all nodes, both from 1. NAME_A.txt has a line "u, v" for each direction of
each edge, NAME_graph_indicator.txt the graph of each node, NAME_graph_labels.txt the class of each graph, and, where
there are such, NAME_node_labels.txt and NAME_node_attributes.txt a line for each node, and NAME_edge_labels.txt a line
for each line of NAME_A.txt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from starcert.errors import StarcertError
from starcert.graphs import Graph
from starcert.system.processes import in_words

__all__ = ["read"]

Indices = npt.NDArray[np.int64]

_PYG_COLUMNS = 1000
"""As far apart as this, labels have the columns that PyG gives them, gaps included."""

_MOST_BYTES = 2**30
"""One-hot labels may take so much, once for all graphs and once more in them."""


class _Table(NamedTuple):
    """The numbers in a file, line by line, and the file for complaints."""

    path: Path
    rows: npt.NDArray[Any]

    def refuse(self, wrong: npt.NDArray[np.bool], problem: str) -> None:
        """Complains about the first line that is wrong, if one is; {} in the problem is what stands there."""
        if wrong.any():
            line = int(wrong.argmax())
            _refuse(self.path, line, problem.format(", ".join(map(str, self.rows[line].tolist()))))

    def refuse_length(self, length: int, of: str) -> None:
        """Complains if there is not one line for each of so many things."""
        if len(self.rows) != length:
            raise StarcertError(
                f"{self.path}: must have a line for each of the {length:,} {of}, has {len(self.rows):,}."
            )


def read(folder: Path, name: str, *, edge_labels: bool = False) -> tuple[list[Graph], Indices, tuple[int, ...]]:
    """The graphs of a data set, their classes from 0, and the labels that the files have for those classes.

    Args:
        folder: where the files are.
        name: the name of the data set.
        edge_labels: whether to keep the labels of edges, with the nodes at their ends.

    Raises:
        StarcertError: if a file is missing or malformed, naming the file and the line.
    """
    graph_of, label_of = (_table(folder, name, kind, columns=1) for kind in ("graph_indicator", "graph_labels"))
    classes, labels = np.unique(label_of.rows[:, 0], return_inverse=True)
    starts = _starts(graph_of, label_of)
    arcs = _table(folder, name, "A", columns=2)
    edges = _edges(arcs, graph_of.rows[:, 0])
    cuts = np.searchsorted(edges[:, 0], starts[1:-1])
    node_data: dict[str, Sequence[object]] = {
        key: np.split(rows, starts[1:-1]) for key, rows in _node_data(folder, name, int(starts[-1])).items()
    }
    of_edges = _edge_labels(_table(folder, name, "edge_labels", columns=1), arcs, starts) if edge_labels else None
    graphs = [
        Graph(
            int(starts[number + 1] - starts[number]),
            ours - starts[number],
            node_data={key: pieces[number] for key, pieces in node_data.items()},
            anchored_data=None if of_edges is None else {"edge_labels": of_edges[number]},
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


def _edge_labels(labels: _Table, arcs: _Table, starts: Indices) -> list[list[frozenset[tuple[int, int]]]]:
    """For each node of each graph the pairs of a neighbour, numbered in its graph, and the label of the edge."""
    labels.refuse_length(len(arcs.rows), f"lines of {arcs.path.name}")
    n_nodes = int(starts[-1])
    u, v = arcs.rows.T - 1
    # The same edge again, either way round, must have the same label.
    _, first, same = np.unique(np.minimum(u, v) * n_nodes + np.maximum(u, v), return_index=True, return_inverse=True)
    labels.refuse(labels.rows[:, 0] != labels.rows[first[same], 0], "the edge of this line has another label elsewhere")
    ends: list[set[tuple[int, int]]] = [set() for _ in range(n_nodes)]
    shifts = starts[np.searchsorted(starts, np.arange(n_nodes), side="right") - 1]
    for one, other, label in zip(u.tolist(), (v - shifts[v]).tolist(), labels.rows[:, 0].tolist(), strict=True):
        ends[one].add((other, label))
    frozen = [frozenset(pairs) for pairs in ends]
    return [frozen[start:end] for start, end in pairwise(starts.tolist())]


def _one_hot(labels: _Table) -> npt.NDArray[np.float32]:
    """A column for every whole number from the least to the greatest label, as PyG has them, used or not.

    Labels that lie far apart have a column for each one that there is. Several labels a node have their columns side by
    side.
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
    if needed > _MOST_BYTES:
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
        more = " Data sets without classes are not covered." if kind == "graph_labels" else ""
        raise StarcertError(f"{path}: is missing; {name} needs it.{more}") from None
    if lines == [""]:
        if kind != "A":
            raise StarcertError(f"{path}: is empty.")
        if not path.stat().st_size:
            raise StarcertError(
                f"{path}: has 0 bytes. Fetch it again; if no graph has any edge, let it hold one empty line."
            )
        lines = []  # graphs without edges
    width = columns or lines[0].count(",") + 1
    what = "whole number" if number is int else "number"
    cells = [line.split(",") for line in lines]
    for line, row in enumerate(cells):
        if len(row) != width:
            _refuse(path, line, f"{lines[line]!r} is not {width} {what}{'s separated by commas' if width > 1 else ''}")
    dtype = np.int64 if number is int else np.float64
    try:
        rows = np.array([[number(cell) for cell in row] for row in cells], dtype=dtype)
    except (ValueError, OverflowError):
        for line, row in enumerate(cells):
            for cell in row:
                try:
                    dtype(number(cell))
                except (ValueError, OverflowError):
                    _refuse(path, line, f"{cell.strip()!r} is no {what}")
        raise
    return _Table(path, rows.reshape(-1, width))


def _refuse(path: Path, line: int, problem: str) -> NoReturn:
    raise StarcertError(f"{path}, line {line + 1}: {problem}.")
