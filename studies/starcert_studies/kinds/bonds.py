"""Molecules with types of bonds: a GINE that sees them beside a GIN that does not, by cross-validation on MUTAG.

Noise deletes bonds, adds some of any type, and changes their types; both networks are trained with it. Every molecule
is certified once, by the network that did not see it. A third network has its atoms under noise as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.benchmark.folds import fold_splits
from starcert.classifiers import Classifier
from starcert.datasets import Dataset, tu
from starcert.models import GIN, GINE
from starcert.system.errors import StarcertWarning
from starcert_studies.report import Report
from starcert_studies.trials import Tested, Trial, TrialStudy, trained_network
from starcert_studies.voted import Voted

Rates = tuple[float, float, float]  # the probabilities with which a bond is deleted, one is added, and a type changes
Key = tuple[str, Rates, int]  # a network, its noise, and the fold
NOISES: tuple[Rates, ...] = ((0.1, 0.02, 0.1), (0.4, 0.05, 0.3), (0.2, 0.1, 0.3))
MODELS = {"gine": "GINE, types of bonds", "gin": "GIN, no types", "gine_atoms": "GINE, types and atoms"}
ELEMENTS, TYPES, ATOMS = 7, 4, 0.3  # the last is the probability with which an atom shows another element
RADII: tuple[Mapping[str, int], ...] = (
    *({axis: n} for axis in ("delete", "add", "change", "atoms") for n in (1, 2, 4)),
    {"delete": 1, "add": 1}, {"delete": 1, "add": 1, "change": 1}, {"delete": 1, "atoms": 1},
    {"change": 1, "atoms": 1},
)  # fmt: skip
"""Of the table; those with an axis that a network does not have are left out for it."""


@dataclass(frozen=True)
class Bonds(TrialStudy):
    """Three networks, each trained with each noise."""

    quick: ClassVar = {"samples": 500, "epochs": 20, "folds": 2, "noises": NOISES[-1:]}

    samples: int = 5_000  # estimation votes for each molecule
    epochs: int = 80  # of training
    folds: int = 10  # how many of the ten folds are tested
    noises: tuple[Rates, ...] = NOISES  # one after the other; the last one is also that of the network with noisy atoms
    seed: int = 1  # of weights, splits, training and votes

    @override
    def trials(self) -> dict[tuple[str, Rates], list[Trial]]:
        return {
            (model, rates): [
                Trial(f"{model}-{'-'.join(f'{p:g}' for p in rates)}-{fold}", (model, rates, fold),
                      noise_of(model, rates), self.samples, self.seed, clean=True)
                for fold in range(self.folds)
            ]
            for model, rates in [*product(("gine", "gin"), self.noises), ("gine_atoms", self.noises[-1])]
        }  # fmt: skip

    @override
    def data(self, key: Key) -> Tested:
        _, _, tested, numbers = fold_splits(molecules(key[0]).all, key[2], self.seed)
        noise = noise_of(*key[:2])
        return Tested(tested.graphs, tested.labels, noise, layers_of(noise), numbers)

    @override
    def model(self, key: Key) -> Classifier:
        model, rates, fold = key
        taught, held, _, _ = fold_splits(molecules(model).all, fold, self.seed)
        noise = noise_of(model, rates)
        network = partial(GIN, ELEMENTS) if model == "gin" else partial(GINE, ELEMENTS, TYPES)
        return trained_network(
            partial(network, n_classes=2, hidden=32), 1000 * self.seed + fold, noise, layers_of(noise), taught, held,
            epochs=self.epochs, learning_rate=5e-3, halve_every=max(1, self.epochs // 4), seed=self.seed,
        )  # fmt: skip

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        majority, whole = molecules("gine").all.majority_share, self == Bonds(seed=self.seed)
        for (model, rates), voted in found.items():
            noise, (share, deviation) = "/".join(f"{p:g}" for p in rates), voted.by_fold(voted.right)
            row = {"model": model, "noise": noise, "molecules": len(voted), "majority": majority,
                   "without_noise": voted.clean_accuracy, "smoothed": share, "spread": deviation}  # fmt: skip
            report.table("networks", [row])
            shares = certified(model, voted)
            rows = ({"radius": radius, "certified": each} for radius, each in shares.items())
            report.table("radii", rows, model=model, noise=noise)
            ones = ", ".join(f"{each:.0%} at {name}" for name, each in shares.items() if name.startswith("1 ")
                             and "," not in name)  # fmt: skip
            values = {"title": MODELS[model], "clean": voted.clean_accuracy, "model": model, "noise": noise,
                      "share": share, "deviation": deviation, "majority": majority, "certified": ones}  # fmt: skip
            report.sentence(**values)
            report.check("better", share >= majority + 0.05, enough=whole, **values)
        first, *others = (voted.numbers for voted in found.values())
        once = len(np.unique(first)) == len(first) and all(np.array_equal(first, each) for each in others)
        report.check("once", once, molecules=len(first), sets=len(found))


@lru_cache(maxsize=3)
def molecules(model: str) -> Dataset:
    """MUTAG as a network sees it: with types of bonds or without, the elements of atoms as sites or as plain data."""
    data = tu("MUTAG", edge_types=model != "gin")
    if model != "gine_atoms":
        return data
    with warnings.catch_warnings():  # `label` says the same; the networks here read x alone
        warnings.simplefilter("ignore", StarcertWarning)
        graphs = [each.with_categories("x") for each in data.graphs]
    return replace(data, graphs=tuple(graphs))


def noise_of(model: str, rates: Rates) -> sc.Noise:
    """The noise of a network."""
    delete, add, change = rates
    if model == "gin":
        return sc.Noise(bonds=sc.Flip(delete=delete, add=add))
    bonds = sc.Edges(delete=delete, add=add, change=change, types=TYPES)
    return sc.Noise(bonds=bonds) if model == "gine" else sc.Noise(bonds=bonds, atoms=sc.Categorical(ATOMS, ELEMENTS))


def layers_of(noise: sc.Noise) -> dict[str, str]:
    """The layer of each region."""
    return {region: {"bonds": "pairs", "atoms": "x"}[region] for region in noise}


def certified(model: str, voted: Voted) -> dict[str, float]:
    """The share of molecules that are right and certified at each of `RADII` that the network has axes for.

    A network that sees no types gives the same answer whatever they are: changes of them cost it nothing.
    """
    axes, found = [axis.removeprefix("bonds.") for axis in voted.noise.axes], {}
    for radius in RADII:
        seen = {axis: n for axis, n in radius.items() if model != "gin" or axis != "change"}
        if set(seen) <= set(axes):
            name = ", ".join(f"{n} {axis}" for axis, n in radius.items())
            found[name] = voted.share(tuple(seen.get(axis, 0) for axis in axes))
    return found
