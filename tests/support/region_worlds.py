"""What the tests of region builders share: regions as sets of named pairs, shuffled graphs, a trivial classifier."""

from itertools import combinations

import numpy as np

import starcert as sc
from starcert.objects.rule import partition_by_rule


def named_pairs(rule, graph: sc.Graph) -> dict[str, set[frozenset]]:
    """The pairs of each region by the names of nodes, and a check that no pair is in two regions."""
    sites = partition_by_rule(rule, graph).sites(graph)
    found: dict[str, set[frozenset]] = {}
    for region, offset, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
        u, v = sites.coordinates(np.arange(offset, offset + size))
        found[region] = {frozenset((graph.nodes[a], graph.nodes[b])) for a, b in zip(u, v, strict=True)}
        assert len(found[region]) == size
    assert len(set().union(*found.values())) == sum(map(len, found.values()))
    return found


def all_pairs(graph: sc.Graph) -> set[frozenset]:
    return {frozenset(pair) for pair in combinations(graph.nodes, 2)}


def covers_everything(rule, graph: sc.Graph) -> bool:
    return set().union(*named_pairs(rule, graph).values()) == all_pairs(graph)


def shuffled(graph: sc.Graph, seed: int = 0) -> sc.Graph:
    """The same graph by names, its nodes listed in another order."""
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    place = np.argsort(order)

    def moved(values):
        return values[order] if isinstance(values, np.ndarray) else [values[i] for i in order]

    return sc.Graph(
        graph.n_nodes,
        place[graph.edges],
        nodes=[graph.nodes[i] for i in order],
        node_data={name: moved(values) for name, values in graph.node_data.items()},
        anchored_data={name: moved(values) for name, values in graph.anchored_data.items()},
    )


def many_edges(batch) -> np.ndarray:
    return (batch.degrees().sum(axis=1) > 20).astype(int)


def certify(rule, graphs, **noise: float):
    base = sc.classifiers.from_callable(many_edges, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(noise), rule)
    return smoothed.certify(
        graphs, samples=200, voting=sc.Voting(selection_samples=50), seed=1, threat=sc.threats.Box((1,) * len(noise))
    )
