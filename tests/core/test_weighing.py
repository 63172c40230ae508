"""Weighing every attack by counts of bits says what looking at every vote says."""

from itertools import product

import numpy as np
import pytest

from starcert.core.bets import capital_of
from starcert.core.weighing import attacks_of, columns_of, n_attacks, weigh


@pytest.mark.parametrize("votes", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize(
    ("sizes", "counts"),
    [([5], [1]), ([6], [3]), ([5], [5]), ([5, 4], [2, 1]), ([4, 4], [0, 2]), ([3, 3, 3], [1, 1, 2])],
)
def test_weights_are_those_of_the_votes_one_by_one(votes, sizes, counts):
    rng = np.random.default_rng(votes)
    flips = rng.random((votes, sum(sizes))) < 0.4
    groups = rng.integers(0, 3, votes)
    shape = tuple(count + 1 for count in counts)
    seen = rng.integers(-(10**9), 10**8, (4, *shape, 3))
    quiet = rng.integers(0, 10**9, 4)
    values = rng.random((*shape, 3))
    weights = weigh(columns_of(flips, groups, 3), sizes, counts, seen, quiet, values, 1_000)
    starts = np.cumsum([0, *sizes])
    listed = list(attacks_of(sizes, counts))
    assert len(listed) == n_attacks(sizes, counts) == len(weights.capital)
    for attack, capital, estimate in zip(listed, weights.capital, weights.estimate, strict=True):
        flipped = [
            flips[:, start + np.array(sites, dtype=int)].sum(axis=1)
            for start, sites in zip(starts, attack, strict=False)
        ]
        cells = (*flipped, groups)
        assert capital == capital_of(quiet + seen[(slice(None), *cells)].sum(axis=1))
        assert estimate == pytest.approx(values[cells].sum() / 1_000)


def test_attacks_come_in_the_order_of_combinations():
    assert list(attacks_of([3, 2], [2, 1])) == list(product([(0, 1), (0, 2), (1, 2)], [(0,), (1,)]))
