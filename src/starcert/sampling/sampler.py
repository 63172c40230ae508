"""The sampler of a graph: noisy copies under a noise, by whichever way is cheaper for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from starcert.binding import check_regions
from starcert.sampling.dense import DenseFlips
from starcert.sampling.flipped import FlippedGraphs
from starcert.sampling.sliced import SlicedGraphs
from starcert.sampling.sparse import Pool, SparseFlips

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.batch import NoisyGraphs
    from starcert.sampling.streams import WordStream

__all__ = ["Sampler", "sampler"]

ALWAYS_DENSE = 4096
"""Up to so many sites, looking at each of them costs next to nothing."""

DENSE_SHARE = 1 / 32
"""Where more than this share of the sites flips, looking at each of them is cheaper than listing the flips."""


class Sampler(Protocol):
    """Draws noisy copies of one graph."""

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        """So many noisy copies; a function of the stream alone."""


def sampler(sites: Sites, noise: Noise, device: str = "cpu") -> Sampler:
    """The sampler of a graph. Which one it is depends on the graph, the noise and the kind of device.

    On another device than the CPU, graphs with few enough sites are drawn there; large sparse ones are drawn here.
    """
    check_regions(sites, noise)
    pools = _pools(sites, noise)
    flips = sum(pool.n_sites * pool.p for pool in pools)
    if sites.n_sites > ALWAYS_DENSE and flips <= DENSE_SHARE * sites.n_sites:
        return _SparseSampler(sites, pools)
    if device != "cpu" and all(pool.p == 0 or pool.p > 1e-9 for pool in pools):
        from starcert.sampling.device import DeviceSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceSampler(sites, _probabilities(sites, pools), device)
    return _DenseSampler(sites, pools)


def _pools(sites: Sites, noise: Noise) -> list[Pool]:
    pools = []
    for region, first, size, ones in zip(sites.regions, sites.offsets, sites.sizes, sites.ones, strict=True):
        law = noise[region]
        if law.delete == law.add:
            pools.append(Pool(first, size, law.add))
        else:
            pools += [Pool(first, size, law.delete, only=ones), Pool(first, size, law.add, but=ones)]
    return pools


def _probabilities(sites: Sites, pools: list[Pool]) -> npt.NDArray[np.float64]:
    """The flip probability of every site."""
    probabilities = np.zeros(sites.n_sites)
    for pool in pools:  # present edges are listed first, so that the absent ones fill what is left
        whole = slice(pool.first, pool.first + pool.size)
        if pool.only is None:
            kept = probabilities[pool.but]
            probabilities[whole] = pool.p
            probabilities[pool.but] = kept
        else:
            probabilities[pool.only] = pool.p
    return probabilities


class _DenseSampler:
    def __init__(self, sites: Sites, pools: list[Pool]) -> None:
        self._sites = sites
        self._ends = np.stack(sites.endpoints(np.arange(sites.n_sites)))
        self._flips = DenseFlips(_probabilities(sites, pools))
        self._clean = np.zeros((sites.n_sites, 1), dtype=np.uint64)
        for ones in sites.ones:
            self._clean[ones] = ~np.uint64(0)

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        words = self._flips.draw(stream, samples)
        words ^= self._clean
        return SlicedGraphs(self._sites, self._ends, words, 0, samples)


class _SparseSampler:
    def __init__(self, sites: Sites, pools: list[Pool]) -> None:
        self._sites = sites
        self._flips = SparseFlips(pools)
        self._ones = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *sites.ones]))
        self._ends = np.stack(sites.endpoints(self._ones))

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        starts, positions = self._flips.draw(stream, samples)
        return FlippedGraphs(self._sites, self._ones, self._ends, starts, positions)
