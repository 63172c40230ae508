"""The columns of rows: their names, the values that each may take, their regions, and how rows are read."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.content import digest, is_index
from starcert.objects.layers import ColumnLayer, Indices, Layer, Numbered, Region, Values
from starcert.system.errors import InvalidParameterError, whole_number

COLUMNS = "columns"  # the name of the layer
MAX_VALUES = 256
MAX_NAMED = 8  # columns that a message names
MAX_DIGITS = 1000  # longer numbers are read as names: Python refuses to parse numbers of several thousand digits

ColumnRegions: TypeAlias = Mapping[str, Iterable[Any]]
"""For each region its columns: numbers from 0, names, or a truth value for every column; or "columns" for all."""


@dataclass(frozen=True)
class VectorFrame:
    """The part of a row that noise leaves alone: its columns, with their names if any, and the values they may take."""

    n_columns: int
    names: tuple[Hashable, ...] = ()
    alphabet: int = 2  # in a noisy copy values are 0 … alphabet − 1; where columns differ, the largest
    categories: tuple[Hashable, ...] = ()  # the names of the values, if they have any; where columns differ, of each
    alphabets: tuple[int, ...] = ()  # of each column; empty: all columns have the same values

    @cached_property
    def key(self) -> str:
        """A hex digest of the content: the same for equal ones everywhere.

        Where columns differ, 5 and "5" are one value: a table has the same rows as a text file and as a data frame.
        """
        if not self.alphabets:
            return digest("columns", self.n_columns, self.names, self.alphabet, self.categories)
        of_each: tuple[Any, ...] = self.categories
        texts = tuple(None if each is None else tuple(map(str, each)) for each in of_each)
        return digest("columns", self.n_columns, self.names, self.alphabet, texts, self.alphabets)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The columns; where their numbers of values differ, those of each number, ascending."""
        if len(set(self.alphabets)) < 2:
            return (Layer(COLUMNS, self.n_columns, self.alphabet),)
        sizes = np.array(self.alphabets)
        different = sorted(set(self.alphabets))
        members = {alphabet: tuple(np.flatnonzero(sizes == alphabet).tolist()) for alphabet in different}
        return tuple(
            ColumnLayer(f"{COLUMNS} of {alphabet}", len(columns), alphabet, columns, self.n_columns)
            for alphabet, columns in members.items()
        )

    def region(self, columns: Indices, parameter: str) -> Region:
        """The region of some columns by their numbers: refused unless all have the same number of values."""
        if len(self.layers) == 1:
            return Numbered(self.layers[0], columns)
        own = {layer.alphabet: layer.numbers(columns) for layer in self.layers}
        found = {alphabet: columns[numbers >= 0].tolist() for alphabet, numbers in own.items() if (numbers >= 0).any()}
        if len(found) > 1:
            listed = "; ".join(f"{self.named(some)} with {alphabet}" for alphabet, some in found.items())
            hint = "Give each number of values a region: a flip among 2 values is another attack than one among 5."
            raise InvalidParameterError(parameter, "hold columns with the same number of values", listed, hint)
        layer = next((each for each in self.layers if each.alphabet in found), self.layers[0])
        return Numbered(layer, layer.numbers(columns))

    def named(self, columns: Sequence[int]) -> str:
        """Some columns in words, by their names where they have any."""
        shown = ", ".join(str(self.names[each] if self.names else each) for each in columns[:MAX_NAMED])
        return shown + (f" and {len(columns) - MAX_NAMED} more" if len(columns) > MAX_NAMED else "")

    def value_name(self, column: int, value: int) -> Hashable:
        """The name of a value of a column; its number if it has none."""
        categories: Any = self.categories[column] if self.alphabets and self.categories else self.categories
        return categories[value] if categories else value

    def numbers(self, columns: Iterable[Any], parameter: str = "columns") -> Indices:
        """The numbers of some columns, ascending, each once; see `ColumnRegions`."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            hint = "Write a list of columns for each region, for instance {'border': [0, 1, 2]}."
            raise InvalidParameterError(parameter, "be a list of columns", columns, hint)
        given: list[Any] = columns.tolist() if isinstance(columns, np.ndarray) else list(columns)
        if len(given) == self.n_columns and all(isinstance(each, bool | np.bool_) for each in given):
            return np.flatnonzero(given)
        named = {name: number for number, name in enumerate(self.names)}
        found: list[Any] = [named.get(each, each) if isinstance(each, Hashable) else each for each in given]
        for each in found:
            if not is_index(each) or not 0 <= each < self.n_columns:
                names = " or names of columns" if self.names else ""
                raise InvalidParameterError(parameter, f"hold numbers from 0 to {self.n_columns - 1}{names}", each)
        numbers = np.array(sorted(found), dtype=np.int64)
        twice = numbers[1:][np.diff(numbers) == 0]
        if len(twice):
            raise InvalidParameterError(parameter, "hold each column once", int(twice[0]))
        return numbers


def read_rows(
    given: Any,  # noqa: ANN401  (whatever numpy takes)
    parameter: str,
    ndim: int,
    values: int | Iterable[Hashable] | Mapping[Any, Any],
    names: Iterable[Hashable] | None,
    hint: str,
) -> tuple[Values, VectorFrame]:
    """A row or rows of values as numbers, checked and copied, and their frame."""
    if isinstance(values, Mapping):
        return _read_each(given, parameter, ndim, values, names)
    alphabet, categories = _alphabet(values)
    if categories and all(isinstance(each, str) and len(each) == 1 for each in categories):  # a text is its letters
        rows = [given] if ndim == 1 else given
        listed = (
            [list(row) if isinstance(row, str) else row for row in rows] if isinstance(rows, list | tuple) else rows
        )
        given = listed[0] if ndim == 1 else listed
    array = _array(given, parameter, ndim, object if categories else None, hint)
    found = _numbered(array, parameter, alphabet, categories)
    n_columns = found.shape[-1]
    columns = () if names is None else tuple(names)
    if names is not None and (len(columns) != n_columns or len(set(columns)) < n_columns):
        raise InvalidParameterError("names", f"be {n_columns} names that differ, one for each column", columns)
    return found, VectorFrame(n_columns, columns, alphabet, categories)


def _read_each(
    given: object, parameter: str, ndim: int, values: Mapping[Any, Any], names: Iterable[Hashable] | None
) -> tuple[Values, VectorFrame]:
    """A row or rows whose columns have values of their own."""
    array = _array(given, parameter, ndim, object, "")
    called = tuple(values) if names is None else tuple(names)
    if set(called) != set(values) or len(called) != array.shape[-1]:
        wanted = f"name the values of each of {array.shape[-1]} columns, once"
        raise InvalidParameterError("values", wanted, list(values), "Give names= in the order of the columns.")
    known = [_alphabet(values[name], f"values[{name}]") for name in called]
    rows = np.empty(array.shape, np.uint8)
    for place, (name, (alphabet, categories)) in enumerate(zip(called, known, strict=True)):
        column, where = array[..., place].reshape(-1), f"{parameter}, column {name}"
        column = column if categories else _array(column.tolist(), where, 1, None, "")
        rows[..., place] = _numbered(column, where, alphabet, categories).reshape(rows.shape[:-1])
    if len(set(known)) == 1:
        return rows, VectorFrame(len(called), called, *known[0])
    alphabets, of_each = tuple(alphabet for alphabet, _ in known), tuple(categories for _, categories in known)
    return rows, VectorFrame(len(called), called, max(alphabets, default=2), of_each, alphabets)


def _numbered(array: npt.NDArray[Any], parameter: str, alphabet: int, categories: tuple[Hashable, ...]) -> Values:
    """Values by their numbers: of names that, or whole numbers below `alphabet`; errors name the first wrong place."""
    if categories:
        known = {name: number for number, name in enumerate(categories)}
        listed = [known.get(each, -1) if isinstance(each, Hashable) else -1 for each in array.flat]
        found = np.array(listed, dtype=np.int64).reshape(array.shape)
        if (found < 0).any():
            shown = ", ".join(map(repr, categories[:8])) + ", …" * (len(categories) > 8)
            raise InvalidParameterError(parameter, f"hold the values {shown}", _first_wrong(array, found >= 0))
        return found.astype(np.uint8)
    wanted = "hold zeros and ones alone" if alphabet == 2 else f"hold whole numbers from 0 to {alphabet - 1}"
    if array.size and array.dtype.kind not in "biuf":
        got = array.flat[0].item() if array.dtype.kind != "O" else next(iter(array.flat))
        hint = "" if alphabet == 2 else "Names of values are given as values=('red', 'green', …)."
        raise InvalidParameterError(parameter, wanted, got, hint)
    right = (array >= 0) & (array < alphabet) & (array == np.floor(array.astype(np.float64)))
    if not right.all():
        raise InvalidParameterError(parameter, wanted, _first_wrong(array, right))
    return array.astype(np.uint8)


def _array(given: object, parameter: str, ndim: int, dtype: type | None, hint: str) -> npt.NDArray[Any]:
    wanted = "be one row of values" if ndim == 1 else "be rows of values, all of one length"
    try:
        array = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=dtype)  # sparse ones have it
    except ValueError:  # rows of several lengths
        raise InvalidParameterError(parameter, wanted, given, hint) from None
    if array.ndim != ndim:
        got = f"an array of shape {array.shape}" if array.ndim else given
        raise InvalidParameterError(parameter, wanted, got, hint)
    return array


def _first_wrong(array: npt.NDArray[Any], right: npt.NDArray[np.bool_]) -> str:
    place = tuple(int(each[0]) for each in np.nonzero(~right))
    value = array[place]
    shown = value.item() if isinstance(value, np.generic) else value
    return f"{shown!r} in " + (f"column {place[0]}" if len(place) == 1 else f"row {place[0]}, column {place[1]}")


def _alphabet(values: object, parameter: str = "values") -> tuple[int, tuple[Hashable, ...]]:
    """The number of values, and their names."""
    hint = "Rare values may share one, numbers are divided into a few; a column with one value is left out."
    if not isinstance(values, Iterable):
        return whole_number(parameter, values, 2, MAX_VALUES, hint), ()
    categories = tuple(values)
    if not all(isinstance(each, Hashable) for each in categories) or len(set(categories)) < len(categories):
        each = "Where columns differ, name them: values={'colour': ['red', 'blue'], 'doors': 3}."
        raise InvalidParameterError(parameter, "be a number, or names that differ", values, each)
    return whole_number(parameter, len(categories), 2, MAX_VALUES, hint), categories


def in_order(values: Iterable[Any]) -> list[Any]:
    """Different values, sorted if they can be, texts so that their numbers come in order; else as they come."""
    found = list(dict.fromkeys(values))
    try:
        return sorted(found, key=natural_key if all(isinstance(each, str) for each in found) else None)
    except TypeError:
        return found


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """A key to sort texts by, so that their numbers come in order."""
    parts = re.split(r"(\d+)", name)  # graph2 comes before graph10
    return tuple((int(p), "") if p.isdecimal() and len(p) <= MAX_DIGITS else (-1, p) for p in parts)
