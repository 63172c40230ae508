"""Sums of falling terms in pairs of floats: the checker's own proof of Clopper–Pearson limits.

A pair (x, y) stands for x + y with |y| ≤ half a unit in the last place of x. A product or quotient of pairs has a
relative error below 2⁻¹⁰⁰, and so has a sum of positive ones. Fifty times quicker than balls.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from starcert.math.arithmetic import compiled

MAX_TERMS = 2**30  # with at most this many terms, the error of the sum is below 2⁻⁶⁷
ERROR = 2.0**-60  # more than all relative errors of such a sum together


def tail_in_pairs(count: int, total: int, p: Fraction) -> arb:
    """P(Bin(total, p) ≤ count) / P(Bin(total, p) = count) with a relative error below `ERROR`, in pairs of floats.

    For count / total < p, for p that is not within 2⁻⁶⁰ of 0 or 1, and for at most `MAX_TERMS` counts: after m terms
    the error is below (4m + 10)·2⁻¹⁰⁰.
    """
    odds = (1 - p) / p
    high = float(odds)
    one, other = _series(count, total, high, float(odds - Fraction(high)))
    return arb(one) + arb(other)


@compiled
def _series(count, total, high, low):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """1 + (term before the largest)/(largest) + …, as a pair of floats; what is left out is added, rounded up."""
    x, y = 1.0, 0.0  # the term, relative to the largest
    s, t = 1.0, 0.0  # the sum
    j = count
    while j > 0:
        x, y = _times(x, y, high, low)
        x, y = _times(x, y, float(j), 0.0)
        x, y = _over(x, y, float(total - j + 1))
        s, t = _plus(s, t, x, y)
        j -= 1
        factor = high * j / (total - j + 1) * (1 + 1e-12)  # those that follow are smaller still
        if x < 2.0**-90 * s and factor < 1 - 1e-9:
            rest = x * factor / (1 - factor) * (1 + 1e-9)
            s, t = _plus(s, t, rest, 0.0)
            break
    return s, t


@compiled
def _split(a):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    c = 134217729.0 * a  # 2²⁷ + 1: Dekker's split into halves whose products are exact
    high = c - (c - a)
    return high, a - high


@compiled
def _product(a, b):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """A product of floats and its error, exactly."""
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@compiled
def _normal(a, b):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    s = a + b
    return s, b - (s - a)


@compiled
def _times(x, y, u, v):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    p, e = _product(x, u)
    return _normal(p, e + (x * v + y * u))


@compiled
def _over(x, y, d):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    q = x / d
    p, e = _product(q, d)
    return _normal(q, (((x - p) - e) + y) / d)


@compiled
def _plus(x, y, u, v):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Knuth's exact sum of the leading floats, whichever is larger; all are positive."""
    s = x + u
    b = s - x
    return _normal(s, ((x - (s - b)) + (u - b)) + (y + v))
