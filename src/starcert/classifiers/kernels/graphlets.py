"""Graphlets: the connected induced subgraphs of few nodes, counted by shape (Shervashidze and others, 2009).

They are enumerated as Wernicke (2006) has it: a set grows from its lowest node by one node at a time out of a list of
candidates, and a node is added to the list by the first of the chosen nodes that it is a neighbour of. So every
connected set is met once, on the way to the larger ones.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.kernels.kernel import Collection, Counts, GraphKernel, Integers, neighbours
from starcert.math.arithmetic import compiled
from starcert.system.errors import whole_number

LARGEST = 5  # the table of shapes would be large for larger graphlets


class Graphlets(GraphKernel):
    """The numbers of connected sets of `smallest` (3 at least) to `largest` (5 at most) nodes, by shape.

    Labels of nodes are not looked at.

    Example:
        >>> from starcert import Graph
        >>> wheel = Graph(4, [(0, 1), (0, 2), (0, 3), (1, 2)])  # two paths and a triangle; a triangle with a tail
        >>> Graphlets(3, 4).fit_transform([wheel]).toarray().tolist()
        [[2.0, 1.0, 1.0]]
    """

    def __init__(self, smallest: int = 3, largest: int = LARGEST, *, normalize: bool = False) -> None:
        super().__init__(node_labels=None, normalize=normalize)
        self.smallest = smallest
        self.largest = largest

    @override
    def count(self, graphs: Collection) -> Counts:
        largest = whole_number("largest", self.largest, 3, LARGEST)
        smallest = whole_number("smallest", self.smallest, 3, largest)
        counts = _count(graphs, smallest, largest, _numbered(largest))
        rows, numbers = np.nonzero(counts)
        starts = np.searchsorted(rows, np.arange(len(counts) + 1))
        return Counts(starts, numbers.astype(np.uint64), counts[rows, numbers].astype(np.float64))


def shapes(k: int) -> Integers:
    """The shape of every graph on k nodes, as the number of its isomorphism class.

    Bit b of a graph's number says whether the b-th pair of nodes is joined, in the order (0, 1), (0, 2), (1, 2), ….
    """
    pairs = sorted(combinations(range(k), 2), key=lambda pair: pair[::-1])
    places = np.zeros((k, k), dtype=np.int64)
    for place, (u, v) in enumerate(pairs):
        places[u, v] = places[v, u] = place
    bits = (np.arange(1 << len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    renamed = [bits @ (1 << np.array([places[name[u], name[v]] for u, v in pairs])) for name in permutations(range(k))]
    return np.unique(np.min(renamed, axis=0), return_inverse=True)[1].astype(np.int64)


@cache
def _numbered(largest: int) -> Integers:
    """The shapes of all sizes up to the largest, numbered through; row k has those of k nodes."""
    table = np.zeros((largest + 1, 1 << (largest * (largest - 1) // 2)), dtype=np.int64)
    for k in range(3, largest + 1):
        found = shapes(k)
        table[k, : len(found)] = found + table.max() + 1
    return table


@compiled
def _count(graphs: Collection, smallest: int, largest: int, table: Integers) -> Integers:
    """The number of sets of each shape in every graph, shape (graphs, shapes)."""
    counts = np.zeros((graphs.nodes.size - 1, table.max() + 1), np.int64)
    for graph in range(graphs.nodes.size - 1):
        begin, near = neighbours(graphs, graph)
        n = begin.size - 1
        joined, met, candidates = np.zeros((n, n), np.uint8), np.zeros(n, np.uint8), np.empty((largest, n), np.int64)
        for node in range(n):
            joined[node, near[begin[node] : begin[node + 1]]] = 1
        for root in range(n):
            _grow(root, begin, near, joined, met, candidates, smallest, largest, table, counts[graph])
    return counts


@compiled
def _grow(
    root: int,
    begin: Integers,
    near: Integers,
    joined: npt.NDArray[np.uint8],
    met: npt.NDArray[np.uint8],
    candidates: Integers,
    smallest: int,
    largest: int,
    table: Integers,
    counts: Integers,
) -> None:
    """Count the sets whose lowest node is the root. `met` is all 0, before and after."""
    chosen, codes, left = np.empty(largest, np.int64), np.zeros(largest, np.int64), np.empty(largest, np.int64)
    inherited, size = np.zeros(largest, np.int64), np.empty(largest, np.int64)
    chosen[0], met[root] = root, 1
    left[0] = size[0] = _add_neighbours(root, root, begin, near, met, candidates[0], 0)
    level = 0
    while level >= 0:  # level j has j + 1 chosen nodes, which those in candidates[j, :left[j]] have still to join
        if left[level] == 0:
            for i in range(inherited[level], size[level]):
                met[candidates[level, i]] = 0
            level -= 1
            continue
        left[level] -= 1
        node, code = candidates[level, left[level]], codes[level]
        for i in range(level + 1):
            code |= np.int64(joined[node, chosen[i]]) << (level * (level + 1) // 2 + i)
        if level + 2 >= smallest:
            counts[table[level + 2, code]] += 1
        if level + 2 < largest:
            rest = left[level]
            candidates[level + 1, :rest] = candidates[level, :rest]
            level += 1
            chosen[level], codes[level], inherited[level] = node, code, rest
            left[level] = size[level] = _add_neighbours(node, root, begin, near, met, candidates[level], rest)
    met[root] = 0


@compiled
def _add_neighbours(
    node: int, root: int, begin: Integers, near: Integers, met: npt.NDArray[np.uint8], row: Integers, end: int
) -> int:
    """Adds the neighbours above the root that were not met yet to a row that ends here. Returns its new end."""
    for k in range(begin[node], begin[node + 1]):
        if near[k] > root and not met[near[k]]:
            met[near[k]] = 1
            row[end] = near[k]
            end += 1
    return end
