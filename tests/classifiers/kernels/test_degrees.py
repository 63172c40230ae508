import numpy as np
import pytest

import starcert as sc
from kernel_worlds import NOISE, PARTITION, draw, motif_graph, quiet_fit, random_graph

pytest.importorskip("sklearn")
pytest.importorskip("grakel")

from starcert.classifiers.kernels.degrees import DegreeHistogram
from starcert.models import vertex_histogram_svm

TRAIN = [motif_graph(i % 2, i) for i in range(10)]


def test_the_kernel_is_the_papers_formula():
    model = quiet_fit(vertex_histogram_svm(), TRAIN, [0, 1] * 5)
    batch = draw(random_graph(30, 0.5, 1), sc.Noise(all=0.1), 20)  # degrees that no training graph has
    support = model.svc_.support_
    features = DegreeHistogram(model.kernel_, support, model.svc_.dual_coef_[0])

    def counts(degrees):
        return np.bincount(degrees, minlength=30)

    want = [
        [counts(copy) @ counts(TRAIN[i].to_numpy().astype(int).sum(axis=1)) for i in support]
        for copy in batch.degrees()
    ]
    np.testing.assert_array_equal(features.matrix(batch), want)
    values, magnitudes = features.decisions(batch)
    np.testing.assert_allclose(values, np.array(want) @ model.svc_.dual_coef_[0], rtol=1e-9, atol=1e-12)
    assert (magnitudes >= np.array(want) @ np.abs(model.svc_.dual_coef_[0]) * (1 - 1e-12)).all()


def test_more_classes_have_no_single_decision():
    model = quiet_fit(vertex_histogram_svm(), TRAIN[:9], [0, 1, 2] * 3)
    features = DegreeHistogram(model.kernel_, model.svc_.support_, None)
    assert not features.linear
    assert features.matrix(draw(TRAIN[0], NOISE, 4, PARTITION)).shape == (4, len(model.svc_.support_))


@pytest.mark.parametrize("n", [1, 5, 20, 65, 128, 129])
def test_words_of_64_copies_weigh_as_degrees_do(n):
    """With fixed edges, copies that begin and end within a word, and more nodes than seven binary digits count."""
    model = quiet_fit(vertex_histogram_svm(), TRAIN, [0, 1] * 5)
    features = DegreeHistogram(model.kernel_, model.svc_.support_, model.svc_.dual_coef_[0])
    part = sc.Partition.from_node_sets({"some": range(0, n, 2)})
    batch = draw(random_graph(n, 8 / n, n), sc.Noise(some=0.3), 200, part)
    for copies in (batch, batch[3:150], batch[64:65]):
        want = [sum(features._weights[d] for d in row if d < len(features._weights)) for row in copies.degrees()]
        np.testing.assert_allclose(features.decisions(copies)[0], want, rtol=1e-12, atol=1e-14)
