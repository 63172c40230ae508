"""Upper limits on a probability from counts: Clopper–Pearson, proved; and how alpha is divided.

A limit is proved by a sum of falling terms in whole numbers. Most tries that fail are found by the same sum in pairs of
floats, fifty times quicker than balls. A pair (x, y) stands for x + y with |y| ≤ half a unit in the last place of x. A
product or quotient of pairs has a relative error below 2⁻¹⁰⁰, and so has a sum of positive ones.

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

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, compiled, exact_number

MAX_TERMS = 2**30  # with at most this many terms, the error of the sum is below 2⁻⁶⁷
ERROR = 2.0**-60  # more than all relative errors of such a sum together
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
        success, failure = arb(p), 1 - arb(p)
        with ctx.extraprec(2 * total.bit_length()):
            logs = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
            largest = (logs + success.log() * count + failure.log() * (total - count)).exp()
        least = exact_number(share)
        if count <= MAX_TERMS and 2.0**-60 < p < 1 - 2.0**-52:
            roughly = largest * tail_in_pairs(count, total, Fraction(p))
            if roughly > least * (1 + arb(ERROR)):
                return False  # a third of all tries end here, in a fifth of the time of the proof
        return bool(largest * _relative_tail(count, total, p) <= least)


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


class AlphaShares(NamedTuple):
    """How the alpha of a certificate with evidence is divided, in advance; the three shares add up to it."""

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
