"""Streams of random words, one for each chunk of samples.

A stream is keyed by (seed, the graph's own key, purpose, chunk number) and by nothing else. So votes are a function of
those keys: never of the batch size, of how many workers there were, of the order they finished in, or of how often a
run was killed. The purposes are apart: a model that was trained on noisy copies never votes on the very same copies,
nor are bounds made from those that chose the class. No global generator is touched.
"""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Purpose", "WordStream", "Words"]

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

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._source = np.random.SFC64(seed)
        self._pending: Words = np.empty(0, dtype=np.uint64)

    @classmethod
    def of_chunk(cls, seed: int, graph_key: str, purpose: Purpose, chunk: int) -> WordStream:
        """The stream of one chunk."""
        return cls(np.random.SeedSequence([seed, int(graph_key, 16), _PURPOSES[purpose], chunk]))

    def at_least(self, count: int) -> Words:
        """The next words of the stream, `count` of them or more; they stay until `use` takes them away."""
        missing = count - self._pending.size
        if missing > 0:
            fresh = self._source.random_raw(missing)
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
        twin = type(self)(np.random.SeedSequence(0))  # a copy of its state is some ten times faster than of all of it
        twin._source.state, twin._pending = self._source.state, self._pending
        return twin
