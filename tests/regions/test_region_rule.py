import pickle

import pytest

import starcert as sc
from region_worlds import shuffled
from starcert.graphs.rule import partition_by_rule
from starcert.regions.region_rule import canonical_order

GRAPH = sc.Graph(
    6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)], node_data={"label": [0, 0, 1, 1, 2, 2], "z": list("aabbcc")}
)


@pytest.mark.parametrize(
    "text",
    [
        "communities:resolution=0.5",
        "communities:method=greedy",
        "node_labels:between=mixed",
        "node_labels:attribute=z,inside=same",
        "node_labels:labels=0/1",
        "node_sets:core=0-2+4,rest=*,between=bridge",
        "low_rank:rank=2,quantile=0.5",
        "low_rank:threshold=0.25",
        "ring_atoms",
    ],
)
def test_a_rule_is_a_value_that_its_description_makes_again(text):
    rule = sc.regions.build(text)
    assert sc.regions.build(rule.description) == rule
    assert hash(sc.regions.build(rule.description)) == hash(rule)
    twin = pickle.loads(pickle.dumps(rule))
    assert twin == rule
    assert (twin.name, twin.parameters, twin.regions, twin.why) == (rule.name, rule.parameters, rule.regions, rule.why)
    assert twin(GRAPH) == rule(GRAPH)
    assert partition_by_rule(rule, GRAPH).parts == rule(GRAPH).parts
    assert rule != sc.regions.build("communities:resolution=0.75")


@pytest.mark.parametrize("text", ["communities", "low_rank", "ring_atoms"])
def test_anchored_rules_say_how(text):
    rule = sc.regions.build(text)
    partition = partition_by_rule(rule, GRAPH)
    assert rule.anchored
    assert partition.anchored
    assert partition.reason == rule.reason
    assert "clean graph" in partition.reason
    assert partition.regions == rule.regions


@pytest.mark.parametrize("text", ["node_labels", "node_sets:a=0-2,b=*", "node_labels:inside=same"])
def test_rules_on_nodes_never_read_edges(text):
    rule = sc.regions.build(text)

    class Without(sc.Graph):
        @property
        def n_edges(self):
            raise AssertionError

        def __getattribute__(self, name):
            assert name != "edges"
            return super().__getattribute__(name)

    watched = object.__new__(Without)
    watched.__dict__.update(vars(GRAPH))
    assert not rule.anchored
    assert not rule(watched).anchored
    assert not partition_by_rule(rule, GRAPH).anchored


def test_parameters_do_not_change():
    rule = sc.regions.communities()
    with pytest.raises(TypeError):
        rule.parameters["resolution"] = 2
    with pytest.raises(AttributeError):
        rule.name = "other"


def test_the_canonical_order_follows_names_of_any_kind():
    graph = sc.Graph(6, [], nodes=[("b", 1), 10, "10", 9, None, "9"])
    names = [graph.nodes[index] for index in canonical_order(graph)]
    other = shuffled(graph)
    assert [other.nodes[index] for index in canonical_order(other)] == names
    assert names[:2] == [9, 10]
