"""Folds and splits that do not leak."""

import numpy as np
import pytest

import starcert as sc

pytest.importorskip("torch_geometric")

from starcert.benchmark.data import fold_splits, split_nodes


@pytest.mark.parametrize("seed", [1, 5])
def test_nothing_that_is_tested_was_taught(seed):
    pytest.importorskip("grakel")  # brings the molecules
    data = sc.datasets.tu("MUTAG")
    tested = []
    for fold in (None, *range(10)):
        taught, held, test, numbers = fold_splits(data, fold, seed)
        groups = [{id(graph) for graph in split.graphs} for split in (taught, held, test)]
        assert [len(group) for group in groups] == [len(taught), len(held), len(test)]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 188
        assert len(held) in (18, 19)
        assert len(test) in (18, 19)
        assert [id(data.graphs[i]) for i in numbers] == [id(graph) for graph in test.graphs]
        assert data.labels[numbers].tolist() == test.labels.tolist()
        tested += numbers if fold is not None else []
    assert sorted(tested) == list(range(188))


def test_a_split_gives_every_node_to_one_part():
    labels = np.random.default_rng(1).integers(4, size=400)
    train, validation, test = split_nodes(labels, seed=2)
    everything = np.concatenate([train, validation, test])
    assert sorted(everything.tolist()) == list(range(400))
    for part in (train, validation):
        assert np.bincount(labels[part]).tolist() == [20] * 4
    assert (split_nodes(labels, seed=3)[0] != train).any()
