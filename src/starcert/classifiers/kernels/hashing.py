"""64-bit hashes that stand for features, and counting them.

What a kernel sees (a label, a pair of labels at a distance, a neighbourhood) is hashed. Equal things have equal hashes.
Different ones collide with a probability of about 2⁻⁶⁴ a pair, which changes a feature and never a certificate: the
classifier remains a function of the noisy copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled

__all__ = ["Counts", "Floats", "Hashes", "Integers", "count_hashes", "empty_table", "join", "look_up", "mix", "slot"]

Hashes = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Counts(NamedTuple):
    """Features by row, each once.

    Attributes:
        starts: where the features of each row begin, and where the last one's end (rows + 1 entries).
        hashes: the features.
        values: how often each is there.
    """

    starts: Integers
    hashes: Hashes
    values: Floats

    def normalised(self) -> Counts:
        """With the values of every row divided by their Euclidean norm."""
        return self._replace(values=_normalise(self.starts, self.values))


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Another hash for each hash, without any pattern (the finaliser of splitmix64)."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def join(first: np.uint64, second: np.uint64) -> np.uint64:
    """A hash of two in this order. The sum of mixed hashes is one of hashes in no order, and may be the second here."""
    joined: np.uint64 = mix(mix(~first) + second)  # not mix(first): it could be one more term of such a sum
    return joined


@compiled
def slot(table: Integers, hashes: Hashes, value: np.uint64) -> np.int64:
    """Where a hash table holds the place of a value among some hashes, or the free slot where it would."""
    mask = np.uint64(table.size - 1)
    at = mix(value) & mask
    while table[at] >= 0 and hashes[table[at]] != value:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@compiled
def empty_table(entries: int) -> Integers:
    """A hash table with room for this many places in a list of hashes, which is kept beside it; −1 is free."""
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    return np.full(slots, -1, np.int64)


@compiled
def look_up(
    starts: Integers, hashes: Hashes, values: Floats, known: Hashes
) -> tuple[Integers, npt.NDArray[np.int32], Floats]:
    """Rows of features as rows of a sparse matrix, with a column for each known hash; the others are left out."""
    table = empty_table(known.size)
    for place in range(known.size):
        table[slot(table, known, known[place])] = place
    begins, columns, kept = np.zeros(starts.size, np.int64), np.empty(hashes.size, np.int32), np.empty(hashes.size)
    end = 0
    for row in range(starts.size - 1):
        for i in range(starts[row], starts[row + 1]):
            place = table[slot(table, known, hashes[i])]
            if place >= 0:
                columns[end], kept[end] = place, values[i]
                end += 1
        begins[row + 1] = end
    return begins, columns[:end], kept[:end]


def count_hashes(starts: Integers, ends: Integers, hashes: Hashes) -> Counts:
    """The features of rows of hashes, where row i is `hashes[starts[i]:ends[i]]`."""
    return Counts(*_count_hashes(starts, ends, hashes))


@compiled
def _count_hashes(starts: Integers, ends: Integers, hashes: Hashes) -> tuple[Integers, Hashes, Floats]:
    begins = np.zeros(starts.size + 1, np.int64)
    found, counts = np.empty(hashes.size, np.uint64), np.zeros(hashes.size)
    end = 0
    for row in range(starts.size):
        for value in np.sort(hashes[starts[row] : ends[row]]):
            if end == begins[row] or found[end - 1] != value:
                found[end] = value
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
