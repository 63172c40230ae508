"""The trade-off between clean and attacked mass: ρ_low, ρ_up and slack, in floating point.

    ρ_low(p) = min Σ q·h   subject to   Σ r·h = p,  0 ≤ h ≤ 1        (the paper's lower program)

where r and q are the clean and attacked masses of the cells. It is filled greedily in ascending ratio:
cells below some log ratio t wholly, the cells at t in part. One cut therefore answers everything:

    ρ_low(p)    = (attacked mass below t) + rest·eᵗ
    1 − ρ_low(p) = (attacked mass above t) + (mass at t − rest)·eᵗ,      ρ_up(1 − p) = 1 − ρ_low(p),

both as sums of positive terms from their own end, so that neither loses digits near 0. The paper prints the
upper program as a minimum; it is a maximum, and that identity is it.

Slack is the same function seen from the other side. The two-class margin certifies p_A iff ρ_low(p_A) > 1/2,
that is, iff 1 − p_A is less than the least clean mass that holds half of the attacked mass:

    slack = ρ_low(1/2)  of the reversed product.

Results have a relative error of at most `RELATIVE_ERROR` plus an absolute one of `Cut.blur`, which matters
only for a cut so unlucky that digits cancel or for masses near the end of the range of a float. Callers who
need more turn to `exact`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from starcert.math.arithmetic import compiled
from starcert.math.cells import Floats, Halves
from starcert.math.channels import Product

__all__ = ["RELATIVE_ERROR", "SMALLEST", "Cut", "Tradeoff"]

RELATIVE_ERROR = 1e-9
"""The stated bound on the relative error of a reliable result."""

SMALLEST = 1e-12
"""Where p or 1 − p is smaller, floats promise nothing."""


class Cut(NamedTuple):
    """Where the greedy filling stops: t, the log ratio of the cell that is filled in part.

    The attacked mass filled is ρ_low, that left 1 − ρ_low; `blur` is the absolute error that comes on top of the
    relative one, in either of them.
    """

    log_ratio: float
    filled: float
    unfilled: float
    blur: float

    def resolves(self, value: float) -> bool:
        """Whether `value`, one of the two masses, has the stated relative error, blur included."""
        return self.blur <= RELATIVE_ERROR / 2 * value


class Tradeoff:
    """ρ_low of one product of channels, for any radius and any probability.

    Example:
        >>> from fractions import Fraction
        >>> from starcert.math.channels import Channel
        >>> law = Product([Channel.of_bit(Fraction(1, 4), Fraction(3, 4))])
        >>> round(Tradeoff(law).cut((1,), 0.875, 0.125).filled, 12)
        0.625
    """

    def __init__(self, product: Product) -> None:
        self.product = product
        self._halves = Halves(product)

    def cut(self, radius: tuple[int, ...], p: float, rest: float) -> Cut:
        """Fills clean mass p in ascending ratio; `rest` is 1 − p, given apart because it may be tiny."""
        first, second = self._halves(self.product.powers(radius))
        return Cut(*_cut(first.values, second.values, second.sums, p, rest))


@compiled
def _masses(first: Floats, second: Floats, sums: Floats, t: float, out: Floats) -> int:
    """Clean mass up to and above t, attacked mass up to and above t; returns how many cells lie up to t.

    One pass: as the log ratio of the first half rises, its partners in the second half recede.
    """
    out[:] = 0.0
    count = 0
    j = second.shape[1]
    for i in range(first.shape[1]):
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
    low, high = 0.0, 0.0
    seen = False
    for x in values[0]:
        if np.isfinite(x):
            if not seen:
                low = x
                seen = True
            high = x
    return low, high


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
    """The cell filled in part carries the rounding errors of the smaller of p and 1 − p, times its ratio.

    Where they could move the cut into the next cell (`room` is what separates it from there), whose ratio may be
    anything, nothing is promised; nor where p or 1 − p is so small that cells with masses like it may be missing.
    """
    small = min(p, rest)
    error = (1e-14 + 1e-16 * (first.shape[1] + second.shape[1])) * small
    if small < SMALLEST or room <= error:
        return 1.0
    return float(1e-290 + _scaled(error, t))
