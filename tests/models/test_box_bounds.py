"""A box that is proved has one answer at all of its points; boxes near a boundary are not."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from starcert.models.statistics import prover_for

ESTIMATORS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(15, random_state=0),
    ExtraTreesClassifier(15, max_depth=4, random_state=0),
    LogisticRegression(),
    LinearSVC(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def data(n_classes):
    rng = np.random.default_rng(n_classes)
    rows = rng.integers(0, 12, (200, 3)).astype(float)
    noise = rng.normal(0, 1.5, 200)
    return rows, np.clip((rows[:, 0] + rows[:, 1] + noise) // (24 / n_classes), 0, n_classes - 1).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_a_proved_box_has_one_answer(estimator, n_classes):
    rows, classes = data(n_classes)
    estimator.fit(rows, classes)
    prove = prover_for(estimator)
    low = rows[:60]
    proved_any = unproved = 0
    for radius in (0, 1, 2):
        high = low + radius
        labels = estimator.predict(low).astype(np.int64)
        found = prove(low, high, labels)
        for proved, start, label in zip(found, low, labels, strict=True):
            points = start + np.array(list(product(range(radius + 1), repeat=3)))
            answers = set(estimator.predict(points).tolist())
            assert not proved or answers == {label}
            proved_any += proved
            unproved += not proved and radius == 0
    assert proved_any > 60
    assert unproved <= 6  # ties of forests alone


def test_wrong_classes_are_never_proved():
    rows, classes = data(3)
    for estimator in ESTIMATORS:
        estimator.fit(rows, classes)
        labels = (estimator.predict(rows).astype(np.int64) + 1) % 3
        assert not prover_for(estimator)(rows, rows, labels).any()


@pytest.mark.parametrize(
    "estimator", [GradientBoostingClassifier(n_estimators=3), make_pipeline(MinMaxScaler(), LogisticRegression())]
)
def test_other_estimators_are_asked_point_by_point(estimator):
    rows, classes = data(2)
    assert prover_for(estimator.fit(rows, classes)) is None


def test_subclasses_may_answer_anything_and_are_asked():
    class Contrary(LogisticRegression):
        def predict(self, X):  # noqa: N803
            return 1 - super().predict(X)

    assert prover_for(Contrary().fit(*data(2))) is None
