"""The law of deep votes, and the weights that votes are grouped by."""

from fractions import Fraction
from itertools import combinations
from math import comb, inf

import numpy as np
import pytest

from starcert.math.attacked_sites import AttackAxis, ListedAxis, SiteLaw, attacks_of
from starcert.math.deep import UNIT, Pools, choose_law, covered, forecast_votes, masses, weights_of
from starcert.math.deep_votes import _few, rows_of


def axes_of(*sizes, p=Fraction(1, 10)):
    ends = np.cumsum([0, *sizes])
    return [AttackAxis(SiteLaw(p, 1 - p), np.arange(*ends[i : i + 2])) for i in range(len(sizes))]


def test_masses_are_those_of_flip_numbers():
    """Of five sites two are attacked: the law of the number of flips, by the sum over all sets of sites."""
    p, pools = Fraction(1, 10), Pools(axes_of(5))
    for power, attacked in ((0, p), (1, 1 - p)):
        for number, mass in enumerate(masses(pools, (2,), power, np.arange(6)[:, None])):
            truth = Fraction(0)
            for flips in combinations(range(5), number):
                both = sum(site < 2 for site in flips)
                truth += (
                    attacked**both
                    * (1 - attacked) ** (2 - both)
                    * p ** (number - both)
                    * (1 - p) ** (3 - number + both)
                )
            assert float(mass.mid()) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("votes", [100, 10_000, 10**6])
def test_a_law_sums_to_one_and_leaves_nothing_out(votes):
    pools = Pools(axes_of(20, 30))
    law = choose_law(pools, [(2, 0), (1, 1), (0, 2)], votes)
    assert law.weights.sum() == UNIT
    assert (law.weights > 0).all()
    assert not {*map(tuple, law.asked.tolist())} & {*map(tuple, law.drawn.tolist())}
    assert sum(map(pools.copies, law.asked.tolist())) <= votes / 2
    assert all(covered(pools, level, law.asked, law.drawn) > 1 - 1e-5 for level in [(2, 0), (1, 1), (0, 2)])
    clean = [float(mass.mid()) for mass in masses(pools, (0, 0), 0, law.drawn)]
    assert weights_of(pools, law) == pytest.approx(np.array(clean) / (law.weights / UNIT))


def test_more_votes_ask_copies_with_more_flips():
    asked = [choose_law(Pools(axes_of(153, p=Fraction(1, 100))), [(2,)], votes).asked for votes in (1_000, 120_000)]
    assert [each.max(initial=0) for each in asked] == [0, 2]


def test_a_law_draws_more_flips_than_noise_makes():
    law = choose_law(Pools(axes_of(153, p=Fraction(1, 100))), [(2,)], 10**5, asking=False)
    assert law.weights / UNIT @ law.drawn[:, 0] > 2.4  # noise makes 1.5
    assert not len(law.asked)


def test_forecasts_grow_with_failures_and_with_what_is_needed():
    pools, levels, votes = Pools(axes_of(153, p=Fraction(1, 100))), [(2,)], 10**5
    law = choose_law(pools, levels, votes)
    asked = sum(map(pools.copies, law.asked.tolist()))
    none, some, twice = (forecast_votes(pools, levels, votes, growth=growth) for growth in (0.0, 5.0, 10.0))
    assert (none, twice - some) == (asked, pytest.approx(some - none))
    needed = [forecast_votes(pools, levels, votes, growth=5.0, failure=failure) for failure in (1e-6, 0.1, 1 / 3)]
    assert needed == sorted(needed)
    assert forecast_votes(pools, levels, votes, growth=5.0, failure=0.49) > 10 * needed[-1]
    assert (
        forecast_votes(pools, levels, votes, growth=5.0, failure=0.51)
        == forecast_votes(pools, [], 9, growth=5.0)
        == inf
    )


def test_no_level_or_far_too_many_numbers_have_no_law():
    assert choose_law(Pools(axes_of(5)), [], 100) is None
    many = Pools(axes_of(*[60] * 6, p=Fraction(1, 2)))
    assert choose_law(many, [(1, 0, 0, 0, 0, 0)], 100) is None


def test_many_weights_are_rounded_up_and_by_little():
    weights = np.random.default_rng(1).lognormal(0, 3, 3_000)
    steps, places = _few(weights)
    assert len(steps) <= 256
    assert (steps[places] >= weights).all()
    assert (steps[places] <= 1.12 * weights).all()


def test_rows_are_the_attacks_in_their_order():
    listed = [ListedAxis(3, 1, moves=2), ListedAxis(4, 2)]
    rows = rows_of(listed)
    assert len(rows) == 6 * comb(4, 2)
    assert rows.tolist() == [[a, 6 + b, 6 + c] for (a,), (b, c) in attacks_of(listed)]
