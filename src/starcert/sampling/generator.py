"""The random words of numpy's SFC64, seeded by numpy's SeedSequence, compiled: the same words, several times as fast.

A chunk of votes needs some ten thousand words and a seed of its own. numpy spends more time on both than the whole of
a fast classifier takes. Every word here is numpy's (`tests/sampling/test_generator.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled

__all__ = ["FOUR", "State", "fill", "fill_four", "seeded", "seeded_each"]

State = npt.NDArray[np.uint64]
"""Three words that are mixed, and one that counts."""


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
    """A state for the same numbers and each of these after them, shape (lasts, 4).

    Example:
        >>> bool((seeded_each([1, 2], [3, 4]) == [seeded([1, 2, 3]), seeded([1, 2, 4])]).all())
        True
    """
    if max(lasts, default=0) >= 2**32:
        return np.array([seeded([*numbers, last]) for last in lasts])
    states: State = _seeded_each(_entropy([*numbers, 0]), np.array(lasts, dtype=np.uint32))
    return states


def _entropy(numbers: Iterable[int]) -> npt.NDArray[np.uint32]:
    """Whole numbers one after the other, each in as few words of 32 digits as do, as numpy lays them out."""
    octets = b"".join(number.to_bytes(4 * max(1, -(-number.bit_length() // 32)), "little") for number in numbers)
    return np.frombuffer(octets, dtype="<u4").astype(np.uint32)


@compiled
def fill(state: State, words: npt.NDArray[np.uint64]) -> None:
    """Fills an array with the next words, and moves the state on."""
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
def fill_four(states: State, words: npt.NDArray[np.uint64]) -> None:
    """The same for four generators at once: a word waits for the one before it, and meanwhile a core does the others'.

    Args:
        states: shape (4, 4).
        words: shape (4, words of each).
    """
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
"""Words of 32 digits that all entropy is mixed into."""


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
