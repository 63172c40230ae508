"""Votes on the nodes of Cora-ML: a network of two graph convolutions, trained with the noise that it votes under.

The setting is that of sparse_smoothing's demonstration: the largest connected component, undirected; binary words;
20 nodes of each class to learn from, 20 to choose the epoch by, all others tested; words go with probability 0.6 and
come with 0.01.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_pyg
from starcert.classifiers.sparse_features import sparse
from starcert.datasets import NodeDataset, npz
from starcert.models.fitting import fit_nodes_with_noise
from starcert.models.node_gcn import NodeGCN
from starcert.objects import Graph
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.system.errors import StarcertError
from starcert.voting.counting import answers_on

__all__ = ["NOISES", "REGIONS", "CoraSettings", "NodeSplit", "cora", "split_nodes", "vote_on"]

WORDS = Flip(delete=0.6, add=0.01)
LINKS = Flip(delete=0.4, add=0.0005)
NOISES = {"words": Noise(words=WORDS), "links": Noise(links=LINKS), "both": Noise(links=LINKS, words=WORDS)}
REGIONS = {"words": "x", "links": "pairs"}
"""The layer of each region: features of nodes, and node pairs."""

OF_A_CLASS = 20
"""So many nodes of each class are taught, and as many choose the epoch."""

SELECTION = 1_000

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CoraSettings:
    """What the study depends on.

    Attributes:
        samples: votes on every node.
        epochs: of training at most.
        seed: of the split, of training and of all votes.
    """

    samples: int = 100_000
    epochs: int = 1_000
    seed: int = 1


@lru_cache(maxsize=1)
def cora() -> NodeDataset:
    """Cora-ML's largest connected component, words as sites; from the folder that STARCERT_DATA names."""
    given = os.environ.get("STARCERT_DATA")
    places = [Path(given, *inside, "cora_ml.npz") for inside in ((), ("CORA_ML",))] if given else []
    for place in places:
        if place.is_file():
            return npz(place, largest_component=True)
    raise StarcertError(
        f"Cora-ML is needed, a file cora_ml.npz (github.com/abojchevski/sparse_smoothing has it under data). Give its "
        f"folder in the environment variable STARCERT_DATA, which is {given or 'not set'}."
    )


@dataclass(frozen=True)
class NodeSplit:
    """Indices of nodes to learn from, to choose the epoch by, and to test on, each ascending."""

    train: Indices
    validation: Indices
    test: Indices


def split_nodes(labels: Indices, seed: int, of_a_class: int = OF_A_CLASS) -> NodeSplit:
    """So many nodes of each class to learn from, as many for validation, all others for testing.

    Example:
        >>> split = split_nodes(np.array([0, 0, 0, 1, 1, 1]), seed=0, of_a_class=1)
        >>> [len(part) for part in (split.train, split.validation, split.test)]
        [2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(np.flatnonzero(labels == each)) for each in np.unique(labels)]
    train, validation = (
        np.sort(np.concatenate([members[start : start + of_a_class] for members in dealt])) for start in (0, of_a_class)
    )
    return NodeSplit(train, validation, np.setdiff1d(np.arange(len(labels)), np.concatenate([train, validation])))


def smoothed_network(data: NodeDataset, name: str, settings: CoraSettings) -> tuple[SmoothedClassifier, Graph]:
    """The network for a noise, trained with it, and the graph as it is certified."""
    split = split_nodes(data.labels, settings.seed)
    graph, noise = data.graph, NOISES[name]
    if "words" in noise:
        graph = graph.with_bits("x")
    n_features = np.asarray(data.graph.node_data["x"]).shape[1]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(settings.seed)
        model = NodeGCN(n_features, data.n_classes, hidden=64).to(device)
    regions = {region: REGIONS[region] for region in noise}
    base = from_pyg(model, n_classes=data.n_classes, targets="nodes", nodes=split.test)
    smoothed = SmoothedClassifier(base, noise, regions)
    fit_nodes_with_noise(
        smoothed,
        graph,
        data.labels,
        train=split.train,
        validation=split.validation,
        epochs=settings.epochs,
        patience=200,
        seed=settings.seed,
        progress=False,
    )
    if device == "cpu":  # votes need no gradients, and a sparse matrix is far less work
        words = sparse("x")
        base = from_pyg(model, n_classes=data.n_classes, features=words, targets="nodes", nodes=split.test)
        smoothed = SmoothedClassifier(base, noise, regions)
    return smoothed, graph


def vote_on(name: str, settings: CoraSettings) -> dict[str, Any]:
    """A network trained with a noise, and its votes on all test nodes; seconds of each."""
    data = cora()
    start = time.perf_counter()
    smoothed, graph = smoothed_network(data, name, settings)
    trained = time.perf_counter()
    problem = smoothed.problem([graph])
    votes = smoothed.vote(
        problem, samples=settings.samples, selection_samples=SELECTION, seed=settings.seed, progress=False
    )
    voted = time.perf_counter()
    assert votes.selection is not None
    return {
        "clean": answers_on(smoothed.classifier, problem.sites[0]).reshape(-1).tolist(),
        "estimation": votes.counts.tolist(),
        "selection": votes.selection.tolist(),
        "seconds": {"training": trained - start, "votes": voted - trained},
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
    }
