"""Directed graphs whose classes differ by direction alone: feed-forward or feedback in one and the same skeleton."""

from __future__ import annotations

from numbers import Real

import numpy as np

from starcert.datasets.dataset import Dataset
from starcert.datasets.motif import Indices, balanced_classes, complete_edges, connected_edges
from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError, whole_number

__all__ = ["arcs"]

FEED_FORWARD = 0
"""The class of motifs without a cycle."""


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
    """Directed graphs that only their directions tell apart.

    The first n_motif nodes are a tournament, one arc for each pair. Feed-forward (class 0): the nodes stand in a row,
    in random order, and every arc goes to the right; there is no cycle. Feedback (class 1): they stand on a circle, in
    random order, and every node has arcs to the half that follows it clockwise; no tournament has more cycles of three.

    The others are an Erdős–Rényi graph G(n_random, p), drawn again until it is connected, each edge an arc in a random
    direction. One more such arc, between a uniform node of either part, joins the two. The regions are `motif` and
    `random`, the arcs inside the parts, in both directions; arcs between them are fixed.

    Without directions, a graph of one class has the same law as one of the other: the motif is complete, and the class
    plays no part in the rest.

    The classes come in pairs, one graph of each in random order, so every split is balanced. A graph depends on
    the seed, the name of its split and its place in it: another size of a split only makes it longer or shorter.

    Args:
        seed: the randomness, a whole number from 0.
        train: how many graphs there are for training; with an odd number one class has one more.
        validation: how many for validation.
        test: how many for testing.
        n_motif: nodes of the motif, an odd number from 3 on: each has as many before it on the circle as after it.
        n_random: nodes of the random part.
        p: the probability of each edge of the random part.

    Example:
        >>> data = arcs(seed=0, train=4, validation=4, test=2)
        >>> data.train, data.partition, data.graphs[0].directed
        (Dataset(arcs, 4 graphs, by class: 2, 2), Partition(motif, random), True)
        >>> [int((graph.edges < 9).all(axis=1).sum()) for graph in data.test.graphs]
        [36, 36]
    """
    sizes = (train, validation, test)
    least = {"seed": 0, "train": 0, "validation": 0, "test": 0, "n_motif": 3, "n_random": 1}
    for (name, lowest), value in zip(least.items(), (seed, *sizes, n_motif, n_random), strict=True):
        whole_number(name, value, lowest)
    if n_motif % 2 == 0:
        raise InvalidParameterError("n_motif", "be odd: each node has as many before it as after it", n_motif)
    if not (isinstance(p, Real) and 0 <= p <= 1):
        raise InvalidParameterError("p", "be a probability from 0 to 1", p)
    graphs, labels = [], []
    for split, size in enumerate(sizes):
        classes = balanced_classes(size, np.random.SeedSequence(seed, spawn_key=(split,)))
        for place, label in enumerate(classes):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(split, place)))
            graphs.append(_drawn(label, n_motif, n_random, p, rng))
        labels.extend(classes)
    regions = {"motif": range(n_motif), "random": range(n_motif, n_motif + n_random)}
    return Dataset(
        graphs,
        labels,
        label_names=("feed-forward", "feedback"),
        name="arcs",
        partition=Partition.from_node_sets(regions),
        parts=np.repeat(("train", "validation", "test"), sizes).tolist(),
    )


def _drawn(label: int, n_motif: int, n_random: int, p: float, rng: np.random.Generator) -> Graph:
    """A graph of a class. From one state of the generator, those of both classes have one and the same skeleton."""
    loose = connected_edges(n_random, p, rng) + n_motif
    bridge = np.array([[rng.integers(n_motif), n_motif + rng.integers(n_random)]])
    rest = np.concatenate([loose, bridge])
    turned = rng.random(len(rest)) < 0.5
    rest[turned] = rest[turned, ::-1]
    motif = rng.permutation(n_motif)[_tournament(label, n_motif)]
    return Graph(n_motif + n_random, np.concatenate([motif, rest]), directed=True)


def _tournament(label: int, n: int) -> Indices:
    """The arcs between the places in a row, or on a circle."""
    pairs = complete_edges(n)
    if label == FEED_FORWARD:
        return pairs
    far = pairs[:, 1] - pairs[:, 0] > n // 2  # nearer the other way round
    return np.where(far[:, None], pairs[:, ::-1], pairs)
