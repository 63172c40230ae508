"""Limits from counts: the two sums behind them against sums of fractions."""

from fractions import Fraction

from flint import ctx
from hypothesis import assume, given
from hypothesis import strategies as st

import oracles
from starcert.core.limits import ERROR, _relative_tail, tail_in_pairs, upper_limit


def fraction(ball):
    """The middle of a ball, exactly."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def relative_tail(count, total, p):
    exact = oracles.binomial_tail(count, total, p)
    return exact / (exact - oracles.binomial_tail(count - 1, total, p))


@given(st.integers(1, 100), st.integers(1, 99), st.floats(0.001, 0.999))
def test_both_sums_are_the_sum_of_fractions(total, count, p):
    assume(count < Fraction(p) * total)
    exact = relative_tail(count, total, Fraction(p))
    with ctx.workprec(200):
        in_pairs, above = tail_in_pairs(count, total, Fraction(p)), _relative_tail(count, total, p)
    assert abs(fraction(in_pairs) / exact - 1) < Fraction(ERROR) / 2**20
    above = fraction(above) / exact
    assert 1 <= above < 1 + Fraction(1, 2**62)


@given(st.integers(1, 200), st.integers(0, 199), st.fractions(Fraction(1, 10**6), Fraction(1, 2)))
def test_the_limit_bounds_the_tail_and_hardly_more_is_needed(total, count, share):
    count = min(count, total - 1)
    limit = Fraction(upper_limit(count, total, share))
    assert limit == 1 or oracles.binomial_tail(count, total, limit) <= share
    below = limit * (1 - Fraction(1, 10**11))
    assert oracles.binomial_tail(count, total, below) > share
