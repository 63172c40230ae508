"""Votes of kernel machines, next to the obvious loop: networkx, GraKeL, scikit-learn's SVC.

    python benchmarks/classifiers.py

One core. The graphs are the paper's synthetic ones (20 nodes, p = (0.02, 0.45)), the machines are fitted on 1,000 of
them, the loop's on GraKeL's kernel of that name; GraKeL needs about a minute for that. Drawing the noisy graphs is
included on both sides, and counting on ours. Times are the shortest of several runs after warm-up, in one process.
"""

from __future__ import annotations

import warnings
from functools import partial

import networkx as nx
import numpy as np
from sklearn.svm import SVC

import starcert as sc
from floors import random_word
from starcert.voting.counting import tallies
from starcert.voting.plans import Job, chunks_of
from table import Table, Work, best

CHUNK = 1024
NOISE = sc.Noise(motif=0.02, random=0.45)


def for_grakel(graph: nx.Graph) -> list:
    """A graph as GraKeL takes it, labelled by degrees."""
    from grakel import graph_from_networkx  # noqa: PLC0415  (it warns as it is imported)

    nx.set_node_attributes(graph, dict(graph.degree), "label")
    nx.set_edge_attributes(graph, 1, "label")
    return next(iter(graph_from_networkx([graph], node_labels_tag="label", edge_labels_tag="label")))


def obvious(kernel, machine: SVC, adjacency: np.ndarray, samples: int, rng: np.random.Generator) -> list[int]:
    """What one would write: flip, make a networkx graph, label it, hand it to GraKeL, ask the machine; one by one."""
    flip = np.zeros((20, 20))
    flip[:10, :10], flip[10:, 10:] = 0.02, 0.45
    answers = []
    for _ in range(samples):
        flipped = np.triu(rng.random((20, 20)) < flip, 1)
        converted = for_grakel(nx.from_numpy_array(adjacency ^ (flipped | flipped.T)))
        answers.append(int(machine.predict(kernel.transform([converted]))[0]))
    return answers


def votes(job: Job, chunks: int) -> None:
    for _ in tallies(job, chunks_of(0, "estimation", chunks * CHUNK, CHUNK)):
        pass


def kernels(table: Table) -> None:
    data = sc.datasets.motif(seed=0)
    rng = np.random.default_rng(1)
    floor = 16 * random_word()  # as many words as these flips need on average
    from grakel import kernels as grakel  # noqa: PLC0415

    from starcert import kernels as ours  # noqa: PLC0415

    taught = [for_grakel(graph.to_networkx()) for graph in data.train.graphs]
    wl = grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=grakel.VertexHistogram)
    for name, kernel, theirs, target, loop, chunks in (
        ("vertex histogram", ours.VertexHistogram(), grakel.VertexHistogram(), 1500, 500, 160),
        ("Weisfeiler–Lehman", ours.WeisfeilerLehman(), wl, 100, 50, 4),
        ("shortest path", ours.ShortestPath(), grakel.ShortestPath(), 30, 50, 4),
        ("graphlets of 5", ours.Graphlets(5, 5), grakel.GraphletSampling(k=5), 100, 10, 1),
        ("NSPD", ours.NeighbourhoodPairs(), grakel.NeighborhoodSubgraphPairwiseDistance(), 30, 20, 1),
    ):
        base = sc.classifiers.from_sklearn(sc.models.KernelSVM(kernel).fit(data.train.graphs, data.train.labels))
        machine = SVC(kernel="precomputed").fit(theirs.fit_transform(taught), data.train.labels)
        for kind in (0, 1):
            clean = next(g for g, label in zip(data.test.graphs, data.test.labels, strict=True) if label == kind)
            job = Job(base, sc.Problem(NOISE, (data.partition.sites(clean),)), seed=1)
            adjacency = clean.to_numpy().astype(bool)
            plain = best(partial(obvious, theirs, machine, adjacency, loop, rng), loop)
            fast = best(partial(votes, job, chunks), chunks * CHUNK)
            what = f"{name}, {('cycle', 'clique')[kind]}"
            table.add(
                Work(
                    what,
                    fast,
                    plain,
                    floor,
                    "the random words of the flips alone",
                    f"{target:,} ×" + (", 0.08 µs" if name == "vertex histogram" else ""),
                )
            )


def main() -> None:
    warnings.simplefilter("ignore")  # of other libraries
    about = "A vote of a kernel machine, on one core, drawing included; the loop is networkx, GraKeL and SVC."
    table = Table("classifiers", about, graph="20 nodes", noise="(0.02, 0.45)", chunk=CHUNK)
    kernels(table)
    table.write()


if __name__ == "__main__":
    main()
