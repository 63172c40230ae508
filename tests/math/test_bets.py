"""The bet: capitals are what the definition says, never more, and a mean at the limit rarely wins."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from starcert.math import limits
from starcert.math.arithmetic import LOCK, exact_number
from starcert.math.bets import (
    FRACTIONS,
    NO_CAPITAL,
    RESERVE,
    SCALE,
    bet_below,
    capital_of,
    count_capital,
    growth,
    needed,
    with_reserve,
)
from starcert.math.limits import anytime_limit, capital_against


@given(
    st.floats(0.01, 0.5),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=6),
    st.lists(st.integers(0, 10_000), min_size=7, max_size=7),
)
def test_capital_is_the_mean_of_products_rounded_down(theta, values, counts):
    values = np.array(values)
    bet = bet_below(theta, values)
    total = sum(counts[: len(values)]) + counts[-1]
    logarithms = bet.gains @ np.array(counts[: len(values)]) + counts[-1] * bet.quiet
    largest = max(values.max(), 1.5 * theta)
    exact = [
        sum(n * math.log1p(g * (theta - x)) for n, x in zip(counts, values, strict=False))
        + counts[-1] * math.log1p(g * theta)
        for g in FRACTIONS / (largest - theta)
    ]
    top = max(exact)
    mean = top + math.log(sum(math.exp(each - top) for each in exact) / len(exact))
    found = int(capital_of(logarithms)) / SCALE
    assert mean - 1e-9 * (total + 1) <= found <= mean + 1e-12 * total + 1e-12


@given(st.one_of(st.integers(-60 * SCALE, 60 * SCALE), st.sampled_from([0, NO_CAPITAL, -(2**62), 2**62])))
def test_the_reserve_is_added_exactly_and_rounded_down(capital):
    found = int(with_reserve(np.array([capital]))[0])
    with LOCK, ctx.workprec(256):
        reserve = exact_number(RESERVE)
        exact = ((1 - reserve) * (arb(capital) / SCALE).exp() + reserve).log() * SCALE
        assert exact - 2 <= found <= exact


def test_no_room_no_bet():
    assert bet_below(0.0, np.ones(1)) is None
    assert bet_below(-0.1, np.ones(1)) is None
    assert bet_below(0.1, np.array([0, 1, math.inf])) is None
    assert growth(0.0, np.ones(1), np.ones(1)) == -math.inf


def test_a_claim_needs_its_delta():
    assert needed(Fraction(1, 100)) / SCALE == pytest.approx(math.log(100), abs=1e-9)
    assert needed(Fraction(1, 100)) / SCALE >= math.log(100)


@pytest.mark.parametrize(("count", "total"), [(0, 1), (0, 20), (3, 20), (10, 20), (20, 20), (30, 64), (400, 1024)])
def test_the_capital_of_counts_is_the_integral_of_its_definition(count, total):
    """∫ over v < 1/2 of (2v)ᵐ(2(1−v))ⁿ⁻ᵐ by the law of arcsine, in 200,000 steps of its angle."""
    angle = (np.arange(200_000) + 0.5) / 200_000 * math.pi / 4
    v = np.sin(angle) ** 2
    logs = count * np.log(2 * v) + (total - count) * np.log(2 * (1 - v))
    exact = math.log(np.mean(np.exp(logs - logs.max()))) + logs.max()
    assert count_capital(count, total) / SCALE == pytest.approx(exact, abs=1e-6)


def test_a_fair_coin_seldom_wins_at_any_time():
    rng = np.random.default_rng(0)
    won = 0
    for _ in range(1_000):
        lost = np.cumsum(rng.integers(0, 2, 256))
        won += any(count_capital(int(lost[n - 1]), n) >= needed(Fraction(1, 10)) for n in (8, 16, 32, 64, 128, 256))
    assert won <= 130  # 100 are allowed; 4.3 standard deviations more would be 141


@given(
    st.integers(0, 400), st.integers(1, 400), st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction(1, 10**6)])
)
def test_the_limit_that_holds_at_all_times_lies_above_that_of_one_time(count, more, share):
    from starcert.math.limits import upper_limit  # noqa: PLC0415

    total = count + more
    limit = anytime_limit(count, total, share)
    assert count / total < limit <= 1
    if share < Fraction(1, 4):
        assert limit >= upper_limit(count, total, share)


def test_the_limit_that_holds_at_all_times_does():
    rng = np.random.default_rng(1)
    p, wrong = 0.2, 0
    for _ in range(1_000):
        lost = np.cumsum(rng.random(512) < p)
        wrong += any(anytime_limit(int(lost[n - 1]), n, Fraction(1, 10)) < p for n in (4, 16, 64, 128, 256, 512))
    assert 0 < wrong <= 141


def test_the_search_for_a_limit_ends_where_nothing_can_be_proved(monkeypatch):
    tried = []

    def rejects(count, total, p, share):
        tried.append(p)
        return len(tried) > 200

    monkeypatch.setattr(limits, "_rejects", rejects)
    assert anytime_limit.__wrapped__(3, 10**6, Fraction(1, 100)) == 1
    assert len(tried) < 100


@pytest.mark.parametrize("count", range(1, 100, 3))
def test_a_limit_holds_by_its_proof_whatever_floats_say(count, monkeypatch):
    limit = anytime_limit(count, 1000, Fraction(1, 100))
    monkeypatch.setattr(limits, "capital_against", lambda count, total, limit: math.inf)
    assert anytime_limit.__wrapped__(count, 1000, Fraction(1, 100)) >= limit * (1 - 1e-9)


@given(st.integers(0, 2000), st.integers(1, 2000), st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6))
def test_what_rejects_a_limit_rejects_all_larger_ones(count, more, one, other):
    low, high = sorted((one, other))
    capital = capital_against(count, count + more, low)
    if capital >= math.log(2):
        assert capital_against(count, count + more, high) >= capital - 1e-9 * abs(capital)


@given(st.integers(0, 300), st.integers(1, 300), st.floats(0.01, 0.99))
def test_capital_against_a_limit_is_the_mean_over_smaller_probabilities(count, more, limit):
    total = count + more
    capital = capital_against(count, total, limit)
    angle = np.arcsin(np.sqrt(limit)) * (np.arange(20_000) + 0.5) / 20_000  # v = sin², by the law of arcsine
    v = np.sin(angle) ** 2
    growth = count * np.log(v / limit) + more * np.log((1 - v) / (1 - limit))
    mean = np.logaddexp.reduce(growth) - math.log(len(v))
    assert mean <= 1e-9 if capital == -math.inf else capital == pytest.approx(mean, abs=1e-3)
