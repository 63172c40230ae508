"""The folds that all methods share: of graphs, of graphs that are drawn, and of the nodes of one graph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import starcert as sc
from starcert.benchmark.data import DRAWN, data_of, fitting
from starcert.datasets import Dataset
from starcert.datasets.twins import twin_groups
from starcert.objects.rule import Rule
from starcert.objects.site_sets import Inside, Outside
from starcert.system.errors import StarcertError

if TYPE_CHECKING:
    from starcert.benchmark.settings import Benchmark

Numbers = npt.NDArray[np.int64]
Objects: TypeAlias = Any
"""Objects for training, choosing or testing: a `Dataset` of graphs, a list of them, or `Nodes`."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a graph, with their classes."""

    data: Dataset  # the graph, with the classes of all its nodes
    numbers: Numbers  # of these nodes, ascending

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def graph(self) -> sc.Graph:
        """The graph, as every part of its nodes has it."""
        graph: sc.Graph = self.data.graph
        return graph

    @property
    def labels(self) -> Numbers:
        """The class of each of these nodes."""
        return np.asarray(self.data.labels, dtype=np.int64)[self.numbers]

    def limited(self, n: int | None, seed: int) -> Nodes:
        """At most n of them, drawn with a seed; None: all."""
        drawn = np.random.default_rng(seed).permutation(self.numbers)[:n]
        return replace(self, numbers=np.sort(drawn))


def limit_of(number: int | str) -> int | None:
    """A limit as a number; None: there is none."""
    return None if isinstance(number, str) else number


class Fold(NamedTuple):
    """A fold: what is learned from, what chooses, what is tested; and the numbers of that in the data."""

    taught: Objects
    held: Objects
    tested: Objects
    numbers: list[int]

    @property
    def objects(self) -> Objects:
        """The test objects, without their classes: graphs, or nodes of a graph."""
        return self.tested if isinstance(self.tested, Nodes) else self.tested.graphs


def fold_splits(
    every: Dataset, fold: int | None, seed: int, *, keep_twins: bool = False
) -> tuple[Dataset, Dataset, Dataset, list[int]]:
    """The training, validation and test part of a fold, and the numbers of the test objects.

    A fold is a tenth of all objects; None: one split, 80% / 10% / 10%. Where twins are kept
    together, no graph has a twin in another part.
    """
    if fold is None:
        taught, held, tested = every.split((0.8, 0.1, 0.1), seed=seed)
        place = {id(graph): number for number, graph in enumerate(every.graphs)}
        return taught, held, tested, [place[id(graph)] for graph in tested.graphs]
    groups = twin_groups(every.graphs) if keep_twins else np.arange(len(every))
    if len(np.unique(groups)) == len(every):
        rest, test = every.folds(10, seed=seed)[fold]
        taught, held, _ = every[rest].split((8 / 9, 1 / 9, 0.0), seed=1000 * seed + fold)
        return taught, held, every[test], np.asarray(test).tolist()
    rest, test = _grouped_folds(every, groups, 10, seed)[fold]
    learned, chosen = _grouped_folds(every[rest], groups[rest], 9, 1000 * seed + fold)[0]
    return every[rest[learned]], every[rest[chosen]], every[test], np.asarray(test).tolist()


def _grouped_folds(data: Dataset, groups: Numbers, k: int, seed: int) -> list[tuple[Numbers, Numbers]]:
    from sklearn.model_selection import StratifiedGroupKFold  # noqa: PLC0415  (slow to import)

    if (n_groups := len(np.unique(groups))) < k:
        raise StarcertError(f"{n_groups} graphs that are no twins do not make {k} folds. Set twins to apart.")
    folds = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(data)), np.asarray(data.labels), groups))


def split_nodes(labels: Numbers, seed: int, of_a_class: int = 20) -> tuple[Numbers, Numbers, Numbers]:
    """Some nodes of each class to learn from, as many for validation, all others for testing; each ascending.

    Example:
        >>> [len(part) for part in split_nodes(np.array([0, 0, 0, 1, 1, 1]), seed=0, of_a_class=1)]
        [2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(np.flatnonzero(labels == each)) for each in np.unique(labels)]
    parts = [np.concatenate([some[start:end] for some in dealt]) for start, end in
             ((0, of_a_class), (of_a_class, 2 * of_a_class), (2 * of_a_class, None))]  # fmt: skip
    train, validation, tested = map(np.sort, parts)
    return train, validation, tested


def together(one: Dataset, other: Dataset) -> Dataset:
    """All graphs of two parts of a data set."""
    return Dataset([*one.graphs, *other.graphs], np.concatenate([one.labels, other.labels]))


def has_core(train: Dataset) -> bool:
    """True if the node pairs of graphs can be divided by `core_and_rest`: regions came with them, or node labels."""
    return train.partition is not None or "x" in train.graphs[0].node_data


def core_and_rest(train: Dataset) -> Rule:
    """A rule for two regions of all node pairs, those inside a core and all others, which reads no edge.

    The core is the first region that comes with the data, or the nodes of the most frequent label.
    """
    if train.partition is not None:
        (_, part), *_ = train.partition.parts
        return partial(_divide, core=part.nodes)  # type: ignore[attr-defined]  # those of data are node sets
    counts = sum(np.sum(graph.node_data["x"], axis=0) for graph in train.graphs)
    return partial(_divide, label=int(np.argmax(counts)))


def _divide(graph: sc.Graph, core: frozenset[Hashable] = frozenset(), label: int | None = None) -> sc.Partition:
    if label is not None:
        inside = np.argmax(np.asarray(graph.node_data["x"]), axis=1) == label
        core = frozenset(node for node, there in zip(graph.nodes, inside.tolist(), strict=True) if there)
    return sc.Partition((("core", Inside(core)), ("rest", Outside(core))))


def cut_of(setting: Benchmark, name: str, fold: int) -> Fold:
    """The fold of a data set, without graphs that are too large."""
    if name in DRAWN:
        n_held = max(limit_of(setting.held) or 0, setting.drawn // 4)
        drawn = DRAWN[name](
            1_000 * setting.seed + fold, train=setting.drawn, validation=n_held, test=setting.drawn_graphs
        )
        return Fold(drawn.train, drawn.validation, drawn.test, list(range(len(drawn.test))))
    every = data_of(name, setting.columns, setting.component)
    if every.of_nodes:
        parts = split_nodes(np.asarray(every.labels), 10 * setting.seed + 2 + fold, setting.of_a_class)
        train, validation, nodes = (Nodes(every, numbers) for numbers in parts)
        nodes = nodes.limited(limit_of(setting.nodes), setting.seed)
        return Fold(train, validation, nodes, nodes.numbers.tolist())
    fits = fitting(setting, every)
    taught, held, tested, numbers = fold_splits(every[fits], fold, setting.seed, keep_twins=setting.twins == "together")
    places = np.flatnonzero(fits)[numbers]
    named = replace(tested, names=tuple(map(str, places))).limited(limit_of(setting.graphs), setting.seed)
    return Fold(taught, held, named, [int(each) for each in named.names])
