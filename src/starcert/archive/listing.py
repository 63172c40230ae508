"""Certified or not, by the definition: all cells are listed, in whole numbers, and filled one by one.

The engine finds the cut in floats, merges and halves the axes, and proves its verdict in balls. None of that is used
here. Probabilities that are floats are fractions over a power of two, so the masses of the cells of a radius are whole
numbers over one common denominator, and

    certified   iff   ρ_low(1 − failure) + ρ_low(1 − other) > 1

is decided by adding and comparing whole numbers. That costs as much as there are cells: it serves for small radii, as
most radii of a frontier are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import accumulate
from typing import TypeAlias

from starcert.core.channels import Channel

__all__ = ["Listing", "can_list"]

MOST_BITS = 2**24
"""So many bits at most in the masses of all cells of a radius: some tens of milliseconds."""

Cell: TypeAlias = tuple[int, int]
"""Clean and attacked mass over the common denominator."""


def can_list(channels: Sequence[Channel], radius: Sequence[int]) -> bool:
    """Whether the cells of a radius are few enough to be listed, and those of binomial counts."""
    if not all(channel.free or channel.binary for channel in channels):
        return False
    seen = [(channel, count) for channel, count in zip(channels, radius, strict=True) if not channel.free]
    cells = math.prod(count + 1 for _, count in seen)
    bits = sum(_denominator(channel).bit_length() * count for channel, count in seen)
    return 2 * cells * bits <= MOST_BITS


class Listing:
    """The cells of one radius in ascending ratio of attacked to clean mass.

    Example:
        >>> law = Channel.of_bit(Fraction(1, 4), Fraction(3, 4))
        >>> one = Listing([law], [1])
        >>> one.rho_lower(Fraction(9, 10)), one.certifies(0.1, 0.1), one.certifies(0.2, 0.2)
        (Fraction(7, 10), True, False)
    """

    def __init__(self, channels: Sequence[Channel], radius: Sequence[int]) -> None:
        cells: list[Cell] = [(1, 1)]
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
        low, high = 0, len(self._cells)  # the first `low` cells do not hold p, the first `high` do
        while high - low > 1:
            middle = (low + high) // 2
            if self._clean[middle] * p.denominator < p.numerator * self._whole:
                low = middle
            else:
                high = middle
        missing = p - Fraction(self._clean[low], self._whole)
        clean, attacked = self._cells[low]
        part = missing * Fraction(attacked, clean) if missing else Fraction(0)
        return Fraction(self._attacked[low], self._whole) + part

    def certifies(self, failure: float, other: float) -> bool:
        """Whether a class with at least 1 − failure stays ahead of classes with at most `other` each."""
        own, rival = (self.rho_lower(1 - Fraction(bound)) for bound in (failure, other))
        return own + rival > 1


def _denominator(channel: Channel) -> int:
    return math.lcm(*(p.denominator for p in channel.outcomes[1]))


def _binomial(count: int, top: int, bottom: int) -> list[int]:
    """The masses of Bin(count, top/bottom), times bottom^count."""
    rest = bottom - top
    return [math.comb(count, k) * top**k * rest ** (count - k) for k in range(count + 1)]


def _rough_ratio(cell: Cell) -> float:
    clean, attacked = cell
    if not clean or not attacked:
        return -math.inf if clean else math.inf
    return math.log(attacked) - math.log(clean)


def _by_ratio(left: Cell, right: Cell) -> int:
    ahead, behind = left[1] * right[0], right[1] * left[0]
    return (ahead > behind) - (ahead < behind)
