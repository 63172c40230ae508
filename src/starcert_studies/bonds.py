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
import numpy.typing as npt
from matplotlib.figure import Figure
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier
from starcert.datasets import Dataset, tu
from starcert.models import GIN, GINE
from starcert.pages.plots.drawing import MAJORITY, PAGE, colour_of, new_figure
from starcert.system.errors import StarcertWarning
from starcert_studies.outcome import Report
from starcert_studies.study import Tested, Trial, TrialStudy, fold_splits, trained_network
from starcert_studies.voted import Voted

Rates = tuple[float, float, float]  # the probabilities with which a bond is deleted, one is added, and a type changes
Set = tuple[str, Rates]  # a network and its noise
Key = tuple[str, Rates, int]  # the same for one fold
NOISES: tuple[Rates, ...] = ((0.1, 0.02, 0.1), (0.4, 0.05, 0.3), (0.2, 0.1, 0.3))
MODELS = {"gine": "GINE, types of bonds", "gin": "GIN, no types", "gine_atoms": "GINE, types and atoms"}
AXES = {"delete": "deleted bonds", "add": "added bonds", "change": "changed types"}
ONES = ("1 delete", "1 add", "1 change", "1 atoms")
LAYERS = {"bonds": "pairs", "atoms": "x"}  # of each region
ELEMENTS, TYPES, ATOMS = 7, 4, 0.3  # the last is the probability with which an atom shows another element
RADII: tuple[Mapping[str, int], ...] = (
    *({axis: n} for axis in ("delete", "add") for n in (1, 2, 4)),
    *({"change": n} for n in (1, 2, 4, 8)),
    {"delete": 1, "add": 1}, {"delete": 1, "add": 1, "change": 1},
    {"atoms": 1}, {"atoms": 2}, {"delete": 1, "atoms": 1}, {"change": 1, "atoms": 1}, {"change": 2, "atoms": 1},
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
    def trials(self) -> dict[Set, list[Trial]]:
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
        return Tested(tested.graphs, tested.labels, noise, {region: LAYERS[region] for region in noise}, numbers)

    @override
    def model(self, key: Key) -> Classifier:
        model, rates, fold = key
        taught, held, _, _ = fold_splits(molecules(model).all, fold, self.seed)
        noise = noise_of(model, rates)
        network = partial(GIN, ELEMENTS) if model == "gin" else partial(GINE, ELEMENTS, TYPES)
        return trained_network(
            partial(network, n_classes=2, hidden=32), 1000 * self.seed + fold, noise,
            {region: LAYERS[region] for region in noise}, taught, held, epochs=self.epochs, learning_rate=5e-3,
            halve_every=max(1, self.epochs // 4), seed=self.seed,
        )  # fmt: skip

    @override
    def outcome(self, report: Report, found: Mapping[Set, Voted], results: Mapping[str, Any]) -> None:
        majority, whole = molecules("gine").all.majority_share, self == Bonds(seed=self.seed)
        for (model, rates), voted in found.items():
            noise = _named(rates)
            clean, (share, deviation) = voted.by_fold(voted.clean == voted.labels), voted.by_fold(voted.right)
            row = {"model": model, "noise": noise, "molecules": len(voted), "majority": majority,
                   "without_noise": clean[0], "spread": clean[1], "smoothed": share, "smoothed_spread": deviation,
                   "abstained": voted.abstained}  # fmt: skip
            report.table("networks", [row])
            shares = {
                ", ".join(f"{n} {axis}" for axis, n in radius.items()): voted.by_fold(hits)
                for radius in RADII
                if (hits := certified(model, voted, radius)) is not None
            }
            for radius, (each, spread) in shares.items():
                report.table(
                    "radii", [{"radius": radius, "certified": each, "spread": spread}], model=model, noise=noise
                )
            ones = ", ".join(f"{shares[name][0]:.0%} at {name}" for name in ONES if name in shares)
            values = {"title": MODELS[model], "clean": clean[0], "model": model, "noise": noise, "share": share,
                      "deviation": deviation, "majority": majority, "certified": ones}  # fmt: skip
            report.sentence(**values)
            report.check("better", share >= majority + 0.05, enough=whole, **values)
        first, *others = (voted.numbers for voted in found.values())
        once = len(np.unique(first)) == len(first) and all(np.array_equal(first, each) for each in others)
        report.check("once", once, molecules=len(first), sets=len(found))
        shown = {at: voted for at, voted in found.items() if at[0] != "gine_atoms"}
        report.picture("axes", axes_figure, shown, majority)


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


def _named(rates: Rates) -> str:
    return "/".join(f"{p:g}" for p in rates)


def noise_of(model: str, rates: Rates) -> sc.Noise:
    """The noise of a network."""
    delete, add, change = rates
    if model == "gin":
        return sc.Noise(bonds=sc.Flip(delete=delete, add=add))
    bonds = sc.Edges(delete=delete, add=add, change=change, types=TYPES)
    return sc.Noise(bonds=bonds) if model == "gine" else sc.Noise(bonds=bonds, atoms=sc.Categorical(ATOMS, ELEMENTS))


def certified(model: str, voted: Voted, radius: Mapping[str, int]) -> npt.NDArray[np.bool_] | None:
    """Which molecules are right and certified at a radius; None if the network has no such axis.

    A network that sees no types gives the same answer whatever they are: changes of them cost it nothing.
    """
    axes = [axis.removeprefix("bonds.") for axis in voted.noise.axes]
    seen = {axis: n for axis, n in radius.items() if model != "gin" or axis != "change"}
    if not set(seen) <= set(axes):
        return None
    return voted.right & voted.certificates.certified(tuple(seen.get(axis, 0) for axis in axes))


def axes_figure(found: Mapping[Set, Voted], majority: float) -> Figure:
    """The share right and certified by flips on each axis, a row of panels for each noise."""
    noises = list(dict.fromkeys(rates for _, rates in found))
    figure = new_figure(PAGE, 0.7 + 1.5 * len(noises))
    grid = figure.subplots(len(noises), len(AXES), sharex=True, sharey=True, squeeze=False)
    for (row, noise), (column, axis) in product(enumerate(noises), enumerate(AXES)):
        ax = grid[row][column]
        for number, model in enumerate(MODELS):
            if (model, noise) in found:
                hits = (certified(model, found[model, noise], {axis: n}) for n in range(9))
                shares = [each.mean() for each in hits if each is not None]
                ax.plot(shares, "os^"[number] + "-", ms=3, lw=1, color=colour_of(number), label=MODELS[model])
        ax.axhline(majority, color=MAJORITY, ls=":", lw=1, label="constant answer")
        ax.set_ylim(0, 1)
        if row == len(noises) - 1:
            ax.set_xlabel(AXES[axis])
        if column == 0:
            ax.set_ylabel(f"{_named(noise)}\nright and certified")
    figure.legend(*grid[0][0].get_legend_handles_labels(), ncols=3, frameon=False, loc="outside upper center")
    return figure
