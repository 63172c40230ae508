"""Plain vectors as clean objects: rows of bits or of categories, for tables, binarised images and sets of tokens.

Each column is a site. Where all columns take the same values, a row has one layer, "columns"; where their numbers of
values differ, a layer for each of these numbers, such as "columns of 3". Regions are sets of columns of one layer, by
number or by name.

A `Choice` is an object and others that it may be instead, as one object with a single site: value 0 is itself, value k
the k-th. So what tries attacks on sites tries any list of objects, of any kinds and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.columns import COLUMNS, MAX_VALUES, VectorFrame, in_order, read_rows
from starcert.objects.content import digest
from starcert.objects.kinds import Kind, kind_of
from starcert.objects.layers import CleanObject, ColumnLayer, Coordinates, Indices, Layer, Region, Values
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError

MOST = MAX_VALUES - 1  # other objects that one may be instead


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
        super().__init__(*read_rows(row, "row", 1, 2, names, "Bits.rows(X) takes many."))

    @classmethod
    def rows(cls, X: npt.ArrayLike, *, names: Iterable[Hashable] | None = None) -> list[Bits]:  # noqa: N803
        """Each row of an array, or of a sparse matrix of scipy."""
        values, frame = read_rows(X, "X", 2, 2, names, "Bits(row) takes one row.")
        return [cls._of(row.copy(), frame) for row in values]

    def __repr__(self) -> str:
        ones = int(self.row.sum())
        return f"Bits({len(self)} column{'s' * (len(self) != 1)}, {ones} one{'s' * (ones != 1)})"


class Categories(Vector):
    """A row of categories: each column takes one of a few values, which may differ between columns.

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
        super().__init__(*read_rows(row, "row", 1, values, names, "Categories.rows(X, values=…) takes many."))

    @classmethod
    def rows(
        cls,
        X: npt.ArrayLike,  # noqa: N803
        *,
        values: int | Iterable[Hashable],
        names: Iterable[Hashable] | None = None,
    ) -> list[Categories]:
        """Each row of an array, shape (rows, columns), or each of several texts of the same length."""
        found, frame = read_rows(X, "X", 2, values, names, "Categories(row, values=…) takes one row.")
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
    site_words = {COLUMNS: "column"}  # noqa: RUF012  (as in `Kind`)

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
        return type(sites.clean)._of(row_with(sites, values), sites.frame)  # type: ignore[attr-defined,no-any-return]

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


def row_with(sites: Sites, values: Any) -> Values:  # noqa: ANN401  (an array)
    """The values of a whole row that has these at its sites."""
    clean: Any = sites.clean
    row: Values = clean.row.copy()
    for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
        row[block.coordinates(np.arange(size))[0]] = values[offset : offset + size]
    return row


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


class Alternatives(list[Any]):
    """A list of objects, and a sentence `cut` that says why some may be missing.

    Example:
        >>> Alternatives([1, 2], cut="RDKit stopped.").cut
        'RDKit stopped.'
    """

    def __init__(self, objects: Iterable[Any] = (), *, cut: str = "") -> None:
        super().__init__(objects)
        self.cut = cut


class Choice(Vector):
    """An object, and others that it may be instead, in their order, each once."""

    options: tuple[CleanObject, ...]  # the object itself first
    cut: str

    @classmethod
    def of(cls, clean: CleanObject, others: Iterable[Any]) -> Choice:
        """The choice between an object and these others; those equal to it or to one before are left out."""
        cut, options = getattr(others, "cut", ""), {clean.key: clean}
        for number, each in enumerate(others):
            found = each if isinstance(each, CleanObject) else kind_of(clean).convert(each)
            if found is None or isinstance(found, Choice):
                wanted = "return objects of the kind that it is given"
                raise InvalidParameterError("function", wanted, f"{type(each).__name__} in place {number}")
            options.setdefault(found.key, found)
        if len(options) > MOST + 1:
            cut = f"{cut} Of {len(options) - 1:,} variants the first {MOST} are tried.".lstrip()
        return cls._chosen(tuple(options.values())[: MOST + 1], cut)

    @classmethod
    def _chosen(cls, options: tuple[CleanObject, ...], cut: str) -> Choice:
        made = cls._of(np.zeros(1, dtype=np.uint8), VectorFrame(1, ("variant",), MAX_VALUES))
        vars(made).update(options=options, cut=cut)
        return made

    @override
    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._chosen, (self.options, self.cut)

    @cached_property
    @override
    def key(self) -> str:
        return digest("choice", [each.key for each in self.options], self.cut)


class ChoiceKind(RowKind):
    """The kind of a choice: in words and drawings it is its object."""

    word, of_objects = "object", True

    @override
    def as_copies(self, clean: Any, values: npt.NDArray[np.uint8], *, estimator: bool = False) -> Any:
        return [clean.options[value] for value in values[:, 0].tolist()]

    @override
    def unattacked(self, sites: Sites, noise: Noise) -> Iterable[str]:
        clean: Any = sites.clean
        return [clean.cut] if clean.cut else []

    @override
    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> Vector:
        clean: Any = sites.clean
        itself = clean.options[int(values[0])]
        return Choice._chosen((itself, *(each for each in clean.options if each is not itself)), clean.cut)

    @override
    def site_noun(self, clean: CleanObject, layer: Layer) -> str:
        return "variant"

    @override
    def site_name(self, clean: Any, layer: Layer, place: Sequence[int], value: int | None) -> str:
        found = clean.options[value or 0]
        return f"variant {value}: {kind_of(found).short(found)}"

    @override
    def describe(self, clean: Any) -> str:
        itself = clean.options[0]
        return f"{kind_of(itself).describe(itself)}; {len(clean.options) - 1:,} variants"

    @override
    def drawing(self, clean: Any) -> Any:
        return kind_of(clean.options[0]).drawing(clean.options[0])


Choice.kind = ChoiceKind()


def choices(objects: Sequence[CleanObject], function: Callable[[Any], Iterable[Any]]) -> list[CleanObject]:
    """Each object beside what a function says it may be instead; choices stay as they are."""
    return [each if isinstance(each, Choice) else Choice.of(each, function(each)) for each in objects]
