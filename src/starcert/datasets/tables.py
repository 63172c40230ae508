"""Tables in text: which column holds what, the classes and parts of rows, and messages that name the line.

The setting `columns` names columns that are not called `smiles`, `label` or `name`, and the column of parts.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from starcert.datasets.dataset import Dataset
from starcert.objects import CleanObject
from starcert.objects.columns import MAX_DIGITS, natural_key
from starcert.system.errors import InvalidParameterError, StarcertError

Columns = Mapping[str, str]  # from what a column holds (`COLUMN_ROLES`) to its name

Row = tuple[int, dict[str, str]]  # the number of a line, and its cells by role

MAX_SHOWN = 200  # a message shows at most this many characters of a name
_MAX_COLUMNS_SHOWN = 20
_MAX_CLASS_NUMBER = 1000
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_PARTS = {"train": "train", "training": "train", "test": "test", "": None}
_PARTS |= dict.fromkeys(("validation", "valid", "val"), "validation")


def read_table(path: Path, columns: Columns, *, needed: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """The rows of a table with the cells of these roles; empty rows are left out."""
    for role in columns:
        if role not in (*needed, *optional):
            refuse_columns({role: columns[role]}, f"{path} has no use for it")
    header, rows = parse_table(path)
    lower = [name.lower() for name in header]
    found = [role for role in optional if role in columns or (role != "part" and role in lower)]
    missing = ["label"] if "label" in optional and "label" not in found else []
    places = {role: _place(path, header, role, columns, needed, missing) for role in (*needed, *found)}
    return [(number, {role: row[place] for role, place in places.items()}) for number, row in rows]


def parse_table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns, and the cells of each line that is not empty, with its number."""
    reader = csv.reader(lines_of(path))
    rows = []
    try:
        for number, row in enumerate(reader, start=1):
            if reader.line_num != number:
                refuse_line(path, number, "a cell in quotes goes on in the next line; close the quotes in this one")
            rows.append((number, [cell.strip() for cell in row]))
    except csv.Error as error:
        raise StarcertError(f"{path}: is not a table: {error}.") from error
    header = rows[0][1] if rows else []
    kept = [(number, row) for number, row in rows[1:] if any(row)]
    for number, row in kept:
        if len(row) != len(header):
            refuse_line(path, number, f"has {len(row)} cells, the first line {len(header)}")
    return header, kept


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
    hint = "Columns are those of a .csv file, or of labels.csv in a folder of graphs; label is one of a PyG file too."
    given = ",".join(f"{role}={name}" for role, name in columns.items())
    raise InvalidParameterError("columns", f"cannot be {given}: {reason}. {hint}")


def refuse_line(path: Path, number: int, problem: str) -> NoReturn:
    """Refuses a file for what stands on a line."""
    raise StarcertError(f"{path}, line {number}: {problem}.")


def lines_of(path: Path) -> list[str]:
    """The lines of a file, which must be text."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise StarcertError(f"{path}: is not text in UTF-8: {error}.") from error


def are_class_numbers(values: Collection[int]) -> bool:
    """True if whole numbers are class numbers, some of which may not occur; far apart, they are names of classes."""
    return min(values) >= 0 and max(values) < max(_MAX_CLASS_NUMBER, len(set(values)))


def measurement_in(names: Sequence[str]) -> str | None:
    """A name of a class that is a number with a fraction, where all of them are numbers; None: they are classes."""
    numeric = all(map(_NUMBER.fullmatch, names))
    return next((text for text in names if numeric and math.isfinite(float(text)) and float(text) % 1), None)


def number_labels(labels: list[str]) -> tuple[list[int | None], tuple[str, ...], bool]:
    """Classes from labels as text ("": not known), the names of the classes, and whether labels are class numbers.

    Labels that are whole numbers from 0, not too far apart, are class numbers (1.0 is 1); others are numbered in their
    order. Numbers that are not all whole are measurements: `measurement_in` finds one.

    Example:
        >>> number_labels(["ring", "star", "", "ring"]), number_labels(["2", "0"])
        (([0, 1, None, 0], ('ring', 'star'), False), ([2, 0], ('0', '1', '2'), True))
    """
    if all(re.fullmatch(r"(-?\d+(\.0*)?)?", label) for label in labels):
        labels = [label.partition(".")[0] for label in labels]
    texts = sorted({label for label in labels if label}, key=natural_key)
    whole = all(re.fullmatch(r"-?\d+", text) and len(text) <= MAX_DIGITS for text in texts)
    if whole:
        texts.sort(key=int)
    numbered = bool(texts) and whole and int(texts[0]) == 0 and are_class_numbers(set(map(int, texts)))
    numbers = {text: int(text) if numbered else place for place, text in enumerate(texts)}
    class_names = map(str, range(int(texts[-1]) + 1)) if numbered else texts
    return [numbers.get(label) for label in labels], tuple(class_names), numbered


def part_named(word: str, where: str) -> str | None:
    """The part that a word means, whatever its case; "" means none."""
    known = word.strip().lower()
    if known not in _PARTS:
        hint = "There are train, validation and test; leave it empty for none."
        raise StarcertError(f"{where}: {word[:MAX_SHOWN]!r} is not a part. {hint}")
    return _PARTS[known]


def labelled(graphs: Sequence[CleanObject], names: list[str], rows: Sequence[Row], path: Path) -> Dataset:
    """Graphs or other objects with the classes and the parts in the rows of a table, as far as it has such columns."""
    given: dict[str, Any] = {}
    if "label" in rows[0][1]:
        labels, class_names, numbered = number_labels([row["label"] for _, row in rows])
        given = {"labels": labels, "label_names": class_names, "numbered": numbered}
    if "part" in rows[0][1]:
        given["parts"] = [part_named(row["part"], f"{path}, line {number}") for number, row in rows]
    return Dataset(graphs, names=names, **given)
