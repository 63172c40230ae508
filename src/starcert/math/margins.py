"""When is a radius certified? The two margins, each with a quick answer and a proved one.

With p_A a lower bound on the class's own probability and p_B an upper bound on that of *every* other class:

    two-class     ρ_low(p_A) > 1/2,            which is   1 − p_A < slack(R),
    multi-class   ρ_low(p_A) > ρ_up(p_B),      which is   ρ_low(p_A) + ρ_low(1 − p_B) > 1.

The second contains the first: other classes have at most 1 − p_A, and p_B = 1 − p_A makes them one. So p_B is
the smaller of the two bounds, and the margin in force is the one that gave it.

    slack(R) = 1 − (least p_A that certifies R in the two-class margin)

depends on the noise alone. Once it is enclosed so tightly that no float lies inside, every question "is the failure
probability f below slack(R)?" is a comparison of two floats, and a proved one: f < slack(R) iff f ≤ the largest float
below slack(R).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from starcert.math.arithmetic import float_at_least, float_below
from starcert.math.channels import Product
from starcert.math.exact import Prover
from starcert.math.tradeoff import RELATIVE_ERROR, SMALLEST, Cut, Tradeoff

__all__ = ["Bracket", "Margin", "MultiClass", "Slacks", "Tradeoffs", "TwoClass"]

HALF = Fraction(1, 2)


class Bracket(NamedTuple):
    """Two floats with below < slack ≤ at_least, proved; neighbours unless the precision ran out."""

    below: float
    at_least: float

    def certifies(self, failure: float) -> bool | None:
        """Whether failure < slack; None if that is open, which must be read as no."""
        if failure <= self.below:
            return True
        return False if failure >= self.at_least else None


class Slacks:
    """The slack of every radius of one product of channels: on demand, proved on demand, remembered.

    It is seen as ρ_low(1/2) of the reversed product (see `tradeoff`).

    Example:
        >>> from starcert.math.channels import Channel
        >>> p = Fraction(1, 4)
        >>> slacks = Slacks(Product([Channel.of_bit(p, 1 - p)]))
        >>> slacks.value((1,)), slacks.bracket((1,))
        (0.16666666666666669, Bracket(below=0.16666666666666666, at_least=0.16666666666666669))
    """

    def __init__(self, product: Product) -> None:
        self.product = product
        self._product = product.reversed()
        self._tradeoff = Tradeoff(self._product)
        self._prover = Prover(self._product)
        self._cuts: dict[tuple[int, ...], Cut] = {}
        self._brackets: dict[tuple[int, ...], Bracket] = {}

    def value(self, radius: tuple[int, ...]) -> float:
        """Slack, with a relative error of at most `RELATIVE_ERROR`."""
        cut = self._cut(radius)
        if cut.resolves(cut.filled):
            return cut.filled
        return self._prover.value(radius, HALF, cut.log_ratio)

    def bracket(self, radius: tuple[int, ...]) -> Bracket:
        """The proved bracket of slack, computed once."""
        powers = self._product.powers(radius)
        bracket = self._brackets.get(powers)
        if bracket is None:
            for enclosure in self._prover.enclosures(radius, HALF, self._cut(radius).log_ratio):
                bracket = Bracket(float_below(enclosure.lower), float_at_least(enclosure.upper))
                if float_below(enclosure.upper) == bracket.below:  # no float inside
                    break
            if bracket is None:
                raise ArithmeticError(f"no enclosure of slack at radius {radius}")
            self._brackets[powers] = bracket
        return bracket

    def suggests(self, radius: tuple[int, ...], failure: float) -> bool:
        """Whether failure < slack: by floats where their error bound allows, by proof where it is close."""
        if self.needs_proof(radius, failure):
            return self.bracket(radius).certifies(failure) is True
        return failure < self._cut(radius).filled

    def needs_proof(self, radius: tuple[int, ...], failure: float) -> bool:
        """Whether slack is too close to `failure` for floats to tell which is larger."""
        cut = self._cut(radius)
        return abs(cut.filled - failure) <= 2 * (RELATIVE_ERROR * cut.filled + cut.blur)

    def _cut(self, radius: tuple[int, ...]) -> Cut:
        powers = self._product.powers(radius)  # radii that attack every factor alike share one cut
        cut = self._cuts.get(powers)
        if cut is None:
            cut = self._cuts[powers] = self._tradeoff.cut(radius, 0.5, 0.5)
        return cut


@dataclass(frozen=True, slots=True)
class TwoClass:
    """The margin through slack: certified iff failure < slack(R), failure an upper bound on 1 − p_A."""

    slacks: Slacks
    failure: float

    @property
    def product(self) -> Product:
        """The product of channels that a radius is about."""
        return self.slacks.product

    def needs_proof(self, radius: tuple[int, ...]) -> bool:
        """Whether floats do not suffice to suggest an answer, so that it takes a proof."""
        return self.slacks.needs_proof(radius, self.failure)

    def suggests(self, radius: tuple[int, ...]) -> bool:
        """Whether the radius is certified: by floats where their error bound allows, by proof otherwise."""
        return self.slacks.suggests(radius, self.failure)

    def proves(self, radius: tuple[int, ...]) -> bool | None:
        """Whether the radius is certified, proved; None if that is open, which must be read as no."""
        return self.slacks.bracket(radius).certifies(self.failure)


class Tradeoffs:
    """ρ_low and ρ_up of one product, from floats where they resolve it and from a proof where they don't.

    Probabilities come with their complement, since either may be tiny.
    """

    def __init__(self, product: Product) -> None:
        self.tradeoff = Tradeoff(product)
        self.prover = Prover(product)

    def lower(self, radius: tuple[int, ...], p: float, rest: float) -> float:
        """ρ_low(p), with rest = 1 − p."""
        cut = self.tradeoff.cut(radius, p, rest)
        if cut.resolves(cut.filled):
            return cut.filled
        return self.prover.value(radius, _exact(p, rest), cut.log_ratio)

    def upper(self, radius: tuple[int, ...], p: float, rest: float) -> float:
        """ρ_up(p) = 1 − ρ_low(1 − p), with rest = 1 − p."""
        cut = self.tradeoff.cut(radius, rest, p)
        if cut.resolves(cut.unfilled):
            return cut.unfilled
        return self.prover.value(radius, _exact(rest, p), cut.log_ratio, complement=True)


@dataclass(frozen=True, slots=True)
class MultiClass:
    """The margin with every other class bounded by `other` ≤ failure."""

    tradeoffs: Tradeoffs
    failure: float
    other: float

    @property
    def product(self) -> Product:
        """The product of channels that a radius is about."""
        return self.tradeoffs.tradeoff.product

    def needs_proof(self, radius: tuple[int, ...]) -> bool:
        """Whether floats do not suffice to suggest an answer, so that it takes a proof."""
        return min(self.failure, self.other) < SMALLEST

    def suggests(self, radius: tuple[int, ...]) -> bool:
        """Whether the radius is certified: by floats where their error bound allows, by proof otherwise."""
        own, rival = self._cuts(radius)
        margin = own.filled - rival.unfilled
        error = 2 * (RELATIVE_ERROR * (own.filled + rival.unfilled) + own.blur + rival.blur)
        if abs(margin) > error:
            return margin > 0
        return self.proves(radius) is True

    def proves(self, radius: tuple[int, ...]) -> bool | None:
        """Whether the radius is certified, proved; None if that is open, which must be read as no."""
        own, rival = self._cuts(radius)
        enclosures = (
            self.tradeoffs.prover.enclosures(radius, 1 - Fraction(failure), cut.log_ratio)
            for failure, cut in ((self.failure, own), (self.other, rival))
        )
        for mine, theirs in zip(*enclosures, strict=False):
            rivals = theirs.complement()
            if mine.lower > rivals.upper:
                return True
            if mine.upper <= rivals.lower:
                return False
        return None

    def _cuts(self, radius: tuple[int, ...]) -> tuple[Cut, Cut]:
        cut = self.tradeoffs.tradeoff.cut
        return cut(radius, 1 - self.failure, self.failure), cut(radius, 1 - self.other, self.other)


Margin: TypeAlias = TwoClass | MultiClass
"""What decides about radii for one graph."""


def _exact(p: float, rest: float) -> Fraction:
    """The exact p, read from whichever of p and 1 − p is the exact one: the smaller."""
    return Fraction(p) if p <= rest else 1 - Fraction(rest)
