import numpy as np

import starcert as sc
from kernel_worlds import draw, random_graph
from starcert.classifiers.kernels.rows import adjacency_rows, bit_count, lowest_bit


def test_rows_are_the_adjacency_matrix():
    for n in (1, 2, 30, 64):
        batch = draw(random_graph(n, 0.3, n), sc.Noise(all=0.2), 70)[3:60]
        bits = (adjacency_rows(batch)[:, :, None] >> np.arange(n, dtype=np.uint64)) & np.uint64(1)
        np.testing.assert_array_equal(bits, batch.adjacency())


def test_bits_of_words():
    rng = np.random.default_rng(0)
    words = [1, 1 << 63, (1 << 64) - 1, *(int(w) for w in rng.integers(1, 1 << 63, size=50, dtype=np.uint64))]
    for word in words:
        assert bit_count(np.uint64(word)) == word.bit_count()
        assert lowest_bit(np.uint64(word)) == (word & -word).bit_length() - 1
