import pytest
from region_worlds import all_pairs, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.system.errors import InvalidParameterError

GRAPH = sc.Graph(8, [(0, 1), (1, 2), (4, 5)])


def test_ranges_include_both_ends_and_pieces_add_up():
    found = named_pairs(sc.regions.build("node_sets:a=0-2+5,b=7"), GRAPH)
    assert set().union(*found["a"]) == {0, 1, 2, 5}
    assert len(found["a"]) == 6
    assert found["b"] == set()


def test_the_rest_is_what_each_graph_has_besides():
    rule = sc.regions.build("node_sets:core=0-2,rest=*,between=bridge")
    assert rule.regions == ("core", "rest", "bridge")
    for n_nodes, sizes in ((8, (3, 10, 15)), (3, (3, 0, 0)), (5, (3, 1, 6))):
        graph = sc.Graph(n_nodes, [])
        assert rule(graph).sites(graph).sizes == sizes
    assert covers_everything(rule, GRAPH)
    assert named_pairs(rule, shuffled(GRAPH)) == named_pairs(rule, GRAPH)


def test_names_that_are_no_numbers():
    graph = sc.Graph(4, [], nodes=["C1", "C2", "O", "N-1"])
    found = named_pairs(sc.regions.node_sets({"carbon": "C1+C2", "others": ["O", "N-1"]}, between="mixed"), graph)
    assert found["carbon"] == {frozenset(("C1", "C2"))}
    assert len(found["mixed"]) == 4
    assert named_pairs(sc.regions.build("node_sets:carbon=C1+C2,others=O+N-1,between=mixed"), graph) == found


def test_between_two_sets_by_name():
    rule = sc.regions.node_sets({"a": "0-1", "b": "2-3", "c": "4-7"}, between={"ab": ("a", "b")})
    assert rule.regions == ("a", "b", "c", "ab")
    found = named_pairs(rule, GRAPH)
    assert found["ab"] == {frozenset((u, v)) for u in (0, 1) for v in (2, 3)}
    assert set().union(*found.values()) < all_pairs(GRAPH)
    assert rule(GRAPH) == sc.Partition.from_node_sets(
        {"a": range(2), "b": range(2, 4), "c": range(4, 8)}, between={"ab": ("a", "b")}
    )


def test_a_thousand_nodes_have_a_short_description():
    rule = sc.regions.node_sets({"core": range(1000), "some": [2000, 2001, 2002, "x", 3000]})
    assert rule.description == "node_sets:core=0-999,some=2000-2002+3000+x"
    assert sc.regions.build(rule.description) == rule


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ({}, "name at least one set"),
        ({"a": "0-3", "b": "3-5"}, "no common node. Got \"3 in both 'a' and 'b'\""),
        ({"a": "*", "b": "*"}, "to a and b. Only one set can have them"),
        ({"a": "5-2"}, r"sets\[a\]' must be ranges from the smaller.* Got '5-2'"),
        ({"a": "0-99999999999"}, "Got '0-99999999999'"),
        ({"a": "0-3++5"}, r"with a \+ between them"),
        ({"a": 3}, r"sets\[a\]' must be nodes. Got 3"),
        ({"a": [[1]]}, r"sets\[a\]' must be names of nodes"),
        ({"a b": "0-3"}, "names without spaces"),
    ],
)
def test_sets_that_are_none_are_refused_at_once(sets, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.node_sets(sets)


def test_an_unknown_set_or_node_is_named():
    with pytest.raises(InvalidParameterError, match=r"between\[ab\]' must name two of the sets 'a'"):
        sc.regions.node_sets({"a": "0-3"}, between={"ab": ("a", "b")})
    rule = sc.regions.node_sets({"a": "0-9"})
    with pytest.raises(InvalidParameterError, match="without a node 8"):
        rule(GRAPH).sites(GRAPH)
