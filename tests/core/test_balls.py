import math
from fractions import Fraction

import pytest
from flint import arb, fmpq

from starcert.core.balls import exact_number, float_at_least, float_below, lower_end, midpoint, upper_end


def fraction(x: arb | fmpq) -> Fraction:
    x = x if isinstance(x, fmpq) else x.fmpq()
    return Fraction(int(x.p), int(x.q))


@pytest.mark.parametrize("x", [fmpq(1, 3), fmpq(1, 8), fmpq(0), fmpq(1, 10**320), arb(0.1), arb(1) / 3])
def test_floats_around_an_exact_number(x):
    x = x if isinstance(x, fmpq) else x.lower()
    below, at_least = float_below(x), float_at_least(x)
    assert Fraction(below) < fraction(x) <= Fraction(at_least)
    assert math.nextafter(below, math.inf) == at_least


def test_a_ball_has_ends_and_a_fraction_is_its_own():
    third = exact_number(Fraction(1, 3))
    assert fraction(lower_end(third)) < Fraction(1, 3) < fraction(upper_end(third))
    assert fraction(lower_end(third)) <= fraction(midpoint(third)) <= fraction(upper_end(third))
    exact = exact_number(Fraction(1, 3), None)
    assert fraction(lower_end(exact)) == fraction(midpoint(exact)) == fraction(upper_end(exact)) == Fraction(1, 3)
