"""Rows of a table and texts as clean objects: each cell, or word, is a site that may hold anything.

A site has three values, whatever it holds: hidden, as given, or written anew by an attacker. A clean object has all of
them as given, and noise (`Mask`) hides some. What an attacker writes is never known, and nothing here shows it.
Regions are columns or positions; they must not be derived from contents, which attacks change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.columns import VectorFrame
from starcert.objects.content import digest
from starcert.objects.kinds import Untouched, attacked_blocks, fixed_at
from starcert.objects.laws.values import GIVEN, WRITTEN
from starcert.objects.layers import CELLS, WORDS, CleanObject, Indices, Layer
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.vectors import RowKind, Vector, row_with
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects.threats import Threat

Shown: TypeAlias = npt.NDArray[np.bool_]
"""Which sites are shown, shape (rows, sites)."""
MASK = "[MASK]"
COPIES = 16  # masked copies of each object that `fit` trains on


@dataclass(frozen=True)
class CellFrame(VectorFrame):
    """The part of a row of cells, or of words, that noise leaves alone, and how what is shown is put together."""

    alphabet: int = 3
    types: tuple[str | tuple[str, ...], ...] = ()  # of the columns of a table: "number", "text", or all its categories
    library: str = ""  # whose table it is; "" for a text
    mask: str = MASK  # what stands for a hidden word

    @cached_property
    @override
    def key(self) -> str:
        return digest("cells", self.names, self.types) if self.library else digest("words", self.n_columns, self.mask)

    @cached_property
    @override
    def layers(self) -> tuple[Layer, ...]:
        return (Layer(CELLS if self.library else WORDS, self.n_columns, self.alphabet),)

    def missing(self, column: int) -> str | float | None:
        """What stands for nothing in a column."""
        if not self.library:
            return self.mask
        return np.nan if self.types[column] == "number" else None

    def shown(self, rows: Sequence[Sequence[Any]], which: Indices, shown: Shown, *, joined: bool) -> Any:  # noqa: ANN401
        """These rows as a function sees them, where what is not shown is missing; `joined`: as an estimator does."""
        if self.library:
            return self._table(rows, which, shown)
        texts = [
            [word if seen else self.mask for word, seen in zip(rows[number], row, strict=True)]
            for number, row in zip(which.tolist(), shown.tolist(), strict=True)
        ]
        return list(map(" ".join, texts)) if joined else texts

    def _table(self, rows: Sequence[Sequence[Any]], which: Indices, shown: Shown) -> Any:  # noqa: ANN401
        import narwhals.stable.v2 as nw  # noqa: PLC0415  (only where there are tables)

        columns, library = dict[str, Any](), cast(Any, self.library)
        for number, (name, of_type) in enumerate(zip(map(str, self.names), self.types, strict=True)):
            if of_type == "number":
                cells = np.array([row[number] for row in rows], dtype=np.float64)
                columns[name] = np.where(shown[:, number], cells[which], np.nan)
            else:
                cells = np.array([*(row[number] for row in rows), None], dtype=object)
                columns[name] = cells[np.where(shown[:, number], which, len(rows))]
        if self.library == "numpy":
            return np.column_stack(list(columns.values()))
        types: dict[Any, Any] = {"number": nw.Float64, "text": nw.String}
        of_each = [types[each] if isinstance(each, str) else nw.Enum(each) for each in self.types]
        schema: Any = dict(zip(columns, of_each, strict=True))
        if all(each == "number" for each in self.types):
            return nw.from_numpy(np.column_stack(list(columns.values())), schema, backend=library).to_native()
        return nw.from_dict(columns, schema, backend=library).to_native()


class OpenObject(Vector):
    """An object whose sites hold anything: a `TableRow`, or `Tokens`."""

    contents: tuple[Any, ...]

    @classmethod
    def _made(cls, contents: tuple[Any, ...], frame: CellFrame) -> Any:  # noqa: ANN401  (of the class)
        made = cls._of(np.full(len(contents), GIVEN, dtype=np.uint8), frame)
        object.__setattr__(made, "contents", contents)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._made, (self.contents, self.frame)

    @cached_property
    @override
    def key(self) -> str:
        return digest("cells", self.contents, self.frame.key)


class TableRow(OpenObject):
    """A row of a table whose cells may be attacked: numbers, categories or texts; missing ones are None.

    Args:
        cells: by the names of their columns.

    Example:
        >>> TableRow({"age": 41, "job": "clerk"}).contents
        (41.0, 'clerk')
        >>> TableRow.rows(np.array([[1.5, 2.0]]))
        [TableRow(column 0: 1.5, column 1: 2.0)]
    """

    def __init__(self, cells: Mapping[str, Any]) -> None:
        import pandas as pd  # noqa: PLC0415  (only where no table was given)

        (made,) = TableRow.rows(pd.DataFrame([dict(cells)]))
        vars(self).update(vars(made))

    @classmethod
    def rows(cls, table: Any) -> list[TableRow]:  # noqa: ANN401  (whatever libraries have)
        """Each row of a data frame of pandas or polars, or of an array of numbers.

        Numbers and truth values become floats; categories stay what they are, and so do texts.
        """
        if (found := _rows_of(table)) is None:
            hint = "Give a DataFrame of pandas or polars, or an array of shape (rows, columns)."
            raise InvalidParameterError("table", "be a table", type(table).__name__, hint)
        return found

    def __repr__(self) -> str:
        names = map(self.frame.named, ([each] for each in range(len(self))))
        return f"TableRow({', '.join(f'{name}: {each!r}' for name, each in zip(names, self.contents, strict=True))})"


class Tokens(OpenObject):
    """A text as a row of words, each of which may be replaced by one other word.

    An attack that inserts or deletes a word shifts all that follow, and is none of these.

    Args:
        words: the words; a text is split at its spaces.
        mask: what a classifier sees in place of a hidden word.

    Example:
        >>> Tokens("free money now").contents
        ('free', 'money', 'now')
    """

    def __init__(self, words: str | Iterable[str], *, mask: str = MASK) -> None:
        listed = tuple(words.split() if isinstance(words, str) else words)
        for wrong in (each for each in listed if not isinstance(each, str)):
            raise InvalidParameterError("words", "be a text, or a list of words", wrong)
        vars(self).update(vars(Tokens._made(listed, CellFrame(len(listed), mask=mask))))

    def __repr__(self) -> str:
        return f"Tokens({' '.join(self.contents)!r})"


class CellKind(RowKind):
    """The kind of objects whose sites hold anything."""

    noun: ClassVar[str]
    batch_size = 4096  # making a table takes longer than filling it

    @override
    def site_noun(self, clean: CleanObject, layer: Layer) -> str:
        return self.noun

    @override
    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> Vector:
        # One of many attacks: what is written anew is missing, as if it were hidden.
        clean: Any = sites.clean
        contents = list(clean.contents)
        for column in np.flatnonzero(row_with(sites, values) != GIVEN).tolist():
            contents[column] = clean.frame.missing(column)
        found: Vector = type(clean)._made(tuple(contents), clean.frame)
        return found

    @override
    def as_copies(self, clean: Any, values: npt.NDArray[np.uint8], *, estimator: bool = False) -> Any:
        if (values == WRITTEN).any():
            what = "what an attacker writes into a cell or a word is anything"
            raise ValueError(f"{what}: it cannot be tried, only certified")
        return clean.frame.shown([clean.contents], np.zeros(len(values), np.int64), values == GIVEN, joined=estimator)

    @override
    def as_rows(self, objects: Sequence[CleanObject]) -> Any:
        return self._together(objects, [np.ones((1, each.layers[0].size), dtype=np.bool_) for each in objects])

    @override
    def training_rows(
        self, objects: Sequence[Any], sites_of: Callable[[CleanObject], Sites], noise: Noise, seed: int
    ) -> tuple[Any, int]:
        draw, shown = np.random.default_rng(seed), list[Shown]()
        for each in objects:
            sites, hidden = sites_of(each), np.zeros(len(each))
            for region, block in zip(sites.regions, sites.blocks, strict=True):
                hidden[block.coordinates(np.arange(block.size))[0]] = noise[region].change(GIVEN)
            shown.append(draw.random((COPIES, len(each))) >= hidden)
        return self._together(objects, shown), COPIES

    def _together(self, objects: Sequence[Any], shown: Sequence[Shown]) -> Any:  # noqa: ANN401  (as estimators see it)
        """The shown values of several objects, one after the other."""
        frames = {each.frame for each in objects}
        if len({each.key for each in frames}) == 1:
            which = np.repeat(np.arange(len(objects)), list(map(len, shown)))
            rows = [each.contents for each in objects]
            return objects[0].frame.shown(rows, which, np.concatenate(shown), joined=True)
        if any(each.library for each in frames):
            raise InvalidParameterError("rows", "have the same columns", "several tables")
        parts = zip(objects, shown, strict=True)
        return [text for each, some in parts for text in self.as_copies(each, some.astype(np.uint8), estimator=True)]

    @override
    def untouched(self, sites: Sites, noise: Noise | None = None, threat: Threat | None = None) -> Untouched:
        clean: Any = sites.clean
        (layer,) = clean.layers
        places = layer.coordinates(np.arange(layer.size))
        fixed = np.flatnonzero(fixed_at(sites, attacked_blocks(sites, noise, threat), layer, places)).tolist()
        known = ((clean.frame.named([each]), clean.contents[each]) for each in fixed)
        return Untouched({name: each if isinstance(each, float) else str(each) for name, each in known})

    @override
    def site_name(self, clean: Any, layer: Layer, place: Sequence[int], value: int | None) -> str:
        return f"{self.noun} {clean.frame.named(list(place))} ({clean.contents[place[0]]!r}): anything else"

    @override
    def describe(self, clean: CleanObject) -> str:
        return f"{len(clean):,} {self.noun}s"  # type: ignore[arg-type]


class TableKind(CellKind):
    """The kind of rows of a table; frames and arrays stand for their rows."""

    noun = "column"

    @override
    def convert_all(self, given: Any) -> list[CleanObject] | None:
        return _rows_of(given)  # type: ignore[return-value]  # a list of rows is one of objects

    @override
    def explain(self, clean: Any) -> str:
        return f"It is {clean!r}: the model gets a table of {clean.frame.library} with these columns."


class TextKind(CellKind):
    """The kind of texts; strings stand for their words. A range of positions ends where a text does."""

    word, noun = "text", "word"

    @override
    def convert(self, given: Any) -> CleanObject | None:
        return Tokens(given) if isinstance(given, str) else None

    @override
    def numbers(self, clean: Any, listed: Any, name: str) -> Indices:
        if isinstance(listed, range) and listed.step == 1 and listed.start >= 0:
            listed = listed[: len(clean) - listed.start]
        return super().numbers(clean, listed, name)

    @override
    def describe(self, clean: Any) -> str:
        return f"{super().describe(clean)}, {' '.join(clean.contents)!r}"


TABLE = TableRow.kind = TableKind()
TEXT = Tokens.kind = TextKind()


def _rows_of(table: Any) -> list[TableRow] | None:  # noqa: ANN401  (whatever a user has)
    """The rows of a table; None if it is none."""
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            return None
        names = tuple(f"column {number}" for number in range(table.shape[1]))
        frame = CellFrame(len(names), names, types=("number",) * len(names), library="numpy")
        return [TableRow._made(tuple(row), frame) for row in table.astype(np.float64).tolist()]
    import narwhals.stable.v2 as nw  # noqa: PLC0415  (only where there are tables)

    whole = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(whole, nw.DataFrame):
        return None
    types, columns = zip(*map(_column, whole.iter_columns()), strict=True)
    frame = CellFrame(len(types), tuple(whole.columns), types=types, library=whole.implementation.value)
    return [TableRow._made(row, frame) for row in zip(*columns, strict=True)]


def _column(column: Any) -> tuple[str | tuple[str, ...], Iterator[Any]]:  # noqa: ANN401  (a series of narwhals)
    """The type of a column, and its cells."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415  (as above)

    of_type, missing = column.dtype, column.is_null().to_list()
    cells = (None if none else each for each, none in zip(column.to_list(), missing, strict=True))
    if of_type.is_numeric() or of_type == nw.Boolean:
        return "number", (np.nan if each is None else float(each) for each in cells)
    texts = (None if each is None else str(each) for each in cells)
    if of_type in (nw.Categorical, nw.Enum):
        return tuple(map(str, column.cat.get_categories().to_list())), texts
    if of_type in (nw.String, nw.Object):
        return "text", texts
    hint = "Turn it into numbers or categories first."
    raise InvalidParameterError(f"table[{column.name}]", "hold numbers, categories or texts", of_type, hint)
