"""Plain vectors as clean objects: rows of bits or of categories, for tables, binarised images and sets of tokens.

A row has one layer, "columns", and each column is a site. Regions are sets of columns, by number or by name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.content import digest, is_index
from starcert.objects.kinds import Kind
from starcert.objects.layers import CleanObject, Coordinates, Indices, Layer, Values
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError, whole_number

COLUMNS = "columns"  # the name of the layer
MAX_VALUES = 256

ColumnRegions: TypeAlias = Mapping[str, Iterable[Any]]
"""For each region its columns: numbers from 0, names, or a truth value for every column; or "columns" for all."""


@dataclass(frozen=True)
class VectorFrame:
    """What noise leaves alone of a row: its columns, with their names if any, and the values that they may take."""

    n_columns: int
    names: tuple[Hashable, ...] = ()
    alphabet: int = 2  # in a noisy copy values are 0 … alphabet − 1
    categories: tuple[Hashable, ...] = ()  # the names of the values, if they have any

    @cached_property
    def key(self) -> str:
        """A hex digest of the content: the same for equal ones everywhere."""
        return digest("columns", self.n_columns, self.names, self.alphabet, self.categories)

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
        """The one layer: the columns."""
        return (Layer(COLUMNS, self.frame.n_columns, self.frame.alphabet),)

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The columns whose value is not 0, and their values."""
        assert layer == COLUMNS
        where = np.flatnonzero(self.row)
        return (where,), self.row[where]

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
        super().__init__(*_read(row, "row", 1, names, hint="Bits.rows(X) takes many."))

    @classmethod
    def rows(cls, X: npt.ArrayLike, *, names: Iterable[Hashable] | None = None) -> list[Bits]:  # noqa: N803
        """Each row of an array, or of a sparse matrix of scipy."""
        values, frame = _read(X, "X", 2, names, hint="Bits(row) takes one row.")
        return [cls._of(row.copy(), frame) for row in values]

    def __repr__(self) -> str:
        ones = int(self.row.sum())
        return f"Bits({len(self)} column{'s' * (len(self) != 1)}, {ones} one{'s' * (ones != 1)})"


class Categories(Vector):
    """A row of categories: every column takes one of the same few values.

    Where columns have different numbers of values, give the largest: certificates then also hold for attackers who set
    a value that a column never has in the data.

    Args:
        row: the values, copied. Where their names are letters, a text is a row, too.
        values: how many there are, the row then holds numbers from 0; or their names, which the row then holds.
        names: the names of the columns, if they have any.

    Example:
        >>> Categories([2, 0, 1], values=3)
        Categories(3 columns, 3 values)
        >>> Categories("GAT", values="ACGT").row
        array([2, 0, 3], dtype=uint8)
    """

    def __init__(
        self, row: npt.ArrayLike, *, values: int | Iterable[Hashable], names: Iterable[Hashable] | None = None
    ) -> None:
        named, hint = _alphabet(values), "Categories.rows(X, values=…) takes many."
        super().__init__(*_read(_letters(row, named[1]), "row", 1, names, *named, hint))

    @classmethod
    def rows(
        cls,
        X: npt.ArrayLike,  # noqa: N803
        *,
        values: int | Iterable[Hashable],
        names: Iterable[Hashable] | None = None,
    ) -> list[Categories]:
        """Each row of an array, shape (rows, columns), or each of several texts of the same length."""
        named = _alphabet(values)
        listed = [_letters(row, named[1]) for row in X] if isinstance(X, list | tuple) else X
        found, frame = _read(listed, "X", 2, names, *named, "Categories(row, values=…) takes one row.")
        return [cls._of(row.copy(), frame) for row in found]

    def __repr__(self) -> str:
        return f"Categories({len(self)} column{'s' * (len(self) != 1)}, {self.frame.alphabet} values)"


class RowKind(Kind):
    """What `Kind` asks of rows: regions are columns by number, name or truth value; those in no region are fixed."""

    word = "row"
    site_words = {COLUMNS: ("column", "not 0")}  # noqa: RUF012  (as in `Kind`)

    @override
    def numbers(self, clean: Any, listed: Any, name: str) -> Indices:
        found: Indices = clean.frame.numbers(listed, name)
        return found

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
        named = frame.categories or range(frame.alphabet)
        name = frame.names[column] if frame.names else f"column {column}"
        return f"{name} ({named[before]} → {named[1 - before if value is None else value]})"

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
    frame = VectorFrame(sum(map(len, rows)), alphabet=rows[0].frame.alphabet)
    return Vector(np.concatenate([each.row for each in rows]), frame)


def _read(
    given: object,
    parameter: str,
    ndim: int,
    names: Iterable[Hashable] | None,
    alphabet: int = 2,
    categories: tuple[Hashable, ...] = (),
    hint: str = "",
) -> tuple[Values, VectorFrame]:
    """A row or rows of values as numbers, checked and copied, and their frame."""
    array = _array(given, parameter, ndim, object if categories else None, hint)
    values = _categories(array, parameter, categories) if categories else _numbers(array, parameter, alphabet)
    n_columns = values.shape[-1]
    columns = () if names is None else tuple(names)
    if names is not None and (len(columns) != n_columns or len(set(columns)) < n_columns):
        raise InvalidParameterError("names", f"be {n_columns} names that differ, one for each column", columns)
    return values, VectorFrame(n_columns, columns, alphabet, categories)


def _numbers(array: npt.NDArray[Any], parameter: str, alphabet: int) -> Values:
    """Whole numbers below `alphabet`; errors name the place of the first wrong one."""
    wanted = "hold zeros and ones alone" if alphabet == 2 else f"hold whole numbers from 0 to {alphabet - 1}"
    if array.size and array.dtype.kind not in "biuf":
        got = array.flat[0].item() if array.dtype.kind != "O" else next(iter(array.flat))
        hint = "" if alphabet == 2 else "Names of values are given as values=('red', 'green', …)."
        raise InvalidParameterError(parameter, wanted, got, hint)
    right = (array >= 0) & (array < alphabet) & (array == np.floor(array.astype(np.float64)))
    if not right.all():
        raise InvalidParameterError(parameter, wanted, _first_wrong(array, right))
    return array.astype(np.uint8)


def _categories(array: npt.NDArray[Any], parameter: str, categories: tuple[Hashable, ...]) -> Values:
    known = {name: number for number, name in enumerate(categories)}
    found = np.array([known.get(each, -1) if isinstance(each, Hashable) else -1 for each in array.flat], dtype=np.int64)
    found = found.reshape(array.shape)
    if (found < 0).any():
        shown = ", ".join(map(repr, categories[:8])) + ", …" * (len(categories) > 8)
        raise InvalidParameterError(parameter, f"hold the values {shown}", _first_wrong(array, found >= 0))
    return found.astype(np.uint8)


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


def _alphabet(values: object) -> tuple[int, tuple[Hashable, ...]]:
    """How many values there are, and their names."""
    hint = "Rare values may share one."
    if not isinstance(values, Iterable):
        return whole_number("values", values, 2, MAX_VALUES, hint), ()
    categories = tuple(values)
    if not all(isinstance(each, Hashable) for each in categories) or len(set(categories)) < len(categories):
        shared = "All columns share their values: where they have different numbers of them, give the largest number."
        raise InvalidParameterError("values", "be a number, or names that differ", values, shared)
    return whole_number("values", len(categories), 2, MAX_VALUES, hint), categories


def _letters(row: Any, categories: tuple[Hashable, ...]) -> Any:  # noqa: ANN401  (whatever numpy takes)
    """A text as its letters, where these are the names of the values; anything else as it is."""
    letters = bool(categories) and all(isinstance(each, str) and len(each) == 1 for each in categories)
    return list(row) if letters and isinstance(row, str) else row
