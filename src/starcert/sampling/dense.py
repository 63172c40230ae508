"""Exact Bernoulli flips for every site, 64 samples at a time.

A uniform number U is below p if, at the first binary digit where they differ, U has 0 and p has 1. One random word
holds the next digit of 64 such U. Digit by digit, samples leave the undecided ones; after some ten digits none is left.
So a flip costs a sixth of a random word, and it is exact: p is used to its last digit, and a U that agrees with all
digits of p is not below it.

The result is sliced by bits: word w of site s holds what happens to site s in the samples 64w to 64w + 63.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled
from starcert.sampling.streams import Words, WordStream

__all__ = ["DenseFlips", "binary_digits"]

WORD = 64


def binary_digits(p: float) -> list[int]:
    """The binary digits of p after the point, up to the last 1; p = 1 is handled by the caller.

    Example:
        >>> binary_digits(0.625)
        [1, 0, 1]
    """
    numerator, denominator = p.as_integer_ratio()  # a power of two, in lowest terms
    places = denominator.bit_length() - 1
    return [int(digit) for digit in f"{numerator:0{places}b}"] if places else []


class DenseFlips:
    """Draws flips of sites with given probabilities.

    Args:
        values: the different probabilities, the exact values of floats.
        law: for each site the place of its probability among them.
    """

    def __init__(self, values: npt.NDArray[np.float64], law: npt.NDArray[np.unsignedinteger]) -> None:
        expansions = [[] if p == 1 else binary_digits(float(p)) for p in values]
        self._digits = np.zeros((len(values), max([1, *map(len, expansions)])), dtype=np.uint8)
        for row, digits in zip(self._digits, expansions, strict=True):
            row[: len(digits)] = digits
        self._lengths = np.array([len(digits) for digits in expansions], dtype=np.int64)
        self._certain = values == 1
        self._law = law

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
        portion = 12 * width * max(1, min(self._law.size, 256))  # some dozen digits a site, in cache
        while site < self._law.size:
            raw = stream.at_least(portion)
            laws = self._digits, self._lengths, self._certain, self._law
            reached, used = _draw(*laws, site, row, first, words, raw)
            if reached == site:  # an expansion longer than the portion: a tiny p, and many samples
                portion *= 2
            stream.use(used)
            site = reached
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
