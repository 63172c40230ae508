"""Nodes of Cora-ML: words of papers and links between them, each noisy alone, and both at once.

The setting of sparse_smoothing's demonstration: the largest connected component, undirected; binary words; 20 nodes of
each class to learn from, 20 to choose the epoch by, all others tested; two graph convolutions, trained with the noise
that they vote under. Its certificate for two kinds of sites at once fills a product of cells in an order that is not
theirs; what that says of the same votes stands beside what is true.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy.stats import binom
from typing_extensions import override

import starcert as sc
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.datasets import Dataset, npz
from starcert.models.fitting import own_generator
from starcert.pages.plots.drawing import PAGE, new_figure
from starcert.pages.plots.maps import RadiusMap
from starcert.system.errors import StarcertError
from starcert.voting.counting import answers_on
from starcert_studies.outcome import Check, Outcome, Words
from starcert_studies.parts import Part
from starcert_studies.study import Study
from starcert_studies.voted import Grid, Labels, Voted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NOISES", "STUDY", "Cora", "cora", "split_nodes", "unsorted_rho"]

WORDS, LINKS = sc.Flip(delete=0.6, add=0.01), sc.Flip(delete=0.4, add=0.0005)
NOISES = {"words": sc.Noise(words=WORDS), "links": sc.Noise(links=LINKS), "both": sc.Noise(links=LINKS, words=WORDS)}
LAYERS = {"words": "x", "links": "pairs"}
"""The layer of each region: features of nodes, and node pairs."""

BOXES = {"words": (20, 8), "links": (10, 4), "both": (4, 2, 18, 6)}
"""The largest radius that is considered on each axis of a noise."""

JOINT = ((0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 3, 1), (1, 0, 1, 0), (1, 0, 3, 1), (2, 0, 5, 1), (1, 1, 1, 1), (2, 1, 7, 2))
"""Radii over both at once: links deleted and added, words deleted and added."""


@dataclass(frozen=True)
class Cora(Study):
    """A network for each noise."""

    words = Words("cora")
    quick: ClassVar = {"samples": 60, "epochs": 60}

    samples: int = 100_000  # votes on every node
    epochs: int = 1_000  # of training at most
    seed: int = 1  # of the split, of training and of all votes

    @override
    def trials(self) -> dict[str, Any]:
        return {}

    @override
    def parts(self) -> list[Part]:
        return [Part(name, vote_on_nodes, (self, name)) for name in NOISES]

    def smoothed(self, name: str) -> tuple[sc.SmoothedClassifier, sc.Graph]:
        """The network for a noise, trained with it, and the graph as it is certified."""
        data, noise = cora(), NOISES[name]
        train, validation, test = split_nodes(data.labels, self.seed)
        graph = data.graph.with_bits("x") if "words" in noise else data.graph
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with own_generator(self.seed, "cpu"):
            features = np.asarray(data.graph.node_data["x"]).shape[1]
            model = sc.models.NodeGCN(features, data.n_classes, hidden=64).to(device)
        regions = {region: LAYERS[region] for region in noise}
        of_nodes = partial(from_pyg, model, n_classes=data.n_classes, targets="nodes", nodes=test)
        smoothed = sc.SmoothedClassifier(of_nodes(), noise, regions)
        sc.models.fit_nodes_with_noise(
            smoothed, graph, data.labels, train=train, validation=validation, epochs=self.epochs, patience=200,
            seed=self.seed, progress=False,
        )  # fmt: skip
        if device == "cpu":  # votes need no gradients, and a sparse matrix is far less work
            smoothed = sc.SmoothedClassifier(of_nodes(features=sparse("x")), noise, regions)
        return smoothed, graph

    @override
    def outcome(self, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> Outcome:
        found = {name: Voted.joined(noise, [[results[name]]]) for name, noise in NOISES.items()}
        shares = {
            name: sc.metrics.certified_share(voted.certificates, max_radius=BOXES[name])
            for name, voted in found.items()
        }
        networks, summary = [], []
        for name, voted in found.items():
            seconds, device = results[name]["seconds"], results[name]["device"]
            networks.append(
                {"noisy": name, "votes": self.samples, "nodes": len(voted), "constant": voted.majority,
                 "without_noise": voted.clean_accuracy, "smoothed": voted.accuracy, "abstained": voted.abstained,
                 "training_s": seconds["training"], "votes_s": seconds["votes"], "device": device}
            )  # fmt: skip
            one = float(shares[name][(1,) + (0,) * (shares[name].ndim - 1)])
            values = {"one": one, "axis": voted.noise.axes[0], "seconds": seconds["votes"], "device": device}
            summary.append(self.words.summary(name=name, voted=voted, nodes=len(voted), **values))
        tables = [self.words.table("networks", networks)]
        for name in ("words", "links"):
            right = found[name].shares(BOXES[name])
            rows = [
                {"deleted": i, "added": j, "certified": float(share), "right_and_certified": float(right[i, j])}
                for (i, j), share in np.ndenumerate(shares[name])
                if share > 0
            ]
            tables.append(self.words.table(name, rows))
        tables.append(self.words.table("both", [joint_row(found["both"], radius) for radius in JOINT]))
        return Outcome(
            summary, [self.words.picture("ratio", partial(maps, shares))], tables, self.checks(found, shares)
        )

    def checks(self, found: Mapping[str, Voted], shares: Mapping[str, Grid]) -> list[Check]:
        """What is documented of the nodes of Cora-ML."""
        check = partial(self.words.check, enough=self.samples >= 100_000)
        made = [check("right", voted.accuracy > 0.7, name=name, voted=voted) for name, voted in found.items()]
        share, p = float(shares["words"][5, 0]), float(found["both"].bounds.p_lower.max())
        more = {
            radius: unsorted_rho(NOISES["both"], radius, p) - sc.rho_lower(NOISES["both"], radius, p)
            for radius in JOINT
        }
        worst = max(more, key=lambda radius: more[radius])
        return [
            *made,
            check("words", share > 0.5, share=share),
            check("unsorted", more[worst] > 0.01, more=more[worst], radius=worst),
        ]


@lru_cache(maxsize=1)
def cora() -> Dataset:
    """Cora-ML's largest connected component; from the folder that STARCERT_DATA names."""
    given = os.environ.get("STARCERT_DATA")
    places = [Path(given, *inside, "cora_ml.npz") for inside in ((), ("CORA_ML",))] if given else []
    for place in places:
        if place.is_file():
            return npz(place, largest_component=True)
    raise StarcertError(
        f"Cora-ML is needed, a file cora_ml.npz (github.com/abojchevski/sparse_smoothing has it under data). Give its "
        f"folder in the environment variable STARCERT_DATA, which is {given or 'not set'}."
    )


def split_nodes(labels: Labels, seed: int, of_a_class: int = 20) -> tuple[Labels, Labels, Labels]:
    """Some nodes of each class to learn from, as many for validation, all others for testing; each ascending.

    Example:
        >>> [len(part) for part in split_nodes(np.array([0, 0, 0, 1, 1, 1]), seed=0, of_a_class=1)]
        [2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(np.flatnonzero(labels == each)) for each in np.unique(labels)]
    train, validation = (
        np.sort(np.concatenate([members[start : start + of_a_class] for members in dealt])) for start in (0, of_a_class)
    )
    return train, validation, np.setdiff1d(np.arange(len(labels)), np.concatenate([train, validation]))


def vote_on_nodes(study: Cora, name: str) -> dict[str, Any]:
    """A network trained with a noise, and its votes on all test nodes; seconds of each."""
    start = time.perf_counter()
    smoothed, graph = study.smoothed(name)
    trained = time.perf_counter()
    problem = smoothed.problem([graph])
    votes = smoothed.vote(problem, samples=study.samples, selection_samples=1_000, seed=study.seed, progress=False)
    assert votes.selection is not None
    labels = cora().labels[split_nodes(cora().labels, study.seed)[2]].tolist()
    return {
        "labels": labels,
        "numbers": [],
        "capacity": problem.capacities * len(labels),
        "anchored": problem.anchored * len(labels),
        "clean": answers_on(smoothed.classifier, problem.sites[0]).reshape(-1).tolist(),
        "estimation": votes.counts.tolist(),
        "selection": votes.selection.tolist(),
        "judged": [],
        "seconds": {"training": trained - start, "votes": time.perf_counter() - trained},
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
    }


def joint_row(voted: Voted, radius: tuple[int, ...]) -> dict[str, object]:
    """A radius over links and words: what is certified, beside what cells in the wrong order say of the same bounds."""
    certified, lower = voted.certificates.certified(radius), voted.bounds.p_lower
    shares = {
        "right_and_certified": certified & (voted.certificates.labels == voted.labels),
        "certified": certified,
        "by_p_A_alone": 1 - lower < sc.slack(voted.noise, radius),
        "claimed_by_unsorted_cells": [unsorted_rho(voted.noise, radius, float(p)) > 0.5 for p in lower],
    }
    names = ("links_deleted", "links_added", "words_deleted", "words_added")
    return {**dict(zip(names, radius, strict=True)), **{name: float(np.mean(hits)) for name, hits in shares.items()}}


def unsorted_rho(noise: sc.Noise, radius: tuple[int, ...], p: float) -> float:
    """What is left of p under an attack on two regions, by cells in the order of a product, which is not theirs.

    Cells of each region are filled from those that lose most; their products are taken row after row, as if that were
    the same order. It is how a published joint certificate goes wrong, and is here to be compared with.
    """
    sides = []
    for region, (deleted, added) in zip(noise, (radius[:2], radius[2:]), strict=True):
        delete, add = noise[region].change(1), noise[region].change(0)
        clean = np.convolve(_masses(deleted, delete), _masses(added, add))
        attacked = np.convolve(_masses(deleted, 1 - add), _masses(added, 1 - delete))
        order = np.argsort(attacked / clean, kind="stable")
        sides.append((clean[order], attacked[order]))
    masses, after = (np.outer(one, other).ravel() for one, other in zip(*sides, strict=True))
    before = np.concatenate([[0], np.cumsum(masses)[:-1]])
    taken = np.clip((p - before) / np.where(masses > 0, masses, 1), 0, 1)
    return float((taken * after).sum())


def _masses(n: int, p: float) -> Grid:
    """The probabilities of how many of n sites flip."""
    return np.asarray(binom.pmf(np.arange(n + 1), n, p))


def maps(shares: Mapping[str, Grid]) -> Figure:
    """Two maps side by side, and two cuts through the radii over both."""
    cuts = {
        "words noisy": (shares["words"], NOISES["words"].axes),
        "links noisy": (shares["links"], NOISES["links"].axes),
        "both noisy, no link attacked": (shares["both"][0, 0], NOISES["both"].axes[2:]),
        "both noisy, one link deleted": (shares["both"][1, 0], NOISES["both"].axes[2:]),
    }
    figure = new_figure(PAGE, 6.5)
    axes = figure.subplots(2, 2).ravel()
    for ax, (title, (share, names)) in zip(axes, cuts.items(), strict=True):
        chart = RadiusMap((names[0], names[1]), share, None, False, "nodes")
        chart.plot(ax, bar=False).set_title(title)
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_locator().set_params(integer=True)
    chart.bar(axes[0].collections[0], list(axes))
    return figure


STUDY = Cora
