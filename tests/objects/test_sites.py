import os
import pickle
import subprocess
import sys
import time
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError


@st.composite
def bound_partitions(draw):
    """A graph, a partition of one of the kinds, and the pairs of its regions listed by brute force."""
    n_nodes = draw(st.integers(0, 7))
    pairs = list(combinations(range(n_nodes), 2))
    graph = Graph(n_nodes, [pair for pair in pairs if draw(st.booleans())])
    kind = draw(st.sampled_from(["sets", "labels", "pairs", "everything", "present"]))
    labels = [draw(st.sampled_from("abc")) for _ in range(n_nodes)]
    of_label = {x: [pair for pair in pairs if labels[pair[0]] == labels[pair[1]] == x] for x in dict.fromkeys(labels)}
    if kind == "sets":
        sets = {x: [node for node in range(n_nodes) if labels[node] == x] for x in "abc"}
        regions = {x: of_label.get(x, []) for x in "abc"}
        regions["ab"] = [pair for pair in pairs if {labels[node] for node in pair} == {"a", "b"}]
        regions["ca"] = [pair for pair in pairs if {labels[node] for node in pair} == {"c", "a"}]
        return graph, Partition.from_node_sets(sets, between={"ab": ("a", "b"), "ca": ("c", "a")}), regions
    if kind == "labels":
        regions = dict(of_label)
        regions["mixed"] = [pair for pair in pairs if labels[pair[0]] != labels[pair[1]]]
        return graph, Partition.from_node_labels(labels, between="mixed"), regions
    if kind == "pairs":
        regions = {"one": [], "two": []}
        for pair in draw(st.permutations(pairs)):
            region = draw(st.sampled_from(["one", "two", None]))
            if region:
                regions[region].append(pair[:: draw(st.sampled_from([1, -1]))])
        partition = Partition.from_pairs(regions)
        return graph, partition, {region: [tuple(sorted(pair)) for pair in own] for region, own in regions.items()}
    if kind == "everything":
        return graph, Partition.everything("all"), {"all": pairs}
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    regions = {"there": edges, "not": [pair for pair in pairs if pair not in edges]}
    return graph, Partition.from_present_edges(graph, present="there", absent="not"), regions


@given(bound_partitions())
def test_sites_against_listing_all_pairs(case):
    graph, partition, regions = case
    sites = partition.sites(graph)
    assert sites.graph is graph
    assert sites.regions == tuple(regions) == partition.regions
    assert sites.sizes == tuple(map(len, regions.values()))
    assert sites.n_sites == sum(sites.sizes)
    assert sites.n_fixed == graph.n_nodes * (graph.n_nodes - 1) // 2 - sites.n_sites
    u, v = sites.coordinates(np.arange(sites.n_sites))
    numbered = list(zip(u.tolist(), v.tolist(), strict=True))
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    for region, offset, counts in zip(regions, sites.offsets, sites.counts, strict=True):
        own = numbered[offset : offset + len(regions[region])]
        assert sorted(own) == sorted(regions[region])
        assert counts == (sum(pair not in edges for pair in own), sum(pair in edges for pair in own))
    assert sites.nonzero[0].tolist() == [number for number, pair in enumerate(numbered) if pair in edges]
    assert sites.locate(u, v).tolist() == sites.locate(v, u).tolist() == list(range(sites.n_sites))
    fixed = [pair for pair in combinations(range(graph.n_nodes), 2) if pair not in set(numbered)]
    assert sites.locate([u for u, _ in fixed], [v for _, v in fixed]).tolist() == [-1] * len(fixed)
    assert sites.fixed_edges.tolist() == [list(pair) for pair in sorted(edges - set(numbered))]
    assert sites.locate(range(graph.n_nodes), range(graph.n_nodes)).tolist() == [-1] * graph.n_nodes


def large_partitions(n_nodes):
    third = n_nodes // 3
    sets = {"a": range(third), "b": range(third, 2 * third), "c": range(2 * third, n_nodes)}
    yield Partition.everything("all")
    yield Partition.from_node_sets(sets, between={"ab": ("a", "b"), "cb": ("c", "b")})
    yield Partition.from_node_labels([node % 7 for node in range(n_nodes)], between="mixed")
    ring = Graph(n_nodes, [(node, (node + 1) % n_nodes) for node in range(n_nodes)])
    yield Partition.from_present_edges(ring, present="ring", absent="rest")


def test_round_trip_in_large_graphs():
    n_nodes, rng = 60_000, np.random.default_rng(0)
    graph = Graph(n_nodes, [])
    for partition in large_partitions(n_nodes):
        sites = partition.sites(graph)
        assert sites.n_sites > n_nodes**2 / 4
        ends = np.array([*sites.offsets, *(offset - 1 for offset in sites.offsets[1:]), sites.n_sites - 1])
        positions = np.concatenate([ends, rng.integers(sites.n_sites, size=20_000)])
        u, v = sites.coordinates(positions)
        assert (u < v).all()
        assert np.array_equal(sites.locate(u, v), positions)
        assert np.array_equal(sites.locate(v, u), positions)


def test_nothing_is_as_large_as_the_number_of_pairs():
    n_nodes = 10_000
    graph = Graph(n_nodes, [(0, 1), (5, 9999)])
    for partition in large_partitions(n_nodes):
        tracemalloc.start()
        start = time.perf_counter()
        sites = partition.sites(graph)
        assert len(sites.counts) == len(sites.regions)
        assert len(sites.key) == 32
        assert len(pickle.dumps(sites)) < 2_000_000
        seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sites.n_sites > 30_000_000
        assert peak < 20_000_000  # one byte a site would take more
        assert seconds < 5


def test_the_key_is_of_the_sites_and_not_of_the_edges():
    graph, noisy = Graph(4, [(0, 1)]), Graph(4, [(2, 3)])
    partitions = [
        Partition.everything("all"),
        Partition.everything("every"),
        Partition.from_node_sets({"all": range(3)}),
        Partition.from_node_sets({"all": [0, 1, 3]}),
        Partition.from_node_sets({"a": [0, 1], "b": [2, 3]}),
        Partition.from_node_sets({"b": [0, 1], "a": [2, 3]}),
        Partition.from_node_sets({"a": [0, 1], "b": [2, 3]}, between={"ab": ("a", "b")}),
        Partition.from_pairs({"a": [(0, 1)], "b": [(2, 3)]}),
        Partition.from_pairs({"a": [(0, 1)], "b": [(2, 3)]}, anchored=True),
        Partition.from_present_edges(graph, present="a", absent="b"),
        Partition.from_present_edges(noisy, present="a", absent="b"),
    ]
    keys = [partition.sites(graph).key for partition in partitions]
    assert len(set(keys)) == len(keys)
    assert keys == [partition.sites(noisy).key for partition in partitions]


def test_numbering_does_not_depend_on_the_process():
    code = """
import numpy as np
from starcert.objects import Graph, Partition
graph = Graph(12, [(0, 5), (3, 7)], nodes="abcdefghijkl")
partition = Partition.from_node_sets({"x": set("afcgb"), "y": set("hkjl")}, between={"xy": ("x", "y")})
present = Partition.from_present_edges(graph, present="p", absent="q")
for sites in (partition.sites(graph), present.sites(graph)):
    print(sites.key, *(end.tolist() for end in sites.coordinates(np.arange(sites.n_sites))))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert outputs[0] == outputs[1] != ""


def test_sites_survive_a_trip_between_processes():
    graph = Graph(5, [(0, 1), (1, 4)], nodes="abcde")
    sites = Partition.from_present_edges(graph, present="p", absent="q").sites(graph)
    again = pickle.loads(pickle.dumps(sites))
    assert (again.key, again.graph, again.regions, again.sizes) == (sites.key, graph, ("p", "q"), (2, 8))
    assert again.anchored
    assert again.reason == sites.reason != ""
    assert again.nonzero[0].tolist() == [0, 1]


def test_what_the_sites_hold_is_read_only():
    sites = Partition.from_node_sets({"a": [0, 1]}).sites(Graph(3, [(0, 1), (1, 2)]))
    for array in (*sites.nonzero, sites.fixed_edges):
        assert array.size
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        sites.anchored = True


@pytest.mark.parametrize(
    ("positions", "problem"),
    [([0, 3], "positions of sites below 3.*Got 3"), ([-1], "Got -1"), ([0.5], "a row"), (1, "a row"), ([[1]], "a row")],
)
def test_positions_that_are_none_are_refused(positions, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Partition.everything("all").sites(Graph(3, [])).coordinates(positions)


def test_nodes_that_are_none_are_refused():
    sites = Partition.everything("all").sites(Graph(3, []))
    with pytest.raises(InvalidParameterError, match=r"'v' must be coordinates of pairs below 3.*Got 3"):
        sites.locate([0, 1], [1, 3])
    with pytest.raises(InvalidParameterError, match="as long as 'u', 2"):
        sites.locate([0, 1], [1])
