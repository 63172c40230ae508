"""The data of a benchmark, from names, files and functions, and the folds that all methods share.

Data are graphs with classes, graphs that are drawn anew in every fold, or one graph with the classes of its nodes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import starcert as sc
from starcert.datasets import Dataset, arcs, motif, npz
from starcert.datasets.parts import split_nodes
from starcert.datasets.tu_files import local_names, raw_files
from starcert.datasets.twins import twin_groups
from starcert.objects.content import digest
from starcert.objects.rule import Rule
from starcert.objects.site_sets import Inside, Outside
from starcert.runs.setting_values import as_data
from starcert.runs.sources import load_graphs, with_node_labels
from starcert.runs.user_code import Reference, TuName
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

if TYPE_CHECKING:
    from starcert.benchmark.settings import Benchmark

Numbers = npt.NDArray[np.int64]
Objects: TypeAlias = Any
"""Objects for training, choosing or testing: a `Dataset` of graphs, a list of them, or `Nodes`."""

DRAWN = {"motif": motif, "arcs": arcs}
"""Data sets whose folds are draws with a seed each."""
FILES = {"Cora-ML": "CORA_ML/cora_ml.npz", "Citeseer": "CITESEER/citeseer.npz"}
"""Graphs whose nodes are classified, by name."""
FOLDS = 10  # of graphs; each of them is the test part of one


def check_data(entries: Sequence[str], columns: Mapping[str, str]) -> None:
    """Refuses entries of `data` that mean nothing, or cannot be told apart; nothing is read."""
    for name, times in Counter(map(called, entries)).items():
        if times > 1:
            raise InvalidParameterError("data", "have names of their own", f"{name} twice", "Rename a file.")
    tables = [each for each in entries if has_columns(each)]
    if columns and not tables:
        raise InvalidParameterError("columns", "needs data in a table.")


def source_of(entry: str) -> str | Path | Reference:
    """The source of an entry of `data`: a data set that has this name, else a function, a file or a folder."""
    if entry in (*DRAWN, *FILES, *local_names()):
        return entry
    found = as_data(entry, Path.cwd(), "data")
    if isinstance(found, TuName):
        same = [each for each in (*local_names(), *FILES, *DRAWN) if each.lower() == entry.lower()]
        if near := did_you_mean(entry, same or (*FILES, *DRAWN)) or (same and f"Did you mean {same[0]}?"):
            raise InvalidParameterError("data", "name a data set, a file, a folder, or file.py:function", entry, near)
    return found


def called(entry: str) -> str:
    """The name of data in tables and in names of files.

    Example:
        >>> called("MUTAG"), called("my data/mols v2.csv"), called("own.py:rings")
        ('MUTAG', 'mols_v2', 'own-rings')
    """
    file, _, function = entry.strip().rpartition(".py:")
    stem = Path(os.path.abspath(file or entry.strip())).stem
    return file_name(f"{stem}-{function}" if file else stem)


def file_name(text: str) -> str:
    """A text as part of the name of a file."""
    return re.sub(r"[^\w.+-]+", "_", text)


@lru_cache(maxsize=1)
def nodes_of(name: str) -> Dataset:
    """The largest connected component of a graph that is known by name, whose file STARCERT_DATA helps to find.

    It is in the folder that this variable names, or in a folder of its own in or beside that.
    """
    given, (folder, file) = os.environ.get("STARCERT_DATA"), FILES[name].split("/")
    for place in (Path(given), Path(given, folder), Path(given).parent / folder) if given else ():
        if (place / file).is_file():
            return npz(place / file, largest_component=True)
    hint = f"Give the folder of its file {file} in the environment variable STARCERT_DATA."
    raise InvalidParameterError("data", "be there", name, hint)


def has_columns(entry: str) -> bool:
    """True if the setting `columns` can apply to data: to a table, or to tensors by their names."""
    source = source_of(entry)
    return isinstance(source, Path) and source.suffix != ".npz" and (source.is_file() or raw_files(source) is None)


def data_of(entry: str, columns: Mapping[str, str] | None = None, component: str = "largest") -> Dataset:
    """Data that are not drawn: graphs with their classes, or one graph with the classes of its nodes.

    Of an .npz file the largest connected component, or all.
    """
    return _data_of(entry, tuple((columns or {}).items()) if has_columns(entry) else (), component)


@lru_cache(maxsize=16)
def _data_of(entry: str, columns: tuple[tuple[str, str], ...], component: str) -> Dataset:
    source, names = source_of(entry), dict(columns)
    if isinstance(source, str) and source in FILES:
        return nodes_of(source)
    if isinstance(source, Path) and source.suffix == ".npz":
        return plain_graphs(entry, npz(source, largest_component=component == "largest"))
    data = load_graphs(source, of_nodes=True, columns=names, quiet=True)
    if len(data) == 1 and not data.of_nodes and "y" in data.graph.node_data:  # the classes of its nodes
        hidden = names.get("label", "y")  # the same classes again, which no model may see
        graph = data.graph.without(hidden) if hidden in {*data.graph.node_data} - {"y"} else data.graph
        data = with_node_labels(replace(data, graphs=(graph,)))
    return plain_graphs(entry, data)


def plain_graphs(entry: str, data: Dataset) -> Dataset:
    """The data with nothing but edges and node data; refused where methods could not be compared on them."""
    for graph in data.graphs:
        if not isinstance(graph, sc.Graph) or graph.node_sites or graph.directed != data.graphs[0].directed:
            hint = "Noise and attacks are on node pairs. Give graphs, all directed or none, without node sites."
            raise InvalidParameterError("data", f"be graphs of one kind in {entry}", graph, hint)
    if unknown := len(data.labels) - len(data.known):
        what = "nodes" if data.of_nodes else "graphs"
        hint = "Take them out, or say what holds the classes: label in columns, or a labels.csv in a folder of graphs."
        raise StarcertError(f"{entry}: {unknown:,} of {len(data.labels):,} {what} have no class. {hint}")
    for name in ("x", "attributes"):
        shapes = {np.shape(each.node_data[name])[1:] if name in each.node_data else None for each in data.graphs}
        if len(shapes) > 1 or len(next(iter(shapes)) or (0,)) != 1:
            hint = "Let every graph have the same columns, a row for each node, or leave them out of all."
            found = ", ".join(sorted("none" if each is None else str(each) for each in shapes))
            raise InvalidParameterError("data", f"have one width of node data {name!r} in {entry}", found, hint)
    if not any(graph.type_names or graph.edge_data for graph in data.graphs):
        return data
    bare = [sc.Graph(each.n_nodes, each.edges, nodes=each.nodes, node_data=dict(each.node_data), directed=each.directed)
            for each in data.graphs]  # fmt: skip
    said = (*data.said, "Types and other data of edges are left out: noise and attacks are on node pairs.")
    return replace(data, graphs=tuple(bare), said=said)


def digest_of(setting: Benchmark, name: str) -> str:
    """A digest of data, and of regions that come with them; "" where they are drawn with a seed."""
    if name in DRAWN:
        return ""
    data = data_of(name, setting.columns, setting.component)
    return data.digest if data.partition is None else digest(data.digest, repr(data.partition.parts))


def notes_on(setting: Benchmark, name: str) -> list[str]:
    """One sentence for each part of the data that is not used; refused where no folds can be made of the rest."""
    if name in DRAWN:
        return []
    data, left = data_of(name, setting.columns, setting.component), ""
    if data.of_nodes:
        if "x" not in data.graph.node_data:
            hint = "Methods of nodes learn from node data x, such as words: give each node a row of numbers."
            raise StarcertError(f"{name}: its nodes have no data x. {hint}")
        kept, least, what, hint = data, 2 * setting.of_a_class + 1, "nodes", "Take fewer to learn from: of_a_class."
    else:
        kept, least, what, hint = data[fitting(setting, data)], FOLDS, "graphs", "Merge classes, or add graphs."
        if len(kept) < len(data):
            many = f"{len(data) - len(kept):,} of {len(data):,} graphs"
            left = f"{many} have more than {setting.max_nodes} nodes (max_nodes)"
            hint = f"{left}, and are left out. Allow larger ones, or merge classes."
    counts = Counter(kept.known)
    if len(counts) < 2:
        raise StarcertError(f"{name}: its {len(kept.labels):,} {what} are of fewer than two classes. {hint}")
    rarest = min(counts, key=lambda each: (counts[each], each))
    if counts[rarest] < least:
        label = kept.class_names[rarest] if kept.class_names else rarest
        raise StarcertError(
            f"{name}: class {label!r} has {counts[rarest]} {what}; the folds need {least} of each. {hint}"
        )
    said = [*data.said, *([f"{left}: they are left out."] if left else [])]
    return said if data.of_nodes else [*said, *_twins_in(setting, kept)]


def _twins_in(setting: Benchmark, data: Dataset) -> list[str]:
    groups = twin_groups(data.graphs)
    n_twins = int((np.bincount(groups)[groups] > 1).sum())
    where = "in one fold" if setting.twins == "together" else "wherever they fall, in training as well as in tests"
    found = f"{n_twins:,} of {len(data):,} graphs have an isomorphic twin with the same node labels; twins are {where}."
    return [found] if n_twins else []


def fitting(setting: Benchmark, data: Dataset) -> npt.NDArray[np.bool_]:
    """Which graphs are small enough."""
    return np.array([graph.n_nodes <= setting.max_nodes for graph in data.graphs], dtype=np.bool_)


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
