from collections import Counter

import numpy as np
import pytest

from starcert.classifiers.kernels.hashing import count_hashes, join, look_up, mix


def test_features_of_rows_are_counted_each_once():
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 30, size=500).astype(np.uint64) * np.uint64(1 << 40)
    starts, ends = np.array([0, 0, 7, 300]), np.array([0, 5, 300, 500])  # an empty row, and a gap
    counts = count_hashes(starts, ends, hashes)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        found = slice(counts.starts[row], counts.starts[row + 1])
        want = Counter(hashes[start:end].tolist())
        assert dict(zip(counts.hashes[found].tolist(), counts.values[found].tolist(), strict=True)) == want
        assert np.linalg.norm(counts.normalised().values[found]) == pytest.approx(1.0 if end > start else 0.0)


def test_unknown_features_have_no_column():
    known = np.unique(np.random.default_rng(1).integers(1 << 62, size=1_000).astype(np.uint64))
    hashes = np.concatenate([known[::-1], known + np.uint64(1)])
    starts = np.array([0, 10, 10, 2 * len(known)])
    begins, columns, values = look_up(starts, hashes, np.arange(len(hashes)) * 1.0, known)
    assert begins.tolist() == [0, 10, 10, len(known)]
    assert columns.tolist() == list(range(len(known)))[::-1]
    assert values.tolist() == list(range(len(known)))


def test_no_features_at_all():
    nothing = np.empty(0, np.uint64)
    assert count_hashes(np.zeros(3, int), np.zeros(3, int), nothing).starts.tolist() == [0, 0, 0, 0]
    assert look_up(np.array([0, 1]), np.ones(1, np.uint64), np.ones(1), nothing)[0].tolist() == [
        0,
        0,
    ]


def test_hashes_of_small_numbers_have_no_pattern():
    numbers = np.arange(300, dtype=np.uint64)
    mixed = {int(mix(number)) for number in numbers}
    assert len(mixed) == 300
    joined = {int(join(one, other)) for one in numbers for other in numbers}
    assert len(joined) == 300**2
    bits = np.array([[(each >> bit) & 1 for bit in range(64)] for each in mixed])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.15
