"""Laws on sites with any values: categories, and hidden contents.

Whatever an attacker writes into a hidden site, a copy that hides it cannot tell.

Theorem. Let S be attacked, and π the probability that all of S is hidden. For every function f of a copy with values in
[0, 1] and whatever is written into S, E_x′[f] ≤ E_x[f·1{S hidden}] + 1 − π: copies with S hidden have the same law at
both objects, and all others have mass 1 − π. It is tight where what is written differs from what was there.

So a hidden, a given and a written content are all that an alphabet needs, however many contents there are. The channel
of an attacked site has the masses (p, p), (1 − p, 0) and (0, 1 − p), and the bounds of its products are the theorem:
of two classes 1 − p_A < π − 1/2, of several p_A − p_B > 2(1 − π), with π = Π p_g^R_g over regions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import ClassVar

from typing_extensions import override

from starcert.objects.laws.law import Law, Move, OwnLaw, as_number, probability
from starcert.system.errors import InvalidParameterError

HIDDEN, GIVEN, WRITTEN = range(3)
"""The values of a site whose content may be anything: what an attacker writes there is never known."""


@dataclass(frozen=True, slots=True, repr=False)
class Categorical(OwnLaw):
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
    named = {"categorical": "p", "values": "values"}  # noqa: RUF012  (as in `OwnLaw`)
    suffixes = ("",)
    p: float
    values: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))
        object.__setattr__(self, "values", as_number(self.values, "values"))

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
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        return (tuple(permutations(range(self.alphabet), 2)),)

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        other = Fraction(self.p) / (self.alphabet - 1)
        return tuple(1 - Fraction(self.p) if shown == value else other for shown in range(self.alphabet))

    @override
    def describe(self) -> str:
        others = "any other value" if self.values is None else f"any of {self.values - 1} other values"
        return f"changes with probability {self.p:g} to {others}"


@dataclass(frozen=True, slots=True, repr=False)
class Mask(OwnLaw):
    """A site is hidden with probability p, and otherwise shown as it is; an attacker may write anything there.

    It is the law of cells of a table (`TableRow`) and of words (`Tokens`).

    Attributes:
        p: the probability that a site is hidden.

    Example:
        >>> Mask(0.75).transitions(GIVEN), len(Mask(0.75).channels[0].outcomes)
        ((Fraction(3, 4), Fraction(1, 4), Fraction(0, 1)), 3)
    """

    name: ClassVar[str] = "mask"
    named = {"mask": "p"}  # noqa: RUF012  (as in `OwnLaw`)
    unlisted: ClassVar[str] = "what an attacker writes into a hidden site is not known"
    alphabet, suffixes, moves = 3, ("",), (((GIVEN, WRITTEN), (WRITTEN, GIVEN)),)
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))

    @override
    def transitions(self, value: int) -> tuple[Fraction, ...]:
        hidden = Fraction(self.p)
        return tuple(hidden * (shown == HIDDEN) + (1 - hidden) * (shown == value) for shown in range(3))

    @override
    def for_alphabet(self, alphabet: int, name: str, layer: str) -> Law:
        from starcert.objects.layers import OPEN_LAYERS  # noqa: PLC0415  (objects, which proofs do not need)

        if layer not in OPEN_LAYERS:
            hint = "Mask hides cells and words: give the rows of a table (TableRow.rows), or texts (Tokens)."
            raise InvalidParameterError(name, f"be a law on the values of {layer}", self, hint)
        return self

    @override
    def describe(self) -> str:
        return f"is hidden with probability {self.p:g}"
