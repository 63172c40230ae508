import numpy as np
import pytest

import starcert as sc
from starcert.models.conversion import grakel_input, node_labels_of


def test_matrix_labels_and_edges():
    graph = sc.Graph(4, [(2, 0), (0, 1)], nodes="abcd", node_data={"x": np.array([5, 6, 7, 8])})
    adjacency, labels, edges = grakel_input([graph], "degree")[0]
    assert adjacency.tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert labels == {0: 2, 1: 1, 2: 1, 3: 0}
    assert edges == {(0, 1): 1, (1, 0): 1, (0, 2): 1, (2, 0): 1}
    assert node_labels_of(graph, "x") == [5, 6, 7, 8]
    assert all(type(label) is int for label in node_labels_of(graph, "x"))


def test_a_missing_attribute_is_named_with_those_there_are():
    with pytest.raises(sc.InvalidParameterError, match=r"Got 'y' instead\. .* has 'x'"):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}), "y")
    with pytest.raises(
        sc.InvalidParameterError, match="'y' is anchored data, which tell of the clean graph's own edges"
    ):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}, anchored_data={"y": [1]}), "y")
