"""The layer of node pairs or arcs, and its regions: numbered by arithmetic, so fifty million pairs cost a few arrays.

A `Block` is all pairs inside a node set, inside one of several, between several, or all but those inside a set, perhaps
with a few left out. `Listed` is any set of pairs or arcs, one by one, and `BothWays` both arcs of every pair.

A pair in two regions would be two sites: a noisy copy could list an edge twice, and a certificate for it would be
false. So `NodePairs` checks that its regions are disjoint. Small regions are listed. In a large block the nodes fall
into *roles*: nodes of the same role are in the block with the same other nodes, so one pair of nodes stands for all
pairs of nodes with their roles.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override

from starcert.objects.layers import ARCS, PAIRS, Coordinates, Indices, Layer, Region, find_places, refuse_overlap
from starcert.system.errors import InvalidParameterError

MIN_LISTED, LISTED_PER_NODE = 4096, 4
"""Small blocks are listed as long as they have at most this many pairs in all, or this many for each node."""

MAX_ROLE_PAIRS = 1_000_000  # that are compared at a time
_NONE: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Block(Region):
    """Node pairs row after row: nodes[r] with each of nodes[first[r]], nodes[first[r] + 1], … to nodes[last[r] − 1].

    With first[r] = r + 1 these are the pairs inside the nodes (an upper triangle); with first[r] = k for the first k
    nodes and no more rows, the pairs between those and the rest (a rectangle). `holes` are the numbers of the pairs
    that are left out, ascending; the numbers of the others close the gaps. Without `last`, rows run to the last node.
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
    def ends(self) -> Indices:
        """The end of each row."""
        return np.full(len(self.nodes), len(self.nodes)) if self.last is None else self.last

    @cached_property
    def row_starts(self) -> Indices:
        """The number of the first pair of each row, holes included, and of all pairs at the end."""
        return np.concatenate([[0], np.cumsum(self.ends - self.first)]).astype(np.int64)

    @cached_property
    def holes_closed(self) -> Indices:
        """The number of pairs of the block before each hole."""
        return self.holes - np.arange(len(self.holes))

    @property
    @override
    def size(self) -> int:
        return int(self.row_starts[-1]) - len(self.holes)

    @override
    def to_json(self) -> dict[str, Any]:
        # `first` is left out for an upper triangle, `last` if all rows run to the end; holes are written as distances.
        written = {"nodes": self.nodes.tolist()}
        if not np.array_equal(self.first, np.arange(1, len(self.nodes) + 1)):
            written["first"] = self.first.tolist()
        if self.last is not None:
            written["last"] = self.last.tolist()
        if self.holes.size:
            written["holes"] = np.diff(self.holes, prepend=0).tolist()
        return written

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
        place = np.full(_beyond(self.nodes, u, v), -1, dtype=np.int64)
        place[self.nodes] = np.arange(len(self.nodes))
        rows, columns = np.minimum(place[u], place[v]), np.maximum(place[u], place[v])
        here = np.flatnonzero(rows >= 0)
        here = here[(columns[here] >= self.first[rows[here]]) & (columns[here] < self.ends[rows[here]])]
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
    """Node pairs u < v or arcs one by one: shape (size, 2), rows in lexicographic order, each once."""

    pairs: Indices
    directed: bool = False

    @property
    @override
    def layer(self) -> str:
        return ARCS if self.directed else PAIRS

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
    """The pairs inside a set of node indices."""
    return Block(np.sort(nodes), np.arange(1, len(nodes) + 1))


def across(groups: Sequence[Indices]) -> Block:
    """The pairs of node indices from different groups; these are disjoint."""
    first = np.repeat(np.cumsum([0, *map(len, groups)])[1:], [*map(len, groups)])
    return Block(np.concatenate([_NONE, *map(np.sort, groups)]), first)


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
    return 1 + max(int(each.max(initial=-1)) for each in nodes)


@dataclass(frozen=True)
class NodePairs(Layer):
    """The pairs of named nodes in lexicographic order, or both arcs of each: absent (0), or of a type from 1 on.

    Example:
        >>> pairs = NodePairs.of("vwxyz")
        >>> pairs.size, pairs.coordinates(np.array([0, 9])), pairs.numbers(np.array([4, 2]), np.array([3, 2]))
        (10, (array([0, 3]), array([1, 4])), array([ 9, -1]))
    """

    nodes: Sequence[Hashable]
    directed: bool = False

    @classmethod
    def of(cls, nodes: Sequence[Hashable], n_types: int = 1, *, directed: bool = False) -> NodePairs:
        """The pairs or arcs of nodes with these names, with this number of types of edges."""
        n_arcs = len(nodes) * (len(nodes) - 1)
        return cls(ARCS if directed else PAIRS, n_arcs if directed else n_arcs // 2, 1 + n_types, nodes, directed)

    @property
    @override
    def ranges(self) -> tuple[tuple[str, int], ...]:
        names = ("source", "target") if self.directed else ("u", "v")
        return tuple((name, len(self.nodes)) for name in names)

    @override
    def coordinates(self, numbers: Indices) -> Coordinates:
        return self.everything().coordinates(numbers)

    @override
    def numbers(self, *coordinates: Indices) -> Indices:
        return self.everything().locate(*coordinates)

    @override
    def everything(self) -> Region:
        pairs = inside(np.arange(len(self.nodes)))
        return BothWays(pairs) if self.directed else pairs

    @override
    def check(self, regions: Mapping[str, Region]) -> None:
        for name, region in regions.items():
            if problem := _problem(region, self.nodes, directed=self.directed):
                raise InvalidParameterError(f"regions[{name}]", "hold each pair of two nodes once", problem)
        if shared := shared_pair_of([*regions.values()], len(self.nodes)):
            *homes, u, v = shared
            refuse_overlap((self.nodes[u], self.nodes[v]), *([*regions][home] for home in sorted(homes)))


def _problem(region: Region, nodes: Sequence[Hashable], *, directed: bool) -> str:
    """A problem of a region by itself; "" if it holds each of its pairs once."""
    if isinstance(region, BothWays):
        return _problem(region.pairs, nodes, directed=False)
    if isinstance(region, Block):
        return _problem_of_rows(region, nodes)
    u, v = region.coordinates(np.arange(region.size))
    fine = (np.minimum(u, v) >= 0) & (np.maximum(u, v) < len(nodes)) & (u != v if directed else u < v)
    codes = u * len(nodes) + v
    if fine.all() and _ascending(codes if isinstance(region, Listed) else np.sort(codes)):
        return ""
    return "arcs of no two nodes, or some twice" if directed else "pairs that are not u < v in their order, each once"


def _problem_of_rows(block: Block, nodes: Sequence[Hashable]) -> str:
    size, holes = len(block.nodes), block.holes
    if not len(block.first) == len(block.ends) == size:
        return "rows that are not as many as its nodes"
    if size:
        ordered = np.sort(block.nodes)
        if ordered[0] < 0 or ordered[-1] >= len(nodes):
            return "a node that the graph does not have"
        if not _ascending(ordered):
            twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
            return f"the node {nodes[twice]!r} in two of its groups"
        if (block.first <= np.arange(size)).any() or (block.first > block.ends).any() or block.ends.max() > size:
            return "rows that do not lie behind their nodes"
    if len(holes) and not (holes[0] >= 0 and holes[-1] < block.whole.size and _ascending(holes)):
        return "holes that are not numbers of its pairs, ascending, each once"
    return ""


def _ascending(numbers: Indices) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def shared_pair_of(regions: Sequence[Region], n_nodes: int) -> tuple[int, int, int, int] | None:
    """The numbers of two of these well-formed regions, and the node indices of a pair that they share, if any do."""
    listed, large = list[int](), dict[int, Block]()
    left = max(MIN_LISTED, LISTED_PER_NODE * n_nodes)
    for number, region in sorted(enumerate(regions), key=lambda each: each[1].size):
        pairs = region.pairs if isinstance(region, BothWays) else region
        left -= region.size if isinstance(pairs, Block) else 0
        if isinstance(pairs, Block) and left < 0:
            large[number] = pairs
        else:
            listed.append(number)
    ends = [np.stack(regions[number].coordinates(np.arange(regions[number].size))) for number in listed]
    u, v = np.concatenate([np.empty((2, 0), dtype=np.int64), *ends], axis=1)
    owners = np.repeat(np.array(listed, dtype=np.int64), [regions[number].size for number in listed])
    codes = u * n_nodes + v
    order = np.argsort(codes, kind="stable")
    twice = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
    if len(twice):
        first, second = order[twice[0] : twice[0] + 2]
        return int(owners[first]), int(owners[second]), int(u[first]), int(v[first])
    for owner, one, other in chain([(owners, u, v)], _pairs_of_roles([*large.values()], n_nodes)):
        for number in large:
            here = regions[number].locate(one, other) >= 0
            both = np.flatnonzero(here & (owner >= 0))
            if len(both):
                return int(owner[both[0]]), number, int(one[both[0]]), int(other[both[0]])
            owner[here] = number
    return None


def _pairs_of_roles(blocks: Sequence[Block], n_nodes: int) -> Iterator[tuple[Indices, Indices, Indices]]:
    """A pair of nodes for every two roles in these blocks, a portion at a time; no region owns them yet (−1)."""
    if len(blocks) < 2:
        return
    role = np.zeros(n_nodes, dtype=np.int64)
    for block in blocks:  # what had one role has one no more where this block tells them apart
        codes = role[block.nodes] * (2 * len(block.nodes) + 1) + _roles(block)
        role[block.nodes] = role.max() + 1 + np.unique(codes, return_inverse=True)[1]
    nodes = np.argsort(role, kind="stable")
    starts = np.flatnonzero(np.diff(role[nodes], prepend=-1))
    ends = np.append(starts[1:], len(nodes))
    twos = inside(np.arange(len(starts) + 1))  # a < b stands for the roles a ≤ b − 1
    for start in range(0, twos.size, MAX_ROLE_PAIRS):
        a, b = twos.coordinates(np.arange(start, min(start + MAX_ROLE_PAIRS, twos.size)))
        u, v = nodes[starts[a]], nodes[np.where(a == b - 1, ends[b - 1] - 1, starts[b - 1])]
        yield np.full(len(u), -1), np.minimum(u, v), np.maximum(u, v)


def _roles(block: Block) -> Indices:
    """The role of each node of a block: neighbours in `nodes` share one if they could change places.

    The rows of position p and of p + 1 must be equal but for the pair of the two themselves, and no earlier row may
    begin or end between them. The nodes of a pair that is left out have a role each.
    """
    size = len(block.nodes)
    first, last, rows = block.first, block.ends, np.arange(size)
    begin = np.maximum(first[:-1], rows[:-1] + 2)  # without p + 1 itself
    alike = (begin == first[1:]) & (last[:-1] == last[1:])
    alike |= (begin >= last[:-1]) & (first[1:] >= last[1:])  # both empty
    cut = np.zeros(size + 1, dtype=np.bool_)
    cut[first[first > rows + 1]] = cut[last[last > rows + 1]] = True
    roles = np.concatenate([np.zeros(min(size, 1), dtype=np.int64), np.cumsum(~alike | cut[1:size])])
    alone = np.flatnonzero(np.isin(block.nodes, block.whole.coordinates(block.holes)))
    roles[alone] = size + alone
    return roles
