"""Streams of random words, one for each chunk of samples, and the values of all sites drawn from them.

A stream is keyed by (seed, the graph's own key, purpose, chunk number) and by nothing else. So votes are a function of
those keys: never of the batch size, the number of workers, the order they finished in, or how often a run was killed.
Purposes have separate streams: a model trained on noisy copies never votes on those same copies, and bounds are not
made from the copies that chose the class. No global generator is touched.

The words are those of numpy's SFC64, seeded by numpy's SeedSequence. Its own loop takes half as long again, a tenth of
the time of a fast classifier: so they are made here.

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
from fractions import Fraction
from itertools import accumulate
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.arithmetic import compiled
from starcert.sampling.draws import LANES, FlippedDraw, Nonzero, PackedDraw, Positions, SiteSampler, UInt64s, Values

Purpose: TypeAlias = Literal["selection", "estimation", "training"]

_PURPOSES = {"selection": 0, "estimation": 1, "training": 2}

DOZEN = 12  # binary digits of a uniform number that decide most flips
MAX_WORDS = 2**20  # at most this many random words for values are held at a time, or those of one copy if that is more

MAX_BYTES = 2**30
"""Bytes of values or packed bits held at a time, or 64 copies if that is more. What is drawn does not depend on it."""


class WordStream:
    """Random 64-bit words in order; those not used are returned again.

    The words do not depend on the portions they are requested in.
    """

    def __init__(self, *seed: int) -> None:
        self._state: UInt64s = np.random.SFC64(np.random.SeedSequence(seed)).state["state"]["state"]
        self._pending: UInt64s = np.empty(0, dtype=np.uint64)

    @classmethod
    def of_chunk(cls, seed: int, graph_key: str, purpose: Purpose, chunk: int) -> WordStream:
        """The stream of one chunk."""
        return cls(seed, int(graph_key, 16), _PURPOSES[purpose], chunk)

    def at_least(self, count: int) -> UInt64s:
        """The next words, `count` of them or more; they stay until `use` removes them."""
        missing = count - self._pending.size
        if missing > 0:
            fresh = np.empty(missing, dtype=np.uint64)
            fill(self._state, fresh)
            self._pending = np.concatenate([self._pending, fresh]) if self._pending.size else fresh
        return self._pending

    def use(self, count: int) -> None:
        """Removes the next `count` words."""
        self._pending = self._pending[count:]

    def next_word(self) -> int:
        """The next word, which is used."""
        word = int(self.at_least(1)[0])
        self.use(1)
        return word

    def fork(self) -> Self:
        """A separate stream that returns the same words from here on."""
        twin = type(self)(0)
        twin._state, twin._pending = self._state.copy(), self._pending
        return twin


@compiled
def fill(state: UInt64s, words: UInt64s) -> None:
    """Fills an array with the next words, and advances the state: three words, and a counter."""
    a, b, c, count = state[0], state[1], state[2], state[3]
    for i in range(words.size):
        word = a + b + count
        count += np.uint64(1)
        a = b ^ (b >> np.uint64(11))
        b = c + (c << np.uint64(3))
        c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
        words[i] = word
    state[0], state[1], state[2], state[3] = a, b, c, count


def _binary_digits(p: float) -> list[int]:
    """The binary digits of p after the point, up to the last 1; none of 1."""
    numerator, denominator = p.as_integer_ratio()  # a power of two, in lowest terms
    places = denominator.bit_length() - 1
    return [int(digit) for digit in f"{numerator:0{places}b}"] if places else []


class DenseBits(SiteSampler):
    """Draws a bit for every site: the clean one, which is 1 at the positions `ones`, flipped or not.

    `law` is the place of a site's flip probability among `chances`, which are used as the exact values of floats.
    """

    def __init__(
        self, chances: Sequence[float], law: npt.NDArray[np.unsignedinteger], ones: Positions | Sequence[int] = ()
    ) -> None:
        expansions = [_binary_digits(float(p)) for p in chances]
        digits = np.zeros((len(chances), max([1, *map(len, expansions)])), dtype=np.uint8)
        for row, expansion in zip(digits, expansions, strict=True):
            row[: len(expansion)] = expansion
        lengths = np.array([len(expansion) for expansion in expansions], dtype=np.int64)
        self._chances, self._law = (digits, lengths, np.array(chances) == 1), law
        self._ones = np.asarray(ones, dtype=np.int64)

    @override
    def draw(self, stream: WordStream, samples: int) -> PackedDraw:
        return self._bits(self.flips(stream, samples), samples)

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[PackedDraw]:
        # Drawing everything again and keeping another part costs about as much as listing edges.
        most = max(1, MAX_BYTES // (8 * max(1, self._law.size)))
        for first in range(0, -(-wanted // LANES), most):
            left = wanted - LANES * first
            last = left <= LANES * most
            packed = self.flips(stream if last else stream.fork(), samples, first=first, most=most)
            yield self._bits(packed, min(left, LANES * most))

    def _bits(self, packed: UInt64s, samples: int) -> PackedDraw:
        _invert(packed, self._ones)
        return PackedDraw(packed, 0, samples)

    def flips(self, stream: WordStream, samples: int, *, first: int = 0, most: int = 2**62) -> UInt64s:
        """The sites that flip, packed, shape (sites, ⌈samples / 64⌉). Lanes beyond `samples` are drawn as well.

        All numbers of a site are drawn, but only `most` of them from `first` on are held.
        """
        width, law = -(-samples // LANES), self._law
        packed = np.empty((law.size, min(most, width - first)), dtype=np.uint64)
        row = np.empty(width, dtype=np.uint64)
        site = 0
        portion = DOZEN * width * max(1, min(law.size, 1536 // max(1, width)))  # in cache
        while site < law.size:
            reached, used = _draw(*self._chances, law, site, row, first, packed, stream.at_least(portion))
            if reached == site:  # an expansion longer than the portion: a tiny p, and many samples
                portion *= 2
            stream.use(used)
            site = reached
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
            left, words = np.uint64(0), raw[used : used + width]
            if digits[kind, digit]:
                for w in range(width):
                    row[w] |= undecided[w] & ~words[w]
                    undecided[w] &= words[w]
                    left |= undecided[w]
            else:
                for w in range(width):
                    undecided[w] &= ~words[w]
                    left |= undecided[w]
            used += width
            if left == 0:
                break
        for w in range(packed.shape[1]):
            packed[site, w] = row[first + w]
    return packed.shape[0], used


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
        used, self._law = np.unique(law, return_inverse=True)  # of many laws a few sites have few
        self._sums = sums = cumulative([laws[each] for each in used])
        self._nonzero = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)) if nonzero is None else nonzero
        # A word is beyond a sum if it is at least its first digits; one that equals them may yet be below it.
        digits = [[min(int(total * 2**64), 2**64 - 1) for total in each] for each in sums]
        below_one = [[total < 1 for total in each] for each in sums]
        more = [[total < 1 and (total * 2**64).denominator > 1 for total in each] for each in sums]
        tables = (digits, np.uint64), (below_one, np.bool_), (more, np.bool_)
        shape = len(used), max(map(len, sums), default=0)
        arrays = (np.array(table, dtype=dtype).reshape(shape) for table, dtype in tables)
        self._thresholds = [np.ascontiguousarray(each[self._law].T) for each in arrays]

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
                sums = self._sums[self._law[site]]
                values[done - 1, site] = settled(sums, int(last[site]), 64, stream.next_word)
        return values

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[FlippedDraw]:
        assert wanted <= samples
        most = max(1, MAX_BYTES // (8 * max(1, self._law.size)))
        for start in range(0, wanted, most):
            yield self.draw(stream, min(most, wanted - start))


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
