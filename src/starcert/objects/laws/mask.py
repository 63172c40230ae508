"""Hidden sites: whatever an attacker writes into a site with any values, a copy that hides it cannot tell.

Theorem. Let S be attacked, and π the probability that all of S is hidden. For every function f of a copy with values in
[0, 1] and whatever is written into S, E_x′[f] ≤ E_x[f·1{S hidden}] + 1 − π: copies with S hidden have the same law at
both objects, and all others have mass 1 − π. It is tight where what is written differs from what was there.

So a hidden, a given and a written content are all that an alphabet needs, however many contents there are. The channel
of an attacked site has the masses (p, p), (1 − p, 0) and (0, 1 − p), and the bounds of its products are the theorem:
of two classes 1 − p_A < π − 1/2, of several p_A − p_B > 2(1 − π), with π = Π p_g^R_g over regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from typing_extensions import override

from starcert.objects.laws.law import Law, Move, probability
from starcert.system.errors import InvalidParameterError

HIDDEN, GIVEN, WRITTEN = range(3)
"""The values of a site whose content may be anything: what an attacker writes there is never known."""


@dataclass(frozen=True, slots=True)
class Mask(Law):
    """A site is hidden with probability p, and shown as it is otherwise; an attacker may write anything there.

    It is the law of cells of a table (`TableRow`) and of words (`Tokens`).

    Attributes:
        p: the probability that a site is hidden.

    Example:
        >>> Mask(0.75).transitions(GIVEN), len(Mask(0.75).channels[0].outcomes)
        ((Fraction(3, 4), Fraction(1, 4), Fraction(0, 1)), 3)
    """

    name: ClassVar[str] = "mask"
    unlisted: ClassVar[str] = "what an attacker writes into a hidden site is not known"
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))

    @property
    @override
    def alphabet(self) -> int:
        return 3

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("",)

    @property
    @override
    def moves(self) -> tuple[tuple[Move, ...], ...]:
        return (((GIVEN, WRITTEN), (WRITTEN, GIVEN)),)

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

    @property
    @override
    def numbers(self) -> dict[str, float]:
        return {"mask": self.p}

    @override
    def to_json(self) -> dict[str, float]:
        return self.numbers

    @override
    def describe(self) -> str:
        return f"is hidden with probability {self.p:g}"

    def __repr__(self) -> str:
        return f"Mask({self.p!r})"
