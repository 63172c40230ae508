"""Laws: the noise of one region each.

A law knows its axes, its channels, its transitions, its capacity, and how it is written and read; nothing else does.
The p of the certificate is the p of the sampler: the exact value of the float given, never a rounded neighbour.

`axis_moves` describes each axis for evidence, which counts flips and looks at what attacked sites show. All sites of
an axis must look alike to it: however they are attacked, noise flips them equally often and shows each likelihood
ratio equally often.
"""

from __future__ import annotations

import math
import numbers
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.attacked_sites import AxisMoves, SiteLaw
from starcert.math.channels import Channel
from starcert.system.errors import InvalidParameterError
from starcert.system.files import is_user_module

LEAST = 1e-100
"""The least probability above 0 that a law may have: squares of likelihood ratios, up to 1/p, have to fit floats."""

_Numbers: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
Move: TypeAlias = tuple[int, int]
"""The value of a site in the clean object, and in the attacked one."""


class Law(ABC):
    """The noise of one region: what a site shows in a noisy copy, given the value that it has.

    An axis of a law counts attacked sites, those with one of its moves. A law is immutable, hashable and picklable.
    A new law defines the four abstract members. With `numbers`, by the names of its parameters, it can be written to
    files and command lines, too: as `{"law": NAME, …}` and NAME(0.1/0.2). What it writes never changes its meaning.

    Attributes:
        name: what files call it; by default where it is defined, "module:Class" or, in a file of a run, "law.py:Class".

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
    name: ClassVar[str]
    unlisted: ClassVar[str] = ""  # why evidence cannot look at attacks on its sites; "": it can

    def __init_subclass__(cls, **more: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**more)
        if "name" not in vars(cls):
            file = sys.modules[cls.__module__].__file__ if is_user_module(cls.__module__) else None
            cls.name = f"{cls.__module__ if file is None else Path(file).name}:{cls.__qualname__}"

    @property
    @abstractmethod
    def alphabet(self) -> int:
        """The number of values of a site."""

    @property
    @abstractmethod
    def suffixes(self) -> tuple[str, ...]:
        """The endings that its axes add to the region's name."""

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
        return channels_of(self)

    def attacked(self, before: int, after: int) -> tuple[Fraction, ...]:
        """The transitions of a site whose value an attack has changed: usually those of any site with that value."""
        return self.transitions(after)

    def change(self, value: int) -> float:
        """With which probability a site of this value shows another one."""
        return float(1 - self.transitions(value)[value])

    def capacity(self, counts: Sequence[int]) -> tuple[int, ...]:
        """The number of sites that an attacker can change on each axis, given how many sites have each value."""
        return tuple(sum(counts[value] for value in {before for before, _ in moves}) for moves in self.moves)

    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        """The law on sites of a layer with `alphabet` values: itself, or with that number filled in if left open."""
        if self.alphabet != alphabet:
            got = f"{self!r} on {self.alphabet} values"
            hint = "Write Categorical(0.1), or 0.1:* in a command, for categories, however many there are."
            if layer in ("cells", "words"):
                hint = "Write Mask(0.7); rows whose values are listed are Bits.rows(X) or Categories.rows(X, values=…)."
            raise InvalidParameterError(name, f"be a law on the {alphabet} values of {layer}", got, hint)
        return self

    def acting(self, present: Sequence[int]) -> Law:
        """The law that is sampled on a layer with these counts of the clean values 1, 2, …: usually the law itself."""
        return self

    @property
    def numbers(self) -> dict[str, float]:
        """The law in named numbers, as files have it."""
        hint = "Give the law its `numbers`, as Flip, Categorical and Edges have them."
        raise InvalidParameterError("noise", "have laws that files know", self, hint)

    def to_json(self) -> float | dict[str, Any]:
        """The law in plain numbers; `law_from_json` reads it back."""
        return {"law": self.name, **self.numbers}

    @classmethod
    def from_json(cls, value: Any) -> Law | None:  # noqa: ANN401  (whatever a file has)
        """The law of this class that `to_json` wrote; None if it is not of this class."""
        if not isinstance(value, Mapping) or value.get("law") != cls.name:
            return None
        return cls(**{name: number for name, number in value.items() if name != "law"})

    def describe(self) -> str:
        """The law as a phrase, for a report."""
        return repr(self)


class OwnLaw(Law):
    """A law of starcert's own: files tell it from others by the names of its numbers, which are some of its fields."""

    __slots__ = ()
    named: ClassVar[Mapping[str, str]]  # the field of each number; one that is None is left out

    @property
    @override
    def numbers(self) -> dict[str, float]:
        known = {name: getattr(self, field) for name, field in self.named.items()}
        return {name: number for name, number in known.items() if number is not None}

    @override
    def to_json(self) -> float | dict[str, Any]:
        return self.numbers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.numbers.values()))})"


@lru_cache(maxsize=256)
def channels_of(law: Law) -> tuple[Channel, ...]:
    """The channels of a law that follow from its transitions."""
    found: list[Channel] = []
    for suffix, moves in zip(law.suffixes, law.moves, strict=True):
        kinds = _CodedMoves.of(law, moves).kinds()
        channels = {Channel(zip(*map(law.transitions, move), strict=True)) for move in kinds}
        if len(channels) != 1:
            name, hint = type(law).__name__ + suffix, "Give moves that the noise treats differently an axis each."
            got = f"{len(channels)} channels"
            raise InvalidParameterError(name, "have one channel for all moves of an axis", got, hint)
        found.extend(channels)
    return tuple(found)


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
    if 0 < number < LEAST:
        hint = "Write 0 for what never happens: so rare a change shows in no vote."
        raise InvalidParameterError(name, f"be 0 or at least {LEAST:g}", value, hint)
    return number + 0.0  # −0.0 becomes 0.0: one way to write one value


def as_number(value: object, name: str) -> int | None:
    """A number of values or types, checked; None if it is left open."""
    number = real_number(value)
    if value is not None and not (2 <= number < math.inf and number.is_integer()):
        raise InvalidParameterError(name, f"be a whole number of {name}, at least 2", value)
    return None if value is None else int(number)


def axis_moves(law: Law) -> tuple[AxisMoves, ...]:
    """The axes of a law, in their order."""
    if isinstance(found := _axes_or_reason(law), str):
        raise InvalidParameterError("noise", "have laws whose axes evidence can look at", law, found)
    return found


def why_not_alike(law: Law) -> str:
    """The reason why evidence cannot look at the axes of a law; "" if it can."""
    return found if isinstance(found := _axes_or_reason(law), str) else ""


@lru_cache(maxsize=256)
def _axes_or_reason(law: Law) -> tuple[AxisMoves, ...] | str:
    if law.unlisted:
        return law.unlisted
    found = list[AxisMoves]()
    for suffix, moves in zip(law.suffixes, law.moves, strict=True):
        kinds = (coded := _CodedMoves.of(law, moves)).kinds()
        laws = {SiteLaw.of(law.transitions(before), law.transitions(after), before) for before, after in kinds}
        if len(laws) > 1 or len(set(map(len, coded.targets.values()))) > 1:
            return f"sites of {suffix or 'its axis'} are not all attacked alike"
        if any(before == after for before, after in moves) or len(set(moves)) < len(moves):
            return f"{suffix or 'its axis'} has a move that changes nothing, or one twice"
        if any(coded.targets.keys() != set(other.starts) and coded.targets.keys() & other.starts for other in found):
            return "two axes share some of their sites and not others"
        found.append(coded.axis(kinds, *laws))
    return tuple(found)


class _CodedMoves(NamedTuple):
    """The moves of an axis, and the probability with which each value shows each value, as numbers of probabilities.

    Laws have few different probabilities, and fractions are slow: moves are compared by these numbers, and fractions
    are computed for one move of each *kind*.
    """

    targets: dict[int, list[int]]  # what attacks may make of each value
    masses: list[Fraction]  # the different probabilities
    numbers: _Numbers  # places in `masses`, shape (alphabet, alphabet)

    @classmethod
    def of(cls, law: Law, moves: Sequence[Move]) -> _CodedMoves:
        """The moves of an axis of a law."""
        targets, places = dict[int, list[int]](), dict[tuple[int, int], int]()
        for before, after in moves:
            targets.setdefault(before, []).append(after)
        rows = [[0] * law.alphabet for _ in range(law.alphabet)]
        for value in {value for move in moves for value in move}:
            ratios = (mass.as_integer_ratio() for mass in law.transitions(value))  # hashed much faster than fractions
            rows[value] = [places.setdefault(ratio, len(places)) for ratio in ratios]
        return cls(
            targets, [Fraction(*each) for each in places], np.array(rows, dtype=np.min_scalar_type(len(places) ** 2))
        )

    def pairs(self, before: int, after: list[int]) -> _Numbers:
        """A number for the clean and attacked mass of each value that is shown, shape (after, alphabet)."""
        found: _Numbers = self.numbers[before] * self.numbers.dtype.type(len(self.masses)) + self.numbers[after]
        return found

    def kinds(self) -> list[Move]:
        """One move of each kind: moves of one kind show the same pairs of masses equally often, and so have one law."""
        found = dict[bytes, Move]()
        for before, after in self.targets.items():
            pairs = self.pairs(before, after)
            rows = np.concatenate([pairs[:, [before]], np.sort(pairs, axis=1, kind="stable")], axis=1)
            for value, row in zip(after, rows, strict=True):
                found.setdefault(row.tobytes(), (before, value))
        return [*found.values()]

    def axis(self, kinds: list[Move], law: SiteLaw) -> AxisMoves:
        """The axis, where all moves have this law. What neither object ever shows counts with the largest ratio."""
        by_ratio = {attacked / clean if clean else None: i for i, (clean, attacked) in enumerate(law.outcomes, start=1)}
        pairs = np.unique(np.concatenate([self.pairs(before, [after]) for before, after in kinds]))
        numbers = np.zeros(len(pairs), dtype=np.uint8)
        for place, pair in enumerate(pairs.tolist()):
            clean, attacked = (self.masses[number] for number in divmod(pair, len(self.masses)))
            ratio = attacked / clean if clean else None
            numbers[place] = by_ratio.get(ratio, 0) if clean or attacked else len(law.outcomes)
        n_moves, alphabet = len(next(iter(self.targets.values()))), len(self.numbers)
        ranks = np.zeros((alphabet, n_moves), dtype=np.int64)
        outcomes = np.zeros((alphabet, n_moves, alphabet), dtype=np.uint8)
        for before, after in self.targets.items():
            ranks[before] = [value - (value > before) for value in after]
            outcomes[before] = numbers[np.searchsorted(pairs, self.pairs(before, after))]
            outcomes[before, :, before] = 0
        return AxisMoves(law._replace(moves=n_moves), tuple(self.targets), ranks, outcomes)
