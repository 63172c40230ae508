import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator

import starcert as sc
from starcert.archive import Archive
from starcert.claims.metrics import accuracy, certified_ratio, certified_share, right, score
from starcert.math.confidence import spends_on_all_classes
from starcert.math.limits import share_of_alpha, upper_limit
from starcert.system.errors import InvalidParameterError


def test_unanimous_votes_have_the_closed_form():
    bounds = sc.clopper_pearson(sc.Votes([[100_000, 0]], selection=[[100, 0]]), alpha=0.01)
    assert bounds.failure[0] == pytest.approx(-math.expm1(math.log(0.01) / 100_000), rel=1e-14)


def test_it_is_a_lower_bound_and_not_an_upper_one():
    bounds = sc.clopper_pearson(sc.Votes([[900, 100]], selection=[[9, 1]]), alpha=0.01)
    assert bounds.p_lower[0] < 0.9
    assert bounds.p_lower[0] == pytest.approx(beta.ppf(0.01, 900, 101), rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "selection", "other", "share"),
    [
        ([90, 10], [9, 1], 10, Fraction(1)),
        ([90, 10], None, 10, Fraction(1, 2)),
        ([90, 5, 5], [9, 0, 0], 10, Fraction(1)),  # the two-class margin is chosen: the whole of alpha for p_A
        ([90, 5, 5], [90, 5, 5], 5, Fraction(1, 3)),  # the multi-class margin
        ([90, 5, 5], None, 5, Fraction(1, 6)),
        ([90, 5, 3, 2], [90, 5, 3, 2], 5, Fraction(1, 4)),
        ([90, 5, 3, 2], [9, 0, 0, 0], 10, Fraction(1)),
    ],
)
def test_alpha_is_shared_by_everything_that_is_bounded(counts, selection, other, share):
    votes = sc.Votes([counts], selection=None if selection is None else [selection])
    bounds = sc.clopper_pearson(votes, alpha=0.02)
    assert bounds.failure[0] == upper_limit(10, 100, Fraction(0.02) * share)
    assert bounds.other[0] == upper_limit(other, 100, Fraction(0.02) * share)


def test_ten_classes_with_votes_that_agree_are_as_good_as_two():
    """The failing case was: radius 3 with two classes, radius 2 with ten."""
    noise = sc.Noise(all=0.1)
    reached = []
    for n_classes in (2, 10):
        rest = [0] * (n_classes - 1)
        bounds = sc.clopper_pearson(sc.Votes([[20_000, *rest]], selection=[[200, *rest]]), alpha=0.01)
        reached.append((bounds.failure[0], bounds.other[0], sc.certify(bounds, noise)[0].frontier.radii))
    assert reached[0] == reached[1]


def test_the_margin_is_chosen_without_a_look_at_the_estimation_votes():
    rng = np.random.default_rng(5)
    selection = rng.multinomial(60, [0.98, 0.01, 0.006, 0.004], size=200)
    chosen = [
        spends_on_all_classes(sc.Votes(rng.multinomial(500, p, size=200), selection=selection), alpha=0.01)
        for p in ([0.97, 0.01, 0.01, 0.01], [0.5, 0.5, 0.0, 0.0], [0.25] * 4)
    ]
    assert 20 < chosen[0].sum() < 180
    assert all((each == chosen[0]).all() for each in chosen)


def test_all_bounds_together_have_an_exact_share_each():
    counts = [[900, 60, 40], [990, 10, 0], [400, 350, 250]]
    votes = sc.Votes(counts, selection=counts)
    for alpha in (0.01, 0.1, 1e-7):
        joint = sc.clopper_pearson(votes, alpha=alpha, family="all")
        assert (joint.alpha, joint.family_size, joint[1].family_size) == (alpha, 3, 3)
        alone = sc.clopper_pearson(votes, alpha=alpha)
        assert (alone.family_size, alone[1].family_size) == (1, 1)
        assert (joint.failure > alone.failure).all()
        # A third of 0.01 is no float, and 3 times the nearest one may be more than 0.01.
        assert joint.failure[0] == upper_limit(100, 1000, Fraction(alpha) / 9)
        assert joint.other[0] == upper_limit(60, 1000, Fraction(alpha) / 9)
    one = votes.row(0)
    assert sc.clopper_pearson(one, family="all").failure == sc.clopper_pearson(one).failure
    with pytest.raises(InvalidParameterError, match=r"'family' must be \"each\" or \"all\"\. Got 'every'"):
        sc.clopper_pearson(votes, family="every")


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("all_classes", [True, False])
@pytest.mark.parametrize("together", [1, 7, 188])
def test_the_shares_of_all_bounds_add_up_to_alpha(apart, n_classes, all_classes, together):
    share = share_of_alpha(0.01, n_classes, selected_apart=apart, all_classes=all_classes, family_size=together)
    everything = all_classes or not apart  # who chooses the class on the same votes must bound each
    n_bounds = (n_classes if n_classes > 2 and everything else 1) * (1 if apart else 2)
    assert share * n_bounds * together == Fraction(0.01)


def test_every_other_class_is_bounded_not_the_runner_up_of_the_selection():
    votes = sc.Votes([[50, 10, 40]], selection=[[50, 26, 24]])
    assert sc.clopper_pearson(votes, alpha=0.01).other[0] == upper_limit(40, 100, Fraction(0.01) / 3)


def test_the_class_is_chosen_on_the_selection_votes():
    bounds = sc.clopper_pearson(sc.Votes([[90, 10], [10, 90]], selection=[[1, 9], [2, 8]]), alpha=0.01)
    assert bounds.labels.tolist() == [1, 1]
    assert bounds.failure[0] > 0.9


def test_other_classes_never_exceed_what_the_class_itself_leaves():
    bounds = sc.clopper_pearson(sc.Votes([[99, 1, 0]], selection=[[9, 0, 0]]), alpha=0.01)
    assert bounds.other[0] == bounds.failure[0]


def test_p_lower_is_rounded_down():
    bounds = sc.clopper_pearson(sc.Votes([[100_000 - k, k] for k in range(300)], selection=[[9, 0]] * 300), alpha=0.01)
    for lower, failure in zip(bounds.p_lower, bounds.failure, strict=True):
        assert Fraction(lower) <= 1 - Fraction(failure) < Fraction(math.nextafter(math.nextafter(lower, 2), 2))


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ([[3, -1]], r"counts\[0\]\[1\]"),
        ([[3, 1.5]], r"counts\[0\]\[1\]"),
        ([[3, float("nan")]], r"counts\[0\]\[1\]"),
        ([[3, 1], [0, 0]], r"counts\[1\]' must hold at least one vote"),
        ([3, 1], "one row a graph"),
        ([[3]], "at least two classes"),
        ([], "one row a graph"),
        ([["many", "few"]], "table of counts"),
        ([[1, 2], [1]], "table of counts"),
        ([[10**400, 1]], "table of counts"),
        ([["3", "1"]], "table of counts"),
        ([[3 + 1j, 1]], "table of counts"),
    ],
)
def test_bad_votes_are_refused(counts, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.Votes(counts)
    with pytest.raises(InvalidParameterError, match=problem.replace(r"counts\[", r"selection\[")):
        sc.Votes([[3, 1]], selection=counts)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidParameterError, match="shape of 'counts'"):
        sc.Votes([[3, 1]], selection=[[3, 1, 0]])
    with pytest.raises(InvalidParameterError, match=r"Write Votes\(\[\[970, 30\]\]\)"):
        sc.clopper_pearson([[9, 1]])
    with pytest.raises(InvalidParameterError, match=r"confidence level meant\? Then give alpha=0.01"):
        sc.clopper_pearson(sc.Votes([[3, 1]]), alpha=0.99)
    for wrong in (["ring"], ["ring", "ring"], ["a", "b", "c"]):
        with pytest.raises(InvalidParameterError, match="classes"):
            sc.certify(sc.Bounds.certain([0.9]), NOISE, classes=wrong)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 0.5, 0.99, 1.0, float("nan"), "small"])
def test_bad_alpha_is_refused(alpha):
    with pytest.raises(InvalidParameterError, match="'alpha'"):
        sc.clopper_pearson(sc.Votes([[3, 1]]), alpha=alpha)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), [[0.5]], "high"])
def test_bad_p_lower_is_refused(p):
    with pytest.raises(InvalidParameterError, match="p_lower"):
        sc.Bounds.certain(p)


@pytest.mark.parametrize("labels", [[1], [0, 1, 0], [0, 2], [0, -1], [0.5, 1.0], ["x", "y"]])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(InvalidParameterError, match=r"labels|bounds"):
        sc.Bounds.certain([0.9, 0.8], labels=labels)


@pytest.mark.parametrize(("failure", "other"), [(-0.1, -0.1), (1.1, 0.5), (float("nan"), 0.1), (0.2, 0.3), (0.2, -0.1)])
def test_bounds_that_are_no_probabilities_are_refused(failure, other):
    with pytest.raises(InvalidParameterError, match="0 ≤ other ≤ failure ≤ 1"):
        sc.Bounds(np.array([0]), np.array([failure]), np.array([other]), None, 3)


def test_votes_cannot_be_changed_afterwards():
    counts = np.array([[3, 1]])
    votes = sc.Votes(counts)
    counts[0, 0] = 0
    assert votes.counts[0, 0] == 3
    with pytest.raises(ValueError, match="read-only"):
        votes.counts[0, 0] = 5


# Labels become class numbers by what the classes are called, and anything else is refused.
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


UNNAMED = ("graph", "name", "right", "abstained", "p_lower", "margin", "reach_all", "frontier", "anchored")
"""Columns that do not say how classes are called."""


def values(certificates, labels):
    """Everything that is measured with labels."""
    return [
        certificates.certified_accuracy(labels, 1),
        accuracy(certificates, labels),
        right(certificates, labels).tolist(),
        certified_share(certificates, labels, max_radius=1).tolist(),
        certified_ratio(certificates, labels, max_radius=1).tolist(),
        score(certificates, labels, max_radius=1),
        certificates.by_axis(1)["all"].counts_at(1, certificates.truth(labels).tolist()),
        Archive.from_result(certificates, labels=labels).labels,
        [{name: value for name, value in row.items() if name in UNNAMED}
         for row in Archive.from_result(certificates, labels=labels).rows()],
    ]  # fmt: skip


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
        lambda: found.counts(labels, "flips:1"),
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
