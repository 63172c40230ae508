"""Molecules with types of bonds: a GINE that sees them beside a GIN that does not, by cross-validation on MUTAG.

Noise deletes bonds, adds some of any type, and changes their types; both networks are trained with it. Every molecule
is certified once, by the network that did not see it. A third network has its atoms under noise as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from starcert.certificates.metrics import right
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_pyg
from starcert.datasets import tu
from starcert.datasets.dataset import Dataset
from starcert.models.fitting import fit_with_noise
from starcert.models.gine import GIN, GINE
from starcert.objects.binding import bind_all
from starcert.objects.laws import Categorical, Edges, Flip
from starcert.objects.noise import Noise
from starcert.pages.plots.drawing import MAJORITY, PAGE, colour_of, new_figure
from starcert.system.errors import StarcertWarning
from starcert.system.threads import one_torch_thread
from starcert_studies.levels import Level, answers, read_votes, vote
from starcert_studies.mutag_votes import splits_of_fold
from starcert_studies.outcome import Check, Outcome, Picture, Table
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MODELS", "NOISES", "TITLE", "BondsResult", "BondsSettings", "checks", "run", "settings", "train_and_vote"]

TITLE = "Bonds: molecules with types of edges"

NOISES = ((0.1, 0.02, 0.1), (0.4, 0.05, 0.3), (0.2, 0.1, 0.3))
"""The probabilities with which a bond is deleted, one is added, and a type changes."""

ATOMS = 0.3
"""The probability with which an atom shows another element, where atoms are under noise."""

MODELS = {"gine": "GINE, types of bonds", "gin": "GIN, no types", "gine_atoms": "GINE, types and atoms"}
"""The networks, in words."""

AXES = {"delete": "deleted bonds", "add": "added bonds", "change": "changed types"}
SHOWN_FLIPS = 8
LEARNING_RATE, HALVINGS, UNITS = 5e-3, 4, 32

Radius = Mapping[str, int]
RADII: tuple[Radius, ...] = (
    *({"bonds.delete": n} for n in (1, 2, 4)),
    *({"bonds.add": n} for n in (1, 2, 4)),
    *({"bonds.change": n} for n in (1, 2, 4, 8)),
    {"bonds.delete": 1, "bonds.add": 1},
    {"bonds.delete": 1, "bonds.add": 1, "bonds.change": 1},
    {"atoms": 1},
    {"atoms": 2},
    {"bonds.delete": 1, "atoms": 1},
    {"bonds.change": 1, "atoms": 1},
    {"bonds.change": 2, "atoms": 1},
)
"""The radii of the table; those with an axis that a network does not have are not asked of it."""


@dataclass(frozen=True)
class BondsSettings:
    """What the study depends on.

    Attributes:
        samples: estimation votes for each molecule.
        epochs: of training.
        folds: how many of the ten folds are tested.
        noises: (delete, add, change), one after the other; the last one is also that of the network with noisy atoms.
        seed: of weights, splits, training and votes.
    """

    samples: int = 5_000
    epochs: int = 80
    folds: int = 10
    noises: tuple[tuple[float, float, float], ...] = NOISES
    seed: int = 1

    @property
    def trials(self) -> list[tuple[str, tuple[float, float, float]]]:
        """Each network with each noise that it is trained with."""
        return [*product(("gine", "gin"), self.noises), ("gine_atoms", self.noises[-1])]


def settings(samples: int | None, seed: int, quick: bool) -> BondsSettings:
    """The settings that a command line asks for."""
    if quick:
        return BondsSettings(samples or 500, 20, 2, NOISES[-1:], seed)
    return BondsSettings(samples or 5_000, seed=seed)


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


def noise_of(model: str, noise: tuple[float, float, float]) -> tuple[Noise, dict[str, str]]:
    """The noise of a network, and its regions: the bonds, and the atoms where they are under noise."""
    delete, add, change = noise
    if model == "gin":
        return Noise(bonds=Flip(delete=delete, add=add)), {"bonds": "pairs"}
    bonds = Edges(delete=delete, add=add, change=change)
    if model == "gine":
        return Noise(bonds=bonds), {"bonds": "pairs"}
    return Noise(bonds=bonds, atoms=Categorical(ATOMS)), {"bonds": "pairs", "atoms": "x"}


def train_and_vote(model: str, noise: tuple[float, float, float], fold: int, settings: BondsSettings) -> dict[str, Any]:
    """Trains a network with noise on nine tenths of the molecules, and lets it vote on the others.

    Returns:
        The tested molecules by number, the network's own answers for them, and the votes.
    """
    with one_torch_thread():
        data = molecules(model)
        taught, held, tested, numbers = splits_of_fold(data.all, fold, settings.seed)
        elements, types = 7, len(data.graphs[0].type_names)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(1000 * settings.seed + fold)
            network = GINE(elements, types, 2, hidden=UNITS) if types else GIN(elements, 2, hidden=UNITS)
        smoothed = SmoothedClassifier(from_pyg(network, n_classes=2), *noise_of(model, noise))
        fit_with_noise(
            smoothed,
            taught.graphs,
            taught.labels,
            validation=(held.graphs, held.labels),
            epochs=settings.epochs,
            learning_rate=LEARNING_RATE,
            halve_every=max(1, settings.epochs // HALVINGS),
            seed=settings.seed,
            progress=False,
        )
        votes = vote(smoothed, smoothed.problem(tested.graphs), settings.samples, settings.seed)
        return {"graphs": numbers, "clean": answers(smoothed.classifier, tested.graphs), **votes}


@dataclass(frozen=True)
class BondsResult:
    """What became of one network at one noise.

    Attributes:
        model: one of `MODELS`.
        noise: (delete, add, change).
        numbers: the tested molecules by number, fold after fold.
        labels: their true classes.
        fold: the fold of each.
        clean: what the networks themselves answer without noise.
        level: the votes and the certificates.
    """

    model: str
    noise: tuple[float, float, float]
    numbers: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    fold: npt.NDArray[np.int64]
    clean: npt.NDArray[np.int64]
    level: Level

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Which molecules the smoothed network answers right."""
        return right(self.level.certificates, self.labels)

    def certified(self, radius: Radius) -> npt.NDArray[np.bool_] | None:
        """Which molecules are right and certified at a radius; None if the network has no such axis.

        A network that is shown no types gives the same answer whatever they are: changes of them cost it nothing.
        """
        axes = self.level.certificates.noise.axes
        seen = {axis: n for axis, n in radius.items() if self.model != "gin" or axis != "bonds.change"}
        if not set(seen) <= set(axes):
            return None
        return self.answered & self.level.certificates.certified(tuple(seen.get(axis, 0) for axis in axes))

    def share(self, hits: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """The share of hits among all molecules, and its standard deviation over the folds."""
        return float(hits.mean()), float(np.std([hits[self.fold == each].mean() for each in np.unique(self.fold)]))


def run(settings: BondsSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    folds, weight = range(settings.folds), settings.epochs + settings.samples // 50
    work = {
        (model, noise, fold): Part(
            f"{model}-{'-'.join(f'{p:g}' for p in noise)}-{fold}",
            train_and_vote,
            (model, noise, fold, settings),
            weight,
        )
        for (model, noise), fold in product(settings.trials, folds)
    }
    done = parts.run(list(work.values()), "training and votes")
    found = [
        _result(model, noise, [done[work[model, noise, fold].name] for fold in folds])
        for model, noise in settings.trials
    ]
    every = molecules("gine").all
    return Outcome(
        _summary(found, every.majority_share),
        [
            Picture(
                "axes",
                "Share of molecules that are right and certified, by flips on one axis, for each noise "
                "(delete/add/change). The dotted line is the share of the more frequent class: a constant answer.",
                partial(_figure, [one for one in found if one.model != "gine_atoms"], every.majority_share),
            )
        ],
        [_networks(found, every.majority_share), _radii(found)],
        checks(found, every.majority_share, settings),
    )


def _result(model: str, noise: tuple[float, float, float], results: list[dict[str, Any]]) -> BondsResult:
    joined = {name: [row for each in results for row in each[name]] for name in results[0]}
    data, tested = molecules(model), np.array(joined["graphs"], dtype=np.int64)
    fold = np.repeat(np.arange(len(results)), [len(each["graphs"]) for each in results])
    level = Level.of(bind_all([data.graphs[i] for i in tested], *noise_of(model, noise)), read_votes(joined))
    return BondsResult(model, noise, tested, data.labels[tested], fold, np.array(joined["clean"]), level)


def _named(noise: tuple[float, float, float]) -> str:
    return "/".join(f"{p:g}" for p in noise)


def _in_words(radius: Radius) -> str:
    """A radius as tables have it.

    Example:
        >>> _in_words({"bonds.delete": 1, "atoms": 2})
        '1 delete, 2 atoms'
    """
    return ", ".join(f"{n} {axis.removeprefix('bonds.')}" for axis, n in radius.items())


def _networks(found: Sequence[BondsResult], majority: float) -> Table:
    rows = []
    for one in found:
        silent = ~one.level.certificates.certified((0,) * len(one.level.certificates.noise.axes))
        rows.append(
            [one.model, _named(one.noise), len(one.labels), majority, *one.share(one.clean == one.labels),
             *one.share(one.answered), float(silent.mean())]
        )  # fmt: skip
    columns = ["model", "noise", "molecules", "majority", "without_noise", "spread", "smoothed", "smoothed_spread",
               "abstained"]  # fmt: skip
    about = (
        "Shares of molecules: the more frequent class, right answers without noise and smoothed, with their standard "
        "deviations over the folds, and abstentions. The noise is delete/add/change."
    )
    return Table("networks", about, columns, rows)


def _radii(found: Sequence[BondsResult]) -> Table:
    rows = [
        [one.model, _named(one.noise), _in_words(radius), *one.share(hits)]
        for one in found
        for radius in RADII
        if (hits := one.certified(radius)) is not None
    ]
    about = (
        "Shares of molecules that are right and certified at a radius, with their standard deviations over the folds. "
        "A GIN sees no types: changes of them cost it nothing."
    )
    return Table("radii", about, ["model", "noise", "radius", "certified", "spread"], rows)


def checks(found: Sequence[BondsResult], majority: float, settings: BondsSettings) -> list[Check]:
    """What is documented of the networks, and whether it is so here."""
    whole = settings == BondsSettings(seed=settings.seed)
    few = "Documented of 5,000 votes on each molecule, 80 epochs and ten folds."
    made = []
    for one in found:
        share, spread = one.share(one.answered)
        claim = f"{one.model}, {_named(one.noise)}: smoothed, better than a constant answer by 5 points or more"
        measured = f"{share:.1%} ± {spread:.1%}; majority {majority:.1%}"
        made.append(Check(claim, "not in the paper", measured, share >= majority + 0.05, True))
    made = made if whole else [check.undecided(few) for check in made]
    once = all(len(np.unique(one.numbers)) == len(one.numbers) for one in found)
    same = all(np.array_equal(one.numbers, found[0].numbers) for one in found)
    claim = "each molecule is tested once, and the same ones by each network"
    measured = f"{len(found[0].numbers)} molecules, {len(found)} networks and noises"
    return [*made, Check(claim, "not in the paper", measured, once and same, True)]


def _summary(found: Sequence[BondsResult], majority: float) -> list[str]:
    sentences = []
    for one in found:
        told = [
            f"{one.share(hits)[0]:.0%} at {_in_words(radius)}"
            for radius in ({"bonds.delete": 1}, {"bonds.add": 1}, {"bonds.change": 1}, {"atoms": 1})
            if (hits := one.certified(radius)) is not None
        ]
        share, spread = one.share(one.answered)
        sentences.append(
            f"{MODELS[one.model]}, noise {_named(one.noise)}: right on {one.share(one.clean == one.labels)[0]:.1%} "
            f"without noise, on {share:.1%} ± {spread:.1%} smoothed (a constant answer on {majority:.1%}); right and "
            f"certified {', '.join(told)}."
        )
    return sentences


def _figure(found: Sequence[BondsResult], majority: float) -> Figure:
    noises = list(dict.fromkeys(one.noise for one in found))
    figure = new_figure(PAGE, 0.7 + 1.5 * len(noises))
    grid = figure.subplots(len(noises), len(AXES), sharex=True, sharey=True, squeeze=False)
    for (row, noise), (column, axis) in product(enumerate(noises), enumerate(AXES)):
        ax = grid[row][column]
        flips = range(SHOWN_FLIPS + 1)
        for one in (each for each in found if each.noise == noise):
            hits = [one.certified({f"bonds.{axis}": n}) for n in flips]
            number = list(MODELS).index(one.model)
            shares = [one.share(hit)[0] for hit in hits if hit is not None]
            ax.plot(flips, shares, "os^"[number] + "-", ms=3, lw=1, color=colour_of(number), label=MODELS[one.model])
        ax.axhline(majority, color=MAJORITY, ls=":", lw=1, label="constant answer")
        ax.set_ylim(0, 1)
        if row == len(noises) - 1:
            ax.set_xlabel(AXES[axis])
        if column == 0:
            ax.set_ylabel(f"{_named(noise)}\nright and certified")
    figure.legend(*grid[0][0].get_legend_handles_labels(), ncols=3, frameon=False, loc="outside upper center")
    return figure
