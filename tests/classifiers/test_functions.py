"""Functions that classify every node of a networkx graph."""

import networkx as nx
import numpy as np
import pytest
import worlds

import starcert as sc
from starcert.classifiers import from_node_function
from starcert.system.errors import ClassifierError, InvalidParameterError

GRAPH = sc.Graph(4, [(0, 1), (0, 2), (0, 3)], nodes="abcd", node_data={"mask": [0, 1, 0, 1], "none": [0] * 4})
NOISE = sc.Noise(all=0.1)


def busy(graph):
    return {node: int(degree > 1) for node, degree in graph.degree}


def certified(function, **told):
    return sc.SmoothedClassifier(from_node_function(function, **told), NOISE).certify([GRAPH], samples=300, seed=1)


def test_a_mapping_and_a_row_are_the_same():
    by_name = certified(busy)
    by_place = certified(lambda graph: [int(degree > 1) for _, degree in graph.degree])
    np.testing.assert_array_equal(by_name.votes.counts, by_place.votes.counts)
    assert [one.node for one in by_name] == ["a", "b", "c", "d"]
    assert by_name.labels.tolist() == [1, 0, 0, 0]


def test_a_mask_says_which_nodes():
    some = certified(busy, nodes="mask")
    assert [one.node for one in some] == ["b", "d"]
    np.testing.assert_array_equal(some.votes.counts, certified(busy).votes.counts[[1, 3]])


def test_the_function_sees_the_copy_with_its_names_and_data():
    seen = worlds.Calls()

    def look(graph):
        seen.append((type(graph), list(graph), dict(graph.nodes(data="mask"))))
        return [0] * 4

    certified(look)
    assert seen[0] == (nx.Graph, list("abcd"), {"a": 0, "b": 1, "c": 0, "d": 1})


def test_descriptions_tell_functions_and_masks_apart():
    names = {
        from_node_function(busy).description,
        from_node_function(busy, nodes="mask").description,
        from_node_function(lambda graph: [0] * len(graph)).description,
        from_node_function(busy, description="busy").description,
        from_node_function(busy, nodes="mask", description="busy").description,
    }
    assert len(names) == 5
    assert from_node_function(busy).description == from_node_function(busy).description


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda graph: {"a": 0}, "it gave no class for the node 'b'"),
        (lambda graph: [0, 1], r"it gave classes of shape \(2,\) for 4 nodes; one each is needed"),
        (lambda graph: 1, r"it gave classes of shape \(\) for 4 nodes"),
        (lambda graph: [0, 1, 2, 0], "it answered 2; a class is a whole number from 0 to 1"),
    ],
)
def test_answers_that_are_none(answer, words):
    with pytest.raises(ClassifierError, match=words):
        certified(answer)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"function": 3}, "'function' must be callable"),
        ({"n_classes": 1}, "'n_classes'"),
        ({"nodes": [0, 1]}, "'nodes' must be the name of node data, or None for all nodes"),
    ],
)
def test_what_cannot_be_made(told, words):
    with pytest.raises(InvalidParameterError, match=words):
        from_node_function(**{"function": busy} | told)
