"""Candidates for whole objects: estimators of scikit-learn on what attacks leave alone of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.baselines.columns import Matrix, SeenColumns
from starcert.objects.kinds import Untouched

Labels = npt.NDArray[np.int64]
Answer = Callable[[Matrix], Labels]
CONSTANT = "the most frequent class"


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
        """What is seen, in words; "" if nothing is."""
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


def fit_rows(make: Callable[[], Any], rows: Matrix, labels: Labels) -> Answer:
    """The answers of an estimator that is fitted to these rows; a constant where they have one class."""
    if len(np.unique(labels)) == 1:
        return fit_constant(labels)
    estimator = make().fit(rows, labels)
    return lambda others: np.asarray(estimator.predict(others), dtype=np.int64).reshape(len(others))
