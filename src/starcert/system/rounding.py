"""Probabilities in sentences: rounded against ourselves, so that no sentence says more than is proved.

"At least" is rounded down and "at most" up, in decimal arithmetic. A float stands for the shortest decimal that names
it: the number that somebody wrote, or that a file shows. What has few digits stays as it is: 1 − 0.01 is "0.99".
"""

from __future__ import annotations

from decimal import MAX_PREC, ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["at_least", "at_most", "fails_at_most", "holds_at_least"]

DIGITS = 6
"""So many digits of a probability are shown."""

DIGITS_OF_REST = 3
"""Close to 1, as many more as it takes to show so many digits of the rest."""

MOST_DECIMALS = 20
"""But no more than these after the point."""

_EXACT = Context(prec=MAX_PREC)


def at_least(p: float, *, decimals: int | None = None) -> str:
    """A probability, rounded down, with a few digits or with so many `decimals`.

    Example:
        >>> at_least(0.99), at_least(0.9687216), at_least(0.9999999), at_least(0.99999999987654)
        ('0.99', '0.968721', '0.9999999', '0.999999999876')
        >>> at_least(0.9999999, decimals=6)
        '0.999999'
    """
    return _rounded(_decimal(p), ROUND_FLOOR, decimals)


def at_most(p: float) -> str:
    """A probability, rounded up.

    Example:
        >>> at_most(0.01), at_most(0.0012345678), at_most(1e-7)
        ('0.01', '0.00123457', '1e-07')
    """
    return _rounded(_decimal(p), ROUND_CEILING, None)


def holds_at_least(alpha: float) -> str:
    """The probability 1 − alpha with which something holds, rounded down.

    Example:
        >>> holds_at_least(0.01), holds_at_least(1e-7)
        ('0.99', '0.9999999')
    """
    return _rounded(_EXACT.subtract(Decimal(1), _decimal(alpha)), ROUND_FLOOR, None)


def fails_at_most(alpha: float, together: int = 1) -> str:
    """The sentence about alpha that belongs beside many certificates.

    Args:
        alpha: the failure probability.
        together: of so many certificates together; 1: of each by itself.

    Example:
        >>> fails_at_most(0.01)
        'Each certificate by itself fails with a probability of at most 0.01.'
        >>> fails_at_most(0.01, 188)
        'All 188 certificates hold together; that any of them fails has a probability of at most 0.01.'
    """
    if together == 1:
        return f"Each certificate by itself fails with a probability of at most {at_most(alpha)}."
    return (
        f"All {together:,} certificates hold together; that any of them fails has a probability of at most "
        f"{at_most(alpha)}."
    )


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def _rounded(number: Decimal, direction: str, decimals: int | None) -> str:
    shown = _places(number) if decimals is None else decimals
    rounded = number.quantize(Decimal(1).scaleb(-shown), rounding=direction, context=_EXACT)
    return f"{rounded:f}" if decimals is not None else _text(rounded)


def _places(number: Decimal) -> int:
    """How many decimals to show."""
    rest = _EXACT.subtract(Decimal(1), number)
    places = DIGITS - 1 - number.adjusted() if number else 0
    close = DIGITS_OF_REST - 1 - rest.adjusted() if rest else 0
    return max(places, min(close, MOST_DECIMALS))


def _text(number: Decimal) -> str:
    """Without zeros at the end, and with an exponent where `:g` has one."""
    short = number.normalize(_EXACT)
    if short and short.adjusted() < -4:
        digits, _, power = f"{short:e}".partition("e")
        return f"{digits}e{int(power):+03d}"
    return f"{short:f}"
