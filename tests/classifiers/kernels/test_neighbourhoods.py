import numpy as np
import pytest

import starcert as sc
from kernel_worlds import NOISE, PARTITION, draw, listed, motif_graph, random_graph
from starcert.classifiers.kernels.neighbourhoods import alphabet, hash_neighbourhoods
from starcert.classifiers.kernels.rows import adjacency_rows
from starcert.models.conversion import grakel_input

NO_LABELS = np.empty(0, dtype=np.int64)


def grakel_hashes(graph, radius, distance, node_labels="degree"):
    """The hashes and the pairs at every distance, from inside GraKeL."""
    from grakel.graph import Graph  # noqa: PLC0415
    from grakel.kernels import NeighborhoodSubgraphPairwiseDistance  # noqa: PLC0415

    inner = Graph(*grakel_input([graph], node_labels)[0])
    inner.change_format("dictionary")
    joined = inner.get_edge_dictionary()
    near, pairs, levels = inner.produce_neighborhoods(radius, purpose="dictionary", with_distances=True, d=distance)
    hashes = NeighborhoodSubgraphPairwiseDistance(r=radius, d=distance)._hash_neighborhoods(
        set(inner.get_vertices(purpose="dictionary")),
        {(i, j) for i in joined for j in joined[i]},
        inner.get_labels(purpose="dictionary"),
        inner.get_labels(purpose="dictionary", label_type="edge"),
        near,
        levels,
    )
    return hashes, pairs


@pytest.mark.parametrize(("radius", "distance"), [(3, 4), (2, 2), (1, 3), (3, 1), (0, 2), (2, 0), (4, 5)])
def test_hashes_and_levels_are_those_of_grakel(radius, distance):
    pytest.importorskip("grakel")
    batches = [draw(random_graph(n, p, n), sc.Noise(all=0.05), 4) for n in (1, 4, 11, 25) for p in (0.05, 0.2, 0.7)]
    batches.append(draw(motif_graph(0, 3), NOISE, 10, PARTITION))
    for batch in batches:
        n = batch.frame.n_nodes
        words = alphabet([str(degree) for degree in range(n)], distance + 1)
        hashes, levels = hash_neighbourhoods(adjacency_rows(batch), NO_LABELS, words, radius, distance)
        for copy, graph in enumerate(listed(batch)):
            want, pairs = grakel_hashes(graph, radius, distance)
            assert {(r, v): int(hashes[copy, r, v]) for r in range(radius + 1) for v in range(n)} == want
            for d in range(distance + 1):
                found = {(int(i), int(j)) for i, j in np.argwhere(levels[copy] == d)}
                assert found == {(int(i), int(j)) for i, j in pairs.get(d, ())}


def test_distances_double():
    """On a path, the levels are 0, 1, 2, 3, 3, 4, 4, 4, 4: reaches 1, 2, 4, 8."""
    path = sc.Graph(12, [(i, i + 1) for i in range(11)])
    batch = draw(path, sc.Noise(all=0.0), 1)
    words = alphabet([str(degree) for degree in range(12)], 5)
    levels = hash_neighbourhoods(adjacency_rows(batch), NO_LABELS, words, 3, 4)[1]
    assert levels[0, 0].tolist() == [0, 1, 2, 3, 3, 4, 4, 4, 4, -1, -1, -1]


def test_labels_of_many_letters():
    pytest.importorskip("grakel")
    labels = ["carbon", "N", "2", "10"]
    graph = random_graph(9, 0.4, 2, element=[labels[i % 4] for i in range(9)])
    batch = draw(graph, sc.Noise(all=0.1), 5)
    text = list(graph.node_data["element"])
    numbers = np.array([sorted(labels).index(label) for label in text])
    hashes, _ = hash_neighbourhoods(adjacency_rows(batch), numbers, alphabet(sorted(labels), 3), 2, 2)
    for copy, noisy in enumerate(listed(batch)):
        want, _ = grakel_hashes(noisy, 2, 2, "element")
        assert {(r, v): int(hashes[copy, r, v]) for r in range(3) for v in range(9)} == want
