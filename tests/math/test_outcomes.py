"""Channels with three outcomes and more: the same answers as exact fractions give, from floats, balls and fractions."""

import math
from fractions import Fraction

import numpy as np
import oracles
import pytest

from starcert.math import exact
from starcert.math.cells import Halves, cells_of, count_cells, count_listed, halve
from starcert.math.channels import Channel, Product
from starcert.math.frontier import find_frontier
from starcert.math.margins import MultiClass, Slacks, Tradeoff, TwoClass
from starcert.system.errors import InvalidParameterError

HALF = Fraction(1, 2)


def symmetric(p: Fraction, k: int) -> Channel:
    """A site of k values that moves to each other one with p / (k − 1)."""
    other = p / (k - 1)
    return Channel([(1 - p, other), (other, 1 - p), *[(other, other)] * (k - 2)])


def random_channel(rng: np.random.Generator, n_outcomes: int) -> Channel:
    """Masses that are whole numbers over a thousand; some of them zero on one side or on both."""

    def side() -> list[Fraction]:
        weights = rng.integers(0, 20, size=n_outcomes) * (rng.random(n_outcomes) < 0.85)
        weights[rng.integers(n_outcomes)] += 1
        return [Fraction(int(w), int(weights.sum())) for w in weights]

    return Channel(zip(side(), side(), strict=True))


def random_product(rng: np.random.Generator) -> Product:
    kinds = rng.integers(4, size=rng.integers(1, 4))
    found = [
        symmetric(Fraction(rng.uniform(0.01, 0.9)), int(rng.integers(3, 7))) if kind == 0 else None for kind in kinds
    ]
    return Product(each or random_channel(rng, int(kind) + 2) for each, kind in zip(found, kinds, strict=True))


def random_radius(rng: np.random.Generator, law: Product, most_cells: int = 600) -> tuple[int, ...]:
    while True:
        radius = tuple(int(r) for r in rng.integers(0, 7, size=len(law.channels)))
        sizes = [math.comb(r + len(c.outcomes) - 1, r) for c, r in zip(law.channels, radius, strict=True)]
        if math.prod(sizes) <= most_cells:
            return radius


def relative_error(value: float, truth: Fraction) -> float:
    if truth == 0:
        return 0.0 if value == 0 else math.inf
    return abs(float((Fraction(value) - truth) / truth))


@pytest.mark.parametrize("seed", range(80))
def test_slack_and_both_rhos_against_fractions(seed):
    rng = np.random.default_rng([21, seed])
    law = random_product(rng)
    radius = random_radius(rng, law)
    cells = oracles.cells(list(law.channels), radius)
    assert relative_error(Slacks(law).value(radius), oracles.slack(cells)) <= 1e-9
    tradeoffs = Tradeoff(law)
    for p in (0.0, 1.0, 0.5, rng.uniform(), 1 - 10 ** rng.uniform(-9, 0), 1e-20):
        for ours, oracle in ((tradeoffs.lower, oracles.rho_lower), (tradeoffs.upper, oracles.rho_upper)):
            assert relative_error(ours(radius, p, 1 - p), oracle(cells, Fraction(p))) <= 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_every_rung_of_the_proof_encloses_the_truth_and_the_last_one_is_it(seed):
    rng = np.random.default_rng([22, seed])
    law = random_product(rng)
    radius = random_radius(rng, law, most_cells=200)
    cells = oracles.cells(list(law.channels), radius)
    for p in (Fraction(1, 2), Fraction(rng.uniform()), 1 - Fraction(10 ** rng.uniform(-12, -1)), Fraction(1)):
        truth = oracles.rho_lower(cells, p)
        start = Tradeoff(law).cut(radius, float(p), float(1 - p)).log_ratio
        found = list(exact.Prover(law).enclosures(radius, p, start))
        ends = [tuple(Fraction(str(end.fmpq() if hasattr(end, "fmpq") else end)) for end in each) for each in found]
        assert all(lower <= truth <= upper for lower, upper in ends)
        assert ends[0][1] - ends[0][0] <= truth * Fraction(1, 2**75)
        assert ends[-1] == (truth, truth)


@pytest.mark.parametrize("seed", range(30))
def test_the_frontier_is_what_comparing_exact_slacks_gives(seed):
    rng = np.random.default_rng([23, seed])
    law = random_product(rng)
    limits = (3,) * len(law.channels) if len(law.channels) < 3 else (2, 1, 2)
    failure = float(10 ** rng.uniform(-3, -0.31))
    frontier = find_frontier(TwoClass(Slacks(law), failure), limits)
    assert frontier.verified
    for radius in np.ndindex(*(limit + 1 for limit in limits)):
        assert frontier.covers(radius) == (Fraction(failure) < oracles.slack(oracles.cells(list(law.channels), radius)))


def test_both_margins_take_them():
    law, bounds = Product([symmetric(Fraction(2, 5), 4)]), (0.3, 0.05)
    frontier = find_frontier(MultiClass(Tradeoff(law), *bounds), (9,))
    (reach,) = frontier.radii[0]
    sides = [oracles.cells(list(law.channels), (count,)) for count in (reach, reach + 1)]
    certified = [
        oracles.rho_lower(cells, 1 - Fraction(bounds[0])) > oracles.rho_upper(cells, Fraction(bounds[1]))
        for cells in sides
    ]
    assert 0 < reach < 9
    assert certified == [True, False]


@pytest.mark.parametrize("k", [3, 4, 50])
def test_a_symmetric_law_has_two_cells_for_each_site_and_one_more(k):
    channel = symmetric(Fraction(0.3), k)
    assert len(channel.outcomes) == 3
    assert channel.reversed() == channel
    assert channel.evenly_spaced
    for radius in (1, 7, 40):
        assert cells_of(channel, radius).shape == (3, 2 * radius + 1)
        assert count_listed(channel, radius) == 2 * radius + 1
        assert len(exact._power(channel, radius, 128).clean) == 2 * radius + 1


def test_uneven_outcomes_have_a_cell_for_every_way_to_share_the_sites():
    sides = [Fraction(x, 100) for x in (60, 30, 10)], [Fraction(x, 100) for x in (20, 25, 55)]
    channel = Channel(zip(*sides, strict=True))
    assert not channel.evenly_spaced
    assert cells_of(channel, 9).shape[1] == count_listed(channel, 9) == math.comb(11, 2)
    assert Product([channel, channel.reversed()]).reverses == (-1, -1)


def test_evenly_spaced_outcomes_need_not_be_centred():
    """Ratios 1/8, 1/2, 2: the middle one is not 1, and a site still has three that are evenly spaced."""
    clean = [Fraction(28, 75), Fraction(1, 5), Fraction(32, 75)]
    channel = Channel((r, r * ratio) for r, ratio in zip(clean, (Fraction(1, 8), HALF, Fraction(2)), strict=True))
    assert channel.evenly_spaced
    assert cells_of(channel, 6).shape[1] == 13
    bit = Channel.of_bit(Fraction(1, 5), Fraction(3, 5))
    law = Product([channel, channel.reversed(), bit])
    assert law.reverses == (1, 0, -1)
    assert [half.values.shape[1] for half in Halves(law)((3, 4, 5))] == [5 + 1, 2 * (3 + 4) + 1]
    slacks = Slacks(law)
    for radius in ((1, 0, 0), (3, 2, 0), (2, 1, 3)):
        truth = oracles.slack(oracles.cells(list(law.channels), radius))
        assert relative_error(slacks.value(radius), truth) <= 1e-9
        assert Fraction(slacks.bracket(radius).below) < truth <= Fraction(slacks.bracket(radius).at_least)


def test_values_that_never_stay_have_ratios_without_end():
    """p = 1 on four values: a site never shows its own value, and two of four tell nothing."""
    law = Product([symmetric(Fraction(1), 4)])
    assert law.channels[0].log_ratios == (-math.inf, 0.0, math.inf)
    for radius in ((1,), (2,), (5,)):
        cells = oracles.cells(list(law.channels), radius)
        assert Slacks(law).value(radius) == pytest.approx(float(oracles.slack(cells)), rel=1e-12)


def test_uniform_noise_is_free():
    assert symmetric(Fraction(3, 4), 4).free
    assert Product([symmetric(Fraction(3, 4), 4)]).factors == ()


@pytest.mark.parametrize("p", [0.001, 0.1, 0.55, 0.665])
@pytest.mark.parametrize("radius", [300, 3000])
def test_large_radii_keep_their_digits(p, radius):
    """The recurrence in balls knows nothing of the sums in floats."""
    law = Product([symmetric(Fraction(p), 3)])
    slacks = Slacks(law)
    bracket = slacks.bracket((radius,))
    assert math.nextafter(bracket.below, 1) == bracket.at_least
    assert slacks.value((radius,)) == pytest.approx(bracket.at_least, rel=1e-9)
    assert slacks.cut((radius,)).filled == pytest.approx(bracket.at_least, rel=1e-9)


def test_a_binary_channel_is_the_symmetric_one_with_two_values():
    law, same = Product([symmetric(Fraction(0.1), 2)]), Product([Channel.of_bit(Fraction(0.1), 1 - Fraction(0.1))])
    assert law == same


def test_radii_with_too_many_cells_are_refused_before_they_are_listed():
    sides = [Fraction(x, 100) for x in (60, 30, 10)], [Fraction(x, 100) for x in (20, 25, 55)]
    law = Product([Channel(zip(*sides, strict=True))])
    with pytest.raises(InvalidParameterError, match="cells in each half"):
        Halves(law)((10_000,))
    with pytest.raises(InvalidParameterError, match="cells in each half"):
        halve(law, (10_000,))


def test_a_frontier_ends_where_cells_are_too_many_and_says_so():
    near_uniform = Product([symmetric(Fraction(2, 3) - Fraction(1, 10**9), 3)])
    frontier = find_frontier(TwoClass(Slacks(near_uniform), 0.4), (10**8,))
    assert not frontier.verified
    assert "cells are not looked at" in frontier.incomplete
    ((reach,),) = frontier.radii
    assert count_cells(near_uniform, (reach,)) <= 2**19 < count_cells(near_uniform, (reach + 1,))
