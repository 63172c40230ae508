"""The columns of rows: their names, the values that each may take, and the layers and regions that they make."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override

from starcert.objects.content import digest, is_index
from starcert.objects.layers import Coordinates, Indices, Layer, Numbered, Region, find_places
from starcert.system.errors import InvalidParameterError

COLUMNS = "columns"  # the name of the layer
MAX_NAMED = 8  # columns that a message names
MAX_DIGITS = 1000  # longer numbers are read as names: Python refuses to parse numbers of several thousand digits

ColumnRegions: TypeAlias = Mapping[str, Iterable[Any]]
"""For each region its columns: numbers from 0, names, or a truth value for every column; or "columns" for all."""


@dataclass(frozen=True)
class ColumnLayer(Layer):
    """The columns of a row that have one number of values; their coordinate is the number of the column in the row."""

    columns: tuple[int, ...]  # ascending
    n_columns: int  # of the row

    @property
    @override
    def ranges(self) -> tuple[tuple[str, int], ...]:
        return (("column", self.n_columns),)

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        return (np.array(self.columns, dtype=np.int64)[numbers],)

    @override
    def numbers(self, *coordinates: Indices) -> Indices:
        return find_places(np.array(self.columns, dtype=np.int64), coordinates[0])


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


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """A key to sort texts by, so that their numbers come in order."""
    parts = re.split(r"(\d+)", name)  # graph2 comes before graph10
    return tuple((int(p), "") if p.isdecimal() and len(p) <= MAX_DIGITS else (-1, p) for p in parts)
