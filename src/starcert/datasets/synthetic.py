"""Synthetic data: a motif that decides the class, joined to a random part that does not matter.

The paper's motifs are a cycle or a complete graph (`motif`). Those of `arcs` differ by direction alone: feed-forward or
feedback on one and the same skeleton.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np

from starcert.datasets.dataset import Dataset, numbered_names
from starcert.objects import Graph, Partition
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, whole_number

_MAX_TRIES = 10_000


def motif(
    seed: int = 0,
    *,
    train: int = 1000,
    validation: int = 1000,
    test: int = 100,
    n_motif: int = 10,
    n_random: int = 10,
    p: float = 0.5,
) -> Dataset:
    """The data of the paper's synthetic experiment.

    The first n_motif nodes are a cycle (class 0, negative) or a complete graph (class 1, positive). The others are an
    Erdős–Rényi graph G(n_random, p), drawn again until it is connected. One edge, from a uniform node of either part,
    joins the two. The regions are `motif` and `random`, the pairs inside the parts; pairs between them are fixed.

    The classes come in pairs, one graph of each in random order, so every split is balanced. A graph depends on
    the seed, the name of its split and its place in it: another size of a split only makes it longer or shorter.

    Args:
        seed: the randomness, a whole number from 0.
        train: how many graphs there are for training; with an odd number one class has one more.
        validation: how many for validation.
        test: how many for testing.
        n_motif: nodes of the motif, 4 or more: a cycle of three is complete.
        n_random: nodes of the random part.
        p: the probability of each edge of the random part.

    Example:
        >>> data = motif(seed=0, train=4, validation=4, test=2)
        >>> data.train, data.partition
        (Dataset(motif, 4 graphs, by class: 2, 2), Partition(motif, random))
        >>> sorted(int((graph.edges < 10).all(axis=1).sum()) for graph in data.test.graphs)
        [10, 45]
    """
    whole_number("n_motif", n_motif, 4)
    sizes = train, validation, test
    return _dataset("motif", _undirected, ("negative", "positive"), seed, sizes, n_motif, n_random, p)


def arcs(
    seed: int = 0,
    *,
    train: int = 400,
    validation: int = 100,
    test: int = 100,
    n_motif: int = 9,
    n_random: int = 10,
    p: float = 0.5,
) -> Dataset:
    """Directed graphs that differ only in the directions of their arcs.

    The first n_motif nodes are a tournament, one arc for each pair. Feed-forward (class 0): the nodes stand in a row,
    in random order, and every arc goes to the right; there is no cycle. Feedback (class 1): they stand on a circle, in
    random order, and every node has arcs to the half that follows it clockwise; no tournament has more cycles of three.

    The random part and the arc that joins it are those of `motif`, each in a random direction; the regions, classes,
    splits and parameters are those of `motif` too, but n_motif is an odd number from 3 on: each node has as many before
    it on the circle as after it. Without directions, graphs of both classes have the same law.

    Example:
        >>> data = arcs(seed=0, train=4, validation=4, test=2)
        >>> data.train, data.partition, data.graphs[0].directed
        (Dataset(arcs, 4 graphs, by class: 2, 2), Partition(motif, random), True)
        >>> [int((graph.edges < 9).all(axis=1).sum()) for graph in data.test.graphs]
        [36, 36]
    """
    if whole_number("n_motif", n_motif, 3) % 2 == 0:
        raise InvalidParameterError("n_motif", "be odd: each node has as many before it as after it", n_motif)
    sizes = train, validation, test
    return _dataset("arcs", _directed, ("feed-forward", "feedback"), seed, sizes, n_motif, n_random, p)


def _dataset(
    name: str,
    drawn: Callable[[int, int, int, float, np.random.Generator], Graph],
    label_names: tuple[str, str],
    seed: int,
    sizes: tuple[int, int, int],
    n_motif: int,
    n_random: int,
    p: float,
) -> Dataset:
    """A data set of graphs that `drawn` makes."""
    for parameter, value in zip(("seed", "train", "validation", "test"), (seed, *sizes), strict=True):
        whole_number(parameter, value, 0)
    whole_number("n_random", n_random, 1)
    if not (isinstance(p, Real) and 0 <= p <= 1):
        raise InvalidParameterError("p", "be a probability from 0 to 1", p)
    graphs, labels = [], []
    for split, size in enumerate(sizes):
        classes = _balanced_classes(size, np.random.SeedSequence(seed, spawn_key=(split,)))
        for place, label in enumerate(classes):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(split, place)))
            graphs.append(drawn(label, n_motif, n_random, p, rng))
        labels.extend(classes)
    regions = {"motif": range(n_motif), "random": range(n_motif, n_motif + n_random)}
    return Dataset(
        graphs,
        labels,
        label_names=label_names,
        name=name,
        names=numbered_names(name, range(1, len(graphs) + 1)),
        partition=Partition.from_node_sets(regions),
        parts=np.repeat(("train", "validation", "test"), sizes).tolist(),
    )


def _balanced_classes(size: int, seed: np.random.SeedSequence) -> list[int]:
    """Each class once in places 0 and 1, once in 2 and 3, and so on."""
    first = np.random.default_rng(seed).random((size + 1) // 2) < 0.5
    classes: list[int] = np.stack([first, ~first], axis=1).ravel()[:size].astype(int).tolist()
    return classes


def _complete_edges(n_nodes: int) -> Indices:
    return np.stack(np.triu_indices(n_nodes, k=1), axis=1)


def _random_part(n_motif: int, n_random: int, p: float, rng: np.random.Generator) -> Indices:
    """The edges of the random part, and the one that joins it to the motif."""
    loose = _connected_edges(n_random, p, rng) + n_motif
    return np.concatenate([loose, [[rng.integers(n_motif), n_motif + rng.integers(n_random)]]])


def _connected_edges(n_nodes: int, p: float, rng: np.random.Generator) -> Indices:
    """The edges of G(n_nodes, p), given that it is connected."""
    pairs = _complete_edges(n_nodes)
    for _ in range(_MAX_TRIES):
        edges = pairs[rng.random(len(pairs)) < p]
        if _is_connected(n_nodes, edges):
            return edges
    raise InvalidParameterError(
        "p", f"be so large that random graphs with {n_nodes} nodes are connected", p, f"None of {_MAX_TRIES:,} was."
    )


def _is_connected(n_nodes: int, edges: Indices) -> bool:
    """True if all nodes are reached from node 0, breadth first."""
    if len(edges) < n_nodes - 1:
        return False
    adjacent = np.eye(n_nodes, dtype=bool)
    adjacent[edges[:, 0], edges[:, 1]] = adjacent[edges[:, 1], edges[:, 0]] = True
    reached, count = adjacent[0], 0
    while count < (count := int(reached.sum())):
        reached = adjacent[reached].any(axis=0)
    return count == n_nodes


def _undirected(label: int, n_motif: int, n_random: int, p: float, rng: np.random.Generator) -> Graph:
    around = np.arange(n_motif)
    ring = np.stack([around, (around + 1) % n_motif], axis=1)
    rest = _random_part(n_motif, n_random, p, rng)
    return Graph(n_motif + n_random, np.concatenate([_complete_edges(n_motif) if label else ring, rest]))


def _directed(label: int, n_motif: int, n_random: int, p: float, rng: np.random.Generator) -> Graph:
    """A directed graph of a class. From one state of the generator, both classes have the same skeleton."""
    rest = _random_part(n_motif, n_random, p, rng)
    turned = rng.random(len(rest)) < 0.5
    rest[turned] = rest[turned, ::-1]
    pairs = _complete_edges(n_motif)  # from left to right in a row
    far = pairs[:, 1] - pairs[:, 0] > n_motif // 2  # on a circle, nearer the other way round
    tournament = np.where(far[:, None], pairs[:, ::-1], pairs) if label else pairs
    return Graph(n_motif + n_random, np.concatenate([rng.permutation(n_motif)[tournament], rest]), directed=True)
