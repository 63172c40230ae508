"""The arithmetic of second proofs: limits on probabilities, and cells in whole numbers.

**Limits.**
The engine sums the binomial tail P(Bin(n, u) ≤ k) behind a Clopper–Pearson limit in whole numbers. Here it is summed in
pairs of floats with a bound on their rounding errors, fifty times quicker than balls, and, where that leaves a verdict
open, is the regularised incomplete beta function I_{1−u}(n − k, k + 1), which flint encloses in a ball. Bounds that
hold at any time rest on a capital, here a hypergeometric series.

A pair (x, y) stands for x + y with |y| ≤ half a unit in the last place of x. A product or quotient of pairs has a
relative error below 2⁻¹⁰⁰, and so has a sum of positive ones.

**Cells.**
The engine finds the cut in floats, merges and halves the axes, and proves its verdict in balls. Here all cells are
listed, and filled one by one, by the definition. Probabilities that are floats are fractions over a power of two, so
the masses of the cells of a radius are whole numbers over one common denominator, and "certified iff
ρ_low(1 − failure) + ρ_low(1 − other) > 1" is decided by adding and comparing whole numbers. That costs as much as there
are cells: it serves for small radii, as most radii of a frontier are.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import accumulate
from math import comb, prod
from typing import TypeAlias

from flint import arb, ctx

from starcert.archive.untrusted import DisagreementError
from starcert.math.arithmetic import LOCK, compiled, exact_number
from starcert.math.channels import Channel
from starcert.math.frontier import Radius
from starcert.objects.noise import Noise
from starcert.system.output import progress_bar

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


MAX_BITS = 2**24  # the most bits in the masses of all cells of a radius: some tens of milliseconds
ListedCell: TypeAlias = tuple[int, int]  # clean and attacked mass over the common denominator

CountBounds: TypeAlias = tuple[float, float, float]
"""Upper bounds on 1 − p_A and on any other class, and the limit of the contest: see `CellListing.certifies`."""

CountVerdicts: TypeAlias = dict[tuple[Radius, bool], set[CountBounds]]
"""By radius, and by whether counts certify it, the bounds of the graphs concerned."""

MAX_BITS_IN_ALL = 2**29  # the most bits in the masses of all cells that are listed for a file: seconds


def can_list(channels: Sequence[Channel], radius: Sequence[int]) -> bool:
    """True if a radius, and its binomial counts, have few enough cells to be listed."""
    return listing_bits(channels)(radius) <= MAX_BITS


def listing_bits(channels: Sequence[Channel]) -> Callable[[Sequence[int]], float]:
    """The number of bits in the masses of all cells of a radius; infinite without binomial counts."""
    if not all(channel.free or channel.binary for channel in channels):
        return lambda _: math.inf
    seen = [(i, _denominator(each).bit_length()) for i, each in enumerate(channels) if not each.free]
    return lambda radius: 2 * prod(radius[i] + 1 for i, _ in seen) * sum(bits * radius[i] for i, bits in seen)


class CellListing:
    """The cells of one radius in ascending ratio of attacked to clean mass."""

    def __init__(self, channels: Sequence[Channel], radius: Sequence[int]) -> None:
        cells: list[ListedCell] = [(1, 1)]
        self._whole = 1
        for channel, count in zip(channels, radius, strict=True):
            if channel.free or count == 0:  # nothing can be seen there
                continue
            denominator = _denominator(channel)
            sides = [_binomial(count, int(p * denominator), denominator) for p in channel.outcomes[1]]
            cells = [(r * x, q * y) for r, q in cells for x, y in zip(*sides, strict=True)]
            self._whole *= denominator**count
        cells = [cell for cell in cells if cell != (0, 0)]
        # Floats put them nearly in order; the comparisons that count are of whole numbers.
        cells.sort(key=_rough_ratio)
        cells.sort(key=cmp_to_key(_by_ratio))
        self._cells = cells
        self._clean = list(accumulate((r for r, _ in cells), initial=0))
        self._attacked = list(accumulate((q for _, q in cells), initial=0))

    def rho_lower(self, p: Fraction) -> Fraction:
        """ρ_low(p): the least attacked mass of a test that holds clean mass p."""
        # The first `low` cells do not hold p, one more does.
        low = max(0, bisect_left(self._clean, p.numerator * self._whole, key=lambda mass: mass * p.denominator) - 1)
        missing = p - Fraction(self._clean[low], self._whole)
        clean, attacked = self._cells[low]
        part = missing * Fraction(attacked, clean) if missing else Fraction(0)
        return Fraction(self._attacked[low], self._whole) + part

    def certifies(self, failure: float, other: float, limit: float = 0.5) -> bool:
        """True if a class with at least 1 − failure stays ahead of classes with at most `other` each.

        With another limit than 1/2, that of a fallback, both bounds are one: what it bounds stays below the limit.
        """
        own, rival = (self.rho_lower(1 - Fraction(bound)) for bound in (failure, other))
        return own > 1 - Fraction(limit) if failure == other else own + rival > 1


def _denominator(channel: Channel) -> int:
    return math.lcm(*(p.denominator for p in channel.outcomes[1]))


def _binomial(count: int, top: int, bottom: int) -> list[int]:
    """The masses of Bin(count, top/bottom), times bottom^count."""
    return [comb(count, k) * top**k * (bottom - top) ** (count - k) for k in range(count + 1)]


def _rough_ratio(cell: ListedCell) -> float:
    clean, attacked = cell
    if not clean or not attacked:
        return -math.inf if clean else math.inf
    return math.log(attacked) - math.log(clean)


def _by_ratio(left: ListedCell, right: ListedCell) -> int:
    ahead, behind = left[1] * right[0], right[1] * left[0]
    return (ahead > behind) - (ahead < behind)


def list_cells(noise: Noise, verdicts: CountVerdicts, progress: bool | None) -> tuple[int, int]:
    """Proves verdicts by listing cells; of how many radii, and of how many not, as they have too many in all.

    Those with the fewest cells come first, until the work is done that `MAX_BITS_IN_ALL` allows.
    """
    channels = noise.product.channels
    bits = listing_bits(channels)
    radii = {radius: bits(radius) for radius, _ in verdicts}
    few = sorted((each for each in radii if radii[each] <= MAX_BITS), key=lambda each: (radii[each], each))
    listed = few[: bisect_right(list(accumulate(map(radii.__getitem__, few))), MAX_BITS_IN_ALL)]
    with progress_bar("radii", len(listed), shown=progress) as advance:
        for radius in listed:
            cells = CellListing(channels, radius)
            for certified, boldest in ((True, max), (False, min)):
                bounds = verdicts.get((radius, certified), set())
                # More failure is harder to withstand: of two-class verdicts on a radius, the boldest is enough.
                for limit in {limit for failure, other, limit in bounds if failure == other}:
                    alike = {each for each in bounds if each[0] == each[1] and each[2] == limit}
                    bounds = bounds - alike | {boldest(alike)}
                if any(cells.certifies(*each) is not certified for each in bounds):
                    raise DisagreementError(f"at radius {radius}")
            advance(1)
    return len(listed), len(radii) - len(listed)
