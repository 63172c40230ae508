"""The binomial tail behind a Clopper–Pearson limit, proved a second way.

`core.confidence` sums the tail term by term. Here it is the regularised incomplete beta function,

    P(Bin(n, u) ≤ k) = I_{1−u}(n − k, k + 1),

which flint encloses in a ball.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import ctx

from starcert.core.balls import LOCK, exact_number

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
    for bits in (96, 256, 1024):
        with LOCK, ctx.workprec(bits):
            tail = exact_number(1 - limit).beta_lower(total - count, count + 1, regularized=True)
            least = exact_number(share)
            if tail <= least:
                return True
            if tail > least:
                return False
    return None
