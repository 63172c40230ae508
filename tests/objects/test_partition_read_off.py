from itertools import combinations

import pytest

import starcert as sc
from starcert.objects.site_sets import Inside, Pairs

GRAPH = sc.Graph(6, [(0, 1), (1, 2), (3, 4)], nodes="uvwxyz")
ALL = [frozenset(pair) for pair in combinations("uvwxyz", 2)]
EDGES = [frozenset(pair) for pair in ("uv", "vw", "xy")]
ABSENT = [pair for pair in ALL if pair not in EDGES]


def pairs(some):
    return [tuple(pair) for pair in some]


FROM_EDGES = {
    "the edges": sc.Partition.from_pairs({"bonds": pairs(EDGES)}),
    "some of the edges": sc.Partition.from_pairs({"bonds": pairs(EDGES[:2]), "rest": [("u", "z"), ("v", "y")]}),
    "the absent edges": sc.Partition.from_pairs({"gaps": pairs(ABSENT)}),
    "both": sc.Partition.from_pairs({"bonds": pairs(EDGES), "gaps": pairs(ABSENT)}),
    "all but the edges": sc.Partition((("gaps", Inside(frozenset("uvwxyz"), frozenset(EDGES))),)),
    "all in a set but the edges": sc.Partition((("gaps", Inside(frozenset("uvw"), frozenset(EDGES[:2]))),)),
    "all but the absent edges": sc.Partition((("bonds", Inside(frozenset("uvwxyz"), frozenset(ABSENT))),)),
}

NOT_FROM_EDGES = {
    "one edge": sc.Partition.from_pairs({"bond": [("u", "v")]}),
    "two edges and another pair": sc.Partition.from_pairs({"some": [("u", "v"), ("v", "w"), ("u", "w")]}),
    "some absent edges": sc.Partition.from_pairs({"some": pairs(ABSENT[1:])}),
    "all but one edge": sc.Partition((("most", Inside(frozenset("uvwxyz"), frozenset(EDGES[:1]))),)),
    "all but two edges": sc.Partition((("most", Inside(frozenset("uvwxyz"), frozenset(EDGES[:2]))),)),
    "all but the edges and a pair": sc.Partition(
        (("most", Inside(frozenset("uvwxyz"), frozenset([*EDGES, ABSENT[0]]))),)
    ),
    "nothing": sc.Partition((("none", Pairs(frozenset())),)),
    "sets": sc.Partition.from_node_sets({"a": ["u", "v", "w"], "b": ["x", "y"]}),
    "everything": sc.Partition.everything("all"),
}


@pytest.mark.parametrize("name", FROM_EDGES)
def test_regions_that_are_the_edges_of_the_graph_are_anchored(name):
    partition = FROM_EDGES[name]
    assert partition.anchored is None
    sites = partition.sites(GRAPH)
    assert sites.anchored
    assert sites.reason.count("as if they were derived from it.") == (2 if name == "both" else 1)
    assert all(region in sites.reason for region in partition.regions if region != "rest")
    # It is a matter of the graph: with other edges there is nothing to see.
    assert not partition.sites(sc.Graph(6, [(0, 2), (0, 5), (2, 5)], nodes="uvwxyz")).anchored


@pytest.mark.parametrize("name", NOT_FROM_EDGES)
def test_others_are_not(name):
    sites = NOT_FROM_EDGES[name].sites(GRAPH)
    assert not sites.anchored
    assert sites.reason == ""


def test_the_author_may_say_otherwise():
    assert not sc.Partition.from_pairs({"bonds": pairs(EDGES)}, anchored=False).sites(GRAPH).anchored
    said = sc.Partition.from_pairs({"bonds": pairs(EDGES)}, anchored=True, reason="So it is.").sites(GRAPH)
    assert said.reason == "So it is."


def test_a_rule_whose_author_vouches_for_it_is_believed_here_too():
    def rule(graph):
        return FROM_EDGES["the edges"]

    base = sc.classifiers.from_callable(lambda graph: 0)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(bonds=0.1), rule)
    assert smoothed.sites(GRAPH).anchored
    rule.anchored = False
    assert not smoothed.sites(GRAPH).anchored


def test_empty_and_complete_graphs():
    empty, full = sc.Graph(3, []), sc.Graph(3, list(combinations(range(3), 2)))
    everything = sc.Partition.from_pairs({"all": list(combinations(range(3), 2))})
    assert not everything.sites(empty).anchored
    assert everything.sites(full).anchored
    assert not sc.Partition.everything("all").sites(full).anchored


def test_features_that_happen_to_be_the_edges_were_not_read_off_them():
    x = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    graph = sc.Graph(4, [(0, 1), (0, 2)], node_data={"x": x})
    base = sc.classifiers.from_callable(lambda graph: 0)
    rule = sc.regions.similar_features(0.5)
    assert not sc.SmoothedClassifier(base, sc.Noise(alike=0.1, unlike=0.2), rule).sites(graph).anchored
    # The same features, known to tell of edges.
    graph = sc.Graph(4, [(0, 1), (0, 2)], anchored_data={"x": x})
    assert sc.SmoothedClassifier(base, sc.Noise(alike=0.1, unlike=0.2), rule).sites(graph).anchored
