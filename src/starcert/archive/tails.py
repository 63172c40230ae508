"""The binomial tail behind a Clopper–Pearson limit, proved a second way.

`core.limits` sums the tail P(Bin(n, u) ≤ k) in whole numbers. Here it is summed in pairs of floats, whose rounding
errors are counted, and where that leaves a verdict open it is the regularised incomplete beta function,

    P(Bin(n, u) ≤ k) = I_{1−u}(n − k, k + 1),

which flint encloses in a ball. The pairs take some fifty times less: a file may have ten thousand different counts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from starcert.core.balls import LOCK, exact_number
from starcert.core.limits import ERROR, MOST_TERMS, tail_in_pairs

__all__ = ["bounds_the_rest"]


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
    with LOCK, ctx.workprec(128):
        success, failure = exact_number(limit), exact_number(1 - limit)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        return bool(largest * tail_in_pairs(count, total, limit) * (1 + arb(ERROR)) <= exact_number(share))
