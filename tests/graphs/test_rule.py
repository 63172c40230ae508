import pytest

import starcert as sc
from starcert.errors import InvalidParameterError
from starcert.graphs.rule import partition_by_rule

GRAPH = sc.Graph(5, [(0, 1), (1, 2), (3, 4)], node_data={"z": [6, 6, 8, 8, 8]})


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


@pytest.mark.parametrize("rule", [by_degree, by_edges, by_key])
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


def test_a_reason_of_its_own_is_kept():
    def present(graph):
        return sc.Partition.from_present_edges(graph, present="bonds", absent="others")

    assert partition_by_rule(present, GRAPH).reason == present(GRAPH).reason


def test_what_is_no_partition_is_named_with_its_graph():
    with pytest.raises(InvalidParameterError, match=r"dict for Graph\(5 nodes, 3 edges"):
        partition_by_rule(lambda graph: {}, GRAPH)
