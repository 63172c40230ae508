"""Limits from counts: the sums behind them against sums of fractions; and the margin that alpha is spent on."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from flint import ctx
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtri

from starcert.archive.checker.arithmetic import ERROR, tail_in_pairs
from starcert.math.limits import _relative_tail, chooses_multi_class, rough_limits, upper_limit


def fraction(ball):
    """The middle of a ball, exactly."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def relative_tail(count, total, p):
    exact = oracles.binomial_tail(count, total, p)
    return exact / (exact - oracles.binomial_tail(count - 1, total, p))


@given(st.integers(1, 50), st.integers(1, 49), st.floats(0.001, 0.999))
def test_both_sums_are_the_sum_of_fractions(total, count, p):
    assume(count < Fraction(p) * total)
    exact = relative_tail(count, total, Fraction(p))
    with ctx.workprec(200):
        in_pairs, above = tail_in_pairs(count, total, Fraction(p)), _relative_tail(count, total, p)
    assert abs(fraction(in_pairs) / exact - 1) < Fraction(ERROR) / 2**20
    above = fraction(above) / exact
    assert 1 <= above < 1 + Fraction(1, 2**62)


@given(st.integers(1, 60), st.integers(0, 59), st.fractions(Fraction(1, 10**6), Fraction(1, 2)))
def test_the_limit_bounds_the_tail_and_hardly_more_is_needed(total, count, share):
    count = min(count, total - 1)
    limit = Fraction(upper_limit(count, total, share))
    assert limit == 1 or oracles.binomial_tail(count, total, limit) <= share
    below = limit * (1 - Fraction(1, 10**11))
    assert oracles.binomial_tail(count, total, below) > share


ALPHA = Fraction(1, 100)


def reaches(counts: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the two-class and the multi-class margin reach for these estimation votes."""
    rows, totals = np.arange(len(counts)), counts.sum(axis=1)
    rivals = counts.copy()
    rivals[rows, labels] = 0
    share = ALPHA / counts.shape[1]
    failure, other = (rough_limits(x, totals, share) for x in (rivals.sum(axis=1), rivals.max(axis=1)))
    whole = rough_limits(rivals.sum(axis=1), totals, ALPHA)
    return -ndtri(whole), -(ndtri(failure) + ndtri(np.minimum(other, failure))) / 2


def probabilities(rng: np.random.Generator, n_classes: int, size: int) -> np.ndarray:
    """Classifiers of three kinds: torn, sure of themselves, and with one rival."""
    torn = rng.dirichlet([0.5] * n_classes, size)
    wrong = 10 ** rng.uniform(-4, -0.3, size)[:, None]
    sure = np.concatenate([1 - wrong, wrong * rng.dirichlet([0.5] * (n_classes - 1), size)], axis=1)
    rival = np.concatenate([1 - wrong, wrong * 0.9, np.repeat(wrong / 10 / (n_classes - 2), n_classes - 2, 1)], axis=1)
    return np.concatenate([torn, sure, rival])


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("samples", [1_000, 10_000])
def test_the_choice_is_nearly_the_best_in_hindsight(n_classes, samples):
    rng = np.random.default_rng(n_classes)
    truth = probabilities(rng, n_classes, 1500)
    selection, counts = rng.multinomial(max(100, samples // 100), truth), rng.multinomial(samples, truth)
    two, many = reaches(counts, selection.argmax(axis=1))
    best = np.maximum(two, many)
    chosen = np.where(chooses_multi_class(selection, counts.sum(axis=1), ALPHA), many, two)
    kept = best > 0  # the others abstain, whatever is chosen
    lost = (best - chosen)[kept].mean()
    assert lost < 0.015
    assert lost < 0.75 * (best - two)[kept].mean()
    assert lost < 0.75 * (best - many)[kept].mean()


def test_votes_that_agree_choose_the_two_class_margin_whatever_the_numbers():
    for n_classes in (3, 10, 100):
        votes = np.zeros((6, n_classes), dtype=np.int64)
        votes[:, 1] = [1, 10, 100, 1000, 100, 100]
        totals = np.array([1, 10, 10**5, 10**6, 1, 10**9])
        assert not chooses_multi_class(votes, totals, ALPHA).any()


def test_classes_without_a_majority_choose_the_multi_class_margin():
    votes = np.array([[40, 20, 20, 20], [45, 35, 10, 10], [60, 20, 10, 10]])
    assert chooses_multi_class(votes, np.full(3, 10_000), ALPHA).all()


def test_a_tiny_alpha_is_no_difficulty():
    votes = np.array([[40, 20, 20], [100, 0, 0]])
    for alpha in (Fraction(1e-300), Fraction(1, 10**400)):
        assert chooses_multi_class(votes, np.array([100, 100]), alpha).shape == (2,)
