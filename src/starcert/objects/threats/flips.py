"""Attackers who change sites wherever they are: any of them, some axes, deletions, additions, categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import EDGE_LAYERS, Indices, Layer
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Rows, ground_of
from starcert.objects.threats.base import MAX_UNITS, Threat, UnfitError
from starcert.objects.threats.site_threat import Limits, Mask, SiteThreat, move_table
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

_SUFFIXES = ("", "delete", "add", "change")


@dataclass(frozen=True)
class AnyFlips(SiteThreat):
    """An attacker who changes at most `most` sites, wherever in the regions they are; in text `flips:2`.

    Its reverse is itself: whatever it changes, it can change back.

    Example:
        >>> str(AnyFlips(2)), AnyFlips(2).label, AnyFlips(1).label
        ('flips:2', 'any 2 flips', 'any 1 flip')
    """

    most: int
    word = "flips"

    @property
    @override
    def label(self) -> str:
        return f"any {self.most:,} flip{'s' * (self.most > 1)}"

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return any_move(sites.layers[region])


def any_move(layer: Layer) -> Mask:
    """All moves of a layer's values."""
    return ~np.eye(layer.alphabet, dtype=np.bool_)


def moves_to_zero(layer: Layer) -> Mask:
    """The moves that delete edges, or make 0 of a bit; none where values are categories."""
    moves = np.zeros((layer.alphabet, layer.alphabet), dtype=np.bool_)
    moves[1:, 0] = layer.name in EDGE_LAYERS or layer.alphabet == 2
    return moves


@dataclass(frozen=True)
class Deletions(SiteThreat):
    """An attacker who deletes at most `most` edges, or makes 0 of bits; in text `deletions:2`.

    Which edges there are to delete differs at the attacked object; `Additions` leads back from there.
    """

    most: int
    word = "deletions"
    unit = "deletion"

    @property
    @override
    def reverse(self) -> Threat:
        return Additions(self.most)

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return moves_to_zero(sites.layers[region])


@dataclass(frozen=True)
class Additions(SiteThreat):
    """An attacker who adds at most `most` edges, of any type, or makes 1 of bits; in text `additions:2`."""

    most: int
    word = "additions"
    unit = "addition"

    @property
    @override
    def reverse(self) -> Threat:
        return Deletions(self.most)

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return moves_to_zero(sites.layers[region]).T


@dataclass(frozen=True)
class Changes(SiteThreat):
    """An attacker who changes at most `most` categories, features or types of edges; in text `changes:2`.

    Edges that are there stay, with perhaps another type, and none is added. So its reverse is itself.
    """

    most: int
    word = "changes"
    unit = "changed value"

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        layer = sites.layers[region]
        moves = any_move(layer)
        if layer.name in EDGE_LAYERS:
            moves[0] = moves[:, 0] = False
        return moves


@dataclass(frozen=True, init=False)
class Box(SiteThreat):
    """An attacker with at most so many flips on each axis, none on those that are not named; in text `box:a=1,b=2`.

    An axis is a region, or its deletions, additions or changes of type: `bonds`, `bonds.delete`, `bonds.add`,
    `bonds.change`. The unit is one flip, wherever it is.

    Example:
        >>> box = Box({"random": 2, "bonds.delete": 1})
        >>> str(box), box.most, box.reverse
        ('box:bonds.delete=1,random=2', 3, Box({'bonds.add': 1, 'random': 2}))
    """

    radius: tuple[tuple[str, int], ...]
    most: int
    word = "box"
    limited = True

    def __init__(self, radius: Mapping[str, int]) -> None:
        if not isinstance(radius, Mapping) or not all(isinstance(axis, str) for axis in radius):
            raise InvalidParameterError("radius", "have a count for each axis", radius, 'For example {"bonds": 2}.')
        counts = {axis: whole_number(f"radius[{axis}]", each, 0, MAX_UNITS) for axis, each in radius.items()}
        for axis in counts:
            region, _, suffix = axis.partition(".")
            if suffix not in _SUFFIXES or (suffix and region in counts):
                requirement = "have regions as axes, or their .delete, .add and .change"
                raise InvalidParameterError("radius", requirement, axis)
        object.__setattr__(self, "radius", tuple(sorted((axis, each) for axis, each in counts.items() if each)))
        object.__setattr__(self, "most", sum(counts.values()))
        if not self.radius:
            raise InvalidParameterError("radius", "have at least one flip on some axis", dict(radius))

    @property
    @override
    def label(self) -> str:
        return "at most " + ", ".join(f"{count:,} in {axis}" for axis, count in self.radius)

    @property
    @override
    def reverse(self) -> Threat:
        opposite = {"delete": "add", "add": "delete"}
        turned = ((axis.rpartition("."), count) for axis, count in self.radius)
        return Box({f"{region}{dot}{opposite.get(name, name)}": count for (region, dot, name), count in turned})

    def __repr__(self) -> str:
        return f"Box({dict(self.radius)})"

    @override
    def __str__(self) -> str:
        return "box:" + ",".join(f"{axis}={count}" for axis, count in self.radius)

    @classmethod
    @override
    def read(cls, most: int | None, options: Mapping[str, Any]) -> Self:
        return cls(options)

    @override
    def check(self, sites: Sites) -> None:
        for axis, _ in self.radius:
            if axis.partition(".")[0] not in sites.regions:
                requirement = f"name axes of the regions {', '.join(sites.regions)}"
                raise UnfitError("threat", requirement, f"{axis} in {self}", did_you_mean(axis, sites.regions))
        super().check(sites)

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return self._axes(sites)[region, : sites.layers[region].alphabet, : sites.layers[region].alphabet] >= 0

    def _axes(self, sites: Sites) -> Indices:
        """For each region, value before and after the number of the axis that counts it; −1 for none."""
        axes = move_table(sites, -1)
        for number, (axis, _) in enumerate(self.radius):
            region, _, suffix = axis.partition(".")
            if region in sites.regions:
                place = sites.regions.index(region)
                layer = sites.layers[place]
                moves, deleted = any_move(layer), moves_to_zero(layer)
                if suffix:
                    moves = {"delete": deleted, "add": deleted.T, "change": moves & ~deleted & ~deleted.T}[suffix]
                axes[place][: layer.alphabet, : layer.alphabet][moves] = number
        return axes

    @override
    def limits(self, sites: Sites, changes: Rows) -> Limits:
        ground, (positions, values) = ground_of(sites), np.divmod(changes, VALUES)
        ends = self._axes(sites)[ground.regions[positions], ground.values[positions], values]
        limit = np.array([count for _, count in self.radius])
        return Limits(ends[:, None], np.ones(len(changes), dtype=np.int64), np.zeros_like(limit), limit)

    @override
    def count(self, sites: Sites, size: int) -> int:
        self.check(sites)
        tally = self.tally(sites, self._axes(sites), len(self.radius), size) if 1 <= size <= self.most else {}
        return sum(
            number
            for level, number in tally.items()
            if sum(level) == size and all(n <= most for n, (_, most) in zip(level, self.radius, strict=True))
        )
