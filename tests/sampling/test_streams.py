"""Streams are keyed by their chunk alone, their words are numpy's, and sites follow the exact law, in any portions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.sampling import streams
from starcert.sampling.streams import DenseBits, DenseValues, WordStream, _binary_digits


def words(stream: WordStream, portions: list[int]) -> list[int]:
    out: list[int] = []
    for portion in portions:
        out += stream.at_least(portion)[:portion].tolist()
        stream.use(portion)
    return out


def test_words_do_not_depend_on_the_portions():
    portions = ([100], [1] * 100, [7, 50, 3, 40])
    found = [words(WordStream.of_chunk(1, "ab", "selection", 0), each) for each in portions]
    assert found[0] == found[1] == found[2]


def test_a_portion_left_over_is_handed_out_again():
    stream = WordStream.of_chunk(1, "ab", "selection", 0)
    first = stream.at_least(10)[:10].tolist()
    stream.use(4)
    assert stream.at_least(3)[:6].tolist() == first[4:]


def test_every_part_of_the_key_makes_another_stream():
    keys = [(1, "ab", "estimation", 0), (2, "ab", "estimation", 0), (1, "ac", "estimation", 0)]
    keys += [
        (1, "ab", "selection", 0),
        (1, "ab", "estimation", 1),
        (0, "ab", "estimation", 0),
        (1, "ab", "training", 0),
    ]
    firsts = {int(WordStream.of_chunk(*key).at_least(1)[0]) for key in keys}
    assert len(firsts) == len(keys)


@pytest.mark.parametrize("draw", [lambda s: s.at_least(10)])
def test_no_global_generator_is_touched(draw):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    draw(WordStream.of_chunk(1, "ab", "estimation", 0))
    assert (np.random.get_state()[1] == before).all()


def numpys(numbers, count: int) -> np.ndarray:
    return np.random.SFC64(np.random.SeedSequence(numbers)).random_raw(count)


@given(st.lists(st.one_of(st.integers(0, 2**33), st.integers(0, 2**300)), min_size=1, max_size=8))
def test_seeds_are_those_of_numpy(numbers):
    np.testing.assert_array_equal(WordStream(*numbers).at_least(5), numpys(numbers, 5))


@pytest.mark.parametrize(("purpose", "number"), [("selection", 0), ("estimation", 1), ("training", 2)])
def test_the_key_of_a_stream_never_changes(purpose, number):
    """Every vote hangs on it; `tests/golden` pins the keys of objects, the copies and the votes."""
    found = WordStream.of_chunk(7, "2a", purpose, 3).at_least(5)[:5]
    np.testing.assert_array_equal(found, numpys([7, 0x2A, number, 3], 5))


@pytest.mark.parametrize("numbers", [[0], [0, 0, 0, 0, 0], [2**32 - 1], [2**32], [2**64 - 1, 1], [1 << 127, 0, 2, 9]])
def test_a_long_stream_in_portions(numbers):
    found, parts = WordStream(*numbers), []
    for size in (1, 0, 7, 1000, 20_000):
        parts.append(found.at_least(size)[:size])
        found.use(size)
        found = found.fork()
    np.testing.assert_array_equal(np.concatenate(parts), numpys(numbers, 21_008))


def stream(chunk: int = 0) -> WordStream:
    return WordStream.of_chunk(5, "0f", "estimation", chunk)


def dense(probabilities: list[float]) -> DenseBits:
    return DenseBits(*np.unique(probabilities, return_inverse=True))


def flips(probabilities: list[float], samples: int, chunk: int = 0) -> np.ndarray:
    """Flips as zeros and ones, shape (sites, samples)."""
    words = dense(probabilities).flips(stream(chunk), samples)
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :samples]


@given(st.floats(0, 1, exclude_max=True))
def test_digits_add_up_to_p_exactly(p):
    assert sum(Fraction(digit, 2 ** (i + 1)) for i, digit in enumerate(_binary_digits(p))) == Fraction(p)


def test_the_comparison_with_p_is_exact_lane_by_lane():
    """The same words read as numbers: lane j of digit i is the i-th binary digit of U_j."""
    for p in (0.3, 0.625, 1 / 3, 2**-20, 1 - 2**-30):
        raw = stream().at_least(200)[:200]
        drawn = dense([p]).flips(stream(), 64)[0, 0]
        for lane in range(64):
            number = sum(Fraction(int(w) >> lane & 1, 2 ** (i + 1)) for i, w in enumerate(raw.tolist()))
            assert (int(drawn) >> lane & 1) == (number < Fraction(p))


@pytest.mark.parametrize("p", [1e-5, 1e-3, 0.02, 0.45, 0.5, 0.9, 0.99, 1 - 1e-5])
def test_flips_are_bernoulli(p):
    sites, samples = 500, 4096
    total = flips([p] * sites, samples).sum()
    spread = math.sqrt(sites * samples * p * (1 - p))
    assert abs(total - sites * samples * p) < 5 * spread + 1


def test_certain_and_impossible_flips():
    drawn = flips([0.0, 1.0, 0.0], 1000)
    assert (drawn[0] == 0).all()
    assert (drawn[1] == 1).all()
    assert (drawn[2] == 0).all()


@pytest.mark.parametrize("p", [0.02, 0.3, 0.45])
def test_pairs_of_sites_are_independent(p):
    samples = 65_536
    drawn = flips([p] * 8, samples).astype(float)
    both = drawn @ drawn.T / samples
    off = ~np.eye(8, dtype=bool)
    spread = math.sqrt(p**2 * (1 - p**2) / samples)
    assert np.abs(both[off] - p**2).max() < 5 * spread


def test_neighbouring_samples_are_independent():
    drawn = flips([0.3] * 64, 4096).astype(float)
    for lag in (1, 2, 63, 64, 65):
        both = (drawn[:, lag:] * drawn[:, :-lag]).mean()
        assert abs(both - 0.09) < 5 * math.sqrt(0.09 * 0.91 / drawn.size)


class Stingy(WordStream):
    """Hands out barely more words than one site may need."""

    def at_least(self, count):
        return super().at_least(count)[: 60 * 16]


def test_flips_do_not_depend_on_the_portions_of_the_stream():
    drawn = dense([0.1, 0.6, 0.45, 0.02] * 10)
    stingy = Stingy.of_chunk(5, "0f", "estimation", 0)
    np.testing.assert_array_equal(drawn.flips(stingy, 1024), drawn.flips(stream(), 1024))


@pytest.mark.parametrize(("first", "most"), [(0, 1), (1, 1), (2, 3), (4, 9)])
def test_some_words_of_every_site_are_those_of_all(first, most):
    drawn = dense([0.1, 0.6, 1.0, 0.02, 0.0] * 3)
    whole = drawn.flips(stream(), 300)
    np.testing.assert_array_equal(drawn.flips(stream(), 300, first=first, most=most), whole[:, first : first + most])


def test_expansions_longer_than_a_portion_are_finished():
    drawn = flips([5e-324] * 3 + [0.5], 64)
    assert drawn[:3].sum() == 0
    assert 10 < drawn[3].sum() < 54


THIRDS = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
LAWS = [
    (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    THIRDS,
    (Fraction(0), Fraction(1), Fraction(0)),
    (Fraction(1, 10), Fraction(9, 10)),  # a bit among the others
    (Fraction(0), Fraction(0), Fraction(1)),
]
LAW = np.array([0, 1, 1, 2, 3, 4, 0])


def test_every_value_follows_the_law_of_its_site():
    samples = 60_000
    found = DenseValues(LAWS, LAW).draw_values(stream(), samples)
    for site, law in enumerate(LAW):
        shares = np.bincount(found[:, site], minlength=3) / samples
        expected = [float(p) for p in LAWS[law]] + [0.0] * (3 - len(LAWS[law]))
        assert np.abs(shares - expected).max() < 5 * math.sqrt(0.25 / samples)
        assert (shares[np.array(expected) == 0] == 0).all()


class Scripted(WordStream):
    """A stream of given words."""

    def __init__(self, words: list[int]) -> None:
        self.words = np.array(words, dtype=np.uint64)

    def at_least(self, count: int) -> np.ndarray:
        assert count <= len(self.words)
        return self.words

    def use(self, count: int) -> None:
        self.words = self.words[count:]


def test_values_change_at_the_very_digits_of_the_law():
    half, three_quarters = 2**63, 3 * 2**62
    words = [0, half - 1, half, three_quarters - 1, three_quarters, 2**64 - 1]
    found = DenseValues(LAWS, np.array([0])).draw_values(Scripted(words), 6)
    assert found[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    certain = DenseValues(LAWS, np.array([2, 4])).draw_values(Scripted([0, 0, 2**64 - 1, 2**64 - 1]), 2)
    assert certain.tolist() == [[1, 2], [1, 2]]


def test_a_word_that_does_not_tell_is_followed_by_another():
    """1/3 is 0.0101…: a word of the same digits is undecided, and the words after its copy decide."""
    first = 2**64 // 3
    copies = [first, first - 1], [2 * first, 7]
    settling = [first, first + 1], [2 * first + 1]  # the first site of each copy needs two words more, and one
    scripted = Scripted([*copies[0], *settling[0], *copies[1], *settling[1], 5, 6])
    found = DenseValues([THIRDS], np.array([0, 0])).draw_values(scripted, 2)
    assert found.tolist() == [[1, 0], [2, 0]]
    assert scripted.words.tolist() == [5, 6]


@pytest.mark.parametrize(("held", "portion", "wanted"), [(1, 2**20, 50), (70, 14, 100), (2**30, 1, 100), (21, 7, 1)])
def test_portions_are_the_copies_of_a_chunk(held, portion, wanted, monkeypatch):
    clean = np.array([1, 5]), np.array([2, 1], dtype=np.uint8)
    drawn = DenseValues(LAWS, LAW, clean)
    whole = drawn.draw(stream(), 100)
    np.testing.assert_array_equal(whole.values, drawn.draw_values(stream(), 100))
    monkeypatch.setattr(streams, "MAX_BYTES", 8 * held)
    monkeypatch.setattr(streams, "MAX_WORDS", portion)
    portions = list(drawn.portions(stream(), 100, wanted))
    assert len(portions) == -(-wanted // max(1, held // 7))
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole.values[:wanted])
    np.testing.assert_array_equal(whole[20:30].values, whole.values[20:30])
    with pytest.raises(IndexError):
        whole[::2]


def test_no_sites():
    assert DenseValues(LAWS, np.array([], dtype=np.int64)).draw(stream(), 5).values.shape == (5, 0)
