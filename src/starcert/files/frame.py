"""What all archives share: a head, then lists with a line for each entry; names of rows; which errors they raise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath

from starcert.files.untrusted import MAX_BYTES, DisagreementError, MalformedError
from starcert.system.errors import ArchiveError, InvalidParameterError, PrecisionError, WriteError
from starcert.system.files import open_plain


def json_lines(head: Mapping[str, object], lists: Mapping[str, Iterable[object]]) -> Iterator[str]:
    r"""The text of an archive, piece by piece: each member of the head on a line, and each entry of a list.

    Example:
        >>> "".join(json_lines({"version": 1}, {"graphs": [{"name": "a"}, {"name": "b"}]}))
        '{\n"version": 1,\n"graphs": [\n{"name": "a"},\n{"name": "b"}\n]\n}\n'
    """
    yield "{" + ",".join(f'\n"{name}": {json.dumps(value, allow_nan=False)}' for name, value in head.items())
    for name, entries in lists.items():
        yield f',\n"{name}": ['
        for number, entry in enumerate(entries):
            yield f"{',' if number else ''}\n{json.dumps(entry, allow_nan=False)}"
        yield "\n]"
    yield "\n}\n"


@contextmanager
def archive_errors(path: str | PathLike[str] | None = None) -> Iterator[None]:
    """What keeps a file from being written and, given its path, what is wrong in it, as an error of archives."""
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
    """What keeps the claims of a file from being proved again, as an error of archives: too much work, or numbers."""
    try:
        yield
    except DisagreementError:
        raise
    except MalformedError as error:
        raise ArchiveError(fspath(path), f"cannot be proved again: {error}") from None
    except (ArithmeticError, PrecisionError) as error:
        problem = f"cannot be proved again: its numbers leave no room for arithmetic ({error})."
        raise ArchiveError(fspath(path), problem) from error


def begins_as(path: str | PathLike[str], wanted: str) -> bool:
    """Whether a file begins as an archive of this format."""
    try:
        with open_plain(path, MAX_BYTES) as file:
            return re.match(rf'\s*{{\s*"format"\s*:\s*"{wanted}"'.encode(), file.read(100)) is not None
    except OSError:
        return False


def row_names(
    objects: Sequence[int], targets: Sequence[int], names: Sequence[str] | None, labels: Sequence[object]
) -> tuple[str, ...]:
    """What rows are called, and labelled: by default the number of the object, and of the target if one has several."""
    for what, given in (("names", names), ("labels", labels)):
        if given is not None and len(given) != len(objects):
            raise InvalidParameterError(what, f"be one for each of {len(objects)} rows", len(given))
    numbers = zip(objects, targets, strict=True) if any(targets) else zip(objects, strict=True)
    return tuple(".".join(map(str, each)) for each in numbers) if names is None else tuple(map(str, names))
