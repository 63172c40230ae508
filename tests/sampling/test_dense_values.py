"""Values of any alphabet are drawn by the exact law, whatever portions they are drawn in."""

import math
from fractions import Fraction

import numpy as np
import pytest

from starcert.sampling import dense
from starcert.sampling.dense import DenseValues
from starcert.sampling.streams import WordStream

THIRDS = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
LAWS = [
    (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    THIRDS,
    (Fraction(0), Fraction(1), Fraction(0)),
    (Fraction(1, 10), Fraction(9, 10)),  # a bit among the others
    (Fraction(0), Fraction(0), Fraction(1)),
]
LAW = np.array([0, 1, 1, 2, 3, 4, 0])


def stream(chunk: int = 0) -> WordStream:
    return WordStream.of_chunk(1, "2a", "estimation", chunk)


def test_every_site_follows_its_law():
    samples = 60_000
    found = DenseValues(LAWS, LAW).draw(stream(), samples).values
    for site, law in enumerate(LAW):
        shares = np.bincount(found[:, site], minlength=3) / samples
        expected = [float(p) for p in LAWS[law]] + [0.0] * (3 - len(LAWS[law]))
        assert np.abs(shares - expected).max() < 5 * math.sqrt(0.25 / samples)
        assert (shares[np.array(expected) == 0] == 0).all()


class Scripted:
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
    found = DenseValues(LAWS, np.array([0])).draw(Scripted(words), 6).values
    assert found[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    certain = DenseValues(LAWS, np.array([2, 4])).draw(Scripted([0, 0, 2**64 - 1, 2**64 - 1]), 2).values
    assert certain.tolist() == [[1, 2], [1, 2]]


def test_a_word_that_does_not_tell_is_followed_by_another():
    """1/3 is 0.0101…: a word of the same digits is undecided, and the words after its copy decide."""
    first = 2**64 // 3
    copies = [first, first - 1], [2 * first, 7]
    settling = [first, first + 1], [2 * first + 1]  # the first site of each copy needs two words more, and one
    scripted = Scripted([*copies[0], *settling[0], *copies[1], *settling[1], 5, 6])
    found = DenseValues([THIRDS], np.array([0, 0])).draw(scripted, 2).values
    assert found.tolist() == [[1, 0], [2, 0]]
    assert scripted.words.tolist() == [5, 6]


@pytest.mark.parametrize(("held", "portion", "wanted"), [(1, 2**20, 50), (70, 14, 100), (2**30, 1, 100), (21, 7, 1)])
def test_portions_are_the_copies_of_a_chunk(held, portion, wanted, monkeypatch):
    drawn = DenseValues(LAWS, LAW)
    whole = drawn.draw(stream(), 100)
    monkeypatch.setattr(dense, "HELD", held)
    monkeypatch.setattr(dense, "PORTION", portion)
    portions = list(drawn.portions(stream(), 100, wanted))
    assert len(portions) == -(-wanted // max(1, held // 7))
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole.values[:wanted])
    np.testing.assert_array_equal(whole[20:30].values, whole.values[20:30])
    with pytest.raises(IndexError):
        whole[::2]


def test_no_sites():
    assert DenseValues(LAWS, np.array([], dtype=np.int64)).draw(stream(), 5).values.shape == (5, 0)
