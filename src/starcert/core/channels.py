"""Channels, and the product of channels that an attack of a given radius is.

An attacked site is one bit that the noise shows us. A *channel* (a, b) is the law of whether that bit
agrees with the attacked graph: with probability a when the clean graph was smoothed, with probability b
when the attacked one was. R sites with one channel reduce to the number k of agreeing bits,

    k ~ Bin(R, a) on the clean side,   k ~ Bin(R, b) on the attacked side,
    log ratio  L(k) = k·log(b/a) + (R − k)·log((1−b)/(1−a)),

which are Propositions 2 and 3 of the paper for (a, b) = (p, 1−p). A radius is a product of channels.
Everything here is exact: probabilities are fractions, and no rounding happens before `cells`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

__all__ = ["MAX_RADIUS", "Channel", "Product"]

MAX_RADIUS = 10**9
"""The largest radius of an axis that the engine takes: as many sites as a graph of 44,000 nodes has pairs."""


@dataclass(frozen=True, slots=True, order=True)
class Channel:
    """The law of one attacked site: agreement has probability `clean` on one side, `attacked` on the other.

    Renaming agreement to disagreement turns (a, b) into (1−a, 1−b) and changes nothing else, so a channel
    is kept in the form with a ≤ b. Two channels are equal exactly when their laws are.

    Example:
        >>> Channel(Fraction(1, 50), Fraction(49, 50)) == Channel(Fraction(49, 50), Fraction(1, 50))
        True
    """

    clean: Fraction
    attacked: Fraction

    def __post_init__(self) -> None:
        if not (0 <= self.clean <= 1 and 0 <= self.attacked <= 1):
            raise ValueError(f"A channel is made of two probabilities. Got {self.clean} and {self.attacked}.")
        if self.attacked < self.clean:
            mirrored = 1 - self.clean, 1 - self.attacked
            object.__setattr__(self, "clean", mirrored[0])
            object.__setattr__(self, "attacked", mirrored[1])

    @property
    def free(self) -> bool:
        """Whether both sides have one law, so that an attack on such a site cannot be seen (p = 1/2)."""
        return self.clean == self.attacked

    def reversed(self) -> Channel:
        """The channel seen from the other side: clean and attacked change places, log ratios their sign.

        `Flip(p)` is its own reverse; adding and deleting under one flip law are each other's.
        """
        return Channel(self.attacked, self.clean)

    @property
    def log_ratios(self) -> tuple[float, float]:
        """log((1−b)/(1−a)) and log(b/a), to within a few units in the last place; they may be infinite."""
        return _log_quotient(1 - self.attacked, 1 - self.clean), _log_quotient(self.attacked, self.clean)


def _log_quotient(numerator: Fraction, denominator: Fraction) -> float:
    if numerator == 0:
        return -math.inf
    if denominator == 0:
        return math.inf
    quotient = numerator / denominator
    if abs(quotient - 1) < Fraction(1, 2):  # the difference is taken exactly, so nothing cancels
        return math.log1p(float(quotient - 1))
    if Fraction(1, 10**300) < quotient < 10**300:
        return math.log(float(quotient))
    return math.log(numerator) - math.log(denominator)  # the quotient would leave the range of a float


@dataclass(frozen=True)
class Product:
    """A product of channels, one for each axis of a radius, with equal channels merged.

    Attributes:
        channels: one channel an axis.
        factors: the distinct channels that can be seen at all. A free channel has ratio one everywhere
            and drops out; axes with equal channels act as one axis with the sum of their radii.

    Example:
        >>> tenth, half = Fraction(1, 10), Fraction(1, 2)
        >>> law = Product((Channel(tenth, 1 - tenth), Channel(half, half), Channel(1 - tenth, tenth)))
        >>> law.powers((3, 100, 4))
        (7,)
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Iterable[Channel]) -> None:
        object.__setattr__(self, "channels", tuple(channels))

    @cached_property
    def factors(self) -> tuple[Channel, ...]:
        """The distinct channels that are not free, in order of appearance."""
        return tuple(dict.fromkeys(channel for channel in self.channels if not channel.free))

    @cached_property
    def reverses(self) -> tuple[int, ...]:
        """For each factor the number of the factor that is its reverse, its own if it is its own reverse; −1: none."""
        numbers = {channel: i for i, channel in enumerate(self.factors)}
        return tuple(numbers.get(channel.reversed(), -1) for channel in self.factors)

    @cached_property
    def rounded(self) -> tuple[tuple[float, float], ...]:
        """The clean and attacked probability of each factor, as floats."""
        return tuple((float(channel.clean), float(channel.attacked)) for channel in self.factors)

    @cached_property
    def factor_of_axis(self) -> tuple[int, ...]:
        """For each axis the number of its factor; −1 where its channel is free."""
        return tuple(-1 if c.free else self.factors.index(c) for c in self.channels)

    def powers(self, radius: tuple[int, ...]) -> tuple[int, ...]:
        """How many attacked sites each factor has under `radius` (one count an axis)."""
        if len(self.factors) == len(radius) == len(self.channels):  # nothing merged, the usual case
            return radius
        counts = [0] * (len(self.factors) + 1)  # the last one collects the free axes
        for factor, count in zip(self.factor_of_axis, radius, strict=True):
            counts[factor] += count
        return tuple(counts[:-1])

    def reversed(self) -> Product:
        """The same attack, seen from the attacked graph."""
        return Product(channel.reversed() for channel in self.channels)
