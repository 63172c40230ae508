"""Labels become class numbers by what the classes are called, and anything else is refused."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import starcert as sc
from starcert.certificates.metrics import (
    accuracy,
    certified_ratio,
    certified_share,
    radius_verdicts,
    right,
    score,
    shares_by_axis,
)
from starcert.files import Archive
from starcert.system.errors import InvalidParameterError

ROWS = sc.Bits.rows([[0, 0, 0, 0, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 0, 1, 1]])
TRUTH = [0, 1, 0, 1]
NOISE = sc.Noise(all=0.05)


class Majority(BaseEstimator):
    """A fitted estimator whose classes may be called anything."""

    def __init__(self, classes):
        self.classes = classes
        self.classes_ = np.array(classes)

    def fit(self, rows, labels):
        return self

    def predict(self, rows):
        return self.classes_[(np.asarray(rows).sum(axis=1) > 2).astype(int)]

    def __sklearn_is_fitted__(self):
        return True


def smoothed(*classes, names=None):
    base = (
        sc.classifiers.from_sklearn(Majority(classes))
        if classes
        else sc.classifiers.from_callable(lambda rows: rows.sum(axis=1) > 2, on="vectors", class_names=names)
    )
    return sc.SmoothedClassifier(base, NOISE, samples=500)


def values(certificates, labels):
    """Everything that is measured with labels."""
    (verdicts,) = radius_verdicts(certificates, labels, radii=[(1,)])
    return [
        certificates.certified_accuracy(labels, 1),
        accuracy(certificates, labels),
        right(certificates, labels).tolist(),
        certified_share(certificates, labels, max_radius=1).tolist(),
        certified_ratio(certificates, labels, max_radius=1).tolist(),
        score(certificates, labels, max_radius=1),
        shares_by_axis(certificates, labels, flips=[1]),
        verdicts,
        Archive.from_result(certificates, labels=labels).labels,
        Archive.from_result(certificates, labels=labels).rows(),
    ]


@pytest.mark.parametrize(
    ("classes", "names"),
    [((3, 8), None), ((1, 2), None), ((-1, 1), None), (("ring", "star"), None), ((), ("ring", "star"))],
)
def test_labels_in_the_words_of_the_classifier_count_as_their_class_numbers(classes, names):
    model = smoothed(*classes, names=names)
    found = model.certify(ROWS, samples=500, seed=1)
    words = [(classes or names)[number] for number in TRUTH]
    plain = smoothed().certify(ROWS, samples=500, seed=1)
    assert values(found, words) == values(found, np.array(words)) == values(plain, TRUTH)
    assert values(found.within(1), words) == values(plain.within(1), TRUTH)
    assert found.certified_accuracy(words, 0) == model.score(ROWS, words) == 1.0
    assert accuracy(found, [None, *words[1:]]) == 1.0


def test_class_numbers_stay_class_numbers_where_no_class_is_a_number():
    for model in (smoothed(), smoothed("ring", "star"), smoothed(names=("ring", "star"))):
        found = model.certify(ROWS, samples=500, seed=1)
        for labels in (TRUTH, np.array(TRUTH, bool), np.array(TRUTH, np.uint8), [0.0, 1.0, 0.0, 1.0]):
            assert found.certified_accuracy(labels, 0) == model.score(ROWS, labels) == 1.0
        assert found.certified_accuracy(TRUTH[::-1], 0) == model.score(ROWS, TRUTH[::-1]) == 0.0


@pytest.mark.parametrize(
    ("model", "labels", "said"),
    [
        (smoothed(), [3, 8, 3, 8], r"'labels\[0\]' must be a class number from 0 to 1. Got 3"),
        (smoothed(), [0, 2, 0, 1], r"'labels\[1\]' must be a class number from 0 to 1. Got 2"),
        (smoothed(), [0, -1, 0, 1], r"labels\[1\].*Got -1"),
        (smoothed(), [0, 0.5, 0, 1], r"labels\[1\].*Got 0.5"),
        (smoothed(), [0, float("nan"), 0, 1], r"labels\[1\].*Got nan.*None means that the class is not known"),
        (smoothed(), ["ring", "star"] * 2, "Got 'ring'.*return_inverse"),
        (smoothed(names=("ring", "star")), ["ring", "rnig"] * 2, "one of the classes 'ring', 'star'. Got 'rnig'"),
        (smoothed(names=("ring", "star")), [0, 1, 2, 0], "one of the classes 'ring', 'star'. Got 2"),
        (smoothed(3, 8), [0, 1, 0, 1], r"labels\[0\]' must be one of the classes 3, 8. Got 0"),
    ],
)
def test_labels_that_are_no_classes_are_refused(model, labels, said):
    found = model.certify(ROWS, samples=100, seed=1)
    for measure in (
        lambda: found.certified_accuracy(labels, 0),
        lambda: accuracy(found, labels),
        lambda: certified_share(found, labels, max_radius=1),
        lambda: score(found, labels, max_radius=1),
        lambda: shares_by_axis(found, labels, flips=[1]),
        lambda: Archive.from_result(found, labels=labels),
        lambda: model.score(ROWS, labels),
    ):
        with pytest.raises(InvalidParameterError, match=said):
            measure()


def test_a_class_that_an_estimator_never_saw_is_never_answered():
    assert smoothed(0, 1).score(ROWS, [0, 1, 2, 1]) == 0.75
    assert smoothed("ring", "star").score(ROWS, ["ring", "star", "ring", "path"]) == 0.75
    with pytest.raises(InvalidParameterError, match=r"one of the classes 0, 1. Got 3"):
        smoothed(0, 1).score(ROWS, [3, 8, 3, 8])


def test_plain_answers_and_labels_are_in_the_same_words():
    assert accuracy(["ring", "star"], ["ring", "ring"]) == 0.5
    for answers, labels in (([0, 1], ["ring", "star"]), (["0", "1"], [0, 1]), ([0, 1], [None, "star"])):
        with pytest.raises(InvalidParameterError, match="labels"):
            accuracy(answers, labels)


def test_classes_are_one_for_each_column_of_the_votes():
    for wrong in (["ring"], ["ring", "ring"], ["a", "b", "c"]):
        with pytest.raises(InvalidParameterError, match="classes"):
            sc.certify(sc.Bounds.certain([0.9]), NOISE, classes=wrong)
