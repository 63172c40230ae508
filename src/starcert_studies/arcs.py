"""Directed graphs that direction alone tells apart, and what is certified of them; without directions, nothing is left.

Two classifiers: one that counts cycles of three, and a small network that sees in- and out-degrees and passes messages
along arcs, trained with the noise. Both are made once more for the undirected skeletons of the same graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.stats import binom
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, features, from_callable
from starcert.datasets import Dataset, arcs
from starcert.sampling.batch import NoisyGraphs
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert_studies.figures import class_examples, radius_maps, ring_positions
from starcert_studies.outcome import Report
from starcert_studies.study import Tested, Trial, TrialStudy, trained_network
from starcert_studies.voted import Grid, Labels, Voted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOTIF = 9
"""Nodes of the motif."""

NOISE = sc.Noise(motif=0.1, random=0.4)
BOX = {"motif": 3, "random": 60}
MODELS, SHOWN = ("cycles", "network"), ("arcs", "skeleton")
"""The models, and what each is shown: the directed graph, or the undirected one below it."""

RADII = ((1, 0), (2, 0), (3, 0), (0, 10), (0, 30), (1, 10), (2, 10))
Key = tuple[str, str]
"""A model, and what it is shown."""


@dataclass(frozen=True)
class Arcs(TrialStudy):
    """Feed-forward and feedback motifs, with directions and without."""

    quick: ClassVar = {"samples": 1_000, "graphs": 50, "taught": 200, "epochs": 20}

    samples: int = 10_000  # votes on each directed graph; a tenth on each skeleton, of which nothing will be certified
    graphs: int = 100  # how many test graphs
    taught: int = 400  # how many training graphs
    epochs: int = 40  # of training the network
    seed: int = 1  # of the data, of training and of all votes

    @override
    def trials(self) -> dict[Key, list[Trial]]:
        return {
            key: [Trial("-".join(key), key, NOISE, self.votes_on(key[1]), self.seed, self.graphs, 25, clean=True)]
            for key in product(MODELS, SHOWN)
        }

    def votes_on(self, shown: str) -> int:
        """How many votes there are on each graph."""
        return self.samples if shown == "arcs" else self.samples // 10

    def graph_data(self, shown: str) -> Dataset:
        """The graphs as a model is shown them."""
        data = arcs(self.seed, train=self.taught, test=self.graphs, n_motif=MOTIF)
        if shown == "arcs":
            return data
        return replace(data, graphs=tuple(skeleton(each) for each in data.graphs), name=shown)

    @override
    def data(self, key: Key) -> Tested:
        data = self.graph_data(key[1])
        return Tested(data.test.graphs, data.test.labels, NOISE, data.partition)

    @override
    def model(self, key: Key) -> Classifier:
        data = self.graph_data(key[1])
        if key[0] == "cycles":
            least = best_threshold(data, self.seed)
            words = f"{least} closed walks of three steps or more"
            return from_callable(partial(many_cycles, least=least), n_classes=2, on="batch", description=words)
        return trained_network(
            partial(sc.models.GIN, 2, 2, hidden=32, layers=2), self.seed, NOISE, data.partition, data.train,
            data.validation, features=(features.in_degree(), features.out_degree()), epochs=self.epochs,
            learning_rate=1e-2, halve_every=max(1, self.epochs // 4), seed=self.seed,
        )  # fmt: skip

    def graphs_figure(self) -> Figure:
        """A graph of each class, the motif on a circle: arcs go forward, or all the way round."""
        return class_examples(self.graph_data("arcs"), 2.3, lambda sites: ring_positions(sites.graph, MOTIF))

    @override
    def outcome(self, report: Report, found: Mapping[Key, Voted], results: Mapping[str, Any]) -> None:
        enough = self.samples >= 10_000 and self.graphs == 100
        for (model, shown), voted in found.items():
            row = {"model": model, "shown": shown, "votes": self.votes_on(shown), "graphs": len(voted),
                   "majority": voted.majority, "without_noise": voted.clean_accuracy, "smoothed": voted.accuracy,
                   "abstained": voted.abstained, **voted.certified_at(RADII)}  # fmt: skip
            report.table("models", [row])
            report.sentence(model=model, shown=shown, voted=voted)
            if shown == "arcs":
                report.check("with_directions", voted.accuracy == 1, enough=enough, model=model, voted=voted)
            else:
                limit = float(binom.ppf(0.999, len(voted), 0.5) / len(voted))
                chance = max(voted.accuracy, voted.clean_accuracy) <= limit
                report.check("without_directions", chance, model=model, voted=voted, limit=limit, n=len(voted))
        share = found["network", "arcs"].share((0, 10))
        report.check("ten_flips", share >= 0.95, enough=enough, share=share)
        report.picture("graphs", self.graphs_figure)
        directed = {model: found[model, "arcs"] for model in MODELS}
        report.picture("radii", radius_maps, directed, BOX, 1.0)


def skeleton(graph: sc.Graph) -> sc.Graph:
    """The graph without directions: an edge wherever there is an arc, or one each way.

    Example:
        >>> skeleton(sc.Graph(3, [(1, 0), (1, 2), (2, 1)], directed=True)).edges.tolist()
        [[0, 1], [1, 2]]
    """
    return sc.Graph(graph.n_nodes, np.unique(np.sort(graph.edges, axis=1), axis=0))


def cycles(graphs: NoisyGraphs) -> Labels:
    """How many closed walks of three steps each copy has: three for a directed cycle, six for a triangle of edges."""
    matrix = graphs.adjacency().astype(np.float32)
    walks: Grid = np.einsum("bij,bji->b", matrix @ matrix, matrix)
    return np.rint(walks).astype(np.int64)


def many_cycles(graphs: NoisyGraphs, least: int) -> Labels:
    """Class 1, feedback, for each copy with at least `least` closed walks."""
    return (cycles(graphs) >= least).astype(np.int64)


def best_threshold(data: Dataset, seed: int, copies: int = 64) -> int:
    """The number of closed walks that separates noisy copies of the training graphs best."""
    assert data.partition is not None
    counts = []
    for sites in map(data.partition.sites, data.train.graphs):
        stream = WordStream.of_chunk(seed, sites.clean.key, "training", 0)
        counts.append(cycles(sampler(sites, NOISE).draw(stream, copies)))
    few, many = (np.sort(np.stack(counts)[data.train.labels == label].ravel()) for label in (0, 1))
    places = np.unique(counts)
    right = np.searchsorted(few, places) / few.size - np.searchsorted(many, places) / many.size
    return int(places[right.argmax()])
