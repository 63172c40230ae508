"""Limits on probabilities after some votes, proved another way than by `math.limits`.

The engine sums the binomial tail P(Bin(n, u) ≤ k) behind a Clopper–Pearson limit in whole numbers. Here it is summed in
pairs of floats with a bound on their rounding errors, fifty times quicker than balls, and, where that leaves a verdict
open, is the regularised incomplete beta function I_{1−u}(n − k, k + 1), which flint encloses in a ball. Bounds that
hold at any time rest on a capital, here a hypergeometric series.

A pair (x, y) stands for x + y with |y| ≤ half a unit in the last place of x. A product or quotient of pairs has a
relative error below 2⁻¹⁰⁰, and so has a sum of positive ones.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from starcert.math.arithmetic import LOCK, compiled, exact_number

MAX_TERMS = 2**30  # with at most this many terms, the error of the sum is below 2⁻⁶⁷
ERROR = 2.0**-60  # more than all relative errors of such a sum together


@lru_cache(maxsize=2**16)
def limit_holds(count: int, total: int, limit: Fraction, share: Fraction) -> bool:
    """True if P(Bin(total, limit) ≤ count) ≤ share: after `count` of `total`, a probability is at most `limit`.

    False also where a thousand bits leave that open.
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
                break
    return False


def _sum_is_at_most(count: int, total: int, limit: Fraction, share: Fraction) -> bool:
    """Proves that the tail is at most `share`; False says nothing."""
    if not 2.0**-60 < limit < 1 - 2.0**-60 or count >= limit * total or count > MAX_TERMS:
        return False
    with LOCK, ctx.workprec(128):
        success, failure = exact_number(limit), exact_number(1 - limit)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        return bool(largest * tail_in_pairs(count, total, limit) * (1 + arb(ERROR)) <= exact_number(share))


@lru_cache(maxsize=2**14)
def anytime_limit_holds(count: int, total: int, limit: Fraction, share: Fraction) -> bool:
    """True if the capital against a probability of `limit`, and so of more, is 1/share after `count` of `total`.

    The capital is the mean of (v/u)ᵐ((1−v)/(1−u))ⁿ⁻ᵐ over all v < u, by the law of arcsine, with m of n votes. As a
    series of positive terms it is √(u(1−u)) · ₂F₁(1, n+1; m+3/2; u) / ((2m+1)·arcsin √u). Where it is 2 or more, it
    increases with u: far above what is needed, where it has thousands of digits, a smaller u proves the same.
    """
    if limit >= 1:
        return True
    if limit <= 0 or limit * total < count:
        return False
    enough = _rejected(count, total, math.log(share.denominator) - math.log(share.numerator))
    with LOCK, ctx.workprec(128):
        u = exact_number(min(limit, Fraction(enough)))
        series = u.hypgeom_2f1(1, total + 1, arb(count) + arb("1.5"))
        capital = series * (u * (1 - u)).sqrt() / ((2 * count + 1) * u.sqrt().asin())
        return bool(capital * exact_number(share) >= 1)


def _rejected(count: int, total: int, goal: float) -> float:
    """A probability against which the logarithm of the capital is more than a goal; 1 if floats know of none.

    It is n·KL(m/n, u) less about half a logarithm of n: one whole and 10 above the goal are enough.
    """
    rate, low, high = count / total, count / total, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        gained = (total - count) * (math.log1p(-rate) - math.log1p(-middle))
        gained += count * math.log(rate / middle) if count else 0.0
        low, high = (low, middle) if gained >= goal + math.log(total) + 10 else (middle, high)
    return high


LIMITS = {"clopper-pearson": limit_holds, "anytime": anytime_limit_holds}
"""The proofs of a limit on a probability after some votes, by the name of the bound."""


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
