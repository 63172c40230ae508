"""The law of one attacked site, as evidence sees it: what noise shows there, told apart by what it says of the attack.

A copy of the clean object shows the clean value of a site, or another one: the site *flipped*. Each value has a
likelihood ratio, that of the attacked object to the clean one. With two values a site that flipped has one ratio. With
more, it may have several: it shows the value that the attack put there, or some third one. Values with one ratio are
one *outcome*.

Of r attacked sites, all that counts is how they share themselves among the outcomes: `shares_of`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from starcert.math.channels import Outcome

__all__ = ["Shares", "SiteLaw", "outcome_numbers", "ratio_of", "shares_of"]

Shares: TypeAlias = tuple[int, ...]
"""How many attacked sites show each of the outcomes of a flip. The others did not flip."""


class SiteLaw(NamedTuple):
    """The law of one site of an axis: with which probability it shows another value than the clean one, exactly.

    Attributes:
        clean: in a noisy copy of the clean object.
        attacked: in one of an object that is attacked there.
        parts: the outcomes of a flip, clean and attacked mass of each, where there are several; they add up to these.
        moves: how many values an attack may give a site of the axis.

    Example:
        >>> fifth = Fraction(1, 5)
        >>> law = SiteLaw.of([3 * fifth, fifth, fifth], [fifth, 3 * fifth, fifth], 0, 2)  # one of three values
        >>> law.clean, law.shown, outcome_numbers([3 * fifth, fifth, fifth], [fifth, 3 * fifth, fifth], 0)
        (Fraction(2, 5), (1.0, 3.0), (0, 2, 1))
    """

    clean: Fraction
    attacked: Fraction
    parts: tuple[Outcome, ...] = ()
    moves: int = 1

    @classmethod
    def of(cls, clean: Sequence[Fraction], attacked: Sequence[Fraction], value: int, moves: int = 1) -> SiteLaw:
        """The law of a site, from what it shows.

        Args:
            clean: the probability of each value in a copy of the clean object, exactly.
            attacked: that in a copy of the attacked one.
            value: the clean value.
            moves: how many values an attack may give it.
        """
        parts = _merged(clean, attacked, value)
        masses = 1 - clean[value], 1 - attacked[value]
        return cls(*masses, tuple(parts.values()) if len(parts) > 1 else (), moves)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of a flip: clean and attacked mass of each, in ascending order of their ratio."""
        return self.parts or ((self.clean, self.attacked),)

    @property
    def shown(self) -> tuple[float, ...]:
        """At least the likelihood ratio of each outcome of a flip; 0 for those that the clean object never shows."""
        return tuple(_at_least(attacked / clean) if clean else 0.0 for clean, attacked in self.outcomes)

    @property
    def stayed(self) -> float:
        """At least that of a site that did not flip."""
        return _at_least((1 - self.attacked) / (1 - self.clean)) if self.clean < 1 else 0.0

    @property
    def unseen(self) -> Fraction:
        """The probability that the attacked object shows at such a site what the clean one never does."""
        never = sum((attacked for clean, attacked in self.outcomes if clean == 0), Fraction(0))
        return never + (1 - self.attacked if self.clean == 1 else 0)

    @property
    def free(self) -> bool:
        """Whether an attack on such a site cannot be seen."""
        return all(clean == attacked for clean, attacked in self.outcomes)


def _merged(clean: Sequence[Fraction], attacked: Sequence[Fraction], value: int) -> dict[Fraction | None, Outcome]:
    """The outcomes of a flip by their ratio, ascending; None: the clean object never shows it, a ratio without end."""
    found: dict[Fraction | None, Outcome] = {}
    for shown, masses in enumerate(zip(clean, attacked, strict=True)):
        if shown != value and any(masses):
            ratio = masses[1] / masses[0] if masses[0] else None
            before = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = before[0] + masses[0], before[1] + masses[1]
    return {ratio: found[ratio] for ratio in sorted(found, key=lambda ratio: (ratio is None, ratio or 0))}


def outcome_numbers(clean: Sequence[Fraction], attacked: Sequence[Fraction], value: int) -> tuple[int, ...]:
    """For each value that a site may show the number of its outcome: 0 for the clean one, those of a flip from 1 on.

    What neither object ever shows counts with the outcome of the largest ratio. Arguments are those of `SiteLaw.of`.
    """
    ratios = list(_merged(clean, attacked, value))
    return tuple(
        0
        if shown == value
        else 1 + ratios.index(masses[1] / masses[0] if masses[0] else None)
        if any(masses)
        else max(1, len(ratios))
        for shown, masses in enumerate(zip(clean, attacked, strict=True))
    )


def _at_least(x: Fraction) -> float:
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=2**10)
def shares_of(law: SiteLaw, attacked: int) -> tuple[Shares, ...]:
    """All ways in which so many attacked sites may share themselves among the outcomes of a flip, in ascending order.

    Example:
        >>> shares_of(SiteLaw(Fraction(1, 5), Fraction(4, 5)), 2)
        ((0,), (1,), (2,))
    """
    found: list[Shares] = [()]
    for _ in law.outcomes:
        found = [(*some, more) for some in found for more in range(attacked - sum(some) + 1)]
    return tuple(found)


def ratio_of(law: SiteLaw, attacked: int, shares: Shares, *, times: float = 1.0) -> float:
    """The likelihood ratio of so many attacked sites that share themselves so, times another number.

    Each factor is at least what it is; the product is rounded.
    """
    for shown, number in zip(law.shown, shares, strict=True):
        times *= shown**number
    return times * law.stayed ** (attacked - sum(shares))
