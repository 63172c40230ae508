"""Streams of random words, one for each chunk of samples, and exact counts of flips from them.

A stream is keyed by (seed, the graph's own key, purpose, chunk number) and by nothing else. So votes are a function of
those keys: never of the batch size, the number of workers, the order they finished in, or how often a run was killed.
Purposes have separate streams: a model trained on noisy copies never votes on those same copies, and bounds are not
made from the copies that chose the class. No global generator is touched.

The words are those of numpy's SFC64, seeded by numpy's SeedSequence, compiled here because a chunk needs only some ten
thousand words and numpy's own overhead would exceed the time of a fast classifier.

How many of n sites flip is drawn without looking at every site. The distribution function of the binomial law is
computed in ball arithmetic to 192 binary digits, and compared with a uniform number of 192 digits. If they agree in all
digits (with probability 2⁻¹⁸⁰) an error is raised, so that what is drawn follows the very law that is certified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx, fmpq, fmpz

from starcert.math.arithmetic import LOCK, compiled, exact_number
from starcert.math.cells import window
from starcert.system.errors import PrecisionError

__all__ = [
    "COUNT_WORDS",
    "FOUR",
    "Purpose",
    "State",
    "UInt64s",
    "WordStream",
    "count_table",
    "fill",
    "fill_four",
    "seeded",
    "seeded_each",
    "states_of_chunks",
]

Purpose: TypeAlias = Literal["selection", "estimation", "training"]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
State: TypeAlias = npt.NDArray[np.uint64]
"""The state of a generator: three words that are mixed, and a counter."""

_PURPOSES = {"selection": 0, "estimation": 1, "training": 2}


class WordStream:
    """Random 64-bit words in order; those not used are returned again.

    The words do not depend on the portions they are requested in.

    Example:
        >>> one, other = (WordStream.of_chunk(7, "2a", "estimation", 3) for _ in range(2))
        >>> portion = one.at_least(100)[:2].tolist()
        >>> one.use(1)
        >>> portion[1] == int(one.at_least(1)[0]) == int(other.at_least(2)[1])
        True
    """

    def __init__(self, *seed: int) -> None:
        self._state = seeded(seed)
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

    def fork(self) -> Self:
        """A separate stream that returns the same words from here on."""
        twin = type(self)(0)
        twin._state, twin._pending = self._state.copy(), self._pending
        return twin


def states_of_chunks(seed: int, graph_key: str, purpose: Purpose, chunks: Sequence[int]) -> State:
    """The initial states of the streams of several chunks, shape (chunks, 4)."""
    return seeded_each((seed, int(graph_key, 16), _PURPOSES[purpose]), chunks)


def seeded(numbers: Iterable[int]) -> State:
    """The state of `numpy.random.SFC64(numpy.random.SeedSequence(numbers))`: whole numbers of 0 or more.

    Example:
        >>> state, words = seeded([1, 2]), np.empty(1, dtype=np.uint64)
        >>> fill(state, words)
        >>> words[0] == np.random.SFC64(np.random.SeedSequence([1, 2])).random_raw()
        np.True_
    """
    state: State = _seeded(_entropy(numbers))
    return state


def seeded_each(numbers: Iterable[int], lasts: Sequence[int]) -> State:
    """For each of `lasts` the state of `numbers` followed by it, shape (lasts, 4)."""
    if max(lasts, default=0) >= 2**32:
        return np.array([seeded([*numbers, last]) for last in lasts])
    states: State = _seeded_each(_entropy([*numbers, 0]), np.array(lasts, dtype=np.uint32))
    return states


def _entropy(numbers: Iterable[int]) -> npt.NDArray[np.uint32]:
    """Whole numbers in a row, each in as few 32-bit words as possible: numpy's layout."""
    octets = b"".join(number.to_bytes(4 * max(1, -(-number.bit_length() // 32)), "little") for number in numbers)
    return np.frombuffer(octets, dtype="<u4").astype(np.uint32)


@compiled
def fill(state: State, words: UInt64s) -> None:
    """Fills an array with the next words, and advances the state."""
    a, b, c, count = state[0], state[1], state[2], state[3]
    for i in range(words.size):
        word = a + b + count
        count += np.uint64(1)
        a = b ^ (b >> np.uint64(11))
        b = c + (c << np.uint64(3))
        c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
        words[i] = word
    state[0], state[1], state[2], state[3] = a, b, c, count


FOUR = 4


@compiled
def fill_four(states: State, words: UInt64s) -> None:
    """The same for four generators, a row each: a word depends on the one before, so a core has time for the others."""
    step, right, left, turn, back = np.uint64(1), np.uint64(11), np.uint64(3), np.uint64(24), np.uint64(40)
    a0, b0, c0, n0 = states[0, 0], states[0, 1], states[0, 2], states[0, 3]
    a1, b1, c1, n1 = states[1, 0], states[1, 1], states[1, 2], states[1, 3]
    a2, b2, c2, n2 = states[2, 0], states[2, 1], states[2, 2], states[2, 3]
    a3, b3, c3, n3 = states[3, 0], states[3, 1], states[3, 2], states[3, 3]
    for i in range(words.shape[1]):
        w0, w1, w2, w3 = a0 + b0 + n0, a1 + b1 + n1, a2 + b2 + n2, a3 + b3 + n3
        n0, n1, n2, n3 = n0 + step, n1 + step, n2 + step, n3 + step
        a0, a1, a2, a3 = b0 ^ (b0 >> right), b1 ^ (b1 >> right), b2 ^ (b2 >> right), b3 ^ (b3 >> right)
        b0, b1, b2, b3 = c0 + (c0 << left), c1 + (c1 << left), c2 + (c2 << left), c3 + (c3 << left)
        c0, c1 = ((c0 << turn) | (c0 >> back)) + w0, ((c1 << turn) | (c1 >> back)) + w1
        c2, c3 = ((c2 << turn) | (c2 >> back)) + w2, ((c3 << turn) | (c3 >> back)) + w3
        words[0, i], words[1, i], words[2, i], words[3, i] = w0, w1, w2, w3
    states[0, 0], states[0, 1], states[0, 2], states[0, 3] = a0, b0, c0, n0
    states[1, 0], states[1, 1], states[1, 2], states[1, 3] = a1, b1, c1, n1
    states[2, 0], states[2, 1], states[2, 2], states[2, 3] = a2, b2, c2, n2
    states[3, 0], states[3, 1], states[3, 2], states[3, 3] = a3, b3, c3, n3


POOL = 4
"""32-bit words that all entropy is mixed into."""


@compiled
def _seeded(entropy: npt.NDArray[np.uint32]) -> State:
    pool = np.zeros(POOL, np.uint32)
    constant = np.uint32(0x43B0D7E5)
    for i in range(POOL):
        pool[i], constant = _hashed(entropy[i] if i < entropy.size else np.uint32(0), constant)
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                value, constant = _hashed(pool[source], constant)
                pool[target] = _mixed(pool[target], value)
    for source in range(POOL, entropy.size):
        for target in range(POOL):
            value, constant = _hashed(entropy[source], constant)
            pool[target] = _mixed(pool[target], value)
    state = np.ones(4, np.uint64)
    constant = np.uint32(0x8B51F9DD)
    for word in range(3):
        joined = np.uint64(0)
        for half in range(2):
            value = pool[(2 * word + half) % POOL] ^ constant
            constant = np.uint32(constant * np.uint32(0x58F38DED))
            value = np.uint32(value * constant)
            value = np.uint32(value ^ (value >> np.uint32(16)))
            joined |= np.uint64(value) << np.uint64(32 * half)
        state[word] = joined
    fill(state, np.empty(12, np.uint64))
    return state


@compiled
def _seeded_each(entropy: npt.NDArray[np.uint32], lasts: npt.NDArray[np.uint32]) -> State:
    states = np.empty((lasts.size, 4), np.uint64)
    for i in range(lasts.size):
        entropy[-1] = lasts[i]
        states[i] = _seeded(entropy)
    return states


@compiled
def _hashed(value, constant):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    value = np.uint32(value ^ constant)
    constant = np.uint32(constant * np.uint32(0x931E8875))
    value = np.uint32(value * constant)
    return np.uint32(value ^ (value >> np.uint32(16))), constant


@compiled
def _mixed(one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    value = np.uint32(np.uint32(np.uint32(0xCA01F9DD) * one) - np.uint32(np.uint32(0x4973F715) * other))
    return np.uint32(value ^ (value >> np.uint32(16)))


MAX_EXACT_SITES = 20_000

COUNT_WORDS = 3
"""64-bit words in an entry of the distribution function, and in the number that is compared with it."""


@lru_cache(maxsize=256)
def count_table(sites: int, p: float | Fraction) -> tuple[int, UInt64s]:
    """The distribution function of Bin(sites, p): the first count, and floor(2¹⁹²·P(count ≤ k)) for k from there on.

    Shape (counts, 3), most significant word first; the last entry, which is 1 or so close that no digit differs, is all
    ones. A uniform number of 192 digits means the first count whose entry it is less than.
    """
    digits = 64 * COUNT_WORDS
    if p in (0, 1):
        return int(sites * p), np.full((1, COUNT_WORDS), 2**64 - 1, dtype=np.uint64)
    low, high = window(sites, float(p), bits=digits + 120)
    for bits in (384, 768, None):
        floors = _floors(sites, Fraction(p), low, high, bits)
        if None not in floors:
            break
    else:
        raise PrecisionError(
            f"Flips of {sites:,} sites with probability {float(p)!r} cannot be drawn exactly. Change the probability "
            "a little."
        )
    entries = [*(int(x) for x in floors if x is not None), 2**digits - 1]
    words = [[x >> (64 * (COUNT_WORDS - 1 - i)) & (2**64 - 1) for i in range(COUNT_WORDS)] for x in entries]
    return low, np.array(words, dtype=np.uint64)


def _floors(sites: int, p: Fraction, low: int, high: int, bits: int | None) -> Sequence[fmpz | None]:
    """floor(2¹⁹²·P(count ≤ k)) for `low` ≤ k < `high`, None where balls leave it open; `bits` None: exactly."""
    unit = fmpz(2) ** (64 * COUNT_WORDS)
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
            elif scaled.upper() < 1 or scaled.lower() >= unit - 1:  # true entries lie between 0 and 1
                entries.append(fmpz(0) if scaled < 1 else unit - 1)
            else:
                entries.append(scaled.floor().unique_fmpz())
            mass = mass * (sites - k) * (success / failure) / (k + 1)
        return entries
