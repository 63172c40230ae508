"""Exact draws for every site: bits of 64 copies at a time, and values of any alphabet one by one.

**Bits.** A uniform number U is below p if, at the first binary digit where they differ, U has 0 and p has 1. One
random word holds the next digit of 64 such U. Digit by digit copies are decided; after some ten digits all are. So a
flip costs a sixth of a random word, and it is exact: p is used to its last digit, and a U that agrees with all digits
of p is not below it. Number w of site s holds what happens to site s in the copies 64w to 64w + 63.

**Values.** A uniform number U means the first value whose cumulative probability it is less than. The first 64 digits
of U are a random word, compared with those of the probabilities; where they agree and the probability has more digits
(once in 10¹⁹ draws), the next word decides, and so on. So the law is that of `transitions`, to its last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.arithmetic import compiled
from starcert.sampling.draws import LANES, FlippedDraw, Nonzero, PackedDraw, Positions, SiteSampler, Values
from starcert.sampling.streams import FOUR, State, UInt64s, WordStream, fill, fill_four

__all__ = ["DenseBits", "DenseFlips", "DenseValues", "binary_digits", "cumulative", "settled"]

DOZEN = 12
"""Binary digits of a uniform number that decide most flips."""

CACHED_SITES = 16
"""Several streams are advanced together for this many sites at a time: their words stay in the cache of a core."""

MAX_WORDS = 2**20
"""At most this many random words for values are held at a time, or those of one copy if that is more."""

MAX_BYTES = 2**30
"""Bytes of values or packed bits held at a time, or 64 copies if that is more. What is drawn does not depend on it."""


@lru_cache(256)
def binary_digits(p: float) -> tuple[int, ...]:
    """The binary digits of p < 1 after the point, up to the last 1.

    Example:
        >>> binary_digits(0.625)
        (1, 0, 1)
    """
    numerator, denominator = p.as_integer_ratio()  # a power of two, in lowest terms
    places = denominator.bit_length() - 1
    return tuple(int(digit) for digit in f"{numerator:0{places}b}") if places else ()


class DenseFlips:
    """Whether each site flips: `law` is the place of its probability among `chances`, the exact values of floats."""

    def __init__(self, chances: Sequence[float], law: npt.NDArray[np.unsignedinteger]) -> None:
        expansions = [() if p == 1 else binary_digits(float(p)) for p in chances]
        self._digits = np.zeros((len(chances), max([1, *map(len, expansions)])), dtype=np.uint8)
        for row, digits in zip(self._digits, expansions, strict=True):
            row[: len(digits)] = digits
        self._lengths = np.array([len(digits) for digits in expansions], dtype=np.int64)
        self._certain = np.array(chances) == 1
        self._law = law

    def only(self, sites: Positions) -> DenseFlips:
        """The same for some of the sites."""
        some = copy(self)
        some._law = self._law[sites]
        return some

    def draw(self, stream: WordStream, samples: int, *, first: int = 0, most: int | None = None) -> UInt64s:
        """Packed flips of every site, shape (sites, ⌈samples / 64⌉). Lanes beyond `samples` are drawn as well.

        All numbers of a site are drawn, but only `most` of them from `first` on need be held.
        """
        width = -(-samples // LANES)
        kept = width - first if most is None else min(most, width - first)
        packed = np.empty((self._law.size, kept), dtype=np.uint64)
        row = np.empty(width, dtype=np.uint64)
        site = 0
        portion = DOZEN * width * max(1, min(self._law.size, 1536 // max(1, width)))  # in cache
        while site < self._law.size:
            raw = stream.at_least(portion)
            laws = self._digits, self._lengths, self._certain, self._law
            reached, used = _draw(*laws, site, row, first, packed, raw)
            if reached == site:  # an expansion longer than the portion: a tiny p, and many samples
                portion *= 2
            stream.use(used)
            site = reached
        return packed

    def draw_each(self, states: State, samples: int) -> UInt64s:
        """What `draw` gives for a new stream of each of these states, side by side."""
        width = -(-samples // LANES)
        packed = np.empty((self._law.size, width * len(states)), dtype=np.uint64)
        if packed.size:
            _draw_each(self._digits, self._lengths, self._certain, self._law, width, packed, states)
        return packed


@compiled
def _draw(digits, lengths, certain, law, start, row, first, packed, raw):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fills in sites from `start` on; returns the first site not done and how many random words were used.

    A site is either done or not begun: if words run out within a site, it starts over with the same words. All numbers
    of a site are made in `row`; those from `first` on are kept, as many as fit.
    """
    width = row.size
    everything = ~np.uint64(0)
    undecided = np.empty(width, np.uint64)
    used = 0
    for site in range(start, packed.shape[0]):
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
        for w in range(packed.shape[1]):
            packed[site, w] = row[first + w]
    return packed.shape[0], used


@compiled
def _draw_each(digits, lengths, certain, law, width, packed, states):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Draws from streams that begin with these states, side by side, four of them at a time.

    The buffer of each stream holds the words of an unfinished site, followed by fresh ones.
    """
    n_sites, n_streams = packed.shape[0], states.shape[0]
    kept = width * max(1, lengths.max())
    fresh = max(kept, CACHED_SITES * DOZEN * width)
    buffer, row = np.empty((FOUR, kept + fresh), np.uint64), np.empty(width, np.uint64)
    four, sites, begins = np.zeros((FOUR, 4), np.uint64), np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
    for first in range(0, n_streams, FOUR):
        many = min(FOUR, n_streams - first)
        four[:many] = states[first : first + many]
        begins[:] = kept
        sites[:] = n_sites
        sites[:many] = 0
        while sites.min() < n_sites:
            if many == 1:
                fill(four[0], buffer[0, kept:])
            else:
                fill_four(four, buffer[:, kept:])
            for i in range(many):
                raw = buffer[i, begins[i] :]
                there = packed[:, (first + i) * width : (first + i + 1) * width]
                sites[i], used = _draw(digits, lengths, certain, law, sites[i], row, 0, there, raw)
                left = raw.size - used if sites[i] < n_sites else 0
                begins[i] = kept - left
                for k in range(left):
                    buffer[i, begins[i] + k] = raw[used + k]


class DenseBits(SiteSampler):
    """Draws a bit for every site: the clean one, which is 1 at the positions `ones`, flipped or not."""

    def __init__(self, flips: DenseFlips, ones: Positions, n_sites: int) -> None:
        self._flips, self._ones, self._n_sites = flips, ones, n_sites

    @override
    def draw(self, stream: WordStream, samples: int) -> PackedDraw:
        return self._bits(self._flips.draw(stream, samples), samples)

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[PackedDraw]:
        # Drawing everything again and keeping another part costs about as much as listing edges.
        most = max(1, MAX_BYTES // (8 * max(1, self._n_sites)))
        for first in range(0, -(-wanted // LANES), most):
            left = wanted - LANES * first
            last = left <= LANES * most
            packed = self._flips.draw(stream if last else stream.fork(), samples, first=first, most=most)
            yield self._bits(packed, min(left, LANES * most))

    def draw_each(self, states: State, samples: int) -> PackedDraw:
        """What `draw` gives for a stream of each state, one after the other; `samples` is a multiple of 64."""
        return self._bits(self._flips.draw_each(states, samples), samples * len(states))

    def _bits(self, packed: UInt64s, samples: int) -> PackedDraw:
        _invert(packed, self._ones)
        return PackedDraw(packed, 0, samples)


@compiled
def _invert(packed: UInt64s, sites: Positions) -> None:
    for site in sites:
        for column in range(packed.shape[1]):
            packed[site, column] = ~packed[site, column]


def cumulative(laws: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """The cumulative probabilities of each law without the last, which is 1; shorter laws are filled up with 1."""
    longest = max(map(len, laws), default=1)
    return [[*accumulate(each[:-1]), *[Fraction(1)] * (longest - len(each))] for each in laws]


def settled(sums: Sequence[Fraction], number: int, digits: int, further: Callable[[], int]) -> int:
    """The value that a number means whose first binary digits agree with a sum: it goes on with further digits."""
    unit = 2**digits
    while any(Fraction(number, unit) < total < Fraction(number + 1, unit) for total in sums):
        number, unit = number * 2**digits + further(), unit * 2**digits
    return sum(total <= Fraction(number, unit) for total in sums)


class DenseValues(SiteSampler):
    """Draws a value for every site, copy after copy.

    `law` is the place of a site's law among `laws`, each the exact probabilities of the values from 0 on.
    """

    def __init__(
        self, laws: Sequence[Sequence[Fraction]], law: npt.NDArray[np.integer], nonzero: Nonzero | None = None
    ) -> None:
        self._sums = sums = cumulative(laws)
        self._law = law
        self._nonzero = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)) if nonzero is None else nonzero
        # A word is beyond a sum if it is at least its first digits; one that equals them may yet be below it.
        digits = [[min(int(total * 2**64), 2**64 - 1) for total in each] for each in sums]
        below_one = [[total < 1 for total in each] for each in sums]
        more = [[total < 1 and (total * 2**64).denominator > 1 for total in each] for each in sums]
        tables = (digits, np.uint64), (below_one, np.bool_), (more, np.bool_)
        self._thresholds = [
            np.ascontiguousarray(np.array(table, dtype=dtype).reshape(len(laws), -1)[law].T) for table, dtype in tables
        ]

    @override
    def draw(self, stream: WordStream, samples: int) -> FlippedDraw:
        return FlippedDraw.of_values(self.draw_values(stream, samples), self._nonzero)

    def draw_values(self, stream: WordStream, samples: int) -> Values:
        """The values of all sites, shape (samples, sites)."""
        n_sites = self._law.size
        values = np.zeros((samples, n_sites), dtype=np.uint8)
        done = 0
        while done < samples and n_sites:
            rows = min(samples - done, max(1, MAX_WORDS // n_sites))
            words = stream.at_least(rows * n_sites)
            rows, tied = _add_values(words, *self._thresholds, values[done : done + rows])
            stream.use(rows * n_sites)
            done += rows
            last, (digits, _, more) = words[(rows - 1) * n_sites : rows * n_sites], self._thresholds
            for site in np.flatnonzero(((last == digits) & more).any(axis=0)) if tied else ():
                values[done - 1, site] = self._settled(stream, int(site), int(last[site]))
        return values

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[FlippedDraw]:
        assert wanted <= samples
        most = max(1, MAX_BYTES // (8 * max(1, self._law.size)))
        for start in range(0, wanted, most):
            yield self.draw(stream, min(most, wanted - start))

    def _settled(self, stream: WordStream, site: int, number: int) -> int:
        def next_word() -> int:
            word = int(stream.at_least(1)[0])
            stream.use(1)
            return word

        return settled(self._sums[self._law[site]], number, 64, next_word)


@compiled
def _add_values(words, digits, below_one, more, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Adds to values of 0, up to the first copy with a word that agrees with a sum: its next words come first.

    Returns how many copies are done, and whether the last one has such words. Loops over sites are innermost, and
    without branches: they are several sites at a time.
    """
    n_sites = values.shape[1]
    for row in range(values.shape[0]):
        tied, here, found = False, words[row * n_sites : (row + 1) * n_sites], values[row]
        for k in range(digits.shape[0]):
            first, usable, open_ones = digits[k], below_one[k], more[k]
            for site in range(n_sites):
                found[site] += np.uint8((here[site] >= first[site]) & usable[site])
                tied |= (here[site] == first[site]) & open_ones[site]
        if tied:
            return row + 1, True
    return values.shape[0], False
