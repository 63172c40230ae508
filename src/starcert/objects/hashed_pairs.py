"""Node pairs in groups, by a hash of the names of their two nodes and of nothing else.

No attack on edges changes a name. So an attacked graph has the same groups, and a flipped pair is in one of them. A
hash that reads edges, degrees or the number of nodes would move pairs between groups: a flip could reach all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starcert.objects.blocks import Listed
from starcert.objects.content import digest
from starcert.objects.graph import Graph
from starcert.objects.layers import Indices
from starcert.system.errors import whole_number

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PairHash:
    """The group of every node pair: a keyed hash of the names of its nodes. What it gives for a seed never changes.

    Args:
        seed: the key.

    Example:
        >>> PairHash(1).groups(Graph(4, [(0, 1)]), np.array([0, 0, 2]), np.array([1, 2, 3]), 10)
        array([8, 8, 5])
    """

    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, 0, 2**64 - 1)

    def groups(self, graph: Graph, u: Indices, v: Indices, n_groups: int) -> Indices:
        """The groups of pairs, or arcs, of node indices."""
        words = np.array([int(digest(name)[:16], 16) for name in graph.nodes], dtype=np.uint64)
        if not graph.directed:
            swap = words[u] > words[v]
            u, v = np.where(swap, v, u), np.where(swap, u, v)
        hashed = _mix(_mix(_mix(np.full(len(u), self.seed, np.uint64)) + words[u]) + words[v])
        return (hashed % np.uint64(n_groups)).astype(np.int64)


def _mix(words: _Words) -> _Words:
    """SplitMix64: sums are those of 64 bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def listed(u: Indices, v: Indices, *, directed: bool) -> Listed:
    """These pairs u < v, or arcs, as a region."""
    return Listed(np.stack([u, v], axis=1)[np.lexsort([v, u])], directed)
