"""Channels, and the product of channels that an attack of a given radius is.

The noise shows us a value of every attacked site. A *channel* is the law of that value, seen from both sides: each
*outcome* has a mass r when the clean object was smoothed and a mass q when the attacked one was. What counts is the
ratio q/r, so outcomes with one ratio are one outcome. An attacked bit agrees with the attacked graph with probability a
on the clean side and b on the attacked one. R such sites reduce to the number k of agreeing bits,

    k ~ Bin(R, a) on the clean side,   k ~ Bin(R, b) on the attacked side,
    log ratio  L(k) = k·log(b/a) + (R − k)·log((1−b)/(1−a)),

which are Propositions 2 and 3 of the paper for (a, b) = (p, 1−p). With more outcomes the counts of all of them are
multinomial, and the log ratio is Σ kᵢ·log(qᵢ/rᵢ). Everything here is exact: no rounding happens before `cells`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

MAX_RADIUS = 10**9  # the largest radius of an axis: as many sites as a graph of 44,000 nodes has pairs
Outcome: TypeAlias = tuple[Fraction, Fraction]  # the masses of an outcome: on the clean side, and on the attacked one


def merge_outcomes(outcomes: Iterable[Outcome]) -> dict[Fraction | None, Outcome]:
    """Outcomes by their ratio, attacked mass to clean mass, ascending; None: infinite. Those with one ratio are one."""
    found: dict[Fraction | None, Outcome] = {}
    for clean, attacked in outcomes:
        if clean or attacked:
            ratio = attacked / clean if clean else None
            before = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = before[0] + clean, before[1] + attacked
    return {ratio: found[ratio] for ratio in sorted(found, key=lambda ratio: (ratio is None, ratio or 0))}


@dataclass(frozen=True, slots=True, order=True)
class Channel:
    """The law of one attacked site: clean and attacked mass of each outcome, merged by `merge_outcomes`.

    Two channels are equal exactly when their laws are.
    """

    outcomes: tuple[Outcome, ...]

    def __init__(self, outcomes: Iterable[tuple[Fraction | int, Fraction | int]]) -> None:
        given = [(Fraction(clean), Fraction(attacked)) for clean, attacked in outcomes]
        sums = [sum(masses[side] for masses in given) for side in (0, 1)]
        if sums != [1, 1] or any(min(masses) < 0 for masses in given):
            raise ValueError(f"A channel has masses from 0 that sum to 1 on either side. Got {given}.")
        object.__setattr__(self, "outcomes", tuple(merge_outcomes(given).values()))

    @property
    def free(self) -> bool:
        """True if both sides have one law, so that an attack on such a site cannot be seen (p = 1/2)."""
        return len(self.outcomes) == 1

    @property
    def binary(self) -> bool:
        """True if there are two outcomes, so that the cells of many sites are those of a binomial count."""
        return len(self.outcomes) == 2

    @property
    def evenly_spaced(self) -> bool:
        """True if R sites have few different ratios: R + 1 with two outcomes, 2R + 1 with three evenly spaced ones.

        So are three outcomes under a symmetric law on k values: the clean value, the attacked one, or neither.
        """
        if self.binary:
            return True
        if len(self.outcomes) != 3 or len(self.shared) != 3:
            return False
        low, middle, high = (attacked / clean for clean, attacked in self.outcomes)
        return low * high == middle**2

    @property
    def shared(self) -> tuple[Outcome, ...]:
        """The outcomes that both sides show: those with a finite log ratio."""
        return tuple(outcome for outcome in self.outcomes if min(outcome) > 0)

    def reversed(self) -> Channel:
        """The channel seen from the other side: clean and attacked change places, log ratios their sign."""
        return Channel((attacked, clean) for clean, attacked in self.outcomes)

    @property
    def log_ratios(self) -> tuple[float, ...]:
        """log(q/r) of each outcome, to within a few units in the last place; the first and last may be infinite."""
        return tuple(log_quotient(attacked, clean) for clean, attacked in self.outcomes)


def log_quotient(numerator: Fraction, denominator: Fraction) -> float:
    """The logarithm of a quotient, to within a few units in the last place; it may be infinite."""
    if not (numerator and denominator):
        return math.inf if numerator else -math.inf
    quotient = numerator / denominator
    if abs(quotient - 1) < Fraction(1, 2):  # the difference is taken exactly, so nothing cancels
        return math.log1p(float(quotient - 1))
    if Fraction(1, 10**300) < quotient < 10**300:
        return math.log(float(quotient))
    return math.log(numerator) - math.log(denominator)  # the quotient would leave the range of a float


@dataclass(frozen=True)
class Product:
    """A product of channels, one for each axis of a radius.

    A free channel has ratio one everywhere and drops out; axes with equal channels act as one axis with the sum of
    their radii.
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Iterable[Channel]) -> None:
        object.__setattr__(self, "channels", tuple(channels))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.channels)  # of many fractions, for many look-ups

    @cached_property
    def factors(self) -> tuple[Channel, ...]:
        """The distinct channels that are not free, in order of appearance."""
        return tuple(dict.fromkeys(channel for channel in self.channels if not channel.free))

    @cached_property
    def binary(self) -> bool:
        """True if all factors have two outcomes: their cells are few, however large the radius is."""
        return all(channel.binary for channel in self.factors)

    @cached_property
    def reverses(self) -> tuple[int, ...]:
        """For each factor the number of its reverse among the factors, where ratios are evenly spaced; −1: none."""
        numbers = {channel: i for i, channel in enumerate(self.factors)}
        return tuple(numbers.get(each.reversed(), -1) if each.evenly_spaced else -1 for each in self.factors)

    @cached_property
    def rounded(self) -> tuple[tuple[float, float], ...]:
        """Clean and attacked mass of the last outcome of each factor, as floats: with two outcomes, that is all."""
        return tuple(
            (float(clean), float(attacked)) for clean, attacked in (each.outcomes[-1] for each in self.factors)
        )

    @cached_property
    def factor_of_axis(self) -> tuple[int, ...]:
        """For each axis the number of its factor; −1 where its channel is free."""
        return tuple(-1 if c.free else self.factors.index(c) for c in self.channels)

    def powers(self, radius: tuple[int, ...]) -> tuple[int, ...]:
        """The number of attacked sites of each factor under `radius` (one count an axis)."""
        if len(self.factors) == len(radius) == len(self.channels):  # nothing merged, the usual case
            return radius
        counts = [0] * (len(self.factors) + 1)  # the last one collects the free axes
        for factor, count in zip(self.factor_of_axis, radius, strict=True):
            counts[factor] += count
        return tuple(counts[:-1])

    def reversed(self) -> Product:
        """The same attack, seen from the attacked graph."""
        return Product(channel.reversed() for channel in self.channels)
