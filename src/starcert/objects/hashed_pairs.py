"""Node pairs in groups, by a hash of the names of their two nodes and of nothing else.

No attack on edges changes a name. So an attacked graph has the same groups, and a flipped pair is in one of them. A
hash that reads edges, degrees or the number of nodes would move pairs between groups: a flip could reach all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starcert.objects.blocks import Listed
from starcert.objects.content import digest
from starcert.objects.graph import Graph
from starcert.objects.layers import CleanObject, Indices
from starcert.system.errors import InvalidParameterError, whole_number

PairFunction = Callable[[Hashable, Hashable], int]
"""From the names of two nodes to a whole number; of an undirected pair always in the same order."""

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PairHash:
    """The group of every node pair: a keyed hash of the names of its nodes. What it gives for a seed never changes.

    Args:
        seed: the key.
        function: a hash of your own in its place, a function of two names alone; the rest of a division is the group.
            Whether it has read edges off a graph elsewhere cannot be known, so groups are `anchored`.

    Example:
        >>> PairHash(1).groups(Graph(4, [(0, 1)]), np.array([0, 0, 2]), np.array([1, 2, 3]), 10)
        array([8, 8, 5])
    """

    seed: int = 0
    function: PairFunction | None = None

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, 0, 2**64 - 1)
        if self.function is None:
            return
        try:
            inspect.signature(self.function).bind(0, 1)
        except (TypeError, ValueError):
            hint = "A group that follows from the graph is not that of the attacked graph."
            raise InvalidParameterError("hash", "be a function of two node names alone", self.function, hint) from None
        try:
            seen = inspect.getclosurevars(self.function)
        except TypeError:
            return  # not written in Python
        for name, value in {**seen.globals, **seen.nonlocals}.items():
            if isinstance(value, CleanObject):
                raise InvalidParameterError("hash", "look at no graph, only at two node names", name)

    @property
    def anchored(self) -> str:
        """Why groups are those of the clean graph, and may not be those of an attacked one; "" if they always are."""
        return "" if self.function is None else "Groups are given by a function, which may have read the clean graph."

    def groups(self, graph: Graph, u: Indices, v: Indices, n_groups: int) -> Indices:
        """The groups of pairs, or arcs, of node indices."""
        words = np.array([int(digest(name)[:16], 16) for name in graph.nodes], dtype=np.uint64)
        if not graph.directed:
            swap = words[u] > words[v]
            u, v = np.where(swap, v, u), np.where(swap, u, v)
        if self.function is None:
            hashed = _mix(_mix(_mix(np.full(len(u), self.seed, np.uint64)) + words[u]) + words[v])
            return (hashed % np.uint64(n_groups)).astype(np.int64)
        named = [(graph.nodes[a], graph.nodes[b]) for a, b in zip(u.tolist(), v.tolist(), strict=True)]
        first, again = ([self.function(*pair) for pair in named] for _ in range(2))
        wrong = [each for each in first if not isinstance(each, int | np.integer)]
        if wrong or first != again:
            got = wrong[0] if wrong else "another number when it is asked again"
            raise InvalidParameterError("hash", "return one whole number for two names, always the same", got)
        return np.array([int(each) % n_groups for each in first], dtype=np.int64)


def _mix(words: _Words) -> _Words:
    """SplitMix64: sums are those of 64 bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def listed(u: Indices, v: Indices, *, directed: bool) -> Listed:
    """These pairs u < v, or arcs, as a region."""
    return Listed(np.stack([u, v], axis=1)[np.lexsort([v, u])], directed)
