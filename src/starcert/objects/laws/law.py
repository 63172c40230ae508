"""What a law is, the noise of one region; and flips of bits.

A law knows its axes, its channels, its transitions, its capacity, and how it is written and read; nothing else does.
The p of the certificate is the p of the sampler: the exact value of the float given, never a rounded neighbour.

`axis_moves` describes each axis for evidence, which counts flips and looks at what attacked sites show. All sites of
an axis must look alike to it: however they are attacked, noise flips them equally often and shows each likelihood
ratio equally often.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from typing_extensions import override

from starcert.math.attacked_sites import AxisMoves, SiteLaw, outcome_numbers
from starcert.math.channels import Channel
from starcert.objects.layers import EDGE_LAYERS
from starcert.system.errors import InvalidParameterError

Move: TypeAlias = tuple[int, int]
"""What an attack does to a site: its value in the clean object, and in the attacked one."""

Added: TypeAlias = Literal["uniform", "graph"]
"""How the type of an added edge is drawn."""
HAVE_TEXT = "Flip, Categorical and Edges are such laws."


class Law(ABC):
    """The noise of one region: what a site shows in a noisy copy, given the value that it has.

    An axis of a law counts attacked sites, those with one of its moves. A law is immutable, hashable and picklable.
    A new law defines the four abstract members; it overrides more to be written to files, command lines and reports.

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
                name, hint = type(self).__name__ + suffix, "Give moves that the noise treats differently an axis each."
                got = f"{len(channels)} channels"
                raise InvalidParameterError(name, "have one channel for all moves of an axis", got, hint)
            found.extend(channels)
        return tuple(found)

    def attacked(self, before: int, after: int) -> tuple[Fraction, ...]:
        """The transitions of a site whose value an attack has changed: usually those of any site with that value."""
        return self.transitions(after)

    def change(self, value: int) -> float:
        """With which probability a site of this value shows another one."""
        return float(1 - self.transitions(value)[value])

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many sites an attacker can change on each axis, given how many sites have each value."""
        return tuple(sum(counts[value] for value in {before for before, _ in moves}) for moves in self.moves)

    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        """The law on sites of a layer with `alphabet` values: itself, or with that number filled in if left open."""
        if self.alphabet != alphabet:
            got = f"{self!r} on {self.alphabet} values"
            raise InvalidParameterError(name, f"be a law on the {alphabet} values of {layer}", got)
        return self

    def acting(self, present: Sequence[int]) -> Law:
        """The law that is sampled on a layer with these counts of the clean values 1, 2, …: usually the law itself."""
        return self

    @property
    def numbers(self) -> dict[str, float]:
        """The law in named numbers, as files have it."""
        raise InvalidParameterError("noise", "have laws that files know", self, HAVE_TEXT)

    def to_json(self) -> float | dict[str, Any]:
        """The law in plain numbers; `law_from_json` reads it back."""
        return self.numbers

    def to_text(self) -> str:
        """The law as a command line takes it; `law_from_text` reads it back."""
        raise InvalidParameterError("noise", "have laws that can be written", self, HAVE_TEXT)

    def describe(self) -> str:
        """The law as a phrase, for a report."""
        return repr(self)


def real_number(value: object) -> float:
    """A number as a float, NaN for anything else: no comparison with it is true."""
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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Flip(Law):
    """Flips of bits: `Flip(p)` has one axis, and `Flip(delete=d, add=s)` two, deletions and additions.

    On edges of several types it flips their presence, and types are not attacked: an edge of the clean graph keeps its
    type, and an added one draws its own (see `TypedFlip`). `Edges` is the law under which types are attacked too.

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

    symmetric: bool
    delete: float
    add: float
    added: Added | tuple[float, ...]

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

    @property
    @override
    def alphabet(self) -> int:
        return 2

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("",) if self.symmetric else (".delete", ".add")

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        return (((1, 0), (0, 1)),) if self.symmetric else (((1, 0),), ((0, 1),))

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        flips = Fraction(self.change(value))
        return (flips, 1 - flips) if value else (1 - flips, flips)

    @override
    def change(self, value: int) -> float:
        return self.delete if value else self.add

    @override
    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        # Presence flips, however many types of edges there are.
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
        return TypedFlip(self, tuple(weight / sum(weights) for weight in weights))

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
    def to_text(self) -> str:
        text = "/".join(map(repr, self.numbers.values()))
        if self.added == "uniform":
            return text
        return f"{text}@{self.added if isinstance(self.added, str) else ':'.join(map(repr, self.added))}"

    @override
    def describe(self) -> str:
        if self.symmetric:
            return f"flips with probability {self.delete:g}"
        return f"an edge is deleted with probability {self.delete:g}, an absent one added with {self.add:g}"

    def adding_at_most(self, add: float) -> Flip:
        """The law itself if it adds no more than that; otherwise one that does, and deletes as it did."""
        return self if self.add <= add else Flip(delete=self.delete, add=add, added=self.added)

    def __repr__(self) -> str:
        chances = repr(self.delete) if self.symmetric else f"delete={self.delete!r}, add={self.add!r}"
        return f"Flip({chances})" if self.added == "uniform" else f"Flip({chances}, added={self.added!r})"


@dataclass(frozen=True, slots=True)
class TypedFlip(Law):
    """Flips of presence on edges of several types: what `Flip` draws there.

    Which type a present edge has is frozen for each pair at the clean graph: its type, or a draw by the shares of the
    types. An attack changes only whether it is present, and given that, the type has the same law on either side. So
    the type carries no information, and the channels are those of the flips.
    """

    flip: Flip
    shares: tuple[Fraction, ...]

    @property
    @override
    def alphabet(self) -> int:
        return 1 + len(self.shares)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return self.flip.suffixes

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        # The attacker does not choose the type of an added edge.
        types = range(1, self.alphabet)
        deleted, added = tuple((value, 0) for value in types), tuple((0, value) for value in types)
        return (deleted + added,) if self.flip.symmetric else (deleted, added)

    @property
    @override
    def channels(self) -> tuple[Channel, ...]:
        return self.flip.channels

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        chance = Fraction(self.flip.change(value))
        if not value:
            return (1 - chance, *(chance * share for share in self.shares))
        return (chance, *((1 - chance) * (shown == value) for shown in range(1, self.alphabet)))

    @override
    def attacked(self, before: int, after: int) -> tuple[Fraction, ...]:
        # A deleted edge keeps its type where it is present, and an added one draws its own.
        chance = Fraction(self.flip.change(after))
        if after:
            return (chance, *((1 - chance) * share for share in self.shares))
        return (1 - chance, *(chance * (shown == before) for shown in range(1, self.alphabet)))


def _as_rule(added: object) -> Added | tuple[float, ...]:
    if isinstance(added, str) and added in ("uniform", "graph"):
        return added  # type: ignore[return-value]  # mypy does not narrow to the literal
    listed = [] if isinstance(added, str) or not isinstance(added, Sequence) else list(added)
    shares = [real_number(share) for share in listed]
    if not shares or not all(0 <= share < float("inf") for share in shares) or not sum(shares):
        wanted = "be 'uniform', 'graph' or a share for each type"
        raise InvalidParameterError("added", wanted, added, "Shares are numbers of 0 or more, such as (0.7, 0.2, 0.1).")
    return tuple(shares)


@lru_cache(maxsize=256)
def axis_moves(law: Law) -> tuple[AxisMoves, ...]:
    """The axes of a law, in their order."""
    if reason := why_not_alike(law):
        raise InvalidParameterError("noise", "have laws whose axes evidence can look at", law, reason)
    found = []
    for moves in law.moves:
        targets = {before: [after for start, after in moves if start == before] for before, _ in moves}
        number = max(map(len, targets.values()))
        ranks = np.zeros((law.alphabet, number), dtype=np.int64)
        outcomes = np.zeros((law.alphabet, number, law.alphabet), dtype=np.uint8)
        for before, afters in targets.items():
            ranks[before] = [after - (after > before) for after in afters]
            clean = law.transitions(before)
            outcomes[before] = [outcome_numbers(clean, law.transitions(after), before) for after in afters]
        (one,) = _site_laws(law, moves)
        found.append(AxisMoves(one._replace(moves=number), tuple(targets), ranks, outcomes))
    return tuple(found)


def why_not_alike(law: Law) -> str:
    """Why evidence cannot look at the axes of a law; "" if it can."""
    starts = []
    for suffix, moves in zip(law.suffixes, law.moves, strict=True):
        befores = [before for before, _ in moves]
        if len(_site_laws(law, moves)) > 1 or len({befores.count(before) for before in befores}) > 1:
            return f"sites of {suffix or 'its axis'} are not all attacked alike"
        if any(before == after for before, after in moves) or len(set(moves)) < len(moves):
            return f"{suffix or 'its axis'} has a move that changes nothing, or one twice"
        starts.append(frozenset(befores))
    for i, one in enumerate(starts):
        if any(one != other and one & other for other in starts[:i]):
            return "two axes share some of their sites and not others"
    return ""


def _site_laws(law: Law, moves: tuple[Move, ...]) -> set[SiteLaw]:
    return {SiteLaw.of(law.transitions(before), law.transitions(after), before) for before, after in moves}
