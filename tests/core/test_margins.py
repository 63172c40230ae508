import math
from fractions import Fraction

import numpy as np
import pytest

import oracles
import starcert as sc
from starcert.core.margins import MultiClass, Tradeoffs, TwoClass
from starcert.core.slacks import Slacks


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
    margin = MultiClass(Tradeoffs(noise.product), failure, other)
    assert margin.proves(radius) is (lower > upper)
    assert margin.suggests(radius) is (lower > upper)


@pytest.mark.parametrize("seed", range(20))
def test_with_p_b_at_its_largest_the_two_margins_are_one(seed):
    rng = np.random.default_rng([12, seed])
    noise = oracles.random_noise(rng, 2)
    failure = float(10 ** rng.uniform(-6, math.log10(0.6)))
    two, multi = TwoClass(Slacks(noise.product), failure), MultiClass(Tradeoffs(noise.product), failure, failure)
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
    assert MultiClass(Tradeoffs(noise.product), failure, low).proves(radius) is True
    assert MultiClass(Tradeoffs(noise.product), failure, high).proves(radius) is False


def test_a_multi_class_tie_is_not_certified():
    """One-way noise gives dyadic bounds: ρ_low(7/8) = 1/2 = ρ_up(1/8)."""
    law = Tradeoffs(sc.Noise(a=sc.Flip(delete=0.25, add=0.0)).product)
    assert MultiClass(law, 0.125, 0.125).proves((1, 0)) is False
    assert MultiClass(law, 0.125, math.nextafter(0.125, 0)).proves((1, 0)) is True


def test_radius_zero_compares_the_bounds_themselves():
    law = Tradeoffs(sc.Noise(a=0.1).product)
    assert MultiClass(law, 0.6, 0.39).proves((0,)) is True
    assert MultiClass(law, 0.625, 0.375).proves((0,)) is False
