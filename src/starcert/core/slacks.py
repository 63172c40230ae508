"""The slack of every radius of one product of channels: computed on demand, proved on demand, remembered.

    slack(R) = 1 − (least p_A that certifies R in the two-class margin);   R is certified iff 1 − p_A < slack(R).

Slack depends on the noise alone. Once it is enclosed so tightly that no float lies inside, every question
"is the failure probability f below slack(R)?" is a comparison of two floats, and a proved one: f < slack(R)
iff f ≤ the largest float below slack(R).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from starcert.core.balls import float_at_least, float_below
from starcert.core.channels import Product
from starcert.core.exact import Prover
from starcert.core.tradeoff import RELATIVE_ERROR, Cut, Tradeoff

__all__ = ["Bracket", "Slacks"]


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
    """Slack, seen as ρ_low(1/2) of the reversed product (see `tradeoff`).

    Example:
        >>> from starcert.core.channels import Channel
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


HALF = Fraction(1, 2)
