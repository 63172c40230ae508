import numpy as np
import pytest

import starcert as sc
from kernel_worlds import NOISE, PARTITION, draw, listed, motif_graph, quiet_fit, random_graph

pytest.importorskip("sklearn")
pytest.importorskip("grakel")

from starcert.classifiers.kernels import nspd
from starcert.classifiers.kernels.nspd import PairwiseDistance, agrees_with_grakel
from starcert.models import nspd_svm

TRAIN = [motif_graph(i % 2, i) for i in range(8)] + [sc.Graph(5, []), sc.Graph(6, [(0, 1)])]


def test_the_kernel_is_grakels_to_the_last_digit():
    model = quiet_fit(nspd_svm(), TRAIN, [0, 1] * 5)
    support = model.svc_.support_
    features = PairwiseDistance(model.kernel_, support, model.svc_.dual_coef_[0])
    batches = [draw(motif_graph(1, 30), NOISE, 10, PARTITION)]
    batches += [draw(random_graph(n, 0.2, n), sc.Noise(all=0.1), 10) for n in (1, 2, 6, 17)]
    for batch in batches:
        matrix = model._matrix(listed(batch))[:, support]
        np.testing.assert_array_equal(features.matrix(batch), matrix)
        np.testing.assert_allclose(features.decisions(batch)[0], matrix @ model.svc_.dual_coef_[0], atol=1e-12)
        assert (features.decisions(batch)[1] >= matrix @ np.abs(model.svc_.dual_coef_[0])).all()


def test_a_training_graph_is_like_itself():
    model = quiet_fit(nspd_svm(), TRAIN, [0, 1] * 5)
    features = PairwiseDistance(model.kernel_, np.arange(len(TRAIN)), None)
    for i, graph in enumerate(TRAIN):
        own = features.matrix(draw(graph, sc.Noise(all=0.0), 1))[0]
        assert own.argmax() == i
        levels = {(r, d) for (r, d), counts in model.kernel_.X.items() if counts[i].sum()}
        assert own[i] == pytest.approx(len(levels), rel=1e-12)


def test_the_trial_sees_a_difference(monkeypatch):
    assert agrees_with_grakel.__wrapped__(3, 4)
    hashes = nspd.hash_neighbourhoods

    def changed(*args):
        one, two = hashes(*args)
        return one ^ np.uint32(1), two

    monkeypatch.setattr(nspd, "hash_neighbourhoods", changed)
    assert not agrees_with_grakel.__wrapped__(3, 4)
