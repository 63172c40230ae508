"""The layer of arcs, the ordered pairs of two nodes, and its regions: both directions of node pairs, or one by one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from starcert.objects.blocks import AnyBlock, inside
from starcert.objects.layers import Coordinates, Indices, Layer, Region
from starcert.objects.pairs import check_disjoint, refuse_overlap
from starcert.system.errors import InvalidParameterError

__all__ = ["ARCS", "Arcs", "BothWays", "ListedArcs"]

ARCS = "arcs"
"""The name of the layer."""


@dataclass(frozen=True)
class Arcs(Layer):
    """The arcs of n nodes: absent (0) or present, or absent and the types of arc.

    Attributes:
        nodes: the names of the nodes.

    Example:
        >>> arcs = Arcs.of("xyz")
        >>> arcs.size, arcs.coordinates(np.array([0, 1])), arcs.numbers(np.array([2, 1]), np.array([1, 1]))
        (6, (array([0, 1]), array([1, 0])), array([ 5, -1]))
    """

    nodes: Sequence[Hashable]

    @classmethod
    def of(cls, nodes: Sequence[Hashable], n_types: int = 1) -> Arcs:
        """The arcs of nodes with these names, of so many types."""
        return cls(ARCS, len(nodes) * (len(nodes) - 1), 1 + n_types, nodes)

    @property
    def ranges(self) -> tuple[tuple[str, int], ...]:
        """See `Layer`: the node indices."""
        return ("source", len(self.nodes)), ("target", len(self.nodes))

    def coordinates(self, numbers: Indices) -> Coordinates:
        """See `Layer`."""
        return self.everything().coordinates(numbers)

    def numbers(self, *coordinates: Indices) -> Indices:
        """See `Layer`."""
        return self.everything().locate(*coordinates)

    def everything(self) -> Region:
        """See `Layer`."""
        return BothWays(inside(np.arange(len(self.nodes))))

    def check(self, regions: Mapping[str, Region]) -> None:
        """See `Layer`."""
        both = {name: region.pairs for name, region in regions.items() if isinstance(region, BothWays)}
        check_disjoint(tuple(both), list(both.values()), self.nodes)
        listed = {name: region for name, region in regions.items() if not isinstance(region, BothWays)}
        owner: dict[tuple[int, int], str] = {}
        for name, region in listed.items():
            source, target = region.coordinates(np.arange(region.size))
            n = len(self.nodes)
            if ((source < 0) | (target < 0) | (source >= n) | (target >= n) | (source == target)).any():
                raise InvalidParameterError(f"regions[{name}]", "hold arcs of two nodes", "an arc that is none")
            for other, block in both.items():
                shared = np.flatnonzero(block.locate(source, target) >= 0)
                if len(shared):
                    self._refuse(int(source[shared[0]]), int(target[shared[0]]), other, name)
            for arc in zip(source.tolist(), target.tolist(), strict=True):
                if arc in owner:
                    self._refuse(*arc, owner[arc], name)
                owner[arc] = name

    def _refuse(self, source: int, target: int, one: str, other: str) -> None:
        refuse_overlap((self.nodes[source], self.nodes[target]), one, other)


@dataclass(frozen=True, eq=False)
class BothWays:
    """Both arcs of every pair of a block: of pair i those with the numbers 2·i and 2·i + 1.

    Attributes:
        pairs: the node pairs.
    """

    pairs: AnyBlock

    @property
    def layer(self) -> str:
        """See `Region`."""
        return ARCS

    @property
    def size(self) -> int:
        """See `Region`."""
        return 2 * self.pairs.size

    @property
    def content(self) -> tuple[Indices, ...]:
        """See `Region`."""
        return self.pairs.content

    def coordinates(self, numbers: Indices) -> Coordinates:
        """See `Region`."""
        pair, back = np.divmod(numbers, 2)
        u, v = self.pairs.coordinates(pair)
        return np.where(back, v, u), np.where(back, u, v)

    def locate(self, *coordinates: Indices) -> Indices:
        """See `Region`."""
        source, target = coordinates
        pairs = self.pairs.locate(source, target)
        return np.where(pairs < 0, -1, 2 * pairs + (source > target))

    def to_json(self) -> dict[str, Any]:
        """See `Region`."""
        return {"layer": ARCS, "both": self.pairs.to_json()}


@dataclass(frozen=True, eq=False)
class ListedArcs:
    """Arcs one by one.

    Attributes:
        arcs: shape (size, 2), rows in lexicographic order, each once.
    """

    arcs: Indices

    @property
    def layer(self) -> str:
        """See `Region`."""
        return ARCS

    @property
    def size(self) -> int:
        """See `Region`."""
        return len(self.arcs)

    @property
    def content(self) -> tuple[Indices, ...]:
        """See `Region`."""
        return (self.arcs,)

    def coordinates(self, numbers: Indices) -> Coordinates:
        """See `Region`."""
        source, target = self.arcs[numbers].T
        return source, target

    def locate(self, *coordinates: Indices) -> Indices:
        """See `Region`."""
        source, target = coordinates
        if not len(self.arcs):
            return np.full(len(source), -1, dtype=np.int64)
        n_nodes = 1 + max(int(each.max(initial=0)) for each in (self.arcs, source, target))
        codes, wanted = self.arcs @ np.array([n_nodes, 1]), source * n_nodes + target
        numbers = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[numbers] == wanted, numbers, -1)

    def to_json(self) -> dict[str, Any]:
        """See `Region`: each arc as the code source·n + target, written as its distance to the one before."""
        n = int(self.arcs.max(initial=0)) + 1
        return {"layer": ARCS, "n": n, "arcs": np.diff(self.arcs @ np.array([n, 1]), prepend=0).tolist()}
