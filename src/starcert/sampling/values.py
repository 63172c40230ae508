"""Exact draws of sites with any alphabet: one random word a site, compared with the law's distribution function.

A uniform number U means the first value whose cumulative probability it is less than. The first 64 binary digits of U
are a random word, those of the probabilities are kept beside; where they agree and the probability has more digits
(once in 10¹⁹ draws), the next word decides, and so on. So the law is that of `transitions`, to its last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from starcert.sampling.draws import ValueDraw
from starcert.sampling.streams import WordStream

__all__ = ["ValueSampler"]

PORTION = 2**20
"""So many random words are held at a time, or those of one copy where that is more."""

HELD = 2**30
"""So many values are held at a time, or those of one copy. What is drawn does not depend on it."""


class ValueSampler:
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
