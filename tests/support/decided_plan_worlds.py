"""The real plan of `plan="decided"` on a classifier whose p_A is known: its votes are drawn as counts."""

from fractions import Fraction

import numpy as np

import starcert as sc
from starcert.math.limits import AlphaShares
from starcert.methods.early_stopping import DecidedPlan, radius_questions
from starcert.voting.plans import SoFar

SLACK = 0.125
"""Under Flip(0.2), any one flip is certified iff 1 − p_A is below it."""


def plan_for_one_flip(samples=100_000, alpha=0.01, evidence=False):
    base = sc.classifiers.from_callable(lambda graph: 0, n_classes=2)
    problem = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(0.2))).problem([sc.Graph(4, [])])
    shares = AlphaShares.of(Fraction(alpha), evidence=evidence)
    return DecidedPlan.of(samples, None, problem, shares, radius_questions(sc.threats.Box((1,)), problem))


def drawn(plan, p, rng, chunk_size=1024):
    """The votes that a plan draws from a classifier that answers 0 with probability p: selection and estimation."""
    counts = np.zeros((2, 1, 2), dtype=np.int64)
    while (want := plan.wanted(so_far := SoFar(*counts, chunk_size))) != so_far.wanted:
        for row, more in zip(counts, np.subtract(want, so_far.wanted), strict=True):
            mine = rng.binomial(more, p)
            row[0] += mine, more - mine
    return counts[:, 0]
