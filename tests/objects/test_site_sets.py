from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.objects import Graph
from starcert.objects.site_sets import Across, Index, Inside, Outside, Pairs, Within, shared_pair
from starcert.system.errors import InvalidParameterError

GRAPH = Graph(4, [], nodes="dbca")
sides = st.tuples(st.frozensets(st.integers(0, 4)), st.frozensets(st.integers(0, 4)))


def test_the_index_goes_by_name():
    index = Index(GRAPH)
    assert index.of_nodes("ab").tolist() == [3, 1]
    assert index.of_pairs([frozenset("ab"), frozenset("db"), frozenset("ad")]).tolist() == [[0, 1], [0, 3], [1, 3]]
    assert index.of_pairs([]).shape == (0, 2)
    with pytest.raises(InvalidParameterError, match="without a node 'x'"):
        index.of_nodes("ax")


def test_every_kind_finds_its_pairs():
    index = Index(GRAPH)
    abc = frozenset("abc")
    assert Outside().block(index).size == 6
    assert Inside(abc).block(index).size == 3
    assert Inside(abc, frozenset({frozenset("ab")})).block(index).size == 2
    assert Across((frozenset("a"), frozenset("bc"), frozenset("d"))).block(index).size == 5
    assert Within((frozenset("a"), frozenset("bc"), frozenset("d"))).block(index).size == 1
    assert Outside(abc).block(index).size == 3
    assert Outside(frozenset()).block(index).size == 6
    assert Pairs(frozenset({frozenset("ad"), frozenset("bc")})).block(index).size == 2


@given(sides, sides)
def test_shared_pairs_against_listing_them(one, other):
    listed = [{frozenset(pair) for pair in product(*both) if len(set(pair)) == 2} for both in (one, other)]
    pair = shared_pair(one, other)
    assert (pair is not None) == bool(listed[0] & listed[1])
    assert pair is None or frozenset(pair) in listed[0] & listed[1]


@given(st.frozensets(st.integers(0, 4)), st.frozensets(st.integers(0, 4)))
def test_sets_share_a_pair_if_they_share_two_nodes(one, other):
    pair = shared_pair((one, one), (other, other))
    assert (pair is None) == (not list(combinations(one & other, 2)))
