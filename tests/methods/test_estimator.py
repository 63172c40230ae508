"""SmoothedClassifier among scikit-learn's tools: cloned, cross-validated, in a pipeline, in a grid."""

import networkx as nx
import numpy as np
import pytest
import worlds

import starcert as sc
from starcert.system.errors import InvalidParameterError

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted


def rings_and_stars(n: int = 6) -> tuple[list[sc.Graph], list[int]]:
    made = [nx.cycle_graph(7 + i % 2) if i % 2 else nx.star_graph(6 + i % 3) for i in range(n)]
    return [sc.Graph.from_networkx(graph) for graph in made], [i % 2 for i in range(n)]


def svm() -> sc.SmoothedClassifier:
    return sc.SmoothedClassifier(sc.models.vertex_histogram_svm(), sc.Noise(all=0.05), samples=300, alpha=0.05, seed=3)


def test_a_clone_has_the_parameters_and_shares_the_trained_base():
    smoothed = sc.SmoothedClassifier(
        worlds.smoothed().base, worlds.NOISE, worlds.PARTITION, samples=np.int64(77), seed=5
    )
    copy = clone(smoothed)
    assert copy is not smoothed
    assert copy.get_params() == smoothed.get_params()
    assert copy.base is smoothed.base
    assert (copy.samples, copy.seed, copy.alpha) == (77, 5, 0.01)
    graphs = worlds.graphs(2)
    assert copy.predict(graphs).tolist() == smoothed.predict(graphs).tolist()


def test_scikit_learn_takes_it_for_a_fitted_classifier():
    smoothed = worlds.smoothed()
    assert is_classifier(smoothed)
    check_is_fitted(smoothed)
    assert smoothed.classes_.tolist() == [0, 1]
    assert smoothed.n_classes == 2
    assert smoothed.fit(worlds.graphs(2), [0, 1]) is smoothed


def test_parameters_are_read_and_set_and_checked():
    smoothed = worlds.smoothed()
    assert smoothed.get_params(deep=False).keys() == {
        *("base", "noise", "regions", "samples", "alpha", "seed", "fallback")
    }
    assert smoothed.set_params(samples=50, noise=sc.Noise(core=0.2, rest=0.2)) is smoothed
    assert (smoothed.samples, smoothed.noise["core"]) == (50, sc.Flip(0.2))
    for wrong, named in [
        ({"samples": 0}, "samples"),
        ({"seed": -1}, "seed"),
        ({"alpha": 0.99}, "confidence"),
        ({"x": 1}, "'x'"),
    ]:
        with pytest.raises(InvalidParameterError, match=named):
            smoothed.set_params(**wrong)
        assert smoothed.samples == 50
    with pytest.raises(InvalidParameterError, match="base__C"):
        smoothed.set_params(base__C=2.0)


def test_predict_needs_no_arguments_and_those_given_win():
    smoothed = sc.SmoothedClassifier(
        worlds.smoothed().base, worlds.NOISE, worlds.PARTITION, samples=150, alpha=0.02, seed=9
    )
    graphs = worlds.graphs(4)
    expected = smoothed.certify(graphs, samples=150, alpha=0.02, seed=9)
    answers = [sc.ABSTAIN if one.abstained else one.label for one in expected]
    assert smoothed.predict(graphs).tolist() == answers
    assert smoothed.certify(graphs, samples=150, seed=9).bounds.alpha == 0.02
    other = smoothed.certify(graphs, samples=3000, alpha=0.3, seed=1)
    answers = [sc.ABSTAIN if one.abstained else one.label for one in other]
    assert smoothed.predict(graphs, samples=3000, alpha=0.3, seed=1).tolist() == answers
    assert smoothed.certify(graphs, seed=9).labels.tolist() == smoothed.certify(graphs).labels.tolist()


def test_an_abstention_scores_nothing():
    undecided = sc.SmoothedClassifier(sc.classifiers.from_callable(worlds.parity), sc.Noise(all=0.5), samples=100)
    graphs = worlds.graphs(2)
    assert undecided.predict(graphs).tolist() == [sc.ABSTAIN, sc.ABSTAIN]
    assert undecided.score(graphs, [0, 0]) == undecided.score(graphs, [1, 1]) == 0
    for wrong in ([0], [0, "one"], [0, -1], [0.5, 1]):
        with pytest.raises(InvalidParameterError, match="labels"):
            undecided.score(graphs, wrong)


def test_an_estimator_as_base_is_trained_by_fit_and_stays_as_it_was():
    graphs, labels = rings_and_stars()
    smoothed = svm()
    with pytest.raises(InvalidParameterError, match="Call fit first"):
        smoothed.predict(graphs)
    with pytest.raises(NotFittedError):
        check_is_fitted(smoothed)
    assert smoothed.fit(graphs, labels) is smoothed
    check_is_fitted(smoothed)
    assert not hasattr(smoothed.base, "svc_")
    by_hand = sc.SmoothedClassifier(
        sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(graphs, labels)), sc.Noise(all=0.05)
    )
    assert smoothed.predict(graphs).tolist() == by_hand.predict(graphs, samples=300, alpha=0.05, seed=3).tolist()
    assert smoothed.score(graphs, labels) == 1.0
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(smoothed))
    assert clone(smoothed).base is not smoothed.base  # what one copy sets must not reach the other
    with pytest.raises(NotFittedError):
        check_is_fitted(smoothed.set_params(base__C=2.0))
    assert smoothed.base.C == 2.0


def test_answers_are_the_classes_that_were_seen():
    graphs, labels = rings_and_stars()
    smoothed = svm().fit(graphs, [3 * label for label in labels])  # classes 0 and 3
    assert smoothed.classes_.tolist() == [0, 3]
    assert set(smoothed.predict(graphs).tolist()) == {0, 3}
    assert smoothed.score(graphs, [3 * label for label in labels]) == 1.0
    with pytest.raises(InvalidParameterError, match="return_inverse"):
        svm().fit(graphs, ["ring"] * 6)


def test_cross_validation_pipelines_and_grids_work():
    graphs, labels = rings_and_stars(12)
    assert cross_val_score(svm(), graphs, labels, cv=2).tolist() == [1.0, 1.0]
    trained = sc.SmoothedClassifier(svm().fit(graphs, labels).classifier, sc.Noise(all=0.05), samples=200)
    assert cross_val_score(trained, graphs, labels, cv=2, scoring="accuracy").tolist() == [1.0, 1.0]
    pipeline = Pipeline([("same", FunctionTransformer()), ("smoothed", svm())])
    assert pipeline.fit(graphs, labels).score(graphs, labels) == 1.0
    assert clone(pipeline).get_params()["smoothed__samples"] == 300
    grid = GridSearchCV(svm(), {"noise": [sc.Noise(all=0.5), sc.Noise(all=0.05)], "base__C": [1.0]}, cv=2)
    assert grid.fit(graphs, labels).best_params_["noise"] == sc.Noise(all=0.05)
