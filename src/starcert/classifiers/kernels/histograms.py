"""Histograms of labels: of nodes, of edges, and of nodes whose labels grow with what is around them.

The vertex histogram counts the nodes of each label: κ(G, H) = Σ_l c(G, l)·c(H, l). The edge histogram counts the edges
by the labels of their two ends. Weisfeiler and Lehman give every node a new label, again and again, which says what it
was and what its neighbours were; the kernel is the sum of the vertex histogram kernels of all rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.kernels.hashing import Counts, Floats, Hashes, Integers, count_hashes, join, mix
from starcert.classifiers.kernels.kernel import DATA, DEGREE, Collection, GraphKernel, neighbours
from starcert.math.arithmetic import compiled
from starcert.sampling.views import PackedGraphs, count_ends, new_counters
from starcert.system.errors import whole_number

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["EdgeHistogram", "VertexHistogram", "WeisfeilerLehman"]

SMALL = 128
"""With up to this many nodes, a degree fits into seven binary digits."""

OCTET = 8
"""Binary digits in a byte."""


class VertexHistogram(GraphKernel):
    """How many nodes there are of each label. See `GraphKernel` for its parameters.

    Where degrees are labels, the weighed sum is Σ_v w_deg(v): no feature is ever counted.

    Example:
        >>> from starcert import Graph
        >>> VertexHistogram().fit_transform([Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(2, [])]).toarray().tolist()
        [[0.0, 3.0, 1.0], [2.0, 0.0, 0.0]]
    """

    @override
    def count(self, graphs: Collection) -> Counts:
        return count_hashes(graphs.nodes[:-1], graphs.nodes[1:], graphs.labels)

    @property
    @override
    def is_quick(self) -> bool:
        return self.labels_used == DEGREE and not self.normalize

    @override
    def weighted_sums(self, graphs: NoisyGraphs, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        if not self.is_quick:
            return super().weighted_sums(graphs, weights, sizes)
        n = graphs.frame.n_nodes
        by_degree = _by_degree(self.known_, weights, n)
        values: Floats
        if isinstance(graphs, PackedGraphs) and 0 < n <= SMALL:
            fixed = graphs.fixed_degrees()
            values = _add_sliced(graphs.packed, graphs.first, len(graphs), graphs.ends, fixed, by_degree)
        else:
            values = _add_weights(graphs.degrees(), by_degree)
        return values, np.full(len(values), n * sizes.max(initial=0.0))


class EdgeHistogram(GraphKernel):
    """How many edges there are by the labels of their two ends. See `GraphKernel` for its parameters.

    Edges have no labels of their own here.
    """

    @override
    def count(self, graphs: Collection) -> Counts:
        return count_hashes(graphs.starts[:-1], graphs.starts[1:], _edge_hashes(graphs))


class WeisfeilerLehman(GraphKernel):
    """How many nodes have each label, after each round of refinement (Shervashidze and others, 2011).

    Args:
        rounds: how often labels are refined; after none, this is the vertex histogram.
        node_labels: as in `GraphKernel`: the labels to begin with.
        normalize: as in `GraphKernel`.
    """

    def __init__(self, rounds: int = 5, *, node_labels: str | None = DATA, normalize: bool = False) -> None:
        super().__init__(node_labels=node_labels, normalize=normalize)
        self.rounds = rounds

    @override
    def count(self, graphs: Collection) -> Counts:
        times = 1 + whole_number("rounds", self.rounds, 0)
        return count_hashes(times * graphs.nodes[:-1], times * graphs.nodes[1:], _refine(graphs, times))


@compiled
def _edge_hashes(graphs: Collection) -> Hashes:
    hashes = np.empty(graphs.u.size, np.uint64)
    for graph in range(graphs.nodes.size - 1):
        labels = graphs.labels[graphs.nodes[graph] :]
        for edge in range(graphs.starts[graph], graphs.starts[graph + 1]):
            hashes[edge] = mix(labels[graphs.u[edge]]) + mix(labels[graphs.v[edge]])
    return hashes


@compiled
def _refine(graphs: Collection, times: int) -> Hashes:
    """The labels of all rounds, graph by graph."""
    hashes, end = np.empty(times * graphs.labels.size, np.uint64), 0
    for graph in range(graphs.nodes.size - 1):
        begin, near = neighbours(graphs, graph)
        now = graphs.labels[graphs.nodes[graph] : graphs.nodes[graph + 1]].copy()
        then = now.copy()
        for time in range(times):
            for node in range(now.size):
                hashes[end] = join(np.uint64(time), now[node])
                end += 1
                around = np.uint64(0)
                for k in range(begin[node], begin[node + 1]):
                    around += mix(now[near[k]])
                then[node] = join(now[node], around)
            now, then = then, now
    return hashes


@compiled
def _by_degree(known: Hashes, weights: Floats, n: int) -> Floats:
    """The weight of each degree of n nodes; 0 where training has not seen it."""
    found = np.zeros(n)
    for column in range(known.size):
        if known[column] >= np.uint64(n):
            break
        found[np.int64(known[column])] = weights[column]
    return found


@compiled
def _add_weights(degrees: npt.NDArray[np.int32], weights: Floats) -> Floats:
    copies, n = degrees.shape
    values = np.empty(copies)
    for copy in range(copies):
        value = 0.0
        for v in range(n):
            value += weights[degrees[copy, v]]
        values[copy] = value
    return values


@compiled
def _add_sliced(
    words: Hashes, first: int, count: int, ends: npt.NDArray[np.int32], fixed: Integers, weights: Floats
) -> Floats:
    """`_add_weights` without degrees in between: from words with one site of 64 copies each.

    Every node has a counter whose binary digits are words. The digits of two nodes with few of them, or of one, are at
    most eight words; of eight copies at a time they are transposed into eight bytes, which index a table of weights.
    """
    counters = new_counters(ends, fixed.size)
    digits = counters.shape[1]
    beside = 2 if 2 * digits <= OCTET else 1
    groups = -(-fixed.size // beside)
    which, tables = _tables(fixed, weights, digits, beside)
    planes = np.zeros((groups, OCTET), np.uint64)
    octet = np.uint64(0xFF)
    values = np.empty(64 * words.shape[1])
    for word in range(words.shape[1]):
        count_ends(words, word, ends, counters)
        for node in range(fixed.size):
            group, side = node // beside, node % beside
            for digit in range(digits):
                planes[group, side * digits + digit] = counters[node, digit]
        for begin in range(0, 64, OCTET):
            shift = np.uint64(begin)
            v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = 0.0
            for group in range(groups):
                bits = np.uint64(0)
                for plane in range(OCTET):
                    bits |= ((planes[group, plane] >> shift) & octet) << np.uint64(OCTET * plane)
                bits = _transposed(bits)
                table = tables[which[group]]
                v0 += table[np.int64(bits & octet)]
                v1 += table[np.int64((bits >> np.uint64(8)) & octet)]
                v2 += table[np.int64((bits >> np.uint64(16)) & octet)]
                v3 += table[np.int64((bits >> np.uint64(24)) & octet)]
                v4 += table[np.int64((bits >> np.uint64(32)) & octet)]
                v5 += table[np.int64((bits >> np.uint64(40)) & octet)]
                v6 += table[np.int64((bits >> np.uint64(48)) & octet)]
                v7 += table[np.int64(bits >> np.uint64(56))]
            at = 64 * word + begin
            values[at], values[at + 1], values[at + 2], values[at + 3] = v0, v1, v2, v3
            values[at + 4], values[at + 5], values[at + 6], values[at + 7] = v4, v5, v6, v7
    return values[first : first + count]


@compiled
def _tables(fixed: Integers, weights: Floats, digits: int, beside: int) -> tuple[Integers, Floats]:
    """For each group of nodes beside each other the number of its table, and the tables of weights by their digits.

    Groups whose nodes have the same fixed degrees share a table; a node beyond the last weighs nothing.
    """
    groups = -(-fixed.size // beside)
    which, leaders, tables = np.empty(groups, np.int64), np.empty(groups, np.int64), np.zeros((groups, 1 << OCTET))
    found = 0
    for group in range(groups):
        which[group] = found
        for table in range(found):
            same = beside * group + beside <= fixed.size  # the last group may be short
            for side in range(beside):
                same = same and fixed[beside * group + side] == fixed[beside * leaders[table] + side]
            if same:
                which[group] = table
        if which[group] < found:
            continue
        for code in range(1 << (beside * digits)):
            for side in range(min(beside, fixed.size - beside * group)):
                degree = fixed[beside * group + side] + ((code >> (side * digits)) & ((1 << digits) - 1))
                if degree < weights.size:
                    tables[found, code] += weights[degree]
        leaders[found] = group
        found += 1
    return which, tables[:found]


@compiled
def _transposed(bits: np.uint64) -> np.uint64:
    """The transpose of eight bytes of eight bits: bit i of byte k becomes bit k of byte i."""
    moved = (bits ^ (bits >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
    bits = bits ^ moved ^ (moved << np.uint64(7))
    moved = (bits ^ (bits >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
    bits = bits ^ moved ^ (moved << np.uint64(14))
    moved = (bits ^ (bits >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
    return bits ^ moved ^ (moved << np.uint64(28))
