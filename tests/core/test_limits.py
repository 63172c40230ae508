from fractions import Fraction

import pytest
from flint import arb, ctx

import oracles
from starcert.core.limits import rough_limits, upper_limit


@pytest.mark.parametrize(("count", "total"), [(0, 1), (0, 50), (1, 2), (3, 40), (20, 60), (59, 60), (10, 200)])
@pytest.mark.parametrize("share", [0.01, 0.3, 1e-7])
def test_the_limit_is_outward_and_tight(count, total, share):
    share = Fraction(share)
    limit = upper_limit(count, total, share)
    assert oracles.binomial_tail(count, total, Fraction(limit)) <= share
    just_inside = Fraction(limit) - Fraction(limit) / 10**13
    assert oracles.binomial_tail(count, total, just_inside) > share


@pytest.mark.parametrize(("count", "total"), [(50, 100_000), (30_000, 100_000), (450_000, 1_000_000)])
def test_large_samples_against_an_incomplete_beta_function_in_balls(count, total):
    limit = upper_limit(count, total, Fraction(1, 100))
    with ctx.workprec(128):
        tail = (1 - arb(limit)).beta_lower(total - count, count + 1, 1)
        assert tail <= arb(1) / 100
        assert tail > (arb(1) / 100) * (1 - arb(10) ** -10)


def test_all_votes_against_leave_nothing():
    assert upper_limit(7, 7, Fraction(1, 100)) == 1.0


def test_rough_limits_are_the_same_but_for_the_last_digits():
    counts, totals = [0, 3, 450, 1000], [50, 40, 1000, 1000]
    for share in (Fraction(1, 100), Fraction(1, 10**7)):
        proved = [upper_limit(count, total, share) for count, total in zip(counts, totals, strict=True)]
        assert rough_limits(counts, totals, share) == pytest.approx(proved, rel=1e-9)
