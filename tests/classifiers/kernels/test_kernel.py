from itertools import pairwise

import numpy as np
import pytest
from kernel_worlds import draw, listed, random_graph

import starcert as sc
from starcert.classifiers.kernels.kernel import collect, neighbours, node_labels_of


def test_a_batch_is_the_list_of_its_copies():
    graph = random_graph(9, 0.4, 1, element=["C", "N", "O"] * 3)
    part = sc.Partition.from_node_sets({"some": range(5)})
    batch = draw(graph, sc.Noise(some=0.3), 20, part)
    for labels in ("degree", "element", None):
        one, other = collect(batch, labels), collect(listed(batch), labels)
        np.testing.assert_array_equal(one.nodes, other.nodes)
        np.testing.assert_array_equal(one.starts, other.starts)
        np.testing.assert_array_equal(one.labels, other.labels)
        for i in range(20):
            edges = slice(one.starts[i], one.starts[i + 1])
            pairs = [sorted(zip(each.u[edges].tolist(), each.v[edges].tolist(), strict=True)) for each in (one, other)]
            assert pairs[0] == pairs[1]


def test_labels_are_equal_as_python_has_it():
    def words(*labels):
        return collect([sc.Graph(len(labels), [], node_data={"x": labels})], "x").labels.tolist()

    assert words(1, 2) == words(1.0, 2.0) == words(True, np.int64(2))
    assert len(set(words(1, "1", (1,), 1.5, None, b"1"))) == 6


def test_neighbours_of_every_node():
    graphs = [random_graph(12, 0.4, 3), random_graph(7, 0.4, 3), random_graph(1, 0.4, 3)]
    for number, graph in enumerate(graphs):
        begin, near = neighbours(collect(graphs, None), number)
        assert [sorted(near[a:b].tolist()) for a, b in pairwise(begin)] == [
            np.flatnonzero(row).tolist() for row in graph.to_numpy()
        ]


def test_a_missing_attribute_is_named_with_those_there_are():
    assert node_labels_of(sc.Graph(2, [], node_data={"x": np.array([5, 6])}), "x") == [5, 6]
    with pytest.raises(sc.InvalidParameterError, match=r"Got 'y' instead\. .* has 'x'"):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}), "y")
    with pytest.raises(
        sc.InvalidParameterError, match="'y' is anchored data, which tell of the clean graph's own edges"
    ):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}, anchored_data={"y": [1]}), "y")
