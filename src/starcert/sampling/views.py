"""The views of noisy copies of an object, which depend on what it is and on how the copies were drawn.

Graphs are `NoisyGraphs`, as packed bits or as the sites that flipped; other objects plain vectors (`NoisyVectors`), or
the view that their kind names; samplers need no change for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.arithmetic import compiled
from starcert.objects import Sites
from starcert.objects.kinds import kind_of
from starcert.sampling.batch import Copies, EdgeList, NodeOnes, NoisyGraphs, NoisyVectors, layer_places
from starcert.sampling.draws import LANES, FlippedDraw, Method, PackedDraw, Positions, UInt64s


def shows_graphs(sites: Sites) -> bool:
    """True if these are sites of a graph."""
    return kind_of(sites.clean).has_nodes


def are_bits(sites: Sites) -> bool:
    """True if all sites have two values."""
    return all(layer.alphabet == 2 for layer in sites.layers)


def view_of(sites: Sites, method: Method, device: str = "cpu") -> Callable[[Any], Copies]:
    """The view of an object's noisy copies that were drawn by this method: a function of a draw."""
    if not shows_graphs(sites):
        if method is not Method.DEVICE_DENSE:
            return partial(kind_of(sites.clean).view or NoisyVectors, sites)
        from starcert.sampling.device import DeviceVectors  # noqa: PLC0415  (torch: only where a device is)

        return partial(DeviceVectors, sites)
    if method is Method.DENSE and are_bits(sites):
        return partial(PackedGraphs, sites, ends=ends_of(sites))
    if method in (Method.DENSE, Method.SPARSE):
        positions = sites.nonzero[0]
        edges = positions[slice(*np.searchsorted(positions, sites.span(sites.clean.layers[0].name)))]
        return partial(FlippedGraphs, sites, clean=np.stack(sites.coordinates(edges)))
    if method is Method.DEVICE_SPARSE:
        from starcert.sampling.device_flips import CleanEdges, DeviceFlippedGraphs  # noqa: PLC0415  (as above)

        return partial(DeviceFlippedGraphs, sites, clean=CleanEdges(sites, device))
    from starcert.sampling.device import DeviceGraphs, Places  # noqa: PLC0415  (as above)

    return partial(DeviceGraphs, sites, places=Places.of(sites, device))


def clean_copy(sites: Sites) -> Copies:
    """The clean object as a batch of one copy in which nothing flipped: what a classifier answers without noise."""
    nothing = np.empty(0, dtype=np.int64)
    shown = None if are_bits(sites) else nothing.astype(np.uint8)
    draw = FlippedDraw(sites.n_sites, sites.nonzero, np.zeros(2, dtype=np.int64), nothing, shown)
    return view_of(sites, Method.SPARSE)(draw)


BLOCK = 2**22  # sites that become node pairs at a time


def ends_of(sites: Sites) -> npt.NDArray[np.int32]:
    """Both node indices of every site that is a node pair or an arc, shape (2, sites)."""
    first, last = sites.span(sites.clean.layers[0].name)
    ends = np.empty((2, last - first), dtype=np.int32)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        ends[:, start - first : stop - first] = sites.coordinates(np.arange(start, stop))
    return ends


class PackedGraphs(NoisyGraphs):
    """Copies as packed bits. `ends` are those of `ends_of`."""

    _draw: PackedDraw

    def __init__(self, sites: Sites, draw: PackedDraw, ends: npt.NDArray[np.int32]) -> None:
        super().__init__(sites, draw)
        self.ends = ends

    @property
    def packed(self) -> UInt64s:
        """The noisy bits of node pairs, shape (sites, numbers)."""
        packed: UInt64s = self._edge_draw.packed
        return packed

    @property
    def first(self) -> int:
        """The lane of the first copy."""
        return self._draw.first

    @override
    def edges(self) -> EdgeList:
        # Edges with types are not bits: all of them are fixed.
        types = np.tile(self._sites.fixed_types, len(self)) if self.frame.type_names else None
        fixed = self._sites.fixed_edges
        starts, u, v = _edges_of_packed(self.packed, self.first, len(self), self.ends, fixed)
        return EdgeList(starts, u, v, types)

    @override
    def degrees(self) -> npt.NDArray[np.int32]:
        fixed = self.fixed_degrees().astype(np.int32)
        degrees: npt.NDArray[np.int32] = _count_degrees(self.packed, self.first, len(self), self.ends, fixed)
        return degrees

    def fixed_degrees(self) -> Positions:
        """The number of fixed edges of every node, in every copy."""
        return np.bincount(self._sites.fixed_edges.reshape(-1), minlength=self.frame.n_nodes)


SEQUENCE = 0x03F79D71B4CB0A89
"""A de Bruijn sequence: the six digits that a shift by 0 … 63 brings to the top are different for each."""

_LANES = np.empty(LANES, dtype=np.int64)
_LANES[[(SEQUENCE << lane & 2**64 - 1) >> 58 for lane in range(LANES)]] = np.arange(LANES)


@compiled
def _lowest(word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The lane of the lowest one of a word."""
    return _LANES[((word & (~word + np.uint64(1))) * np.uint64(SEQUENCE)) >> np.uint64(58)]


@compiled
def _edges_of_packed(packed, first, count, ends, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The edges of all copies, by the ones of each word: most bits of a sparse graph are 0."""
    n_fixed, last = fixed.shape[0], first + count
    at = np.zeros(packed.shape[1] * LANES + 1, np.int64)  # edges of each lane, then where its next one goes
    for column in range(packed.shape[1]):
        for site in range(packed.shape[0]):
            left = packed[site, column]
            while left:
                at[column * LANES + _lowest(left)] += 1
                left &= left - np.uint64(1)
    starts = np.zeros(count + 1, np.int64)
    for i in range(count):
        starts[i + 1] = starts[i] + n_fixed + at[first + i]
    u, v = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for i in range(count):
        for k in range(n_fixed):
            u[starts[i] + k], v[starts[i] + k] = fixed[k, 0], fixed[k, 1]
        at[first + i] = starts[i] + n_fixed
    for column in range(packed.shape[1]):
        for site in range(packed.shape[0]):
            left = packed[site, column]
            while left:
                lane = column * LANES + _lowest(left)
                if first <= lane < last:
                    u[at[lane]], v[at[lane]] = ends[0, site], ends[1, site]
                    at[lane] += 1
                left &= left - np.uint64(1)
    return starts, u, v


@compiled
def new_counters(ends: npt.NDArray[np.int32], n_nodes: int) -> UInt64s:
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
def count_ends(packed: UInt64s, column: int, ends: npt.NDArray[np.int32], counters: UInt64s) -> None:
    """Counts the present sites of every node, of 64 copies at once: adding a word is a ripple of carries."""
    counters[:] = 0
    for site in range(packed.shape[0]):
        for end in range(2):
            node = ends[end, site]
            carry = packed[site, column]
            digit = 0
            while carry:
                counters[node, digit], carry = counters[node, digit] ^ carry, counters[node, digit] & carry
                digit += 1


@compiled
def _count_degrees(packed, first, count, ends, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Degrees of 64 copies at a time, from counters whose binary digits are packed."""
    n_nodes = fixed.size
    counters = new_counters(ends, n_nodes)
    digits = counters.shape[1]
    degrees = np.empty((count, n_nodes), np.int32)
    for column in range(packed.shape[1]):
        count_ends(packed, column, ends, counters)
        for i in range(max(0, column * LANES - first), min(count, (column + 1) * LANES - first)):
            lane = np.uint64(first + i - column * LANES)
            for node in range(n_nodes):
                degree = np.int32(0)
                for digit in range(digits):
                    degree |= np.int32((counters[node, digit] >> lane) & np.uint64(1)) << np.int32(digit)
                degrees[i, node] = fixed[node] + degree
    return degrees


class FlippedGraphs(NoisyGraphs):
    """Copies as lists of flipped positions.

    `clean` are both nodes of each clean edge that may change, in the order of their sites, shape (2, edges).
    """

    _draw: FlippedDraw

    def __init__(self, sites: Sites, draw: FlippedDraw, clean: Positions) -> None:
        super().__init__(sites, draw)
        self._clean = clean

    @override
    def edges(self) -> EdgeList:
        # All edges in the order of their sites: were added ones kept apart, the order would reveal the clean graph.
        draw: FlippedDraw = self._edge_draw.ascending()
        place = np.searchsorted(draw.nonzero[0], draw.flips)
        was_edge = np.append(draw.nonzero[0], -1)[place] == draw.flips
        shown = (~was_edge).view(np.uint8) if draw.shown is None else draw.shown_flips
        added = np.zeros((2, draw.flips.size), dtype=np.int64)
        added[:, shown > 0] = self._ends(draw.flips[shown > 0])
        parts = [self._clean, self._sites.fixed_edges.T, added]
        if self.frame.type_names:  # types are a third row
            types = draw.nonzero[1], self._sites.fixed_types, shown
            parts = [np.vstack(pair) for pair in zip(parts, types, strict=True)]
        starts, listed = _edges_of_flips(draw.starts, place, was_edge, shown > 0, *parts)
        return EdgeList(starts, *listed[:2], *listed[2:].astype(np.uint8))

    @override
    def degrees(self) -> npt.NDArray[np.int32]:
        n = self.frame.n_nodes
        clean = np.bincount(self._sites.graph.edges.reshape(-1), minlength=n).astype(np.int32)
        degrees = np.broadcast_to(clean, (len(self), n)).copy()
        draw: FlippedDraw = self._edge_draw
        flips, copies = draw.flips, draw.copies
        was_edge = draw.clean_at(flips) > 0
        shown = ~was_edge if draw.shown is None else draw.shown_flips > 0
        change = shown.astype(np.int32) - was_edge
        for end in self._ends(flips):
            np.add.at(degrees, (copies, end), change)
        return degrees

    @override
    def node_ones(self, name: str) -> NodeOnes:
        n_nodes, n_columns = self._node_sites(name).values.shape
        _, span, numbers, order = layer_places(self._sites, name)
        if self._node_sites(name).alphabet > 2 or numbers is not None or order is not None or not n_columns:
            return super().node_ones(name)
        draw: FlippedDraw = self._draw.part(*span)
        ones = draw.nonzero[0]
        clean = np.zeros(-(-draw.n_sites // LANES) * LANES, dtype=np.bool_)
        clean[ones] = True
        bitmap = np.packbits(clean, bitorder="little").view(np.uint64)  # bits in order on a little-endian machine
        starts, columns = _ones_of_flips(bitmap, draw.starts, draw.positions, ones.size, n_nodes, n_columns)
        return NodeOnes(starts, columns, n_columns)

    def _ends(self, sites: Positions) -> tuple[Positions, ...]:
        """Both nodes of sites, counted from the first that is a node pair or an arc."""
        return self._sites.coordinates(sites + self._sites.span(self._sites.clean.layers[0].name)[0])


@compiled
def _ones_of_flips(clean, starts, positions, n_ones, n_nodes, n_columns):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The ones of all copies, copy after copy: the clean bits, inverted at the positions of each copy."""
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
        row, end = 0, n_columns  # the row of the current bit, and the position where that row ends
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
def _edges_of_flips(starts, place, was_edge, is_edge, clean, fixed, flipped):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fixed edges, then clean edges and flips merged; place: how many clean edges come before each flip."""
    n_copies, (rows, n_clean), n_fixed = starts.size - 1, clean.shape, fixed.shape[1]
    out = np.zeros(n_copies + 1, np.int64)
    for i in range(n_copies):
        size = n_fixed + n_clean
        for k in range(starts[i], starts[i + 1]):
            size += np.int64(is_edge[k]) - np.int64(was_edge[k])
        out[i + 1] = out[i] + size
    listed = np.empty((rows, out[-1]), np.int64)
    for i in range(n_copies):
        for row in range(rows):
            at, reached = out[i] + n_fixed, 0
            listed[row, out[i] : at] = fixed[row]
            for k in range(starts[i], starts[i + 1]):
                stay = place[k] - reached
                listed[row, at : at + stay] = clean[row, reached : place[k]]
                at, reached = at + stay, place[k] + was_edge[k]
                if is_edge[k]:
                    listed[row, at] = flipped[row, k]
                    at += 1
            listed[row, at : out[i + 1]] = clean[row, reached:]
    return out, listed
