import functools
from itertools import combinations

import pytest

import starcert as sc
from starcert.objects.rule import partition_by_rule
from starcert.objects.site_sets import Inside
from starcert.system.errors import InvalidParameterError

GRAPH = sc.Graph(
    5, [(0, 1), (1, 2), (3, 4)], node_data={"z": [6, 6, 8, 8, 8]}, anchored_data={"degree": [1, 2, 1, 1, 1]}
)


def halves():
    return sc.Partition.from_node_sets({"low": range(3), "high": [3, 4]})


def by_data(graph):
    return sc.Partition.from_node_labels(list(graph.node_data["z"]))


def by_degree(graph):
    hubs = [node for node, degree in graph.to_networkx().degree if degree > 1]
    return sc.Partition.from_node_sets({"hubs": hubs, "rest": set(graph.nodes) - set(hubs)})


def by_edges(graph):
    return sc.Partition.from_pairs({"bonds": [tuple(edge) for edge in graph.edges.tolist()]})


def by_key(graph):
    return sc.Partition.from_node_sets({"some": range(2 + int(graph.key, 16) % 2)})


def test_a_rule_that_reads_nodes_and_their_data_is_not_anchored():
    assert not partition_by_rule(by_data, GRAPH).anchored
    assert not partition_by_rule(lambda graph: sc.Partition.from_node_sets({"a": graph.nodes[:3]}), GRAPH).anchored


def swallowing(graph):
    try:
        return by_edges(graph)
    except Exception:  # noqa: BLE001  (as a user's rule may)
        return halves()


def reading(look):
    """A rule that looks at a graph in some way, and makes nothing of it."""

    def rule(graph):
        look(graph)
        return halves()

    return rule


@pytest.mark.parametrize("rule", [by_degree, by_edges, by_key, swallowing])
def test_a_rule_that_reads_edges_is_anchored_without_saying_so(rule):
    GRAPH.key  # noqa: B018  (a key that was computed before must not hide that it is read)
    partition = partition_by_rule(rule, GRAPH)
    assert partition.anchored
    assert "reads the graph's own edges" in partition.reason
    assert not partition_by_rule(by_data, GRAPH).anchored  # the graph itself does not remember


def test_a_rule_may_take_responsibility():
    def names_only(graph):
        return sc.Partition.from_node_sets({"a": list(graph.to_networkx().nodes)[:3]})

    assert partition_by_rule(names_only, GRAPH).anchored
    names_only.anchored = False
    assert not partition_by_rule(names_only, GRAPH).anchored


class Silent:
    """A rule whose `anchored` is false without anybody having said so, as that of a RegionRule without a reason."""

    @property
    def anchored(self):
        return False

    def __call__(self, graph):
        return by_edges(graph)


class Vouching(Silent):
    anchored = False


def test_only_an_explicit_word_takes_the_mark_back():
    assert partition_by_rule(Silent(), GRAPH).anchored
    assert not partition_by_rule(Vouching(), GRAPH).anchored
    divide = sc.regions.RegionRule("own", {}, ("bonds",), by_edges, "Why not.")
    assert not divide.anchored
    assert partition_by_rule(divide, GRAPH).anchored


def test_what_a_rule_returns_is_no_such_word():
    def present(graph):
        return sc.Partition.from_pairs({"bonds": [tuple(edge) for edge in graph.edges.tolist()]}, anchored=False)

    assert partition_by_rule(present, GRAPH).anchored


def test_a_rule_may_also_say_that_it_is_anchored():
    rule = reading(lambda graph: graph.nodes)
    assert not partition_by_rule(rule, GRAPH).anchored
    rule.anchored = True
    assert partition_by_rule(rule, GRAPH).anchored


def counting(rule):
    """The rule, and the graphs that it is called with: the real one or another."""
    seen = []

    def counted(graph):
        seen.append(graph is GRAPH)
        return rule(graph)

    return counted, seen


def test_a_rule_sees_the_graph_itself_once_and_only_if_it_must():
    rule, seen = counting(by_data)
    partition_by_rule(rule, GRAPH)
    assert seen == [False]
    rule, seen = counting(by_edges)
    partition_by_rule(rule, GRAPH)
    assert seen == [False, True]
    partition_by_rule(rule, GRAPH)
    assert seen == [False, True, False, True]


def test_a_rule_that_fails_without_edges_and_not_with_them_is_anchored():
    calls = []

    def at_second_try(graph):
        calls.append(graph)
        if len(calls) == 1:
            raise OSError
        return halves()

    assert partition_by_rule(at_second_try, GRAPH).anchored


def test_a_rule_that_fails_anyway_is_not_remembered():
    wanted = {"degree"}

    def rule(graph):
        return by_data(graph) if wanted == {"z"} else by_data(graph.node_data["w"])

    with pytest.raises(KeyError):
        partition_by_rule(rule, GRAPH)
    wanted.clear()
    wanted.add("z")
    assert not partition_by_rule(rule, GRAPH).anchored


def memoised():
    known = {}

    def rule(graph):
        if graph.nodes not in known:
            known[graph.nodes] = by_degree(graph)
        return known[graph.nodes]

    return rule


class Memoised:
    __slots__ = ("known",)  # nobody can refer to it weakly

    def __init__(self):
        self.known = {}

    def rule(self, graph):
        return self.known.get(graph.nodes) or self.known.setdefault(graph.nodes, by_degree(graph))


def test_a_rule_that_remembers_stays_anchored():
    rule = memoised()
    partitions = [partition_by_rule(rule, graph) for graph in (GRAPH, GRAPH, sc.Graph(5, []))]
    assert [partition.anchored for partition in partitions] == [True] * 3
    assert partitions[0] == partitions[1]
    owner = Memoised()
    assert all(partition_by_rule(owner.rule, GRAPH).anchored for _ in range(3))
    cached = functools.cache(by_degree)
    assert all(partition_by_rule(cached, GRAPH).anchored for _ in range(3))


def test_so_does_its_partition_in_the_hands_of_another_rule():
    rule = memoised()
    for _ in range(3):
        assert partition_by_rule(lambda graph: rule(graph), GRAPH).anchored  # noqa: PLW0108  (a new function)


def test_a_reason_of_its_own_is_kept():
    def present(graph):
        return sc.Partition.from_present_edges(graph, present="bonds", absent="others")

    assert partition_by_rule(present, GRAPH).reason == present(GRAPH).reason


def test_what_is_no_partition_is_named_with_its_graph():
    with pytest.raises(InvalidParameterError, match=r"dict for Graph\(5 nodes, 3 edges"):
        partition_by_rule(lambda graph: {}, GRAPH)


def test_pairs_that_a_rule_lists_without_looking_may_be_edges_by_chance():
    def triangle(graph):
        return sc.Partition.from_pairs({"corner": [(0, 1), (1, 2)]})

    assert not partition_by_rule(triangle, GRAPH).sites(GRAPH).anchored


def known_beforehand(graph):
    return by_edges(GRAPH)


def absent_known_beforehand(graph):
    pairs = {frozenset(pair) for pair in combinations(range(5), 2)}
    return sc.Partition.from_pairs({"gaps": map(tuple, pairs - {frozenset(edge) for edge in GRAPH.edges.tolist()})})


def left_out_known_beforehand(graph):
    edges = frozenset(frozenset(edge) for edge in GRAPH.edges.tolist())
    return sc.Partition((("gaps", Inside(frozenset(range(5)), edges)),))


@pytest.mark.parametrize("rule", [known_beforehand, absent_known_beforehand, left_out_known_beforehand])
def test_a_rule_that_knows_just_the_edges_beforehand_has_them_from_somewhere(rule):
    sites = partition_by_rule(rule, GRAPH).sites(GRAPH)
    assert sites.anchored
    assert "as if they were derived from it" in sites.reason
    other = sc.Graph(5, [(0, 4), (2, 4)])
    assert not partition_by_rule(rule, other).sites(other).anchored
    rule.anchored = False
    try:
        assert not partition_by_rule(rule, GRAPH).sites(GRAPH).anchored
    finally:
        del rule.anchored
