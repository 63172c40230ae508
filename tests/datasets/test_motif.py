import subprocess
import sys
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from starcert.datasets import motif
from starcert.datasets.synthetic import _is_connected
from starcert.system.errors import InvalidParameterError


@pytest.fixture(scope="module")
def data():
    return motif(seed=0)


def test_the_splits_are_those_of_the_paper(data):
    assert [len(part) for part in (data.train, data.validation, data.test)] == [1000, 1000, 100]
    assert len(data) == 2100
    for part in (data.train, data.validation, data.test):
        assert part.majority_share == 0.5
        assert np.count_nonzero(np.diff(part.labels)) > len(part) / 4  # not class after class
    assert (data.n_classes, data.label_names) == (2, ("negative", "positive"))


def test_every_graph_is_a_motif_a_bridge_and_a_connected_random_part(data):
    assert data.partition.regions == ("motif", "random")
    assert not data.partition.anchored
    for graph, label in data[::3]:
        assert graph.n_nodes == 20
        theirs = graph.to_networkx()
        core, loose = theirs.subgraph(range(10)), theirs.subgraph(range(10, 20))
        if label:
            assert core.number_of_edges() == 45
        else:
            assert all(degree == 2 for _, degree in core.degree())
            assert nx.is_connected(core)
        assert nx.is_connected(loose)
        between = [(u, v) for u, v in graph.edges.tolist() if (u < 10) != (v < 10)]
        assert len(between) == 1
        sites = data.partition.sites(graph)
        assert sites.sizes == (45, 45)
        assert sites.fixed_edges.tolist() == [list(between[0])]
        assert graph.n_edges == core.number_of_edges() + loose.number_of_edges() + 1


def test_the_random_part_does_not_depend_on_the_class_and_has_the_law_it_should(data):
    counts = [[], []]
    ends = np.zeros(20)
    for graph, label in data:
        counts[label].append(int((graph.edges >= 10).all(axis=1).sum()))
        ends[graph.edges[(graph.edges < 10).sum(axis=1) == 1][0]] += 1
    # G(10, 1/2): 22.5 edges, deviation 3.35; being connected (97.9 %) raises the mean by less than 0.2
    means = [np.mean(count) for count in counts]
    assert all(22.5 - 0.4 < mean < 22.7 + 0.4 for mean in means)
    assert all(abs(np.std(count) - 3.3) < 0.35 for count in counts)
    # a bridge ends at each of ten nodes with probability 1/10: 210 ± 13.7 of 2100
    assert np.abs(ends - 210).max() < 70
    assert ends[:10].sum() == ends[10:].sum() == 2100


def test_small_random_parts_are_uniform_over_connected_graphs():
    # G(3, 1/2) given that it is connected: three paths and a triangle, 1/4 each
    data = motif(seed=3, train=2000, validation=0, test=0, n_motif=4, n_random=3)
    seen = {}
    for graph in data.train.graphs:
        inner = tuple(map(tuple, graph.edges[(graph.edges >= 4).all(axis=1)].tolist()))
        seen[inner] = seen.get(inner, 0) + 1
    pairs = list(combinations((4, 5, 6), 2))
    assert set(seen) == {tuple(pairs), *combinations(pairs, 2)}
    assert all(abs(count - 500) < 100 for count in seen.values())  # deviation 19.4


def test_the_seed_decides(data):
    again, other = motif(seed=0, train=60, validation=40, test=20), motif(seed=1, train=60, validation=40, test=20)
    assert again.graphs == motif(train=60, validation=40, test=20).graphs
    assert len({*again.graphs} & {*other.graphs}) == 0
    assert again.labels.tolist() != other.labels.tolist()
    assert len({*data.graphs}) == 2100  # no stream is used twice
    script = (
        "from starcert.datasets import motif; print(*[g.key for g in motif(train=9, validation=9, test=9).test.graphs])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [graph.key for graph in data.test.graphs[:9]]


def test_a_split_is_a_beginning_of_a_longer_one_whatever_the_others_are(data):
    short = motif(seed=0, train=7, validation=0, test=31)
    assert short.train.graphs == data.train.graphs[:7]
    assert short.test.graphs == data.test.graphs[:31]
    assert short.test.labels.tolist() == data.test.labels[:31].tolist()
    assert len(short.validation) == 0
    assert sorted(np.bincount(short.train.labels).tolist()) == [3, 4]


def test_other_sizes_and_probabilities():
    data = motif(seed=2, train=40, validation=0, test=0, n_motif=5, n_random=7, p=1.0)
    for graph, label in data.train:
        assert graph.n_nodes == 12
        assert graph.n_edges == (10 if label else 5) + 21 + 1
        assert data.partition.sites(graph).sizes == (10, 21)
    lone = motif(train=4, validation=0, test=0, n_random=1, p=0.0)
    assert all(np.count_nonzero(graph.edges == 10) == 1 for graph in lone.train.graphs)


def test_connected_as_networkx_says():
    rng = np.random.default_rng(0)
    for _ in range(500):
        graph = nx.gnp_random_graph(int(rng.integers(1, 12)), rng.random(), seed=int(rng.integers(1e9)))
        edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
        assert _is_connected(len(graph), edges) == nx.is_connected(graph)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"seed": -1}, "'seed' must be a whole number, 0 or more. Got -1"),
        ({"train": 1.5}, "'train' must be a whole number, 0 or more. Got 1.5"),
        ({"n_motif": 3}, "'n_motif' must be a whole number, 4 or more. Got 3"),
        ({"n_random": 0}, "'n_random' must be a whole number, 1 or more. Got 0"),
        ({"p": 1.1}, "'p' must be a probability from 0 to 1. Got 1.1"),
        ({"p": 0.0}, "'p' must be so large that random graphs with 10 nodes are connected. Got 0.0"),
    ],
)
def test_bad_parameters_are_refused(given, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        motif(**given)
