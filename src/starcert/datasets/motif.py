"""The paper's synthetic data: a motif that decides the class, joined to a random part that does not matter."""

from __future__ import annotations

from numbers import Real

import numpy as np
import numpy.typing as npt

from starcert.datasets.dataset import Dataset
from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError, whole_number

__all__ = ["balanced_classes", "complete_edges", "connected_edges", "motif"]

Indices = npt.NDArray[np.int64]

_TRIES = 10_000


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
    sizes = (train, validation, test)
    least = {"seed": 0, "train": 0, "validation": 0, "test": 0, "n_motif": 4, "n_random": 1}
    for (name, lowest), value in zip(least.items(), (seed, *sizes, n_motif, n_random), strict=True):
        whole_number(name, value, lowest)
    if not (isinstance(p, Real) and 0 <= p <= 1):
        raise InvalidParameterError("p", "be a probability from 0 to 1", p)
    around = np.arange(n_motif)
    motifs = np.stack([around, (around + 1) % n_motif], axis=1), complete_edges(n_motif)
    graphs, labels = [], []
    for split, size in enumerate(sizes):
        classes = balanced_classes(size, np.random.SeedSequence(seed, spawn_key=(split,)))
        for place, label in enumerate(classes):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(split, place)))
            loose = connected_edges(n_random, p, rng) + n_motif
            bridge = [[rng.integers(n_motif), n_motif + rng.integers(n_random)]]
            graphs.append(Graph(n_motif + n_random, np.concatenate([motifs[label], loose, bridge])))
        labels.extend(classes)
    regions = {"motif": range(n_motif), "random": range(n_motif, n_motif + n_random)}
    return Dataset(
        graphs,
        labels,
        label_names=("negative", "positive"),
        name="motif",
        partition=Partition.from_node_sets(regions),
        parts=np.repeat(("train", "validation", "test"), sizes).tolist(),
    )


def balanced_classes(size: int, seed: np.random.SeedSequence) -> list[int]:
    """Each class once in places 0 and 1, once in 2 and 3, and so on: every even beginning is balanced."""
    first = np.random.default_rng(seed).random((size + 1) // 2) < 0.5
    classes: list[int] = np.stack([first, ~first], axis=1).ravel()[:size].astype(int).tolist()
    return classes


def complete_edges(n_nodes: int) -> Indices:
    """All pairs of nodes, in order."""
    return np.stack(np.triu_indices(n_nodes, k=1), axis=1)


def connected_edges(n_nodes: int, p: float, rng: np.random.Generator) -> Indices:
    """The edges of G(n_nodes, p), given that it is connected."""
    pairs = complete_edges(n_nodes)
    for _ in range(_TRIES):
        edges = pairs[rng.random(len(pairs)) < p]
        if _is_connected(n_nodes, edges):
            return edges
    raise InvalidParameterError(
        "p", f"be so large that random graphs with {n_nodes} nodes are connected", p, f"None of {_TRIES:,} was."
    )


def _is_connected(n_nodes: int, edges: Indices) -> bool:
    """Whether all nodes are reached from node 0, breadth first."""
    if len(edges) < n_nodes - 1:
        return False
    adjacent = np.eye(n_nodes, dtype=bool)
    adjacent[edges[:, 0], edges[:, 1]] = adjacent[edges[:, 1], edges[:, 0]] = True
    reached, count = adjacent[0], 0
    while count < (count := int(reached.sum())):
        reached = adjacent[reached].any(axis=0)
    return count == n_nodes
