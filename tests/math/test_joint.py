"""Votes of all targets side by side keep what was drawn, at the sites that are kept."""

import numpy as np
import pytest

from starcert.math.flips import FlipRecord, ListedFlips, ShownFlips
from starcert.math.joint import JointVotes

SITES = np.array([1, 4, 299, 301])


def places(flips, *, listed):
    if not listed:
        return np.packbits(flips, axis=1, bitorder="little")
    starts = np.concatenate([[0], np.cumsum(flips.sum(axis=1))])
    return ListedFlips(starts, np.nonzero(flips)[1].astype(np.uint32))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("valued", [False, True])
def test_chunks_keep_answers_and_flips_of_all_copies(listed, valued):
    rng = np.random.default_rng(1)
    parts, whole = [], []
    for number in (5, 70, 1):
        flips, values = rng.random((number, 310)) < 0.3, rng.integers(0, 4, (number, 310))
        answers = rng.integers(0, 3, (number, 6))
        found = places(flips, listed=listed)
        found = ShownFlips(found, values[flips].astype(np.uint8)) if valued else found
        record = FlipRecord.of_chunk(0, 310, number, answers[:, 0], [found])
        parts.append(JointVotes.of_chunk(SITES, record, answers))
        whole.append((flips, values, answers))
    joint = JointVotes.joined(parts)
    flips, values, answers = (np.concatenate(each) for each in zip(*whole, strict=True))
    assert len(joint) == 76
    assert np.array_equal(joint.answers, answers)
    assert np.array_equal(joint.flips.matrix(np.arange(4)), flips[:, SITES])
    assert joint.flips.samples.tolist() == joint.flips.against.tolist() == [5, 70, 1]
    assert joint.flips.n_sites == 4
    if valued:
        assert np.array_equal(joint.flips.values(np.arange(4)), np.where(flips, values, -1)[:, SITES])
