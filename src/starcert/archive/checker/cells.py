"""Frontiers proved by listing all cells, where they are few enough.

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
from functools import cmp_to_key
from itertools import accumulate
from math import comb, prod
from typing import TypeAlias

from starcert.archive.untrusted import DisagreementError
from starcert.math.channels import Channel
from starcert.math.frontier import Radius
from starcert.objects.noise import Noise
from starcert.system.output import progress_bar

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
