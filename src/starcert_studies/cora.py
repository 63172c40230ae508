"""Nodes of Cora-ML: words of papers and links between them, each noisy alone, and both at once.

The setting of sparse_smoothing's demonstration: the largest connected component, undirected; binary words; 20 nodes of
each class to learn from, 20 to choose the epoch by, all others tested. Its certificate for two kinds of sites at once
fills a product of cells in an order that is not theirs; what that says of the same votes stands beside what is true.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.stats import binom
from typing_extensions import override

import starcert as sc
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.datasets import Dataset, npz
from starcert.models.fitting import own_generator
from starcert.system.errors import StarcertError
from starcert.voting.counting import answers_on
from starcert_studies.figures import share_maps
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part
from starcert_studies.study import Study, plain, split_nodes
from starcert_studies.voted import Grid, Voted

WORDS, LINKS = sc.Flip(delete=0.6, add=0.01), sc.Flip(delete=0.4, add=0.0005)
NOISES = {"words": sc.Noise(words=WORDS), "links": sc.Noise(links=LINKS), "both": sc.Noise(links=LINKS, words=WORDS)}
LAYERS = {"words": "x", "links": "pairs"}  # of each region: features of nodes, and node pairs
BOXES = {"words": (20, 8), "links": (10, 4), "both": (4, 2, 18, 6)}  # the largest radii that are considered
JOINT = ((0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 3, 1), (1, 0, 1, 0), (1, 0, 3, 1), (2, 0, 5, 1), (1, 1, 1, 1), (2, 1, 7, 2))
"""Radii over both at once: links deleted and added, words deleted and added."""


@dataclass(frozen=True)
class Cora(Study):
    """A network for each noise."""

    quick: ClassVar = {"samples": 60, "epochs": 60}

    samples: int = 100_000  # votes on every node
    epochs: int = 1_000  # of training at most
    seed: int = 1  # of the split, of training and of all votes

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
        how: dict[str, Any] = {"epochs": self.epochs, "patience": 200, "seed": self.seed, "progress": False}
        sc.models.fit_nodes_with_noise(smoothed, graph, data.labels, train=train, validation=validation, **how)
        if device == "cpu":  # votes need no gradients, and a sparse matrix is far less work
            smoothed = sc.SmoothedClassifier(of_nodes(features=sparse("x")), noise, regions)
        return smoothed, graph

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        check, shares = partial(report.check, enough=self.samples >= 100_000), {}
        found = {name: Voted.joined(noise, [[results[name]]]) for name, noise in NOISES.items()}
        for name, voted in found.items():
            share = shares[name] = sc.metrics.certified_share(voted.certificates, max_radius=BOXES[name])
            seconds, device = results[name]["seconds"], results[name]["device"]
            row = {"noisy": name, "votes": self.samples, "nodes": len(voted), "constant": voted.majority,
                   "without_noise": voted.clean_accuracy, "smoothed": voted.accuracy, "abstained": voted.abstained,
                   "training_s": seconds["training"], "votes_s": seconds["votes"], "device": device}  # fmt: skip
            report.table("networks", [row])
            report.sentence(
                name=name, voted=voted, nodes=len(voted), one=float(share[(1,) + (0,) * (share.ndim - 1)]),
                axis=voted.noise.axes[0], seconds=seconds["votes"], device=device,
            )  # fmt: skip
            check("right", voted.accuracy > 0.7, name=name, voted=voted)
        for name in ("words", "links"):
            right = found[name].shares(BOXES[name])
            rows = (
                {"deleted": i, "added": j, "certified": float(share), "right_and_certified": float(right[i, j])}
                for (i, j), share in np.ndenumerate(shares[name])
                if share > 0
            )
            report.table(name, rows)
        both, noise = found["both"], NOISES["both"]
        report.table("both", (joint_row(both, radius) for radius in JOINT))
        survive, p = float(shares["words"][5, 0]), float(both.bounds.p_lower.max())
        check("words", survive > 0.5, share=survive)
        more = {radius: unsorted_rho(noise, radius, p) - sc.rho_lower(noise, radius, p) for radius in JOINT}
        worst = max(more, key=more.__getitem__)
        check("unsorted", more[worst] > 0.01, more=more[worst], radius=worst)
        cuts = {f"{name} noisy": (shares[name], NOISES[name].axes) for name in ("words", "links")} | {
            "both noisy, no link attacked": (shares["both"][0, 0], noise.axes[2:]),
            "both noisy, one link deleted": (shares["both"][1, 0], noise.axes[2:]),
        }
        report.picture("ratio", share_maps, cuts, "nodes", 6.5)


@lru_cache(maxsize=1)
def cora() -> Dataset:
    """Cora-ML's largest connected component; from the folder that STARCERT_DATA names."""
    given = os.environ.get("STARCERT_DATA")
    for folder in (given, f"{given}/CORA_ML") if given else ():
        if Path(folder, "cora_ml.npz").is_file():
            return npz(Path(folder, "cora_ml.npz"), largest_component=True)
    raise StarcertError(
        f"Cora-ML is needed, a file cora_ml.npz (github.com/abojchevski/sparse_smoothing has it under data). Give its "
        f"folder in the environment variable STARCERT_DATA, which is {given or 'not set'}."
    )


def vote_on_nodes(study: Cora, name: str) -> dict[str, Any]:
    """A network trained with a noise, and its votes on all test nodes; seconds of each."""
    start = time.perf_counter()
    smoothed, graph = study.smoothed(name)
    trained = time.perf_counter()
    problem = smoothed.problem([graph])
    voting = sc.Voting(selection_samples=1_000, progress=False)
    votes = smoothed.vote(problem, samples=study.samples, seed=study.seed, voting=voting)
    labels = cora().labels[split_nodes(cora().labels, study.seed)[2]].tolist()
    clean = answers_on(smoothed.classifier, problem.sites[0]).reshape(-1).tolist()
    return plain(problem, votes, labels, clean=clean) | {
        "capacity": problem.capacities * len(labels),
        "anchored": problem.anchored * len(labels),
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

    def masses(n: int, p: float) -> Grid:
        return np.asarray(binom.pmf(np.arange(n + 1), n, p))

    sides = []
    for region, (deleted, added) in zip(noise, (radius[:2], radius[2:]), strict=True):
        delete, add = noise[region].change(1), noise[region].change(0)
        clean = np.convolve(masses(deleted, delete), masses(added, add))
        attacked = np.convolve(masses(deleted, 1 - add), masses(added, 1 - delete))
        order = np.argsort(attacked / clean, kind="stable")
        sides.append((clean[order], attacked[order]))
    mass, after = (np.outer(one, other).ravel() for one, other in zip(*sides, strict=True))
    before = np.concatenate([[0], np.cumsum(mass)[:-1]])
    taken = np.clip((p - before) / np.where(mass > 0, mass, 1), 0, 1)
    return float((taken * after).sum())
