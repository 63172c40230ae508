"""Kernels of pairs of nodes at a distance, by their labels or the neighbourhoods around them; and of graphlets.

The shortest path kernel (Borgwardt and Kriegel, 2005) counts the ordered pairs of different nodes by label, label and
distance. The neighbourhood subgraph pairwise distance kernel, NSPD (Costa and De Grave, 2010), counts for each radius r
and each distance d the ordered pairs of nodes d apart by the subgraphs within r of both. With the counts c,

    κ(G, H) = Σ_(r, d) ⟨c_rd(G), c_rd(H)⟩ / (‖c_rd(G)‖·‖c_rd(H)‖),

where a level (r, d) that one of the two does not have adds nothing.

A neighbourhood is known by its nodes and edges, each node described by its distance to the root and by the distances,
inside the neighbourhood, to all its nodes with their labels. Isomorphic ones are equal; few others are.

Graphlets are the connected induced subgraphs of few nodes, counted by shape (Shervashidze and others, 2009). They are
enumerated as Wernicke (2006) has it: a set grows from its lowest node by one node at a time out of a list of
candidates, and a node is added to the list by the first of the chosen nodes that it is a neighbour of. So every
connected set is met once, on the way to the larger ones.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.kernels.kernel import (
    DATA,
    Collection,
    Counts,
    GraphKernel,
    Hashes,
    Integers,
    count_hashes,
    empty_table,
    join,
    mix,
    neighbours,
    slot,
)
from starcert.math.arithmetic import compiled
from starcert.system.errors import whole_number

LARGEST = 5  # the table of shapes would be large for larger graphlets


class ShortestPath(GraphKernel):
    """The numbers of ordered pairs of nodes by label, label and distance. See `GraphKernel` for its parameters.

    Example:
        >>> from starcert import Graph
        >>> graphs = [Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1)])]
        >>> ShortestPath(node_labels=None).fit_transform(graphs).toarray().tolist()
        [[2.0, 4.0], [0.0, 2.0]]
    """

    @override
    def count(self, graphs: Collection) -> Counts:
        return count_hashes(*_pairs(graphs))

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        return 40.0 * n_nodes * n_nodes


class NeighbourhoodPairs(GraphKernel):
    """Pairs of neighbourhoods at a distance, level by level: the NSPD kernel. See `GraphKernel` for other parameters.

    Args:
        radius: the largest radius of neighbourhoods; all from 0 count.
        distance: the largest distance of their roots; all from 0 count.

    Example:
        >>> from starcert import Graph
        >>> graphs = [Graph(3, [(0, 1), (1, 2)]), Graph(3, [])]
        >>> NeighbourhoodPairs(radius=0, distance=1).fit_transform(graphs).toarray().round(2).tolist()
        [[0.45, 0.71, 0.71, 0.89, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """

    def __init__(
        self, radius: int = 3, distance: int = 4, *, node_labels: str | None = DATA, normalize: bool = False
    ) -> None:
        super().__init__(node_labels=node_labels, normalize=normalize)
        self.radius = radius
        self.distance = distance

    @override
    def count(self, graphs: Collection) -> Counts:
        radii, distances = 1 + whole_number("radius", self.radius, 0), 1 + whole_number("distance", self.distance, 0)
        levels = count_hashes(*_neighbourhood_pairs(graphs, radii, distances)).normalised()
        return levels._replace(starts=levels.starts[:: radii * distances])

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        return 40.0 * (1 + self.radius) * n_nodes * n_nodes


@compiled
def _walk(
    source: int, begin: Integers, near: Integers, outer: Integers, most: int, distance: Integers, queue: Integers
) -> int:
    """Distances from a source by ways over nodes whose `outer` is 0 to `most`; the queue gets those, nearest first."""
    distance[source], queue[0] = 0, source
    done, end = 0, 1
    while done < end:
        node = queue[done]
        done += 1
        for k in range(begin[node], begin[node + 1]):
            other = near[k]
            if distance[other] < 0 and 0 <= outer[other] <= most:
                distance[other], queue[end] = distance[node] + 1, other
                end += 1
    return end


@compiled
def _pairs(graphs: Collection) -> tuple[Integers, Integers, Hashes]:
    """For every graph, a hash for each ordered pair of nodes that a path joins."""
    sizes = np.diff(graphs.nodes)
    bounds, hashes, end = np.zeros(sizes.size + 1, np.int64), np.empty((sizes**2).sum(), np.uint64), 0
    for graph in range(sizes.size):
        begin, near = neighbours(graphs, graph)
        n, labels = sizes[graph], graphs.labels[graphs.nodes[graph] :]
        everywhere, distance, queue = np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        for source in range(n):
            distance[:] = -1
            for i in range(1, _walk(source, begin, near, everywhere, 0, distance, queue)):
                hashes[end] = join(join(labels[source], labels[queue[i]]), np.uint64(distance[queue[i]]))
                end += 1
        bounds[graph + 1] = end
    return bounds[:-1], bounds[1:], hashes


@compiled
def _neighbourhood_pairs(graphs: Collection, radii: int, distances: int) -> tuple[Integers, Integers, Hashes]:
    """For every level (r, d) of every graph, a hash for each ordered pair of nodes d apart."""
    sizes = np.diff(graphs.nodes)
    bounds, level = np.zeros(sizes.size * radii * distances + 1, np.int64), 0
    hashes, end = np.empty(radii * (sizes**2).sum(), np.uint64), 0
    for graph in range(sizes.size):
        begin, near = neighbours(graphs, graph)
        n, labels = sizes[graph], graphs.labels[graphs.nodes[graph] : graphs.nodes[graph + 1]]
        apart, around = _neighbourhoods(labels, begin, near, radii)
        for r in range(radii):
            for d in range(distances):
                about = join(np.uint64(r), np.uint64(d))
                for one in range(n):
                    for other in range(n):
                        if apart[one, other] == d:
                            hashes[end] = join(about, join(around[r, one], around[r, other]))
                            end += 1
                level += 1
                bounds[level] = end
    return bounds[:-1], bounds[1:], hashes


@compiled
def _neighbourhoods(labels: Hashes, begin: Integers, near: Integers, radii: int) -> tuple[Integers, Hashes]:
    """The distances of all nodes of a graph (−1: none), and a hash for each neighbourhood, shape (radii, nodes)."""
    n = labels.size
    apart, around = np.full((n, n), -1, np.int64), np.empty((radii, n), np.uint64)
    everywhere, inner = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    queue, inner_queue, told = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64)
    # What the nodes of a neighbourhood see in it does not depend on its root: it is kept for others of the same nodes.
    sets, seen, known = np.empty(radii * n, np.uint64), np.empty((radii * n, n), np.uint64), 0
    table = empty_table(radii * n)
    for root in range(n):
        reached = _walk(root, begin, near, everywhere, 0, apart[root], queue)
        members, nodes = 0, np.uint64(0)
        for r in range(radii):
            before = members
            while members < reached and apart[root, queue[members]] <= r:
                nodes += mix(np.uint64(queue[members]))
                members += 1
            if members == before:  # it has not grown
                around[r, root] = around[r - 1, root]
                continue
            at = slot(table, sets, nodes)
            if table[at] < 0:
                table[at], sets[known] = known, nodes
                for i in range(members):
                    count = _walk(queue[i], begin, near, apart[root], r, inner, inner_queue)
                    sight = np.uint64(0)
                    for j in range(count):
                        other = inner_queue[j]
                        sight += join(np.uint64(inner[other]), labels[other])
                        inner[other] = -1
                    seen[known, queue[i]] = join(labels[queue[i]], sight)
                known += 1
            whole = np.uint64(0)
            for i in range(members):
                node = queue[i]
                told[node] = join(np.uint64(apart[root, node]), seen[table[at], node])
                whole += told[node]
            for i in range(members):
                node = queue[i]
                for k in range(begin[node], begin[node + 1]):
                    if near[k] < node and 0 <= apart[root, near[k]] <= r:
                        whole += mix(told[node] + told[near[k]])
            around[r, root] = mix(whole)
    return apart, around


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
