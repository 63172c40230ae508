import pytest

from starcert.objects import Graph
from starcert.objects.site_sets import Across, Index, Inside, Outside, Pairs, Within
from starcert.system.errors import InvalidParameterError

GRAPH = Graph(4, [], nodes="dbca")


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
