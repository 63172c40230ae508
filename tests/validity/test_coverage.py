"""Confidence bounds hold as often as they promise, class selection included."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import starcert as sc
from starcert.math.confidence import spends_on_all_classes
from starcert.math.limits import upper_limit

REPETITIONS = 10_000


def broken_promises(
    p: list[float], alpha: float, samples: int, selection: int | None, seed: int, **spent: str
) -> np.ndarray:
    """In which repetitions any bound that the certificate relies on is wrong."""
    rng = np.random.default_rng(seed)
    truth = np.array(p)
    counts = rng.multinomial(samples, truth, size=REPETITIONS)
    chosen = None if selection is None else rng.multinomial(selection, truth, size=REPETITIONS)
    return wrong(sc.clopper_pearson(sc.Votes(counts, selection=chosen), alpha=alpha, **spent), truth)


def wrong(bounds: sc.Bounds, truth: np.ndarray) -> np.ndarray:
    """Which rows have a bound that the truth exceeds."""
    own = truth[bounds.labels]
    others = np.where(np.arange(len(truth)) == bounds.labels[:, None], -1.0, truth).max(axis=1)
    return (1 - own > bounds.failure) | (others > bounds.other)


def most_often(alpha: float, repetitions: int = REPETITIONS) -> float:
    """What a rate of `alpha` does not exceed in so many repetitions, but for once in 100,000 tests."""
    return alpha + 4.3 * math.sqrt(alpha * (1 - alpha) / repetitions)


@pytest.mark.parametrize("selection", [None, 20, 200], ids=["same votes", "20 to select", "200 to select"])
@pytest.mark.parametrize(
    "p",
    [
        [0.5, 0.5],
        [0.505, 0.495],
        [0.9, 0.1],
        [0.999, 0.001],
        [0.34, 0.33, 0.33],
        [0.5, 0.3, 0.2],
        [0.1] * 10,
        [0.55] + [0.05] * 9,
    ],
    ids=str,
)
@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_the_promised_alpha_holds(p, alpha, selection):
    rate = broken_promises(p, alpha, samples=300, selection=selection, seed=len(p)).mean()
    assert rate <= most_often(alpha)


def test_the_promise_is_not_bought_by_slack_bounds():
    """Two classes with separate selection votes use the whole of alpha, up to the discreteness of counts."""
    assert broken_promises([0.9, 0.1], 0.1, samples=3000, selection=50, seed=3).mean() > 0.08


def test_choosing_and_bounding_on_the_same_votes_at_full_alpha_would_break_the_promise():
    """Why selection votes are apart: with many equal classes the largest count is a lucky one."""
    rng = np.random.default_rng(4)
    p = np.full(10, 0.1)
    counts = rng.multinomial(300, p, size=REPETITIONS)
    best = counts.argmax(axis=1)
    two_columns = np.stack([counts.max(axis=1), 300 - counts.max(axis=1)], axis=1)
    naive = sc.clopper_pearson(sc.Votes(two_columns, selection=[[1, 0]] * REPETITIONS), alpha=0.05)
    assert (1 - p[best] > naive.failure).mean() > most_often(0.05)


NEAR = [
    (0.01, [0.55, 0.43, 0.02]),
    (0.01, [0.95, 0.04, 0.01]),
    (0.01, [0.6, 0.37] + [0.03 / 8] * 8),
    (0.01, [0.97] + [0.03 / 9] * 9),
    (0.1, [0.9, 0.08, 0.02]),
    (0.1, [0.6, 0.37, 0.03]),
    (0.1, [0.6, 0.35] + [0.05 / 8] * 8),
    (0.1, [0.97] + [0.03 / 9] * 9),
]
"""Probabilities at which now the one margin is chosen, now the other."""


@pytest.mark.parametrize(("alpha", "p"), NEAR, ids=str)
def test_the_promise_holds_where_the_choice_of_the_margin_wavers(alpha, p):
    chosen = np.random.default_rng(1).multinomial(200, p, size=REPETITIONS)
    votes = sc.Votes([[300] + [0] * (len(p) - 1)] * REPETITIONS, selection=chosen)
    share = spends_on_all_classes(votes, alpha=alpha).mean()
    assert 0.1 < share < 0.95
    assert broken_promises(p, alpha, samples=300, selection=200, seed=1).mean() <= most_often(alpha)


@pytest.mark.parametrize("selection", [1, 20])
@pytest.mark.parametrize("n_classes", [3, 10])
def test_the_promise_holds_for_any_classifier(n_classes, selection):
    """Random probabilities, from torn to sure: with few selection votes the choice is often a bad one, and sound."""
    rng = np.random.default_rng(n_classes)
    for _ in range(12):
        p = rng.dirichlet([rng.uniform(0.1, 1)] * n_classes)
        assert broken_promises(p.tolist(), 0.1, samples=100, selection=selection, seed=9).mean() <= most_often(0.1)


def test_more_classes_waste_no_alpha_where_the_votes_agree():
    """Ten classes, one rival, and selection votes that agree: the whole of alpha is used, as with two classes."""
    rng = np.random.default_rng(6)
    p = np.array([0.9, 0.1] + [0.0] * 8)
    counts = rng.multinomial(3000, p, size=REPETITIONS)
    bounds = sc.clopper_pearson(sc.Votes(counts, selection=[[50] + [0] * 9] * REPETITIONS), alpha=0.1)
    assert 0.08 < wrong(bounds, p).mean() <= most_often(0.1)


def test_choosing_the_margin_on_the_estimation_votes_would_break_the_promise():
    """Why the margin is chosen on selection votes. Each margin by itself keeps the promise.

    A choice that may look at the estimation votes may take the one whose bounds have failed: nothing forbids it, and
    that happens more often than alpha.
    """
    repetitions, alpha, p = 4 * REPETITIONS, 0.2, np.array([0.6, 0.22, 0.18])
    counts = np.random.default_rng(7).multinomial(10_000, p, size=repetitions)
    votes = sc.Votes(counts, selection=[[9, 0, 0]] * repetitions)
    two_class = wrong(sc.clopper_pearson(votes, alpha=alpha), p)
    share = Fraction(alpha) / 3
    against, rivals = 10_000 - counts[:, 0], counts[:, 1:].max(axis=1)
    failure, other = (np.array([upper_limit(n, 10_000, share) for n in each.tolist()]) for each in (against, rivals))
    bounds = sc.clopper_pearson(votes, alpha=alpha)
    multi_class = wrong(replace(bounds, failure=failure, other=np.minimum(other, failure)), p)
    assert two_class.mean() <= most_often(alpha, repetitions)
    assert multi_class.mean() <= most_often(alpha, repetitions)
    assert (two_class | multi_class).mean() > most_often(alpha, repetitions)


@pytest.mark.parametrize("p", [[0.7, 0.3], [0.6, 0.37, 0.03], [0.97] + [0.03 / 9] * 9], ids=str)
def test_all_certificates_hold_together_as_often_as_promised(p):
    """Twenty graphs a data set: with family="all" hardly a data set has any bound wrong; with "each" many have."""
    graphs, sets, alpha = 20, REPETITIONS // 20, 0.1
    rng = np.random.default_rng(8)
    failed = {"each": 0, "all": 0}
    for _ in range(sets):
        votes = sc.Votes(rng.multinomial(300, p, size=graphs), selection=rng.multinomial(50, p, size=graphs))
        for family in failed:
            failed[family] += wrong(sc.clopper_pearson(votes, alpha=alpha, family=family), np.array(p)).any()
    assert failed["all"] / sets <= most_often(alpha, sets)
    assert failed["each"] / sets > most_often(alpha, sets)
