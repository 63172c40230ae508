"""A graph neural network for some of the molecules, trained with noise, and its votes on the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from starcert.classifiers import from_dense
from starcert.datasets import tu
from starcert.datasets.dataset import Split
from starcert.experiments.levels import answers
from starcert.models.gcn import GCN
from starcert.models.training import train
from starcert.noise import Flip, Noise
from starcert.smoothing import SmoothedClassifier

__all__ = ["MODELS", "Model", "train_and_vote"]


@dataclass(frozen=True)
class Model:
    """A way to make and train the network.

    Attributes:
        title: what it is called in figures.
        pooling: over the nodes.
        learning_rate: of AdamW, at the beginning.
        halve_every: after so many epochs the rate is halved.
    """

    title: str
    pooling: Literal["max", "sum"]
    learning_rate: float
    halve_every: int


MODELS = {
    "max": Model("max pooling, rate 0.001 (the paper's text)", "max", 1e-3, 50),
    "sum": Model("sum pooling, rate 0.01", "sum", 1e-2, 100),
}


def train_and_vote(
    model: str, delete: float, add: float, fold: int | None, epochs: int, samples: int, seed: int
) -> dict[str, Any]:
    """Trains a network with noise on some molecules and lets it vote on the others.

    Args:
        model: one of `MODELS`.
        delete: the probability with which a present bond is deleted.
        add: the probability with which an absent one is added.
        fold: which tenth of the molecules is tested; None: the paper's one split, 80% / 10% / 10%.
        epochs: how many at most.
        samples: estimation votes for each tested molecule.
        seed: of weights, training and votes.

    Returns:
        The tested molecules by number, the network's own answers for them, and the votes.
    """
    data = tu("MUTAG")
    taught, held, tested, numbers = _splits(data.all, fold, seed)
    how = MODELS[model]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, so the same weights wherever it runs; and workers share the cores
    try:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(1000 * seed + (10 if fold is None else fold))
            network = GCN(np.asarray(taught.graphs[0].node_data["x"]).shape[1], data.n_classes, pooling=how.pooling)
        noise = Noise(pairs=Flip(delete=delete, add=add))
        smoothed = SmoothedClassifier(from_dense(network.dense(), n_classes=data.n_classes), noise)
        train(
            network,
            taught.graphs,
            taught.labels,
            validation=(held.graphs, held.labels),
            smoothed=smoothed,
            epochs=epochs,
            learning_rate=how.learning_rate,
            halve_every=how.halve_every,
            seed=seed,
            progress=False,
        )
        votes = smoothed.vote(tested.graphs, samples=samples, seed=seed, progress=False)
        clean = answers(smoothed.classifier, tested.graphs)
    finally:
        torch.set_num_threads(threads)
    assert votes.selection is not None
    return {
        "graphs": numbers,
        "clean": clean,
        "estimation": votes.counts.tolist(),
        "selection": votes.selection.tolist(),
    }


def _splits(every: Split, fold: int | None, seed: int) -> tuple[Split, Split, Split, list[int]]:
    """What is taught, held back to choose the epoch, and tested; and the numbers of the tested ones."""
    if fold is None:
        taught, held, tested = every.split((0.8, 0.1, 0.1), seed=seed)
        place = {id(graph): number for number, graph in enumerate(every.graphs)}
        return taught, held, tested, [place[id(graph)] for graph in tested.graphs]
    rest, test = every.folds(10, seed=seed)[fold]
    taught, held, _ = every[rest].split((8 / 9, 1 / 9, 0.0), seed=1000 * seed + fold)
    return taught, held, every[test], np.asarray(test).tolist()
