"""The second proofs: of a binomial tail against fractions, of a radius against the oracles and the engine."""

import math
from fractions import Fraction

import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import starcert as sc
from starcert.archive.checker import arithmetic
from starcert.archive.checker.arithmetic import CellListing, _rough_ratio, can_list, limit_holds
from starcert.claims.slack import slacks_of, tradeoffs_of
from starcert.math.limits import anytime_limit, upper_limit
from starcert.math.margins import MultiClass


@given(
    st.integers(1, 30),
    st.integers(0, 30),
    st.fractions(0, Fraction(63, 64), max_denominator=64),
    st.fractions(0, Fraction(9, 10)),
)
def test_it_decides_as_the_sum_does(total, count, p, share):
    exact = oracles.binomial_tail(min(count, total), total, p)
    assert limit_holds(min(count, total), total, p, share) is (exact <= share) or exact == share


@pytest.mark.parametrize(("count", "total"), [(0, 100), (50, 100_000), (49_000, 100_000), (10**6, 10**7)])
def test_it_agrees_with_the_first_proof_and_the_limit_is_tight(count, total):
    share = Fraction(0.01)
    limit = Fraction(upper_limit(count, total, share))
    assert limit_holds(count, total, limit, share) is True
    assert limit_holds(count, total, limit * (1 - Fraction(1, 10**9)), share) is False


def test_the_ends():
    assert limit_holds(5, 5, Fraction(1), Fraction(1, 100)) is True
    assert limit_holds(5, 5, Fraction(999, 1000), Fraction(1, 100)) is False
    assert limit_holds(0, 5, Fraction(0), Fraction(1, 100)) is False


@given(st.integers(2, 300), st.integers(0, 100), st.floats(0.01, 0.9))
def test_the_sum_proves_what_is_true_and_nothing_else(total, count, p):
    limit = Fraction(p)
    exact = oracles.binomial_tail(min(count, total), total, limit)
    for share, true in ((exact * (1 + Fraction(1, 2**50)), True), (exact * (1 - Fraction(1, 2**70)), False)):
        proved = arithmetic._sum_is_at_most(min(count, total), total, limit, share)
        assert not proved or true
        assert proved or not (true and count < limit * total)


def test_the_limits_of_many_counts_need_no_beta_function():
    share = Fraction(0.01)
    for count in range(0, 40_000, 997):
        limit = Fraction(upper_limit(count, 100_000, share))
        assert arithmetic._sum_is_at_most(count, 100_000, limit, share)


@pytest.mark.parametrize(("limit", "holds"), [(Fraction(6, 100), True), (Fraction(5, 100), False)])
def test_a_limit_that_holds_at_any_time_takes_a_capital_of_1_over_its_share(limit, holds):
    assert arithmetic.anytime_limit_holds(30, 1000, limit, Fraction(1, 100)) is holds


@pytest.mark.parametrize("total", [10, 1_000, 3_000, 10**5, 10**7])
@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 20_000), Fraction(1, 10**12)])
def test_whatever_is_above_a_limit_that_holds_at_any_time_is_proved(total, share):
    """However far above it: there the capital is beyond all numbers, and takes seconds and thousands of bits."""
    for count in (0, 1, total // 100, total // 3, total - 1):
        limit = Fraction(anytime_limit(count, total, share))
        for above in (Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
            assert arithmetic.anytime_limit_holds(count, total, limit + (1 - limit) * above, share)
        assert limit == 1 or not arithmetic.anytime_limit_holds(count, total, limit * (1 - Fraction(1, 10**6)), share)


NOISES = [
    sc.Noise(a=0.1),
    sc.Noise(a=0.02, b=0.45),
    sc.Noise(a=sc.Flip(delete=0.04, add=0.2)),
    sc.Noise(a=sc.Flip(delete=0.3, add=0.0)),
    sc.Noise(a=0.0, b=0.3),
    sc.Noise(a=0.5, b=0.1),
    sc.Noise(a=1.0, b=0.9),
    sc.Noise(a=0.1, b=0.1),
    sc.Noise(a=0.05, b=sc.Flip(delete=0.1, add=0.3), c=0.2),
]


@pytest.mark.parametrize("noise", NOISES)
def test_slack_is_where_listing_changes_its_mind(noise):
    for total in range(5):
        radius = tuple((total + 2 * axis) % 4 for axis in range(len(noise.axes)))
        bracket = slacks_of(noise.product).bracket(radius)
        listing = CellListing(noise.product.channels, radius)
        if bracket.below >= 0:
            assert listing.certifies(bracket.below, bracket.below)
        assert not listing.certifies(bracket.at_least, bracket.at_least)


@settings(max_examples=80)
@given(st.sampled_from(NOISES), st.data())
def test_the_multi_class_margin_is_decided_as_the_engine_proves_it(noise, data):
    radius = tuple(data.draw(st.integers(0, 3)) for _ in noise.axes)
    failure = data.draw(st.floats(0, 1))
    other = data.draw(st.floats(0, failure))
    listed = CellListing(noise.product.channels, radius).certifies(failure, other)
    assert MultiClass(tradeoffs_of(noise.product), failure, other).proves(radius) in (listed, None)


def test_rho_lower_is_the_oracle_s():
    noise = sc.Noise(a=0.25, b=sc.Flip(delete=0.125, add=0.375))
    for radius in [(0, 0, 0), (1, 0, 2), (2, 1, 1), (3, 2, 0)]:
        listing = CellListing(noise.product.channels, radius)
        cells = oracles.cells(noise.product.channels, radius)
        for p in (Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(99, 100), Fraction(1)):
            assert listing.rho_lower(p) == oracles.rho_lower(cells, p)


def test_ratios_that_floats_cannot_tell_apart_are_in_order():
    close = math.nextafter(0.3, 1)
    for noise in (sc.Noise(a=0.3, b=close), sc.Noise(a=close, b=0.3)):
        listing = CellListing(noise.product.channels, (2, 2))
        listed = oracles.cells(noise.product.channels, (2, 2))
        ratios = [q / r for r, q in oracles.ascending(listed)]
        assert len(set(ratios)) == 9
        assert len(set(map(_rough_ratio, listing._cells))) < 9
        assert [Fraction(q, r) for r, q in listing._cells] == ratios


def test_too_many_cells_are_not_listed():
    channels = sc.Noise(a=0.1, b=0.2, c=0.5).product.channels
    assert can_list(channels, (20, 20, 10**9))  # the third tells nothing
    assert not can_list(channels, (500, 500, 0))
