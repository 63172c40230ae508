"""Rows to train on follow the law of the noise, and are the same for the same seed."""

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

MATRIX = np.random.default_rng(3).integers(2, size=(200, 9))
ROWS = sc.Bits.rows(MATRIX)
NOISE = sc.Noise(left=0.1, right=sc.Flip(delete=0.4, add=0.25))
REGIONS = {"right": [5, 6, 7, 8], "left": [0, 1, 2]}


def test_columns_flip_as_their_law_says():
    noisy = sc.transforms.noisy_rows(ROWS, NOISE, REGIONS, seed=1, copies=50).reshape(50, 200, 9)
    assert noisy.dtype == np.int64
    flips = noisy != MATRIX
    assert flips[:, :, :3].mean() == pytest.approx(0.1, abs=0.01)
    assert not flips[:, :, 3:5].any()
    ones = MATRIX[:, 5:] == 1
    assert flips[:, :, 5:][:, ones].mean() == pytest.approx(0.4, abs=0.015)
    assert flips[:, :, 5:][:, ~ones].mean() == pytest.approx(0.25, abs=0.015)
    # Neither rows nor columns nor copies flip together.
    one, other = flips[:, :-1, :3].ravel(), flips[:, 1:, :3].ravel()
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(flips[:-1, :, :3].ravel(), flips[1:, :, :3].ravel())[0, 1]) < 0.03


def test_categories_change_to_any_other_value():
    rows = sc.Categories.rows(np.full((300, 4), 1), values=3)
    noisy = sc.transforms.noisy_rows(rows, sc.Noise(all=sc.Categorical(0.3)), seed=2, copies=20)
    shares = np.bincount(noisy.ravel(), minlength=3) / noisy.size
    np.testing.assert_allclose(shares, [0.15, 0.7, 0.15], atol=0.015)


def test_rows_may_have_regions_of_their_own():
    def first_ones(row):
        layer = row.layers[0]
        return sc.objects.Sites(row, ("ones",), (sc.objects.Numbered(layer, np.flatnonzero(row.row)),))

    noisy = sc.transforms.noisy_rows(ROWS, sc.Noise(ones=1.0), first_ones, seed=1)
    assert not noisy.any()


def test_the_seed_decides():
    noise = sc.Noise(all=0.2)
    one, same, other = (sc.transforms.noisy_rows(ROWS, noise, seed=seed, copies=2) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    assert one.shape == (400, 9)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "'rows' must hold at least one row"),
        (MATRIX, {}, "'rows' must be Bits or Categories"),
        ([ROWS[0], sc.Bits([0, 1])], {}, "'rows' must have the same columns"),
        (ROWS, {"seed": -1}, "'seed' must be a whole number, 0 or more"),
        (ROWS, {"copies": 0}, "'copies' must be a whole number, 1 or more"),
    ],
)
def test_what_cannot_be_drawn(rows, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        sc.transforms.noisy_rows(rows, sc.Noise(all=0.1), **{"seed": 1, **options})
