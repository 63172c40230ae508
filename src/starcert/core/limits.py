"""Upper limits on a probability from counts: Clopper–Pearson, rounded outward and proved."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.core.balls import LOCK, exact_number
from starcert.core.pairs import ERROR, MOST_TERMS, tail_in_pairs

__all__ = ["rough_limits", "upper_limit"]

_BITS = 128
_NEGLIGIBLE = 1 << (_BITS - 70)


@lru_cache(maxsize=2**16)
def upper_limit(count: int, total: int, share: Fraction) -> float:
    """A float u with P(Bin(total, u) ≤ count) ≤ share, proved: the true probability exceeds u with `share`.

    The Clopper–Pearson limit is the smallest such number; u is it, or a few units in the last place above.
    """
    if count >= total:
        return 1.0
    from scipy.special import betainccinv  # noqa: PLC0415  (a fifth of a second: only where votes are bounded)

    limit = float(betainccinv(count + 1, total - count, float(share)))
    bump = 2.0**-52
    while limit < 1:
        if count < limit * total and _tail_is_at_most(count, total, limit, share):
            return limit
        limit = limit * (1 + bump) if limit > 0 else 2.0**-60
        bump *= 2
    return 1.0


def _tail_is_at_most(count: int, total: int, p: float, share: Fraction) -> bool:
    """Proves P(Bin(total, p) ≤ count) ≤ share, for p above count / total."""
    with LOCK, ctx.workprec(96):
        success, failure = arb(p), 1 - arb(p)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        least = exact_number(share)
        if count <= MOST_TERMS and 2.0**-60 < p < 1 - 2.0**-52:
            roughly = largest * tail_in_pairs(count, total, Fraction(p))
            if roughly > least * (1 + arb(ERROR)):
                return False  # a third of all tries end here, in a fifth of the time of the proof
        return bool(largest * _relative_tail(count, total, p) <= least)


def _relative_tail(count: int, total: int, p: float) -> arb:
    """At least P(Bin(total, p) ≤ count) / P(Bin(total, p) = count), in whole numbers that are rounded up.

    From the largest term downwards, each term is the last one times j(1−p) / ((total−j+1)·p). The factors
    fall below 1 and go on falling, so what is left out is at most a geometric series.
    """
    yes, whole = p.as_integer_ratio()
    no = whole - yes
    term = series = 1 << _BITS
    for j in range(count, 0, -1):
        up, down = no * j, yes * (total - j + 1)
        term = -(-term * up // down)
        series += term
        if term <= _NEGLIGIBLE and up < down:
            series -= -term * up // (down - up)
            break
    return arb(series) * arb(2) ** -_BITS


def rough_limits(counts: npt.ArrayLike, totals: npt.ArrayLike, share: Fraction) -> npt.NDArray[np.float64]:
    """The same limits in floats and not proved, for many counts at once, which need not be whole: for predictions.

    Example:
        >>> rough_limits([0, 30.5, 100], 100, Fraction(1, 100)).round(4)
        array([0.045 , 0.4234, 1.    ])
    """
    from scipy.special import betainccinv  # noqa: PLC0415  (as above)

    count, total = np.broadcast_arrays(np.asarray(counts, dtype=float), np.asarray(totals, dtype=float))
    inside = count < total
    limits = betainccinv(count + 1, np.where(inside, total - count, 1.0), float(share))
    return np.where(inside, limits, 1.0)
