"""The structure gain against plain counting, and its interval against the truth of drawn graphs."""

import math
from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.claims.gains import difference_of_counts, share_interval
from starcert.claims.metrics import structure_gain
from starcert.system.errors import InvalidParameterError

NOISE = sc.Noise(a=0.1, b=0.2)
SHARES = [0.999, 0.95, 0.8, 0.6, 0.999, 0.5, 0.999]
CERTIFICATES = sc.certify(sc.Bounds.certain(SHARES), NOISE, capacity=[(9, 9)] * 5 + [(9, 9), (0, 9)])
LABELS = [0, 0, 0, 0, 1, 0, None]
BLIND = [0, 1, 1, 0, 1, 0, 0]


@pytest.mark.parametrize("radius", [None, (0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_gain_is_the_difference_of_two_shares(radius):
    found = structure_gain(CERTIFICATES, LABELS, BLIND, radius=radius)
    known = [row for row, label in enumerate(LABELS) if label is not None]
    at = (0, 0) if radius is None else radius
    own = [CERTIFICATES[row].certified(at) and CERTIFICATES.labels[row] == LABELS[row] for row in known]
    assert found.n_graphs == len(known) == 6
    assert found.certified == pytest.approx(np.mean(own))
    assert found.blind == pytest.approx(np.mean([BLIND[row] == LABELS[row] for row in known]))
    assert found.gain == pytest.approx(found.certified - found.blind)
    assert found.low <= found.gain <= found.high
    assert CERTIFICATES.structure_gain(LABELS, BLIND, radius=radius) == found


def test_graphs_without_sites_do_not_count():
    labels = [0] * 7
    assert structure_gain(CERTIFICATES, labels, BLIND, radius=(1, 0)).n_graphs == 6
    assert structure_gain(CERTIFICATES, labels, BLIND, radius=(1, 1)).n_graphs == 7
    assert structure_gain(CERTIFICATES, labels, BLIND).attacks == "no attack"


@pytest.mark.parametrize("most", [1, 2])
def test_under_a_threat_it_is_that_of_the_table_of_verdicts(most):
    found = structure_gain(CERTIFICATES, LABELS, BLIND, threat=f"flips:{most}")
    row = CERTIFICATES.counts(LABELS, threat=f"flips:{most}")[-1]
    assert (found.attacks, found.n_graphs) == (row.label, row.n_graphs)
    assert found.certified == pytest.approx(row.n_certified / row.n_graphs)


def test_classes_may_have_names():
    votes = sc.Votes([[99, 1], [2, 98]], selection=[[9, 1], [1, 9]])
    named = sc.certify(sc.clopper_pearson(votes), sc.Noise(all=0.2), classes=("ham", "spam"))
    assert structure_gain(named, ["ham", "spam"], ["ham", "ham"]).gain == 0.5


def test_one_question_at_a_time():
    with pytest.raises(InvalidParameterError, match="cannot be combined with a threat"):
        structure_gain(CERTIFICATES, LABELS, BLIND, radius=(1, 0), threat="flips:1")


def test_nothing_is_gained_where_no_class_is_known():
    found = structure_gain(CERTIFICATES, [None] * 7, BLIND)
    assert (found.n_graphs, math.isnan(found.gain)) == (0, True)


@pytest.mark.parametrize("n", [4, 9])
def test_the_interval_of_a_difference_holds_at_every_truth(n):
    """Its coverage, summed over all outcomes, for a grid of shares; half of its length would not do."""
    found = {(b, c): difference_of_counts(b, c, n) for b in range(n + 1) for c in range(n + 1 - b)}
    shorter = 1.0
    for one, other in product(np.linspace(0, 1, 11), repeat=2):
        if one + other > 1 + 1e-9:
            continue
        chances = {
            (b, c): math.comb(n, b) * math.comb(n - b, c) * one**b * other**c * max(0, 1 - one - other) ** (n - b - c)
            for b, c in found
        }
        true = one - other
        held = sum(chances[at] for at, (_, low, high) in found.items() if low - 1e-12 <= true <= high + 1e-12)
        assert held >= 0.95
        half = sum(chances[at] for at, (by, low, high) in found.items() if by + low <= 2 * true <= by + high)
        shorter = min(shorter, half)
    assert shorter < 0.95


def test_the_interval_holds_the_true_gain():
    assert share_interval(45, 60) == pytest.approx((0.6214, 0.8528), abs=1e-4)  # Clopper and Pearson's
    rng, misses = np.random.default_rng(1), 0
    for _ in range(300):
        kind = rng.choice(4, size=120, p=[0.5, 0.15, 0.08, 0.27])  # both, certified alone, blind alone, neither
        certified = sc.certify(sc.Bounds.certain(np.where(kind <= 1, 0.99, 0.4)), sc.Noise(all=0.2))
        found = structure_gain(certified, [0] * 120, np.where((kind == 0) | (kind == 2), 0, 1))
        misses += not found.low <= 0.07 <= found.high
    assert misses <= 15
