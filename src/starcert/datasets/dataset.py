"""Graphs with their classes: a data set, and parts of it in which every class has its share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import overload

import numpy as np
import numpy.typing as npt

from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

__all__ = ["Dataset", "Split", "stratified_folds", "stratified_parts"]

Indices = npt.NDArray[np.int64]

_SHOWN_CLASSES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Some graphs and the class of each.

    Attributes:
        graphs: the graphs.
        labels: their classes, numbers from 0, read-only.

    Example:
        >>> split = Split([Graph(2, [(0, 1)]), Graph(3, []), Graph(4, [])], [1, 0, 0])
        >>> split[0], split[[2, 0]].labels.tolist(), round(split.majority_share, 3)
        ((Graph(2 nodes, 1 edges), 1), [0, 1], 0.667)
    """

    graphs: tuple[Graph, ...]
    labels: Indices

    def __init__(self, graphs: Sequence[Graph], labels: npt.ArrayLike) -> None:
        object.__setattr__(self, "graphs", tuple(graphs))
        for position, graph in enumerate(self.graphs):
            if not isinstance(graph, Graph):
                hint = "Graph.from_networkx and its siblings make one."
                raise InvalidParameterError(f"graphs[{position}]", "be a starcert Graph", graph, hint)
        object.__setattr__(self, "labels", _as_labels(labels, len(self.graphs)))

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[tuple[Graph, int]]:
        return zip(self.graphs, self.labels.tolist(), strict=True)

    @overload
    def __getitem__(self, which: int) -> tuple[Graph, int]: ...

    @overload
    def __getitem__(self, which: slice | Sequence[int] | npt.NDArray[np.integer | np.bool]) -> Split: ...

    def __getitem__(
        self, which: int | slice | Sequence[int] | npt.NDArray[np.integer | np.bool]
    ) -> tuple[Graph, int] | Split:
        """One graph with its class; for a slice, indices or a mask, the split that they select."""
        if isinstance(which, Sequence):
            which = np.asarray(which) if len(which) else slice(0, 0)  # numpy takes an empty list for one of floats
        chosen = np.arange(len(self))[which]
        if np.ndim(chosen) == 0:
            return self.graphs[chosen], int(self.labels[chosen])
        return Split([self.graphs[index] for index in chosen], self.labels[chosen])

    @property
    def majority_share(self) -> float:
        """The share of the most frequent class: the accuracy of a classifier that always says the same.

        It is NaN without graphs.
        """
        return int(np.unique(self.labels, return_counts=True)[1].max()) / len(self) if len(self) else math.nan

    def folds(self, k: int, seed: int) -> list[tuple[Indices, Indices]]:
        """The (training, test) indices of a stratified k-fold cross-validation, a function of the seed.

        Every graph is tested once; between two folds the counts of each class differ by one at most.
        """
        return stratified_folds(self.labels, k, seed)

    def split(
        self, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1), *, seed: int
    ) -> tuple[Split, Split, Split]:
        """Training, validation and test: shuffled, with as even a share of every class as whole graphs allow."""
        if len(fractions) != 3:
            raise InvalidParameterError("fractions", "be three numbers: train, validation, test", fractions)
        train, validation, test = stratified_parts(self.labels, fractions, seed)
        return self[train], self[validation], self[test]

    def __reduce__(self) -> tuple[object, ...]:
        return Split, (self.graphs, self.labels)

    def __repr__(self) -> str:
        if not len(self):
            return "Split(0 graphs)"
        far = self.labels.max() > _SHOWN_CLASSES  # whoever left such gaps does not want the zeros in them
        counts = np.unique(self.labels, return_counts=True)[1] if far else np.bincount(self.labels)
        return f"Split({len(self)} graphs, by class: {', '.join(map(str, counts))})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A named set of graphs with classes.

    Attributes:
        name: what it is called.
        all: every graph.
        label_names: what each class is called where the data come from.
        partition: regions that fit every graph, if the data come with some.
        sizes: how many graphs at the beginning of `all` are for training, how many after those for validation, and
            how many for testing, if the data come with such a split; they are `train`, `validation` and `test`.
        said: what was left out when it was read, a sentence each.

    Example:
        >>> every = Split([Graph(2, [(0, 1)]), Graph(3, [])], [1, 0])
        >>> Dataset("pairs", every, ("apart", "joined"))
        Dataset(pairs, 2 graphs, 2 classes)
    """

    name: str
    all: Split
    label_names: tuple[int | str, ...]
    partition: Partition | None = None
    sizes: tuple[int, int, int] | None = None
    said: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.all) and self.all.labels.max() >= self.n_classes:
            raise InvalidParameterError("label_names", "name every class", self.label_names)
        check_label_names(self.label_names)
        if self.sizes is not None and (min(self.sizes) < 0 or sum(self.sizes) != len(self.all)):
            raise InvalidParameterError("sizes", f"add up to the {len(self.all)} graphs", self.sizes)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.label_names)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Every graph."""
        return self.all.graphs

    @property
    def labels(self) -> Indices:
        """The class of every graph."""
        return self.all.labels

    def __len__(self) -> int:
        return len(self.all)

    @cached_property
    def train(self) -> Split:
        """The graphs for training, of data that come with a split."""
        return self.all[: self._sizes[0]]

    @cached_property
    def validation(self) -> Split:
        """The graphs for validation, of data that come with a split."""
        train, validation, _ = self._sizes
        return self.all[train : train + validation]

    @cached_property
    def test(self) -> Split:
        """The graphs for testing, of data that come with a split."""
        train, validation, _ = self._sizes
        return self.all[train + validation :]

    @property
    def _sizes(self) -> tuple[int, int, int]:
        if self.sizes is None:
            raise StarcertError(
                f"{self.name} comes without a split. Make one: train, validation, test = data.split(seed=0), "
                "or data.folds(10, seed=0) for cross-validation."
            )
        return self.sizes

    def folds(self, k: int, seed: int) -> list[tuple[Indices, Indices]]:
        """The (training, test) indices into `all` of a stratified k-fold cross-validation; see `Split.folds`."""
        return self.all.folds(k, seed)

    def split(
        self, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1), *, seed: int
    ) -> tuple[Split, Split, Split]:
        """Training, validation and test, cut out of `all`; see `Split.split`."""
        return self.all.split(fractions, seed=seed)

    def __repr__(self) -> str:
        return f"Dataset({self.name}, {len(self)} graphs, {self.n_classes} classes)"


def check_label_names(names: Sequence[int | str]) -> None:
    """Refuses two classes of one name: nobody could tell their graphs apart."""
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            hint = "Give each class a name of its own, or merge them into one."
            raise InvalidParameterError("label_names", "be different", f"{name!r} {count} times", hint)


def _as_labels(values: npt.ArrayLike, n_graphs: int) -> Indices:
    array = np.asarray(values)
    if array.shape != (n_graphs,):
        raise InvalidParameterError("labels", f"be {n_graphs} classes, one for each graph", f"shape {array.shape}")
    wrong = (array != array.astype(np.int64)) | (array < 0) if array.dtype.kind in "iuf" else np.ones(n_graphs, bool)
    if wrong.any():
        first = int(wrong.argmax())
        number = "Number names first: class_names, labels = np.unique(names, return_inverse=True)."
        hint = number if array.dtype.kind in "UO" else ""
        raise InvalidParameterError(
            f"labels[{first}]", "be a class, a whole number from 0", array[first:].tolist()[0], hint
        )
    labels = array.astype(np.int64)
    labels.setflags(write=False)
    return labels


def stratified_folds(labels: Indices, k: int, seed: int) -> list[tuple[Indices, Indices]]:
    """The (training, test) indices of a stratified k-fold cross-validation, each ascending.

    Every index is tested once. Between two folds the sizes, and the counts of each class, differ by one at most.

    Example:
        >>> [test.tolist() for _, test in stratified_folds(np.array([0, 0, 1, 1]), 2, seed=1)]
        [[0, 2], [1, 3]]
    """
    whole_number("k", k, 2)
    if k > len(labels):
        raise InvalidParameterError("k", f"not be more than the {len(labels)} graphs", k)
    # Class after class, dealt like cards: a class goes on where the one before it stopped.
    order = np.concatenate(_shuffled_classes(labels, _generator(seed)))
    home = np.empty(len(labels), dtype=np.int64)
    home[order] = np.arange(len(labels)) % k
    return [(np.flatnonzero(home != fold), np.flatnonzero(home == fold)) for fold in range(k)]


def stratified_parts(labels: Indices, fractions: Sequence[float], seed: int) -> list[Indices]:
    """The indices of disjoint parts with these fractions of everything, each in random order.

    A class with m members gives m · fraction of them to each part, rounded up or down; which of the two is chosen so
    that the sizes of the parts come out even as well.

    Example:
        >>> [len(part) for part in stratified_parts(np.repeat([0, 1], [63, 125]), (0.8, 0.1, 0.1), seed=0)]
        [150, 19, 19]
    """
    shares = _as_shares(fractions)
    rng = _generator(seed)
    classes = _shuffled_classes(labels, rng)
    dealt: list[list[Indices]] = [[np.empty(0, dtype=np.int64)] for _ in shares]
    for members, counts in zip(classes, _rounded(shares, [len(members) for members in classes]), strict=True):
        for part, piece in zip(dealt, np.split(members, np.cumsum(counts)[:-1]), strict=True):
            part.append(piece)
    return [rng.permutation(np.concatenate(part)) for part in dealt]


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


def _generator(seed: int) -> np.random.Generator:
    whole_number("seed", seed, 0)
    return np.random.default_rng(seed)


def _shuffled_classes(labels: Indices, rng: np.random.Generator) -> list[Indices]:
    return [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]


def _as_shares(fractions: Sequence[float]) -> npt.NDArray[np.float64]:
    numbers = list(fractions)
    right = all(isinstance(number, Real) and 0 <= number <= 1 for number in numbers)
    if not (right and math.isclose(sum(numbers), 1, abs_tol=1e-9)):
        raise InvalidParameterError("fractions", "be numbers from 0 to 1 that add up to 1", fractions)
    return np.array(numbers, dtype=float)
