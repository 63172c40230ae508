"""Histograms of labels: of nodes, of edges, and of nodes whose labels grow with what is around them.

The vertex histogram counts the nodes of each label: κ(G, H) = Σ_l c(G, l)·c(H, l). The edge histogram counts the edges
by the labels of their two ends. Weisfeiler and Lehman give every node a new label, again and again, which says what it
was and what its neighbours were; the kernel is the sum of the vertex histogram kernels of all rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.core.arithmetic import compiled
from starcert.errors import whole_number
from starcert.kernels.kernel import DATA, DEGREE, Collection, GraphKernel, neighbours
from starcert.kernels.words import Counts, Floats, Integers, Words, count_words, join, mix
from starcert.sampling.views import SlicedGraphs, count_ends, new_counters

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["EdgeHistogram", "VertexHistogram", "WeisfeilerLehman"]

SMALL = 128
"""With so many nodes, a degree fits into seven binary digits."""


class VertexHistogram(GraphKernel):
    """How many nodes there are of each label. See `GraphKernel` for its parameters.

    Where degrees are labels, the weighed sum is Σ_v w_deg(v): no feature is ever counted.

    Example:
        >>> from starcert import Graph
        >>> VertexHistogram().fit_transform([Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(2, [])]).toarray().tolist()
        [[0.0, 3.0, 1.0], [2.0, 0.0, 0.0]]
    """

    def count(self, graphs: Collection) -> Counts:
        """See `GraphKernel`."""
        return count_words(graphs.nodes[:-1], graphs.nodes[1:], graphs.labels)

    def weighed(self, graphs: NoisyGraphs, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """See `GraphKernel`."""
        if self.labels_used != DEGREE or self.normalize:
            return super().weighed(graphs, weights, sizes)
        n = graphs.frame.n_nodes
        by_degree = _by_degree(self.known_, weights, n)
        values: Floats
        if isinstance(graphs, SlicedGraphs) and 0 < n <= SMALL:
            fixed = graphs.fixed_degrees()
            values = _add_sliced(graphs.words, graphs.first, len(graphs), graphs.ends, fixed, by_degree)
        else:
            values = _add_weights(graphs.degrees(), by_degree)
        return values, np.full(len(values), n * sizes.max(initial=0.0))


class EdgeHistogram(GraphKernel):
    """How many edges there are by the labels of their two ends. See `GraphKernel` for its parameters.

    Edges have no labels of their own here.
    """

    def count(self, graphs: Collection) -> Counts:
        """See `GraphKernel`."""
        return count_words(graphs.starts[:-1], graphs.starts[1:], _edge_words(graphs))


class WeisfeilerLehman(GraphKernel):
    """How many nodes have each label, after each of so many rounds of refinement (Shervashidze and others, 2011).

    Args:
        rounds: how often labels are refined; after none, this is the vertex histogram.
        node_labels: as in `GraphKernel`: the labels to begin with.
        normalize: as in `GraphKernel`.
    """

    def __init__(self, rounds: int = 5, *, node_labels: str | None = DATA, normalize: bool = False) -> None:
        super().__init__(node_labels=node_labels, normalize=normalize)
        self.rounds = rounds

    def count(self, graphs: Collection) -> Counts:
        """See `GraphKernel`."""
        times = 1 + whole_number("rounds", self.rounds, 0)
        return count_words(times * graphs.nodes[:-1], times * graphs.nodes[1:], _refine(graphs, times))


@compiled
def _edge_words(graphs: Collection) -> Words:
    words = np.empty(graphs.u.size, np.uint64)
    for graph in range(graphs.nodes.size - 1):
        labels = graphs.labels[graphs.nodes[graph] :]
        for edge in range(graphs.starts[graph], graphs.starts[graph + 1]):
            words[edge] = mix(labels[graphs.u[edge]]) + mix(labels[graphs.v[edge]])
    return words


@compiled
def _refine(graphs: Collection, times: int) -> Words:
    """The labels of all rounds, those of the nodes of one graph together."""
    words, end = np.empty(times * graphs.labels.size, np.uint64), 0
    for graph in range(graphs.nodes.size - 1):
        begin, near = neighbours(graphs, graph)
        now = graphs.labels[graphs.nodes[graph] : graphs.nodes[graph + 1]].copy()
        then = now.copy()
        for time in range(times):
            for node in range(now.size):
                words[end] = join(np.uint64(time), now[node])
                end += 1
                around = np.uint64(0)
                for k in range(begin[node], begin[node + 1]):
                    around += mix(now[near[k]])
                then[node] = join(now[node], around)
            now, then = then, now
    return words


@compiled
def _by_degree(known: Words, weights: Floats, n: int) -> Floats:
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
    words: Words, first: int, count: int, ends: npt.NDArray[np.int32], fixed: Integers, weights: Floats
) -> Floats:
    """`_add_weights` without degrees in between: from words with one site of 64 copies each.

    Every node has a counter whose binary digits are words. Eight copies at a time, the digits of a node become the
    eight bytes of one word: its degrees less the fixed ones.
    """
    n = fixed.size
    every, diagonal = np.uint64(0x0101010101010101), np.uint64(0x8040201008040201)
    ceiling, octet_mask = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0xFF)
    counters = new_counters(ends, n)
    digits = counters.shape[1]
    sums = np.empty(64)
    values = np.empty(count)
    for word in range(words.shape[1]):
        count_ends(words, word, ends, counters)
        sums[:] = 0.0
        for node in range(n):
            reached = weights[fixed[node] :]
            for octet in range(8):
                degrees = np.uint64(0)
                for digit in range(digits):
                    bits = (counters[node, digit] >> np.uint64(8 * octet)) & octet_mask
                    # Byte i keeps bit i alone; adding 127 carries it to the top of its byte, wherever it was.
                    apart = ((((bits * every) & diagonal) + ceiling) >> np.uint64(7)) & every
                    degrees |= apart << np.uint64(digit)
                for lane in range(8):
                    sums[8 * octet + lane] += reached[np.int64((degrees >> np.uint64(8 * lane)) & octet_mask)]
        for i in range(max(0, word * 64 - first), min(count, (word + 1) * 64 - first)):
            values[i] = sums[first + i - word * 64]
    return values
