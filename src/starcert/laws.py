"""Laws: the noise of one region, a transition law on the alphabet of its sites.

A law knows its axes, its channels, its transitions, its capacity, and how it is written and read; nothing else does.
The p of the certificate is the p of the sampler: the exact value of the float given, never a rounded neighbour.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from starcert.core.channels import Channel
from starcert.errors import InvalidParameterError

__all__ = ["Flip", "Law", "law_from_json", "real_number"]


@runtime_checkable
class Law(Protocol):
    """The noise of one region: what a site shows in a noisy copy, given the value that it has.

    Values are 0 … alphabet − 1. A law is immutable, hashable and picklable, and equal to those that say the same.
    """

    @property
    def alphabet(self) -> int:
        """How many values a site has."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What follows the region's name in the names of its axes: one for each way in which a site is attacked."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channel of each axis: the law of one site that is attacked that way."""

    def transitions(self, value: int) -> tuple[Fraction, ...]:
        """With which probability a site of this value shows each value in a noisy copy, exactly."""

    def change(self, value: int) -> float:
        """With which probability a site of this value shows another one."""

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many sites an attacker finds on each axis, where so many sites have each value."""

    def to_json(self) -> float | dict[str, float]:
        """The law in plain numbers; `law_from_json` reads it back."""


class Flip:
    """The noise of one region.

    `Flip(p)`: every site flips with probability p. `Flip(delete=d, add=s)`: a 1 flips with d, a 0 with s.
    The first has one axis, the second two: an attacker's deletions and additions are counted apart.

    Example:
        >>> Flip(0.1), Flip(delete=0.04, add=0.2)
        (Flip(0.1), Flip(delete=0.04, add=0.2))
    """

    __slots__ = ("add", "delete", "symmetric")

    def __init__(self, p: float | None = None, *, delete: float | None = None, add: float | None = None) -> None:
        if (p is None) == (delete is None and add is None) or (delete is None) != (add is None):
            raise InvalidParameterError(
                "Flip",
                "be given either one probability p or both delete and add",
                {"p": p, "delete": delete, "add": add},
                "Write Flip(0.1) or Flip(delete=0.04, add=0.2).",
            )
        self.symmetric: bool
        self.delete: float
        self.add: float
        object.__setattr__(self, "symmetric", p is not None)
        object.__setattr__(self, "delete", _probability(p, "p") if p is not None else _probability(delete, "delete"))
        object.__setattr__(self, "add", self.delete if p is not None else _probability(add, "add"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Flip does not change: make a new one instead of setting {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return _flip, (self.symmetric, self.delete, self.add)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What follows the region's name in the names of its axes."""
        return ("",) if self.symmetric else (".delete", ".add")

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channel of each axis.

        The noisy bit agrees with the attacked graph with probability a if the clean graph was smoothed, b if the
        attacked one was: a deleted site (1 → 0) has (a, b) = (d, 1−s), an added one (0 → 1) has (s, 1−d).
        """
        delete, add = Fraction(self.delete), Fraction(self.add)
        both = Channel.of_bit(delete, 1 - add), Channel.of_bit(add, 1 - delete)
        return both[:1] if self.symmetric else both

    @property
    def alphabet(self) -> int:
        """See `Law`: absent and present."""
        return 2

    def transitions(self, value: int) -> tuple[Fraction, ...]:
        """See `Law`."""
        flips = Fraction(self.change(value))
        return (flips, 1 - flips) if value else (1 - flips, flips)

    def change(self, value: int) -> float:
        """See `Law`."""
        return self.delete if value else self.add

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """See `Law`."""
        zeros, ones = counts
        return (zeros + ones,) if self.symmetric else (ones, zeros)

    def to_json(self) -> float | dict[str, float]:
        """See `Law`: p, or delete and add."""
        return self.add if self.symmetric else {"delete": self.delete, "add": self.add}

    def _key(self) -> tuple[bool, float, float]:
        return self.symmetric, self.delete, self.add

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flip) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Flip({self.delete!r})" if self.symmetric else f"Flip(delete={self.delete!r}, add={self.add!r})"


def _flip(symmetric: bool, delete: float, add: float) -> Flip:
    return Flip(delete) if symmetric else Flip(delete=delete, add=add)


def law_from_json(law: object) -> Flip:
    """The law that `to_json` wrote down.

    Example:
        >>> law_from_json(0.1), law_from_json({"delete": 0.04, "add": 0.2})
        (Flip(0.1), Flip(delete=0.04, add=0.2))
    """
    return Flip(**law) if isinstance(law, Mapping) else Flip(law)  # type: ignore[arg-type]  # checked there


def real_number(value: object) -> float:
    """A number as a float, NaN for what is no number: nothing compares with that."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _probability(value: object, name: str) -> float:
    number = real_number(value)
    if not 0 <= number <= 1:
        raise InvalidParameterError(name, "be a probability from 0 to 1", value)
    return number
