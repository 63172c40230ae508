import networkx as nx
import numpy as np
import pytest

import starcert as sc
import worlds
from starcert.classifiers.base import Classifier, checked_answers
from starcert.errors import InvalidParameterError


def test_a_function_of_networkx_graphs_and_one_of_batches_agree():
    def one(graph: nx.Graph) -> int:
        return int(sum(dict(graph.degree(range(6))).values()) > 20)

    votes = [
        worlds.smoothed(function, on).vote(worlds.graphs(), samples=500, seed=1)
        for function, on in ((one, "networkx"), (worlds.dense_core, "batch"))
    ]
    np.testing.assert_array_equal(votes[0].counts, votes[1].counts)
    np.testing.assert_array_equal(votes[0].selection, votes[1].selection)


def test_it_is_a_classifier_with_a_description():
    base = sc.classifiers.from_callable(worlds.parity)
    assert isinstance(base, Classifier)
    assert base.description.startswith("parity ")
    assert sc.classifiers.from_callable(worlds.parity, description="v2").description == "v2"


def test_the_description_knows_the_code_and_what_it_closes_over():
    def threshold(limit):
        return lambda graph: int(graph.number_of_edges() > limit)

    def described(function):
        return sc.classifiers.from_callable(function).description

    assert described(threshold(3)) == described(threshold(3))
    assert described(threshold(3)) != described(threshold(4))
    assert described(lambda graph: 0) != described(lambda graph: 1)
    assert described(lambda graph: 0) == described(lambda graph: 0)
    assert described(lambda graph, limit=1: limit) != described(lambda graph, limit=0: limit)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"function": 3}, "function"),
        ({"function": worlds.parity, "n_classes": 1}, "n_classes"),
        ({"function": worlds.parity, "n_classes": 2.0}, "n_classes"),
        ({"function": worlds.parity, "on": "tensors"}, "on"),
        ({"function": worlds.parity, "batch_size": 0}, "batch_size"),
    ],
)
def test_bad_arguments_are_refused(arguments, named):
    with pytest.raises(InvalidParameterError, match=f"'{named}'"):
        sc.classifiers.from_callable(arguments.pop("function"), **arguments)


@pytest.mark.parametrize("answers", [[0, 1, 2], np.array([0, 1, 2]), [0.0, 1.0, 2.0], [False, True, False]])
def test_good_answers_are_taken(answers):
    assert checked_answers(answers, 3, 3).dtype == np.int64


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([0, 1], "shape"),
        (1, "shape"),
        ([[0], [1], [2]], "shape"),
        ([0, 1, 3], "answered 3"),
        ([0, -1, 1], "answered -1"),
        ([0, 0.5, 1], "answered 0.5"),
        ([0, float("nan"), 1], "answered nan"),
        (["a", "b", "c"], "answered 'a'"),
        ([None, 1, 1], "answered None"),
    ],
)
def test_bad_answers_are_named(answers, problem):
    with pytest.raises(ValueError, match=problem):
        checked_answers(answers, 3, 3)
