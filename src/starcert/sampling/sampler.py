"""The sampler of a graph: noisy copies under a noise, by whichever way is cheaper for it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from starcert.binding import check_regions
from starcert.sampling.dense import DenseFlips
from starcert.sampling.flipped import FlippedGraphs
from starcert.sampling.sliced import WORD, SlicedGraphs
from starcert.sampling.sparse import Pool, SparseFlips

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.batch import NoisyGraphs
    from starcert.sampling.streams import Words, WordStream

__all__ = ["Sampler", "Way", "clean_copy", "sampler", "way_of"]

ALWAYS_DENSE = 4096
"""Up to so many sites, looking at each of them costs next to nothing."""

DENSE_SHARE = 1 / 32
"""Where more than this share of the sites flips, looking at each of them is cheaper than listing the flips."""

HELD = 2**30
"""So many bytes of noisy bits or flipped positions are held at a time, or one word of every site, or one copy, where
that is more. What is drawn does not depend on it."""

SPARSE_BYTES = 24
"""For one flipped position: itself, twice while the pools are put together, and the copy it belongs to."""

BLOCK = 2**22
"""So many sites become node pairs at a time."""


class Way(Enum):
    """How noisy copies are drawn: by the sites that flip, or by a bit for every site, here or on a device."""

    SPARSE = "sparse"
    DENSE = "dense"
    DEVICE = "device"


class Sampler(Protocol):
    """Draws noisy copies of one graph."""

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        """So many noisy copies; a function of the stream alone."""

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[NoisyGraphs]:
        """The first `wanted` of the copies that `draw` gives, in portions that take a bounded amount of memory."""


def sampler(sites: Sites, noise: Noise, device: str = "cpu") -> Sampler:
    """The sampler of a graph. Which one it is depends on the graph, the noise and the kind of device.

    On another device than the CPU, graphs with few enough sites are drawn there; large sparse ones are drawn here.
    """
    check_regions(sites, noise)
    pools = _pools(sites, noise)
    way, flips = way_of(sites, noise, device)
    if way is Way.SPARSE:
        return _SparseSampler(sites, pools, flips)
    if way is Way.DEVICE:
        from starcert.sampling.device import DeviceSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceSampler(sites, *_laws(sites, pools), device)
    return _DenseSampler(sites, pools)


def way_of(sites: Sites, noise: Noise, device: str = "cpu") -> tuple[Way, float]:
    """How the copies of a graph are drawn, and how many sites flip in one of them on average."""
    pools = _pools(sites, noise)
    flips = sum(pool.n_sites * pool.p for pool in pools)
    if sites.n_sites > ALWAYS_DENSE and flips <= DENSE_SHARE * sites.n_sites:
        return Way.SPARSE, flips
    if device != "cpu" and all(pool.p == 0 or pool.p > 1e-9 for pool in pools):
        return Way.DEVICE, flips
    return Way.DENSE, flips


def _pools(sites: Sites, noise: Noise) -> list[Pool]:
    pools = []
    for region, first, size, ones in zip(sites.regions, sites.offsets, sites.sizes, sites.ones, strict=True):
        law = noise[region]
        if law.delete == law.add:
            pools.append(Pool(first, size, law.add))
        else:
            pools += [Pool(first, size, law.delete, only=ones), Pool(first, size, law.add, but=ones)]
    return pools


def _laws(sites: Sites, pools: list[Pool]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.unsignedinteger]]:
    """The different flip probabilities, and for every site the place of its own among them, in as few bytes as do."""
    values = np.unique([pool.p for pool in pools])
    law = np.zeros(sites.n_sites, dtype=np.min_scalar_type(len(values)))
    for pool in pools:  # present edges are listed first, so that the absent ones fill what is left
        number = np.searchsorted(values, pool.p)
        if pool.only is None:
            kept = law[pool.but]
            law[pool.first : pool.first + pool.size] = number
            law[pool.but] = kept
        else:
            law[pool.only] = number
    return values, law


def _ends(sites: Sites) -> npt.NDArray[np.int32]:
    """Both node indices of every site, shape (2, sites)."""
    ends = np.empty((2, sites.n_sites), dtype=np.int32)
    for start in range(0, sites.n_sites, BLOCK):
        stop = min(start + BLOCK, sites.n_sites)
        ends[:, start:stop] = sites.endpoints(np.arange(start, stop))
    return ends


class _DenseSampler:
    def __init__(self, sites: Sites, pools: list[Pool]) -> None:
        self._sites = sites
        self._ends = _ends(sites)
        self._flips = DenseFlips(*_laws(sites, pools))

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        return self._graphs(self._flips.draw(stream, samples), samples)

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[NoisyGraphs]:
        # A word has 64 copies. To draw all words again and keep others costs about what listing their edges does.
        most = max(1, HELD // (8 * max(1, self._sites.n_sites)))
        for first in range(0, -(-wanted // WORD), most):
            left = wanted - WORD * first
            words = self._flips.draw(stream.fork(), samples, first=first, most=most)
            yield self._graphs(words, min(left, WORD * most))

    def _graphs(self, words: Words, samples: int) -> NoisyGraphs:
        for ones in self._sites.ones:
            words[ones] ^= ~np.uint64(0)
        return SlicedGraphs(self._sites, self._ends, words, 0, samples)


class _SparseSampler:
    def __init__(self, sites: Sites, pools: list[Pool], expected: float) -> None:
        self._sites = sites
        self._flips = SparseFlips(pools)
        self._expected = expected
        self._ones = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *sites.ones]))
        self._ends = np.stack(sites.endpoints(self._ones))

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        return self._graphs(*self._flips.draw(stream, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[NoisyGraphs]:
        most = max(1, int(HELD / (SPARSE_BYTES * (1 + self._expected))))
        if most >= samples:
            yield self.draw(stream, samples)[:wanted]
            return
        done = 0
        for drawn in self._flips.portions(stream, samples, most):
            yield self._graphs(*drawn)[: wanted - done]
            done += most
            if done >= wanted:
                return

    def _graphs(self, starts: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> NoisyGraphs:
        return FlippedGraphs(self._sites, self._ones, self._ends, starts, positions)


def clean_copy(sites: Sites) -> NoisyGraphs:
    """The clean graph as a batch of one copy, in which nothing has flipped: what a classifier answers without noise."""
    ones = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *sites.ones]))
    nothing = np.empty(0, dtype=np.int64)
    return FlippedGraphs(sites, ones, np.stack(sites.endpoints(ones)), np.zeros(2, dtype=np.int64), nothing)
