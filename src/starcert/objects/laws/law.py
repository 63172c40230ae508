"""What a law is: the noise of one region, a transition law on the alphabet of its sites.

A law knows its axes, its channels, its transitions, its capacity, and how it is written and read; nothing else does.
The p of the certificate is the p of the sampler: the exact value of the float given, never a rounded neighbour.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from starcert.math.channels import Channel
from starcert.system.errors import InvalidParameterError

__all__ = ["Law", "Move", "probability", "real_number"]

Move: TypeAlias = tuple[int, int]
"""What an attack does to a site: its value in the clean object, and in the attacked one."""

WRITTEN = "Flip, Categorical and Edges are such laws."


class Law(ABC):
    """The noise of one region: what a site shows in a noisy copy, given the value that it has.

    Values are 0 … alphabet − 1. An axis of a law counts attacked sites, those with one of its moves. A law is
    immutable, hashable and picklable, and equal to those that say the same. A new one says what the four abstract
    members ask, and the rest follows from them; it says more where files, command lines and reports shall know it too.

    Example:
        >>> class Forget(Law):  # one of three values is forgotten: it shows as 0
        ...     alphabet, suffixes, moves = 3, (".known", ".unknown"), (((1, 2), (2, 1)), ((1, 0), (2, 0)))
        ...     def transitions(self, value: int) -> tuple[Fraction, ...]:
        ...         stays = [Fraction(3, 4) * (shown == value) for shown in (1, 2)]
        ...         return (1 - sum(stays), *stays)
        >>> Forget().change(2), Forget().capacity((5, 6, 7)), [len(each.outcomes) for each in Forget().channels]
        (0.25, (13, 13), [3, 2])
    """

    __slots__ = ()

    @property
    @abstractmethod
    def alphabet(self) -> int:
        """How many values a site has."""

    @property
    @abstractmethod
    def suffixes(self) -> tuple[str, ...]:
        """What follows the region's name in the names of its axes."""

    @property
    @abstractmethod
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        """The moves that each axis counts. All moves of one axis have one channel."""

    @abstractmethod
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        """With which probability a site of this value shows each value in a noisy copy, exactly."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channel of each axis: the law of one site that is attacked that way."""
        found: list[Channel] = []
        for suffix, moves in zip(self.suffixes, self.moves, strict=True):
            channels = {Channel(zip(*map(self.transitions, move), strict=True)) for move in moves}
            if len(channels) != 1:
                raise InvalidParameterError(
                    type(self).__name__ + suffix,
                    "have one channel for all moves of an axis",
                    f"{len(channels)} channels",
                    "Give moves that the noise treats differently an axis each.",
                )
            found.extend(channels)
        return tuple(found)

    def attacked(self, before: int, after: int) -> tuple[Fraction, ...]:
        """What a site shows once an attack has given it another value: as a rule, what one of that value shows."""
        return self.transitions(after)

    def change(self, value: int) -> float:
        """With which probability a site of this value shows another one."""
        return float(1 - self.transitions(value)[value])

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many sites an attacker finds on each axis, where so many sites have each value."""
        return tuple(sum(counts[value] for value in {before for before, _ in moves}) for moves in self.moves)

    def filled(self, alphabet: int, name: str, layer: str) -> Law:
        """The law on sites that have so many values: itself, or with that number filled in where it was left open.

        Args:
            alphabet: how many values the sites have.
            name: what errors call the law.
            layer: what errors call the sites.
        """
        if self.alphabet != alphabet:
            got = f"{self!r} on {self.alphabet} values"
            raise InvalidParameterError(name, f"be a law on the {alphabet} values of {layer}", got)
        return self

    def acting(self, present: Sequence[int]) -> Law:
        """The law whose transitions are drawn on a layer whose clean values 1, 2, … are so many: as a rule, itself."""
        return self

    @property
    def numbers(self) -> dict[str, float]:
        """The law in named numbers, as files have it."""
        raise InvalidParameterError("noise", "have laws that files know", self, WRITTEN)

    def to_json(self) -> float | dict[str, Any]:
        """The law in plain numbers; `law_from_json` reads it back."""
        return self.numbers

    def to_text(self) -> str:
        """The law as a command line takes it; `law_from_text` reads it back."""
        raise InvalidParameterError("noise", "have laws that can be written", self, WRITTEN)

    def words(self) -> str:
        """The law in words, for a report."""
        return repr(self)

    def argument(self) -> str:
        """The law as it is given to `Noise`."""
        return repr(self)


def real_number(value: object) -> float:
    """A number as a float, NaN for what is no number: nothing compares with that."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def probability(value: object, name: str) -> float:
    """A probability as a float, checked; errors call it `name`."""
    number = real_number(value)
    if not 0 <= number <= 1:
        raise InvalidParameterError(name, "be a probability from 0 to 1", value)
    return number + 0.0  # −0.0 becomes 0.0: one way to write one value
