"""Weighing every attack by counts of bits says what looking at every vote says."""

import numpy as np
import pytest

from starcert.math.attacked_sites import ListedAxis, attack_number, attacks_of, n_attacks
from starcert.math.bets import Bet, capital_of
from starcert.math.weighing import columns_of, weigh


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
    axes = [ListedAxis(*axis) for axis in zip(sizes, counts, strict=True)]
    weights = weigh(columns_of(flips, groups, 3), axes, Bet(seen[:, None], quiet, values[None]), 1_000)
    starts = np.cumsum([0, *sizes])
    listed = list(attacks_of(axes))
    assert len(listed) == n_attacks(axes) == len(weights.capital)
    for attack, capital, estimate in zip(listed, weights.capital, weights.estimate, strict=True):
        flipped = [
            flips[:, start + np.array(sites, dtype=int)].sum(axis=1)
            for start, sites in zip(starts, attack, strict=False)
        ]
        cells = (*flipped, groups)
        assert capital == capital_of(quiet + seen[(slice(None), *cells)].sum(axis=1))
        assert estimate == pytest.approx(values[cells].sum() / 1_000)


POOLS = {
    "three values": [ListedAxis(4, 2, moves=2, outcomes=2)],
    "two axes on the same sites": [ListedAxis(4, 1, outcomes=2, pool=0), ListedAxis(4, 2, moves=2, outcomes=2, pool=0)],
    "another between them": [ListedAxis(3, 1, 1, 2, 0), ListedAxis(3, 2, 3, 1), ListedAxis(3, 1, 2, 2, 0)],
    "all sites": [ListedAxis(3, 3, moves=2, outcomes=3)],
    "one of them not attacked": [ListedAxis(4, 0, 1, 2, 0), ListedAxis(4, 2, 2, 2, 0)],
}


@pytest.mark.parametrize("votes", [1, 65, 300])
@pytest.mark.parametrize("name", POOLS)
def test_weights_are_those_of_the_votes_one_by_one_where_sites_have_more_values(votes, name):
    """Each vote shows an outcome at each choice, 0 where the site did not flip."""
    axes = POOLS[name]
    rng = np.random.default_rng(votes)
    shown = [rng.integers(0, axis.outcomes + 1, (votes, axis.size * axis.moves)) for axis in axes]
    groups = rng.integers(0, 2, votes)
    shape = tuple(axis.attacked + 1 for axis in axes for _ in range(axis.outcomes))
    seen, quiet = rng.integers(-(10**9), 10**8, (4, *shape, 2)), rng.integers(0, 10**9, 4)
    values = rng.random((*shape, 2))
    flips = [
        (each[:, :, None] == np.arange(1, axis.outcomes + 1)).reshape(votes, -1)
        for axis, each in zip(axes, shown, strict=True)
    ]
    weights = weigh(
        columns_of(np.concatenate(flips, axis=1), groups, 2), axes, Bet(seen[:, None], quiet, values[None]), 1_000
    )
    listed = list(attacks_of(axes))
    assert len(listed) == n_attacks(axes) == len(weights.capital)
    assert [attack_number(axes, number) for number in range(len(listed))] == listed
    for attack, capital, estimate in zip(listed, weights.capital, weights.estimate, strict=True):
        cells = [
            (each[:, list(chosen)] == outcome).sum(axis=1)
            for axis, each, chosen in zip(axes, shown, attack, strict=True)
            for outcome in range(1, axis.outcomes + 1)
        ]
        assert capital == capital_of(quiet + seen[(slice(None), *cells, groups)].sum(axis=1))
        assert estimate == pytest.approx(values[(*cells, groups)].sum() / 1_000)


@pytest.mark.parametrize("listed", [False, True])
def test_several_rivals_have_the_least_capital_and_the_largest_estimate(listed):
    rng = np.random.default_rng(3)
    axes = [ListedAxis(6, 2), ListedAxis(4, 1)]
    columns = columns_of(rng.random((200, 10)) < 0.4, rng.integers(0, 3, 200), 3)
    seen, quiet = rng.integers(-(10**9), 10**8, (4, 5, 3, 2, 3)), rng.integers(0, 10**9, 4)
    values = rng.random((5, 3, 2, 3))
    rows = None
    if listed:
        rows = np.array([[*one, 6 + other[0]] for one, other in attacks_of(axes)])[::3]
    bet = Bet(seen, quiet, values)
    together = weigh(columns, axes, bet, 1_000, rows)
    alone = [weigh(columns, axes, Bet(seen[:, [i]], quiet, values[[i]]), 1_000, rows) for i in range(5)]
    assert np.array_equal(together.capital, np.min([one.capital for one in alone], axis=0))
    assert together.estimate == pytest.approx(np.max([one.estimate for one in alone], axis=0))
    wanted = rng.random(len(together.capital)) < 0.3
    some = weigh(columns, axes, bet, 1_000, rows, wanted)
    assert np.array_equal(some.capital, np.where(wanted, together.capital, 0))
    assert np.array_equal(some.estimate, np.where(wanted, together.estimate, 0))
