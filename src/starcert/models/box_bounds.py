"""Bounds on the answers of a fitted estimator everywhere in a box: for linear models and trees, not point by point.

A box is proved for a class if the class leads every other one at every point of it, by more than rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Prove = Callable[[Floats, Floats, npt.NDArray[np.int64]], Truths]
"""From the low and high corners of boxes, and a class number for each, to which boxes are proved for their class."""

ROUNDING = 1e-9  # relative: far more than the rounding errors of sums of a few thousand floats


def prover_for(estimator: Any) -> Prove | None:  # noqa: ANN401  (any estimator of scikit-learn)
    """The proof of boxes for a fitted estimator of scikit-learn; None where only asking will do.

    Linear classifiers, single or behind a `StandardScaler` in a pipeline; trees and forests.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (optional)
    from sklearn.pipeline import Pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    if type(estimator) in _forests():
        return _forest_prover([each.tree_ for each in estimator.estimators_])
    if type(estimator) is DecisionTreeClassifier:
        return _forest_prover([estimator.tree_])
    if type(estimator) in (LogisticRegression, LinearSVC):
        return _linear_prover(estimator.coef_, estimator.intercept_)
    if type(estimator) is Pipeline and [type(step) for _, step in estimator.steps[:-1]] == [StandardScaler]:
        scaler, last = estimator[0], estimator[-1]
        if type(last) in (LogisticRegression, LinearSVC) and scaler.with_mean and scaler.with_std:
            weights = last.coef_ / scaler.scale_
            return _linear_prover(weights, last.intercept_ - weights @ scaler.mean_)
    return None


def _forests() -> tuple[type, ...]:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # noqa: PLC0415  (optional)

    return RandomForestClassifier, ExtraTreesClassifier


def _linear_prover(weights: Floats, intercepts: Floats) -> Prove:
    if len(weights) == 1:  # two classes: the second one wins above 0
        weights, intercepts = np.stack([0 * weights[0], weights[0]]), np.array([0.0, intercepts[0]])

    def prove(low: Floats, high: Floats, labels: npt.NDArray[np.int64]) -> Truths:
        holds = np.ones(len(low), dtype=np.bool_)
        for rival in range(len(weights)):
            lead, start = weights[labels] - weights[rival], intercepts[labels] - intercepts[rival]
            least = np.where(lead > 0, low, high)
            size = np.abs(lead * least).sum(axis=1) + np.abs(intercepts[labels]) + np.abs(intercepts[rival])
            size += np.abs(weights[labels] * least).sum(axis=1) + np.abs(weights[rival] * least).sum(axis=1)
            leads: Truths = np.greater((lead * least).sum(axis=1) + start, ROUNDING * size)
            holds[(labels != rival) & ~leads] = False
        return holds

    return prove


def _forest_prover(trees: list[Any]) -> Prove:
    """Each tree by itself takes its worst leaf that the box reaches."""

    def prove(low: Floats, high: Floats, labels: npt.NDArray[np.int64]) -> Truths:
        low, high = low.astype(np.float32), high.astype(np.float32)  # as the trees see them
        n_classes = trees[0].value.shape[2]
        least = np.zeros((len(low), n_classes))  # by how much the class leads each other one
        for tree in trees:
            reached = np.zeros((tree.node_count, len(low)), dtype=np.bool_)
            reached[0] = True
            for node in range(tree.node_count):  # parents come before their children
                left, right = tree.children_left[node], tree.children_right[node]
                if left >= 0:
                    at, limit = tree.feature[node], tree.threshold[node]
                    reached[left] = reached[node] & (low[:, at] <= limit)
                    reached[right] = reached[node] & (high[:, at] > limit)
            leaves = np.flatnonzero(tree.children_left < 0)
            shares = tree.value[leaves, 0] / tree.value[leaves, 0].sum(axis=1, keepdims=True)
            leads = shares[:, labels].T[:, :, None] - shares[None]  # boxes × leaves × classes
            least += np.where(reached[leaves].T[:, :, None], leads, np.inf).min(axis=1)
        least[np.arange(len(low)), labels] = np.inf
        proved: Truths = np.greater(least.min(axis=1), ROUNDING * len(trees))
        return proved

    return prove
