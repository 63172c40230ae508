"""Nodes of Cora-ML: words of papers and links between them, each noisy alone, and both at once.

The setting of sparse_smoothing's demonstration: the largest connected component, undirected; binary words; 20 nodes of
each class to learn from, 20 to choose the epoch by, all others tested.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.benchmark.data import nodes_of
from starcert.benchmark.networks import here
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.datasets.parts import split_nodes
from starcert.models.fitting import own_generator
from starcert.system.parts import Part
from starcert.voting.ask import answers_on
from starcert_studies.report import Report
from starcert_studies.trials import Study, plain
from starcert_studies.voted import Voted

WORDS, LINKS = sc.Flip(delete=0.6, add=0.01), sc.Flip(delete=0.4, add=0.0005)
NOISES = {"words": sc.Noise(words=WORDS), "links": sc.Noise(links=LINKS), "both": sc.Noise(links=LINKS, words=WORDS)}
LAYERS = {"words": "x", "links": "pairs"}  # of each region: features of nodes, and node pairs
RADII: dict[str, list[tuple[int, ...]]] = {
    "words": [(deleted, added) for added in (0, 1, 2) for deleted in range(0, 21, 3)],
    "links": [(1, 0), (3, 0), (10, 0), (0, 1), (1, 1)],
    "both": [(0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 1, 0), (0, 0, 3, 1), (1, 0, 3, 1), (2, 0, 5, 1), (1, 1, 1, 1)],
}
"""By region: deleted, added; where both are noisy, links first."""


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
        data, noise, device = nodes_of("Cora-ML"), NOISES[name], here()[0]
        train, validation, test = split_nodes(data.labels, self.seed)
        graph = data.graph.with_bits("x") if "words" in noise else data.graph
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
    def votes(self, parts: Any) -> tuple[dict[Any, Voted], dict[str, Any]]:
        _, results = super().votes(parts)
        return {name: Voted.joined(noise, [[results[name]]]) for name, noise in NOISES.items()}, results

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        check = partial(report.check, enough=self.samples >= 100_000)
        for name, voted in found.items():
            one = (1,) + (0,) * (len(voted.noise.axes) - 1)
            row = {"noisy": name, "votes": self.samples, "nodes": len(voted), "constant": voted.majority,
                   "without_noise": voted.clean_accuracy, "smoothed": voted.accuracy,
                   "abstained": float(voted.certificates.abstained.mean()), **results[name]["about"]}  # fmt: skip
            report.table("networks", [row])
            values = {"name": name, "voted": voted, "one": float(voted.certificates.certified(one).mean())}
            report.sentence(nodes=len(voted), axis=voted.noise.axes[0], **results[name]["about"], **values)
            check("right", voted.accuracy > 0.7, **values)
            rows = (
                {"radius": str(radius), "certified": float(voted.certificates.certified(radius).mean()),
                 "right_and_certified": voted.share(radius)}
                for radius in RADII[name]
            )  # fmt: skip
            report.table("radii", rows, noisy=name)
        share = float(found["words"].certificates.certified((5, 0)).mean())
        check("words", share > 0.5, share=share)


def vote_on_nodes(study: Cora, name: str) -> dict[str, Any]:
    """A network trained with a noise, and its votes on all test nodes; seconds of each."""
    start = time.perf_counter()
    smoothed, graph = study.smoothed(name)
    trained = time.perf_counter()
    problem = smoothed.problem([graph])
    voting = sc.Voting(selection_samples=1_000, progress=False)
    votes = smoothed.vote(problem, samples=study.samples, seed=study.seed, voting=voting)
    data = nodes_of("Cora-ML")
    labels = data.labels[split_nodes(data.labels, study.seed)[2]].tolist()
    clean = answers_on(smoothed.classifier, problem.sites[0]).reshape(-1).tolist()
    seconds = {"training": trained - start, "votes_s": time.perf_counter() - trained}
    return plain(problem, votes, labels, clean=clean) | {
        "capacity": problem.capacities * len(labels), "anchored": problem.anchored * len(labels),
        "about": seconds | {"device": here()[1]},
    }  # fmt: skip
