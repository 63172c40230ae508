"""The second proof of a binomial tail, against sums of fractions and against the first proof."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from starcert.archive import tails
from starcert.archive.tails import bounds_the_rest
from starcert.core.confidence import upper_limit


@given(
    st.integers(1, 30),
    st.integers(0, 30),
    st.fractions(0, Fraction(63, 64), max_denominator=64),
    st.fractions(0, Fraction(9, 10)),
)
def test_it_decides_as_the_sum_does(total, count, p, share):
    count = min(count, total)
    assert bounds_the_rest(count, total, p, share) in (oracles.binomial_tail(count, total, p) <= share, None)


@pytest.mark.parametrize(("count", "total"), [(0, 100), (50, 100_000), (49_000, 100_000), (10**6, 10**7)])
def test_it_agrees_with_the_first_proof_and_the_limit_is_tight(count, total):
    share = Fraction(0.01)
    limit = Fraction(upper_limit(count, total, share))
    assert bounds_the_rest(count, total, limit, share) is True
    assert bounds_the_rest(count, total, limit * (1 - Fraction(1, 10**9)), share) is False


def test_the_ends():
    assert bounds_the_rest(5, 5, Fraction(1), Fraction(1, 100)) is True
    assert bounds_the_rest(5, 5, Fraction(999, 1000), Fraction(1, 100)) is False
    assert bounds_the_rest(0, 5, Fraction(0), Fraction(1, 100)) is False


@given(st.integers(2, 300), st.integers(0, 100), st.floats(0.01, 0.9))
def test_the_sum_proves_what_is_true_and_nothing_else(total, count, p):
    limit = Fraction(p)
    exact = oracles.binomial_tail(min(count, total), total, limit)
    for share, true in ((exact * (1 + Fraction(1, 2**50)), True), (exact * (1 - Fraction(1, 2**70)), False)):
        proved = tails._sum_is_at_most(min(count, total), total, limit, share)
        assert not proved or true
        assert proved or not (true and count < limit * total)


def test_the_limits_of_many_counts_need_no_beta_function():
    share = Fraction(0.01)
    for count in range(0, 40_000, 997):
        limit = Fraction(upper_limit(count, 100_000, share))
        assert tails._sum_is_at_most(count, 100_000, limit, share)
