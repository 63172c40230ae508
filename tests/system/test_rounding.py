"""No number in a sentence says more than is proved; numbers with few digits stay as they are."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from starcert.system.rounding import at_least, at_most, fails_at_most, holds_at_least

floats = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1e-3).map(lambda x: 1 - x),
    st.floats(-300, 0).map(lambda x: 10**x),
    st.integers(0, 10**6).map(lambda n: n / 10**6),
)


def written(x: float) -> Fraction:
    """The number that a float's shortest name is."""
    return Fraction(repr(x))


@given(floats)
@example(1e-7)
@example(0.01)
@example(5e-324)
@example(1 - 2**-53)
def test_at_least_is_rounded_down_and_at_most_up(p):
    assert Fraction(at_least(p)) <= written(p) <= Fraction(at_most(p))
    assert Fraction(at_least(p, decimals=6)) <= written(p)
    assert Fraction(holds_at_least(p)) <= 1 - written(p)
    # And not by much: six digits, and three of what is left to 1.
    assert written(p) - Fraction(at_least(p)) <= written(p) / 10**5
    assert Fraction(at_most(p)) - written(p) <= written(p) / 10**5
    rest = 1 - Fraction(holds_at_least(p))
    assert rest - written(p) <= max(written(p) / 100, Fraction(1, 10**20))


@given(floats)
def test_what_has_few_digits_stays_as_it_was(p):
    if Fraction(f"{p:.6g}") == written(p):
        assert at_least(p) == at_most(p) == f"{p:.6g}"


@given(st.integers(1, 4999))
def test_what_is_left_stays_as_it_was_too(n):
    alpha = n / 10_000
    assert holds_at_least(alpha) == f"{1 - alpha:.6g}"


def test_the_numbers_that_people_use():
    assert [holds_at_least(alpha) for alpha in (0.05, 0.01, 0.001, 1e-7)] == ["0.95", "0.99", "0.999", "0.9999999"]
    assert [at_most(alpha) for alpha in (0.05, 0.01, 0.001, 1e-7)] == ["0.05", "0.01", "0.001", "1e-07"]
    assert fails_at_most(1e-7).endswith("at most 1e-07.")
    assert "All 1,000 certificates hold together" in fails_at_most(0.01, 1000)
