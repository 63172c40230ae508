from itertools import combinations

import numpy as np
import pytest
from region_worlds import all_pairs, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.system.errors import InvalidParameterError

LABELS = [2, 0, 2, 1, 0, 2, 1]
GRAPH = sc.Graph(
    7,
    [(0, 1), (1, 2), (4, 5)],
    nodes="abcdefg",
    node_data={
        "label": np.array(LABELS),
        "word": [("ring", "tail", "both")[label] for label in LABELS],
        "number": [float(label) for label in LABELS],
        "x": np.eye(4, dtype=np.float32)[LABELS],
    },
)


def inside(label):
    members = [node for node, its in zip(GRAPH.nodes, LABELS, strict=True) if its == label]
    return {frozenset(pair) for pair in combinations(members, 2)}


MIXED = all_pairs(GRAPH) - inside(0) - inside(1) - inside(2)


@pytest.mark.parametrize("attribute", ["label", "number"])
def test_a_region_for_each_label_in_the_order_they_are_seen(attribute):
    found = named_pairs(sc.regions.node_labels(attribute, between="mixed"), GRAPH)
    assert found == {"2": inside(2), "0": inside(0), "1": inside(1), "mixed": MIXED}
    assert list(found) == ["2", "0", "1", "mixed"]
    assert "mixed" not in named_pairs(sc.regions.node_labels(attribute), GRAPH)


def test_one_hot_rows_have_a_region_for_each_column_even_where_it_is_empty():
    found = named_pairs(sc.regions.node_labels("x", between="mixed"), GRAPH)
    assert found == {"0": inside(0), "1": inside(1), "2": inside(2), "3": set(), "mixed": MIXED}
    torch = pytest.importorskip("torch")
    tensors = sc.Graph(7, [], nodes="abcdefg", node_data={"x": torch.eye(4)[LABELS], "label": torch.tensor(LABELS)})
    assert named_pairs(sc.regions.node_labels("x", between="mixed"), tensors) == found
    assert named_pairs(sc.regions.node_labels("label"), tensors)["2"] == inside(2)


def test_listed_labels_make_the_same_regions_for_every_graph():
    rule = sc.regions.node_labels("label", labels=["0", "9"], between="mixed")
    assert rule.regions == ("0", "9", "other", "mixed")
    found = named_pairs(rule, GRAPH)
    others = [node for node, label in zip(GRAPH.nodes, LABELS, strict=True) if label]
    assert found["other"] == {frozenset(pair) for pair in combinations(others, 2)}
    assert (found["0"], found["9"]) == (inside(0), set())
    assert covers_everything(rule, GRAPH)
    assert sc.regions.build("node_labels:labels=0/9,between=mixed") == rule


def test_one_region_for_all_equal_labels():
    rule = sc.regions.node_labels("word", inside="same", between="mixed")
    assert rule.regions == ("same", "mixed")
    assert named_pairs(rule, GRAPH) == {"same": inside(0) | inside(1) | inside(2), "mixed": MIXED}
    assert named_pairs(rule, shuffled(GRAPH)) == named_pairs(rule, GRAPH)
    assert list(named_pairs(sc.regions.node_labels("word", inside="same"), GRAPH)) == ["same"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"y": [0, 1]}, r"Got 'label' instead. Graph\(2 nodes, 0 edges, node data: y\) has 'y'"),
        ({}, "has none"),
        ({"label": np.array([[1, 0], [1, 1]])}, r"\[1, 1\] at node 'v'.*similar_features"),
        ({"label": np.array([[0.5, 0.5], [1, 0]])}, r"\[0.5, 0.5\] at node 'u'"),
        ({"label": ["a b", "c"]}, "names without spaces"),
        ({"label": [1, "1"]}, r"differ in their str. Got \(1, '1'\)"),
    ],
)
def test_what_is_no_label_is_named(data, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.node_labels()(sc.Graph(2, [], nodes="uv", node_data=data))
