"""The base classifier by itself, on sites of any alphabet: all attacks of a level, beside every object there is."""

from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
EDGES = sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))


def answer(values: np.ndarray) -> np.ndarray:
    return (values @ np.array([1, 2, 3]) % 7 > 3).astype(int)


def smoothed(noise, **how) -> sc.SmoothedClassifier:
    base = sc.classifiers.from_callable(lambda batch: answer(batch.values.astype(int)), on="batch", n_classes=2)
    return sc.SmoothedClassifier(base, noise, **how)


def changes(clean, noise, level):
    """All vectors that attacks of a level make of the clean one, and on which the answer is another."""
    (law,) = (noise[region] for region in noise)
    found = {}
    for vector in product(range(law.alphabet), repeat=len(clean)):
        moves = [(x, y) for x, y in zip(clean, vector, strict=True) if x != y]
        counts = tuple(sum(move in axis for move in moves) for axis in law.moves)
        if counts == level:
            found[vector] = answer(np.array(vector)) != answer(np.array(clean))
    return found


@pytest.mark.parametrize("level", [level for level in product(range(3), range(2), range(3)) if 0 < sum(level) < 4])
def test_every_attack_on_typed_edges_is_tried(level):
    clean = (1, 0, 2)  # the pairs (0, 1), (0, 2) and (1, 2)
    expected = changes(clean, sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1, types=2)), level)
    if not expected:
        with pytest.raises(InvalidParameterError, match="be at most what there is to attack"):
            smoothed(EDGES).undefended([TYPED], level)
        return
    (verdict,) = smoothed(EDGES).undefended([TYPED], level)
    assert verdict.kind == ("broken" if any(expected.values()) else "certified")
    if verdict.attack is None:
        assert f"{len(expected):,} attacks" in verdict.why
    else:
        vector = list(clean)
        for site, value in zip(verdict.attack.sites, verdict.attack.values, strict=True):
            vector[site] = value
        assert expected[tuple(vector)]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_attack_on_rows_of_three_values_is_tried(level):
    row = (0, 2, 1)
    expected = changes(row, sc.Noise(all=sc.Categorical(0.1, 3)), (level,))
    (verdict,) = smoothed(sc.Noise(all=sc.Categorical(0.1))).undefended([sc.Categories(row, values=3)], level)
    assert verdict.kind == ("broken" if any(expected.values()) else "certified")


def test_what_attackers_do_not_choose_is_not_tried():
    with pytest.raises(InvalidParameterError, match="which type an added edge has"):
        smoothed(sc.Noise(all=0.1)).undefended([TYPED], 1)
