"""Confidence bounds hold as often as they promise, class selection included."""

import math

import numpy as np
import pytest

import starcert as sc

REPETITIONS = 10_000


def broken_promises(p: list[float], alpha: float, samples: int, selection: int | None, seed: int) -> np.ndarray:
    """In which repetitions any bound that the certificate relies on is wrong."""
    rng = np.random.default_rng(seed)
    truth = np.array(p)
    counts = rng.multinomial(samples, truth, size=REPETITIONS)
    chosen = None if selection is None else rng.multinomial(selection, truth, size=REPETITIONS)
    bounds = sc.clopper_pearson(sc.Votes(counts, selection=chosen), alpha=alpha)
    own = truth[bounds.labels]
    others = np.where(np.arange(len(p)) == bounds.labels[:, None], -1.0, truth).max(axis=1)
    return (1 - own > bounds.failure) | (others > bounds.other)


def most_often(alpha: float) -> float:
    """What a rate of `alpha` does not exceed in so many repetitions, but for once in 100,000 tests."""
    return alpha + 4.3 * math.sqrt(alpha * (1 - alpha) / REPETITIONS)


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
