"""Noisy copies whose bits are sliced: one word holds one site of 64 copies. For graphs with few enough sites."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.sampling.streams import Words

if TYPE_CHECKING:
    from starcert.graphs import Sites

__all__ = ["SlicedGraphs", "count_ends", "new_counters"]

WORD = 64


class SlicedGraphs(NoisyGraphs):
    """Copies as words of shape (sites, words); copy i is lane `first + i`.

    Args:
        sites: the sites of the clean graph.
        ends: both node indices of every site, shape (2, sites).
        words: the noisy bits.
        first: the lane of the first copy.
        count: how many copies there are.
    """

    def __init__(self, sites: Sites, ends: npt.NDArray[np.int32], words: Words, first: int, count: int) -> None:
        super().__init__(sites)
        self.ends = ends
        self.words = words
        self.first = first
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, samples: slice) -> SlicedGraphs:
        start, stop, step = samples.indices(self._count)
        if step != 1:
            raise IndexError("copies are taken in one run: use a slice without a step")
        begin = self.first + start
        words = self.words[:, begin // WORD : -(-(self.first + stop) // WORD)]
        return SlicedGraphs(self._sites, self.ends, words, begin % WORD, max(0, stop - start))

    @cached_property
    def bits(self) -> npt.NDArray[np.uint8]:
        """See `NoisyGraphs`."""
        octets = np.ascontiguousarray(self.words).view(np.uint8)  # lanes in order on a little-endian machine
        lanes = np.unpackbits(octets, axis=1, bitorder="little")
        return np.ascontiguousarray(lanes[:, self.first : self.first + self._count].T)

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`."""
        return EdgeList(*_list_edges(self.words, self.first, self._count, self.ends, self._sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        degrees: npt.NDArray[np.int32] = _count_degrees(
            self.words, self.first, self._count, self.ends, self.fixed_degrees().astype(np.int32)
        )
        return degrees

    def fixed_degrees(self) -> npt.NDArray[np.int64]:
        """How many fixed edges every node has: so many in every copy."""
        return np.bincount(self._sites.fixed_edges.reshape(-1), minlength=self.frame.n_nodes)


@compiled
def _list_edges(words, first, count, ends, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n_sites, n_fixed = words.shape[0], fixed.shape[0]
    starts = np.zeros(count + 1, np.int64)
    for i in range(count):
        lane, word = np.uint64((first + i) % WORD), (first + i) // WORD
        present = n_fixed
        for site in range(n_sites):
            present += np.int64((words[site, word] >> lane) & np.uint64(1))
        starts[i + 1] = starts[i] + present
    u, v = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for i in range(count):
        lane, word = np.uint64((first + i) % WORD), (first + i) // WORD
        at = starts[i]
        for k in range(n_fixed):
            u[at], v[at] = fixed[k, 0], fixed[k, 1]
            at += 1
        for site in range(n_sites):
            if (words[site, word] >> lane) & np.uint64(1):
                u[at], v[at] = ends[0, site], ends[1, site]
                at += 1
    return starts, u, v


@compiled
def new_counters(ends: npt.NDArray[np.int32], n_nodes: int) -> Words:
    """A counter for each node, with as many binary digits as its sites may need; a digit is a word of 64 copies."""
    incident = np.zeros(n_nodes, np.int64)
    for site in range(ends.shape[1]):
        incident[ends[0, site]] += 1
        incident[ends[1, site]] += 1
    digits = 1
    while n_nodes and (1 << digits) <= incident.max():
        digits += 1
    return np.empty((n_nodes, digits), np.uint64)


@compiled
def count_ends(words: Words, word: int, ends: npt.NDArray[np.int32], counters: Words) -> None:
    """Counts the present sites of every node, of 64 copies at once: adding a word is a ripple of carries."""
    counters[:] = 0
    for site in range(words.shape[0]):
        for end in range(2):
            node = ends[end, site]
            carry = words[site, word]
            digit = 0
            while carry:
                counters[node, digit], carry = counters[node, digit] ^ carry, counters[node, digit] & carry
                digit += 1


@compiled
def _count_degrees(words, first, count, ends, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Degrees of 64 copies at a time, from counters whose binary digits are words."""
    n_nodes = fixed.size
    counters = new_counters(ends, n_nodes)
    digits = counters.shape[1]
    degrees = np.empty((count, n_nodes), np.int32)
    for word in range(words.shape[1]):
        count_ends(words, word, ends, counters)
        for i in range(max(0, word * WORD - first), min(count, (word + 1) * WORD - first)):
            lane = np.uint64(first + i - word * WORD)
            for node in range(n_nodes):
                degree = np.int32(0)
                for digit in range(digits):
                    degree |= np.int32((counters[node, digit] >> lane) & np.uint64(1)) << np.int32(digit)
                degrees[i, node] = fixed[node] + degree
    return degrees
