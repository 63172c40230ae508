"""Laws on more than two values: categories, and edges of several types."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar

from typing_extensions import override

from starcert.objects.laws.law import Law, Move, probability, real_number
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True, slots=True)
class Categorical(Law):
    """A site changes its value with probability p; each other value is equally likely.

    The law has one axis: an attack is any change of a value.

    Attributes:
        p: the probability that a site shows another value.
        values: how many values a site has, its own included; None: as many as the sites have.

    Example:
        >>> law = Categorical(0.25, 3)
        >>> law.transitions(0), [len(channel.outcomes) for channel in law.channels]
        ((Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)), [3])
    """

    name: ClassVar[str] = "categorical"
    p: float
    values: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))
        object.__setattr__(self, "values", _as_number(self.values, "values"))

    @property
    @override
    def alphabet(self) -> int:
        if self.values is None:
            hint = "Write Categorical(0.05, 4), or 0.05:4, where no object says it."
            raise InvalidParameterError("values", f"is missing: it says how many values a site has. {hint}")
        return self.values

    @override
    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        if self.values is None:
            return replace(self, values=alphabet)
        return Law.for_alphabet(self, alphabet, name, layer)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("",)

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        return (tuple(permutations(range(self.alphabet), 2)),)

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        other = Fraction(self.p) / (self.alphabet - 1)
        return tuple(1 - Fraction(self.p) if shown == value else other for shown in range(self.alphabet))

    @property
    @override
    def numbers(self) -> dict[str, float]:
        return {"categorical": self.p} | ({} if self.values is None else {"values": self.values})

    @override
    def to_json(self) -> dict[str, Any]:
        return self.numbers

    @override
    def describe(self) -> str:
        others = "any other value" if self.values is None else f"any of {self.values - 1} other values"
        return f"changes with probability {self.p:g} to {others}"

    def __repr__(self) -> str:
        return f"Categorical({self.p!r})" if self.values is None else f"Categorical({self.p!r}, {self.values})"


@dataclass(frozen=True, slots=True, init=False)
class Edges(Law):
    """Edges of several types: they are deleted, added and change their type; all types are equally likely.

    The law has three axes: an attacker deletes edges, adds edges of any type, and gives edges another type.

    Args:
        delete: the probability that an edge is absent in a noisy copy.
        add: the probability that an absent edge is present.
        change: the probability that an edge has another type.
        types: how many types there are, at least 2; None: as many as the graph has.

    Example:
        >>> law = Edges(delete=0.125, add=0.25, change=0.25, types=2)
        >>> law.transitions(0), law.transitions(1)
        ((Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)), (Fraction(1, 8), Fraction(5, 8), Fraction(1, 4)))
        >>> law.suffixes, law.capacity((10, 3, 4))
        (('.delete', '.add', '.change'), (7, 10, 7))
    """

    name: ClassVar[str] = "edges"
    delete: float
    add: float
    retype: float
    types: int | None

    def __init__(self, *, delete: float, add: float, change: float, types: int | None = None) -> None:
        object.__setattr__(self, "delete", probability(delete, "delete"))
        object.__setattr__(self, "add", probability(add, "add"))
        object.__setattr__(self, "retype", probability(change, "change"))
        object.__setattr__(self, "types", _as_number(types, "types"))
        if Fraction(self.delete) + Fraction(self.retype) > 1:
            raise InvalidParameterError("Edges", "have delete + change of 1 at most", (delete, change))

    @property
    @override
    def alphabet(self) -> int:
        return 1 + self._types

    @property
    def _types(self) -> int:
        if self.types is None:
            hint = "Write Edges(delete=…, add=…, change=…, types=4), or 0.1/0.2/0.3:4, where no graph says it."
            raise InvalidParameterError("types", f"is missing: it says how many types an edge may have. {hint}")
        return self.types

    @override
    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        if self.types is not None:
            return Law.for_alphabet(self, alphabet, name, layer)
        if alphabet < 3:
            hint = "Write Flip(delete=…, add=…), or give the graph edge_types."
            raise InvalidParameterError(name, f"be a law on the {alphabet} values of {layer}", self, hint)
        return Edges(delete=self.delete, add=self.add, change=self.retype, types=alphabet - 1)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return (".delete", ".add", ".change")

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        types = range(1, self.alphabet)
        return tuple((each, 0) for each in types), tuple((0, each) for each in types), tuple(permutations(types, 2))

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        if not value:
            return (1 - Fraction(self.add), *[Fraction(self.add) / self._types] * self._types)
        goes, other = Fraction(self.delete), Fraction(self.retype)
        each = other / (self._types - 1)
        return (goes, *(1 - goes - other if shown == value else each for shown in range(1, self.alphabet)))

    @property
    @override
    def numbers(self) -> dict[str, float]:
        chances = {"delete": self.delete, "add": self.add, "change": self.retype}
        return chances | ({} if self.types is None else {"types": self.types})

    @override
    def to_json(self) -> dict[str, Any]:
        return self.numbers

    @override
    def describe(self) -> str:
        return (
            f"an edge is deleted with probability {self.delete:g} and has another type with {self.retype:g}, an absent "
            f"one is added with {self.add:g}"
        )

    def __repr__(self) -> str:
        return f"Edges({', '.join(f'{name}={value!r}' for name, value in self.numbers.items())})"


def _as_number(value: object, name: str) -> int | None:
    """A number of values or types, checked; None if it is left open."""
    number = real_number(value)
    if value is not None and not (2 <= number < math.inf and number.is_integer()):
        raise InvalidParameterError(name, f"be a whole number of {name}, at least 2", value)
    return None if value is None else int(number)
