"""Values of a JSON file that nobody vouches for, each with its place in the file.

Whatever is taken out is checked on the way, and what is wrong is said with the name of the field.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from typing import Any, NoReturn

__all__ = ["Field", "MalformedError", "parse"]


class MalformedError(Exception):
    """A sentence about what is wrong, without the name of the file."""


class Field:
    """A value and where it stands.

    Example:
        >>> Field({"alpha": "low"}, "").members("alpha")["alpha"].number()
        Traceback (most recent call last):
        starcert.files.fields.MalformedError: 'alpha' must be a number. Got 'low' instead.
    """

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:  # noqa: ANN401  (JSON: anything at all)
        self.value = value
        self.name = name

    def refuse(self, requirement: str) -> NoReturn:
        """Says what the field must be."""
        where = f"'{self.name}'" if self.name else "the file"
        raise MalformedError(f"{where} must {requirement}. Got {_SHORT.repr(self.value)} instead.")

    def members(self, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Field]:
        """The members of an object that has these and no others."""
        inside = self.mapping()
        for name in names:
            if name not in inside:
                raise MalformedError(f"'{self._inner(name)}' is missing.")
        for name in inside:
            if name not in names and name not in optional:
                raise MalformedError(f"'{_short(self._inner(name))}' does not belong there.")
        return {name: Field(value, self._inner(name)) for name, value in inside.items()}

    def mapping(self) -> dict[str, Any]:
        """An object, with any members."""
        if not isinstance(self.value, dict):
            self.refuse("be an object")
        return self.value

    def items(self) -> list[Field]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            self.refuse("be a list")
        return [Field(value, f"{self.name}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse("be text")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse("be true or false")
        return self.value

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or abs(self.value) > 1e300:
            self.refuse("be a number")
        return float(self.value)

    def probability(self) -> float:
        """A number from 0 to 1."""
        if not 0 <= (number := self.number()) <= 1:
            self.refuse("be a probability from 0 to 1")
        return number

    def whole(self, most: int) -> int:
        """A whole number from 0 to `most`."""
        if type(self.value) is not int or not 0 <= self.value <= most:
            self.refuse(f"be a whole number from 0 to {most:,}")
        return int(self.value)

    def wholes(self, length: int, most: int) -> tuple[int, ...]:
        """A list of so many whole numbers from 0 to `most`."""
        if not isinstance(self.value, list) or len(self.value) != length:
            self.refuse(f"be a list of {length} whole numbers")
        for item in self.value:
            if type(item) is not int or not 0 <= item <= most:
                self.refuse(f"hold whole numbers from 0 to {most:,}")
        return tuple(self.value)

    def _inner(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


def parse(text: str) -> Field:
    """The whole of a JSON text: no key twice, no number that is none, no nesting without end."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
    except RecursionError:
        raise MalformedError("the file is nested too deeply to be a file of certificates.") from None
    except ValueError as error:  # also a whole number of thousands of digits
        raise MalformedError(f"the file is no whole JSON ({error}).") from None
    return Field(value, "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise MalformedError(f"'{_short(twice)}' stands twice in one object.")
    return members


def _constant(name: str) -> NoReturn:
    raise MalformedError(f"the file must hold finite numbers. Got {name} instead.")


def _float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise MalformedError(f"the file must hold finite numbers. Got {_short(text)} instead.")
    return number


def _short(text: str) -> str:
    return _SHORT.repr(text)[1:-1]


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict = 2, 4, 4
_SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 60, 40, 60
