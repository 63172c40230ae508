"""Values of untrusted files: JSON, each value with its place in the file, and packed arrays.

Every value is checked when it is taken, and an error names the field. Arrays are unpacked no further than needed. All
files that are not trusted are opened by `opened`.
"""

from __future__ import annotations

import io
import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from starcert.system.errors import ArchiveError, InvalidParameterError, PrecisionError, WriteError
from starcert.system.files import open_plain

VERSION = 1  # of archives
MAX_BYTES = 2**29  # of JSON; larger files are refused before they are read
MAX_DEPTH = 100  # of lists and objects within each other
MAX_MEMORY = 3 * 2**28  # bytes of all values of a file
SIZES = {"{": 232, "[": 88, ",": 40}  # bytes of an object, of a list and of what stands in it, about


class MalformedError(Exception):
    """A sentence about what is wrong, without the name of the file."""


class DisagreementError(ArithmeticError):
    """Two proofs of one claim disagree: a fault in one of them, whatever the file holds."""

    def __str__(self) -> str:
        return f"two proofs disagree {super().__str__()}: please report this as a bug"


@dataclass(frozen=True, slots=True)
class Field:
    """A value and where it stands."""

    value: Any  # JSON: anything at all
    name: str

    def check(self, holds: bool, requirement: str) -> None:
        """Refuses the file, with what the field must be, unless that holds."""
        if not holds:
            where = f"'{self.name}'" if self.name else "the file"
            raise MalformedError(f"{where} must {requirement}. Got {_SHORT.repr(self.value)} instead.")

    def members(self, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Field]:
        """The members of an object that has these and no others."""
        inside, prefix = self.mapping(), f"{self.name}." if self.name else ""
        for name in names:
            if name not in inside:
                raise MalformedError(f"'{prefix}{name}' is missing.")
        for name in inside:
            if name not in names and name not in optional:
                raise MalformedError(f"'{_short(prefix + name)}' does not belong there.")
        return {name: Field(value, _short(prefix + name)) for name, value in inside.items()}

    def mapping(self) -> dict[str, Any]:
        """An object, with any members."""
        self.check(isinstance(self.value, dict), "be an object")
        return dict(self.value)

    def items(self) -> list[Field]:
        """The entries of a list."""
        self.check(isinstance(self.value, list), "be a list")
        return [Field(value, f"{self.name}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        self.check(isinstance(self.value, str), "be text")
        return str(self.value)

    def writable(self) -> str:
        """A text that can be written to any file: JSON can name half of a surrogate pair, and UTF-8 has no such."""
        self.check(not _HALVES.search(self.text()), "hold no half of a surrogate pair, which no text file can hold")
        return self.text()

    def flag(self) -> bool:
        """True or false."""
        self.check(isinstance(self.value, bool), "be true or false")
        return bool(self.value)

    def number(self) -> float:
        """A finite number."""
        self.check(type(self.value) in (int, float) and abs(self.value) <= 1e300, "be a number")
        return float(self.value)

    def probability(self) -> float:
        """A number from 0 to 1."""
        self.check(0 <= self.number() <= 1, "be a probability from 0 to 1")
        return self.number()

    def whole(self, most: int) -> int:
        """A whole number from 0 to `most`."""
        self.check(type(self.value) is int and 0 <= self.value <= most, f"be a whole number from 0 to {most:,}")
        return int(self.value)

    def wholes(self, length: int, most: int) -> tuple[int, ...]:
        """A list of this many whole numbers from 0 to `most`."""
        right_length = isinstance(self.value, list) and len(self.value) == length
        self.check(right_length, f"be a list of {length} whole numbers")
        inside = all(type(item) is int and 0 <= item <= most for item in self.value)
        self.check(inside, f"hold whole numbers from 0 to {most:,}")
        return tuple(self.value)


@contextmanager
def opened(path: str | PathLike[str], advice: str, max_bytes: int = MAX_BYTES) -> Iterator[io.BufferedReader]:
    """A file that is not trusted, to read from, if it is a plain one and not too large."""
    try:
        with open_plain(path, max_bytes) as file:
            yield file
    except OSError as error:
        name = "".join(each if each.isprintable() else repr(each)[1:-1] for each in fspath(path))
        raise ArchiveError(name, f"cannot be read ({error.strerror or error}). {advice}") from error


def read_untrusted(path: str | PathLike[str], advice: str = "Give a file that holds JSON.") -> Field:
    """The JSON in a file that is not trusted; whatever is wrong with the file is one ArchiveError.

    Texts may have halves of surrogate pairs, as names of files do: `Field.writable` refuses them where a text is
    written elsewhere.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open(f"{folder}/method.json", "w") as file:
        ...         _ = file.write('{"method": "mine", "objects": 3}')
        ...     inside = read_untrusted(f"{folder}/method.json").members("method", "objects")
        >>> inside["method"].writable(), inside["objects"].whole(10)
        ('mine', 3)
    """
    try:
        with opened(path, advice) as file:
            return parse(file.read().decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason} at byte {error.start:,})."
        raise ArchiveError(fspath(path), f"{problem} {advice}") from None
    except MalformedError as error:
        raise ArchiveError(fspath(path), f"{error} {advice}") from None


def parse(text: str) -> Field:
    """The value of a JSON text: no key twice, finite numbers only, no endless nesting, not many times its size."""
    if (size := sum(text.count(sign) * each for sign, each in SIZES.items())) > MAX_MEMORY:
        raise MalformedError(f"its values take about {size:,} bytes of memory; more than {MAX_MEMORY:,} are not read.")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)
        too_deep = _depth(value) > MAX_DEPTH
    except RecursionError:
        too_deep = True
    except ValueError as error:  # also a whole number of thousands of digits
        raise MalformedError(f"the file is not complete JSON ({error}).") from None
    if too_deep:
        raise MalformedError(f"the file is nested too deeply: more than {MAX_DEPTH} lists and objects in each other.")
    return Field(value, "")


def _depth(value: object) -> int:
    """The nesting depth of lists and objects."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise MalformedError(f"'{_short(twice)}' stands twice in one object.")
    return members


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise MalformedError(f"the file must hold finite numbers. Got {_short(text)} instead.")
    return number


def _short(text: str) -> str:
    return text if len(text) <= _SHORT.maxstring and text.isprintable() else _SHORT.repr(text)[1:-1]


@contextmanager
def archive_errors(path: str | PathLike[str] | None = None) -> Iterator[None]:
    """Turns errors in writing a file, and, given its path, in its content, into errors of archives."""
    try:
        yield
    except WriteError as error:
        raise ArchiveError(error.filename, error.problem) from error
    except (MalformedError, InvalidParameterError, OverflowError) as error:
        if path is None:
            raise
        raise ArchiveError(fspath(path), str(error)) from None


@contextmanager
def proof_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Turns obstacles to proving the claims of a file again into errors of archives: too much work, or numbers."""
    try:
        yield
    except DisagreementError:
        raise
    except MalformedError as error:
        raise ArchiveError(fspath(path), f"cannot be proved again: {error}") from None
    except (ArithmeticError, PrecisionError) as error:
        problem = f"cannot be proved again: its numbers leave no room for arithmetic ({error})."
        raise ArchiveError(fspath(path), problem) from error


_HALVES = re.compile("[\ud800-\udfff]")
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict = 2, 4, 4
_SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 60, 40, 60
