"""What samplers yield: the values of the sites of some noisy copies, kept in whichever way they were drawn.

A draw knows positions and values of sites. What a site means, only the views know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.math.flips import Flips, ListedFlips, ShownFlips
from starcert.sampling.streams import Words, WordStream

__all__ = [
    "WORD",
    "Draw",
    "Draws",
    "FlippedDraw",
    "LateFlips",
    "Nonzero",
    "SlicedDraw",
    "ValueDraw",
    "Way",
]

WORD = 64
"""Copies in a word."""

BLOCK = 2**24
"""So many values are compared with the clean ones at a time."""

Positions = npt.NDArray[np.int64]
Nonzero: TypeAlias = tuple[Positions, npt.NDArray[np.uint8]]
"""The positions of sites whose clean value is not 0, ascending, and these values: `Sites.nonzero`."""


class Way(Enum):
    """How copies are drawn: by the sites that flip, by a bit or a value for every site; here, or on a device."""

    SPARSE = "sparse"
    DENSE = "dense"
    VALUES = "values"
    DEVICE = "device"
    DEVICE_FLIPS = "flips on a device"
    DEVICE_VALUES = "values on a device"


class LateFlips(ABC):
    """The flips of some copies that are still where they were drawn: those of several batches are fetched at once."""

    @abstractmethod
    def fetched(self, parts: Sequence[Self]) -> list[Flips]:
        """The flips of all parts, this one among them, one after the other, in one piece or several."""


class Draw(Protocol):
    """The values of all sites in some noisy copies."""

    def __len__(self) -> int:
        """How many copies there are."""

    def __getitem__(self, samples: slice) -> Self:
        """Some of the copies, in one run."""

    def taken(self, copies: Positions) -> Self:
        """Some of the copies, in this order."""

    def replaced(self, copies: Positions, positions: Positions, values: npt.NDArray[np.uint8]) -> Self:
        """The same copies but for some sites, each named once with its copy, that have these values."""

    def part(self, start: int, stop: int) -> Self:
        """The values of the sites from one position to before another, of all copies."""

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """The noisy value of every site, shape (copies, sites)."""

    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips | LateFlips:
        """Which sites flipped in these copies, and what they show where values are no bits.

        Args:
            copies: the numbers of the copies.
            nonzero: the sites whose clean value is not 0.
        """


class Draws(Protocol):
    """Draws the sites of one object under a noise."""

    def draw(self, stream: WordStream, samples: int) -> Draw:
        """So many noisy copies; a function of the stream alone."""

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Draw]:
        """The first `wanted` of the copies that `draw` gives, in portions that take a bounded amount of memory."""


@dataclass(frozen=True, slots=True)
class SlicedDraw:
    """Bits of copies as words: one word holds one site of 64 copies. Copy i is lane `first + i`.

    Attributes:
        words: the noisy bits, shape (sites, words).
        first: the lane of the first copy.
        count: how many copies there are.
    """

    words: Words
    first: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, samples: slice) -> SlicedDraw:
        start, stop = _run(samples, self.count)
        begin = self.first + start
        words = self.words[:, begin // WORD : -(-(self.first + stop) // WORD)]
        return SlicedDraw(words, begin % WORD, max(0, stop - start))

    def part(self, start: int, stop: int) -> SlicedDraw:
        """See `Draw`."""
        return SlicedDraw(self.words[start:stop], self.first, self.count)

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """See `Draw`."""
        octets = np.ascontiguousarray(self.words).view(np.uint8)  # lanes in order on a little-endian machine
        lanes = np.unpackbits(octets, axis=1, bitorder="little")
        return np.ascontiguousarray(lanes[:, self.first : self.first + self.count].T)

    def taken(self, copies: Positions) -> SlicedDraw:
        """See `Draw`."""
        lanes = np.zeros((len(self.words), -(-len(copies) // WORD) * WORD), dtype=np.uint8)
        lanes[:, : len(copies)] = self.values.T[:, copies]
        return SlicedDraw(np.packbits(lanes, axis=1, bitorder="little").view(np.uint64), 0, len(copies))

    def replaced(self, copies: Positions, positions: Positions, values: npt.NDArray[np.uint8]) -> SlicedDraw:
        """See `Draw`."""
        words, (word, lane) = self.words.copy(), np.divmod(self.first + copies, WORD)
        bits = np.uint64(1) << lane.astype(np.uint64)
        np.bitwise_and.at(words, (positions, word), ~bits)
        np.bitwise_or.at(words, (positions, word), bits * values)
        return SlicedDraw(words, self.first, self.count)

    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        """See `Draw`."""
        flips: npt.NDArray[np.uint8] = _flips_of_lanes(self.words, self.first + copies, nonzero[0])
        return flips


@dataclass(frozen=True, slots=True)
class FlippedDraw:
    """Bits of copies as the few that flipped: those of copy i are positions[starts[i] : starts[i + 1]].

    Attributes:
        n_sites: how many sites there are.
        ones: the sorted positions of the sites whose clean bit is 1.
        starts: where each copy's positions begin, and where the last one's end.
        positions: the flipped positions.
    """

    n_sites: int
    ones: Positions
    starts: Positions
    positions: Positions

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, samples: slice) -> FlippedDraw:
        start, stop = _run(samples, len(self))
        return FlippedDraw(self.n_sites, self.ones, self.starts[start : max(start, stop) + 1], self.positions)

    def part(self, start: int, stop: int) -> FlippedDraw:
        """See `Draw`."""
        if (start, stop) == (0, self.n_sites):
            return self
        flips = self.flips
        here = (flips >= start) & (flips < stop)
        before = np.concatenate([[0], np.cumsum(here)])[self.starts - self.starts[0]]
        ones = self.ones[slice(*np.searchsorted(self.ones, (start, stop)))]
        return FlippedDraw(stop - start, ones - start, before, flips[here] - start)

    @property
    def flips(self) -> Positions:
        """The flipped positions of these copies, copy by copy."""
        return self.positions[self.starts[0] : self.starts[-1]]

    @property
    def copies(self) -> Positions:
        """For each of them the number of its copy."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """See `Draw`. As large as copies × sites: for few sites."""
        clean = np.zeros(self.n_sites, dtype=np.uint8)
        clean[self.ones] = 1
        values: npt.NDArray[np.uint8] = _flipped_values(clean, self.starts, self.positions)
        return values

    def taken(self, copies: Positions) -> FlippedDraw:
        """See `Draw`."""
        parts = [self.positions[self.starts[each] : self.starts[each + 1]] for each in copies]
        starts = np.cumsum([0, *map(len, parts)])
        return FlippedDraw(self.n_sites, self.ones, starts, np.concatenate([self.positions[:0], *parts]))

    def replaced(self, copies: Positions, positions: Positions, values: npt.NDArray[np.uint8]) -> FlippedDraw:
        """See `Draw`: positions ascend in each copy."""
        keys, others = self.copies * self.n_sites + self.flips, copies * self.n_sites + positions
        flipped = _among(positions, self.ones) != (values > 0)
        keys = np.sort(np.concatenate([keys[~_among(keys, np.sort(others))], others[flipped]]))
        copy, flips = np.divmod(keys, self.n_sites)
        return FlippedDraw(self.n_sites, self.ones, np.searchsorted(copy, np.arange(len(self) + 1)), flips)

    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        """See `Draw`."""
        starts = np.concatenate([[0], np.cumsum(self.starts[copies + 1] - self.starts[copies])])
        return ListedFlips(starts, _ascending(self.starts[copies], starts, self.positions))


@dataclass(frozen=True, slots=True)
class ValueDraw:
    """Values one by one, shape (copies, sites)."""

    values: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, samples: slice) -> ValueDraw:
        start, stop = _run(samples, len(self))
        return ValueDraw(self.values[start:stop])

    def part(self, start: int, stop: int) -> ValueDraw:
        """See `Draw`."""
        return ValueDraw(self.values[:, start:stop])

    def taken(self, copies: Positions) -> ValueDraw:
        """See `Draw`."""
        return ValueDraw(self.values[copies])

    def replaced(self, copies: Positions, positions: Positions, values: npt.NDArray[np.uint8]) -> ValueDraw:
        """See `Draw`."""
        found = self.values.copy()
        found[copies, positions] = values
        return ValueDraw(found)

    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        """See `Draw`."""
        clean = np.zeros(self.values.shape[1], dtype=np.uint8)
        clean[nonzero[0]] = nonzero[1]
        bits, shown = [], []
        step = max(1, BLOCK // max(1, len(clean)))
        for start in range(0, max(1, len(copies)), step):
            values = self.values[copies[start : start + step]]
            flipped = values != clean
            bits.append(np.packbits(flipped, axis=1, bitorder="little"))
            shown.append(values[flipped])
        return ShownFlips(np.concatenate(bits), np.concatenate(shown))


def _among(numbers: Positions, ascending: Positions) -> npt.NDArray[np.bool_]:
    """Which numbers, none of them negative, are among others."""
    found: npt.NDArray[np.bool_] = np.append(ascending, -1)[np.searchsorted(ascending, numbers)] == numbers
    return found


def _run(samples: slice, count: int) -> tuple[int, int]:
    start, stop, step = samples.indices(count)
    if step != 1:
        raise IndexError("copies are taken in one run: use a slice without a step")
    return start, stop


@compiled
def _flips_of_lanes(words, lanes, ones):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The flips of all sites in some lanes, packed: the noisy bits, those whose clean bit is 1 turned round."""
    n_sites = words.shape[0]
    bits = np.empty((lanes.size, (n_sites + 7) // 8), np.uint8)
    clean = np.zeros(bits.shape[1], np.uint64)
    for site in ones:
        clean[site >> 3] |= np.uint64(1) << np.uint64(site & 7)
    for octet in range(bits.shape[1]):
        first, last = 8 * octet, min(8 * octet + 8, n_sites)
        for i in range(lanes.size):
            word, lane = lanes[i] // WORD, np.uint64(lanes[i] % WORD)
            found = np.uint64(0)
            for site in range(first, last):
                found |= ((words[site, word] >> lane) & np.uint64(1)) << np.uint64(site - first)
            bits[i, octet] = found ^ clean[octet]
    return bits


@compiled
def _flipped_values(clean, starts, positions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The values of all sites, copy after copy: the clean ones, those at the positions of each copy turned round."""
    values = np.empty((starts.size - 1, clean.size), np.uint8)
    for i in range(starts.size - 1):
        values[i] = clean
        for k in range(starts[i], starts[i + 1]):
            values[i, positions[k]] ^= 1
    return values


@compiled
def _ascending(begins, starts, positions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The positions of some copies, in ascending order in each."""
    ordered = np.empty(starts[-1], np.uint32)
    for i in range(begins.size):
        length = starts[i + 1] - starts[i]
        ordered[starts[i] : starts[i + 1]] = np.sort(positions[begins[i] : begins[i] + length])
    return ordered
