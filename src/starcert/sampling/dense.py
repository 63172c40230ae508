"""Exact draws for every site: flips of bits, 64 samples at a time, and values of any alphabet, one by one.

**Bits.** A uniform number U is below p if, at the first binary digit where they differ, U has 0 and p has 1. One
random word holds the next digit of 64 such U. Digit by digit, samples leave the undecided ones; after some ten digits
none is left. So a flip costs a sixth of a random word, and it is exact: p is used to its last digit, and a U that
agrees with all digits of p is not below it.

The result is sliced by bits: word w of site s holds what happens to site s in the samples 64w to 64w + 63.

**Values.** A uniform number U means the first value whose cumulative probability it is less than. The first 64 digits
of U are a random word, those of the probabilities are kept beside; where they agree and the probability has more digits
(once in 10¹⁹ draws), the next word decides, and so on. So the law is that of `transitions`, to its last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.sampling.draws import WORD, ValueDraw
from starcert.sampling.generator import FOUR, State, fill, fill_four
from starcert.sampling.streams import Words, WordStream

__all__ = ["DenseFlips", "DenseValues", "binary_digits"]

DOZEN = 12
"""So many binary digits of a uniform number decide most flips."""

PORTION_SITES = 16
"""Random words of several streams at once are drawn for so many sites at a time: they stay in the cache of a core."""

PORTION = 2**20
"""So many random words for values are held at a time, or those of one copy where that is more."""

HELD = 2**30
"""So many values are held at a time, or those of one copy. What is drawn does not depend on it."""


@lru_cache(256)
def binary_digits(p: float) -> tuple[int, ...]:
    """The binary digits of p after the point, up to the last 1; p = 1 is handled by the caller.

    Example:
        >>> binary_digits(0.625)
        (1, 0, 1)
    """
    numerator, denominator = p.as_integer_ratio()  # a power of two, in lowest terms
    places = denominator.bit_length() - 1
    return tuple(int(digit) for digit in f"{numerator:0{places}b}") if places else ()


class DenseFlips:
    """Draws flips of sites with given probabilities.

    Args:
        values: the different probabilities, the exact values of floats.
        law: for each site the place of its probability among them.
    """

    def __init__(self, values: npt.NDArray[np.float64], law: npt.NDArray[np.unsignedinteger]) -> None:
        expansions = [() if p == 1 else binary_digits(float(p)) for p in values]
        self._digits = np.zeros((len(values), max([1, *map(len, expansions)])), dtype=np.uint8)
        for row, digits in zip(self._digits, expansions, strict=True):
            row[: len(digits)] = digits
        self._lengths = np.array([len(digits) for digits in expansions], dtype=np.int64)
        self._certain = values == 1
        self._law = law

    def only(self, sites: npt.NDArray[np.int64]) -> DenseFlips:
        """The same for some of the sites."""
        some = copy(self)
        some._law = self._law[sites]
        return some

    def draw(self, stream: WordStream, samples: int, *, first: int = 0, most: int | None = None) -> Words:
        """Flips of every site in so many samples, as words of shape (sites, ⌈samples / 64⌉).

        The lanes beyond `samples` in the last word are drawn as well: they are nobody's samples.

        Args:
            stream: the random words, taken site by site for all samples.
            samples: how many samples are drawn.
            first: the first word of a site to keep: all are drawn, but not all need to be held at once.
            most: how many words of a site to keep from there on, at most; None: all of them.
        """
        width = -(-samples // WORD)
        kept = width - first if most is None else min(most, width - first)
        words = np.empty((self._law.size, kept), dtype=np.uint64)
        row = np.empty(width, dtype=np.uint64)
        site = 0
        portion = DOZEN * width * max(1, min(self._law.size, 1536 // max(1, width)))  # in cache
        while site < self._law.size:
            raw = stream.at_least(portion)
            laws = self._digits, self._lengths, self._certain, self._law
            reached, used = _draw(*laws, site, row, first, words, raw)
            if reached == site:  # an expansion longer than the portion: a tiny p, and many samples
                portion *= 2
            stream.use(used)
            site = reached
        return words

    def draw_each(self, states: State, samples: int) -> Words:
        """The words that `draw` gives for a new stream of each of these states, side by side."""
        width = -(-samples // WORD)
        words = np.empty((self._law.size, width * len(states)), dtype=np.uint64)
        if words.size:
            _draw_each(self._digits, self._lengths, self._certain, self._law, width, words, states)
        return words


@compiled
def _draw(digits, lengths, certain, law, start, row, first, words, raw):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fills the words of sites from `start` on; returns the first site not done and how many random words it used.

    A site is either done or not begun: the words that a site without enough of them has read are read again. All words
    of a site are made in `row`; those from `first` on, as many as there is room for, are kept.
    """
    width = row.size
    everything = ~np.uint64(0)
    undecided = np.empty(width, np.uint64)
    used = 0
    for site in range(start, words.shape[0]):
        mark = used
        kind = law[site]
        for w in range(width):
            row[w] = everything if certain[kind] else np.uint64(0)
            undecided[w] = everything
        for digit in range(lengths[kind]):
            if used + width > raw.size:
                return site, mark
            left = np.uint64(0)
            if digits[kind, digit]:
                for w in range(width):
                    row[w] |= undecided[w] & ~raw[used + w]
                    undecided[w] &= raw[used + w]
                    left |= undecided[w]
            else:
                for w in range(width):
                    undecided[w] &= ~raw[used + w]
                    left |= undecided[w]
            used += width
            if left == 0:
                break
        for w in range(words.shape[1]):
            words[site, w] = row[first + w]
    return words.shape[0], used


@compiled
def _draw_each(digits, lengths, certain, law, width, words, states):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fills the words of streams that begin with these states, side by side, four of them at a time.

    Each has room for random words: those that a site without enough of them has read, and after them fresh ones.
    """
    n_sites, n_streams = words.shape[0], states.shape[0]
    kept = width * max(1, lengths.max())
    fresh = max(kept, PORTION_SITES * DOZEN * width)
    room, row = np.empty((FOUR, kept + fresh), np.uint64), np.empty(width, np.uint64)
    four, sites, begins = np.zeros((FOUR, 4), np.uint64), np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
    for first in range(0, n_streams, FOUR):
        many = min(FOUR, n_streams - first)
        four[:many] = states[first : first + many]
        begins[:] = kept
        sites[:] = n_sites
        sites[:many] = 0
        while sites.min() < n_sites:
            if many == 1:
                fill(four[0], room[0, kept:])
            else:
                fill_four(four, room[:, kept:])
            for i in range(many):
                raw = room[i, begins[i] :]
                there = words[:, (first + i) * width : (first + i + 1) * width]
                sites[i], used = _draw(digits, lengths, certain, law, sites[i], row, 0, there, raw)
                left = raw.size - used if sites[i] < n_sites else 0
                begins[i] = kept - left
                for k in range(left):
                    room[i, begins[i] + k] = raw[used + k]


class DenseValues:
    """Draws values of sites, copy after copy.

    Args:
        laws: the different laws of sites, each as the probabilities of its values from 0 on, exactly.
        law: for each site the place of its law among them.
    """

    def __init__(self, laws: Sequence[Sequence[Fraction]], law: npt.NDArray[np.integer]) -> None:
        longest = max(map(len, laws), default=1)
        sums = [[*accumulate(each[:-1]), *[Fraction(1)] * (longest - len(each))] for each in laws]
        self._sums = sums
        self._law = law
        # A word is beyond a sum if it is at least its first digits; one that equals them may yet be below it.
        digits = [[min(int(total * 2**64), 2**64 - 1) for total in each] for each in sums]
        self._digits = np.array(digits, dtype=np.uint64).reshape(len(laws), -1)[law].T
        self._certain = np.array([[total == 1 for total in each] for each in sums]).reshape(len(laws), -1)[law].T
        more = [[total < 1 and (total * 2**64).denominator > 1 for total in each] for each in sums]
        self._more = np.array(more).reshape(len(laws), -1)[law].T

    def draw(self, stream: WordStream, samples: int) -> ValueDraw:
        """See `Draws`."""
        n_sites = self._law.size
        values = np.zeros((samples, n_sites), dtype=np.uint8)
        done = 0
        while done < samples and n_sites:
            rows = min(samples - done, max(1, PORTION // n_sites))
            words = stream.at_least(rows * n_sites)[: rows * n_sites].reshape(rows, n_sites)
            tied = np.zeros(words.shape, dtype=np.bool_)
            for digits, certain, more in zip(self._digits, self._certain, self._more, strict=True):
                values[done : done + rows] += (words >= digits) & ~certain
                tied |= (words == digits) & more
            unsettled = np.flatnonzero(tied.any(axis=1))
            if len(unsettled):  # the words after that copy settle it, and what follows is drawn again
                row = int(unsettled[0])
                values[done + row + 1 : done + rows] = 0
                rows, numbers = row + 1, words[row].tolist()
            stream.use(rows * n_sites)
            done += rows
            for site in np.flatnonzero(tied[rows - 1]) if len(unsettled) else ():
                values[done - 1, site] = self._settled(stream, int(site), numbers[site])
        return ValueDraw(values)

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[ValueDraw]:
        """See `Draws`."""
        assert wanted <= samples
        most = max(1, HELD // max(1, self._law.size))
        for start in range(0, wanted, most):
            yield self.draw(stream, min(most, wanted - start))

    def _settled(self, stream: WordStream, site: int, word: int) -> int:
        """The value of a site whose number begins with a word that does not tell it."""
        number, unit = word, 2**64
        while True:
            low, high = Fraction(number, unit), Fraction(number + 1, unit)
            sums = self._sums[self._law[site]]
            if not any(low < total < high for total in sums):
                return sum(total <= low for total in sums)
            number, unit = number * 2**64 + int(stream.at_least(1)[0]), unit * 2**64
            stream.use(1)
