"""Regions of node pairs and arcs, numbered by arithmetic and never listed: fifty million pairs cost a few node arrays.

A `Block` is all pairs inside a node set or inside one of several disjoint sets, all pairs between two or more of those,
all pairs but those inside a set, or such a block with a few pairs left out. `Listed` is any set of pairs or arcs, one
by one, and `BothWays` both arcs of every pair. All number their sites from 0 in exact integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override

from starcert.objects.layers import ARCS, PAIRS, Indices, Region, find_places

__all__ = ["AnyBlock", "Block", "BothWays", "Listed", "across", "inside", "outside", "within", "without"]

_NONE: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Block(Region):
    """Node pairs row after row: nodes[r] with each of nodes[first[r]], nodes[first[r] + 1], … to nodes[last[r] − 1].

    With first[r] = r + 1 these are the pairs inside the nodes (an upper triangle); with first[r] = k for the first k
    nodes and no more rows, the pairs between those and the rest (a rectangle). Rows run to the end without `last`.

    Attributes:
        nodes: node indices, each once.
        first: for each of them where its row begins, never before r + 1 and never falling.
        holes: numbers of the pairs that are left out, ascending; the numbers of the others close the gaps.
        last: for each node where its row ends, never before it begins; None if all run to the last node.
    """

    nodes: Indices
    first: Indices
    holes: Indices = field(default_factory=lambda: _NONE)
    last: Indices | None = None
    layer = PAIRS

    def __reduce__(self) -> tuple[object, ...]:
        return Block, (self.nodes, self.first, self.holes, self.last)

    @property
    def whole(self) -> Block:
        """The block with nothing left out."""
        return replace(self, holes=_NONE) if len(self.holes) else self

    @cached_property
    def row_starts(self) -> Indices:
        """The number of the first pair of each row, holes included, and of all pairs at the end."""
        ends = len(self.nodes) if self.last is None else self.last
        return np.concatenate([[0], np.cumsum(ends - self.first)]).astype(np.int64)

    @cached_property
    def _beyond(self) -> int:
        return _beyond(self.nodes)

    @cached_property
    def holes_closed(self) -> Indices:
        """How many pairs that are not left out come before each hole."""
        return self.holes - np.arange(len(self.holes))

    @property
    @override
    def size(self) -> int:
        return int(self.row_starts[-1]) - len(self.holes)

    @property
    @override
    def content(self) -> tuple[Indices, ...]:
        # Blocks without `last` keep the digest that they had before there was one.
        return (self.nodes, self.first, self.holes, *(() if self.last is None else (self.last,)))

    @override
    def to_json(self) -> dict[str, Any]:
        # `first` is left out for an upper triangle, `last` if all rows run to the end; holes are written as distances.
        triangle = np.arange(1, len(self.nodes) + 1)
        parts = {
            "first": None if np.array_equal(self.first, triangle) else self.first,
            "last": self.last,
            "holes": np.diff(self.holes, prepend=0) if self.holes.size else None,
        }
        given = {name: part.tolist() for name, part in parts.items() if part is not None}
        return {"nodes": self.nodes.tolist(), **given}

    @override
    def coordinates(self, numbers: Indices) -> tuple[Indices, Indices]:
        if len(self.holes):
            numbers = numbers + np.searchsorted(self.holes_closed, numbers, side="right")
        rows = np.searchsorted(self.row_starts, numbers, side="right") - 1
        columns = self.first[rows] + (numbers - self.row_starts[rows])
        one, other = self.nodes[rows], self.nodes[columns]
        return np.minimum(one, other), np.maximum(one, other)

    @override
    def locate(self, *coordinates: Indices) -> Indices:
        u, v = coordinates
        place = np.full(max(self._beyond, _beyond(u, v)), -1, dtype=np.int64)
        place[self.nodes] = np.arange(len(self.nodes))
        rows, columns = np.minimum(place[u], place[v]), np.maximum(place[u], place[v])
        here = np.flatnonzero(rows >= 0)
        here = here[columns[here] >= self.first[rows[here]]]
        if self.last is not None:
            here = here[columns[here] < self.last[rows[here]]]
        numbers = self.row_starts[rows[here]] + columns[here] - self.first[rows[here]]
        if len(self.holes):
            before = np.searchsorted(self.holes, numbers)
            kept = self.holes[np.minimum(before, len(self.holes) - 1)] != numbers
            here, numbers = here[kept], (numbers - before)[kept]
        located = np.full(len(u), -1, dtype=np.int64)
        located[here] = numbers
        return located


@dataclass(frozen=True, eq=False)
class Listed(Region):
    """Node pairs or arcs one by one.

    Attributes:
        pairs: shape (size, 2), rows in lexicographic order, each once; of node pairs u < v, of arcs source and target.
        directed: whether they are arcs.
    """

    pairs: Indices
    directed: bool = False

    @property
    @override
    def layer(self) -> str:
        return ARCS if self.directed else PAIRS

    @property
    @override
    def size(self) -> int:
        return len(self.pairs)

    @property
    @override
    def content(self) -> tuple[Indices, ...]:
        return (self.pairs,)

    @override
    def to_json(self) -> dict[str, Any]:
        # Each pair is the code u·n + v, with n beyond every node, less the code before it: small numbers.
        n = int(self.pairs.max(initial=0)) + 1
        written = {"n": n, self.layer: np.diff(self.pairs @ np.array([n, 1]), prepend=0).tolist()}
        return {"layer": ARCS, **written} if self.directed else written

    @override
    def coordinates(self, numbers: Indices) -> tuple[Indices, Indices]:
        u, v = self.pairs[numbers].T
        return u, v

    @override
    def locate(self, *coordinates: Indices) -> Indices:
        u, v = coordinates
        if not self.directed:
            u, v = np.minimum(u, v), np.maximum(u, v)
        n_nodes = _beyond(self.pairs, u, v)
        return find_places(self.pairs @ np.array([n_nodes, 1]), u * n_nodes + v)


AnyBlock: TypeAlias = Block | Listed


@dataclass(frozen=True, eq=False)
class BothWays(Region):
    """Both arcs of every pair of a block: those of pair i have the numbers 2·i and 2·i + 1."""

    pairs: AnyBlock
    layer = ARCS

    @property
    @override
    def size(self) -> int:
        return 2 * self.pairs.size

    @property
    @override
    def content(self) -> tuple[Indices, ...]:
        return self.pairs.content

    @override
    def coordinates(self, numbers: Indices) -> tuple[Indices, Indices]:
        pair, back = np.divmod(numbers, 2)
        u, v = self.pairs.coordinates(pair)
        return np.where(back, v, u), np.where(back, u, v)

    @override
    def locate(self, *coordinates: Indices) -> Indices:
        source, target = coordinates
        pairs = self.pairs.locate(source, target)
        return np.where(pairs < 0, -1, 2 * pairs + (source > target))

    @override
    def to_json(self) -> dict[str, Any]:
        return {"layer": ARCS, "both": self.pairs.to_json()}


def inside(nodes: Indices) -> Block:
    """The pairs inside a set of node indices.

    Example:
        >>> inside(np.array([4, 7, 9])).coordinates(np.arange(3))
        (array([4, 4, 7]), array([7, 9, 9]))
    """
    return Block(np.sort(nodes), np.arange(1, len(nodes) + 1))


def across(groups: Sequence[Indices]) -> Block:
    """The pairs of node indices from different groups, which are disjoint."""
    ends = np.cumsum([0, *map(len, groups)])
    first = [np.full(end - start, end) for start, end in pairwise(ends)]
    return Block(np.concatenate([_NONE, *map(np.sort, groups)]), np.concatenate([_NONE, *first]))


def within(groups: Sequence[Indices]) -> Block:
    """The pairs of node indices from one group, which are disjoint: what `across` leaves out."""
    nodes = np.concatenate([_NONE, *map(np.sort, groups)])
    last = np.repeat(np.cumsum([0, *map(len, groups)])[1:], [*map(len, groups)])
    return Block(nodes, np.arange(1, len(nodes) + 1), last=last)


def outside(nodes: Indices, others: Indices) -> Block:
    """The pairs of all these node indices but those inside `nodes`."""
    first = np.maximum(np.arange(1, len(nodes) + len(others) + 1), len(nodes))
    return Block(np.concatenate([np.sort(nodes), np.sort(others)]), first)


def without(block: Block, pairs: Indices) -> Block:
    """The block without these pairs, rows of `pairs`; those that are not in it change nothing."""
    numbers = block.whole.locate(pairs[:, 0], pairs[:, 1])
    return replace(block, holes=np.union1d(block.holes, numbers[numbers >= 0]))


def _beyond(*nodes: Indices) -> int:
    """The least number beyond all these node indices."""
    return 1 + max(int(each.max(initial=-1)) for each in nodes)
