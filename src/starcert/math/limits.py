"""Upper limits on a probability from counts: Clopper–Pearson, rounded outward and proved; and where to spend alpha.

A limit is proved by a sum of falling terms in whole numbers. Most tries that fail are found by the same sum in pairs of
floats: fifty times quicker than balls, with errors that are counted. A pair (x, y) stands for x + y with |y| ≤ half a
unit in the last place of x. A product or quotient of pairs has a relative error below 2⁻¹⁰⁰, and so has a sum of
positive ones.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, compiled, exact_number

__all__ = ["ERROR", "MAX_TERMS", "PSEUDO_VOTES", "chooses_multi_class", "rough_limits", "tail_in_pairs", "upper_limit"]

MAX_TERMS = 2**30
"""With at most this many terms, the error of the sum is below 2⁻⁶⁷."""

ERROR = 2.0**-60
"""More than all relative errors of such a sum together."""

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
        if count <= MAX_TERMS and 2.0**-60 < p < 1 - 2.0**-52:
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

    >>> rough_limits([0, 30.5, 100], 100, Fraction(1, 100)).round(4)
    array([0.045 , 0.4234, 1.    ])
    """
    from scipy.special import betainccinv  # noqa: PLC0415  (as above)

    count, total = np.broadcast_arrays(np.asarray(counts, dtype=float), np.asarray(totals, dtype=float))
    inside = count < total
    limits = betainccinv(count + 1, np.where(inside, total - count, 1.0), float(share))
    return np.where(inside, limits, 1.0)


def tail_in_pairs(count: int, total: int, p: Fraction) -> arb:
    """P(Bin(total, p) ≤ count) / P(Bin(total, p) = count) with a relative error below `ERROR`.

    For count / total < p, for p that is not within 2⁻⁶⁰ of 0 or 1, and for at most `MAX_TERMS` counts. From the
    largest term downwards, each term is the last one times j(1−p) / ((total−j+1)·p): after m terms everything has a
    relative error below (4m + 10)·2⁻¹⁰⁰.
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
    """A sum of positive pairs, the first no smaller than the second or not: Knuth's exact sum of the leading floats."""
    s = x + u
    b = s - x
    return _normal(s, ((x - (s - b)) + (u - b)) + (y + v))


PSEUDO_VOTES = 0.5
"""Added to the votes of each other class: few votes against the class say little about how later ones will fall."""


def chooses_multi_class(
    selection: npt.NDArray[np.int64], totals: npt.NDArray[np.int64], whole: Fraction
) -> npt.NDArray[np.bool_]:
    """For which graphs alpha is spent on the multi-class margin, for which (False) on the two-class margin.

    The two-class margin needs one bound, that on p_A, and can spend the whole of alpha on it. The multi-class margin
    needs a bound on every class, each with a share of alpha / K. Neither is better for all graphs: with votes that all
    agree the first one is, with many classes of which none has a majority the second.

    Any choice is sound that does not look at the estimation votes: given the selection votes it is fixed, and the
    bounds that were chosen hold together with probability at least 1 − alpha. (`docs/mathematics.md` has the proof.)
    This one predicts the estimation votes from the selection votes, computes the bounds of both margins from the
    prediction, and compares how far they would reach. Archives rest on it: another rule must have another name there.

    How far a margin reaches is compared as if the log ratio were normal. There ρ_low(p) = Φ(Φ⁻¹(p) − d) at a distance
    d, so that the two-class margin reaches d = Φ⁻¹(p_A), and the multi-class margin d = (Φ⁻¹(p_A) + Φ⁻¹(1 − p_B)) / 2.

    `selection` holds the selection votes, shape (graphs, classes), with three classes or more; `totals` the number of
    estimation votes of each graph; `whole` is the alpha of one graph.

    >>> votes = np.array([[100, 0, 0], [60, 20, 20], [90, 10, 0]])
    >>> chooses_multi_class(votes, np.array([1000, 1000, 1000]), Fraction(1, 100))
    array([False,  True, False])
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
