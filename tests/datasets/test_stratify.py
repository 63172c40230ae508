import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.datasets.dataset import stratified_folds, stratified_parts
from starcert.system.errors import InvalidParameterError

LABELS = st.lists(st.integers(0, 5), min_size=2, max_size=60).map(np.array)
SEEDS = st.integers(0, 2**40)


@given(LABELS, st.integers(2, 12), SEEDS)
def test_every_index_is_tested_once_and_classes_differ_by_one(labels, k, seed):
    k = min(k, len(labels))
    dealt = stratified_folds(labels, k, seed)
    assert len(dealt) == k
    tests = [test for _, test in dealt]
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(labels)))
    for train, test in dealt:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(labels)))
    assert np.ptp([len(test) for test in tests]) <= 1
    for label in range(6):
        assert np.ptp([np.sum(labels[test] == label) for test in tests]) <= 1


@given(LABELS, st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any), SEEDS)
def test_parts_are_disjoint_and_within_one_of_their_share(labels, weights, seed):
    fractions = [weight / sum(weights) for weight in weights]
    dealt = stratified_parts(labels, fractions, seed)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(len(labels)))
    for part, fraction in zip(dealt, fractions, strict=True):
        assert abs(len(part) - fraction * len(labels)) < 1
        for label in range(6):
            assert abs(np.sum(labels[part] == label) - fraction * np.sum(labels == label)) < 1


def test_whole_shares_are_met_in_spite_of_binary_fractions():
    for members in range(10, 2000, 10):
        assert [len(part) for part in stratified_parts(np.zeros(members, int), (0.7, 0.1, 0.2), 0)] == [
            members * 7 // 10,
            members // 10,
            members // 5,
        ]


def test_the_seed_decides_and_nothing_else():
    labels = np.repeat([0, 1], [30, 50])
    np.random.seed(1)
    first = stratified_folds(labels, 5, 3), stratified_parts(labels, (0.5, 0.3, 0.2), 3)
    state = np.random.get_state()[1].copy()
    again = stratified_folds(labels, 5, 3), stratified_parts(labels, (0.5, 0.3, 0.2), 3)
    assert np.array_equal(state, np.random.get_state()[1])
    for one, other in zip([*first[0], first[1]], [*again[0], again[1]], strict=True):
        assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))
    assert not np.array_equal(first[0][0][1], stratified_folds(labels, 5, 4)[0][1])
    assert not np.array_equal(first[1][0], stratified_parts(labels, (0.5, 0.3, 0.2), 4)[0])


def test_folds_and_parts_do_not_follow_the_order_of_the_data():
    labels = np.zeros(1000, int)
    for chosen in (stratified_folds(labels, 2, 0)[0][1], stratified_parts(labels, (0.5, 0.5), 0)[0]):
        # 500 of 1000 drawn without order: the mean index is 499.5 ± 9.1
        assert abs(np.mean(chosen) - 499.5) < 50
        assert len(np.unique(np.diff(np.sort(chosen)))) > 3
    assert np.any(np.diff(stratified_parts(labels, (0.5, 0.5), 0)[0]) < 0)


@pytest.mark.parametrize("k", [1, 0, -2, 2.0, True, None, 5])
def test_bad_numbers_of_folds_are_refused(k):
    with pytest.raises(InvalidParameterError, match="'k' must"):
        stratified_folds(np.array([0, 0, 1, 1]), k, 0)


@pytest.mark.parametrize("seed", [-1, 0.5, None, "1"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InvalidParameterError, match="'seed' must be a whole number, 0 or more"):
        stratified_folds(np.array([0, 0, 1, 1]), 2, seed)


@pytest.mark.parametrize("fractions", [(0.5, 0.4, 0.2), (1.5, -0.5, 0), (float("nan"), 0.5, 0.5), ("a", 0, 1), ()])
def test_bad_fractions_are_refused(fractions):
    with pytest.raises(InvalidParameterError, match="'fractions' must be numbers from 0 to 1 that add up to 1"):
        stratified_parts(np.array([0, 1]), fractions, 0)
