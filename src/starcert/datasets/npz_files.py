"""One large graph whose nodes have features and classes, from a file of numpy arrays in the sparse CSR layout.

Such a file (`cora_ml.npz` is one) holds two matrices in compressed rows, four arrays each: `adj_data`, `adj_indices`,
`adj_indptr` and `adj_shape` are the edges, the same with `attr` the features of the nodes. `labels` has a class a node.
`adj_matrix_data` and so on are the same under longer names.
"""

from __future__ import annotations

import os
import zipfile
from math import prod
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from starcert.datasets.dataset import Dataset, check_label_names
from starcert.objects import Graph
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import read_header, read_numbers
from starcert.system.processes import in_words

_FREE_BYTES, _FREE_FEATURES, _FREE_CLASSES = 2**26, 2**28, 1000
"""Any file may claim this many bytes of arrays, features of all nodes, and classes. More only in proportion: 16
times as many bytes or features as the file has bytes, and as many classes as there are nodes."""

_ADVICE = "Give a file that numpy.savez has written, with adj_data, adj_indices, adj_indptr, adj_shape and labels."


def npz(
    path: str | os.PathLike[str], *, directed: bool = False, largest_component: bool = False, name: str | None = None
) -> Dataset:
    """The graph, the features and the classes of a file in the sparse CSR layout.

    An entry other than 0 of the adjacency matrix is an edge, whatever its weight; self-loops are left out. Edges are
    undirected, one where either direction is there, unless `directed` is set. A feature is 1 where its entry is
    other than 0. Boolean arrays with one entry a node are masks, node data by their names. Arrays of Python objects,
    whose pickles could run anything, are not read.

    Args:
        path: the file.
        directed: whether entry (i, j) is an arc from i to j.
        largest_component: whether to keep the largest connected component alone, directions aside; of equals the one
            with the first node. Nodes then keep their numbers in the file as names.
        name: what to call it; by default as the file.

    Raises:
        StarcertError: the file cannot be read, or does not hold such a graph; it names the array that is wrong.

    Example:
        >>> import tempfile
        >>> arrays = {"adj_data": [1, 1, 1], "adj_indices": [1, 0, 1], "adj_indptr": [0, 1, 3], "adj_shape": [2, 2]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/pair.npz", labels=[0, 1], **arrays)
        ...     data = npz(f"{folder}/pair.npz")
        >>> data, data.said
        (Dataset(pair, Graph(2 nodes, 1 edges), by class: 1, 1), ('1 self-loop is left out.',))
    """
    given = _read(Path(path))
    rows, columns, shape = given.matrix("adj")
    n_nodes = shape[0]
    if n_nodes != shape[1]:
        given.refuse(f"its adjacency matrix must be square. It is {n_nodes} × {shape[1]}")
    (labels, label_names), x = given.labels(n_nodes), given.features(n_nodes)
    loops = rows == columns
    rows, columns = rows[~loops], columns[~loops]
    said = [f"{loops.sum():,} self-loop{'s are' if loops.sum() > 1 else ' is'} left out."] if loops.any() else []
    if given.objects:
        said.append(f"{', '.join(given.objects)} is not read: it holds Python objects.")
    pairs = np.stack([rows, columns], axis=1)
    edges = np.unique(pairs if directed else np.sort(pairs, axis=1), axis=0)
    if not directed and (merged := len(np.unique(pairs, axis=0)) - len(edges)) < len(edges):
        said.append(f"{len(edges) - merged:,} of {len(edges):,} edges are there in one direction only.")
    kept = _largest(edges, n_nodes) if largest_component else np.arange(n_nodes)
    if len(kept) < n_nodes:
        said.append(f"The largest connected component has {len(kept):,} of {n_nodes:,} nodes.")
        place = np.full(n_nodes, -1)
        place[kept] = np.arange(len(kept))
        edges = place[edges[(place[edges] >= 0).all(axis=1)]]
    masks = {key: each for key, each in given.arrays.items() if each.dtype == np.bool_ and each.shape == (n_nodes,)}
    data = {key: array[kept] for key, array in (masks if x is None else {**masks, "x": x}).items()}
    nodes = kept.tolist() if len(kept) < n_nodes else None
    graph = Graph(len(kept), edges, nodes=nodes, node_data=data, directed=directed)
    named = given.file.stem if name is None else name
    return Dataset(graph, labels[kept], label_names=label_names, name=named, names=[named], said=said, numbered=True)


def _read(file: Path) -> _Arrays:
    """The arrays of a file; nothing in it is ever run, and no more is unpacked than its size allows."""
    try:
        with file.open("rb") as start:
            if start.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise ValueError("it holds a single array")
        with zipfile.ZipFile(file) as packed:
            members = packed.infolist()
            unpacked, size = sum(member.file_size for member in members), file.stat().st_size
            if unpacked > _FREE_BYTES + 16 * size:
                raise ValueError(f"it would unpack to {in_words(unpacked)}, though it has {in_words(size)}")
            read = {each.filename.removesuffix(".npy"): _array(packed, each) for each in members}
        objects = tuple(key for key, array in read.items() if array is None)
        return _Arrays(file, {key: array for key, array in read.items() if array is not None}, objects)
    except FileNotFoundError:
        raise StarcertError(f"{file}: there is no such file.") from None
    except Exception as error:  # zipfile, zlib and numpy raise nearly anything on a file that is none of theirs
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise StarcertError(f"{file}: is no file of plain arrays: {reason}. {_ADVICE}") from error


def _array(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[np.generic] | None:
    """One array of a file, once its header is known to claim what is there; None for one of Python objects."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} must be deflated or stored")
    with packed.open(member) as stream:
        try:
            header = read_header(stream)
        except ValueError as error:
            raise ValueError(f"{member.filename} is no plain array ({error})") from error
        if header.dtype.hasobject:
            return None  # a pickle could run anything
        if header.size != member.file_size:
            raise ValueError(f"{member.filename} must be as long as it says")
        numbers = read_numbers(stream, prod(header.shape), header.dtype)
    return numbers.reshape(header.shape, order="F" if header.by_columns else "C")


class _Arrays(NamedTuple):
    """The arrays of a file by name, checked as they are read."""

    file: Path
    arrays: dict[str, npt.NDArray[np.generic]]
    objects: tuple[str, ...]  # the names of those that are not read: they hold Python objects

    def refuse(self, problem: str) -> NoReturn:
        raise StarcertError(f"{self.file}: {problem}.")

    def part(self, matrix: str, part: str) -> npt.NDArray[np.generic]:
        names = [f"{matrix}_{part}", f"{matrix}_matrix_{part}"]
        found = [self.arrays[name] for name in names if name in self.arrays]
        if not found:
            for name in {*names} & {*self.objects}:
                self.refuse(f"{name} holds Python objects, a pickle that could run anything. {_ADVICE[:-1]}")
            self.refuse(f"has no array {names[0]} (nor {names[1]}). It has {', '.join(self.arrays) or 'none'}")
        return found[0]

    def matrix(self, name: str) -> tuple[Indices, Indices, tuple[int, int]]:
        """The places of all entries other than 0, row by row, and the shape."""
        data, indices, starts, shape = (self.part(name, part) for part in ("data", "indices", "indptr", "shape"))
        for part, array in (("indices", indices), ("indptr", starts), ("shape", shape)):
            if array.ndim != 1 or array.dtype.kind not in "iu":
                self.refuse(f"{name}_{part} must be a row of whole numbers. It is {_kind(array)}")
        if shape.shape != (2,) or shape.min() < 0:
            self.refuse(f"{name}_shape must be two numbers of 0 or more. It is {shape.tolist()[:5]}")
        n_rows, n_columns = map(int, shape.tolist())
        if data.shape != indices.shape or data.dtype.kind not in "biuf":
            self.refuse(f"{name}_data must be a number for each of {len(indices):,} entries")
        ends = starts.astype(np.int64)
        rising = len(ends) == n_rows + 1 and ends[0] == 0 and ends[-1] == len(indices) and (ends[:-1] <= ends[1:]).all()
        if not rising:
            self.refuse(f"{name}_indptr must rise from 0 to the {len(indices):,} entries in {n_rows + 1:,} steps")
        columns = indices.astype(np.int64)
        if len(columns) and (columns.min() < 0 or columns.max() >= n_columns):
            self.refuse(f"{name}_indices must be columns from 0 to {n_columns - 1}")
        there = data != 0
        return np.repeat(np.arange(n_rows), np.diff(ends))[there], columns[there], (n_rows, n_columns)

    def features(self, n_nodes: int) -> npt.NDArray[np.uint8] | None:
        if not {"attr_shape", "attr_matrix_shape"} & self.arrays.keys():
            return None
        rows, columns, shape = self.matrix("attr")
        if shape[0] != n_nodes:
            self.refuse(f"its features must have a row for each of {n_nodes} nodes. They have {shape[0]}")
        if shape[0] * shape[1] > _FREE_FEATURES + 16 * (size := self.file.stat().st_size):
            claimed = f"{shape[0]:,} × {shape[1]:,} features are too many for a file of {in_words(size)}"
            raise StarcertError(f"{self.file}: {claimed}. Is attr_shape right?")
        x = np.zeros(shape, dtype=np.uint8)
        x[rows, columns] = 1
        return x

    def labels(self, n_nodes: int) -> tuple[Indices, tuple[str, ...]]:
        if "labels" in self.objects:
            self.refuse(f"labels holds Python objects, a pickle that could run anything. {_ADVICE[:-1]}")
        if "labels" not in self.arrays:
            self.refuse(f"has no array labels. It has {', '.join(self.arrays) or 'none'}")
        given = self.arrays["labels"]
        if given.shape != (n_nodes,) or given.dtype.kind not in "iu" or (n_nodes and given.min() < 0):
            self.refuse(f"labels must be a class from 0 for each of {n_nodes} nodes. It is {_kind(given)}")
        largest = int(given.max(initial=0))
        named = self.arrays.get("class_names")
        if named is not None and named.ndim == 1 and len(named) > largest:
            names = tuple(map(str, named.tolist()))
            try:
                check_label_names(names)
            except InvalidParameterError as error:
                raise StarcertError(f"{self.file}: {error}") from error
            return given.astype(np.int64), names
        if largest >= (most := max(_FREE_CLASSES, n_nodes)):
            advice = "Number the classes from 0: numpy.unique(labels, return_inverse=True)"
            self.refuse(f"labels must be classes below {most:,}. One of them is {largest:,}. {advice}")
        return given.astype(np.int64), tuple(map(str, range(largest + 1)))


def _largest(edges: Indices, n_nodes: int) -> Indices:
    """The nodes of the largest component, ascending."""
    from scipy.sparse import coo_array  # noqa: PLC0415  (scipy takes long to load)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    joined = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_nodes, n_nodes))
    _, home = connected_components(joined, directed=False)
    if not n_nodes:
        raise InvalidParameterError("largest_component", "needs a graph with nodes.")
    return np.flatnonzero(home == np.bincount(home).argmax())


def _kind(array: npt.NDArray[np.generic]) -> str:
    return f"an array of {array.dtype} with shape {array.shape}"
