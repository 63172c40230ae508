"""The neighbourhood subgraph pairwise distance kernel: pairs of neighbourhoods at a distance, counted and compared.

A feature of level (r, d) is a pair of hashes of neighbourhoods of radius r whose roots are d apart. With the counts c
of two graphs,

    κ(G, H) = Σ_(r, d) ⟨c_rd(G), c_rd(H)⟩ / (‖c_rd(G)‖·‖c_rd(H)‖),

where a level that one of the two does not have adds nothing. Within a level the kernel is linear in c(G)/‖c(G)‖, so for
two classes the support vectors collapse into one weight for each feature. Features that no support vector has count in
the norm alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.classifiers.kernels.neighbourhoods import alphabet, hash_neighbourhoods
from starcert.classifiers.kernels.rows import MOST_NODES, adjacency_rows
from starcert.core.compiled import compiled
from starcert.graphs import Frame, Graph
from starcert.models.conversion import DEGREE, grakel_input, node_labels_of

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["PairwiseDistance", "agrees_with_grakel"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
HASH_BITS, NAME_BITS = np.uint64(32), np.uint64(28)


class PairwiseDistance:
    """A fitted `grakel.kernels.NeighborhoodSubgraphPairwiseDistance`, seen from its support vectors.

    Args:
        kernel: the fitted kernel.
        support: the indices of the support vectors among the training graphs.
        coefficients: their coefficients in the decision of two classes; None if there are more.
        node_labels: "degree", or the name of an attribute in the node data.
    """

    def __init__(
        self,
        kernel: Any,  # noqa: ANN401  (GraKeL carries no types)
        support: Integers,
        coefficients: Floats | None,
        node_labels: str = DEGREE,
    ) -> None:
        self._radius, self._distance = int(kernel.r), int(kernel.d)
        self._node_labels = node_labels
        self._normalize = bool(kernel.normalize)
        self._fitted_levels = len(kernel.X)
        self._support = len(support)
        self._norms = np.zeros((self._radius + 1, self._distance + 1, len(support)))
        hashes: list[npt.NDArray[np.uint64]] = []
        parts = []
        for (r, d), matrix in kernel.X.items():
            chosen = matrix[support].tocsc()
            self._norms[r, d] = np.asarray(chosen.power(2).sum(axis=1)).reshape(-1)
            used = np.flatnonzero(np.diff(chosen.indptr))
            pairs = np.array(list(kernel._fit_keys[r, d]), dtype=np.uint64).reshape(-1, 2)[used]
            tagged = pairs | (np.uint64(r) << HASH_BITS)
            hashes.append(tagged.reshape(-1))
            parts.append((r, d, tagged, chosen[:, used]))
        names = np.unique(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
        self._names = _index_of(names)
        keys, begins, graphs, counts, weights = [], [0], [], [], []
        for r, d, tagged, chosen in parts:
            first, second = np.searchsorted(names, tagged).astype(np.uint64).T
            level = np.uint64(r * (self._distance + 1) + d)
            keys.append((((level << NAME_BITS) | first) << NAME_BITS) | second)
            begins.extend((begins[-1] + chosen.indptr[1:]).tolist())
            graphs.append(chosen.indices)
            counts.append(chosen.data)
            if coefficients is not None:
                scaled = np.divide(coefficients, np.sqrt(self._norms[r, d]), where=self._norms[r, d] > 0, out=None)
                scaled[self._norms[r, d] == 0] = 0.0
                weights.append(np.asarray(chosen.T @ scaled).reshape(-1))
        self._keys = _index_of(np.concatenate(keys) if keys else np.empty(0, np.uint64))
        self._columns = (
            np.array(begins, dtype=np.int64),
            np.concatenate([*graphs, np.empty(0, np.int64)]).astype(np.int64),
            np.concatenate([*counts, np.empty(0, np.int64)]).astype(np.int64),
        )
        self.linear = coefficients is not None and not self._normalize
        if coefficients is not None:
            self._weights = np.concatenate([*weights, np.empty(0)])
            self._absolute = float(np.abs(coefficients).sum()) * self._fitted_levels

    @property
    def content(self) -> tuple[object, ...]:
        """What the answers depend on, for a digest."""
        return self._radius, self._distance, self._normalize, self._names, self._keys, self._columns, self._norms

    def takes(self, frame: Frame) -> bool:
        """Whether noisy copies with this frame can be computed."""
        # GraKeL hashes as many bytes as a text has letters: other alphabets are left to it.
        return 0 < frame.n_nodes <= MOST_NODES and all(map(str.isascii, self._text_labels(frame)))

    def decisions(self, graphs: NoisyGraphs) -> tuple[Floats, Floats]:
        """The decision of every copy without the intercept, and a bound on the sum of its terms' magnitudes."""
        values: Floats = _decide(*self._hashes(graphs), self._distance, *self._names, *self._keys, self._weights)
        return values, np.full(len(values), self._absolute)

    def matrix(self, graphs: NoisyGraphs) -> Floats:
        """The kernel between the copies and the support vectors, shape (copies, support vectors)."""
        hashes, levels = self._hashes(graphs)
        values: Floats = _compare(
            hashes, levels, self._distance, *self._names, *self._keys, *self._columns, self._norms
        )
        if self._normalize:
            reached = np.array([len(set(copy[copy >= 0].tolist())) for copy in levels]) * (self._radius + 1)
            values /= np.sqrt(np.outer(reached.astype(np.float64), np.full(self._support, float(self._fitted_levels))))
        return values

    def _hashes(self, graphs: NoisyGraphs) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int8]]:
        text = self._text_labels(graphs.frame)
        distinct = text if self._node_labels == DEGREE else sorted(set(text))
        numbers = [] if self._node_labels == DEGREE else [distinct.index(label) for label in text]
        words = alphabet(distinct, self._distance + 1)
        return hash_neighbourhoods(
            adjacency_rows(graphs), np.array(numbers, dtype=np.int64), words, self._radius, self._distance
        )

    def _text_labels(self, frame: Frame) -> list[str]:
        """The label of every node, or, where degrees are labels, every degree that a node of a copy may have."""
        if self._node_labels == DEGREE:
            return [str(degree) for degree in range(frame.n_nodes)]
        return [str(label) for label in node_labels_of(frame.with_edges(()), self._node_labels)]


@cache
def agrees_with_grakel(radius: int, distance: int) -> bool:
    """Whether the installed GraKeL computes the same hashes on this Python, tried out on a few graphs."""
    from grakel.kernels import NeighborhoodSubgraphPairwiseDistance  # noqa: PLC0415

    rng = np.random.default_rng(radius)
    none = np.empty(0, dtype=np.int64)
    for n, density in ((7, 0.4), (12, 0.3), (20, 0.1), (20, 0.3)):
        upper = np.triu(rng.random((n, n)) < density, 1)
        graph = Graph.from_numpy((upper | upper.T).astype(np.int64))
        kernel = NeighborhoodSubgraphPairwiseDistance(r=radius, d=distance).fit(grakel_input([graph], DEGREE))
        words = alphabet([str(degree) for degree in range(n)], distance + 1)
        rows = (graph.to_numpy().astype(np.uint64) << np.arange(n, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        hashes, levels = hash_neighbourhoods(rows[None], none, words, radius, distance)
        for (r, d), keys in kernel._fit_keys.items():
            first, second = np.nonzero(levels[0] == d)
            if set(keys) != set(zip(hashes[0, r, first].tolist(), hashes[0, r, second].tolist(), strict=True)):
                return False
    return True


def _index_of(keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], Integers]:
    """A hash table from each key to its place among the keys."""
    slots = 16
    while slots < 3 * len(keys):
        slots *= 2
    return _fill_index(keys, slots)  # type: ignore[no-any-return]


@compiled
def _fill_index(keys, slots):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    table, values = np.full(slots, NONE, np.uint64), np.full(slots, -1, np.int64)
    for i in range(keys.size):
        at = _slot(table, keys[i])
        table[at], values[at] = keys[i], i
    return table, values


@compiled
def _slot(table, key):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Where a key is in a hash table, or the free slot where it would be."""
    mask = table.size - 1
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while table[at] != NONE and table[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def _name_all(hashes, r, table, values, names, local):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """For the nodes of one copy: the name of their hash among the support vectors' (or −1), and one for this copy."""
    n = names.size
    for v in range(n):
        names[v] = values[_slot(table, (np.uint64(r) << HASH_BITS) | np.uint64(hashes[r, v]))]
        local[v] = v
        for u in range(v):
            if hashes[r, u] == hashes[r, v]:
                local[v] = u
                break


@compiled
def _decide(hashes, levels, distance, table, values, key_table, key_values, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    copies, radii, n = hashes.shape
    decisions = np.zeros(copies)
    names, local = np.empty(n, np.int64), np.empty(n, np.int64)
    times = np.zeros((distance + 1, n, n), np.int64)
    norms, sums = np.empty(distance + 1, np.int64), np.empty(distance + 1)
    for copy in range(copies):
        for r in range(radii):
            _name_all(hashes[copy], r, table, values, names, local)
            norms[:], sums[:] = 0, 0.0
            for a in range(n):
                for b in range(n):
                    d = levels[copy, a, b]
                    if d < 0:
                        continue
                    before = times[d, local[a], local[b]]
                    norms[d] += 2 * before + 1  # (before + 1)² − before²
                    times[d, local[a], local[b]] = before + 1
                    if names[a] >= 0 and names[b] >= 0:
                        level = np.uint64(r * (distance + 1) + d)
                        key = (((level << NAME_BITS) | np.uint64(names[a])) << NAME_BITS) | np.uint64(names[b])
                        column = key_values[_slot(key_table, key)]
                        if column >= 0:
                            sums[d] += weights[column]
            for a in range(n):
                for b in range(n):
                    if levels[copy, a, b] >= 0:
                        times[levels[copy, a, b], local[a], local[b]] = 0
            for d in range(distance + 1):
                if norms[d]:
                    decisions[copy] += sums[d] / np.sqrt(norms[d])
    return decisions


@compiled
def _compare(hashes, levels, distance, table, values, key_table, key_values, begins, graphs, counts, fitted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0912
    copies, radii, n = hashes.shape
    kernel = np.zeros((copies, fitted.shape[2]))
    names, local = np.empty((radii, n), np.int64), np.empty((radii, n), np.int64)
    times = np.zeros((n, n), np.int64)
    shared = np.empty(fitted.shape[2], np.int64)
    for copy in range(copies):
        for r in range(radii):
            _name_all(hashes[copy], r, table, values, names[r], local[r])
        # GraKeL adds the levels up in this order; in another the last digit could differ.
        for d in range(distance + 1):
            for r in range(radii):
                norm = 0
                shared[:] = 0
                for a in range(n):
                    for b in range(n):
                        if levels[copy, a, b] != d:
                            continue
                        before = times[local[r, a], local[r, b]]
                        norm += 2 * before + 1
                        times[local[r, a], local[r, b]] = before + 1
                        if names[r, a] >= 0 and names[r, b] >= 0:
                            level = np.uint64(r * (distance + 1) + d)
                            pair = (np.uint64(names[r, a]) << NAME_BITS) | np.uint64(names[r, b])
                            column = key_values[_slot(key_table, (level << (NAME_BITS + NAME_BITS)) | pair)]
                            if column >= 0:
                                for k in range(begins[column], begins[column + 1]):
                                    shared[graphs[k]] += counts[k]
                for a in range(n):
                    for b in range(n):
                        times[local[r, a], local[r, b]] = 0
                for i in range(shared.size):
                    if shared[i]:
                        kernel[copy, i] += shared[i] / np.sqrt(norm * fitted[r, d, i])
    return kernel
