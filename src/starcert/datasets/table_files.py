"""Tables of categories in a file .csv: a row each, every column with values of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from starcert.datasets.dataset import Dataset, numbered_names
from starcert.datasets.tables import Columns, Row, labelled, parse_table, read_table
from starcert.objects import Categories
from starcert.objects.columns import natural_key
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

Alphabets = Mapping[str, Sequence[str] | int]  # by column all values that there may be, or how many
MAX_VALUES = 256  # of a column of categories
ROLES = ("label", "name", "part")


def read_categories(path: Path, columns: Columns, alphabets: Alphabets) -> Dataset:
    """The rows of a table: a column for the classes, perhaps some for names and parts; all others are categories.

    The role `skip` names columns that are left out, with slashes between them. A column has the values in `alphabets`,
    or those that occur in the file, in their order. A whole number there means the values 0, 1, … below it.
    """
    if path.suffix != ".csv":
        hint = "Write the table as .csv, with the names of the columns in its first line."
        raise InvalidParameterError("data", "be a file .csv for the kind table", str(path), hint)
    header, lines = parse_table(path)
    roles = {role: name for role, name in columns.items() if role != "skip"}
    skipped = _skipped(columns.get("skip", ""), header)
    rows = read_table(path, roles, needed=(), optional=ROLES)
    if not rows:
        raise StarcertError(f"{path}: has no rows below its first line. Write one for each object.")
    taken = {roles.get(role, role).lower() for role in rows[0][1]} | set(map(str.lower, skipped))
    names = [name for name in header if name.lower() not in taken]
    if not names:
        raise StarcertError(f"{path}: has no column of categories beside {', '.join(header)}. Write some.")
    for name in alphabets:
        if name not in names:
            hint = did_you_mean(name, names, f"There are {', '.join(names[:20])}.")
            raise InvalidParameterError("alphabets", "name columns of categories in the table", name, hint)
    places = [header.index(name) for name in names]
    cells = [[line[place] for place in places] for _, line in lines]
    values = {name: _values(path, name, [row[place] for row in cells], alphabets) for place, name in enumerate(names)}
    for (number, _), row in zip(rows, cells, strict=True):
        for name, cell in zip(names, row, strict=True):
            if cell not in values[name]:
                hint = f"alphabets.{name} lists all values that there may be: {', '.join(values[name][:8])}."
                raise StarcertError(f"{path}, line {number}: {name} is {cell!r}, which is none of them. {hint}")
    objects = Categories.rows(cells, values=values)
    called = _names(path, rows)
    return labelled(objects, called, rows, path)


def _skipped(given: str, header: Sequence[str]) -> list[str]:
    lower = {name.lower(): name for name in header}
    found = [each.strip() for each in given.split("/") if each.strip()]
    for name in found:
        if name.lower() not in lower:
            listed = f"There are {', '.join(header[:20])}. Several stand between slashes: a/b."
            hint = did_you_mean(name, header, listed)
            raise InvalidParameterError("columns.skip", "name columns of the table", name, hint)
    return found


def _values(path: Path, name: str, cells: Sequence[str], alphabets: Alphabets) -> list[str]:
    given = alphabets.get(name)
    if given is not None:
        return list(map(str, range(given))) if isinstance(given, int) else list(given)
    values = sorted(set(cells), key=natural_key)
    if len(values) > MAX_VALUES:
        raise StarcertError(
            f"{path}: {name} has {len(values):,} different values; a column of categories has at most {MAX_VALUES}. "
            f"Divide its numbers into a few first, or leave it out: --columns skip={name}."
        )
    if len(values) < 2:
        raise StarcertError(
            f"{path}: {name} is {values[0]!r} in every row. Say what else it may be, alphabets.{name} = "
            f"[{values[0]!r}, …], or leave it out: --columns skip={name}."
        )
    return values


def _names(path: Path, rows: Sequence[Row]) -> list[str]:
    numbered = numbered_names(path.stem, range(1, len(rows) + 1))
    return [row.get("name") or name for (_, row), name in zip(rows, numbered, strict=True)]
