"""When is a radius certified? ρ_low, ρ_up and slack in floating point, and the two margins: quickly, and proved.

    ρ_low(p) = min Σ q·h   subject to   Σ r·h = p,  0 ≤ h ≤ 1        (the paper's lower program)

where r and q are the clean and attacked masses of the cells. It is filled greedily in ascending ratio:
cells below some log ratio t wholly, the cells at t in part. One cut therefore answers everything:

    ρ_low(p)    = (attacked mass below t) + rest·eᵗ
    1 − ρ_low(p) = (attacked mass above t) + (mass at t − rest)·eᵗ,      ρ_up(1 − p) = 1 − ρ_low(p),

both as sums of positive terms from their own end, so that neither loses digits near 0. (The paper prints the upper
program as a minimum; it is a maximum, and that identity is it.) With p_A a lower bound on the class's own probability
and p_B an upper bound on that of *every* other class, a radius R is certified in the

    two-class margin     iff   ρ_low(p_A) > 1/2,            which is   1 − p_A < slack(R),
    multi-class margin   iff   ρ_low(p_A) > ρ_up(p_B),      which is   ρ_low(p_A) + ρ_low(1 − p_B) > 1.

The second contains the first, as p_B ≤ 1 − p_A. Slack depends on the noise alone: it is the least clean mass that holds
half of the attacked mass, ρ_low(1/2) of the reversed product. Once it is enclosed so tightly that no float lies inside,
"is the failure probability f below slack(R)?" is a comparison of floats, and proved: f ≤ the largest float below it.

With a fallback, another limit u takes the place of the half: ρ_up(f) < u iff f < ρ_low(u) of the reversed product.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from starcert.math.arithmetic import Floats, compiled, float_at_least, float_below
from starcert.math.cells import Halves
from starcert.math.channels import Product
from starcert.math.exact import Prover

RELATIVE_ERROR = 1e-9  # the stated bound on the relative error of a reliable result
SMALLEST = 1e-12  # where p or 1 − p is smaller, floats promise nothing


class Cut(NamedTuple):
    """The place at which the greedy filling stops: t, the log ratio of the cell that is filled in part.

    The attacked mass filled is ρ_low, that left 1 − ρ_low, each with a relative error of at most `RELATIVE_ERROR` and
    an absolute one of `blur`: it matters where digits cancel, and for masses near the end of the range of a float.
    """

    log_ratio: float
    filled: float
    unfilled: float
    blur: float

    def resolves(self, value: float) -> bool:
        """True if `value`, one of the two masses, has the stated relative error, blur included."""
        return self.blur <= RELATIVE_ERROR / 2 * value


class Tradeoff:
    """ρ_low and ρ_up of one product of channels; by a proof where floats don't resolve them. rest = 1 − p."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.prover = Prover(product)
        self._halves = Halves(product)

    def cut(self, radius: tuple[int, ...], p: float, rest: float) -> Cut:
        """Fills clean mass p in ascending ratio; rest = 1 − p."""
        first, second = self._halves(self.product.powers(radius))
        return Cut(*_cut(first.values, second.values, second.sums, p, rest))

    def lower(self, radius: tuple[int, ...], p: float, rest: float) -> float:
        """ρ_low(p), with rest = 1 − p."""
        cut = self.cut(radius, p, rest)
        if cut.resolves(cut.filled):
            return cut.filled
        return self.prover.value(radius, _exact(p, rest), cut.log_ratio)

    def upper(self, radius: tuple[int, ...], p: float, rest: float) -> float:
        """ρ_up(p) = 1 − ρ_low(1 − p), with rest = 1 − p."""
        cut = self.cut(radius, rest, p)
        if cut.resolves(cut.unfilled):
            return cut.unfilled
        return self.prover.value(radius, _exact(rest, p), cut.log_ratio, complement=True)


def _exact(p: float, rest: float) -> Fraction:
    """The exact p, read from whichever of p and 1 − p is the exact one: the smaller."""
    return Fraction(p) if p <= rest else 1 - Fraction(rest)


class Bracket(NamedTuple):
    """Two floats with below < slack ≤ at_least, proved; neighbours unless the precision ran out."""

    below: float
    at_least: float

    def certifies(self, failure: float) -> bool | None:
        """True if failure < slack; None if that is open, which must be read as no."""
        if failure <= self.below:
            return True
        return False if failure >= self.at_least else None


class Slacks:
    """The slack of every radius of one product of channels: on demand, proved on demand, remembered.

    `limit` is what the attacked mass must stay below; it and 1 − limit are floats (see `fallback`).
    """

    def __init__(self, product: Product, limit: float = 0.5) -> None:
        self.product, self.limit = product, limit
        self._tradeoff = Tradeoff(product.reversed())
        self._cuts: dict[tuple[int, ...], Cut] = {}
        self._brackets: dict[tuple[int, ...], Bracket] = {}

    def value(self, radius: tuple[int, ...]) -> float:
        """Slack, with a relative error of at most `RELATIVE_ERROR`."""
        cut = self.cut(radius)
        if cut.resolves(cut.filled):
            return cut.filled
        return self._tradeoff.prover.value(radius, Fraction(self.limit), cut.log_ratio)

    def bracket(self, radius: tuple[int, ...]) -> Bracket:
        """The proved bracket of slack, computed once."""
        powers = self._tradeoff.product.powers(radius)
        bracket = self._brackets.get(powers)
        if bracket is None:
            for enclosure in self._tradeoff.prover.enclosures(radius, Fraction(self.limit), self.cut(radius).log_ratio):
                bracket = Bracket(float_below(enclosure.lower), float_at_least(enclosure.upper))
                if float_below(enclosure.upper) == bracket.below:  # no float inside
                    break
            if bracket is None:
                raise ArithmeticError(f"no enclosure of slack at radius {radius}")
            self._brackets[powers] = bracket
        return bracket

    def cut(self, radius: tuple[int, ...]) -> Cut:
        """The cut of half of the attacked mass, or of `limit`, computed once."""
        powers = self._tradeoff.product.powers(radius)  # radii that attack every factor alike share one cut
        cut = self._cuts.get(powers)
        if cut is None:
            cut = self._cuts[powers] = self._tradeoff.cut(radius, self.limit, 1 - self.limit)
        return cut


@dataclass(frozen=True, slots=True)
class TwoClass:
    """The margin through slack: certified iff failure < slack(R), failure an upper bound on 1 − p_A.

    Where a blind answer is to stand, it is an upper bound on the probability of every single other class.
    """

    slacks: Slacks
    failure: float

    @property
    def product(self) -> Product:
        """The product of channels that a radius is about."""
        return self.slacks.product

    def needs_proof(self, radius: tuple[int, ...]) -> bool:
        """True if floats do not suffice to suggest an answer."""
        cut = self.slacks.cut(radius)
        return abs(cut.filled - self.failure) <= 2 * (RELATIVE_ERROR * cut.filled + cut.blur)

    def suggests(self, radius: tuple[int, ...]) -> bool:
        """True if the radius is certified: by floats where their error bound allows, by proof otherwise."""
        if self.needs_proof(radius):
            return self.proves(radius) is True
        return self.failure < self.slacks.cut(radius).filled

    def proves(self, radius: tuple[int, ...]) -> bool | None:
        """True if the radius is certified, proved; None if that is open, which must be read as no."""
        return self.slacks.bracket(radius).certifies(self.failure)


@dataclass(frozen=True, slots=True)
class MultiClass:
    """The margin with every other class bounded by `other` ≤ failure."""

    tradeoff: Tradeoff
    failure: float
    other: float

    @property
    def product(self) -> Product:
        """The product of channels that a radius is about."""
        return self.tradeoff.product

    def needs_proof(self, radius: tuple[int, ...]) -> bool:
        """True if floats do not suffice to suggest an answer, so that it takes a proof."""
        return min(self.failure, self.other) < SMALLEST

    def suggests(self, radius: tuple[int, ...]) -> bool:
        """True if the radius is certified: by floats where their error bound allows, by proof otherwise."""
        own, rival = self._cuts(radius)
        margin = own.filled - rival.unfilled
        error = 2 * (RELATIVE_ERROR * (own.filled + rival.unfilled) + own.blur + rival.blur)
        if abs(margin) > error:
            return margin > 0
        return self.proves(radius) is True

    def proves(self, radius: tuple[int, ...]) -> bool | None:
        """True if the radius is certified, proved; None if that is open, which must be read as no."""
        own, rival = self._cuts(radius)
        enclosures = (
            self.tradeoff.prover.enclosures(radius, 1 - Fraction(failure), cut.log_ratio)
            for failure, cut in ((self.failure, own), (self.other, rival))
        )
        for mine, theirs in zip(*enclosures, strict=False):
            rivals = theirs.complement()
            if mine.lower > rivals.upper:
                return True
            if mine.upper <= rivals.lower:
                return False
        return None

    def _cuts(self, radius: tuple[int, ...]) -> tuple[Cut, Cut]:
        cut = self.tradeoff.cut
        return cut(radius, 1 - self.failure, self.failure), cut(radius, 1 - self.other, self.other)


Margin: TypeAlias = TwoClass | MultiClass  # what decides about radii for one graph


@compiled
def _masses(first: Floats, second: Floats, sums: Floats, t: float, out: Floats) -> int:
    """Clean mass up to and above t, attacked mass up to and above t; returns how many cells lie up to t."""
    out[:] = 0.0
    count = 0
    j = second.shape[1]
    for i in range(first.shape[1]):  # as the log ratio of the first half rises, its partners in the second recede
        bound = t - first[0, i]
        while j > 0 and second[0, j - 1] > bound:
            j -= 1
        count += j
        out[0] += first[1, i] * sums[0, j]
        out[1] += first[1, i] * sums[1, j]
        out[2] += first[2, i] * sums[2, j]
        out[3] += first[2, i] * sums[3, j]
    return count


@compiled
def _finite_range(values: Floats) -> tuple[float, float]:
    finite = values[0][np.isfinite(values[0])]
    return (finite[0], finite[-1]) if finite.size else (0.0, 0.0)


@compiled
def _cut(first: Floats, second: Floats, sums: Floats, p: float, rest: float) -> tuple[float, float, float, float]:
    from_below = p <= rest  # count from the end that is closer: small numbers keep their digits
    low1, high1 = _finite_range(first)
    low2, high2 = _finite_range(second)
    scale = 1.0 + max(abs(low1), abs(high1)) + max(abs(low2), abs(high2))
    low, high = low1 + low2 - 1e-9 * scale, high1 + high2 + 1e-9 * scale
    at_low, at_high, at_mid = np.empty(4), np.empty(4), np.empty(4)
    n_low = _masses(first, second, sums, low, at_low)
    n_high = _masses(first, second, sums, high, at_high)
    if (from_below and at_low[0] >= p) or (not from_below and at_low[1] <= rest):
        room = at_low[0] - p if from_below else rest - at_low[1]
        return -np.inf, 0.0, 1.0, _blur(first, second, p, rest, -np.inf, room)  # the attacked side never shows these

    # Narrow the cut down to few cells: what lies up to `low` does not reach p, what lies up to `high` does.
    few = 16 + (first.shape[1] + second.shape[1]) // 2
    while n_high - n_low > few and high - low > 1e-15 * scale:
        mid = 0.5 * (low + high)
        n_mid = _masses(first, second, sums, mid, at_mid)
        if (from_below and at_mid[0] >= p) or (not from_below and at_mid[1] <= rest):
            high, n_high = mid, n_mid
            at_high[:] = at_mid
        else:
            low, n_low = mid, n_mid
            at_low[:] = at_mid

    if n_high - n_low > few:  # one ratio, to the last digit
        part = p - at_low[0] if from_below else at_low[1] - rest
        left = at_high[0] - p if from_below else rest - at_high[1]
        t, filled, unfilled = high, at_low[2], at_high[3]
    else:
        cells = _between(first, second, low, high, n_high - n_low)
        start = at_low[0] if from_below else at_high[1]
        tie, part, left = _walk(cells, start, p if from_below else rest, from_below)
        t = cells[0, tie]
        filled = at_low[2] + cells[2, :tie].sum()
        unfilled = at_high[3] + cells[2, tie + 1 :].sum()
    blur = _blur(first, second, p, rest, t, min(part, left))
    return t, filled + _scaled(part, t), unfilled + _scaled(left, t), blur


@compiled
def _between(first: Floats, second: Floats, low: float, high: float, count: int) -> Floats:
    """The cells with low < log ratio ≤ high, in ascending order."""
    cells = np.empty((3, count))
    k = 0
    j_low = j_high = second.shape[1]
    for i in range(first.shape[1]):
        while j_low > 0 and second[0, j_low - 1] > low - first[0, i]:
            j_low -= 1
        while j_high > 0 and second[0, j_high - 1] > high - first[0, i]:
            j_high -= 1
        for j in range(j_low, j_high):
            cells[0, k] = first[0, i] + second[0, j]
            cells[1, k] = first[1, i] * second[1, j]
            cells[2, k] = first[2, i] * second[2, j]
            k += 1
    return cells[:, np.argsort(cells[0])]


@compiled
def _walk(cells: Floats, total: float, goal: float, upwards: bool) -> tuple[int, float, float]:
    """Adds clean masses to `total` until `goal` is reached: the cell, its part below the cut, its part above."""
    n = cells.shape[1]
    tie = 0
    reached = missing = 0.0
    for step in range(n):
        tie = step if upwards else n - 1 - step
        missing = goal - total
        reached = total + cells[1, tie] - goal
        if reached >= 0:
            break
        total += cells[1, tie]
    return (tie, missing, reached) if upwards else (tie, reached, missing)


@compiled
def _scaled(mass: float, t: float) -> float:
    return float(np.exp(np.log(mass) + t)) if mass > 0 else 0.0


@compiled
def _blur(first: Floats, second: Floats, p: float, rest: float, t: float, room: float) -> float:
    """The absolute error: the cell filled in part carries those of the smaller of p and 1 − p, times its ratio.

    Nothing is promised where they could move the cut into the next cell (`room` is what separates it from there), nor
    where p or 1 − p is so small that cells with masses like it may be missing.
    """
    small = min(p, rest)
    error = (1e-14 + 1e-16 * (first.shape[1] + second.shape[1])) * small
    if small < SMALLEST or room <= error:
        return 1.0
    return float(1e-290 + _scaled(error, t))
