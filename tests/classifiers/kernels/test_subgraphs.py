from collections import Counter
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from kernel_worlds import motif_graph, random_graph

import starcert as sc

pytest.importorskip("sklearn")

from starcert.classifiers.kernels import Graphlets, NeighbourhoodPairs, ShortestPath
from starcert.classifiers.kernels.subgraphs import shapes

GRAPHS = [random_graph(n, p, 7 * n) for n in (1, 2, 5, 7, 9) for p in (0.15, 0.4, 0.7)]
LABELLED = [sc.Graph(g.n_nodes, g.edges, node_data={"kind": list("ab" * 9)[: g.n_nodes]}) for g in GRAPHS]


def kernel_of(counts):
    """The matrix of the inner products of counters."""
    return np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], dtype=float)


def labels_of(graph, node_labels):
    plain = graph.to_networkx()
    if node_labels is None:
        return dict.fromkeys(plain, 0)
    return dict(plain.degree) if node_labels == "degree" else dict(plain.nodes(data=node_labels))


@pytest.mark.parametrize("node_labels", ["degree", "kind", None])
def test_shortest_paths_are_those_of_networkx(node_labels):
    def counted(graph):
        label = labels_of(graph, node_labels)
        lengths = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
        return Counter((label[u], label[v], d) for u, row in lengths.items() for v, d in row.items() if u != v)

    features = ShortestPath(node_labels=node_labels).fit_transform(LABELLED)
    np.testing.assert_array_equal((features @ features.T).toarray(), kernel_of(list(map(counted, LABELLED))))


@pytest.mark.parametrize("node_labels", ["degree", "kind", None])
@pytest.mark.parametrize(("radius", "distance"), [(0, 2), (1, 1), (2, 3), (3, 4)])
def test_neighbourhoods_are_those_of_networkx_up_to_isomorphism(node_labels, radius, distance):
    """Rooted, labelled isomorphism by brute force: on graphs this small the invariant tells all apart."""
    classes = []

    def class_of(graph, label, root, r):
        ball = nx.ego_graph(graph, root, radius=r)
        nx.set_node_attributes(ball, {v: (label[v], v == root) for v in ball}, "told")
        for number, other in enumerate(classes):
            if nx.is_isomorphic(ball, other, node_match=lambda a, b: a["told"] == b["told"]):
                return number
        classes.append(ball)
        return len(classes) - 1

    def counted(graph):
        label, plain = labels_of(graph, node_labels), graph.to_networkx()
        lengths = dict(nx.all_pairs_shortest_path_length(plain))
        values = {}
        for r in range(radius + 1):
            around = {v: class_of(plain, label, v, r) for v in plain}
            for d in range(distance + 1):
                level = Counter((around[u], around[v]) for u, v in product(plain, plain) if lengths[u].get(v) == d)
                norm = np.sqrt(sum(count**2 for count in level.values()))
                values |= {(r, d, *pair): count / norm for pair, count in level.items()}
        return Counter(values)

    graphs = [graph for graph in LABELLED if graph.n_nodes < 9]
    features = NeighbourhoodPairs(radius, distance, node_labels=node_labels).fit_transform(graphs)
    np.testing.assert_allclose((features @ features.T).toarray(), kernel_of(list(map(counted, graphs))), rtol=1e-12)


def test_the_names_of_nodes_do_not_matter():
    rng = np.random.default_rng(2)
    for kernel in (ShortestPath(), NeighbourhoodPairs()):
        for graph in (*GRAPHS, motif_graph(0, 3)):
            order = rng.permutation(graph.n_nodes)
            features = kernel.fit_transform([graph, sc.Graph(graph.n_nodes, order[graph.edges])]).toarray()
            np.testing.assert_array_equal(features[0], features[1])


def test_a_level_has_norm_one():
    path = sc.Graph(4, [(0, 1), (1, 2), (2, 3)])
    features = NeighbourhoodPairs(2, 5).fit_transform([path, sc.Graph(1, [])])
    assert np.square(features.toarray()).sum(axis=1).tolist() == pytest.approx([3 * 4, 3])  # distances 0 to 3; 0 alone


@pytest.mark.parametrize(("parameters", "name"), [((-1, 2), "radius"), ((1, None), "distance"), ((True, 1), "radius")])
def test_wrong_parameters_are_named(parameters, name):
    with pytest.raises(sc.InvalidParameterError, match=f"'{name}' must be a whole number, 0 or more"):
        NeighbourhoodPairs(*parameters).fit(GRAPHS)


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
