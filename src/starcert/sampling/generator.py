"""The random words of numpy's SFC64, seeded by numpy's SeedSequence, compiled: the same words, several times as fast.

A chunk of votes needs some ten thousand words and a seed of its own. numpy spends more time on both than the whole of
a fast classifier takes. Every word here is numpy's (`tests/sampling/test_generator.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from starcert.core.arithmetic import compiled

__all__ = ["State", "fill", "seeded"]

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
    entropy = b"".join(number.to_bytes(4 * max(1, -(-number.bit_length() // 32)), "little") for number in numbers)
    state: State = _seeded(np.frombuffer(entropy, dtype="<u4").astype(np.uint32))
    return state


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
def _hashed(value, constant):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    value = np.uint32(value ^ constant)
    constant = np.uint32(constant * np.uint32(0x931E8875))
    value = np.uint32(value * constant)
    return np.uint32(value ^ (value >> np.uint32(16))), constant


@compiled
def _mixed(one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    value = np.uint32(np.uint32(np.uint32(0xCA01F9DD) * one) - np.uint32(np.uint32(0x4973F715) * other))
    return np.uint32(value ^ (value >> np.uint32(16)))
