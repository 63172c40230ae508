"""Directed graphs that direction alone tells apart: their skeletons have one law, their motifs do not."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from starcert import InvalidParameterError
from starcert.datasets import arcs
from starcert.datasets.synthetic import _directed


@pytest.fixture(scope="module")
def data():
    return arcs(seed=0, train=300, validation=60, test=40)


def skeleton(graph):
    return {frozenset(arc) for arc in graph.edges.tolist()}


def test_sizes_regions_and_classes(data):
    assert [len(each) for each in (data.train, data.validation, data.test)] == [300, 60, 40]
    assert [each.majority_share for each in (data.train, data.validation, data.test)] == [0.5] * 3
    assert (data.name, data.label_names) == ("arcs", ("feed-forward", "feedback"))
    for graph in data.graphs[:20]:
        assert graph.directed
        sites = data.partition.sites(graph)
        assert sites.regions == ("motif", "random")
        assert sites.sizes == (72, 90)  # both directions of 36 and of 45 pairs
        assert len(sites.fixed_edges) == 1


def test_the_motif_has_no_cycle_or_as_many_as_there_can_be(data):
    for graph, label in data.test:
        motif = graph.to_networkx().subgraph(range(9))
        assert nx.is_tournament(motif)
        cycles = sum(nx.is_strongly_connected(motif.subgraph(three)) for three in combinations(range(9), 3))
        assert nx.is_directed_acyclic_graph(motif) == (label == 0)
        assert cycles == (30 if label else 0)  # (9³ − 9) / 24


def test_a_skeleton_does_not_depend_on_the_class():
    """From one state of the generator both classes have one skeleton: the two laws are one."""
    for seed in range(50):
        ahead, back = (_directed(label, 9, 10, 0.5, np.random.default_rng(seed)) for label in (0, 1))
        assert skeleton(ahead) == skeleton(back)
        assert ahead.edges.tolist() != back.edges.tolist()
    assert len({frozenset(skeleton(_directed(0, 9, 10, 0.5, np.random.default_rng(seed)))) for seed in range(50)}) == 50


def test_directions_of_the_rest_and_places_in_the_motif_are_fair():
    data = arcs(seed=1, train=1500, validation=0, test=0, n_motif=5, n_random=4)
    ahead = np.zeros((2, 2))
    first = np.zeros(5)
    for graph, label in data.train:
        rest = graph.edges[(graph.edges >= 5).any(axis=1)]
        ahead[label] += [(rest[:, 0] < rest[:, 1]).sum(), len(rest)]
        if label == 0:
            motif = graph.edges[(graph.edges < 5).all(axis=1)]
            first[np.bincount(motif[:, 0], minlength=5).argmax()] += 1
    assert np.abs(ahead[:, 0] / ahead[:, 1] - 0.5).max() < 0.04  # about 4,000 arcs of each class: deviation 0.008
    assert np.abs(first - 150).max() < 55  # 750 motifs, each node first with probability 1/5: deviation 11


def test_the_random_part_is_connected_and_joined_by_one_arc(data):
    for graph in data.graphs[:60]:
        theirs = graph.to_networkx()
        assert nx.is_weakly_connected(theirs.subgraph(range(9, 19)))
        assert sum((u < 9) != (v < 9) for u, v in theirs.edges) == 1
        assert not any(theirs.has_edge(v, u) for u, v in theirs.edges)


def test_the_seed_decides_and_a_split_is_a_beginning_of_a_longer_one(data):
    short = arcs(train=7, validation=0, test=31)
    assert short.train.graphs == data.train.graphs[:7]
    assert short.test.graphs == data.test.graphs[:31]
    assert short.test.labels.tolist() == data.test.labels[:31].tolist()
    assert len({*data.graphs} & {*arcs(seed=1, train=300, validation=60, test=40).graphs}) == 0
    assert len({*data.graphs}) == 400  # no stream is used twice


def test_three_nodes_are_a_loop_or_none():
    data = arcs(train=40, validation=0, test=0, n_motif=3, n_random=1)
    for graph, label in data.train:
        degrees = np.bincount(graph.edges[(graph.edges < 3).all(axis=1)][:, 0], minlength=3)
        assert sorted(degrees.tolist()) == ([1, 1, 1] if label else [0, 1, 2])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n_motif": 1}, "'n_motif' must be a whole number, 3 or more. Got 1"),
        ({"n_motif": 8}, "'n_motif' must be odd: each node has as many before it as after it. Got 8"),
    ],
)
def test_bad_parameters_are_refused(given, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        arcs(**given)
