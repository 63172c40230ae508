"""Tables with a header line: which column holds what, classes from labels, and which graph lies in which part.

The setting `columns` names columns that are not called `smiles`, `label` or `name`, and the column of parts.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from starcert.datasets.dataset import Dataset, stratified_parts
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

Columns = Mapping[str, str]
"""From what a column holds (`COLUMN_ROLES`) to its name."""

Row = tuple[int, dict[str, str]]
"""The number of a line, and its cells by role."""

MAX_SHOWN = 200  # a message shows at most this many characters of a name

MAX_DIGITS = 1000  # longer numbers are read as names: Python refuses to parse numbers of several thousand digits

_MAX_COLUMNS_SHOWN = 20
_MAX_CLASS_NUMBER = 1000
_FRACTIONS = (0.8, 0.1, 0.1)
_PARTS = {"train": "train", "training": "train", "test": "test", "": None} | dict.fromkeys(
    ("validation", "valid", "val"), "validation"
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_SPLITS_EXAMPLE = '{"train": [0, 1, 2], "validation": [3], "test": [4, 5]}'


def read_table(path: Path, columns: Columns, *, needed: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """The rows of a table with the cells of these roles; empty rows are left out."""
    for role in columns:
        if role not in (*needed, *optional):
            refuse_columns({role: columns[role]}, f"{path} has no use for it")
    rows = _rows_of(path)
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    lower = [name.lower() for name in header]
    found = [role for role in optional if role in columns or (role != "part" and role in lower)]
    missing = ["label"] if "label" in optional and "label" not in found else []
    places = {role: _place(path, header, role, columns, needed, missing) for role in (*needed, *found)}
    kept = []
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            refuse_line(path, number, f"has {len(row)} cells, the first line {len(header)}")
        kept.append((number, {role: row[place].strip() for role, place in places.items()}))
    return kept


def _place(
    path: Path, header: list[str], role: str, columns: Columns, needed: Sequence[str], missing: Sequence[str]
) -> int:
    """Which column has a role; case matters only if several names differ in nothing else."""
    name = columns.get(role, role)
    lower = [each.lower() for each in header]
    exact = [place for place, each in enumerate(header) if each == name]
    found = exact or [place for place, each in enumerate(lower) if each == name.lower()]
    if len(found) == 1:
        return found[0]
    more = len(header) - _MAX_COLUMNS_SHOWN
    listed = ", ".join(header[:_MAX_COLUMNS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if found:
        refuse_line(path, 1, f"names the column {name} {len(found)} times; rename all but one ({listed})")

    def likely(wanted: str) -> str:
        close = get_close_matches(columns.get(wanted, wanted).lower(), lower, n=1)
        return header[lower.index(close[0])] if close else "COLUMN"

    names = [columns.get(each, each) for each in needed]
    what = f"a column {name}" if len(names) < 2 or role not in needed else f"the columns {' and '.join(names)}"
    option = ",".join(f"{each}={likely(each)}" for each in (role, *missing))
    raise StarcertError(
        f"{path}, line 1: must name {what}. It has {listed or 'none'}. Say which column it is: --columns {option}."
    )


def refuse_columns(columns: Columns, reason: str) -> NoReturn:
    """Refuses the setting `columns` for data that have no such columns."""
    hint = "Columns are those of a .csv file with SMILES strings, or of labels.csv in a folder of graphs."
    given = ",".join(f"{role}={name}" for role, name in columns.items())
    raise InvalidParameterError("columns", f"be left out: {reason}", given, hint)


def refuse_line(path: Path, number: int, problem: str) -> NoReturn:
    """Refuses a line of a file."""
    raise StarcertError(f"{path}, line {number}: {problem}.")


def lines_of(path: Path) -> list[str]:
    """The lines of a text file."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise StarcertError(f"{path}: is not text in UTF-8: {error}.") from error


def _rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines_of(path))
    try:
        for number, row in enumerate(reader, start=1):
            if reader.line_num != number:
                refuse_line(path, number, "a cell in quotes goes on in the next line; close the quotes in this one")
            yield number, row
    except csv.Error as error:
        raise StarcertError(f"{path}: is not a table: {error}.") from error


def are_class_numbers(values: Collection[int]) -> bool:
    """Whether whole numbers are class numbers, some of which may not occur; far apart, they are names of classes."""
    return min(values) >= 0 and max(values) < max(_MAX_CLASS_NUMBER, len(set(values)))


def number_labels(labels: list[str], where: str = "labels") -> tuple[list[int | None], tuple[str, ...], bool]:
    """Classes from labels as text ("": not known), the names of the classes, and whether labels are class numbers.

    Labels that are whole numbers from 0, not too far apart, are class numbers (1.0 is 1); others are numbered in their
    order. Numbers that are not all whole are measurements, and refused.

    Example:
        >>> number_labels(["ring", "star", "", "ring"]), number_labels(["2", "0"])
        (([0, 1, None, 0], ('ring', 'star'), False), ([2, 0], ('0', '1', '2'), True))
    """
    if all(re.fullmatch(r"(-?\d+(\.0*)?)?", label) for label in labels):
        labels = [label.partition(".")[0] for label in labels]
    texts = sorted({label for label in labels if label}, key=natural_key)
    numeric = all(map(_NUMBER.fullmatch, texts))
    fraction = next((text for text in texts if numeric and math.isfinite(float(text)) and float(text) % 1), None)
    if fraction is not None:
        raise StarcertError(
            f"{where}: {fraction} is a measurement, not a class; there are {len(texts)} different numbers. Divide them "
            "into classes first, give them names, or choose another column of a table: --columns label=COLUMN."
        )
    whole = all(re.fullmatch(r"-?\d+", text) and len(text) <= MAX_DIGITS for text in texts)
    if whole:
        texts.sort(key=int)
    numbered = bool(texts) and whole and int(texts[0]) == 0 and are_class_numbers(set(map(int, texts)))
    numbers = {text: int(text) if numbered else place for place, text in enumerate(texts)}
    class_names = map(str, range(int(texts[-1]) + 1)) if numbered else texts
    return [numbers.get(label) for label in labels], tuple(class_names), numbered


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts graph2 before graph10."""
    parts = re.split(r"(\d+)", name)
    return tuple((int(p), "") if p.isdecimal() and len(p) <= MAX_DIGITS else (-1, p) for p in parts)


def part_named(word: str, where: str) -> str | None:
    """The part that a word means, whatever its case; "" means none."""
    known = word.strip().lower()
    if known not in _PARTS:
        hint = "There are train, validation and test; leave it empty for none."
        raise StarcertError(f"{where}: {word[:MAX_SHOWN]!r} is not a part. {hint}")
    return _PARTS[known]


def divided(data: Dataset, splits: Path) -> Dataset:
    """The data with the parts in a file: lists of indices or names by part (.json), or columns name and part (.csv)."""
    if data.parts is not None:
        requirement = "be left out where a column of the data says the parts"
        raise InvalidParameterError("splits", requirement, str(splits), "Take one of the two out.")
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(data.names):
        places[name].append(place)
    parts: list[str | None] = [None] * len(data)
    for part, graph, where in _splits_in(splits):
        place = _place_of(graph, places, data.names, where)
        if parts[place] is not None:
            twice = f"twice in {part}" if parts[place] == part else f"in {parts[place]} and in {part}"
            raise StarcertError(f"{where}: graph {data.names[place]!r} lies {twice}. Let it lie in one part, once.")
        parts[place] = part
    return replace(data, parts=tuple(parts))


def _splits_in(path: Path) -> Iterator[tuple[str, object, str]]:
    """Each part with one of its graphs, and where that is written."""
    if path.suffix.lower() == ".csv":
        for number, row in read_table(path, {}, needed=("name", "part")):
            if (part := part_named(row["part"], where := f"{path}, line {number}")) is not None:
                yield part, row["name"], where
        return
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:MAX_SHOWN]
        raise StarcertError(f"{path}: is not JSON: {reason}. For example {_SPLITS_EXAMPLE}.") from error
    if not isinstance(found, dict):
        raise StarcertError(f"{path}: must map each part to a list of its graphs. For example {_SPLITS_EXAMPLE}.")
    for key, graphs in found.items():
        part = part_named(key, str(path))
        if part is None or not isinstance(graphs, list):
            must = "must be a part with a list of its graphs"
            raise StarcertError(f"{path}: {key!r} {must}. For example {_SPLITS_EXAMPLE}.")
        for graph in graphs:
            yield part, graph, str(path)


def _place_of(graph: object, places: Mapping[str, list[int]], names: Sequence[str], where: str) -> int:
    if isinstance(graph, int) and not isinstance(graph, bool):
        if not 0 <= graph < len(names):
            raise StarcertError(f"{where}: there is no graph {graph}. Indices go from 0 to {len(names) - 1}.")
        return graph
    shown = repr(graph[:MAX_SHOWN]) if isinstance(graph, str) else repr(graph)[:MAX_SHOWN]
    if not isinstance(graph, str):
        raise StarcertError(f"{where}: {shown} is not a graph. Give indices from 0, or names of graphs.")
    found = places.get(graph, [])
    if len(found) > 1:
        raise StarcertError(f"{where}: {len(found)} graphs are called {shown}. Give indices, in JSON.")
    if not found:
        hint = did_you_mean(graph[:MAX_SHOWN], places, f"Names are such as {names[0][:MAX_SHOWN]!r}.")
        raise StarcertError(f"{where}: no graph is called {shown}. {hint}")
    return found[0]


def part_of(data: Dataset, name: str, seed: int) -> Dataset:
    """A part of the data: "all", or "train", "validation" or "test"; refused if it is empty."""
    if name == "all":
        return data
    if (found := part_if_any(data, name, seed)) is not None:
        return found
    if data.parts is None:
        raise StarcertError(f'The {name} part of {len(data)} graphs is empty. Use split = "all".')
    sizes = Counter(part for part in data.parts if part)
    there = ", ".join(f"{part} has {n}" for part, n in sizes.items()) or "no part has any"
    raise StarcertError(f"The {name} part of {len(data)} graphs is empty ({there}). Choose another --split.")


def part_if_any(data: Dataset, name: str, seed: int) -> Dataset | None:
    """The part "train", "validation" or "test", 80%, 10% and 10% of every class or the user's own; None if empty."""
    if data.parts is not None:
        which = [place for place, part in enumerate(data.parts) if part == name]
    elif data.labels.dtype == object:
        hint = 'Use split = "all", or put the graphs to certify into a folder of their own. Where a table calls the '
        hint += "column of classes otherwise than label: --columns label=COLUMN."
        raise InvalidParameterError("split", "be all for data without classes", name, hint)
    else:
        drawn = stratified_parts(data.labels, _FRACTIONS, seed)
        which = sorted(dict(zip(("train", "validation", "test"), drawn, strict=True))[name].tolist())
    return data[which] if which else None
