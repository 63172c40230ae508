from fractions import Fraction

import oracles
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from starcert.math.channels import Channel, Product

probability = st.floats(0, 1).map(Fraction)
tiny = Fraction(5e-324)
HALF = Fraction(1, 2)


def test_a_channel_and_its_mirror_are_equal():
    assert oracles.bit_channel(Fraction(1, 5), Fraction(2, 3)) == oracles.bit_channel(Fraction(4, 5), Fraction(1, 3))


@given(probability, probability)
def test_channels_are_kept_with_a_not_above_b(a, b):
    channel = oracles.bit_channel(a, b)
    clean, attacked = channel.outcomes[-1]
    assert clean <= attacked
    assert channel.reversed().reversed() == channel


def test_reversing_exchanges_adding_and_deleting():
    delete, add = Fraction(1, 25), Fraction(1, 5)
    assert oracles.bit_channel(delete, 1 - add).reversed() == oracles.bit_channel(add, 1 - delete)


@pytest.mark.parametrize("value", [Fraction(-1, 10), Fraction(11, 10)])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(ValueError, match="masses from 0"):
        oracles.bit_channel(value, Fraction(1, 2))


@pytest.mark.parametrize(
    "outcomes", [[], [(1, HALF)], [(HALF, HALF), (HALF, HALF), (0, HALF)], [(Fraction(3, 2), 1), (-HALF, 0)]]
)
def test_outcomes_are_masses_that_sum_to_one_on_either_side(outcomes):
    with pytest.raises(ValueError, match="sum to 1 on either side"):
        Channel(outcomes)


@given(probability, probability)
def test_a_bit_has_the_outcomes_that_merging_gives(a, b):
    assert oracles.bit_channel(a, b) == Channel([(a, b), (1 - a, 1 - b)])
    assert oracles.bit_channel(a, b).reversed() == Channel([(b, a), (1 - b, 1 - a)])


def test_outcomes_with_one_ratio_are_one_and_what_neither_side_shows_is_none():
    eighth = Fraction(1, 8)
    channel = Channel([(eighth, 4 * eighth), (0, 0), (6 * eighth, 3 * eighth), (eighth, eighth)])
    assert channel.outcomes == ((6 * eighth, 3 * eighth), (eighth, eighth), (eighth, 4 * eighth))
    assert Channel([(eighth, eighth)] * 8).free
    assert Channel([(eighth, 2 * eighth)] * 4 + [(4 * eighth, 0)]).outcomes == ((HALF, 0), (HALF, 1))


def test_equal_channels_merge_and_free_ones_drop_out():
    a, free, b = (
        oracles.bit_channel(Fraction(1, 4), Fraction(3, 4)),
        oracles.bit_channel(Fraction(1, 2), Fraction(1, 2)),
        oracles.bit_channel(tiny, 1 - tiny),
    )
    law = Product([a, free, b, a])
    assert law.factors == (a, b)
    assert law.powers((1, 50, 7, 2)) == (3, 7)


@given(probability, probability)
def test_log_ratios_are_right_to_the_last_digits(a, b):
    channel = oracles.bit_channel(a, b)
    with ctx.workprec(2000):
        for (bottom, top), rounded in zip(channel.outcomes, channel.log_ratios, strict=True):
            if top == 0 and bottom > 0:
                assert rounded == -float("inf")
            elif bottom == 0 and top > 0:
                assert rounded == float("inf")
            elif top and bottom:
                quotient = top / bottom
                true = arb(fmpq(quotient.numerator, quotient.denominator)).log()
                assert abs(true - rounded) <= abs(true) * 2**-50


def test_log_ratios_near_one_and_far_from_it_lose_nothing():
    p = Fraction(0.5) - Fraction(1, 2**50)
    assert oracles.bit_channel(p, 1 - p).log_ratios[1] == pytest.approx(float(4 * Fraction(1, 2**50)), rel=1e-14)
    assert oracles.bit_channel(tiny, 1 - tiny).log_ratios[1] == pytest.approx(744.4400719213812, rel=1e-14)


def test_uniform_noise_is_free():
    assert oracles.symmetric(Fraction(3, 4), 4).free
    assert Product([oracles.symmetric(Fraction(3, 4), 4)]).factors == ()


def test_a_binary_channel_is_the_symmetric_one_with_two_values():
    law, same = (
        Product([oracles.symmetric(Fraction(0.1), 2)]),
        Product([oracles.bit_channel(Fraction(0.1), 1 - Fraction(0.1))]),
    )
    assert law == same
