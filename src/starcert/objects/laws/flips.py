"""Flips of bits, and laws of edges: their presence, and their types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar, Literal, TypeAlias

from typing_extensions import override

from starcert.math.channels import Channel
from starcert.objects.laws.law import LEAST, Law, Move, OwnLaw, as_number, channels_of, probability, real_number
from starcert.system.errors import InvalidParameterError

Added: TypeAlias = Literal["uniform", "graph"]
"""The way in which the type of an added edge is drawn."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Flip(OwnLaw):
    """Flips of bits: `Flip(p)` has one axis, and `Flip(delete=d, add=s)` two, deletions and additions.

    On edges of several types it flips their presence, and types are not attacked: an edge of the clean graph keeps its
    type, and an added one draws its own. Which type a present edge has is frozen for each pair at the clean graph. An
    attack changes only whether it is present, and given that, the type has the same law on either side: it carries no
    information, and the channels are those of bits. `Edges` is the law under which types are attacked too.

    Args:
        p: the probability of any flip.
        delete: the probability that a 1 flips.
        add: the probability that a 0 flips.
        added: how an added edge of a typed graph draws its type: "uniform", "graph" (as often as the types are in the
            clean graph), or the share of each type.

    Example:
        >>> Flip(0.1), Flip(delete=0.04, add=0.2), Flip(0.1, added="graph")
        (Flip(0.1), Flip(delete=0.04, add=0.2), Flip(0.1, added='graph'))
    """

    name: ClassVar[str] = "flip"
    symmetric: bool
    delete: float
    add: float
    added: Added | tuple[float, ...]
    shares: tuple[Fraction, ...]  # with which each type is drawn, once they are known: see `acting`

    def __init__(
        self,
        p: float | None = None,
        *,
        delete: float | None = None,
        add: float | None = None,
        added: Added | Sequence[float] = "uniform",
    ) -> None:
        if (p is None) == (delete is None and add is None) or (delete is None) != (add is None):
            given, hint = {"p": p, "delete": delete, "add": add}, "Write Flip(0.1) or Flip(delete=0.04, add=0.2)."
            raise InvalidParameterError("Flip", "be given either one probability p or both delete and add", given, hint)
        object.__setattr__(self, "symmetric", p is not None)
        object.__setattr__(self, "delete", probability(p, "p") if p is not None else probability(delete, "delete"))
        object.__setattr__(self, "add", self.delete if p is not None else probability(add, "add"))
        object.__setattr__(self, "added", _as_rule(added))
        object.__setattr__(self, "shares", (Fraction(1),))

    @property
    @override
    def alphabet(self) -> int:
        return 1 + len(self.shares)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("",) if self.symmetric else (".delete", ".add")

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        # The attacker does not choose the type of an added edge.
        deleted, added, _ = _moves_of_edges(self.alphabet)
        return (deleted + added,) if self.symmetric else (deleted, added)

    @property
    @override
    def channels(self) -> tuple[Channel, ...]:
        return channels_of(self._on_types((Fraction(1),)))

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        chance = Fraction(self.change(value))
        if not value:
            return (1 - chance, *(chance * share for share in self.shares))
        return (chance, *((1 - chance) * (shown == value) for shown in range(1, self.alphabet)))

    @override
    def attacked(self, before: int, after: int) -> tuple[Fraction, ...]:
        # A deleted edge keeps its type where it is present, and an added one draws its own.
        chance = Fraction(self.change(after))
        if after:
            return (chance, *((1 - chance) * share for share in self.shares))
        return (1 - chance, *(chance * (shown == before) for shown in range(1, self.alphabet)))

    @override
    def change(self, value: int) -> float:
        return self.delete if value else self.add

    @override
    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        # Presence flips, however many types of edges there are.
        from starcert.objects.layers import EDGE_LAYERS  # noqa: PLC0415  (objects, which proofs do not need)

        if alphabet > 2 and layer not in EDGE_LAYERS:
            return Law.for_alphabet(self, alphabet, name, layer)
        if not isinstance(self.added, str) and len(self.added) != alphabet - 1:
            hint = "Types are those of graph.type_names, in their order."
            wanted = f"have a share for each of the {alphabet - 1} types of {layer}"
            raise InvalidParameterError(name, wanted, self, hint)
        return self

    @override
    def acting(self, present: Sequence[int]) -> Law:
        if len(present) == 1:
            return self
        weights = [Fraction(1)] * len(present)
        if not isinstance(self.added, str):
            weights = [Fraction(share) for share in self.added]
        elif self.added == "graph" and any(present):
            weights = [Fraction(count) for count in present]
        return self._on_types(tuple(weight / sum(weights) for weight in weights))

    def _on_types(self, shares: tuple[Fraction, ...]) -> Flip:
        """The same flips where an added edge is of each type with these probabilities."""
        made = copy(self)
        object.__setattr__(made, "shares", shares)
        return made

    @override
    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        return (sum(counts),) if self.symmetric else (sum(counts[1:]), counts[0])

    @property
    @override
    def numbers(self) -> dict[str, float]:
        return {"flip": self.delete} if self.symmetric else {"delete": self.delete, "add": self.add}

    @override
    def to_json(self) -> float | dict[str, Any]:
        if self.added != "uniform":
            return self.numbers | {"added": self.added if isinstance(self.added, str) else list(self.added)}
        return self.delete if self.symmetric else self.numbers

    @override
    def describe(self) -> str:
        if self.symmetric:
            return f"flips with probability {self.delete:g}"
        return f"an edge is deleted with probability {self.delete:g}, an absent one added with {self.add:g}"

    def __repr__(self) -> str:
        chances = repr(self.delete) if self.symmetric else f"delete={self.delete!r}, add={self.add!r}"
        return f"Flip({chances})" if self.added == "uniform" else f"Flip({chances}, added={self.added!r})"


@dataclass(frozen=True, slots=True, init=False)
class Edges(OwnLaw):
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
    named = {"delete": "delete", "add": "add", "change": "retype", "types": "types"}  # noqa: RUF012
    suffixes = (".delete", ".add", ".change")
    delete: float
    add: float
    retype: float
    types: int | None

    def __init__(self, *, delete: float, add: float, change: float, types: int | None = None) -> None:
        object.__setattr__(self, "delete", probability(delete, "delete"))
        object.__setattr__(self, "add", probability(add, "add"))
        object.__setattr__(self, "retype", probability(change, "change"))
        object.__setattr__(self, "types", as_number(types, "types"))
        if Fraction(self.delete) + Fraction(self.retype) > 1:
            raise InvalidParameterError("Edges", "have delete + change of 1 at most", (delete, change))

    @property
    @override
    def alphabet(self) -> int:
        if self.types is None:
            hint = "Write Edges(delete=…, add=…, change=…, types=4), or 0.1/0.2/0.3:4, where no graph says it."
            raise InvalidParameterError("types", f"is missing: it says how many types an edge may have. {hint}")
        return 1 + self.types

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
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        return _moves_of_edges(self.alphabet)

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        n_types = self.alphabet - 1
        if not value:
            return (1 - Fraction(self.add), *[Fraction(self.add) / n_types] * n_types)
        goes, other = Fraction(self.delete), Fraction(self.retype)
        each = other / (n_types - 1)
        return (goes, *(1 - goes - other if shown == value else each for shown in range(1, self.alphabet)))

    @override
    def describe(self) -> str:
        return (
            f"an edge is deleted with probability {self.delete:g} and has another type with {self.retype:g}, an absent "
            f"one is added with {self.add:g}"
        )

    def __repr__(self) -> str:
        return f"Edges({', '.join(f'{name}={value!r}' for name, value in self.numbers.items())})"


def _moves_of_edges(alphabet: int) -> tuple[tuple[Move, ...], tuple[Move, ...], tuple[Move, ...]]:
    """All deletions, additions and changes of type."""
    types = range(1, alphabet)
    return tuple((each, 0) for each in types), tuple((0, each) for each in types), tuple(permutations(types, 2))


def _as_rule(added: object) -> Added | tuple[float, ...]:
    if isinstance(added, str) and added in ("uniform", "graph"):
        return added  # type: ignore[return-value]  # mypy does not narrow to the literal
    listed = [] if isinstance(added, str) or not isinstance(added, Sequence) else list(added)
    shares = [real_number(share) for share in listed]
    if not shares or not all(0 <= share < math.inf for share in shares) or not 0 < sum(shares) < math.inf:
        wanted = "be 'uniform', 'graph' or a share for each type"
        raise InvalidParameterError("added", wanted, added, "Shares are numbers of 0 or more, such as (0.7, 0.2, 0.1).")
    for share in shares:
        if 0 < share < LEAST * sum(shares):
            raise InvalidParameterError("added", f"have shares that are 0 or at least {LEAST:g} of their sum", added)
    return tuple(shares)
