"""Isomorphic graphs are in one group, and folds that keep twins together have none in another part."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.benchmark.data import fold_splits
from starcert.datasets import Dataset
from starcert.datasets.twins import twin_groups


def shuffled(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    edges = [(order[u], order[v]) for u, v in graph.edges.tolist()]
    data = {name: np.asarray(values)[np.argsort(order)] for name, values in graph.node_data.items()}
    return sc.Graph(graph.n_nodes, edges, node_data=data)


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.5]
    return sc.Graph(n, edges, node_data={"label": rng.integers(0, 2, n)})


def test_groups_are_those_of_isomorphism_on_small_graphs():
    graphs = [drawn(seed) for seed in range(60)]
    graphs += [shuffled(graph, seed) for seed, graph in enumerate(graphs[:20])]
    groups = twin_groups(graphs)
    assert groups[:20].tolist() == groups[60:].tolist()
    nets = [graph.to_networkx() for graph in graphs]
    for net, graph in zip(nets, graphs, strict=True):
        nx.set_node_attributes(net, dict(zip(net, np.asarray(graph.node_data["label"]).tolist(), strict=True)), "label")
    for i in range(0, 80, 3):
        for j in range(i):
            same = nx.is_isomorphic(nets[i], nets[j], node_match=lambda one, other: one["label"] == other["label"])
            assert not same or groups[i] == groups[j]
            assert same or groups[i] != groups[j]


@pytest.mark.parametrize("keep_twins", [True, False])
def test_twins_are_in_one_part_if_they_are_to_be(keep_twins):
    pytest.importorskip("sklearn")
    graphs = [shuffled(drawn(seed // 3), seed) for seed in range(120)]
    data = Dataset(graphs, np.arange(120) % 2)
    apart = 0
    for fold in range(10):
        taught, held, tested, numbers = fold_splits(data, fold, 1, keep_twins=keep_twins)
        assert len(taught) + len(held) + len(tested) == 120
        assert [data.graphs[number] for number in numbers] == list(tested.graphs)
        sizes = np.cumsum([0, len(taught), len(held), len(tested)])
        groups = twin_groups([*taught.graphs, *held.graphs, *tested.graphs])
        parts = [set(groups[start:end].tolist()) for start, end in pairwise(sizes.tolist())]
        apart += sum(len(parts[i] & parts[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert (apart == 0) == keep_twins


def test_too_few_graphs_that_differ_make_no_folds():
    ring, line = (sc.Graph(4, [(i, i + 1) for i in range(3)] + [(0, 3)] * closed) for closed in (1, 0))
    data = sc.datasets.Dataset([ring, line] * 12, [0, 1] * 12)
    with pytest.raises(sc.StarcertError, match="2 graphs that are no twins do not make 10 folds"):
        fold_splits(data, 0, 1, keep_twins=True)
