"""Upper limits on a probability from counts, proved: Clopper–Pearson, and anytime; and how alpha is divided.

Clopper–Pearson is proved by a sum of falling terms in whole numbers; what holds at any time, by a capital.

This is the only place that divides alpha: between bounds on the class probabilities and evidence (`AlphaShares`), and
between the bounds of a graph and of several graphs (`share_of_alpha`):

    classes   selection votes   margin        what is bounded                           share of alpha each
    2         separate          two-class     p_A (and with it p_B = 1 − p_A)           alpha
    2         the same          two-class     either class from below                   alpha / 2
    K > 2     separate          two-class     p_A                                       alpha
    K > 2     separate          multi-class   p_A from below, K − 1 others from above   alpha / K
    K > 2     the same          either        every class from below and from above     alpha / 2K
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, binomial_masses, exact_number

PSEUDO_VOTES = 0.5  # added to the votes of each other class: few votes say little about how later ones will fall
_BITS = 128
_NEGLIGIBLE = 1 << (_BITS - 70)


@lru_cache(maxsize=2**16)
def upper_limit(count: int, total: int, share: Fraction) -> float:
    """A float u with P(Bin(total, u) ≤ count) ≤ share, proved: the Clopper–Pearson limit but for its last digits."""
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
        (largest,) = binomial_masses(total, Fraction(p), count, count)
        return bool(largest * _relative_tail(count, total, p) <= exact_number(share))


def _relative_tail(count: int, total: int, p: float) -> arb:
    """At least P(Bin(total, p) ≤ count) / P(Bin(total, p) = count), in whole numbers that are rounded up.

    Each term is the last one times j(1−p) / ((total−j+1)·p). These factors fall, and go on falling once they are below
    1.
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
    """The same limits in floats and not proved, for many counts at once, which need not be whole: for predictions."""
    from scipy.special import betainccinv  # noqa: PLC0415  (as above)

    count, total = np.broadcast_arrays(np.asarray(counts, dtype=float), np.asarray(totals, dtype=float))
    inside = count < total
    limits = betainccinv(count + 1, np.where(inside, total - count, 1.0), float(share))
    return np.where(inside, limits, 1.0)


def capital_against(count: int, total: int, limit: float) -> float:
    """The logarithm of a capital against "the probability is at least `limit`", after `count` of `total` votes.

    With u the limit, m the count and n the total, it is the mean of (v/u)ᵐ((1−v)/(1−u))ⁿ⁻ᵐ over all v < u, by the law
    of arcsine; −∞ where m/n ≥ u. It decides when to look and where to stop: `anytime_limit` proves what is claimed.
    """
    if count >= limit * total:
        return -math.inf
    if limit >= 1:
        return math.inf
    from scipy.special import betainc, betaln  # noqa: PLC0415  (a fifth of a second: only where votes are bounded)

    one, other = count + 0.5, total - count + 0.5
    mixed = float(betaln(one, other)) + math.log(betainc(one, other, limit)) - math.log(2 * math.asin(math.sqrt(limit)))
    return mixed - count * math.log(limit) - (total - count) * math.log1p(-limit)


@lru_cache(maxsize=2**14)
def anytime_limit(count: int, total: int, share: Fraction) -> float:
    """A float u with P(the true probability exceeds u at any look) ≤ `share` < 1/2.

    It is the least u that `capital_against` rejects. Wherever that capital is 2 or more it increases with u (see
    docs/mathematics.md), so all larger u are rejected as well. Proved in ball arithmetic.
    """
    if count >= total:
        return 1.0
    goal = -math.log(share)
    low, high = count / total, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if capital_against(count, total, middle) >= goal else (middle, high)
    step = high * 2.0**-40
    while high < 1 and not _rejects(count, total, high, share):  # at most 100 times: steps double, from 2⁻¹⁰⁰ or more
        high, step = min(1.0, high + step), 2 * step
    return high


def _rejects(count: int, total: int, p: float, share: Fraction) -> bool:
    with LOCK, ctx.workprec(64):  # three times as fast as 128 bits, for a loss in the last digits
        return bool(mixture(count, total, arb(p)) >= -exact_number(share).log())


def mixture(count: int, total: int, limit: arb) -> arb:
    """The logarithm of the mean over v < u of (v/u)ᵐ((1−v)/(1−u))ⁿ⁻ᵐ, by the law of arcsine, in a ball."""
    mixed = limit.beta_lower(arb(count) + arb("0.5"), arb(total - count) + arb("0.5")).log()  # not regularised
    mixed -= (2 * limit.sqrt().asin()).log()
    return mixed - (count * limit.log() + (total - count) * (1 - limit).log())


class AlphaShares(NamedTuple):
    """The shares of the alpha of a certificate with evidence, fixed in advance; the three add up to it."""

    counts: Fraction  # for the bounds on the class probabilities
    certified: Fraction  # for what evidence certifies
    broken: Fraction  # for the attacks that it finds

    @classmethod
    def of(cls, alpha: Fraction, *, evidence: bool = True, family_size: int = 1) -> AlphaShares:
        """The shares of one of `family_size` certificates; without evidence the counts have all of it."""
        own = alpha / family_size
        return cls(own / 4, own / 2, own / 4) if evidence else cls(own, Fraction(0), Fraction(0))


def counts_alpha(alpha: float, *, evidence: bool) -> float:
    """The part of alpha for the bounds on class probabilities: all of it, or their share beside evidence."""
    return float(AlphaShares.of(Fraction(alpha), evidence=evidence).counts)


def share_of_alpha(
    alpha: float, n_classes: int, *, selected_apart: bool, all_classes: bool = True, family_size: int = 1
) -> Fraction:
    """The share of alpha that each bound may fail with, so that those of `family_size` graphs hold: the module's table.

    With `selected_apart` the class is chosen on votes of its own, with `all_classes` every class is bounded, for the
    multi-class margin. Two classes are one bound, and a class that is chosen on the same votes may be any: there
    `all_classes` makes no difference.
    """
    whole = Fraction(alpha) / family_size
    bounded = n_classes if n_classes > 2 else 1
    if not selected_apart:
        return whole / (2 * bounded)
    return whole / (bounded if all_classes else 1)


def chooses_multi_class(
    selection: npt.NDArray[np.int64], totals: npt.NDArray[np.int64], whole: Fraction
) -> npt.NDArray[np.bool_]:
    """For which graphs alpha is spent on the multi-class margin, for which (False) on the two-class margin.

    Any choice is sound that does not look at the estimation votes (`docs/mathematics.md` has the proof). This one
    predicts them from the selection votes, computes the bounds of both margins from the prediction, and compares how
    far they would reach if the log ratio were normal: there ρ_low(p) = Φ(Φ⁻¹(p) − d) at a distance d, so that the
    two-class margin reaches d = Φ⁻¹(p_A), the multi-class one d = (Φ⁻¹(p_A) + Φ⁻¹(1 − p_B)) / 2. Archives rest on it:
    another rule must have another name there.

    `selection` holds the selection votes, shape (graphs, classes), with three classes or more; `totals` the number of
    estimation votes of each graph; `whole` is the alpha of one graph.
    """
    from scipy.special import ndtri  # noqa: PLC0415  (as above)

    n_graphs, n_classes = selection.shape
    rows, chosen = np.arange(n_graphs), selection.argmax(axis=1)
    rivals = selection.copy()
    rivals[rows, chosen] = 0
    against, rival = rivals.sum(axis=1), rivals.max(axis=1)
    failing = totals * (against / selection.sum(axis=1))
    best = failing * (rival + PSEUDO_VOTES) / (against + PSEUDO_VOTES * (n_classes - 1))
    share = whole / n_classes
    failure, other = rough_limits(failing, totals, share), rough_limits(best, totals, share)
    two_class = -ndtri(rough_limits(failing, totals, whole))
    multi_class = -(ndtri(failure) + ndtri(np.minimum(other, failure))) / 2
    return np.asarray(multi_class > two_class)
