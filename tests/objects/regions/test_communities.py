import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from region_worlds import covers_everything, named_pairs, shuffled

import starcert as sc

KARATE = nx.karate_club_graph()
GRAPH = sc.Graph(34, [tuple(edge) for edge in KARATE.edges])


def expected(groups):
    home = {node: number for number, group in enumerate(groups) for node in group}
    pairs = [(u, v) for u in home for v in home if u < v]
    return {
        "inside": {frozenset(pair) for pair in pairs if home[pair[0]] == home[pair[1]]},
        "between": {frozenset(pair) for pair in pairs if home[pair[0]] != home[pair[1]]},
    }


@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.0])
def test_the_communities_are_those_of_networkx(resolution):
    ordered = nx.Graph()
    ordered.add_nodes_from(range(34))
    ordered.add_edges_from(sorted(KARATE.edges))
    louvain = nx.community.louvain_communities(ordered, resolution=resolution, seed=3)
    assert named_pairs(sc.regions.communities(resolution, seed=3), GRAPH) == expected(louvain)
    greedy = nx.community.greedy_modularity_communities(ordered, resolution=resolution)
    assert named_pairs(sc.regions.communities(resolution, method="greedy"), GRAPH) == expected(greedy)


@pytest.mark.parametrize("method", ["louvain", "greedy"])
def test_names_decide_and_not_the_order_of_the_nodes(method):
    words = sc.Graph(34, GRAPH.edges, nodes=[f"member{i}" for i in range(34)])
    rule = sc.regions.communities(method=method)
    for graph in (GRAPH, words):
        for seed in range(3):
            assert named_pairs(rule, shuffled(graph, seed)) == named_pairs(rule, graph)
        assert covers_everything(rule, graph)


def test_names_that_are_words_give_the_same_in_every_process():
    code = """
import networkx as nx, starcert as sc
names = [f"member{i}" for i in range(34)]
graph = sc.Graph(34, [tuple(edge) for edge in nx.karate_club_graph().edges], nodes=names)
print(sc.regions.communities()(graph).sites(graph).key)
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": hashes},
        ).stdout
        for hashes in ("1", "2")
    }
    assert len(said) == 1
    assert len(said.pop().strip()) == 32


def test_graphs_without_edges_and_without_nodes():
    for n_nodes in (0, 1, 5):
        graph = sc.Graph(n_nodes, [])
        assert sc.regions.communities()(graph).sites(graph).sizes == (0, n_nodes * (n_nodes - 1) // 2)


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()
    sc.regions.communities()(GRAPH)
    assert (np.random.get_state()[1] == before).all()
