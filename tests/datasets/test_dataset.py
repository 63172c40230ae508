import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from starcert.datasets import Dataset
from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError, StarcertError

GRAPHS = [Graph(n_nodes, []) for n_nodes in range(1, 11)]
LABELS = [0, 2, 1, 0, 0, 1, 2, 0, 1, 0]


@pytest.fixture
def split():
    return Dataset(GRAPHS, LABELS)


def test_a_number_selects_a_graph_with_its_class(split):
    assert split[1] == (GRAPHS[1], 2)
    assert split[np.int64(-1)] == (GRAPHS[9], 0)
    assert type(split[1][1]) is int
    assert list(split) == list(zip(GRAPHS, LABELS, strict=True))
    with pytest.raises(IndexError):
        split[10]


@pytest.mark.parametrize(
    ("which", "chosen"),
    [
        (slice(2, 5), [2, 3, 4]),
        (slice(None, None, -3), [9, 6, 3, 0]),
        ([7, 1], [7, 1]),
        ((7, 1), [7, 1]),
        (np.array([3, 3, -1]), [3, 3, 9]),
        (np.array(LABELS) == 2, [1, 6]),
        ([], []),
        (np.array([], dtype=int), []),
    ],
)
def test_everything_else_selects_a_split(split, which, chosen):
    part = split[which]
    assert isinstance(part, Dataset)
    assert part.graphs == tuple(GRAPHS[index] for index in chosen)
    assert part.labels.tolist() == [LABELS[index] for index in chosen]
    assert len(part) == len(chosen)


def test_the_majority_share_is_the_accuracy_of_a_constant_answer(split):
    assert split.majority_share == max(np.mean(split.labels == label) for label in range(3)) == 0.5
    assert split[[1, 6]].majority_share == 1
    assert math.isnan(split[[]].majority_share)


def test_labels_do_not_change(split):
    labels = np.array(LABELS)
    ours = Dataset(GRAPHS, labels)
    labels[0] = 2
    assert ours.labels[0] == 0
    for one in (ours, split[:3], pickle.loads(pickle.dumps(split))):
        assert one.labels.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            one.labels[0] = 1
    with pytest.raises(AttributeError):
        split.labels = labels


@pytest.mark.parametrize(
    ("graphs", "labels", "problem"),
    [
        (GRAPHS[:2], [0], "'labels' must be 2 classes"),
        (GRAPHS[:2], [[0, 1]], "'labels' must be 2 classes"),
        (GRAPHS[:2], [0, -1], r"'labels\[1\]' must be a class.*Got -1"),
        (GRAPHS[:2], [0.5, 1], r"'labels\[0\]' must be a class.*Got 0.5"),
        (
            GRAPHS[:2],
            ["a", "b"],
            r"'labels\[0\]' must be a class.*Got 'a' instead. Number them first: label_names, labels ",
        ),
        ([GRAPHS[0], "graph"], [0, 1], r"'graphs\[1\]' must be a starcert Graph. Got 'graph'"),
    ],
)
def test_what_is_no_split_is_refused(graphs, labels, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Dataset(graphs, labels)


def test_a_data_set_without_a_split_says_how_to_make_one(split):
    data = replace(split, name="letters", label_names=("a", "b", "c"))
    assert (data.n_classes, len(data), data.partition) == (3, 10, None)
    assert data.graphs == split.graphs
    for part in ("train", "validation", "test"):
        with pytest.raises(StarcertError, match=r"letters comes without a split.*data\.split\(seed=0\)"):
            getattr(data, part)


def test_a_data_set_with_a_split_cuts_it_out_in_order(split):
    parts = ["train"] * 5 + ["validation"] * 2 + ["test"] * 3
    data = replace(split, partition=Partition.everything("all"), parts=parts)
    assert data.train.graphs + data.validation.graphs + data.test.graphs == data.graphs
    assert [len(data.train), len(data.validation), len(data.test)] == [5, 2, 3]
    assert data.test.labels.tolist() == LABELS[7:]
    again = pickle.loads(pickle.dumps(data))
    assert again.test.graphs == data.test.graphs


def test_data_sets_that_contradict_themselves_are_refused(split):
    with pytest.raises(InvalidParameterError, match="'label_names' must name every class"):
        replace(split, label_names=("a", "b"))
    with pytest.raises(InvalidParameterError, match="'parts' must be one for each of 10 graphs"):
        replace(split, parts=["train"] * 9)


def test_folds_and_splits_of_a_data_set_are_those_of_all_its_graphs(split):
    data = replace(split, name="letters", label_names=("a", "b", "c"))
    for ours, theirs in zip(data.folds(3, 7), split.folds(3, seed=7), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    parts = data.split((0.6, 0.2, 0.2), seed=1)
    assert [len(part) for part in parts] == [6, 2, 2]
    assert sorted(graph.n_nodes for part in parts for graph in part.graphs) == list(range(1, 11))
    home = dict(zip(GRAPHS, LABELS, strict=True))
    assert all(home[graph] == label for part in parts for graph, label in part)
    with pytest.raises(InvalidParameterError, match="three numbers: train, validation, test"):
        data.split((0.5, 0.5), seed=1)


def test_classes_that_are_not_known_are_none():
    data = Dataset(GRAPHS[:3], [1, None, 0], names=("a", "b", "c"))
    assert data.labels.tolist() == [1, None, 0] == [label for _, label in data]
    assert data[[0, 2]].labels.dtype == np.int64
    with pytest.raises(StarcertError, match="only where the class of every graph is known"):
        data.split(seed=0)
    assert Dataset(GRAPHS[:3]).known == []
    assert [label for _, label in Dataset(GRAPHS[:3])] == [None] * 3


def test_one_graph_has_the_classes_of_its_nodes():
    data = Dataset(GRAPHS[2], [0, 1, 0], label_names=("end", "middle"))
    assert (data.of_nodes, data.graph, len(data), data.labels.tolist()) == (True, GRAPHS[2], 1, [0, 1, 0])
    assert replace(data, labels=[1, 1, 1]).of_nodes
    assert repr(pickle.loads(pickle.dumps(data))) == repr(data) == "Dataset(Graph(3 nodes, 0 edges), by class: 2, 1)"


def test_keys_of_graphs_are_not_made_before_they_are_needed(monkeypatch):
    """They are digests of all node data, which may be large; kinds are loaded later than graphs."""

    def fails(_):
        raise MemoryError

    monkeypatch.setattr(Graph, "key", property(fails))
    monkeypatch.delattr(Graph, "kind", raising=False)
    assert len(Dataset([Graph(3, [])])) == 1
