"""Histograms of labels: of nodes, and of nodes whose labels grow with what is around them.

The vertex histogram counts the nodes of each label: κ(G, H) = Σ_l c(G, l)·c(H, l). Weisfeiler and Lehman give every
node a new label, again and again, which says what it was and what its neighbours were; the kernel is the sum of the
vertex histogram kernels of all rounds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.kernels.kernel import (
    DATA,
    DEGREE,
    Collection,
    Counts,
    Floats,
    GraphKernel,
    Hashes,
    Integers,
    count_hashes,
    join,
    mix,
    neighbours,
)
from starcert.math.arithmetic import compiled
from starcert.sampling.batch import NoisyGraphs
from starcert.sampling.views import PackedGraphs, count_ends, new_counters
from starcert.system.errors import whole_number

SMALL = 128  # with up to this many nodes, a degree fits into the eight binary digits of an octet

OCTET = 8


class VertexHistogram(GraphKernel):
    """The number of nodes of each label. See `GraphKernel` for its parameters.

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
        n = graphs.frame.n_nodes  # the sum is that of w_deg(v) over all nodes: no feature is counted
        by_degree = np.zeros(n)  # 0 where training has not seen a degree
        known = self.known_ < n
        by_degree[self.known_[known].astype(np.int64)] = weights[known]
        if isinstance(graphs, PackedGraphs) and 0 < n <= SMALL:
            fixed = graphs.fixed_degrees()
            values: Floats = _add_sliced(graphs.packed, graphs.first, len(graphs), graphs.ends, fixed, by_degree)
        else:
            values = by_degree[graphs.degrees()].sum(axis=1)
        return values, np.full(len(values), n * sizes.max(initial=0.0))


class WeisfeilerLehman(GraphKernel):
    """The number of nodes of each label, after each round of refinement (Shervashidze and others, 2011).

    Args:
        rounds: how often labels are refined; after none, this is the vertex histogram.
        node_labels: as in `GraphKernel`: the labels to begin with.
        normalize: as in `GraphKernel`.

    Example:
        >>> from starcert import Graph
        >>> counts = WeisfeilerLehman(rounds=1).fit_transform([Graph(3, [(0, 1), (1, 2)]), Graph(3, [])])
        >>> counts.toarray().tolist()
        [[2.0, 1.0, 0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 3.0, 0.0, 3.0, 0.0]]
    """

    def __init__(self, rounds: int = 5, *, node_labels: str | None = DATA, normalize: bool = False) -> None:
        super().__init__(node_labels=node_labels, normalize=normalize)
        self.rounds = rounds

    @override
    def count(self, graphs: Collection) -> Counts:
        times = 1 + whole_number("rounds", self.rounds, 0)
        return count_hashes(times * graphs.nodes[:-1], times * graphs.nodes[1:], _refine(graphs, times))


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
def _add_sliced(
    words: Hashes, first: int, count: int, ends: npt.NDArray[np.int32], fixed: Integers, weights: Floats
) -> Floats:
    """The sum of the weights of the degrees of each copy, from words with one site of 64 copies each.

    Every node has a counter whose binary digits are words, at most eight of them. For eight copies at a time they are
    transposed into eight bytes: the degree of the node in each copy, beside its fixed degree.
    """
    counters = new_counters(ends, fixed.size)
    octet = np.uint64(0xFF)
    values = np.empty(64 * words.shape[1])
    for word in range(words.shape[1]):
        count_ends(words, word, ends, counters)
        for at in range(64 * word, 64 * word + 64, OCTET):
            shift = np.uint64(at % 64)
            v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = 0.0  # in registers: a fifth of a vote
            for node in range(fixed.size):
                bits = np.uint64(0)
                for digit in range(counters.shape[1]):
                    bits |= ((counters[node, digit] >> shift) & octet) << np.uint64(OCTET * digit)
                bits, own = _transposed(bits), weights[fixed[node] :]
                v0 += own[np.int64(bits & octet)]
                v1 += own[np.int64((bits >> np.uint64(8)) & octet)]
                v2 += own[np.int64((bits >> np.uint64(16)) & octet)]
                v3 += own[np.int64((bits >> np.uint64(24)) & octet)]
                v4 += own[np.int64((bits >> np.uint64(32)) & octet)]
                v5 += own[np.int64((bits >> np.uint64(40)) & octet)]
                v6 += own[np.int64((bits >> np.uint64(48)) & octet)]
                v7 += own[np.int64(bits >> np.uint64(56))]
            values[at], values[at + 1], values[at + 2], values[at + 3] = v0, v1, v2, v3
            values[at + 4], values[at + 5], values[at + 6], values[at + 7] = v4, v5, v6, v7
    return values[first : first + count]


@compiled
def _transposed(bits: np.uint64) -> np.uint64:
    """The transpose of eight bytes of eight bits: bit i of byte k becomes bit k of byte i."""
    moved = (bits ^ (bits >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
    bits = bits ^ moved ^ (moved << np.uint64(7))
    moved = (bits ^ (bits >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
    bits = bits ^ moved ^ (moved << np.uint64(14))
    moved = (bits ^ (bits >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
    return bits ^ moved ^ (moved << np.uint64(28))
