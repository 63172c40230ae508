"""Laws: the noise of one region, a transition law on the alphabet of its sites.

A law knows its axes, its channels, its transitions, its capacity, and how it is written and read; nothing else does.
The p of the certificate is the p of the sampler: the exact value of the float given, never a rounded neighbour.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TypeAlias

from starcert.core.channels import Channel
from starcert.errors import InvalidParameterError

__all__ = [
    "Categorical",
    "Flip",
    "Law",
    "Move",
    "as_flip",
    "flip_from",
    "flip_numbers",
    "law_from_json",
    "law_from_text",
    "probability",
    "real_number",
]

Move: TypeAlias = tuple[int, int]
"""What an attack does to a site: its value in the clean object, and in the attacked one."""


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

    def change(self, value: int) -> float:
        """With which probability a site of this value shows another one."""
        return float(1 - self.transitions(value)[value])

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many sites an attacker finds on each axis, where so many sites have each value."""
        return tuple(sum(counts[value] for value in {before for before, _ in moves}) for moves in self.moves)

    @property
    def numbers(self) -> dict[str, float]:
        """The law in named numbers, as files have it."""
        raise InvalidParameterError("noise", "have laws that files know", self, "Flip and Categorical are such laws.")

    def to_json(self) -> float | dict[str, float]:
        """The law in plain numbers; `law_from_json` reads it back."""
        return self.numbers

    def to_text(self) -> str:
        """The law as a command line takes it; `law_from_text` reads it back."""
        raise InvalidParameterError(
            "noise", "have laws that can be written", self, "Flip and Categorical are such laws."
        )

    def words(self) -> str:
        """The law in words, for a report."""
        return repr(self)

    def argument(self) -> str:
        """The law as it is given to `Noise`."""
        return repr(self)


class Flip(Law):
    """Flips of bits.

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
        object.__setattr__(self, "delete", probability(p, "p") if p is not None else probability(delete, "delete"))
        object.__setattr__(self, "add", self.delete if p is not None else probability(add, "add"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Flip does not change: make a new one instead of setting {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return flip_from, (self.numbers,)

    @property
    def alphabet(self) -> int:
        """See `Law`: absent and present."""
        return 2

    @property
    def suffixes(self) -> tuple[str, ...]:
        """See `Law`."""
        return ("",) if self.symmetric else (".delete", ".add")

    @property
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        """See `Law`."""
        return (((1, 0), (0, 1)),) if self.symmetric else (((1, 0),), ((0, 1),))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """See `Law`.

        The noisy bit agrees with the attacked graph with probability a if the clean graph was smoothed, b if the
        attacked one was: a deleted site (1 → 0) has (a, b) = (d, 1−s), an added one (0 → 1) has (s, 1−d).
        """
        delete, add = Fraction(self.delete), Fraction(self.add)
        deleted = Channel.of_bit(delete, 1 - add)
        return (deleted,) if self.symmetric else (deleted, Channel.of_bit(add, 1 - delete))

    def transitions(self, value: int) -> tuple[Fraction, ...]:
        """See `Law`."""
        flips = Fraction(self.change(value))
        return (flips, 1 - flips) if value else (1 - flips, flips)

    def change(self, value: int) -> float:
        """See `Law`."""
        return self.delete if value else self.add

    @property
    def numbers(self) -> dict[str, float]:
        """See `Law`: one number for each axis."""
        return {"flip": self.delete} if self.symmetric else {"delete": self.delete, "add": self.add}

    def to_json(self) -> float | dict[str, float]:
        """See `Law`: p, or delete and add."""
        return self.delete if self.symmetric else self.numbers

    def to_text(self) -> str:
        """See `Law`: P, or DELETE/ADD."""
        return "/".join(map(repr, self.numbers.values()))

    def words(self) -> str:
        """See `Law`."""
        if self.symmetric:
            return f"flips with probability {self.delete:g}"
        return f"an edge is deleted with probability {self.delete:g}, an absent one added with {self.add:g}"

    def adding_at_most(self, add: float) -> Flip:
        """The law itself if it adds no more than that; otherwise one that does, and deletes as it did."""
        return self if self.add <= add else Flip(delete=self.delete, add=add)

    def argument(self) -> str:
        """See `Law`: a number stands for Flip(p)."""
        return repr(self.delete) if self.symmetric else repr(self)

    def _key(self) -> tuple[bool, float, float]:
        return self.symmetric, self.delete, self.add

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flip) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Flip({self.delete!r})" if self.symmetric else f"Flip(delete={self.delete!r}, add={self.add!r})"


@dataclass(frozen=True, slots=True)
class Categorical(Law):
    """A site changes its value with probability p; each other value is equally likely.

    How many values there are is part of the law: the channel depends on it, and slack is asked for where no object is.
    Where the law meets sites, they must have as many. It has one axis: an attack is any change of a value.

    Attributes:
        p: the probability that a site shows another value.
        values: how many values a site has, its own included. With two, it is `Flip(p)`.

    Example:
        >>> law = Categorical(0.25, 3)
        >>> law.transitions(0), [len(channel.outcomes) for channel in law.channels]
        ((Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)), [3])
    """

    p: float
    values: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))
        number = real_number(self.values)
        if not (2 <= number < math.inf and number.is_integer()):
            raise InvalidParameterError("values", "be a whole number of values, at least 2", self.values)
        object.__setattr__(self, "values", int(number))

    @property
    def alphabet(self) -> int:
        """See `Law`."""
        return self.values

    @property
    def suffixes(self) -> tuple[str, ...]:
        """See `Law`."""
        return ("",)

    @property
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        """See `Law`: any change."""
        return (tuple(permutations(range(self.values), 2)),)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """See `Law`.

        The noisy value is that of the clean object, that of the attacked one, or neither, which tells nothing.
        """
        stays = 1 - Fraction(self.p)
        other = Fraction(self.p) / (self.values - 1)
        neither = (self.values - 2) * other
        return (Channel([(stays, other), (other, stays), (neither, neither)]),)

    def transitions(self, value: int) -> tuple[Fraction, ...]:
        """See `Law`."""
        other = Fraction(self.p) / (self.values - 1)
        return tuple(1 - Fraction(self.p) if shown == value else other for shown in range(self.values))

    def change(self, value: int) -> float:
        """See `Law`."""
        return self.p

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """See `Law`: every site can be changed."""
        return (sum(counts),)

    @property
    def numbers(self) -> dict[str, float]:
        """See `Law`."""
        return {"categorical": self.p, "values": self.values}

    def to_text(self) -> str:
        """See `Law`: P:VALUES."""
        return f"{self.p!r}:{self.values}"

    def words(self) -> str:
        """See `Law`."""
        return f"changes with probability {self.p:g} to any of {self.values - 1} other values"

    def __repr__(self) -> str:
        return f"Categorical({self.p!r}, {self.values})"


def as_flip(law: Law, name: str, who: str) -> Flip:
    """The law, for those who know flips of bits alone: they refuse any other here."""
    if not isinstance(law, Flip):
        raise InvalidParameterError(name, f"be a Flip: {who} knows no other law", law)
    return law


def flip_numbers(names: Mapping[str, object]) -> tuple[str, ...]:
    """Which numbers a flip law has in a file that has these names: `flip`, or `delete` and `add`."""
    return ("flip",) if "flip" in names else ("delete", "add")


def flip_from(named: Mapping[str, float]) -> Flip:
    """The flip law of these `numbers`.

    Example:
        >>> flip_from({"flip": 0.1}), flip_from({"delete": 0.04, "add": 0.2})
        (Flip(0.1), Flip(delete=0.04, add=0.2))
    """
    return Flip(named["flip"]) if "flip" in named else Flip(**named)


def law_from_json(value: object) -> Law:
    """The law that `to_json` wrote down.

    Example:
        >>> law_from_json(0.1), law_from_json({"delete": 0.04, "add": 0.2})
        (Flip(0.1), Flip(delete=0.04, add=0.2))
        >>> law_from_json({"categorical": 0.3, "values": 4})
        Categorical(0.3, 4)
    """
    if isinstance(value, Mapping) and set(value) == {"delete", "add"}:
        return Flip(**value)
    if isinstance(value, Mapping) and set(value) == {"categorical", "values"}:
        return Categorical(value["categorical"], value["values"])
    if isinstance(value, Mapping) or math.isnan(real_number(value)):
        hint = "Write 0.02, or { delete = 0.04, add = 0.2 }."
        raise InvalidParameterError("law", "be a probability, or delete and add", value, hint)
    return Flip(real_number(value))


def law_from_text(text: str, name: str) -> Law:
    """The law that `to_text` wrote down: P, DELETE/ADD or P:VALUES. Errors call it `name`.

    Example:
        >>> law_from_text("0.1", "--noise"), law_from_text("0.04/0.2", "--noise"), law_from_text("0.3:4", "--noise")
        (Flip(0.1), Flip(delete=0.04, add=0.2), Categorical(0.3, 4))
    """
    p, categorical, values = text.partition(":")
    try:
        if categorical:
            return Categorical(float(p), int(values))
        parts = [float(part) for part in text.split("/")]
        if len(parts) > 2:
            raise ValueError(text)
        return Flip(*parts) if len(parts) == 1 else Flip(delete=parts[0], add=parts[1])
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None
    except ValueError:
        hint = "Write motif=0.02 or bonds=0.04/0.2."
        raise InvalidParameterError(name, "be a probability, or two as delete/add", text, hint) from None


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
