"""Upper limits on a probability from counts: Clopper–Pearson, rounded outward and proved."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.core.balls import LOCK, exact_number

__all__ = ["rough_limits", "upper_limit"]


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
    """Proves P(Bin(total, p) ≤ count) ≤ share, for p above count / total.

    From the largest term downwards, each term is the last one times x = j(1−p) / ((total−j+1)·p). The factors
    fall below 1 and go on falling, so what is left out is at most a geometric series.
    """
    with LOCK, ctx.workprec(96):
        success, failure = arb(p), 1 - arb(p)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        odds = failure / success
        series = term = arb(1)
        negligible = 2.0**-70
        j = count
        while j > 0:
            factor = odds * j / (total - j + 1)
            term = term * factor
            series += term
            j -= 1
            if not term > negligible and factor < 1:
                series += (term * factor / (1 - factor)).upper()
                break
        return bool(largest * series <= exact_number(share))


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
