"""Parameters that are numbers, checked once when a rule is made."""

from __future__ import annotations

import math
import numbers

from starcert.errors import InvalidParameterError

__all__ = ["positive", "share", "whole"]


def whole(value: object, parameter: str, least: int) -> int:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidParameterError(parameter, f"be a whole number, {least} or more", value)
    return int(value)


def positive(value: object, parameter: str) -> float:
    """A finite number above 0."""
    if not _is_number(value) or not 0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise InvalidParameterError(parameter, "be a number above 0", value)
    return float(value)  # type: ignore[arg-type]


def share(value: object, parameter: str) -> float:
    """A number from 0 to 1."""
    if not _is_number(value) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        raise InvalidParameterError(parameter, "be a number from 0 to 1", value)
    return float(value)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
