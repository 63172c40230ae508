import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import beta

import oracles
import starcert as sc
from starcert.core.confidence import upper_limit
from starcert.errors import InvalidParameterError


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


def test_unanimous_votes_have_the_closed_form():
    bounds = sc.clopper_pearson(sc.Votes([[100_000, 0]], selection=[[100, 0]]), alpha=0.01)
    assert bounds.failure[0] == pytest.approx(-math.expm1(math.log(0.01) / 100_000), rel=1e-14)


def test_all_votes_against_leave_nothing():
    assert upper_limit(7, 7, Fraction(1, 100)) == 1.0


def test_it_is_a_lower_bound_and_not_an_upper_one():
    bounds = sc.clopper_pearson(sc.Votes([[900, 100]], selection=[[9, 1]]), alpha=0.01)
    assert bounds.p_lower[0] < 0.9
    assert bounds.p_lower[0] == pytest.approx(beta.ppf(0.01, 900, 101), rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "selection", "share"),
    [
        ([90, 10], [9, 1], Fraction(1)),
        ([90, 10], None, Fraction(1, 2)),
        ([90, 5, 5], [9, 1, 0], Fraction(1, 3)),
        ([90, 5, 5], None, Fraction(1, 6)),
        ([90, 5, 3, 2], [9, 1, 0, 0], Fraction(1, 4)),
    ],
)
def test_alpha_is_shared_by_everything_that_is_bounded(counts, selection, share):
    votes = sc.Votes([counts], selection=None if selection is None else [selection])
    bounds = sc.clopper_pearson(votes, alpha=0.02)
    assert bounds.failure[0] == upper_limit(10, 100, Fraction(0.02) * share)
    if len(counts) == 2:
        assert bounds.other[0] == bounds.failure[0]
    else:
        assert bounds.other[0] == upper_limit(5, 100, Fraction(0.02) * share)


def test_every_other_class_is_bounded_not_the_runner_up_of_the_selection():
    votes = sc.Votes([[50, 10, 40]], selection=[[50, 45, 5]])
    assert sc.clopper_pearson(votes, alpha=0.01).other[0] == upper_limit(40, 100, Fraction(0.01) / 3)


def test_the_class_is_chosen_on_the_selection_votes():
    bounds = sc.clopper_pearson(sc.Votes([[90, 10], [10, 90]], selection=[[1, 9], [2, 8]]), alpha=0.01)
    assert bounds.labels.tolist() == [1, 1]
    assert bounds.failure[0] > 0.9


def test_other_classes_never_exceed_what_the_class_itself_leaves():
    bounds = sc.clopper_pearson(sc.Votes([[99, 1, 0]], selection=[[9, 0, 0]]), alpha=0.01)
    assert bounds.other[0] == bounds.failure[0]


def test_p_lower_is_rounded_down():
    bounds = sc.clopper_pearson(sc.Votes([[100_000 - k, k] for k in range(300)], selection=[[9, 0]] * 300), alpha=0.01)
    for lower, failure in zip(bounds.p_lower, bounds.failure, strict=True):
        assert Fraction(lower) <= 1 - Fraction(failure) < Fraction(math.nextafter(math.nextafter(lower, 2), 2))


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ([[3, -1]], r"counts\[0\]\[1\]"),
        ([[3, 1.5]], r"counts\[0\]\[1\]"),
        ([[3, float("nan")]], r"counts\[0\]\[1\]"),
        ([[3, 1], [0, 0]], r"counts\[1\]' must hold at least one vote"),
        ([3, 1], "one row a graph"),
        ([[3]], "at least two classes"),
        ([], "one row a graph"),
        ([["many", "few"]], "table of counts"),
        ([[1, 2], [1]], "table of counts"),
    ],
)
def test_bad_votes_are_refused(counts, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.Votes(counts)


def test_selection_votes_of_another_shape_are_refused():
    with pytest.raises(InvalidParameterError, match="shape of 'counts'"):
        sc.Votes([[3, 1]], selection=[[3, 1, 0]])


@pytest.mark.parametrize("alpha", [0.0, -0.1, 0.5, 0.99, 1.0, float("nan"), "small"])
def test_bad_alpha_is_refused(alpha):
    with pytest.raises(InvalidParameterError, match="'alpha'"):
        sc.clopper_pearson(sc.Votes([[3, 1]]), alpha=alpha)


def test_a_confidence_level_is_recognised():
    with pytest.raises(InvalidParameterError, match=r"confidence level meant\? Then give alpha=0.01"):
        sc.clopper_pearson(sc.Votes([[3, 1]]), alpha=0.99)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), [[0.5]], "high"])
def test_bad_p_lower_is_refused(p):
    with pytest.raises(InvalidParameterError, match="p_lower"):
        sc.Bounds.certain(p)


@pytest.mark.parametrize("labels", [[1], [0, 1, 0], [0, 2], [0, -1], [0.5, 1.0], ["x", "y"]])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(InvalidParameterError, match=r"labels|bounds"):
        sc.Bounds.certain([0.9, 0.8], labels=labels)


@pytest.mark.parametrize(("failure", "other"), [(-0.1, -0.1), (1.1, 0.5), (float("nan"), 0.1), (0.2, 0.3), (0.2, -0.1)])
def test_bounds_that_are_no_probabilities_are_refused(failure, other):
    with pytest.raises(InvalidParameterError, match="0 ≤ other ≤ failure ≤ 1"):
        sc.Bounds(np.array([0]), np.array([failure]), np.array([other]), None, 3)


@pytest.mark.parametrize("counts", [[[10**400, 1]], [["3", "1"]], [[3 + 1j, 1]]])
def test_odd_numbers_are_no_votes(counts):
    with pytest.raises(InvalidParameterError):
        sc.Votes(counts)


def test_only_votes_are_bounded():
    with pytest.raises(InvalidParameterError, match=r"Write Votes\(\[\[970, 30\]\]\)"):
        sc.clopper_pearson([[9, 1]])


def test_votes_cannot_be_changed_afterwards():
    counts = np.array([[3, 1]])
    votes = sc.Votes(counts)
    counts[0, 0] = 0
    assert votes.counts[0, 0] == 3
    with pytest.raises(ValueError, match="read-only"):
        votes.counts[0, 0] = 5
