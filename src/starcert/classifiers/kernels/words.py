"""Words of 64 bits that stand for features, and counting them.

What a kernel sees (a label, a pair of labels at a distance, a neighbourhood) is hashed to a word. Equal things have
equal words. Different ones are mixed up with a probability of about 2⁻⁶⁴ a pair, which changes a feature and never a
certificate: whatever it is, the classifier remains a function of the noisy copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled

__all__ = [
    "Counts",
    "Floats",
    "Integers",
    "Words",
    "count_words",
    "empty_table",
    "join",
    "look_up",
    "mix",
    "slot",
    "table_of",
]

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Counts(NamedTuple):
    """Features by row, each once.

    Attributes:
        starts: where the features of each row begin, and where the last one's end (rows + 1 entries).
        words: the features.
        values: how often each is there.
    """

    starts: Integers
    words: Words
    values: Floats

    def normalised(self) -> Counts:
        """With the values of every row divided by their Euclidean norm."""
        return self._replace(values=_normalise(self.starts, self.values))

    def joined(self, rows: int) -> Counts:
        """Every so many rows as one."""
        return self._replace(starts=self.starts[::rows])


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Another word for each word, without any pattern (the finaliser of splitmix64)."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def join(first: np.uint64, second: np.uint64) -> np.uint64:
    """A word for two in this order. The sum of mixed words is one for words in no order, and may be the second here."""
    word: np.uint64 = mix(mix(~first) + second)  # not mix(first): it could be one more term of such a sum
    return word


@compiled
def slot(table: Integers, words: Words, word: np.uint64) -> np.int64:
    """Where a hash table holds the place of a word among some words, or the free slot where it would."""
    mask = np.uint64(table.size - 1)
    at = mix(word) & mask
    while table[at] >= 0 and words[table[at]] != word:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@compiled
def empty_table(entries: int) -> Integers:
    """A hash table for so many words: it holds places in a list of words, which is kept beside it; −1 is free."""
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    return np.full(slots, -1, np.int64)


@compiled
def table_of(words: Words) -> Integers:
    """A hash table of some words, for `look_up`."""
    table: Integers = empty_table(words.size)
    for place in range(words.size):
        table[slot(table, words, words[place])] = place
    return table


@compiled
def look_up(
    starts: Integers, words: Words, values: Floats, table: Integers, known: Words
) -> tuple[Integers, npt.NDArray[np.int32], Floats]:
    """Rows of features as rows of a sparse matrix, with a column for each known word; the others are left out."""
    begins, columns, kept = np.zeros(starts.size, np.int64), np.empty(words.size, np.int32), np.empty(words.size)
    end = 0
    for row in range(starts.size - 1):
        for i in range(starts[row], starts[row + 1]):
            place = table[slot(table, known, words[i])]
            if place >= 0:
                columns[end], kept[end] = place, values[i]
                end += 1
        begins[row + 1] = end
    return begins, columns[:end], kept[:end]


def count_words(starts: Integers, ends: Integers, words: Words) -> Counts:
    """The features of rows of words, where row i is `words[starts[i]:ends[i]]`."""
    return Counts(*_count_words(starts, ends, words))


@compiled
def _count_words(starts: Integers, ends: Integers, words: Words) -> tuple[Integers, Words, Floats]:
    begins = np.zeros(starts.size + 1, np.int64)
    found, counts = np.empty(words.size, np.uint64), np.zeros(words.size)
    end = 0
    for row in range(starts.size):
        for word in np.sort(words[starts[row] : ends[row]]):
            if end == begins[row] or found[end - 1] != word:
                found[end] = word
                end += 1
            counts[end - 1] += 1.0
        begins[row + 1] = end
    return begins, found[:end].copy(), counts[:end].copy()


@compiled
def _normalise(starts: Integers, values: Floats) -> Floats:
    scaled = np.empty(values.size)
    for row in range(starts.size - 1):
        square = 0.0
        for i in range(starts[row], starts[row + 1]):
            square += values[i] * values[i]
        for i in range(starts[row], starts[row + 1]):
            scaled[i] = values[i] / np.sqrt(square)
    return scaled
