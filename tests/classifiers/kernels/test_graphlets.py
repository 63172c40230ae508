from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from kernel_worlds import random_graph

import starcert as sc

pytest.importorskip("sklearn")

from starcert.classifiers.kernels import Graphlets
from starcert.classifiers.kernels.subgraphs import shapes


@pytest.mark.parametrize(("k", "classes"), [(3, 4), (4, 11), (5, 34)])
def test_shapes_are_isomorphism_classes(k, classes):
    table = shapes(k)
    assert len(np.unique(table)) == classes
    pairs = sorted(combinations(range(k), 2), key=lambda pair: pair[::-1])

    def shape(graph):
        return table[sum(1 << bit for bit, pair in enumerate(pairs) if graph.has_edge(*pair))]

    rng = np.random.default_rng(k)
    for _ in range(50):
        graph = nx.gnp_random_graph(k, 0.5, seed=int(rng.integers(1 << 30)))
        other = nx.relabel_nodes(graph, dict(enumerate(rng.permutation(k).tolist())))
        assert shape(graph) == shape(other)


def brute_force(graph, sizes, found):
    """How many connected sets of nodes induce each shape; shapes are collected on the way, one graph for each."""
    graph, counts = graph.to_networkx(), {}
    for size in sizes:
        for nodes in combinations(graph, size):
            part = graph.subgraph(nodes)
            if nx.is_connected(part):
                alike = (i for i, shape in enumerate(found) if len(shape) == size and nx.is_isomorphic(shape, part))
                number = next(alike, len(found))
                if number == len(found):
                    found.append(nx.Graph(part))
                counts[number] = counts.get(number, 0) + 1
    return counts


@pytest.mark.parametrize(("smallest", "largest"), [(3, 3), (4, 4), (5, 5), (3, 5), (3, 4)])
def test_all_connected_sets_are_counted_by_isomorphism(smallest, largest):
    graphs = [random_graph(n, p, n) for n in (1, 2, 4, 6, 8, 9) for p in (0.2, 0.4, 0.9)]
    found = []
    wanted = [brute_force(graph, range(smallest, largest + 1), found) for graph in graphs]
    counts = Graphlets(smallest, largest).fit_transform(graphs).toarray()
    table = np.array([[row.get(shape, 0) for shape in range(len(found))] for row in wanted])
    assert counts.shape == table.shape  # columns come in another order
    assert sorted(map(tuple, counts.T.astype(int).tolist())) == sorted(map(tuple, table.T.tolist()))


def test_numbers_that_are_known():
    clique = sc.Graph.from_networkx(nx.complete_graph(22))
    ring = sc.Graph.from_networkx(nx.cycle_graph(70))  # more nodes than a word has bits
    counts = Graphlets().fit_transform([clique, ring]).toarray()
    assert sorted(counts[0][counts[0] > 0].tolist()) == [1540.0, 7315.0, 26334.0]  # 22 over 3, 4, 5
    assert counts[1][counts[1] > 0].tolist() == [70.0] * 3


@pytest.mark.parametrize(
    ("sizes", "name"), [((2, 4), "smallest"), ((5, 4), "smallest"), ((3, 6), "largest"), ((3, 4.0), "largest")]
)
def test_sizes_are_three_to_five(sizes, name):
    with pytest.raises(sc.InvalidParameterError, match=rf"'{name}' must be a whole number from 3 to "):
        Graphlets(*sizes).fit([random_graph(5, 0.5, 1)])
