import math
from fractions import Fraction

import numpy as np
import oracles
import pytest

import starcert as sc
from starcert.math import exact
from starcert.math.margins import Bracket, MultiClass, Slacks, Tradeoff, TwoClass


@pytest.mark.parametrize("seed", range(40))
def test_the_multi_class_margin_against_fractions(seed):
    rng = np.random.default_rng([11, seed])
    n_axes = int(rng.integers(1, 4))
    noise, radius = oracles.random_noise(rng, n_axes), oracles.random_radius(rng, n_axes, most_cells=60)
    failure = float(rng.uniform(0, 0.7))
    other = float(rng.uniform(0, failure))
    cells = oracles.cells(list(noise.product.channels), radius)
    lower = oracles.rho_lower(cells, 1 - Fraction(failure))
    upper = oracles.rho_upper(cells, Fraction(other))
    margin = MultiClass(Tradeoff(noise.product), failure, other)
    assert margin.proves(radius) is (lower > upper)
    assert margin.suggests(radius) is (lower > upper)


@pytest.mark.parametrize("seed", range(20))
def test_with_p_b_at_its_largest_the_two_margins_are_one(seed):
    rng = np.random.default_rng([12, seed])
    noise = oracles.random_noise(rng, 2)
    failure = float(10 ** rng.uniform(-6, math.log10(0.6)))
    two, multi = TwoClass(Slacks(noise.product), failure), MultiClass(Tradeoff(noise.product), failure, failure)
    for radius in [(0, 0), (1, 0), (0, 1), (2, 3), (5, 1)]:
        assert two.proves(radius) is multi.proves(radius)


def test_multi_class_near_ties_are_decided_right():
    """The largest `other` that is certified, found by bisection in fractions, and its neighbours."""
    noise, radius, failure = sc.Noise(a=0.2, b=0.35), (1, 2), 0.125
    cells = oracles.cells(list(noise.product.channels), radius)
    lower = oracles.rho_lower(cells, 1 - Fraction(failure))
    low, high = 0.0, failure
    while math.nextafter(low, 1) < high:
        middle = (low + high) / 2
        if lower > oracles.rho_upper(cells, Fraction(middle)):
            low = middle
        else:
            high = middle
    assert 0 < low < failure
    assert MultiClass(Tradeoff(noise.product), failure, low).proves(radius) is True
    assert MultiClass(Tradeoff(noise.product), failure, high).proves(radius) is False


def test_a_multi_class_tie_is_not_certified():
    """One-way noise gives dyadic bounds: ρ_low(7/8) = 1/2 = ρ_up(1/8)."""
    law = Tradeoff(sc.Noise(a=sc.Flip(delete=0.25, add=0.0)).product)
    assert MultiClass(law, 0.125, 0.125).proves((1, 0)) is False
    assert MultiClass(law, 0.125, math.nextafter(0.125, 0)).proves((1, 0)) is True


def test_radius_zero_compares_the_bounds_themselves():
    law = Tradeoff(sc.Noise(a=0.1).product)
    assert MultiClass(law, 0.6, 0.39).proves((0,)) is True
    assert MultiClass(law, 0.625, 0.375).proves((0,)) is False


CASES = [
    (sc.Noise(motif=0.02, random=0.45), (1, 12)),
    (sc.Noise(motif=0.02, random=0.45), (2, 0)),
    (sc.Noise(a=0.1), (5,)),
    (sc.Noise(a=sc.Flip(delete=0.04, add=0.2)), (3, 2)),
    (sc.Noise(a=0.3, b=sc.Flip(delete=0.01, add=0.0)), (2, 1, 0)),
]


def certified(p_lower: float, noise: sc.Noise, radius: tuple[int, ...]) -> bool:
    return sc.certify(sc.Bounds.certain([p_lower]), noise)[0].certified(radius)


@pytest.mark.parametrize(("noise", "radius"), CASES)
def test_near_ties_are_decided_right(noise, radius):
    """p_lower at the float next to the threshold, and up to three units in the last place to either side."""
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    nearest = float(1 - slack)
    candidates = {nearest}
    for direction in (0.0, 1.0):
        p = nearest
        for _ in range(3):
            p = math.nextafter(p, direction)
            candidates.add(p)
    verdicts = {certified(p, noise, radius) for p in candidates}
    assert verdicts == {True, False}
    for p in candidates:
        assert certified(p, noise, radius) == (1 - Fraction(p) < slack)


@pytest.mark.parametrize(
    ("noise", "radius", "threshold"),
    [
        (sc.Noise(a=0.1), (0,), 0.5),
        (sc.Noise(a=0.5), (9,), 0.5),
        (sc.Noise(a=sc.Flip(delete=0.25, add=0.0)), (1, 0), 0.875),
        (sc.Noise(a=sc.Flip(delete=0.25, add=0.0)), (4, 0), 1 - 2.0**-9),
        (sc.Noise(a=sc.Flip(delete=0.125, add=0.0), b=sc.Flip(delete=0.0, add=0.5)), (2, 0, 0, 3), 1 - 2.0**-10),
    ],
)
def test_a_bound_exactly_at_the_threshold_is_not_certified(noise, radius, threshold):
    assert not certified(threshold, noise, radius)
    assert not certified(math.nextafter(threshold, 0), noise, radius)
    assert certified(math.nextafter(threshold, 1), noise, radius)


def test_ties_that_balls_cannot_settle_are_settled_by_fractions(monkeypatch):
    """With 30 bits the slack 2⁻⁹ cannot be told from its neighbours unless its sums happen to be exact."""
    monkeypatch.setattr(exact, "BITS", (30,))
    noise, radius = sc.Noise(a=0.1, b=0.3), (2, 3)
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    bracket = Slacks(noise.product).bracket(radius)
    assert Fraction(bracket.below) < slack <= Fraction(bracket.at_least)
    assert math.nextafter(bracket.below, 1) == bracket.at_least


def test_what_no_precision_settles_is_not_certified(monkeypatch):
    """Without fractions to fall back on, a bracket stays open, and open means no."""
    monkeypatch.setattr(exact, "BITS", (30,))
    monkeypatch.setattr(exact, "MAX_EXACT_RADIUS", 0)
    bracket = Slacks(sc.Noise(a=0.1, b=0.3).product).bracket((2, 3))
    middle = (bracket.below + bracket.at_least) / 2
    assert bracket.below < middle < bracket.at_least
    assert bracket.certifies(middle) is None
    assert bracket.certifies(bracket.below) is True
    assert bracket.certifies(bracket.at_least) is False


@pytest.mark.parametrize("seed", range(30))
def test_brackets_hold_no_float_inside(seed):
    rng = np.random.default_rng([9, seed])
    n_axes = int(rng.integers(1, 5))
    noise, radius = oracles.random_noise(rng, n_axes), oracles.random_radius(rng, n_axes)
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    below, at_least = Slacks(noise.product).bracket(radius)
    assert Fraction(below) < slack <= Fraction(at_least)
    assert math.nextafter(below, math.inf) == at_least


def test_a_proof_is_made_once():
    slacks = Slacks(sc.Noise(a=0.1).product)
    first = slacks.bracket((3,))
    slacks._prover = None  # a second proof would fail
    assert slacks.bracket((3,)) is first


@pytest.mark.parametrize("failure", [0.0, 1e-300, 1e-9, 0.3])
def test_suggestions_agree_with_proofs(failure):
    slacks = Slacks(sc.Noise(a=0.2, b=1e-5).product)
    for radius in [(0, 0), (1, 0), (3, 1), (0, 60), (400, 0)]:
        assert TwoClass(slacks, failure).suggests(radius) == slacks.bracket(radius).certifies(failure)


def test_an_open_question_reads_as_none():
    assert Bracket(0.1, 0.3).certifies(0.2) is None


def test_a_proof_is_needed_at_the_slack_itself_and_not_far_from_it():
    slacks = Slacks(sc.Noise(a=0.02, b=0.3).product)
    slack = slacks.value((2, 3))
    assert TwoClass(slacks, slack).needs_proof((2, 3))
    assert not any(TwoClass(slacks, slack * factor).needs_proof((2, 3)) for factor in (1 - 1e-6, 1 + 1e-6))
