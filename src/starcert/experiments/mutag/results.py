"""The votes on MUTAG and the certificates they give: the paper's split, all molecules, and a sweep of the noise.

Two certificates come from the same votes. The *sparsity-aware* one counts deletions and additions of any bond
(`Flip(delete, add)`). The *anisotropic* one of the paper has the present bonds and the absent ones as two regions:
it is anchored, because an attacked molecule has other bonds and would have other regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.certificate import Certificates, certify
from starcert.core.confidence import Votes, clopper_pearson
from starcert.datasets import tu
from starcert.experiments.levels import ALPHA
from starcert.experiments.mutag.training import MODELS, train_and_vote
from starcert.experiments.parts import Part, Parts
from starcert.experiments.published import published
from starcert.graphs import Graph, Partition
from starcert.metrics import accuracy, majority_share, right
from starcert.noise import Flip, Noise

__all__ = ["BOX", "Judged", "Mutag", "Settings", "compute", "settings"]

BOX = (5, 10)
"""Deletions and additions in the paper's tables."""


@dataclass(frozen=True)
class Settings:
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


def settings(samples: int | None, seed: int, quick: bool) -> Settings:
    """The settings that a command line asks for."""
    if quick:
        return Settings(samples or 2_000, samples or 1_000, 100, (0.04,), (0.02, 0.2), 2, seed)
    return Settings(samples or 100_000, min(samples or 10_000, 10_000), seed=seed)


@dataclass(frozen=True)
class Judged:
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
class Mutag:
    """All figures of the study.

    Attributes:
        settings: what they depend on.
        majority_share: the share of the most frequent class of all molecules.
        split: the paper's model and noise on one test set of 19 molecules.
        every: the same by cross-validation, all molecules tested once.
        sweep: cross-validation by (model, delete, add).
    """

    settings: Settings
    majority_share: float
    split: Judged
    every: Judged
    sweep: dict[tuple[str, float, float], Judged]

    @property
    def tested(self) -> str:
        """Which molecules the cross-validation has tested, in words."""
        n, folds = len(self.every.labels), self.settings.folds
        return (
            f"all {n} molecules by 10-fold cross-validation" if folds == 10 else f"{n} molecules, {folds} of 10 folds"
        )


def compute(settings: Settings, parts: Parts) -> Mutag:
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

    def judged(some: list[Part], d: float, a: float) -> Judged:
        return _judged([done[each.name] for each in some], data.graphs, data.labels, d, a)

    return Mutag(
        settings,
        data.all.majority_share,
        judged([split], delete, add),
        judged(every, delete, add),
        {at: judged(some, at[1], at[2]) for at, some in swept.items()},
    )


def _judged(
    results: list[dict[str, Any]], graphs: tuple[Graph, ...], labels: npt.NDArray[np.int64], delete: float, add: float
) -> Judged:
    def joined(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([np.array(result[name], dtype=np.int64) for result in results])

    tested = joined("graphs")
    votes = Votes(joined("estimation"), selection=joined("selection"))
    bounds = clopper_pearson(votes, alpha=ALPHA)
    some = [graphs[i] for i in tested]
    anchored = [Partition.from_present_edges(each, present="bonds", absent="gaps").sites(each) for each in some]
    everywhere = [Partition.everything("pairs").sites(each) for each in some]
    two, one = Noise(bonds=delete, gaps=add), Noise(pairs=Flip(delete=delete, add=add))
    return Judged(
        labels[tested],
        joined("clean"),
        votes,
        certify(bounds, two, capacity=[s.capacity(two) for s in anchored], anchored=[s.reason for s in anchored]),
        certify(bounds, one, capacity=[s.capacity(one) for s in everywhere]),
    )
