import math
from fractions import Fraction

import numpy as np
import oracles
import pytest

from starcert.math import exact
from starcert.math.cells import NEGLIGIBLE, Halves, cells_of, count_listed, halve, window
from starcert.math.channels import Channel, Product
from starcert.math.margins import Slacks
from starcert.system.errors import InvalidParameterError


def flip(p: float) -> Channel:
    return oracles.bit_channel(Fraction(p), 1 - Fraction(p))


def listed(law: Product, powers: tuple[int, ...]) -> np.ndarray:
    """Every pair of cells from the two halves: log ratio, clean mass, attacked mass."""
    first, second = Halves(law)(powers)
    with np.errstate(invalid="ignore"):
        log_ratio = np.add.outer(first.values[0], second.values[0]).ravel()
    return np.vstack([log_ratio, *(np.multiply.outer(first.values[i], second.values[i]).ravel() for i in (1, 2))])


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_the_halves_are_the_cells_of_the_product(seed):
    rng = np.random.default_rng(seed)
    n_axes = int(rng.integers(1, 6))
    law = oracles.random_noise(rng, n_axes).product
    powers = law.powers(oracles.random_radius(rng, n_axes))
    exact = oracles.cells(list(law.factors), powers)
    ours = listed(law, powers)
    assert ours[1].sum() == pytest.approx(1, abs=1e-13)
    assert ours[2].sum() == pytest.approx(1, abs=1e-13)
    # Mass with log ratio above a threshold, on both sides, against the whole list.
    for threshold in (-3.3, -0.1, 0.1, 2.7):
        above = ours[0] > threshold
        bound = Fraction(math.exp(threshold))
        chosen = [(r, q) for r, q in exact if q > bound * r]
        for side in (0, 1):
            assert ours[1 + side][above].sum() == pytest.approx(float(sum(c[side] for c in chosen)), abs=1e-12)


def test_tables_are_sorted_and_their_sums_run_from_both_ends():
    law = Product([flip(0.1), flip(0.2), flip(0.3)])
    for half in Halves(law)((5, 6, 7)):
        assert (np.diff(half.values[0]) > 0).all()
        np.testing.assert_allclose(half.sums[0, 1:], np.cumsum(half.values[1]), rtol=1e-14)
        np.testing.assert_allclose(half.sums[3, :-1], np.cumsum(half.values[2][::-1])[::-1], rtol=1e-14)
        assert half.sums[0, 0] == half.sums[1, -1] == half.sums[2, 0] == half.sums[3, -1] == 0


def test_deletions_and_additions_of_one_law_merge():
    delete, add = Fraction(1, 25), Fraction(1, 5)
    law = Product([oracles.bit_channel(delete, 1 - add), oracles.bit_channel(add, 1 - delete), flip(0.3)])
    first, second = Halves(law)((20, 30, 5))
    assert (first.values.shape[1], second.values.shape[1]) == (5 + 1, 20 + 30 + 1)


def test_halves_are_balanced_by_size_not_by_number():
    law = Product([flip(p) for p in (0.1, 0.2, 0.3, 0.4)])
    left, right = halve(law, (1000, 2, 2, 2))
    assert sorted([dict(left), dict(right)], key=len) == [{0: 1000}, {1: 2, 2: 2, 3: 2}]


def test_a_product_too_large_for_halves_is_refused_before_it_is_allocated():
    law = Product([flip(0.05 * i) for i in range(1, 9)])
    with pytest.raises(InvalidParameterError, match="Lower the radii"):
        Halves(law)((500,) * 8)


@pytest.mark.parametrize(("radius", "p"), [(10, 0.3), (1000, 0.01), (5000, 0.5), (5000, 1e-5)])
def test_windows_leave_out_less_than_they_promise(radius, p):
    low, high = window(radius, p)
    exact = Fraction(p)
    outside = [k for k in range(radius + 1) if not low <= k <= high]
    assert len(outside) == 0 or len(outside) > radius // 2
    nearest = [k for k in (low - 1, high + 1) if 0 <= k <= radius]
    # The mass falls at least geometrically beyond the window, so its edge bounds the rest.
    for k in nearest:
        assert math.comb(radius, k) * exact**k * (1 - exact) ** (radius - k) * radius < 2 * NEGLIGIBLE * 10


def test_memory_follows_the_square_root_of_a_large_radius():
    law = Product([flip(0.4999)])
    (_, large) = Halves(law)((50_000_000,))
    assert large.values.shape[1] < 250_000


@pytest.mark.parametrize("k", [3, 4, 50])
def test_a_symmetric_law_has_two_cells_for_each_site_and_one_more(k):
    channel = oracles.symmetric(Fraction(0.3), k)
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
    channel = Channel(
        (r, r * ratio) for r, ratio in zip(clean, (Fraction(1, 8), Fraction(1, 2), Fraction(2)), strict=True)
    )
    assert channel.evenly_spaced
    assert cells_of(channel, 6).shape[1] == 13
    bit = oracles.bit_channel(Fraction(1, 5), Fraction(3, 5))
    law = Product([channel, channel.reversed(), bit])
    assert law.reverses == (1, 0, -1)
    assert [half.values.shape[1] for half in Halves(law)((3, 4, 5))] == [5 + 1, 2 * (3 + 4) + 1]
    slacks = Slacks(law)
    for radius in ((1, 0, 0), (3, 2, 0), (2, 1, 3)):
        truth = oracles.slack(oracles.cells(list(law.channels), radius))
        assert oracles.relative_error(slacks.value(radius), truth) <= 1e-9
        assert Fraction(slacks.bracket(radius).below) < truth <= Fraction(slacks.bracket(radius).at_least)


def test_radii_with_too_many_cells_are_refused_before_they_are_listed():
    sides = [Fraction(x, 100) for x in (60, 30, 10)], [Fraction(x, 100) for x in (20, 25, 55)]
    law = Product([Channel(zip(*sides, strict=True))])
    with pytest.raises(InvalidParameterError, match="cells in each half"):
        Halves(law)((10_000,))
    with pytest.raises(InvalidParameterError, match="cells in each half"):
        halve(law, (10_000,))
