"""Molecules whose bonds have types and whose atoms are sites: a GINE on MUTAG, by cross-validation.

Noise deletes bonds, adds some of any type, changes their types, and lets atoms show other elements; the network is
trained with it. Every molecule is certified once, by the network that did not see it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.benchmark.folds import fold_splits
from starcert.classifiers import Classifier, from_pyg
from starcert.datasets import Dataset, tu
from starcert.models import GINE, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.system.errors import StarcertWarning
from starcert_studies.report import Report
from starcert_studies.trials import Tested, Trial, TrialStudy
from starcert_studies.voted import Voted

ELEMENTS, TYPES = 7, 4
NOISE = sc.Noise(bonds=sc.Edges(delete=0.2, add=0.1, change=0.3, types=TYPES), atoms=sc.Categorical(0.3, ELEMENTS))
REGIONS = {"bonds": "pairs", "atoms": "x"}
RADII = {"1 delete": (1, 0, 0, 0), "1 add": (0, 1, 0, 0), "1 change": (0, 0, 1, 0), "2 change": (0, 0, 2, 0),
         "1 atom": (0, 0, 0, 1), "1 delete, 1 atom": (1, 0, 0, 1), "1 change, 1 atom": (0, 0, 1, 1)}  # fmt: skip


@dataclass(frozen=True)
class Bonds(TrialStudy):
    """A network for each fold."""

    quick: ClassVar = {"samples": 500, "epochs": 20, "folds": 2}

    samples: int = 5_000  # estimation votes for each molecule
    epochs: int = 80  # of training
    folds: int = 10  # how many of the ten folds are tested
    seed: int = 1  # of weights, splits, training and votes

    @override
    def trials(self) -> dict[str, list[Trial]]:
        folds = range(self.folds)
        return {"gine": [Trial(f"fold-{fold}", fold, NOISE, self.samples, self.seed, clean=True) for fold in folds]}

    @override
    def data(self, key: int) -> Tested:
        _, _, tested, numbers = fold_splits(molecules(), key, self.seed)
        return Tested(tested.graphs, tested.labels, NOISE, REGIONS, numbers)

    @override
    def model(self, key: int) -> Classifier:
        taught, held, _, _ = fold_splits(molecules(), key, self.seed)
        with own_generator(1000 * self.seed + key, "cpu"):
            base = from_pyg(GINE(ELEMENTS, TYPES, n_classes=2, hidden=32), n_classes=2, features="x")
        fit_with_noise(sc.SmoothedClassifier(base, NOISE, REGIONS), taught.graphs, taught.labels,
                       validation=(held.graphs, held.labels), epochs=self.epochs, learning_rate=5e-3,
                       halve_every=max(1, self.epochs // 4), seed=self.seed, progress=False)  # fmt: skip
        return base

    @override
    def outcome(self, report: Report, found: Mapping[str, Voted], results: Mapping[str, Any]) -> None:
        voted, majority = found["gine"], molecules().majority_share
        share, spread = voted.by_fold(voted.right)
        shares = {name: voted.share(radius) for name, radius in RADII.items()}
        report.table("radii", ({"radius": name, "certified": each} for name, each in shares.items()))
        certified = ", ".join(f"{each:.0%} at {name}" for name, each in shares.items())
        values = {"clean": voted.clean_accuracy, "share": share, "spread": spread, "majority": majority}
        report.sentence(certified=certified, **values)
        report.check("better", share >= majority + 0.05, enough=self == Bonds(seed=self.seed), **values)
        report.check("once", len(np.unique(voted.numbers)) == len(voted), molecules=len(voted))


@lru_cache(maxsize=1)
def molecules() -> Dataset:
    """MUTAG with types of bonds, the elements of atoms as sites."""
    data = tu("MUTAG", edge_types=True)
    with warnings.catch_warnings():  # `label` says the same; the network reads x alone
        warnings.simplefilter("ignore", StarcertWarning)
        return replace(data, graphs=tuple(each.with_categories("x") for each in data.graphs))
