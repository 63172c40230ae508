"""The layer of node pairs or arcs, and the exact check that its regions are disjoint, without walking large regions.

A pair in two regions would be two sites: a noisy copy could list an edge twice, and a certificate for it would be
false. So every set of blocks is checked before it becomes sites, however it was made.

Few pairs are listed and compared. In a large block the nodes fall into *roles*: nodes of the same role are in the
block with the same other nodes. Two large blocks are compared on the nodes that they share, role by role: one pair of
representatives stands for all pairs of nodes with their roles. Pairs that a block leaves out (its holes) are counted:
a set of shared pairs is harmless exactly if there are as many of them as there are holes among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
from typing_extensions import override

from starcert.objects.blocks import AnyBlock, Block, BothWays, Listed, across, inside
from starcert.objects.layers import ARCS, PAIRS, Coordinates, Indices, Layer, Region
from starcert.system.errors import InvalidParameterError

__all__ = ["NodePairs", "check_disjoint", "refuse_overlap", "shared_pair_of"]

ALWAYS_LISTED = 4096
"""Small blocks with at most this many pairs in all are listed, whatever the graph."""

LISTED_PER_NODE = 4
"""Or with at most this many for each node of the graph, where that is more."""

MAX_ROLE_PAIRS = 1_000_000
"""At most this many pairs of roles are compared at a time."""

_NONE: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class NodePairs(Layer):
    """The pairs of n nodes in lexicographic order, or both arcs of each: absent (0), or present with a type from 1 on.

    Attributes:
        nodes: the names of the nodes.
        directed: whether the sites are arcs.

    Example:
        >>> pairs = NodePairs.of("vwxyz")
        >>> pairs.size, pairs.coordinates(np.array([0, 9])), pairs.numbers(np.array([4, 2]), np.array([3, 2]))
        (10, (array([0, 3]), array([1, 4])), array([ 9, -1]))
        >>> NodePairs.of("xyz", directed=True).coordinates(np.array([0, 1]))
        (array([0, 1]), array([1, 0]))
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
        if not self.directed:
            check_disjoint(tuple(regions), [_as_block(region) for region in regions.values()], self.nodes)
            return
        both = {name: region.pairs for name, region in regions.items() if isinstance(region, BothWays)}
        check_disjoint(tuple(both), list(both.values()), self.nodes)
        owner: dict[tuple[int, int], str] = {}
        for name, region in regions.items():
            if name in both:
                continue
            source, target = region.coordinates(np.arange(region.size))
            n = len(self.nodes)
            if ((source < 0) | (target < 0) | (source >= n) | (target >= n) | (source == target)).any():
                raise InvalidParameterError(f"regions[{name}]", "hold arcs of two nodes", "something else")
            for other, block in both.items():
                for shared in np.flatnonzero(block.locate(source, target) >= 0):
                    refuse_overlap((self.nodes[source[shared]], self.nodes[target[shared]]), other, name)
            for arc in zip(source.tolist(), target.tolist(), strict=True):
                if arc in owner:
                    refuse_overlap((self.nodes[arc[0]], self.nodes[arc[1]]), owner[arc], name)
                owner[arc] = name


def _as_block(region: Region) -> AnyBlock:
    if isinstance(region, Block | Listed):
        return region
    pairs = np.stack(region.coordinates(np.arange(region.size)), axis=1)
    return Listed(pairs[np.lexsort([pairs[:, 1], pairs[:, 0]])])


class Shared(NamedTuple):
    """A pair of node indices that two blocks share, and the numbers of these blocks."""

    one: int
    other: int
    u: int
    v: int


def check_disjoint(regions: Sequence[str], blocks: Sequence[AnyBlock], nodes: Sequence[Hashable]) -> None:
    """Refuses blocks that are not well formed, and two that share a pair."""
    for region, block in zip(regions, blocks, strict=True):
        problem = _problem(block, nodes)
        if problem:
            raise InvalidParameterError(f"regions[{region}]", "hold each pair of two nodes once", problem)
    shared = shared_pair_of(blocks, len(nodes))
    if shared is not None:
        refuse_overlap((nodes[shared.u], nodes[shared.v]), regions[shared.one], regions[shared.other])


def refuse_overlap(pair: tuple[Hashable, ...], one: str, other: str) -> NoReturn:
    """Raises the error that names the pair in two regions."""
    got = f"{pair!r} in both {one!r} and {other!r}"
    raise InvalidParameterError("regions", "be disjoint", got, "Give each pair to one region at most.")


def shared_pair_of(blocks: Sequence[AnyBlock], n_nodes: int) -> Shared | None:
    """A pair that two of these well-formed blocks share, if there is one."""
    listed, large = _split_by_size(blocks, n_nodes)
    if len(listed) + len(large) < 2:
        return None
    owners = np.repeat(listed, [blocks[number].size for number in listed])
    ends = [blocks[number].coordinates(np.arange(blocks[number].size)) for number in listed]
    u, v = (np.concatenate([_NONE, *(pair[side] for pair in ends)]) for side in (0, 1))
    codes = u * n_nodes + v
    ascending = np.sort(codes)
    twice = ascending[1:][ascending[1:] == ascending[:-1]]
    if len(twice):
        one, other = np.flatnonzero(codes == twice[0])[:2]
        return Shared(int(owners[one]), int(owners[other]), int(u[one]), int(v[one]))
    for number, block in large.items():
        found = np.flatnonzero(block.locate(u, v) >= 0)
        if len(found):
            return Shared(int(owners[found[0]]), number, int(u[found[0]]), int(v[found[0]]))
    numbers = list(large)
    for one, other in _with_common_nodes([block.nodes for block in large.values()]):
        pair = _common_pair(large[numbers[one]], large[numbers[other]], n_nodes)
        if pair is not None:
            return Shared(numbers[one], numbers[other], *pair)
    return None


def _problem(block: AnyBlock, nodes: Sequence[Hashable]) -> str:
    """What is wrong with a block by itself; "" if it holds each of its pairs once."""
    if isinstance(block, Listed):
        u, v = block.pairs.T
        fine = not block.directed and (not len(u) or (u.min() >= 0 and v.max() < len(nodes) and (u < v).all()))
        fine = fine and _ascending(u * len(nodes) + v)
        return "" if fine else "pairs that are not u < v in lexicographic order, each once"
    return _problem_of_rows(block, nodes)


def _problem_of_rows(block: Block, nodes: Sequence[Hashable]) -> str:
    size = len(block.nodes)
    if not len(block.first) == (size if block.last is None else len(block.last)) == size:
        return "rows that are not as many as its nodes"
    if size:
        ordered = np.sort(block.nodes)
        if ordered[0] < 0 or ordered[-1] >= len(nodes):
            return "a node that the graph does not have"
        if not _ascending(ordered):
            twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
            return f"the node {nodes[twice]!r} in two of its groups"
        ends = size if block.last is None else block.last
        if (block.first <= np.arange(size)).any() or (block.first > ends).any() or np.max(ends) > size:
            return "rows that do not lie behind their nodes"
    holes = block.holes
    if len(holes) and not (holes[0] >= 0 and holes[-1] < block.whole.size and _ascending(holes)):
        return "holes that are not numbers of its pairs, ascending, each once"
    return ""


def _ascending(numbers: Indices) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _split_by_size(blocks: Sequence[AnyBlock], n_nodes: int) -> tuple[list[int], dict[int, Block]]:
    """The numbers of the blocks whose pairs are to be listed, and the others by number; empty ones are left out."""
    listed, large = list[int](), dict[int, Block]()
    left = max(ALWAYS_LISTED, LISTED_PER_NODE * n_nodes)
    for size, number in sorted((block.size, number) for number, block in enumerate(blocks)):
        block = blocks[number]
        if isinstance(block, Block):
            left -= size
            if left < 0:
                large[number] = block
                continue
        if size:
            listed.append(number)
    return sorted(listed), dict(sorted(large.items()))


def _with_common_nodes(node_sets: Sequence[Indices]) -> Iterator[tuple[int, int]]:
    """The numbers of every two sets that have two nodes or more in common."""
    nodes = np.concatenate([_NONE, *node_sets])
    order = np.argsort(nodes, kind="stable")  # among equal nodes, sets stay in their order
    nodes, owners = nodes[order], np.repeat(np.arange(len(node_sets)), [*map(len, node_sets)])[order]
    common: Counter[int] = Counter()
    for shift in range(1, len(node_sets)):
        same = np.flatnonzero(nodes[shift:] == nodes[:-shift])
        if not len(same):
            break
        twos, counts = np.unique(owners[same] * len(node_sets) + owners[same + shift], return_counts=True)
        common.update(dict(zip(twos.tolist(), counts.tolist(), strict=True)))
    yield from (divmod(two, len(node_sets)) for two, count in common.items() if count > 1)


def _roles(block: Block) -> Indices:
    """The role of each node of a block, holes aside: neighbours in `nodes` share one if they could change places.

    The rows of position p and of p + 1 must be equal but for the pair of the two themselves, and no earlier row may
    begin or end between them.
    """
    size = len(block.nodes)
    first, last = block.first, np.full(size, size) if block.last is None else block.last
    rows = np.arange(size)
    begin = np.maximum(first[:-1], rows[:-1] + 2)  # without p + 1 itself
    alike = (begin == first[1:]) & (last[:-1] == last[1:])
    alike |= (begin >= last[:-1]) & (first[1:] >= last[1:])  # both empty
    cut = np.zeros(size + 1, dtype=np.bool_)
    cut[first[first > rows + 1]] = True
    cut[last[last > rows + 1]] = True
    return np.concatenate([np.zeros(min(size, 1), dtype=np.int64), np.cumsum(~alike | cut[1:size])])


def _common_pair(one: Block, other: Block, n_nodes: int) -> tuple[int, int] | None:
    """A pair of node indices that both blocks have, if there is one."""
    role_in_one, role_in_other = (np.full(n_nodes, -1, dtype=np.int64) for _ in range(2))
    role_in_one[one.nodes], role_in_other[other.nodes] = _roles(one), _roles(other)
    nodes = np.flatnonzero((role_in_one >= 0) & (role_in_other >= 0))
    roles = role_in_one[nodes] * (len(other.nodes) + 1) + role_in_other[nodes]
    nodes = nodes[np.argsort(roles, kind="stable")]
    starts = np.flatnonzero(np.diff(np.sort(roles), prepend=-1))
    ends = np.append(starts[1:], len(nodes))
    role_of = np.full(n_nodes, -1, dtype=np.int64)
    role_of[nodes] = np.repeat(np.arange(len(starts)), ends - starts)
    holes = _common_holes(one, other, role_of, n_nodes)
    whole, other_whole = one.whole, other.whole
    for a, b in _pairs_of_roles(ends - starts):
        u, v = nodes[starts[a]], nodes[np.where(a == b, ends[b] - 1, starts[b])]
        both = np.flatnonzero((whole.locate(u, v) >= 0) & (other_whole.locate(u, v) >= 0))
        first, second = (ends[role[both]] - starts[role[both]] for role in (a, b))
        shared = np.where(a[both] == b[both], first * (first - 1) // 2, first * second)
        cells = a[both] * len(starts) + b[both]
        left_out = np.searchsorted(holes, cells, side="right") - np.searchsorted(holes, cells)
        more = np.flatnonzero(shared > left_out)
        if len(more):
            where = both[more[0]]
            group, with_group = (nodes[starts[role[where]] : ends[role[where]]] for role in (a, b))
            cell = inside(group) if a[where] == b[where] else across([group, with_group])
            # One more than there are holes: at least one of these is not a hole.
            u, v = cell.coordinates(np.arange(left_out[more[0]] + 1))
            real = (one.locate(u, v) >= 0) & (other.locate(u, v) >= 0)
            return int(u[real.argmax()]), int(v[real.argmax()])
    return None


def _common_holes(one: Block, other: Block, role_of: Indices, n_nodes: int) -> Indices:
    """For each pair that both blocks would have but one leaves out, its two roles a ≤ b as a number, ascending.

    `role_of` is the common role of every node, −1 where it is not in both blocks.
    """
    codes = []
    for block, against in ((one, other.whole), (other, one.whole)):
        u, v = block.whole.coordinates(block.holes)
        here = against.locate(u, v) >= 0
        codes.append(u[here] * n_nodes + v[here])
    u, v = np.divmod(np.unique(np.concatenate(codes)), n_nodes)  # a pair may be left out of both
    a, b = np.minimum(role_of[u], role_of[v]), np.maximum(role_of[u], role_of[v])
    return np.sort(a * (role_of.max() + 1) + b)


def _pairs_of_roles(sizes: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Every two roles a ≤ b, a portion at a time; a role with itself only if it has two nodes."""
    n_roles = len(sizes)
    step = max(1, MAX_ROLE_PAIRS // max(1, n_roles))
    for start in range(0, n_roles, step):
        a, b = np.divmod(np.arange(start * n_roles, min(start + step, n_roles) * n_roles), n_roles)
        wanted = (a < b) | ((a == b) & (sizes[a] > 1))
        yield a[wanted], b[wanted]
