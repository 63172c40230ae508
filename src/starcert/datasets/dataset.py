"""Graphs with their classes: a data set, and parts of it in which every class has its share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from inspect import getattr_static
from numbers import Real
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from starcert.objects import Partition
from starcert.objects.content import digest
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

_MAX_SHOWN_CLASS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Graphs with their classes, or one graph with the classes of its nodes; a part of a data set is one too.

    `len(data)` is the number of graphs and `for graph, label in data` goes through them; a label is None where the
    class is not known. An index selects a graph with its class; a slice, indices or a mask select a data set.

    The labels are whole numbers from 0, read-only; where some classes are not known they are objects, None for these.

    Example:
        >>> from starcert.objects import Graph
        >>> data = Dataset([Graph(2, [(0, 1)]), Graph(3, []), Graph(4, [])], [1, 0, 0])
        >>> data[0], data[[2, 0]].labels.tolist(), round(data.majority_share, 3)
        ((Graph(2 nodes, 1 edges), 1), [0, 1], 0.667)
        >>> Dataset(Graph(3, [(0, 1), (1, 2)]), [0, 1, 0], label_names=("end", "middle"), name="path")
        Dataset(path, Graph(3 nodes, 2 edges), by class: 2, 1)
    """

    graphs: tuple[Any, ...]  # or other objects, such as `starcert.Bits`
    labels: npt.NDArray[Any]  # the class of each graph; of each node where it was made from one graph, not a sequence
    label_names: tuple[int | str, ...]  # what each class is called where the data come from; empty: not known
    name: str  # what the data set is called
    names: tuple[str, ...]  # what each graph is called; empty if they have no names
    partition: Partition | None  # regions that fit every graph, if the data come with some
    parts: tuple[str | None, ...] | None  # "train", "validation", "test" or None for each graph, if they come divided
    said: tuple[str, ...]  # what was left out when it was read, a sentence each
    numbered: bool  # whether the labels are the class numbers of whoever made the data
    of_nodes: bool  # whether the labels are classes of the nodes of one graph

    def __init__(
        self,
        graphs: Any,  # noqa: ANN401  (a sequence of objects, or one graph)
        labels: npt.ArrayLike | Sequence[int | None] | None = None,
        *,
        label_names: Sequence[int | str] = (),
        name: str = "",
        names: Sequence[str] = (),
        partition: Partition | None = None,
        parts: Sequence[str | None] | None = None,
        said: Sequence[str] = (),
        numbered: bool = False,
        of_nodes: bool = False,
    ) -> None:
        of_nodes = of_nodes or _is_object(graphs)
        objects = (graphs,) if _is_object(graphs) else tuple(graphs)
        for position, graph in enumerate(objects):
            if not _is_object(graph):
                hint = "Graph.from_networkx and its siblings make one."
                raise InvalidParameterError(f"graphs[{position}]", "be a starcert Graph", graph, hint)
        n_targets, target = (objects[0].n_nodes, "node") if of_nodes else (len(objects), "graph")
        classes = _as_labels([None] * n_targets if labels is None else labels, n_targets, target)
        if label_names and max((each for each in classes if each is not None), default=-1) >= len(label_names):
            raise InvalidParameterError("label_names", "name every class", label_names)
        check_label_names(label_names)
        for what, each in (("names", names or objects), ("parts", objects if parts is None else parts)):
            if len(each) != len(objects):
                raise InvalidParameterError(what, f"be one for each of {len(objects)} graphs", len(each))
        values = (
            *(objects, classes, tuple(label_names), name, tuple(names), partition),
            *(None if parts is None else tuple(parts), tuple(said), numbered, of_nodes),
        )
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[tuple[Any, int | None]]:
        return zip(self.graphs, [None] if self.of_nodes else self.labels.tolist(), strict=True)

    @overload
    def __getitem__(self, which: int) -> tuple[Any, int | None]: ...

    @overload
    def __getitem__(self, which: slice | Sequence[int] | npt.NDArray[np.integer | np.bool]) -> Dataset: ...

    def __getitem__(
        self, which: int | slice | Sequence[int] | npt.NDArray[np.integer | np.bool]
    ) -> tuple[Any, int | None] | Dataset:
        if isinstance(which, Sequence):
            which = np.asarray(which) if len(which) else slice(0, 0)  # numpy takes an empty list for one of floats
        chosen = np.arange(len(self))[which]
        if np.ndim(chosen) == 0:
            return list(self)[chosen]
        return replace(
            self,
            graphs=tuple(self.graphs[index] for index in chosen),
            labels=self.labels[chosen],
            names=tuple(self.names[index] for index in chosen) if self.names else (),
            parts=None if self.parts is None else tuple(self.parts[index] for index in chosen),
        )

    @property
    def graph(self) -> Any:  # noqa: ANN401  (a graph, or another object)
        """The graph, of a data set that has one."""
        if len(self) != 1:
            raise StarcertError(f"The data set has {len(self)} graphs: use `graphs`.")
        return self.graphs[0]

    @property
    def known(self) -> list[int]:
        """The labels that are known."""
        return [label for label in self.labels.tolist() if label is not None]

    @property
    def labelled(self) -> Dataset:
        """The graphs whose class is known."""
        return self[[place for place, label in enumerate(self.labels.tolist()) if label is not None]]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.label_names)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes, as text."""
        return tuple(map(str, self.label_names))

    @cached_property
    def digest(self) -> str:
        """A digest of the graphs, their names and their classes."""
        labels = self.labels.tolist() if self.known else None
        of_graphs, of_nodes = (None, [labels] if labels else []) if self.of_nodes else (labels, [])
        keys = [graph.key for graph in self.graphs]
        return digest("data", keys, self.names, of_graphs, self.class_names, *of_nodes)

    @property
    def majority_share(self) -> float:
        """The share of the most frequent class, the accuracy of a constant classifier; NaN without graphs."""
        return max(Counter(self.known).values()) / len(self.labels) if self.known else math.nan

    @cached_property
    def train(self) -> Dataset:
        """The graphs for training, of data that come divided."""
        return self._part("train")

    @cached_property
    def validation(self) -> Dataset:
        """The graphs for validation, of data that come divided."""
        return self._part("validation")

    @cached_property
    def test(self) -> Dataset:
        """The graphs for testing, of data that come divided."""
        return self._part("test")

    def _part(self, name: str) -> Dataset:
        if self.parts is None:
            raise StarcertError(
                f"{self.name} comes without a split. Make one: train, validation, test = data.split(seed=0), "
                "or data.folds(10, seed=0) for cross-validation."
            )
        return self[[place for place, part in enumerate(self.parts) if part == name]]

    def folds(self, k: int, seed: int) -> list[tuple[Indices, Indices]]:
        """The (training, test) indices of a stratified k-fold cross-validation, a function of the seed.

        Every graph is tested once; between two folds the counts of each class differ by one at most.
        """
        return stratified_folds(self._all_labels(), k, seed)

    def split(
        self, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1), *, seed: int
    ) -> tuple[Dataset, Dataset, Dataset]:
        """Training, validation and test: shuffled, with as even a share of every class as whole graphs allow."""
        if len(fractions) != 3:
            raise InvalidParameterError("fractions", "be three numbers: train, validation, test", fractions)
        train, validation, test = stratified_parts(self._all_labels(), fractions, seed)
        return self[train], self[validation], self[test]

    def _all_labels(self) -> Indices:
        if self.labels.dtype == object:
            raise StarcertError("Data can be divided by class only where the class of every graph is known.")
        return self.labels

    def limited(self, n: int | None, seed: int) -> Dataset:
        """At most n graphs, in their order: the first ones if they have a fair share of every class; otherwise a draw.

        The draw takes one graph of every class, then of each in proportion to its size; the draw of fewer graphs is
        part of that of more.
        """
        if n is None or n >= len(self):
            return self
        labels = self.labels.tolist()
        sizes, first = Counter(labels), Counter(labels[:n])
        fair = all(abs(first[label] - n * size / len(self)) < 1 for label, size in sizes.items())
        if not self.known or (fair and len(first) == min(n, len(sizes))):
            return self[:n]
        seen: Counter[int | None] = Counter()
        places: list[tuple[float, int, int]] = []
        for index in np.random.default_rng(seed).permutation(len(self)).tolist():
            places.append((seen[labels[index]] / sizes[labels[index]], len(places), index))
            seen[labels[index]] += 1
        return self[sorted(index for *_, index in sorted(places)[:n])]

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Dataset, **{field.name: getattr(self, field.name) for field in fields(self)}), ()

    def __repr__(self) -> str:
        about = [self.name, repr(self.graphs[0]) if self.of_nodes else f"{len(self)} graphs"]
        if counts := Counter(self.known):
            # Classes in between that do not occur are listed too, unless there are very many of them.
            listed = range(max(counts) + 1) if max(counts) <= _MAX_SHOWN_CLASS else sorted(counts)
            about.append(f"by class: {', '.join(str(counts[label]) for label in listed)}")
        return f"Dataset({', '.join(filter(None, about))})"


def _is_object(given: object) -> bool:
    """Whether it has the members of a `CleanObject`: `isinstance` computes each in Python 3.11, and keys take time."""
    return all(getattr_static(given, member, None) is not None for member in ("key", "layers", "frame", "nonzero"))


def numbered_names(name: str, numbers: range) -> list[str]:
    """Names for graphs that have none of their own, in runs and in Python.

    Example:
        >>> numbered_names("MUTAG", range(9, 12))
        ['MUTAG 09', 'MUTAG 10', 'MUTAG 11']
    """
    digits = len(str(numbers[-1])) if numbers else 0
    return [f"{name} {number:0{digits}d}" for number in numbers]


def check_label_names(names: Sequence[int | str]) -> None:
    """Refuses two classes of one name: their graphs could not be told apart."""
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            hint = "Give each class a name of its own, or merge them into one."
            raise InvalidParameterError("label_names", "be different", f"{name!r} {count} times", hint)


def _as_labels(values: object, n_targets: int, target: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (n_targets,):
        raise InvalidParameterError("labels", f"be {n_targets} classes, one for each {target}", f"shape {array.shape}")
    unknown = np.array([each is None for each in array.tolist()], bool)
    given = np.asarray(array[~unknown].tolist() or np.empty(0, int)) if array.dtype == object else array
    whole = given.dtype.kind in "iuf"
    wrong = (given != given.astype(np.int64)) | (given < 0) if whole else np.ones(len(given), bool)
    if wrong.any():
        first = np.flatnonzero(~unknown)[wrong.argmax()]
        hint = "Number them first: label_names, labels = np.unique(labels, return_inverse=True)."
        raise InvalidParameterError(
            f"labels[{first}]", "be a class, a whole number from 0", array[first:].tolist()[0], hint
        )
    labels = given.astype(np.int64)
    if unknown.any():
        known, labels = labels, np.full(n_targets, None)
        labels[~unknown] = known
    labels.setflags(write=False)
    return labels


def stratified_folds(labels: Indices, k: int, seed: int) -> list[tuple[Indices, Indices]]:
    """The (training, test) indices of a stratified k-fold cross-validation, each ascending.

    Every index is tested once. Between two folds the sizes, and the counts of each class, differ by one at most.
    """
    whole_number("k", k, 2)
    if k > len(labels):
        raise InvalidParameterError("k", f"be at most {len(labels)}, the number of graphs", k)
    # Class after class, dealt like cards: a class goes on where the one before it stopped.
    order = np.concatenate(_shuffled_classes(labels, seed)[0])
    home = np.empty(len(labels), dtype=np.int64)
    home[order] = np.arange(len(labels)) % k
    return [(np.flatnonzero(home != fold), np.flatnonzero(home == fold)) for fold in range(k)]


def stratified_parts(labels: Indices, fractions: Sequence[float], seed: int) -> list[Indices]:
    """The indices of disjoint parts with these fractions of everything, each in random order.

    A class with m members gives m · fraction of them to each part, rounded so that the parts' sizes come out even too.
    """
    right = all(isinstance(share, Real) and 0 <= share <= 1 for share in fractions)
    if not (right and math.isclose(sum(fractions), 1, abs_tol=1e-9)):
        raise InvalidParameterError("fractions", "be numbers from 0 to 1 that add up to 1", fractions)
    classes, rng = _shuffled_classes(labels, seed)
    counts = _rounded(np.array(fractions, dtype=float), [len(members) for members in classes])
    pieces = [np.split(members, np.cumsum(each)[:-1]) for members, each in zip(classes, counts, strict=True)]
    none = [[np.empty(0, dtype=np.int64)] * len(fractions)]
    return [rng.permutation(np.concatenate(part)) for part in zip(*(none + pieces), strict=True)]


def _rounded(shares: npt.NDArray[np.float64], sizes: Sequence[int]) -> Indices:
    """Whole numbers near size · share, a row for each class, that add up to the sizes."""
    exact = np.outer(sizes, shares)
    counts = np.floor(exact + 1e-9).astype(np.int64)  # 0.7 · 10 is a little less than 7
    rest = np.clip(exact - counts, 0, None)
    wanted = rest.sum(axis=0)
    # What rounding down left over goes to the parts that still want most. A whole number is not rounded up, so the
    # classes with the fewest parts to choose from choose first.
    for row in np.argsort((rest > 1e-9).sum(axis=1), kind="stable"):
        order = np.lexsort([-rest[row], -np.where(rest[row] > 1e-9, wanted, -np.inf)])
        lucky = order[: sizes[row] - int(counts[row].sum())]
        counts[row, lucky] += 1
        wanted[lucky] -= 1
    return counts


def _shuffled_classes(labels: Indices, seed: int) -> tuple[list[Indices], np.random.Generator]:
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    return [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)], rng
