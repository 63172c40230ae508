"""Plain vectors as clean objects: rows of bits or of categories, for tables, binarised images and sets of tokens.

Each column is a site. Where all columns take the same values, a row has one layer, "columns"; where their numbers of
values differ, a layer for each of these numbers, such as "columns of 3". Regions are sets of columns of one layer, by
number or by name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.columns import COLUMNS, ColumnLayer, VectorFrame, natural_key
from starcert.objects.content import digest
from starcert.objects.kinds import Kind
from starcert.objects.layers import CleanObject, Coordinates, Indices, Layer, Region, Values
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError, whole_number

MAX_VALUES = 256


@dataclass(frozen=True, eq=False, repr=False)
class Vector:
    """A row of values from a small alphabet: `Bits` or `Categories`; `row` is read-only, shape (columns,)."""

    kind: ClassVar[Kind]  # `ROWS`
    row: Values
    frame: VectorFrame

    def __post_init__(self) -> None:
        self.row.setflags(write=False)

    @classmethod
    def _of(cls, row: Values, frame: VectorFrame) -> Self:
        made = object.__new__(cls)
        Vector.__init__(made, row, frame)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._of, (self.row, self.frame)

    @cached_property
    def key(self) -> str:
        """A hex digest of the values, the names of the columns and of the values."""
        return digest("vector", self.row, self.frame.key)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The columns, or those of each number of values."""
        return self.frame.layers

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The columns whose value is not 0, and their values."""
        (own,) = (each for each in self.layers if each.name == layer)
        there = self.row[list(own.columns)] if isinstance(own, ColumnLayer) else self.row
        where = np.flatnonzero(there)
        return own.coordinates(where), there[where]

    def __len__(self) -> int:
        return self.frame.n_columns

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Vector) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Bits(Vector):
    """A row of zeros and ones.

    Args:
        row: zeros and ones, copied.
        names: the names of the columns, if they have any.

    Example:
        >>> Bits([0, 1, 1, 0, 1])
        Bits(5 columns, 3 ones)
        >>> Bits.rows([[0, 1], [1, 1]])
        [Bits(2 columns, 1 one), Bits(2 columns, 2 ones)]
    """

    def __init__(self, row: npt.ArrayLike, *, names: Iterable[Hashable] | None = None) -> None:
        super().__init__(*_read(row, "row", 1, 2, names, "Bits.rows(X) takes many."))

    @classmethod
    def rows(cls, X: npt.ArrayLike, *, names: Iterable[Hashable] | None = None) -> list[Bits]:  # noqa: N803
        """Each row of an array, or of a sparse matrix of scipy."""
        values, frame = _read(X, "X", 2, 2, names, "Bits(row) takes one row.")
        return [cls._of(row.copy(), frame) for row in values]

    def __repr__(self) -> str:
        ones = int(self.row.sum())
        return f"Bits({len(self)} column{'s' * (len(self) != 1)}, {ones} one{'s' * (ones != 1)})"


class Categories(Vector):
    """A row of categories: every column takes one of a few values, the same for all or its own.

    Where columns have different numbers of values, each number has a layer of its own, and a region holds columns of
    one of them.

    Args:
        row: the values, copied. Where their names are letters, a text is a row, too.
        values: how many there are, the row then holds numbers from 0; or their names, which the row then holds. Or for
            each column, by its name and in their order, one of these two.
        names: the names of the columns, if they have any.

    Example:
        >>> Categories([2, 0, 1], values=3)
        Categories(3 columns, 3 values)
        >>> Categories("GAT", values="ACGT").row
        array([2, 0, 3], dtype=uint8)
        >>> car = Categories(["red", 4], values={"colour": ["blue", "red", "white"], "doors": [2, 4]})
        >>> car.row, [layer.name for layer in car.layers]
        (array([1, 1], dtype=uint8), ['columns of 2', 'columns of 3'])
    """

    def __init__(
        self, row: npt.ArrayLike, *, values: int | Iterable[Hashable], names: Iterable[Hashable] | None = None
    ) -> None:
        super().__init__(*_read(row, "row", 1, values, names, "Categories.rows(X, values=…) takes many."))

    @classmethod
    def rows(
        cls,
        X: npt.ArrayLike,  # noqa: N803
        *,
        values: int | Iterable[Hashable],
        names: Iterable[Hashable] | None = None,
    ) -> list[Categories]:
        """Each row of an array, shape (rows, columns), or each of several texts of the same length."""
        found, frame = _read(X, "X", 2, values, names, "Categories(row, values=…) takes one row.")
        return [cls._of(row.copy(), frame) for row in found]

    @classmethod
    def from_frame(cls, frame: Any, *, values: Mapping[str, Any] | None = None) -> list[Categories]:  # noqa: ANN401
        """Each row of a pandas DataFrame: columns keep their names, and each has its own values.

        Args:
            frame: the DataFrame, without classes, and *all* of it: rows of two frames have the same columns only where
                these hold the same values. Numbers with many values are to be divided into a few first.
            values: for some columns all values that there may be, or how many; by default the categories of a column
                of that dtype, else the values that occur, in their order.
        """
        given = dict(values or {})
        for unknown in given.keys() - set(frame.columns):
            raise InvalidParameterError("values", f"name columns, such as {frame.columns[0]!r}", unknown)
        for name in frame.columns:
            column = frame[name]
            listed = column.cat.categories if str(column.dtype) == "category" else column.unique()
            given.setdefault(name, in_order(listed.tolist()))
        return cls.rows(frame.to_numpy(dtype=object), values={name: given[name] for name in frame.columns})

    def __repr__(self) -> str:
        values = f"{self.frame.alphabet} values"
        if self.frame.alphabets:
            values = f"{min(self.frame.alphabets)} to {values}"
        return f"Categories({len(self)} column{'s' * (len(self) != 1)}, {values})"


class RowKind(Kind):
    """The kind of rows: regions are columns by number, name or truth value; those in no region are fixed."""

    word = "row"
    site_words = {COLUMNS: ("column", "not 0")}  # noqa: RUF012  (as in `Kind`)

    @override
    def site_noun(self, clean: CleanObject, layer: Layer) -> str:
        return "column"

    @override
    def numbers(self, clean: Any, listed: Any, name: str) -> Indices:
        found: Indices = clean.frame.numbers(listed, name)
        return found

    @override
    def _region(self, clean: Any, where: Any, name: str) -> Region:
        layers: dict[str, Layer] = {layer.name: layer for layer in clean.layers}
        if isinstance(where, str) and where in layers:
            return layers[where].everything()
        everything = isinstance(where, str) and where == COLUMNS
        columns = np.arange(len(clean)) if everything else self.numbers(clean, where, name)
        region: Region = clean.frame.region(columns, name)
        return region

    @override
    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> Vector:
        clean = sites.clean
        assert isinstance(clean, Vector)
        row = clean.row.copy()
        for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
            row[block.coordinates(np.arange(size))[0]] = values[offset : offset + size]
        return type(clean)._of(row, clean.frame)

    @override
    def site_name(self, clean: Any, layer: Layer, place: Sequence[int], value: int | None) -> str:
        frame, (column,) = clean.frame, place
        before = int(clean.row[column])
        after = 1 - before if value is None else value
        name = frame.names[column] if frame.names else f"column {column}"
        return f"{name}: {frame.value_name(column, before)} → {frame.value_name(column, after)}"

    @override
    def as_rows(self, objects: Sequence[CleanObject]) -> npt.NDArray[np.int64]:
        return matrix_of(objects)


ROWS = Vector.kind = RowKind()


def matrix_of(rows: Sequence[CleanObject]) -> npt.NDArray[np.int64]:
    """The values of rows with the same columns, shape (rows, columns), as a classifier sees them."""
    values = []
    for number, each in enumerate(rows):
        if not isinstance(each, Vector):
            hint = "Make them with Bits.rows(X) or Categories.rows(X, values=…)."
            raise InvalidParameterError("rows", "be Bits or Categories", type(each).__name__, hint)
        if each.frame != rows[0].frame:
            got = f"{each.frame} in row {number}, {rows[0].frame} in row 0"
            raise InvalidParameterError("rows", "have the same columns", got)
        values.append(each.row)
    return np.array(values, dtype=np.int64).reshape(len(rows), -1)


def join_rows(rows: Sequence[Vector]) -> Vector:
    """All rows one after the other, as a single one without names."""
    first = rows[0].frame
    frame = VectorFrame(sum(map(len, rows)), alphabet=first.alphabet, alphabets=first.alphabets * len(rows))
    return Vector(np.concatenate([each.row for each in rows]), frame)


def _read(
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


def in_order(values: Iterable[Any]) -> list[Any]:
    """Different values, sorted if they can be, texts so that their numbers come in order; else as they come."""
    found = list(dict.fromkeys(values))
    try:
        return sorted(found, key=natural_key if all(isinstance(each, str) for each in found) else None)
    except TypeError:
        return found


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
