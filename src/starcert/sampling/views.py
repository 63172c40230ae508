"""The views of noisy copies of an object: the layer decides which.

Graphs have `NoisyGraphs`: edges, `edge_index`, adjacency, degrees, whether their bits are sliced (one word holds one
site of 64 copies), or they are kept as the few sites that flipped, or as values one by one. Objects of other layers are
shown as plain vectors (`NoisyVectors`). A new view is a subclass of `NoisyCopies` and a line here; samplers do not hear
of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.objects import Graph, Sites
from starcert.sampling.batch import Copies, EdgeList, NodeOnes, NoisyGraphs, NoisyVectors, node_places, places_of
from starcert.sampling.draws import WORD, FlippedDraw, SlicedDraw, ValueDraw, Way
from starcert.sampling.streams import Words

__all__ = [
    "FlippedGraphs",
    "SlicedGraphs",
    "ValuedGraphs",
    "clean_copy",
    "count_ends",
    "ends_of",
    "new_counters",
    "shows_graphs",
    "view_of",
]


def shows_graphs(sites: Sites) -> bool:
    """Whether these are sites of a graph."""
    return isinstance(sites.clean, Graph)


def view_of(sites: Sites, way: Way, device: str = "cpu") -> Callable[[Any], Copies]:
    """The view of an object's noisy copies that were drawn in this way: a function of a draw."""
    if not shows_graphs(sites):
        layers = places_of(sites)
        if way in (Way.DEVICE, Way.DEVICE_VALUES):
            from starcert.sampling.device import DeviceVectors  # noqa: PLC0415  (torch: only where a device is)

            return lambda draw: DeviceVectors(sites, draw, layers)
        return lambda draw: NoisyVectors(sites, draw, layers)
    if way is Way.DENSE:
        ends = ends_of(sites)
        return lambda draw: SlicedGraphs(sites, draw, ends)
    if way is Way.SPARSE:
        clean = np.stack(sites.coordinates(_edge_positions(sites)))
        return lambda draw: FlippedGraphs(sites, draw, clean)
    if way is Way.VALUES:
        ends = ends_of(sites)
        return lambda draw: ValuedGraphs(sites, draw, ends)
    return _view_on(sites, way, device)


def _view_on(sites: Sites, way: Way, device: str) -> Callable[[Any], Copies]:
    """The view of a graph's copies that were drawn on a device: only who draws there has torch."""
    if way is Way.DEVICE_FLIPS:
        from starcert.sampling.device_flips import CleanEdges, DeviceFlippedGraphs  # noqa: PLC0415

        edges = CleanEdges(sites, device)
        return lambda draw: DeviceFlippedGraphs(sites, draw, edges)
    from starcert.sampling.device import DeviceGraphs, Places  # noqa: PLC0415

    places = Places.of(sites, device)
    if way is Way.DEVICE_VALUES:
        from starcert.sampling.device_values import DeviceValuedGraphs  # noqa: PLC0415

        return lambda draw: DeviceValuedGraphs(sites, draw, places)
    return lambda draw: DeviceGraphs(sites, draw, places)


def clean_copy(sites: Sites) -> Copies:
    """The clean object as a batch of one copy, in which nothing has changed: what a classifier answers without noise.

    Example:
        >>> from starcert.objects import Graph
        >>> clean_copy(Sites.everything(Graph(3, [(0, 1), (1, 2)]), "all")).degrees().tolist()
        [[1, 2, 1]]
    """
    positions, values = sites.nonzero
    if shows_graphs(sites) and all(layer.alphabet == 2 for layer in sites.clean.layers):
        nothing = np.empty(0, dtype=np.int64)
        return view_of(sites, Way.SPARSE)(FlippedDraw(sites.n_sites, positions, np.zeros(2, dtype=np.int64), nothing))
    clean = np.zeros((1, sites.n_sites), dtype=np.uint8)
    clean[0, positions] = values
    return view_of(sites, Way.VALUES)(ValueDraw(clean))


BLOCK = 2**22
"""So many sites become node pairs at a time."""


KEPT = 2**14
"""The node pairs of so many sites are kept for the next noise level."""

_ENDS: WeakKeyDictionary[Sites, npt.NDArray[np.int32]] = WeakKeyDictionary()


def ends_of(sites: Sites) -> npt.NDArray[np.int32]:
    """Both node indices of every site that is a node pair or an arc, shape (2, sites)."""
    known = _ENDS.get(sites)
    if known is not None:
        return known
    first, last = sites.span(sites.clean.layers[0].name)
    ends = np.empty((2, last - first), dtype=np.int32)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        ends[:, start - first : stop - first] = sites.coordinates(np.arange(start, stop))
    if last - first <= KEPT:
        _ENDS[sites] = ends
    return ends


def _edge_positions(sites: Sites) -> npt.NDArray[np.int64]:
    """The flat positions of the edges of the clean graph that may change, ascending."""
    positions = sites.nonzero[0]
    return positions[slice(*np.searchsorted(positions, sites.span(sites.clean.layers[0].name)))]


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
        """The noisy bits of node pairs, shape (sites, words)."""
        words: Words = self._edge_draw.words
        return words

    @property
    def first(self) -> int:
        """The lane of the first copy."""
        return self._draw.first

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`."""
        return EdgeList(*_edges_of_words(self.words, self.first, len(self), self.ends, self._sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        degrees: npt.NDArray[np.int32] = _count_degrees(
            self.words, self.first, len(self), self.ends, self.fixed_degrees().astype(np.int32)
        )
        return degrees

    def fixed_degrees(self) -> npt.NDArray[np.int64]:
        """How many fixed edges every node has: so many in every copy."""
        return np.bincount(self._sites.fixed_edges.reshape(-1), minlength=self.frame.n_nodes)


SEQUENCE = 0x03F79D71B4CB0A89
"""A de Bruijn sequence: the six digits that a shift by 0 … 63 brings to the top are different for each."""

_LANES = np.empty(WORD, dtype=np.int64)
_LANES[[(SEQUENCE << lane & 2**64 - 1) >> 58 for lane in range(WORD)]] = np.arange(WORD)


@compiled
def _lowest(word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The lane of the lowest one of a word."""
    return _LANES[((word & (~word + np.uint64(1))) * np.uint64(SEQUENCE)) >> np.uint64(58)]


@compiled
def _edges_of_words(words, first, count, ends, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The edges of all copies, by the ones of each word: most bits of a sparse graph are 0."""
    n_fixed, last = fixed.shape[0], first + count
    at = np.zeros(words.shape[1] * WORD + 1, np.int64)  # of each lane the number of edges, then where its next one goes
    for word in range(words.shape[1]):
        for site in range(words.shape[0]):
            left = words[site, word]
            while left:
                at[word * WORD + _lowest(left)] += 1
                left &= left - np.uint64(1)
    starts = np.zeros(count + 1, np.int64)
    for i in range(count):
        starts[i + 1] = starts[i] + n_fixed + at[first + i]
    u, v = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for i in range(count):
        for k in range(n_fixed):
            u[starts[i] + k], v[starts[i] + k] = fixed[k, 0], fixed[k, 1]
        at[first + i] = starts[i] + n_fixed
    for word in range(words.shape[1]):
        for site in range(words.shape[0]):
            left = words[site, word]
            while left:
                lane = word * WORD + _lowest(left)
                if first <= lane < last:
                    u[at[lane]], v[at[lane]] = ends[0, site], ends[1, site]
                    at[lane] += 1
                left &= left - np.uint64(1)
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


class FlippedGraphs(NoisyGraphs):
    """Copies as lists of flipped positions.

    Args:
        sites: the sites of the clean graph.
        draw: the flipped positions.
        clean: both node indices of each site whose clean bit is 1, in the order of their positions, shape (2, edges).
    """

    _draw: FlippedDraw

    def __init__(self, sites: Sites, draw: FlippedDraw, clean: npt.NDArray[np.int64]) -> None:
        super().__init__(sites, draw)
        self._clean = clean

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the fixed edges, then the others in the order of their sites.

        Were those that the noise added kept apart, the order would tell what the clean graph is.
        """
        draw: FlippedDraw = self._edge_draw
        ones = draw.ones
        starts = draw.starts - draw.starts[0]
        flips = _sort_each(starts, draw.flips)
        place = np.searchsorted(ones, flips)
        deleted = np.append(ones, -1)[place] == flips
        added = np.zeros((2, flips.size), dtype=np.int64)
        added[:, ~deleted] = self._sites.coordinates(flips[~deleted] + self._first_edge)
        return EdgeList(*_edges_of_flips(starts, place, deleted, added, self._clean, self._sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        n = self.frame.n_nodes
        clean = np.bincount(self._sites.graph.edges.reshape(-1), minlength=n).astype(np.int32)
        degrees = np.broadcast_to(clean, (len(self), n)).copy()
        draw: FlippedDraw = self._edge_draw
        flips, copies = draw.flips, draw.copies
        change = np.where(np.isin(flips, draw.ones), -1, 1).astype(np.int32)
        for end in self._sites.coordinates(flips + self._first_edge):
            np.add.at(degrees, (copies, end), change)
        return degrees

    def node_ones(self, name: str) -> NodeOnes:
        """See `NoisyGraphs`: by the flips of each copy in a map of all bits."""
        n_nodes, n_columns = self._node_sites(name).values.shape
        if node_places(self._sites, name)[1] is not None or not n_columns:
            return super().node_ones(name)
        draw: FlippedDraw = self._draw.part(*self._sites.span(name))
        clean = np.zeros(-(-draw.n_sites // WORD) * WORD, dtype=np.bool_)
        clean[draw.ones] = True
        words = np.packbits(clean, bitorder="little").view(np.uint64)  # bits in order on a little-endian machine
        starts, columns = _ones_of_flips(words, draw.starts, draw.positions, draw.ones.size, n_nodes, n_columns)
        return NodeOnes(starts, columns, n_columns)

    @property
    def _first_edge(self) -> int:
        return self._sites.span(self._sites.clean.layers[0].name)[0]


class ValuedGraphs(NoisyGraphs):
    """Copies as values of every site: graphs whose edges have types, or whose nodes have categories.

    Args:
        sites: the sites of the clean graph.
        draw: the noisy values.
        ends: both node indices of every site that is a node pair or an arc, shape (2, sites).
    """

    _draw: ValueDraw

    def __init__(self, sites: Sites, draw: ValueDraw, ends: npt.NDArray[np.int32]) -> None:
        super().__init__(sites, draw)
        self._ends = ends

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the fixed edges, then the others in the order of their sites."""
        fixed, values = self._sites.fixed_edges, self._edge_draw.values
        copies, sites = np.nonzero(values)
        starts = np.searchsorted(copies, np.arange(len(self) + 1)) + np.arange(len(self) + 1) * len(fixed)
        place = np.arange(len(copies)) + (copies + 1) * len(fixed)
        always = (starts[:-1, None] + np.arange(len(fixed))).reshape(-1)
        u, v = (np.empty(starts[-1], dtype=np.int64) for _ in range(2))
        types = np.empty(starts[-1], dtype=np.uint8)
        for listed, drawn, stays in (
            (u, self._ends[0, sites], fixed[:, 0]),
            (v, self._ends[1, sites], fixed[:, 1]),
            (types, values[copies, sites], self._sites.fixed_types),
        ):
            listed[place] = drawn
            listed[always] = np.tile(stays, len(self))
        return EdgeList(starts, u, v, types if self.frame.type_names else None)

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        edges = self.edges()
        return self._ending(edges.u) + self._ending(edges.v)


@compiled
def _sort_each(starts, positions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The positions of every copy in ascending order."""
    ordered = np.empty_like(positions)
    for i in range(starts.size - 1):
        ordered[starts[i] : starts[i + 1]] = np.sort(positions[starts[i] : starts[i + 1]])
    return ordered


@compiled
def _ones_of_flips(clean, starts, positions, n_ones, n_nodes, n_columns):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The ones of all copies, copy after copy: the clean bits, those at the positions of each copy turned round."""
    n_copies = starts.size - 1
    total = n_copies * n_ones
    for k in range(starts[0], starts[-1]):
        position = positions[k]
        total += 1 - 2 * np.int64((clean[position >> 6] >> np.uint64(position & 63)) & np.uint64(1))
    begins, columns = np.zeros(n_copies * n_nodes + 1, np.int64), np.empty(total, np.int64)
    bits, at = np.empty_like(clean), 0
    for i in range(n_copies):
        bits[:] = clean
        for k in range(starts[i], starts[i + 1]):
            bits[positions[k] >> 6] ^= np.uint64(1) << np.uint64(positions[k] & 63)
        row, end = 0, n_columns  # the row of the bit that is looked at, and the position where it ends
        for word in range(bits.size):
            left, position = bits[word], word << 6
            while left:
                if left & np.uint64(1):
                    while position >= end:
                        row += 1
                        end += n_columns
                    columns[at] = position - end + n_columns
                    at += 1
                    begins[i * n_nodes + row + 1] += 1
                left >>= np.uint64(1)
                position += 1
    return np.cumsum(begins), columns


@compiled
def _edges_of_flips(starts, place, deleted, added, clean, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fixed edges, then present ones that stayed and added ones merged; place: how many clean ones come before it."""
    n_copies, n_clean, n_fixed = starts.size - 1, clean.shape[1], fixed.shape[0]
    out = np.zeros(n_copies + 1, np.int64)
    for i in range(n_copies):
        size = n_fixed + n_clean
        for k in range(starts[i], starts[i + 1]):
            size += -1 if deleted[k] else 1
        out[i + 1] = out[i] + size
    u, v = np.empty(out[-1], np.int64), np.empty(out[-1], np.int64)
    for i in range(n_copies):
        at, reached = out[i] + n_fixed, 0
        u[out[i] : at], v[out[i] : at] = fixed[:, 0], fixed[:, 1]
        for k in range(starts[i], starts[i + 1]):
            stay = place[k] - reached
            u[at : at + stay], v[at : at + stay] = clean[0, reached : place[k]], clean[1, reached : place[k]]
            at, reached = at + stay, place[k] + deleted[k]
            if not deleted[k]:
                u[at], v[at] = added[0, k], added[1, k]
                at += 1
        u[at : out[i + 1]], v[at : out[i + 1]] = clean[0, reached:], clean[1, reached:]
    return out, u, v
