"""The views of noisy graphs whose bits are sliced: one word holds one site of 64 copies."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.sampling.draws import WORD
from starcert.sampling.streams import Words

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.sampling.draws import SlicedDraw

__all__ = ["SlicedGraphs", "count_ends", "ends_of", "new_counters"]

BLOCK = 2**22
"""So many sites become node pairs at a time."""


KEPT = 2**14
"""The node pairs of so many sites are kept for the next noise level."""

_ENDS: WeakKeyDictionary[Sites, npt.NDArray[np.int32]] = WeakKeyDictionary()


def ends_of(sites: Sites) -> npt.NDArray[np.int32]:
    """Both node indices of every site, shape (2, sites)."""
    known = _ENDS.get(sites)
    if known is not None:
        return known
    ends = np.empty((2, sites.n_sites), dtype=np.int32)
    for start in range(0, sites.n_sites, BLOCK):
        stop = min(start + BLOCK, sites.n_sites)
        ends[:, start:stop] = sites.coordinates(np.arange(start, stop))
    if sites.n_sites <= KEPT:
        _ENDS[sites] = ends
    return ends


class SlicedGraphs(NoisyGraphs):
    """Copies as words of shape (sites, words); copy i is lane `first + i`.

    Args:
        sites: the sites of the clean graph.
        draw: the noisy bits.
        ends: both node indices of every site, shape (2, sites).
    """

    _draw: SlicedDraw

    def __init__(self, sites: Sites, draw: SlicedDraw, ends: npt.NDArray[np.int32]) -> None:
        super().__init__(sites, draw)
        self.ends = ends

    @property
    def words(self) -> Words:
        """The noisy bits, shape (sites, words)."""
        return self._draw.words

    @property
    def first(self) -> int:
        """The lane of the first copy."""
        return self._draw.first

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`."""
        return EdgeList(*_list_edges(self.words, self.first, len(self), self.ends, self._sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        degrees: npt.NDArray[np.int32] = _count_degrees(
            self.words, self.first, len(self), self.ends, self.fixed_degrees().astype(np.int32)
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
