"""Counts by products on a device are those by products here: the capitals are the same to the last bit."""

import numpy as np
import pytest
from device_worlds import DEVICES
from evidence_worlds import deleting

from starcert.claims.collective import matrices_of
from starcert.classifiers.base import Classifier
from starcert.classifiers.torch.module import DeviceMatrices
from starcert.math import collective
from starcert.math.attacked_sites import AttackAxis, group_attacks
from starcert.math.ballots import Ballots
from starcert.math.collective import JointEvidence, Matrices


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("exact", [2**24, 2])
def test_products_are_exact(device, exact, monkeypatch):
    """Also in double precision, for more votes than single floats count."""
    monkeypatch.setattr(collective, "MAX_EXACT", exact)
    monkeypatch.setattr("starcert.classifiers.torch.module.MAX_EXACT", exact)
    rng = np.random.default_rng(1)
    left, right = rng.random((7, 4099)) < 0.4, rng.random((4099, 5)) < 0.7
    expected = left.astype(np.int64) @ right.astype(np.int64)
    for there in (Matrices(), DeviceMatrices(device)):
        found = there.product(there.of(left), there.of(right))
        assert found.dtype == (np.float32 if exact > 2 else np.float64)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_capitals_on_a_device_are_those_here(device):
    rng = np.random.default_rng(2)
    sites, answers = np.arange(8), rng.choice(4, (700, 9), p=[0.7, 0.1, 0.1, 0.1])
    flips = np.packbits(rng.random((700, 8)) < 0.4, axis=1, bitorder="little")
    votes = Ballots.of_chunk(None, 8, 700, answers, [flips]).disagreeing_with([0] * 9)
    axes = (AttackAxis(deleting(0.4, 0.1), sites),)
    pairs = np.array([(i, j) for j in range(8) for i in range(j)])
    for block in (sites[:, None], pairs):
        (group,) = group_attacks(axes, [block])
        here, there = (
            np.concatenate(list(JointEvidence(votes, axes, 4, each).capitals(group, 1e4)))
            for each in (None, DeviceMatrices(device))
        )
        np.testing.assert_array_equal(there, here)


class Elsewhere(Classifier):
    """On another device than the CPU, which need not be there."""

    n_classes, description, backend, device = 2, "elsewhere", "cuda", "cuda"

    def classify(self, graphs):
        return np.zeros(len(graphs), np.int64)


def test_votes_are_counted_where_the_classifier_is():
    assert isinstance(matrices_of(Elsewhere()), DeviceMatrices)
    here = Elsewhere()
    here.backend = "cpu"
    assert matrices_of(here) is None
