import pickle
import time
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from block_worlds import blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from starcert.objects import Graph, Partition, Sites
from starcert.objects import blocks as blocks_module
from starcert.objects.blocks import (
    Block,
    BothWays,
    Listed,
    NodePairs,
    across,
    inside,
    outside,
    shared_pair_of,
    within,
    without,
)
from starcert.objects.site_sets import Across, Inside, Outside, Pairs, Within
from starcert.system.errors import InvalidParameterError

N_NODES = 9
ALL = list(combinations(range(N_NODES), 2))
ARCS = list(permutations(range(N_NODES), 2))
BLOCKS = blocks(N_NODES).map(lambda world: world[0])


def indices(values):
    return np.array(values, dtype=np.int64)


def pairs_of(block):
    u, v = block.coordinates(np.arange(block.size))
    return list(zip(u.tolist(), v.tolist(), strict=True))


@st.composite
def complements(draw):
    """Two blocks that would overlap, were it not that one leaves out just what the other has, give or take a pair."""
    one, _ = draw(blocks(N_NODES))
    out = pairs_of(one)
    if out and draw(st.booleans()):
        out.remove(draw(st.sampled_from(out)))
    return [one, without(inside(np.arange(N_NODES)), indices(out).reshape(-1, 2))]


def hold_to_brute_force(some, *, directed=False):
    homes = {}
    for number, block in enumerate(some):
        assert len(set(pairs_of(block))) == block.size
        for pair in pairs_of(block):
            homes.setdefault(pair, []).append(number)
    overlapping = {pair for pair, numbers in homes.items() if len(numbers) > 1}
    shared = shared_pair_of(some, N_NODES)
    layer = NodePairs.of(range(N_NODES), directed=directed)
    named = {f"r{number}": block for number, block in enumerate(some)}
    if not overlapping:
        assert shared is None
        layer.check(named)
        return
    one, other, u, v = shared
    assert (u, v) in overlapping
    assert one != other
    assert {one, other} <= set(homes[u, v])
    with pytest.raises(InvalidParameterError, match=r"be disjoint. Got .\(\d, \d\) in both 'r"):
        layer.check(named)


@pytest.fixture(params=["small", "large", "a few pairs at a time"])
def _way(request, monkeypatch):
    if request.param != "small":  # everything but listed pairs goes by roles
        monkeypatch.setattr(blocks_module, "MIN_LISTED", 0)
        monkeypatch.setattr(blocks_module, "LISTED_PER_NODE", 0)
    if request.param == "a few pairs at a time":
        monkeypatch.setattr(blocks_module, "MAX_ROLE_PAIRS", 8)


@pytest.mark.usefixtures("_way")
class TestAgainstBruteForce:
    @given(st.lists(BLOCKS, max_size=4))
    @settings(max_examples=100)
    def test_blocks_of_every_kind(self, some):
        hold_to_brute_force(some)

    @given(complements(), st.lists(BLOCKS, max_size=1))
    @settings(max_examples=75)
    def test_blocks_that_leave_out_each_other(self, some, more):
        hold_to_brute_force([*some, *more])
        hold_to_brute_force([*more, *some[::-1]])

    @given(st.lists(BLOCKS, max_size=2), st.lists(st.sets(st.sampled_from(ARCS), max_size=4), max_size=2))
    @settings(max_examples=50)
    def test_arcs_one_by_one_and_both_ways(self, some, arcs):
        listed = [Listed(indices(sorted(each)).reshape(-1, 2), directed=True) for each in arcs]
        hold_to_brute_force([*map(BothWays, some), *listed], directed=True)

    @given(st.lists(st.sampled_from("abc"), min_size=N_NODES, max_size=N_NODES), st.data())
    @settings(max_examples=40)
    def test_regions_of_labels_but_for_one_node(self, labels, data):
        groups = [indices([n for n in range(N_NODES) if labels[n] == label]) for label in "abc"]
        moved = [*groups[:2], np.union1d(groups[2], [data.draw(st.integers(0, N_NODES - 1))])]
        hold_to_brute_force([*map(inside, groups), across(groups)])
        hold_to_brute_force([*map(inside, moved), across(groups)])
        hold_to_brute_force([within(groups), across(groups)])
        hold_to_brute_force([within(groups), outside(*groups[:2])])


N = frozenset


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ((("a", Inside(N({0, 1, 2}))), ("b", Inside(N({1, 2, 3})))), r"\(1, 2\) in both 'a' and 'b'"),
        ((("a", Outside()), ("b", Pairs(N({N({3, 4})})))), r"\(3, 4\) in both 'a' and 'b'"),
        ((("a", Inside(N(range(5)), N({N({0, 1})}))), ("b", Pairs(N({N({0, 2})})))), r"\(0, 2\) in both"),
        ((("a", Outside(N({0, 1}))), ("b", Across((N({0, 1}), N({2}))))), r"\([01], 2\) in both 'a' and 'b'"),
        ((("a", Within((N({0, 1}), N({2, 3})))), ("b", Inside(N({2, 3, 4})))), r"\(2, 3\) in both"),
        ((("a", Across((N({0, 1}), N({1, 2})))),), r"regions\[a\].*once. Got 'the node 1 in two of its groups'"),
        ((("a", Within((N({0, 1}), N({1, 2})))),), r"regions\[a\].*once. Got 'the node 1 in two of its groups'"),
    ],
)
def test_a_partition_made_by_hand_cannot_overlap(parts, problem):
    partition = Partition(parts)
    with pytest.raises(InvalidParameterError, match=problem):
        partition.sites(Graph(5, [(0, 1)]))


@pytest.mark.parametrize(
    "block",
    [
        Listed(indices([[1, 0]])),
        Listed(indices([[0, 1], [0, 1]])),
        Listed(indices([[0, 2], [0, 1]])),
        Listed(indices([[0, 5]])),
        Listed(indices([[-1, 2]])),
        Block(indices([0, 1, 5]), indices([1, 2, 3])),
        Block(indices([0, 1, -1]), indices([1, 2, 3])),
        Block(indices([0, 1, 1]), indices([1, 2, 3])),
        Block(indices([0, 1, 2]), indices([1, 1, 3])),
        Block(indices([0, 1, 2]), indices([1, 2, 4])),
        Block(indices([0, 1, 2]), indices([1, 2])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), last=indices([4, 3, 3])),
        Block(indices([0, 1, 2]), indices([2, 2, 3]), last=indices([1, 3, 3])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), last=indices([3, 3])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), holes=indices([3])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), holes=indices([-1])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), holes=indices([1, 1])),
        Block(indices([0, 1, 2]), indices([1, 2, 3]), holes=indices([1, 0])),
    ],
)
def test_sites_are_never_made_of_blocks_that_are_none(block):
    with pytest.raises(InvalidParameterError, match=r"regions\[a\]' must hold each pair of two nodes once"):
        Sites(Graph(5, []), ("a",), (block,))


def test_sites_are_checked_once_and_not_again_in_every_worker(monkeypatch):
    sites = Partition.from_node_sets({"a": range(3), "b": range(3, 5)}).sites(Graph(5, [(0, 2)]))
    packed = pickle.dumps(sites)
    monkeypatch.setattr(NodePairs, "check", None)
    assert pickle.loads(packed).key == sites.key


@cache
def usual_partitions(n_nodes):
    return dict(_usual_partitions(n_nodes))


def _usual_partitions(n_nodes):
    third = n_nodes // 3
    sets = {"a": range(third), "b": range(third, 2 * third), "c": range(2 * third, n_nodes)}
    yield "sets", Partition.from_node_sets(sets, between={"ab": ("a", "b"), "cb": ("c", "b"), "ca": ("c", "a")})
    yield "labels", Partition.from_node_labels([node % 7 for node in range(n_nodes)], between="mixed")
    yield "pairs of nodes", Partition.from_node_labels([node // 2 for node in range(n_nodes)], between="mixed")
    yield "each alone", Partition.from_node_labels(range(n_nodes), between="mixed")
    groups = tuple(N(range(start, min(start + 40, n_nodes))) for start in range(0, n_nodes, 40))
    yield "communities", Partition((("inside", Within(groups)), ("between", Across(groups))))
    some = N(range(third))
    yield "important", Partition((("important", Inside(some)), ("other", Outside(some))))
    ring = Graph(n_nodes, [(node, (node + 1) % n_nodes) for node in range(n_nodes)])
    yield "edges", Partition.from_present_edges(ring, present="ring", absent="rest")


def test_the_number_of_pairs_looked_at_is_that_of_roles(monkeypatch):
    asked = []
    locate = Block.locate
    monkeypatch.setattr(Block, "locate", lambda block, u, v: asked.append(len(u)) or locate(block, u, v))
    for name, partition in usual_partitions(2_000).items():
        sites = partition.sites(Graph(2_000, []))
        asked.clear()
        shared_pair_of(sites.blocks, sites.graph.n_nodes)
        assert sum(asked) <= 5 * (blocks_module.LISTED_PER_NODE + 1) * 2_000 < sites.n_sites / 10, name


def test_many_blocks_that_are_too_large_to_be_listed():
    groups = np.array_split(np.arange(30_000), 200)
    blocks = [*map(inside, groups), across(groups)]
    start = time.thread_time()
    assert shared_pair_of(blocks, 30_000) is None
    blocks[77] = inside(np.append(groups[77], groups[3][:1]))
    one, other, u, v = shared_pair_of(blocks, 30_000)
    assert {one, other} == {77, 200}
    assert groups[3][0] in (u, v)
    assert time.thread_time() - start < 5
