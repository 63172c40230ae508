"""The parts of the data of a run, for training, validation and testing: from a file, by shares, or as the data say."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.datasets.dataset import Dataset, stratified_parts
from starcert.datasets.tables import MAX_SHOWN, part_named, read_table
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

Indices = npt.NDArray[np.int64]
MASKS = "train_mask", "val_mask", "test_mask"
"""The node data that say which nodes are in each part."""
_FRACTIONS = (0.8, 0.1, 0.1)  # of every class for training, validation and testing
_SPLITS_EXAMPLE = '{"train": [0, 1, 2], "validation": [3], "test": [4, 5]}'


def divided(data: Dataset, splits: Path) -> Dataset:
    """The data with the parts in a file: lists of indices or names by part (.json), or columns name and part (.csv)."""
    if data.parts is not None:
        raise InvalidParameterError("splits", "is not needed: a column of the data gives the parts. Drop one of them.")
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(data.names):
        places[name].append(place)
    parts: list[str | None] = [None] * len(data)
    for part, graph, where in _splits_in(splits):
        place = _place_of(graph, places, data.names, where)
        if parts[place] is not None:
            twice = f"twice in {part}" if parts[place] == part else f"in {parts[place]} and in {part}"
            raise StarcertError(f"{where}: graph {data.names[place]!r} lies {twice}. Let it lie in one part, once.")
        parts[place] = part
    return replace(data, parts=tuple(parts))


def _splits_in(path: Path) -> Iterator[tuple[str, object, str]]:
    """Each part with one of its graphs, and where that is written."""
    if path.suffix.lower() == ".csv":
        for number, row in read_table(path, {}, needed=("name", "part")):
            if (part := part_named(row["part"], where := f"{path}, line {number}")) is not None:
                yield part, row["name"], where
        return
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:MAX_SHOWN]
        raise StarcertError(f"{path}: is not JSON: {reason}. For example {_SPLITS_EXAMPLE}.") from error
    if not isinstance(found, dict):
        raise StarcertError(f"{path}: must map each part to a list of its graphs. For example {_SPLITS_EXAMPLE}.")
    for key, graphs in found.items():
        part = part_named(key, str(path))
        if part is None or not isinstance(graphs, list):
            must = "must be a part with a list of its graphs"
            raise StarcertError(f"{path}: {key!r} {must}. For example {_SPLITS_EXAMPLE}.")
        for graph in graphs:
            yield part, graph, str(path)


def _place_of(graph: object, places: Mapping[str, list[int]], names: Sequence[str], where: str) -> int:
    if isinstance(graph, int) and not isinstance(graph, bool):
        if not 0 <= graph < len(names):
            raise StarcertError(f"{where}: there is no graph {graph}. Indices go from 0 to {len(names) - 1}.")
        return graph
    shown = repr(graph[:MAX_SHOWN]) if isinstance(graph, str) else repr(graph)[:MAX_SHOWN]
    if not isinstance(graph, str):
        raise StarcertError(f"{where}: {shown} is not a graph. Give indices from 0, or names of graphs.")
    found = places.get(graph, [])
    if len(found) > 1:
        raise StarcertError(f"{where}: {len(found)} graphs are called {shown}. Give indices, in JSON.")
    if not found:
        hint = did_you_mean(graph[:MAX_SHOWN], places, f"Names are such as {names[0][:MAX_SHOWN]!r}.")
        raise StarcertError(f"{where}: no graph is called {shown}. {hint}")
    return found[0]


def with_fractions(data: Dataset, fractions: Mapping[str, float], seed: int) -> Dataset:
    """The data with parts that have these shares of every class."""
    if data.parts is not None:
        raise InvalidParameterError("fractions", "is not needed: the data give the parts. Drop one of them.")
    if data.of_nodes:
        drawn = dict(zip(fractions, _drawn(data, [*fractions.values()], seed, "fractions"), strict=True))
        return _with_masks(data, [drawn.get(part, []) for part in ("train", "validation", "test")])
    parts: list[str | None] = [None] * len(data)
    for part, places in zip(fractions, _drawn(data, [*fractions.values()], seed, "fractions"), strict=True):
        for place in places:
            parts[place] = part
    return replace(data, parts=tuple(parts))


def with_node_parts(data: Dataset, of_a_class: int, seed: int) -> tuple[Dataset, str]:
    """The nodes of a graph with the masks of its parts, and where these are from, in words.

    Masks that are there stay; without both `train_mask` and `val_mask`, all are drawn (`split_nodes`).
    """
    there, n_nodes = data.graph.node_data, data.graph.n_nodes
    if not {*MASKS[:2]} <= there.keys():
        if data.labels.dtype == object:
            raise InvalidParameterError("data", "have a class for every node, or node data train_mask and val_mask.")
        drawn = [part.tolist() for part in split_nodes(data.labels, seed, of_a_class)]
        data, how = _with_masks(data, drawn), f"{of_a_class} nodes a class each, drawn by --split-seed"
    else:
        parts = [np.flatnonzero(np.asarray(there[name])).tolist() for name in MASKS[:2]]
        known, how = {*parts[0], *parts[1]}, "as its masks say"
        if len(known) < sum(map(len, parts)):
            raise InvalidParameterError("data", "have no node in both train_mask and val_mask.")
        if MASKS[2] not in there:
            data = _with_masks(data, [*parts, [node for node in range(n_nodes) if node not in known]])
    sizes = [int(np.sum(np.asarray(data.graph.node_data[name]))) for name in MASKS]
    for name, size in zip(MASKS, sizes, strict=True):
        if not size:
            raise InvalidParameterError("data", f"has no node in {name}. Give other masks, or draw fewer: of_a_class.")
    return data, f"{sizes[0]:,} nodes to learn from and {sizes[1]:,} to choose by ({how}); {sizes[2]:,} to test."


def _with_masks(data: Dataset, parts: Sequence[Sequence[int]]) -> Dataset:
    graph, masks = data.graph, np.zeros((len(MASKS), data.graph.n_nodes), dtype=np.bool_)
    for mask, places in zip(masks, parts, strict=True):
        mask[list(places)] = True
    for name, mask in zip(MASKS, masks, strict=True):
        graph = graph.with_node_data(name, mask)
    return replace(data, graphs=(graph,))


def split_nodes(labels: Indices, seed: int, of_a_class: int = 20) -> tuple[Indices, Indices, Indices]:
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


def _drawn(data: Dataset, fractions: Sequence[float], seed: int, setting: str) -> list[list[int]]:
    """The places of parts with these shares of every class, each ascending; refused where classes are not known."""
    if data.labels.dtype == object:
        hint = 'Use split = "all", or put the graphs to certify into a folder of their own.'
        table = "Where a table calls the column of classes otherwise than label: --columns label=COLUMN."
        raise InvalidParameterError(setting, f"needs data with classes. {hint} {table}")
    return [sorted(each.tolist()) for each in stratified_parts(data.labels, fractions, seed)]


def part_of(data: Dataset, name: str, seed: int) -> Dataset:
    """A part of the data: "all", or "train", "validation" or "test"; refused if it is empty."""
    if name == "all":
        return data
    if (found := part_if_any(data, name, seed)) is not None:
        return found
    if data.parts is None:
        raise StarcertError(f'The {name} part of {len(data)} graphs is empty. Use split = "all".')
    sizes = Counter(part for part in data.parts if part)
    there = ", ".join(f"{part} has {n}" for part, n in sizes.items()) or "no part has any"
    raise StarcertError(f"The {name} part of {len(data)} graphs is empty ({there}). Choose another --split.")


def part_if_any(data: Dataset, name: str, seed: int) -> Dataset | None:
    """The part "train", "validation" or "test", 80%, 10% and 10% of every class or the user's own; None if empty."""
    if data.parts is not None:
        which = [place for place, part in enumerate(data.parts) if part == name]
    else:
        drawn = _drawn(data, _FRACTIONS, seed, "split")
        which = dict(zip(("train", "validation", "test"), drawn, strict=True))[name]
    return data[which] if which else None
