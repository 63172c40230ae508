"""Sets of node pairs that are numbered by arithmetic, never listed: fifty million pairs cost a few arrays of nodes.

A `Block` is all pairs inside a node set or inside one of several disjoint sets, all pairs between two or more of those,
all pairs but those inside a set, or such a block with a few pairs left out; `Listed` is any set of pairs, one by one.
Both are regions of the layer of node pairs. They number their pairs from 0 and go both ways: from numbers to pairs
(`coordinates`) and from pairs to numbers (`locate`), in exact integer arithmetic. They write themselves (`to_json`) in
the form that `from_json` and the report's page read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from starcert.objects.layers import Indices

__all__ = ["PAIRS", "AnyBlock", "Block", "Listed", "across", "from_json", "inside", "outside", "within", "without"]

PAIRS = "pairs"
"""The name of the layer."""

_NONE: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Block:
    """Node pairs row after row: nodes[r] with each of nodes[first[r]], nodes[first[r] + 1], … to nodes[last[r] − 1].

    With first[r] = r + 1 these are the pairs inside the nodes (an upper triangle); with first[r] = k for the first k
    nodes and no more rows, the pairs between those and the rest (a rectangle). Rows run to the end without `last`.

    Attributes:
        nodes: node indices, each once.
        first: for each of them where its row begins, never before r + 1 and never falling.
        holes: numbers of the pairs that are left out, ascending; the others close ranks.
        last: for each node where its row ends, never before it begins; None if all run to the last node.
    """

    nodes: Indices
    first: Indices
    holes: Indices = field(default_factory=lambda: _NONE)
    last: Indices | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Block, (self.nodes, self.first, self.holes, self.last)

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return PAIRS

    @property
    def whole(self) -> Block:
        """The block with nothing left out."""
        return replace(self, holes=_NONE) if len(self.holes) else self

    @cached_property
    def row_starts(self) -> Indices:
        """The number of the first pair of each row, holes counted, and of all pairs at the end."""
        ends = len(self.nodes) if self.last is None else self.last
        return np.concatenate([[0], np.cumsum(ends - self.first)]).astype(np.int64)

    @cached_property
    def _beyond(self) -> int:
        return _beyond(self.nodes)

    @cached_property
    def holes_closed(self) -> Indices:
        """How many pairs that are not left out stand before each hole."""
        return self.holes - np.arange(len(self.holes))

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return int(self.row_starts[-1]) - len(self.holes)

    @property
    def content(self) -> tuple[Indices, ...]:
        """The arrays that say which pairs these are, for a digest."""
        # Blocks without `last` keep the digest that they had before there was one.
        return (self.nodes, self.first, self.holes, *(() if self.last is None else (self.last,)))

    def to_json(self) -> dict[str, Any]:
        """The block as JSON can say it, in as few numbers as will do; `from_json` reads it.

        `first` is left out for an upper triangle, `last` if all rows run to the end; holes are written as their
        distances, the first one from 0.

        Example:
            >>> within([np.array([4, 7]), np.array([0, 9, 2])]).to_json()
            {'nodes': [4, 7, 0, 2, 9], 'last': [2, 2, 5, 5, 5]}
        """
        triangle = np.arange(1, len(self.nodes) + 1)
        parts = {
            "first": None if np.array_equal(self.first, triangle) else self.first,
            "last": self.last,
            "holes": np.diff(self.holes, prepend=0) if self.holes.size else None,
        }
        return {
            "nodes": self.nodes.tolist(),
            **{name: part.tolist() for name, part in parts.items() if part is not None},
        }

    def coordinates(self, numbers: Indices) -> tuple[Indices, Indices]:
        """The node indices u < v of pairs from 0 to size − 1."""
        if len(self.holes):
            numbers = numbers + np.searchsorted(self.holes_closed, numbers, side="right")
        rows = np.searchsorted(self.row_starts, numbers, side="right") - 1
        columns = self.first[rows] + (numbers - self.row_starts[rows])
        one, other = self.nodes[rows], self.nodes[columns]
        return np.minimum(one, other), np.maximum(one, other)

    def locate(self, *coordinates: Indices) -> Indices:
        """The numbers of pairs of node indices u and v, −1 for those that are not here."""
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
        return _spread(numbers, here, len(u))


@dataclass(frozen=True, eq=False)
class Listed:
    """Node pairs one by one.

    Attributes:
        pairs: shape (size, 2), u < v in every row, rows in lexicographic order, each once.
    """

    pairs: Indices

    def __reduce__(self) -> tuple[object, ...]:
        return Listed, (self.pairs,)

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return PAIRS

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    @property
    def content(self) -> tuple[Indices, ...]:
        """The array that says which pairs these are, for a digest."""
        return (self.pairs,)

    def to_json(self) -> dict[str, Any]:
        """The pairs as JSON can say them; `from_json` reads them.

        A pair is the code u·n + v with n beyond every node, and each code is written as its distance to the one
        before: small numbers.

        Example:
            >>> Listed(np.array([[0, 2], [1, 2]])).to_json()
            {'n': 3, 'pairs': [2, 3]}
        """
        n = int(self.pairs.max(initial=0)) + 1
        return {"n": n, "pairs": np.diff(self.pairs @ np.array([n, 1]), prepend=0).tolist()}

    def coordinates(self, numbers: Indices) -> tuple[Indices, Indices]:
        """The node indices u < v of pairs from 0 to size − 1."""
        u, v = self.pairs[numbers].T
        return u, v

    def locate(self, *coordinates: Indices) -> Indices:
        """The numbers of pairs of node indices u and v, −1 for those that are not here."""
        u, v = coordinates
        if not len(self.pairs):
            return np.full(len(u), -1, dtype=np.int64)
        n_nodes = _beyond(self.pairs, u, v)
        codes = self.pairs @ np.array([n_nodes, 1])
        wanted = np.minimum(u, v) * n_nodes + np.maximum(u, v)
        numbers = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        here = np.flatnonzero(codes[numbers] == wanted)
        return _spread(numbers[here], here, len(u))


AnyBlock: TypeAlias = Block | Listed


def from_json(described: Mapping[str, Any]) -> AnyBlock:
    """The block that `to_json` wrote down, with the same pairs under the same numbers.

    Example:
        >>> block = from_json({"nodes": [4, 7, 0, 2, 9], "last": [2, 2, 5, 5, 5], "holes": [1]})
        >>> block.coordinates(np.arange(block.size))
        (array([4, 0, 2]), array([7, 9, 9]))
    """
    arrays = {name: np.array(part, dtype=np.int64) for name, part in described.items()}
    if "pairs" in arrays:
        return Listed(np.stack(np.divmod(np.cumsum(arrays["pairs"]), arrays["n"]), axis=1))
    nodes = arrays["nodes"]
    return Block(
        nodes,
        arrays.get("first", np.arange(1, len(nodes) + 1)),
        np.cumsum(arrays["holes"]) if "holes" in arrays else _NONE,
        arrays.get("last"),
    )


def inside(nodes: Indices) -> Block:
    """The pairs inside a set of node indices.

    Example:
        >>> inside(np.array([4, 7, 9])).coordinates(np.arange(3))
        (array([4, 4, 7]), array([7, 9, 9]))
    """
    return Block(np.sort(nodes), np.arange(1, len(nodes) + 1))


def across(groups: Sequence[Indices]) -> Block:
    """The pairs of node indices from different groups, which are disjoint.

    Example:
        >>> across([np.array([4, 7]), np.array([0, 9])]).coordinates(np.arange(4))
        (array([0, 4, 0, 7]), array([4, 9, 7, 9]))
    """
    ends = np.cumsum([0, *map(len, groups)])
    first = [np.full(end - start, end) for start, end in pairwise(ends)]
    return Block(np.concatenate([_NONE, *map(np.sort, groups)]), np.concatenate([_NONE, *first]))


def within(groups: Sequence[Indices]) -> Block:
    """The pairs of node indices from one group, which are disjoint: what `across` leaves out.

    Example:
        >>> within([np.array([4, 7]), np.array([0, 9, 2])]).coordinates(np.arange(4))
        (array([4, 0, 0, 2]), array([7, 2, 9, 9]))
    """
    nodes = np.concatenate([_NONE, *map(np.sort, groups)])
    last = np.repeat(np.cumsum([0, *map(len, groups)])[1:], [*map(len, groups)])
    return Block(nodes, np.arange(1, len(nodes) + 1), last=last)


def outside(nodes: Indices, others: Indices) -> Block:
    """The pairs of all these node indices but those inside `nodes`.

    Example:
        >>> outside(np.array([4, 7]), np.array([0, 9])).coordinates(np.arange(5))
        (array([0, 4, 0, 7, 0]), array([4, 9, 7, 9, 9]))
    """
    first = np.maximum(np.arange(1, len(nodes) + len(others) + 1), len(nodes))
    return Block(np.concatenate([np.sort(nodes), np.sort(others)]), first)


def without(block: Block, pairs: Indices) -> Block:
    """The block without these pairs, rows of `pairs`; those that are not in it change nothing.

    Example:
        >>> groups = within([np.array([0, 1, 2]), np.array([3, 4, 5])])
        >>> groups.size, without(groups, np.array([[1, 0], [2, 3]])).size
        (6, 5)
    """
    numbers = block.whole.locate(pairs[:, 0], pairs[:, 1])
    return replace(block, holes=np.union1d(block.holes, numbers[numbers >= 0]))


def _beyond(*nodes: Indices) -> int:
    """The least number beyond all these node indices."""
    return 1 + max(int(each.max(initial=-1)) for each in nodes)


def _spread(values: Indices, where: Indices, length: int) -> Indices:
    """An array of −1 with these values at these places."""
    spread = np.full(length, -1, dtype=np.int64)
    spread[where] = values
    return spread
