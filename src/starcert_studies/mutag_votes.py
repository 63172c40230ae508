"""Networks trained on MUTAG, their votes and their certificates: one split, all molecules, a sweep of the noise.

Two certificates come from the same votes. The *sparsity-aware* one counts deletions and additions of any bond
(`Flip(delete, add)`). The *anisotropic* one of the paper has the present bonds and the absent ones as two regions:
it is anchored, because an attacked molecule has other bonds and would have other regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from starcert.certificates.certify import Certificates, certify
from starcert.certificates.metrics import accuracy, majority_share, right
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_dense
from starcert.datasets import tu
from starcert.datasets.dataset import Split
from starcert.math.confidence import Votes, clopper_pearson
from starcert.models.gcn import GCN
from starcert.models.training import train
from starcert.objects import Graph, Partition
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.system.threads import one_torch_thread
from starcert_studies.levels import ALPHA, answers
from starcert_studies.outcome import published
from starcert_studies.parts import Part, StudyParts

__all__ = [
    "BOX",
    "MODELS",
    "JudgedMolecules",
    "MutagResults",
    "MutagSettings",
    "Network",
    "compute",
    "settings",
    "splits_of_fold",
    "train_and_vote",
    "train_fold",
]


@dataclass(frozen=True)
class Network:
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
    "max": Network("max pooling, rate 0.001 (the paper's text)", "max", 1e-3, 50),
    "sum": Network("sum pooling, rate 0.01", "sum", 1e-2, 100),
}


def train_fold(
    model: str, delete: float, add: float, fold: int | None, epochs: int, seed: int
) -> tuple[SmoothedClassifier, Split, list[int]]:
    """Trains a network with noise on some molecules; returns it smoothed, the others, and their numbers.

    Args:
        model: one of `MODELS`.
        delete: the probability with which a present bond is deleted.
        add: the probability with which an absent one is added.
        fold: which tenth of the molecules is tested; None: the paper's one split, 80% / 10% / 10%.
        epochs: how many at most.
        seed: of weights and training.
    """
    data = tu("MUTAG")
    taught, held, tested, numbers = splits_of_fold(data.all, fold, seed)
    how = MODELS[model]
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
    return smoothed, tested, numbers


def train_and_vote(
    model: str, delete: float, add: float, fold: int | None, epochs: int, samples: int, seed: int
) -> dict[str, Any]:
    """Trains a network (`train_fold`) and lets it vote.

    Returns:
        The tested molecules by number, the network's own answers for them, and the votes.
    """
    with one_torch_thread():
        smoothed, tested, numbers = train_fold(model, delete, add, fold, epochs, seed)
        votes = smoothed.vote(tested.graphs, samples=samples, seed=seed, progress=False)
        clean = answers(smoothed.classifier, tested.graphs)
    assert votes.selection is not None
    return {
        "graphs": numbers,
        "clean": clean,
        "estimation": votes.counts.tolist(),
        "selection": votes.selection.tolist(),
    }


def splits_of_fold(every: Split, fold: int | None, seed: int) -> tuple[Split, Split, Split, list[int]]:
    """What is taught, held back to choose the epoch, and tested; and the numbers of the tested ones."""
    if fold is None:
        taught, held, tested = every.split((0.8, 0.1, 0.1), seed=seed)
        place = {id(graph): number for number, graph in enumerate(every.graphs)}
        return taught, held, tested, [place[id(graph)] for graph in tested.graphs]
    rest, test = every.folds(10, seed=seed)[fold]
    taught, held, _ = every[rest].split((8 / 9, 1 / 9, 0.0), seed=1000 * seed + fold)
    return taught, held, every[test], np.asarray(test).tolist()


BOX = (5, 10)
"""Deletions and additions in the paper's tables."""


@dataclass(frozen=True)
class MutagSettings:
    """What the study depends on.

    Attributes:
        samples: estimation votes for each molecule at the paper's noise.
        sweep_samples: the same at each noise of the sweep.
        epochs: of training, at most.
        deletes: deletion probabilities of the sweep.
        adds: addition probabilities of the sweep.
        folds: how many of the ten folds are tested.
        seed: of weights, splits, training and votes.
    """

    samples: int = 100_000
    sweep_samples: int = 10_000
    epochs: int = 500
    deletes: tuple[float, ...] = (0.04, 0.1, 0.3)
    adds: tuple[float, ...] = (0.02, 0.05, 0.2)
    folds: int = 10
    seed: int = 1


def settings(samples: int | None, seed: int, quick: bool) -> MutagSettings:
    """The settings that a command line asks for."""
    if quick:
        return MutagSettings(samples or 2_000, samples or 1_000, 100, (0.04,), (0.02, 0.2), 2, seed)
    return MutagSettings(samples or 100_000, min(samples or 10_000, 10_000), seed=seed)


@dataclass(frozen=True)
class JudgedMolecules:
    """Molecules, their votes, and the two certificates that those give.

    Attributes:
        labels: their true classes.
        clean: what the network itself answers.
        votes: of the network on noisy copies.
        anisotropic: present and absent bonds as two regions, anchored.
        sparsity_aware: deletions and additions anywhere.
    """

    labels: npt.NDArray[np.int64]
    clean: npt.NDArray[np.int64]
    votes: Votes
    anisotropic: Certificates
    sparsity_aware: Certificates

    @property
    def certificates(self) -> dict[str, Certificates]:
        """Both, by the names that the published figures have."""
        return {"anisotropic": self.anisotropic, "sparsity_aware": self.sparsity_aware}

    @property
    def right(self) -> int:
        """How many molecules the smoothed network answers right; an abstention is no right answer.

        Either certificate tells: both are made from the same bounds.
        """
        return int(right(self.sparsity_aware, self.labels).sum())

    @property
    def accuracy(self) -> float:
        """The share of those."""
        return accuracy(self.sparsity_aware, self.labels)

    @property
    def largest_share(self) -> float:
        """How many of the smoothed answers are of one class: 1 for a constant network."""
        return majority_share(self.votes.counts.argmax(axis=1))


@dataclass(frozen=True)
class MutagResults:
    """All figures of the study.

    Attributes:
        settings: what they depend on.
        majority_share: the share of the most frequent class of all molecules.
        split: the paper's model and noise on one test set of 19 molecules.
        every: the same by cross-validation, all molecules tested once.
        sweep: cross-validation by (model, delete, add).
    """

    settings: MutagSettings
    majority_share: float
    split: JudgedMolecules
    every: JudgedMolecules
    sweep: dict[tuple[str, float, float], JudgedMolecules]

    @property
    def tested(self) -> str:
        """Which molecules the cross-validation has tested, in words."""
        n, folds = len(self.every.labels), self.settings.folds
        return (
            f"all {n} molecules by 10-fold cross-validation" if folds == 10 else f"{n} molecules, {folds} of 10 folds"
        )


def compute(settings: MutagSettings, parts: StudyParts) -> MutagResults:
    """Everything but drawing and judging."""
    data = tu("MUTAG")
    delete, add = published("mutag")["delete"], published("mutag")["add"]
    folds = range(settings.folds)

    def part(name: str, model: str, d: float, a: float, fold: int | None, samples: int) -> Part:
        weight = settings.epochs + samples // 200
        return Part(name, train_and_vote, (model, d, a, fold, settings.epochs, samples, settings.seed), weight)

    split = part("split", "max", delete, add, None, settings.samples)
    every = [part(f"paper-{fold}", "max", delete, add, fold, settings.samples) for fold in folds]
    swept = {
        (model, d, a): [part(f"{model}-{d}-{a}-{fold}", model, d, a, fold, settings.sweep_samples) for fold in folds]
        for model, d, a in product(MODELS, settings.deletes, settings.adds)
    }
    done = parts.run([split, *every, *(each for some in swept.values() for each in some)], "training and votes")

    def judged(some: list[Part], d: float, a: float) -> JudgedMolecules:
        return _judged([done[each.name] for each in some], data.graphs, data.labels, d, a)

    return MutagResults(
        settings,
        data.all.majority_share,
        judged([split], delete, add),
        judged(every, delete, add),
        {at: judged(some, at[1], at[2]) for at, some in swept.items()},
    )


def _judged(
    results: list[dict[str, Any]], graphs: tuple[Graph, ...], labels: npt.NDArray[np.int64], delete: float, add: float
) -> JudgedMolecules:
    def joined(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([np.array(result[name], dtype=np.int64) for result in results])

    tested = joined("graphs")
    votes = Votes(joined("estimation"), selection=joined("selection"))
    bounds = clopper_pearson(votes, alpha=ALPHA)
    some = [graphs[i] for i in tested]
    anchored = [Partition.from_present_edges(each, present="bonds", absent="gaps").sites(each) for each in some]
    everywhere = [Partition.everything("pairs").sites(each) for each in some]
    two, one = Noise(bonds=delete, gaps=add), Noise(pairs=Flip(delete=delete, add=add))
    return JudgedMolecules(
        labels[tested],
        joined("clean"),
        votes,
        certify(bounds, two, capacity=[s.capacity(two) for s in anchored], anchored=[s.reason for s in anchored]),
        certify(bounds, one, capacity=[s.capacity(one) for s in everywhere]),
    )
