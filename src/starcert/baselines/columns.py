"""From what attacks leave alone (`Untouched`) to numbers: a row for each part, or one for the whole.

Names of categories are learned from the training objects; those that come later count as none of them. Indicators
(zeros and ones, and categories) are counted, all other numbers have moments. Of whole objects, estimators of
scikit-learn on these numbers are the candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import as_array
from starcert.objects.kinds import Untouched

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
CONSTANT = "the most frequent class"
NUMBERED = re.compile(r" \d+$")  # the end of the name of one of many values
MAX_CATEGORIES = 64  # the most frequent ones have a column


@dataclass(frozen=True)
class _Column:
    """Data of one name: a column for each category, or `width` columns of numbers."""

    name: str
    categories: tuple[Hashable, ...] | None
    width: int

    @classmethod
    def of(cls, name: str, given: Sequence[Any]) -> _Column | None:
        """The form in which data of this name are shown, given those of the training objects; None: not at all."""
        arrays = [as_array(each) for each in given]
        if any(each is None or each.ndim not in (1, 2) for each in arrays) or not arrays:
            return None
        joined = [each for each in arrays if each is not None and len(each)]
        if {each.ndim for each in joined} == {1} and all(each.dtype.kind in "biuOUS" for each in joined):
            often = Counter(entry for each in joined for entry in each.tolist())
            if len(often) <= MAX_CATEGORIES or any(isinstance(entry, str) for entry in often):
                frequent = sorted((entry for entry, _ in often.most_common(MAX_CATEGORIES)), key=str)
                return cls(name, tuple(frequent), len(frequent))
        widths = {1 if each.ndim == 1 else each.shape[1] for each in joined}
        numeric = all(each.dtype.kind in "biuf" for each in joined)
        return cls(name, None, widths.pop()) if numeric and len(widths) == 1 else None

    def rows(self, given: object, n_rows: int) -> Matrix:
        """The data of some parts; zeros where they are missing, or of another form."""
        found, array = np.zeros((n_rows, self.width)), None if given is None else as_array(given)
        if array is None or len(array) != n_rows or not n_rows:
            return found
        if self.categories is not None:
            place = {category: number for number, category in enumerate(self.categories)}
            known = np.array([place.get(entry, -1) for entry in array.tolist()], dtype=np.int64)
            found[np.flatnonzero(known >= 0), known[known >= 0]] = 1.0
        elif array.reshape(n_rows, -1).shape[1] == self.width and array.dtype.kind in "biuf":
            found = array.reshape(n_rows, -1).astype(np.float64)
            if not np.isfinite(found.sum()):
                found = np.nan_to_num(found, posinf=0.0, neginf=0.0)
        return found


@dataclass(frozen=True)
class SeenColumns:
    """The form in which objects of some data are shown as numbers; made from the training objects."""

    parts: tuple[_Column, ...]
    values: tuple[_Column, ...]
    indicators: npt.NDArray[np.bool_]  # which columns of parts hold zeros and ones alone
    parts_stay: bool
    part: str

    @classmethod
    def of(cls, seen: Sequence[Untouched]) -> SeenColumns:
        """The columns for objects like these."""

        def columns(named: Sequence[Any], wrap: bool) -> tuple[_Column, ...]:
            names = dict.fromkeys(name for each in named for name in each)
            given = {name: [[each[name]] if wrap else each[name] for each in named if name in each] for name in names}
            found = (_Column.of(name, each) for name, each in given.items())
            return tuple(each for each in found if each is not None)

        parts = columns([each.parts for each in seen], wrap=False)
        stay = all(each.parts_stay for each in seen)
        values = columns([each.values for each in seen], wrap=True) if stay else ()
        made = cls(parts, values, np.empty(0, dtype=np.bool_), stay, seen[0].part)
        indicators = np.ones(sum(each.width for each in parts), dtype=np.bool_)
        for each in seen:
            rows = made.part_rows(each)
            indicators &= (rows * rows == rows).all(axis=0)
        return cls(parts, values, indicators, stay, made.part)

    def part_rows(self, seen: Untouched) -> Matrix:
        """A row for each part of an object."""
        rows = [each.rows(seen.parts.get(each.name), seen.n_parts) for each in self.parts]
        return np.concatenate([np.empty((seen.n_parts, 0)), *rows], axis=1)

    def whole(self, seen: Untouched) -> Matrix:
        """The row of an object: its values; if parts stay, their number, counts, presence, and moments."""
        row = [each.rows([seen.values[each.name]] if each.name in seen.values else None, 1)[0] for each in self.values]
        if self.parts_stay:
            rows = self.part_rows(seen)
            ones, numbers = rows[:, self.indicators], rows[:, ~self.indicators]
            row += [np.array([seen.n_parts], dtype=np.float64), ones.sum(axis=0), ones.any(axis=0)]
            row += [getattr(numbers, each)(axis=0) for each in ("sum", "mean", "std", "min", "max") if len(numbers)]
            row += [np.zeros(5 * numbers.shape[1])] * (not len(numbers))
        return np.concatenate([np.empty(0), *row])

    @property
    def names(self) -> list[str]:
        """The entries of `whole`, in words."""
        found = [f"{NUMBERED.sub('', each.name)} in no region" for each in self.values for _ in range(each.width)]
        if self.parts_stay:
            owners = np.array([each.name for each in self.parts for _ in range(each.width)], dtype=object)
            counted = [f"counts of {name}" for name in owners[self.indicators]]
            moments = [f"moments of {name}" for name in owners[~self.indicators]]
            found += [f"the number of {self.part}s", *counted * 2, *moments * 5]
        return found


@dataclass(frozen=True)
class WholeView:
    """Training objects as a matrix, without columns that are constant there or repeat another one."""

    columns: SeenColumns
    kept: Labels
    rows: Matrix

    @classmethod
    def of(cls, seen: Sequence[Untouched]) -> WholeView:
        """The view for objects like these."""
        columns = SeenColumns.of(seen)
        rows = np.array([columns.whole(each) for each in seen])
        _, first = np.unique(rows, axis=1, return_index=True)
        kept = np.sort([at for at in first.tolist() if np.ptp(rows[:, at])]).astype(np.int64)
        return cls(columns, kept, rows[:, kept])

    def show(self, seen: Sequence[Untouched]) -> Matrix:
        """Other objects in the same columns."""
        return np.array([self.columns.whole(each)[self.kept] for each in seen]).reshape(len(seen), len(self.kept))

    @property
    def description(self) -> str:
        """The visible data, in words; "" if there are none."""
        names = self.columns.names
        return ", ".join(dict.fromkeys(names[at] for at in self.kept.tolist()))


def estimators(seed: int) -> dict[str, Callable[[], Any]]:
    """The candidates by name, simple ones first."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415  (optional)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    from sklearn.svm import SVC  # noqa: PLC0415

    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        "support vector machine": lambda: make_pipeline(StandardScaler(), SVC()),
        "random forest": lambda: RandomForestClassifier(random_state=seed),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=seed),
    }


def fit_constant(labels: Labels) -> Callable[[Sized], Labels]:
    """The class that is most frequent in training, whatever it is asked about."""
    constant = int(np.bincount(labels).argmax())
    return lambda asked: np.full(len(asked), constant)


def fit_rows(make: Callable[[], Any] | None, rows: Matrix, labels: Labels) -> Callable[[Matrix], Labels]:
    """The answers of an estimator fitted to these rows; a constant without one, or where they have one class."""
    if make is None or len(np.unique(labels)) == 1:
        return fit_constant(labels)
    estimator = make().fit(rows, labels)
    return lambda others: np.asarray(estimator.predict(others), dtype=np.int64).reshape(len(others))
