"""Values of untrusted files: JSON, each value with its place in the file, and packed arrays.

A value is checked when it is converted to its form, and an error names its place. Arrays are unpacked no further than
needed. All files that are not trusted are opened by `opened`.
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
from os import PathLike, fspath
from typing import Any, TypeVar

import msgspec

from starcert.system.errors import ArchiveError, InvalidParameterError, PrecisionError, WriteError
from starcert.system.files import open_plain

MAX_BYTES = 2**29  # of JSON; larger files are refused before they are read
MAX_DEPTH = 100  # of lists and objects within each other
MAX_MEMORY = 3 * 2**28  # bytes of all values of a file
SIZES = {"{": 232, "[": 88, ",": 40}  # bytes of an object, of a list and of what stands in it, about


FormT = TypeVar("FormT")

_WORDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "object": "an object",
          "array": "a list"}  # fmt: skip


class MalformedError(Exception):
    """A sentence about what is wrong, without the name of the file."""


class DisagreementError(ArithmeticError):
    """Two proofs of one claim disagree: a fault in one of them, whatever the file holds."""

    def __str__(self) -> str:
        return f"two proofs disagree {super().__str__()}: please report this as a bug"


def check(holds: bool, name: str, requirement: str, got: object) -> None:
    """Refuses the file, with what must be at a place of it, unless that holds."""
    if not holds:
        where = f"'{shortened(name)}'" if name else "the file"
        raise MalformedError(f"{where} must {requirement}. Got {_SHORT.repr(got)} instead.")


def converted(value: Any, form: type[FormT], name: str = "") -> FormT:  # noqa: ANN401  (JSON: anything at all)
    """A value of a file in a form that msgspec checks; a `MalformedError` says what is wrong, and where.

    Example:
        >>> converted([1, 0.5], list[int])
        Traceback (most recent call last):
        starcert.archive.untrusted.MalformedError: '[1]' must be a whole number. Got 0.5 instead.
        >>> converted([1, "x"], list[int], "counts")
        Traceback (most recent call last):
        starcert.archive.untrusted.MalformedError: 'counts[1]' must be a whole number. Got 'x' instead.
    """
    try:
        return msgspec.convert(value, form)
    except UnicodeEncodeError as error:  # the name of a member
        raise MalformedError(f"'{shortened(str(error.object))}' does not belong there.") from None
    except msgspec.ValidationError as error:
        said, _, path = str(error).rpartition(" - at `$")
        said, path = (said, path[:-1]) if said else (str(error), "")
        place = f"{name}{path}" if name else path.removeprefix(".")
        if names := re.fullmatch(r"Object (missing required|contains unknown) field `(.*)`", said, re.DOTALL):
            member = f"{place}.{names[2]}" if place else names[2]
            what = "is missing" if names[1].startswith("missing") else "does not belong there"
            raise MalformedError(f"'{shortened(member)}' {what}.") from None
        check(False, place.replace("[...]", ""), f"be {_wanted(said)}", _value_at(value, path))
        raise


def _wanted(said: str) -> str:
    """The value that a message of msgspec asks for, in words."""
    kinds, _, limit = said.removeprefix("Expected `").partition("`")
    words = " or ".join(_WORDS.get(kind, kind) for kind in kinds.split(" | "))
    if limit[:4] in (" >= ", " <= "):
        side, number = ("from", limit[4:]) if limit[1] == ">" else ("up to", limit[4:])
        return f"{words} {side} {int(number):,}" if number.lstrip("-").isdigit() else f"{words} {side} {number}"
    return f"{words}{limit.partition(',')[0]}" if said.startswith("Expected") else "a number that is not as large"


def _value_at(value: Any, path: str) -> object:  # noqa: ANN401  (JSON)
    """The value that a path of msgspec leads to; the last one that is known."""
    for member, number in re.findall(r"\.(\w+)|\[(\d+)\]", path.partition("[...]")[0]):
        value = value[member] if member else value[int(number)]
    return value


@contextmanager
def opened(path: str | PathLike[str], advice: str, max_bytes: int = MAX_BYTES) -> Iterator[io.BufferedReader]:
    """A file that is not trusted, to read from, if it is a plain one and not too large."""
    try:
        with open_plain(path, max_bytes) as file:
            yield file
    except OSError as error:
        name = "".join(each if each.isprintable() else repr(each)[1:-1] for each in fspath(path))
        raise ArchiveError(name, f"cannot be read ({error.strerror or error}). {advice}") from error


def read_untrusted(path: str | PathLike[str], advice: str = "Give a file that holds JSON.") -> Any:  # noqa: ANN401
    """The JSON in a file that is not trusted; whatever is wrong with the file is one ArchiveError.

    Texts may have halves of surrogate pairs, as names of files do.
    """
    try:
        with opened(path, advice) as file:
            return parse(file.read().decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason} at byte {error.start:,})."
        raise ArchiveError(fspath(path), f"{problem} {advice}") from None
    except MalformedError as error:
        raise ArchiveError(fspath(path), f"{error} {advice}") from None


def parse(text: str) -> Any:  # noqa: ANN401  (JSON)
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
    return value


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
        raise MalformedError(f"'{shortened(twice)}' stands twice in one object.")
    return members


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise MalformedError(f"the file must hold finite numbers. Got {shortened(text)} instead.")
    return number


def shortened(text: str) -> str:
    """A text of a file as far as a message shows it."""
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


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict = 2, 4, 4
_SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 60, 40, 60
