from collections import Counter

import numpy as np
import pytest
from asking import drawn
from kernel_worlds import motif_graph, random_graph

import starcert as sc

pytest.importorskip("sklearn")

from starcert.classifiers.kernels import VertexHistogram, WeisfeilerLehman

TRAIN = [motif_graph(i % 2, i) for i in range(10)]
LABELLED = [random_graph(n, 0.4, n, kind=list("abc" * 9)[:n]) for n in (1, 2, 5, 8, 11)]


def kernel_of(counts):
    return np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], dtype=float)


def gram(kernel, graphs):
    features = kernel.fit_transform(graphs)
    return (features @ features.T).toarray()


def test_nodes_by_label():
    np.testing.assert_array_equal(
        gram(VertexHistogram(), TRAIN), kernel_of([Counter(dict(g.to_networkx().degree).values()) for g in TRAIN])
    )
    kinds = [Counter(graph.node_data["kind"]) for graph in LABELLED]
    np.testing.assert_array_equal(gram(VertexHistogram(node_labels="kind"), LABELLED), kernel_of(kinds))


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_labels_that_grow(rounds):
    """Labels as nested tuples, which no hash mixes up."""

    def counted(graph):
        plain, counts = graph.to_networkx(), Counter()
        label = dict(plain.nodes(data="kind"))
        for time in range(rounds + 1):
            counts += Counter((time, each) for each in label.values())
            label = {v: (label[v], tuple(sorted(map(repr, (label[w] for w in plain[v]))))) for v in plain}
        return counts

    np.testing.assert_array_equal(
        gram(WeisfeilerLehman(rounds, node_labels="kind"), LABELLED), kernel_of(list(map(counted, LABELLED)))
    )
    with pytest.raises(sc.InvalidParameterError, match="'rounds' must be a whole number, 0 or more"):
        WeisfeilerLehman(-1).fit(LABELLED)


@pytest.mark.parametrize("n", [1, 20, 65, 128, 129])
def test_words_of_64_copies_weigh_as_degrees_do(n):
    """With fixed edges, copies that begin and end within a word, and more nodes than seven binary digits count."""
    kernel = VertexHistogram().fit(TRAIN)
    weights = np.random.default_rng(n).normal(size=len(kernel.known_))
    part = sc.Partition.from_node_sets({"some": range(0, n, 2)})
    batch = drawn(random_graph(n, 8 / n, n), sc.Noise(some=0.3), 200, part)
    for copies in (batch, batch[3:150], batch[64:65]):
        values, bounds = kernel.weighted_sums(copies, weights, np.abs(weights))
        features = kernel.transform(copies)
        np.testing.assert_allclose(values, features @ weights, rtol=1e-12, atol=1e-13)
        assert (bounds >= features @ np.abs(weights) * (1 - 1e-12)).all()


def test_a_norm_knows_what_training_has_not_seen():
    kernel = VertexHistogram(normalize=True).fit([sc.Graph(2, [(0, 1)])])
    assert kernel.transform([sc.Graph(7, [(0, 1), (1, 2), (3, 4)])]).toarray().tolist() == [[4 / np.sqrt(16 + 1 + 4)]]
