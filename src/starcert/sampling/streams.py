"""Streams of random words, one for each chunk of samples, and exact counts from them.

A stream is keyed by (seed, the graph's own key, purpose, chunk number) and by nothing else. So votes are a function of
those keys: never of the batch size, of how many workers there were, of the order they finished in, or of how often a
run was killed. The purposes are apart: a model that was trained on noisy copies never votes on the very same copies,
nor are bounds made from those that chose the class. No global generator is touched.

How many of n sites flip is drawn without looking at every site. The distribution function of the binomial law is
computed in ball arithmetic and cut off after 192 binary digits; a uniform number with 192 digits is compared with it.
Where they agree in all digits (with probability 2⁻¹⁸⁰) the draw cannot be decided and an error is raised, so that what
is drawn follows the very law that is certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx, fmpq, fmpz

from starcert.math.arithmetic import LOCK, exact_number
from starcert.math.cells import window
from starcert.sampling.generator import State, fill, seeded, seeded_each
from starcert.system.errors import PrecisionError

__all__ = ["DIGIT_WORDS", "Purpose", "WordStream", "Words", "count_table", "states_of_chunks"]

Purpose: TypeAlias = Literal["selection", "estimation", "training"]
Words: TypeAlias = npt.NDArray[np.uint64]

_PURPOSES = {"selection": 0, "estimation": 1, "training": 2}


class WordStream:
    """Random 64-bit words, handed out in order; what was not used is handed out again.

    The words do not depend on the portions they are asked for in, so a sampler may ask for as many as are convenient.

    Example:
        >>> one, other = (WordStream.of_chunk(7, "2a", "estimation", 3) for _ in range(2))
        >>> portion = one.at_least(100)[:2].tolist()
        >>> one.use(1)
        >>> portion[1] == int(one.at_least(1)[0]) == int(other.at_least(2)[1])
        True
    """

    def __init__(self, *seed: int) -> None:
        self._state = seeded(seed)
        self._pending: Words = np.empty(0, dtype=np.uint64)

    @classmethod
    def of_chunk(cls, seed: int, graph_key: str, purpose: Purpose, chunk: int) -> WordStream:
        """The stream of one chunk."""
        return cls(seed, int(graph_key, 16), _PURPOSES[purpose], chunk)

    def at_least(self, count: int) -> Words:
        """The next words of the stream, `count` of them or more; they stay until `use` takes them away."""
        missing = count - self._pending.size
        if missing > 0:
            fresh = np.empty(missing, dtype=np.uint64)
            fill(self._state, fresh)
            self._pending = np.concatenate([self._pending, fresh]) if self._pending.size else fresh
        return self._pending

    def use(self, count: int) -> None:
        """Takes the next `count` words away."""
        self._pending = self._pending[count:]

    def fork(self) -> Self:
        """A stream of its own that hands out the same words from here on: what is drawn can be drawn again.

        Example:
            >>> stream = WordStream.of_chunk(7, "2a", "estimation", 3)
            >>> later = stream.fork()
            >>> stream.use(len(stream.at_least(10)))
            >>> other = WordStream.of_chunk(7, "2a", "estimation", 3)
            >>> int(later.at_least(1)[0]) == int(other.at_least(1)[0])
            True
        """
        twin = type(self)(0)
        twin._state, twin._pending = self._state.copy(), self._pending
        return twin


def states_of_chunks(seed: int, graph_key: str, purpose: Purpose, chunks: Sequence[int]) -> State:
    """The states that the streams of several chunks begin with, shape (chunks, 4)."""
    return seeded_each((seed, int(graph_key, 16), _PURPOSES[purpose]), chunks)


MAX_EXACT_SITES = 20_000

DIGIT_WORDS = 3
"""Words of 64 binary digits in an entry of the distribution function, and in the number that is compared with it."""


@lru_cache(maxsize=256)
def count_table(sites: int, p: float) -> tuple[int, Words]:
    """The distribution function of Bin(sites, p): the first count, and floor(2¹⁹²·P(count ≤ k)) for k from there on.

    Shape (counts, 3), most significant word first; the last entry, which is 1 or so close that no digit differs, is all
    ones. A uniform number of 192 digits means the first count whose entry it is less than.
    """
    digits = 64 * DIGIT_WORDS
    if p in (0, 1):
        return int(sites * p), np.full((1, DIGIT_WORDS), 2**64 - 1, dtype=np.uint64)
    low, high = window(sites, p, bits=digits + 120)
    for bits in (384, 768, None):
        floors = _floors(sites, Fraction(p), low, high, bits)
        if None not in floors:
            break
    else:
        raise PrecisionError(
            f"Flips of {sites:,} sites with probability {p!r} cannot be drawn exactly. Change the probability a little."
        )
    entries = [*(int(x) for x in floors if x is not None), 2**digits - 1]
    words = [[x >> (64 * (DIGIT_WORDS - 1 - i)) & (2**64 - 1) for i in range(DIGIT_WORDS)] for x in entries]
    return low, np.array(words, dtype=np.uint64)


def _floors(sites: int, p: Fraction, low: int, high: int, bits: int | None) -> Sequence[fmpz | None]:
    """floor(2¹⁹²·P(count ≤ k)) for k from `low` to `high` − 1, None where balls leave it open; `bits` None: exactly."""
    unit = fmpz(2) ** (64 * DIGIT_WORDS)
    if bits is None:  # an entry that has no more than 192 digits, such as 1/4: no ball can tell it from less
        if sites > MAX_EXACT_SITES:
            return [None]
        total, out = fmpq(0), []
        mass = fmpq((1 - p).numerator, (1 - p).denominator) ** sites
        odds = fmpq(p.numerator, (1 - p).numerator)
        for k in range(high):
            total += mass
            mass = mass * odds * fmpq(sites - k, k + 1)
            if k >= low:
                out.append((total * unit).floor())
        return out
    with LOCK, ctx.workprec(bits):
        success, failure = exact_number(p), exact_number(1 - p)
        with ctx.extraprec(2 * sites.bit_length()):
            choose = arb(sites + 1).lgamma() - arb(low + 1).lgamma() - arb(sites - low + 1).lgamma()
            mass = (choose + success.log() * low + failure.log() * (sites - low)).exp()
        # What lies below the window is less than 2⁻³¹⁰, somewhere between 0 and that.
        ball, entries = arb(arb(2) ** -311, arb(2) ** -311), []
        for k in range(low, high):
            ball += mass
            scaled = ball * unit
            if 2 * p == 1 and 2 * k + 1 == sites:  # by symmetry 1/2 exactly, which no ball can tell from less
                entries.append(unit // 2)
            elif (
                scaled.upper() < 1 or scaled.lower() >= unit - 1
            ):  # true entries lie between 0 and 1, whatever balls say
                entries.append(fmpz(0) if scaled < 1 else unit - 1)
            else:
                entries.append(scaled.floor().unique_fmpz())
            mass = mass * (sites - k) * (success / failure) / (k + 1)
        return entries
