"""Kernels of pairs of nodes at a distance: their labels, or the neighbourhoods around them.

The shortest path kernel (Borgwardt and Kriegel, 2005) counts the ordered pairs of different nodes by label, label and
distance. The neighbourhood subgraph pairwise distance kernel, NSPD (Costa and De Grave, 2010), counts for each radius r
and each distance d the ordered pairs of nodes d apart by the subgraphs within r of both. With the counts c,

    κ(G, H) = Σ_(r, d) ⟨c_rd(G), c_rd(H)⟩ / (‖c_rd(G)‖·‖c_rd(H)‖),

where a level (r, d) that one of the two does not have adds nothing.

A neighbourhood is known by its nodes and edges, each node described by its distance to the root and by the distances,
inside the neighbourhood, to all its nodes with their labels. Isomorphic ones are equal; few others are.
"""

from __future__ import annotations

import numpy as np
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
