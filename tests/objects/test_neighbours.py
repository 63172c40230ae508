"""Nearest neighbours by features."""

import numpy as np
import pytest

from starcert.objects.neighbours import nearest_neighbours
from starcert.system.errors import InvalidParameterError


def by_definition(x: np.ndarray, k: int) -> set[tuple[int, int]]:
    rows = x.astype(float)
    found = set()
    for u in range(len(x)):
        near = []
        for v in range(len(x)):
            lengths = np.linalg.norm(rows[u]) * np.linalg.norm(rows[v])
            cosine = round(float(rows[u] @ rows[v] / lengths), 9) if lengths else 0.0
            if v != u and cosine > 0:
                near.append((-cosine, v))
        found |= {(min(u, v), max(u, v)) for _, v in sorted(near)[:k]}
    return found


@pytest.mark.parametrize("k", [1, 3, 50])
def test_neighbours_are_those_of_the_definition(k, monkeypatch):
    x = (np.random.default_rng(0).random((30, 12)) < 0.2).astype(np.uint8)
    expected = by_definition(x, k)
    assert set(map(tuple, nearest_neighbours(x, k).tolist())) == expected
    monkeypatch.setattr("starcert.objects.neighbours._CHUNK", 60)  # two rows at once
    assert set(map(tuple, nearest_neighbours(x, k).tolist())) == expected


def test_pairs_are_ascending_and_follow_the_nodes():
    x = np.random.default_rng(1).random((20, 8))
    pairs, order = nearest_neighbours(x, 2), np.random.default_rng(2).permutation(20)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.tolist() == sorted(pairs.tolist())
    moved = {tuple(sorted(order[list(pair)].tolist())) for pair in nearest_neighbours(x[order], 2)}
    assert moved == set(map(tuple, pairs.tolist()))


def test_nodes_without_anything_in_common_have_no_neighbours():
    assert nearest_neighbours(np.eye(4), 2).shape == (0, 2)
    assert nearest_neighbours([[1, 0], [1, 0], [0, 0]], 2).tolist() == [[0, 1]]
    assert nearest_neighbours(np.empty((0, 3)), 2).shape == (0, 2)


@pytest.mark.parametrize("features", [[1, 2], [["a"]], [[-1.0, 0.0]], [[np.nan, 1.0]]])
def test_other_features_are_refused(features):
    with pytest.raises(InvalidParameterError, match="features"):
        nearest_neighbours(features)
