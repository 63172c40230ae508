"""Which graph lies in which part of the data: train, validation or test, as a file of the user's says.

A file `*.json` lists for each part the indices of its graphs, from 0, or their names; a file `*.csv` has the columns
`name` and `part`. A graph may lie in no part. Data in a table may say it themselves, in a column that the setting
`columns` names. Without any of these, parts are drawn (`RunData.part`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from starcert.runs.columns import LONGEST, part_named, read_table
from starcert.runs.graph_files import RunData
from starcert.system.errors import InvalidParameterError, StarcertError

__all__ = ["divided"]

_EXAMPLE = '{"train": [0, 1, 2], "validation": [3], "test": [4, 5]}'


def divided(data: RunData, splits: Path) -> RunData:
    """The data with the parts that a file gives them.

    Raises:
        StarcertError: names the file, and the graph that is not there, or that lies in two parts.
    """
    if data.parts is not None:
        hint = "Take one of the two out."
        raise InvalidParameterError(
            "splits", "be left out where a column of the data says the parts", str(splits), hint
        )
    places = _Places(data, splits)
    parts: list[str | None] = [None] * len(data)
    for part, given, where in _said_in(splits):
        place = places.of(given, where)
        if parts[place] is not None:
            twice = f"twice in {part}" if parts[place] == part else f"in {parts[place]} and in {part}"
            raise StarcertError(f"{where}: graph {data.names[place]!r} lies {twice}. Let it lie in one part, once.")
        parts[place] = part
    return replace(data, parts=tuple(parts))


def _said_in(path: Path) -> Iterator[tuple[str, int | str, str]]:
    """Each part with one of its graphs, and where that is said."""
    if path.suffix.lower() == ".csv":
        for number, row in read_table(path, {}, needed=("name", "part")):
            where = f"{path}, line {number}"
            part = part_named(row["part"], where)
            if part is not None:
                yield part, row["name"], where
        return
    for key, graphs in _json_in(path).items():
        part = part_named(key, str(path))
        if part is None or not isinstance(graphs, list):
            raise StarcertError(f"{path}: {key!r} must be a part with a list of its graphs. For example {_EXAMPLE}.")
        for each in graphs:
            yield part, each, str(path)


def _json_in(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:LONGEST]
        raise StarcertError(f"{path}: is no JSON: {reason}. For example {_EXAMPLE}.") from error
    if not isinstance(found, dict):
        raise StarcertError(f"{path}: must map each part to a list of its graphs. For example {_EXAMPLE}.")
    return found


class _Places:
    """Finds graphs by their indices and by their names."""

    def __init__(self, data: RunData, path: Path) -> None:
        self._names, self._path = data.names, path
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(data.names):
            self._by_name[name].append(place)

    def of(self, given: object, where: str) -> int:
        """The place of the graph that is meant."""
        if isinstance(given, int) and not isinstance(given, bool):
            if not 0 <= given < len(self._names):
                last = len(self._names) - 1
                raise StarcertError(f"{where}: there is no graph {given}. Indices go from 0 to {last}.")
            return given
        if not isinstance(given, str):
            shown = repr(given)[:LONGEST]
            raise StarcertError(f"{where}: {shown} is no graph. Give indices from 0, or names of graphs.")
        found: Sequence[int] = self._by_name.get(given, ())
        if len(found) == 1:
            return found[0]
        if found:
            raise StarcertError(f"{where}: {len(found)} graphs are called {given[:LONGEST]!r}. Give indices, in JSON.")
        close = get_close_matches(given[:LONGEST], self._by_name, n=1) or list(self._names[:1])
        raise StarcertError(f"{where}: no graph is called {given[:LONGEST]!r}; {close[0][:LONGEST]!r} is.")
