"""Axes that are alike: what is certified depends on the sum of their counts alone.

Equal channels merge (`Product.powers`), so a noise with many regions under one law has few axes to search: one for each
factor, with the sum of the counts on its axes. A sum is maximal among the certified ones, or minimal beyond them, iff
every way to share it among its axes is. On free axes any count is certified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from starcert.core.channels import Product

__all__ = ["Alike"]


@dataclass(frozen=True)
class Alike:
    """The axes of a product, grouped by factor, in a box.

    Attributes:
        product: the product of channels, one an axis.
        limits: the box, one limit an axis; None: no end.

    Example:
        >>> from fractions import Fraction
        >>> from starcert.core.channels import Channel
        >>> tenth, third, half = Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)
        >>> law = Product(Channel.of_bit(p, 1 - p) for p in (tenth, half, third, tenth))
        >>> axes = Alike(law, (2, 9, 5, 4))
        >>> axes.groups, axes.sums, axes.radius((3, 1))
        (((0, 3), (2,)), (6, 5), (2, 0, 1, 1))
        >>> axes.spread([(3, 1)], most=10, free=True)
        ([(0, 9, 1, 3), (1, 9, 1, 2), (2, 9, 1, 1)], True)
    """

    product: Product
    limits: tuple[int | None, ...]

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The axes of each factor."""
        return tuple(self._axes_of(factor) for factor in range(len(self.product.factors)))

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The axes whose channel is free."""
        return self._axes_of(-1)

    @cached_property
    def endless(self) -> tuple[int, ...]:
        """The free axes without a limit: certified without end."""
        return tuple(axis for axis in self.free if self.limits[axis] is None)

    def endless_axis(self, factor: int) -> int:
        """The first axis of a factor that has no limit."""
        return next(axis for axis in self.groups[factor] if self.limits[axis] is None)

    @cached_property
    def sums(self) -> tuple[int | None, ...]:
        """The box of sums: how many sites each factor can have at most; None: no end."""
        limits = ([self.limits[axis] for axis in group] for group in self.groups)
        return tuple(None if None in each else sum(x for x in each if x is not None) for each in limits)

    @cached_property
    def plain(self) -> bool:
        """Whether no two axes are alike and none is free: sums are radii."""
        return len(self.product.factors) == len(self.limits)

    def radius(self, powers: tuple[int, ...]) -> tuple[int, ...]:
        """One radius with these sums, free axes untouched."""
        if self.plain:
            return powers
        counts = [0] * len(self.limits)
        for group, power in zip(self.groups, powers, strict=True):
            missing = power
            for axis in group:
                limit = self.limits[axis]
                counts[axis] = missing if limit is None else min(missing, limit)
                missing -= counts[axis]
        return tuple(counts)

    def spread(self, sums: Iterable[tuple[int, ...]], *, most: int, free: bool) -> tuple[list[tuple[int, ...]], bool]:
        """The radii with these sums in lexicographic order, and whether they are all; free axes at their end, or at 0.

        Where there are more than `most`, counts are thinned out to every second, every fourth, …: what is left is
        spread evenly, and has radii that attack one axis alone.
        """
        powers = list(sums)
        if self.plain:
            return sorted(powers[:most]), len(powers) <= most
        step, largest = 1, max((max(each, default=0) for each in powers), default=0)
        while True:
            radii = list(islice(chain.from_iterable(self._radii(each, step, free) for each in powers), most + 1))
            if len(radii) <= most or step > largest:
                return sorted(radii[:most]), step == 1 and len(radii) <= most
            step *= 2

    def _radii(self, powers: tuple[int, ...], step: int, free: bool) -> Iterator[tuple[int, ...]]:
        counts = [0] * len(self.limits)
        if free:
            for axis in self.free:
                counts[axis] = self.limits[axis] or 0
        groups = [
            (power, tuple(self.limits[axis] for axis in each)) for power, each in zip(powers, self.groups, strict=True)
        ]
        order = list(chain.from_iterable(self.groups))
        for shares in _share_all(groups, step):
            for axis, count in zip(order, shares, strict=True):
                counts[axis] = count
            yield tuple(counts)

    def _axes_of(self, factor: int) -> tuple[int, ...]:
        return tuple(axis for axis, each in enumerate(self.product.factor_of_axis) if each == factor)


def _share_all(groups: list[tuple[int, tuple[int | None, ...]]], step: int) -> Iterator[tuple[int, ...]]:
    """Every way to share a total within each group of limits, one group after the other."""
    if not groups:
        yield ()
        return
    for share in _share(*groups[0], step):
        for others in _share_all(groups[1:], step):
            yield (*share, *others)


def _share(total: int, limits: tuple[int | None, ...], step: int) -> Iterator[tuple[int, ...]]:
    """The ways to share a total: counts from the least in steps, and the largest; the last axis takes the rest."""
    if len(limits) == 1:
        yield (total,)
        return
    room = None if None in limits[1:] else sum(x for x in limits[1:] if x is not None)
    least = 0 if room is None else max(0, total - room)
    largest = total if limits[0] is None else min(total, limits[0])
    stepped = range(least, largest, step)
    for count in chain(stepped, (largest,)):
        for others in _share(total - count, limits[1:], step):
            yield (count, *others)
