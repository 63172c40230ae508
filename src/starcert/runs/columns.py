"""Tables with commas whose first line names their columns: which column holds what.

The setting `columns` names the columns of SMILES strings, of classes, of names and of parts, where they are not called
`smiles`, `label` and `name`. A column of parts is looked at only where it is named.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from starcert.system.errors import InvalidParameterError, StarcertError

__all__ = [
    "LONGEST",
    "ROLES",
    "Columns",
    "Row",
    "lines_of",
    "part_named",
    "read_table",
    "refuse_columns",
    "refuse_line",
]

ROLES = ("smiles", "label", "name", "part")
"""What a column may hold."""

Columns = Mapping[str, str]
"""From what is wanted, one of `ROLES`, to the name of its column."""

Row = tuple[int, dict[str, str]]
"""The number of a line, and its cells by what they are."""

LONGEST = 200
"""Letters of a name that a message shows."""

MOST_NAMED = 20
"""So many columns a message lists."""


def read_table(path: Path, columns: Columns, *, needed: Sequence[str], more: Sequence[str] = ()) -> list[Row]:
    """The rows of a table, each with the cells that are asked for; rows of empty cells are left out.

    Args:
        path: the file.
        columns: which columns hold what, where the user says so; others are called after what they hold.
        needed: what must be there.
        more: what is taken where it is there.

    Raises:
        StarcertError: names the line that is wrong; where a column is missing, those that are there and the option.
    """
    for role in columns:
        if role not in (*needed, *more):
            refuse_columns({role: columns[role]}, f"{path} has no use for it")
    rows = _rows_of(path)
    heads = [cell.strip() for cell in rows[0][1]] if rows else []
    called_so = [role for role in more if role != "part" and role in _lower(heads)]
    wanted = [role for role in (*needed, *more) if role in needed or role in columns or role in called_so]
    unsaid = ["label"] if "label" in more and "label" not in wanted else []
    places = {role: _place(path, heads, role, columns, needed, unsaid) for role in wanted}
    found = []
    for number, row in rows[1:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(heads):
            refuse_line(path, number, f"has {len(row)} cells, the first line {len(heads)}")
        found.append((number, {role: row[place].strip() for role, place in places.items()}))
    return found


def _place(
    path: Path, heads: Sequence[str], role: str, columns: Columns, needed: Sequence[str], unsaid: Sequence[str]
) -> int:
    """Which column holds what is wanted: the one of that name, upper and lower case told apart where need be.

    A message also says how to name what is `unsaid`: it may be there under another name.
    """
    name = columns.get(role, role)
    exact = [place for place, head in enumerate(heads) if head == name]
    found = exact or [place for place, head in enumerate(_lower(heads)) if head == name.lower()]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(heads[:MOST_NAMED]) + (f" and {len(heads) - MOST_NAMED} more" if len(heads) > MOST_NAMED else "")
    if found:
        refuse_line(path, 1, f"names the column {name} {len(found)} times; rename all but one ({listed})")
    asked = [columns.get(each, each) for each in needed]
    what = f"a column {name}" if len(asked) < 2 or role not in needed else f"the columns {' and '.join(asked)}"
    said = ",".join(f"{each}={_likely(columns.get(each, each), heads)}" for each in (role, *unsaid))
    raise StarcertError(
        f"{path}, line 1: must name {what}. It has {listed or 'none'}. Say which column it is: --columns {said}."
    )


def _likely(name: str, heads: Sequence[str]) -> str:
    """The column that may be meant by a name; COLUMN, for the user to fill in, if none comes close."""
    close = get_close_matches(name.lower(), _lower(heads), n=1)
    return heads[_lower(heads).index(close[0])] if close else "COLUMN"


def _lower(heads: Sequence[str]) -> list[str]:
    return [head.lower() for head in heads]


def part_named(word: str, where: str) -> str | None:
    """The part that a word means, whatever its case; None for no word: in no part.

    Example:
        >>> part_named("Valid", "here"), part_named("", "here")
        ('validation', None)
    """
    parts = dict.fromkeys(("train", "training"), "train") | {"test": "test", "": None}
    parts |= dict.fromkeys(("validation", "valid", "val"), "validation")
    if word.strip().lower() not in parts:
        must = f"{where}: {word[:LONGEST]!r} is no part. There are train, validation and test; nothing stands for none."
        raise StarcertError(must)
    return parts[word.strip().lower()]


def refuse_columns(columns: Columns, reason: str) -> NoReturn:
    """Refuses columns for data that have none."""
    hint = "Columns are those of a .csv file with SMILES strings, or of labels.csv in a folder of graphs."
    given = ",".join(f"{role}={name}" for role, name in columns.items())
    raise InvalidParameterError("columns", f"be left out: {reason}", given, hint)


def refuse_line(path: Path, number: int, problem: str) -> NoReturn:
    """Refuses a line of a file."""
    raise StarcertError(f"{path}, line {number}: {problem}.")


def lines_of(path: Path, *, comments: bool = True) -> Iterator[tuple[int, str]]:
    """The lines of a text file that say something, with their numbers from 1."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise StarcertError(f"{path}: is no text in UTF-8: {error}.") from error
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip() if comments else line
        if text or not comments:
            yield number, text


def _rows_of(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a table with commas, each with the number of its line."""
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(line for _, line in lines_of(path, comments=False))
    try:
        for row in reader:
            rows.append((rows[-1][0] + 1 if rows else 1, row))
            if reader.line_num != rows[-1][0]:
                refuse_line(
                    path, rows[-1][0], "a cell in quotes goes on in the next line; close the quotes in this one"
                )
    except csv.Error as error:
        raise StarcertError(f"{path}: is no table: {error}.") from error
    return rows
