import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import starcert as sc
from starcert.sampling import sparse
from starcert.sampling.sparse import Pool, SparseSites, count_table
from starcert.sampling.streams import WordStream

NOTHING = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)


def drawn(pools: list[Pool], samples: int, chunk: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Where the flips of each sample begin, and their positions."""
    found = SparseSites(2000, NOTHING, pools).draw(stream(chunk), samples)
    return found.starts, found.positions


def stream(chunk: int = 0) -> WordStream:
    return WordStream.of_chunk(6, "1f", "estimation", chunk)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (10, 0.5), (40, 1e-5), (60, 0.99), (300, 0.01)])
def test_the_distribution_function_has_the_right_digits(n, p):
    low, table = count_table(n, p)
    exact, total = Fraction(p), Fraction(0)
    for k in range(low):
        total += math.comb(n, k) * exact**k * (1 - exact) ** (n - k)
    assert total < Fraction(1, 2**190)
    for i, entry in enumerate(table.tolist()):
        k = low + i
        total += math.comb(n, k) * exact**k * (1 - exact) ** (n - k)
        number = (entry[0] << 128) + (entry[1] << 64) + entry[2]
        if i < len(table) - 1:
            assert number == math.floor(total * 2**192)
        else:
            assert number == 2**192 - 1
            assert total > 1 - Fraction(1, 2**190)


@pytest.mark.parametrize("n", [20_000, 20_001, 151_263, 151_264, 5_000_001])
def test_one_half_can_be_drawn_of_any_number_of_sites(n):
    """By symmetry P(count ≤ k) + P(count ≤ n − 1 − k) = 1, and of an odd number of sites the middle is 1/2 exactly."""
    low, table = count_table(n, 0.5)
    entries = {low + i: (a << 128) + (b << 64) + c for i, (a, b, c) in enumerate(table.tolist())}
    if n % 2:
        assert entries[n // 2] == 2**191
    compared = 0
    for k in range(low, (n - 1) // 2 + 1):
        other = entries.get(n - 1 - k)
        if 2 * k + 1 < n and other is not None and other < 2**192 - 1 and entries[k]:
            assert entries[k] + other == 2**192 - 1  # both are rounded down, and neither is a whole number
            compared += 1
    assert compared > math.sqrt(n)


def test_one_half_has_the_right_digits_beyond_what_is_added_up_exactly():
    n = 20_001
    low, table = count_table(n, 0.5)
    total, mass = 0, 1
    for k in range(low + len(table) - 1):
        total += mass
        mass = mass * (n - k) // (k + 1)
        if k >= low:
            a, b, c = table[k - low].tolist()
            assert (a << 128) + (b << 64) + c == total >> (n - 192)


def test_half_of_many_bits_are_deleted():
    x = np.zeros((200, 4_000), dtype=np.uint8)
    x.ravel()[:20_001] = 1
    graph = sc.Graph(200, [], node_data={"x": x}).with_bits("x")
    base = sc.classifiers.from_callable(lambda batch: np.diff(batch.node_ones("x").starts[::200]) > 10_000, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(words=sc.Flip(delete=0.5, add=0)), {"words": "x"})
    few, many = smoothed.vote([graph], samples=300, seed=1).counts[0].tolist()
    assert abs(few - many) < 5 * math.sqrt(300)


def test_the_table_of_fifty_million_sites_is_short():
    low, table = count_table(50_000_000, 1e-5)
    assert low < 500 < low + len(table) < 1200


@pytest.mark.parametrize(
    ("n", "p", "samples"),
    [(50, 0.02, 20_000), (50, 0.6, 20_000), (7, 0.99, 20_000), (10**6, 1e-5, 20_000), (100, 1e-5, 200_000)],
)
def test_counts_are_binomial(n, p, samples):
    starts, positions = drawn([Pool(0, n, p)], samples)
    counts = np.diff(starts)
    assert positions.size == starts[-1] == counts.sum()
    expected = binom.pmf(np.arange(counts.max() + 1), n, p) * samples
    seen = np.bincount(counts)
    large = expected > 5
    rest = max(samples - expected[large].sum(), 1e-9)
    observed = np.append(seen[large], samples - seen[large].sum())
    assert chisquare(observed, np.append(expected[large], rest)).pvalue > 1e-4


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8])
def test_every_site_and_every_pair_of_sites_is_as_likely_as_any_other(p):
    n, samples = 12, 40_000
    starts, positions = drawn([Pool(100, n, p)], samples)
    bits = np.zeros((samples, n))
    bits[np.repeat(np.arange(samples), np.diff(starts)), positions - 100] += 1
    assert bits.max() == 1  # no site twice
    both = bits.T @ bits / samples
    expected = np.full((n, n), p**2)
    np.fill_diagonal(expected, p)
    assert np.abs(both - expected).max() < 5 * math.sqrt(0.25 / samples)


def test_listed_and_excluded_sites():
    ones = np.array([3, 17, 18, 25])
    starts, positions = drawn([Pool(0, 30, 0.3, only=ones), Pool(0, 30, 0.1, but=ones)], 30_000)
    share = np.bincount(positions, minlength=30) / 30_000
    expected = np.full(30, 0.1)
    expected[ones] = 0.3
    assert np.abs(share - expected).max() < 5 * math.sqrt(0.21 / 30_000)
    copies = np.repeat(np.arange(30_000), np.diff(starts))
    assert len(set(zip(copies.tolist(), positions.tolist(), strict=True))) == positions.size


def test_pools_without_sites_or_without_flips_do_nothing():
    nothing = np.empty(0, dtype=np.int64)
    starts, positions = drawn([Pool(0, 9, 0.5, only=nothing), Pool(0, 9, 0.0)], 5)
    assert starts.tolist() == [0] * 6
    assert positions.size == 0


def test_certain_flips_flip_everything():
    starts, positions = drawn([Pool(5, 4, 1.0)], 3)
    assert starts.tolist() == [0, 4, 8, 12]
    assert positions.tolist() == [5, 6, 7, 8] * 3


@pytest.mark.parametrize("p", [0.001, 0.3, 0.7])
def test_positions_do_not_depend_on_how_many_words_there_are_at_once(p, monkeypatch):
    listed = np.sort(np.random.default_rng(1).choice(700, 90, replace=False)).astype(np.int64)
    pools = [Pool(5, 700, p, but=5 + listed), Pool(900, 800, p, only=900 + listed), Pool(1700, 64, p)]
    found = []
    for portion in (2**24, 2**10):
        monkeypatch.setattr(sparse, "MAX_PORTION", portion)
        found.append(drawn(pools, 40, chunk=1))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.isin(found[0][1], 5 + listed).any()
