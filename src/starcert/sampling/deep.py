"""Copies for deep votes: all that have given numbers of flips, one after the other, or drawn by a law of such numbers.

Pools of sites flip alike. Numbers of flips come from a table of whole chances, and the sites that flip from a shuffle
of each pool: both are exact. What a flip shows, where sites have more than two values, is as the noise has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain, combinations, islice, product

import numpy as np

from starcert.math.arithmetic import compiled
from starcert.math.deep import DeepLaw
from starcert.objects import Sites
from starcert.objects.binding import acting_laws
from starcert.objects.noise import Noise
from starcert.sampling.batch import Copies
from starcert.sampling.draws import FlippedDraw, Method, Positions
from starcert.sampling.sparse import ShownValues
from starcert.sampling.streams import WordStream, fill, seeded
from starcert.sampling.views import are_bits, view_of

DEEP_CHUNK = 4096  # copies that have a random stream of their own


class DeepCopies:
    """Draws the copies of an object that a law of deep votes wants; `pools` has the sites that its numbers count.

    A chunk has a stream keyed by (seed, the object's key, law, chunk number).
    """

    def __init__(self, sites: Sites, noise: Noise, seed: int, law: DeepLaw, pools: Sequence[Positions]) -> None:
        self._key = seed, sites.clean.key, "deep", law_digest(law)
        self._sites, self._law, self._pools = sites, law, pools
        self._view = view_of(sites, Method.SPARSE)
        self._sums, self._ends = np.cumsum(law.weights), np.cumsum([0, *map(len, pools)])
        self._values = None
        if not are_bits(sites):
            self._values = ShownValues(list(zip(sites.offsets, acting_laws(sites, noise), strict=True)))

    def draw(self, chunk: int, samples: int) -> Copies:
        """The first copies of a chunk."""
        key = repr((*self._key, chunk)).encode()
        stream = WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))
        numbers, starts = self._law.drawn, np.zeros(samples + 1, dtype=np.int64)
        flips = np.empty(samples * int(numbers.sum(axis=1).max()), dtype=np.int64)
        sites = np.concatenate(self._pools)
        _draw(seeded([stream.next_word() for _ in range(4)]), self._sums, numbers, self._ends, sites, starts, flips)
        drawn = FlippedDraw(self._sites.n_sites, self._sites.nonzero, starts, flips[: starts[-1]])
        return self._view(drawn if self._values is None else self._values.draw(stream, drawn))

    def asked(self, chunk: int) -> Copies:
        """The copies of a chunk of all that are asked; sites have two values there."""
        some = list(islice(self._every(), chunk * DEEP_CHUNK, (chunk + 1) * DEEP_CHUNK))
        starts, flips = np.cumsum([0, *map(len, some)]), np.fromiter(chain.from_iterable(some), dtype=np.int64)
        return self._view(FlippedDraw(self._sites.n_sites, self._sites.nonzero, starts, flips))

    def _every(self) -> Iterator[tuple[int, ...]]:
        assert are_bits(self._sites) or not self._law.asked.any()
        for numbers in self._law.asked.tolist():
            parts = (combinations(sites.tolist(), number) for sites, number in zip(self._pools, numbers, strict=True))
            yield from (tuple(chain.from_iterable(each)) for each in product(*parts))


def law_digest(law: DeepLaw) -> str:
    """What identifies a law."""
    return blake2b(repr([part.tolist() for part in law]).encode(), digest_size=8).hexdigest()


@compiled
def _draw(state, sums, numbers, ends, sites, starts, flips):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fills in the flips of all copies; the sites of a pool are shuffled further for each of them."""
    words, used = np.empty(1024, np.uint64), 1024
    for copy in range(starts.size - 1):
        if used == words.size:
            fill(state, words)
            used = 0
        row = np.searchsorted(sums, np.int64(words[used] >> np.uint64(2)), side="right")
        used += 1
        at = starts[copy]
        for pool in range(numbers.shape[1]):
            first, end = ends[pool], ends[pool + 1]
            for place in range(first, first + numbers[row, pool]):
                mask = np.uint64(1)
                while mask < np.uint64(end - place):
                    mask = (mask << np.uint64(1)) | np.uint64(1)
                chosen = end
                while chosen >= end:  # of the sites that are left, each is equally likely
                    if used == words.size:
                        fill(state, words)
                        used = 0
                    chosen = place + np.int64(words[used] & mask)
                    used += 1
                sites[place], sites[chosen] = sites[chosen], sites[place]
                flips[at] = sites[place]
                at += 1
        starts[copy + 1] = at
