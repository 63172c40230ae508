"""What all archives share: a head, then lists with a line for each entry; names of rows; which errors they raise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath

from starcert.files.untrusted import MalformedError
from starcert.system.errors import ArchiveError, InvalidParameterError, WriteError
from starcert.system.plugins import PluginError


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
def write_errors() -> Iterator[None]:
    """What keeps a file from being written, as an error of archives."""
    try:
        yield
    except WriteError as error:
        raise ArchiveError(error.filename, error.problem) from error


@contextmanager
def read_errors(path: str | PathLike[str]) -> Iterator[None]:
    """What is wrong with the content of a file, as an error of archives."""
    try:
        yield
    except (MalformedError, InvalidParameterError, PluginError) as error:
        raise ArchiveError(fspath(path), str(error)) from None


def begins_as(path: str | PathLike[str], wanted: str) -> bool:
    """Whether a file begins as an archive of this format."""
    try:
        with open(path, "rb") as file:
            return re.match(rf'\s*{{\s*"format"\s*:\s*"{wanted}"'.encode(), file.read(100)) is not None
    except OSError:
        return False


def row_names(objects: Sequence[int], targets: Sequence[int], names: Sequence[str] | None) -> tuple[str, ...]:
    """What rows are called: by default the number of the object, with that of the target if one has several."""
    if names is not None:
        check_rows("names", names, len(objects))
        return tuple(map(str, names))
    several = any(targets)
    pairs = zip(objects, targets, strict=True)
    return tuple(f"{number}.{target}" if several else str(number) for number, target in pairs)


def check_rows(name: str, given: Sequence[object], n_rows: int) -> None:
    """Refuses a parameter that is not one value for each row."""
    if len(given) != n_rows:
        raise InvalidParameterError(name, f"be one for each of {n_rows} rows", len(given))


def word_of(settings: Mapping[str, object], *, nodes: bool) -> str:
    """What a row is about: a node, a graph, or what the settings call the objects."""
    return "node" if nodes else str(settings.get("objects", "graphs")).removesuffix("s")
