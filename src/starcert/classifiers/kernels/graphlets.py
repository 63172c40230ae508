"""GraKeL's graphlets: the connected subgraphs of k nodes that it finds, counted by shape.

`GraphletSampling(sampling=None)` grows a tree from every node u, without the nodes before u: the children of a tree
node are the neighbours of its graph node that were not seen on the way, and a set of k graph nodes is found where they
form a subtree with the root. Two subtrees below one node go together if they share no graph node, and if the second
holds the first visit to a graph node or no child of the first. One comparison there mixes up the number of a tree node
with that of a graph node, so that a few connected sets are missed, depending on the order in which Python walks through
sets. The answers must be GraKeL's, so the same tree grows here, with the same gaps, in words instead of sets.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.classifiers.kernels.rows import MOST_NODES, Rows, adjacency_rows, lowest_bit
from starcert.classifiers.kernels.sets import FREE, insert_growing, remove_one
from starcert.core.compiled import compiled

if TYPE_CHECKING:
    from starcert.graphs import Frame
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["LARGEST", "Graphlets", "agrees_with_grakel", "graphlet_counts", "shapes"]

Floats = npt.NDArray[np.float64]

LARGEST = 6
"""The shapes of larger graphlets do not fit into a table."""

SLOTS = 128  # of a set of at most 63 numbers


class Graphlets:
    """A fitted `grakel.kernels.GraphletSampling` that takes all connected graphlets, seen from its support vectors.

    Its features are counts of shapes, with a quirk: a shape that was known before a graph came counts once too often
    there. The shapes of the training graphs are known; a graph by itself opens all others, so they count right, and
    matter in its norm alone.

    Args:
        kernel: the fitted kernel.
        support: the indices of the support vectors among the training graphs.
        coefficients: their coefficients in the decision of two classes; None if there are more.
    """

    def __init__(self, kernel: Any, support: npt.NDArray[np.int64], coefficients: Floats | None) -> None:  # noqa: ANN401
        self._k = int(kernel.k)
        self._shapes = shapes(self._k)
        bins = (kernel._graph_bins[number] for number in range(len(kernel._graph_bins)))
        self._bins = np.array([_shape_of(graph, self._k, self._shapes) for graph in bins], dtype=np.int64)
        self._features = np.zeros((kernel._nx, len(self._bins)))
        for (graph, bin_number), count in kernel.X.items():
            self._features[graph, bin_number] = count
        self._features = self._features[support]
        self._normalize = bool(kernel.normalize)
        self.linear = coefficients is not None and not self._normalize
        if coefficients is not None:
            self._weights = coefficients @ self._features
            self._absolute = np.abs(coefficients) @ self._features

    @property
    def content(self) -> tuple[object, ...]:
        """What the answers depend on, for a digest."""
        return self._k, self._bins, self._features, self._normalize

    def takes(self, frame: Frame) -> bool:
        """Whether noisy copies with this frame can be computed."""
        return 0 < frame.n_nodes <= MOST_NODES

    def decisions(self, graphs: NoisyGraphs) -> tuple[Floats, Floats]:
        """The decision of every copy without the intercept, and a bound on the sum of its terms' magnitudes."""
        known, _ = self._counts(graphs)
        return known @ self._weights, known @ self._absolute

    def matrix(self, graphs: NoisyGraphs) -> Floats:
        """The kernel between the copies and the support vectors, shape (copies, support vectors)."""
        known, unknown = self._counts(graphs)
        values: Floats = known @ self._features.T
        if self._normalize:
            own = np.square(known).sum(axis=1) + np.square(unknown).sum(axis=1)
            values /= np.sqrt(np.outer(own, np.square(self._features).sum(axis=1)))
        return values

    def _counts(self, graphs: NoisyGraphs) -> tuple[Floats, Floats]:
        """The features of the shapes that training knew, by bin, and of the others."""
        counts = graphlet_counts(adjacency_rows(graphs), self._k, self._shapes).astype(np.float64)
        known = counts[:, self._bins]
        return known + (known > 0), np.delete(counts, self._bins, axis=1)


def shapes(k: int) -> npt.NDArray[np.int64]:
    """The shape of every graph on k nodes, as the number of its isomorphism class.

    Bit b of a graph's number says whether the b-th pair of nodes is joined, in the order (0, 1), (0, 2), …, (1, 2), ….
    Two graphs are isomorphic iff swaps of neighbouring nodes lead from one to the other.

    Example:
        >>> shapes(3).tolist()  # no edge, one edge, a path, a triangle
        [0, 1, 1, 2, 1, 2, 2, 3]
    """
    pairs = list(combinations(range(k), 2))
    place = {pair: bit for bit, pair in enumerate(pairs)}
    codes = np.arange(1 << len(pairs))
    least = codes.copy()
    swapped = []
    for node in range(k - 1):
        moved = np.zeros_like(codes)
        name = {node: node + 1, node + 1: node}
        for bit, (u, v) in enumerate(pairs):
            a, b = sorted((name.get(u, u), name.get(v, v)))
            moved |= ((codes >> bit) & 1) << place[a, b]
        swapped.append(moved)
    while True:
        before = least
        for moved in swapped:
            least = np.minimum(least, least[moved])
        if np.array_equal(before, least):
            return np.unique(least, return_inverse=True)[1].astype(np.int64)


def _shape_of(graph: Any, k: int, shape_of: npt.NDArray[np.int64]) -> int:  # noqa: ANN401
    """The shape of one of GraKeL's graphlets."""
    joined = {(name, other.name) for name, vertex in graph._vertices.items() for other in vertex.edges}
    code = sum(1 << bit for bit, pair in enumerate(combinations(range(k), 2)) if pair in joined)
    return int(shape_of[code])


def graphlet_counts(rows: Rows, k: int, shape_of: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many graphlets of every shape GraKeL finds in every copy, shape (copies, shapes)."""
    counts: npt.NDArray[np.int64] = _count(rows, k, shape_of, int(shape_of.max()) + 1)
    return counts


@cache
def agrees_with_grakel(k: int) -> bool:
    """Whether the installed GraKeL finds the same graphlets on this Python, tried out on a few graphs."""
    from grakel.kernels.graphlet_sampling import sample_graphlets_all_connected  # noqa: PLC0415

    shape_of = shapes(k)
    rng = np.random.default_rng(k)
    for n, density in ((8, 0.5), (12, 0.25), (20, 0.1)):
        upper = np.triu(rng.random((n, n)) < density, 1)
        adjacency = (upper | upper.T).astype(np.int64)
        rows = (adjacency.astype(np.uint64) << np.arange(n, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        found = [_shape_of(shape, k, shape_of) for shape in sample_graphlets_all_connected(adjacency, k)]
        counted = graphlet_counts(rows[None], k, shape_of)[0]
        if not np.array_equal(counted, np.bincount(np.array(found, dtype=np.int64), minlength=len(counted))):
            return False
    return True


@compiled
def _count(rows, k, shape_of, n_shapes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    copies, n = rows.shape
    counts = np.zeros((copies, n_shapes), np.int64)
    sets, state = np.empty((n, SLOTS), np.int64), np.empty((n, 3), np.int64)
    spare, identity = np.empty(SLOTS, np.int64), np.arange(MOST_NODES)
    tree, forest = _new_tree(512), _new_forest(k, 1024)
    for copy in range(copies):
        for v in range(n):
            mask, used = 7, 0
            sets[v, :8] = FREE
            row = rows[copy, v]
            while row:
                mask = insert_growing(sets[v], spare, mask, used, lowest_bit(row), identity)
                used += 1
                row &= row - np.uint64(1)
            state[v, 0], state[v, 1], state[v, 2] = mask, used, used
        for root in range(n - k + 1):
            size = _grow(root, k, sets, state, tree)
            while size < 0:
                tree = _new_tree(2 * tree[0].shape[1])
                size = _grow(root, k, sets, state, tree)
            found = _subtrees(k, size, tree, forest)
            while found < 0:
                forest = _new_forest(k, 2 * forest[0].shape[1])
                found = _subtrees(k, size, tree, forest)
            _add_shapes(rows[copy], forest[2][k - 1, :found], k, shape_of, counts[copy])
            for v in range(root + 1, n):
                remove_one(sets[v], spare, state[v], root)
    return counts


@compiled
def _add_shapes(rows, found, k, shape_of, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the shapes of some sets of nodes, each set once."""
    one = np.uint64(1)
    found.sort()
    nodes = np.empty(k, np.int64)
    for i in range(found.size):
        if i and found[i] == found[i - 1]:
            continue
        word = found[i]
        for a in range(k):
            nodes[a] = lowest_bit(word)
            word &= word - one
        code, bit = np.int64(0), 0
        for a in range(k):
            for b in range(a + 1, k):
                code |= np.int64((rows[nodes[a]] >> np.uint64(nodes[b])) & one) << bit
                bit += 1
        counts[shape_of[code]] += 1


@compiled
def _new_tree(capacity):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """For every tree node: graph node, depth, first child, next sibling; its children's graph nodes; a first visit."""
    return np.empty((4, capacity), np.int64), np.empty(capacity, np.uint64), np.empty(capacity, np.bool_)


@compiled
def _new_forest(k, capacity):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Subtrees: words and visits of those below all tree nodes, then of those that are put together, by size."""
    return (
        np.empty((2, capacity), np.uint64),
        np.empty(capacity, np.bool_),
        np.empty((k, capacity), np.uint64),
        np.empty((k, capacity), np.uint64),
        np.empty((k, capacity), np.bool_),
    )


@compiled
def _grow(root, k, sets, state, tree):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fill the tree below one root. Returns its number of nodes, or −1 if there is no room for them."""
    one = np.uint64(1)
    shape, below, first_visit = tree
    label, depth, first_child, sibling = shape[0], shape[1], shape[2], shape[3]
    capacity, size = below.size, 1
    label[0], depth[0], below[0], first_visit[0], first_child[0], sibling[0] = root, 0, 0, False, -1, -1
    visited = np.uint64(0)
    # One frame for each depth: the tree node that gets children, its last child, where its walk stands, what was seen.
    at, last, slot = np.zeros(k, np.int64), np.full(k, -1), np.zeros(k, np.int64)
    seen = np.zeros(k, np.uint64)
    seen[0] = one << np.uint64(root)
    level = 0
    while level >= 0:
        parent = at[level]
        node = label[parent]
        end = state[node, 0]
        here, v = slot[level], -1
        while here <= end:
            v = sets[node, here]
            here += 1
            # "v == parent" compares a graph node with a tree node.
            if v >= 0 and v != parent and not (seen[level] >> np.uint64(v)) & one:
                break
            v = -1
        slot[level] = here
        if v < 0:
            level -= 1
            continue
        if size == capacity:
            return -1
        bit = one << np.uint64(v)
        label[size], depth[size], below[size], first_child[size], sibling[size] = v, level + 1, 0, -1, -1
        first_visit[size] = (visited & bit) == 0
        visited |= bit
        below[parent] |= bit
        if last[level] < 0:
            first_child[parent] = size
        else:
            sibling[last[level]] = size
        last[level] = size
        seen[level] |= bit
        if level + 1 < k - 1:
            level += 1
            at[level], last[level], slot[level], seen[level] = size, -1, 0, seen[level - 1]
        size += 1
    return size


@compiled
def _subtrees(k, size, tree, forest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0912
    """Find the subtrees of k nodes that hold the root: how many, or −1 if there is no room for them.

    A subtree is known by three things: its graph nodes, the graph nodes of its nodes' children, and whether it holds
    the first visit to a graph node. Subtrees below one node are put together child by child, in the order of GraKeL's
    set of children; children have higher numbers than their parents, so the last tree node comes first.
    """
    one = np.uint64(1)
    shape, below, first_visit = tree
    label, depth, first_child, sibling = shape[0], shape[1], shape[2], shape[3]
    words, visits, part_nodes, part_children, part_visits = forest
    nodes, children = words[0], words[1]
    capacity, stored = visits.size, 0
    start = np.zeros((size, k + 2), np.int64)  # where the subtrees of each size begin
    parts, before = np.zeros(k, np.int64), np.zeros(k, np.int64)
    family, scratch = np.empty((2, MOST_NODES), np.int64), np.empty((2, SLOTS), np.int64)
    for node in range(size - 1, -1, -1):
        room = k - 1 - depth[node]  # for nodes below this one
        parts[:] = 0
        for i in range(_in_set_order(first_child[node], sibling, family, scratch)):
            child = family[1, i]
            before[:] = parts
            for weight in range(1, room + 1):
                begin, end = start[child, weight], start[child, weight + 1]
                for size_before in range(room - weight + 1):
                    total = size_before + weight
                    at = parts[total]
                    if at + max(before[size_before], 1) * (end - begin) > capacity:
                        return -1
                    if size_before == 0:
                        for b in range(begin, end):
                            part_nodes[total, at], part_children[total, at] = nodes[b], children[b]
                            part_visits[total, at] = visits[b]
                            at += 1
                    for a in range(before[size_before] if size_before else 0):
                        first, first_children = part_nodes[size_before, a], part_children[size_before, a]
                        for b in range(begin, end):
                            second = nodes[b]
                            if first & second == 0 and (visits[b] or first_children & second == 0):
                                part_nodes[total, at] = first | second
                                part_children[total, at] = first_children | children[b]
                                part_visits[total, at] = part_visits[size_before, a] or visits[b]
                                at += 1
                    parts[total] = at
        own = one << np.uint64(label[node])
        if node == 0:
            break
        if stored + 1 + parts.sum() > capacity:
            return -1
        start[node, 1] = stored
        nodes[stored], children[stored], visits[stored] = own, below[node], first_visit[node]
        stored += 1
        for total in range(1, k + 1):
            start[node, total + 1] = stored
            if total < k:
                for a in range(parts[total]):
                    nodes[stored] = own | part_nodes[total, a]
                    children[stored] = below[node] | part_children[total, a]
                    visits[stored] = first_visit[node] or part_visits[total, a]
                    stored += 1
    for a in range(parts[k - 1]):
        part_nodes[k - 1, a] |= own
    return parts[k - 1]


@compiled
def _in_set_order(child, sibling, family, scratch):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The children of a tree node, into the second row of `family`, in the order of the set that GraKeL keeps.

    Returns how many there are.
    """
    table, spare, numbers = scratch[0], scratch[1], family[0]
    mask, used = 7, 0
    while child >= 0:
        if used == 0:
            table[:8] = FREE
        numbers[used] = child
        mask = insert_growing(table, spare, mask, used, used, numbers)
        used += 1
        child = sibling[child]
    at, slot = 0, 0
    while at < used:
        if table[slot] >= 0:
            family[1, at] = numbers[table[slot]]
            at += 1
        slot += 1
    return used
