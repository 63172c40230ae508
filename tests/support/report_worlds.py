"""Archives for the tests of the report: made from votes that were never drawn, on small graphs."""

from functools import cache

import networkx as nx
import numpy as np

import starcert as sc
from starcert.archive import Archive

TWO = sc.Noise(core=0.05, rest=0.3)
ONE = sc.Noise(bonds=0.1)
FOUR = sc.Noise(a=0.1, b=0.2, c=0.3, d=0.4)
DELETE_ADD = sc.Noise(bonds=sc.Flip(delete=0.05, add=0.2))
PARTITIONS = {
    TWO: sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)}),
    ONE: sc.Partition.everything("bonds"),
    FOUR: sc.Partition.from_node_sets({"a": range(4), "b": range(4, 8), "c": range(8, 12)}, between={"d": ("a", "b")}),
    DELETE_ADD: sc.Partition.everything("bonds"),
}
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"quoted\" & 'quoted'",
    "🧪 שלום",
    "two\nlines",
    "line\u2028separator",
    "",
]
"""Names that a page must show as they are."""


def graphs(n: int, n_nodes: int = 12) -> list[sc.Graph]:
    return [sc.Graph.from_networkx(nx.gnp_random_graph(n_nodes, 0.35, seed=seed)) for seed in range(n)]


def ragged(graph):
    """Regions for TWO that have few sites, and not the same number in every graph: their ends are within reach."""
    return sc.Partition.from_node_sets({"core": range(2 + graph.n_edges % 3), "rest": range(6, 8 + graph.n_edges % 4)})


def world(noise, counts, *, labels=None, partition=None, max_radius=None, selection=True, known_capacity=True, **told):
    """An archive of these votes, the class with most of them being the answer, and the sites of its graphs."""
    counts = np.asarray(counts)
    found = graphs(len(counts))
    rule = partition or (lambda graph: PARTITIONS[noise])
    sites = [rule(graph).sites(graph) for graph in found]
    result = sc.certify(
        sc.clopper_pearson(sc.Votes(counts, counts if selection else None)),
        noise,
        max_radius=max_radius,
        capacity=[each.capacity(noise) for each in sites] if known_capacity else None,
        anchored=[each.reason for each in sites],
    )
    return Archive.from_result(result, labels=labels, **told), sites


def random_counts(n: int, classes: int, seed: int, samples: int = 2000):
    """Votes from unanimous to hopeless, with the other classes at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        own = samples - int(samples * 10 ** -rng.uniform(0.2, 4))
        others = rng.multinomial(samples - own, np.full(classes - 1, 1 / (classes - 1))).tolist()
        others.insert(int(rng.integers(classes)), own)
        rows.append(others)
    return rows


STARS = sc.Noise(core=0.06, rest=0.2)


def star(batch):
    """1 if one of the first five nodes is joined to all others of them: one flip is enough to break it."""
    return (batch.adjacency()[:, :5, :5].sum(axis=2).max(axis=1) >= 4).astype(int)


@cache
def weighed(noise=STARS):
    """Certificates with evidence of a star, a ring and a clique of five nodes, three more each, and their sites."""
    rule = {
        STARS: sc.Partition.from_node_sets({"core": range(5), "rest": range(5, 8)}),
        ONE: sc.Partition.from_node_sets({"bonds": range(5)}),
        FOUR: sc.Partition.from_node_sets(
            {"a": range(2), "b": range(2, 5), "c": range(5, 8)}, between={"d": ("a", "b")}
        ),
    }[noise]
    shapes = (nx.star_graph(4), nx.cycle_graph(5), nx.complete_graph(5))
    found = [sc.Graph.from_networkx(nx.disjoint_union(shape, nx.path_graph(3))) for shape in shapes]
    base = sc.classifiers.from_callable(star, n_classes=2, on="batch", description="stars")
    smoothed = sc.SmoothedClassifier(base, noise, rule)
    made = smoothed.certify(found, samples=2000, seed=1, evidence=sc.Evidence(own_samples=2000))
    return made, [smoothed.sites(graph) for graph in found]
