"""The binomial tail behind a Clopper–Pearson limit, proved a second way.

`core.limits` sums the tail P(Bin(n, u) ≤ k) in balls. Here it is summed in pairs of floats, whose rounding errors are
counted, and where that leaves a verdict open it is the regularised incomplete beta function,

    P(Bin(n, u) ≤ k) = I_{1−u}(n − k, k + 1),

which flint encloses in a ball. The pairs take some fifty times less: a file may have ten thousand different counts.

A pair (x, y) stands for x + y with |y| ≤ half a unit in the last place of x. A product or quotient of pairs has a
relative error below 2⁻¹⁰⁰, and so has a sum of positive ones. From the largest term downwards, each term is the last
one times j(1−u) / ((n−j+1)·u): after m terms everything has a relative error below (4m + 10)·2⁻¹⁰⁰.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from starcert.core.balls import LOCK, exact_number
from starcert.core.compiled import compiled

__all__ = ["bounds_the_rest"]

MOST_TERMS = 2**30
"""With so many terms, the error of the sum is below 2⁻⁶⁷."""

SLACK = 2.0**-60
"""More than all errors of a sum in pairs together."""


@lru_cache(maxsize=2**16)
def bounds_the_rest(count: int, total: int, limit: Fraction, share: Fraction) -> bool | None:
    """Whether P(Bin(total, limit) ≤ count) ≤ share: after `count` of `total`, a probability is at most `limit`.

    None if a thousand bits leave that open, which must be read as no.

    Example:
        >>> bounds_the_rest(0, 100, Fraction(46, 1000), Fraction(1, 100))
        True
        >>> bounds_the_rest(0, 100, Fraction(45, 1000), Fraction(1, 100))
        False
    """
    if limit >= 1:
        return True
    if limit <= 0 or count >= total:
        return False
    if _sum_is_at_most(count, total, limit, share):
        return True
    for bits in (96, 256, 1024):
        with LOCK, ctx.workprec(bits):
            tail = exact_number(1 - limit).beta_lower(total - count, count + 1, regularized=True)
            least = exact_number(share)
            if tail <= least:
                return True
            if tail > least:
                return False
    return None


def _sum_is_at_most(count: int, total: int, limit: Fraction, share: Fraction) -> bool:
    """Proves that the tail is at most `share`; False says nothing."""
    if not 2.0**-60 < limit < 1 - 2.0**-60 or count >= limit * total or count > MOST_TERMS:
        return False
    odds = (1 - limit) / limit
    high = float(odds)
    low = float(odds - Fraction(high))
    series = _series(count, total, high, low)
    with LOCK, ctx.workprec(128):
        success, failure = exact_number(limit), exact_number(1 - limit)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        return bool(largest * (arb(series[0]) + arb(series[1])) * (1 + arb(SLACK)) <= exact_number(share))


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
    """A sum of positive pairs, the first no smaller than the second or not: Knuth's exact sum of the leading floats."""
    s = x + u
    b = s - x
    return _normal(s, ((x - (s - b)) + (u - b)) + (y + v))
