"""Attackers who change sites wherever they are: any of them, some axes, deletions, additions, categories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import le
from typing import ClassVar

import numpy as np
from typing_extensions import override

from starcert.objects.layers import EDGE_LAYERS, Indices, Layer
from starcert.objects.noise import Noise, RadiusLike, counts_of
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Rows, ground_of
from starcert.objects.threats.base import Threat, UnfitError
from starcert.objects.threats.site_threat import Limits, Mask, SiteThreat, move_table
from starcert.system.errors import did_you_mean

_SUFFIXES = ("", "delete", "add", "change")


@dataclass(frozen=True)
class AnyFlips(SiteThreat):
    """An attacker who changes at most `most` sites, wherever in the regions they are; in text `flips:2`.

    Its reverse is itself: whatever it changes, it can change back.

    Example:
        >>> str(AnyFlips(2)), AnyFlips(2).label, AnyFlips(1).label
        ('flips:2', 'any 2 flips', 'any 1 flip')
    """

    form: ClassVar[str] = "flips:K"
    by_radius = True
    most: int
    word = "flips"

    @classmethod
    @override
    def parse(cls, text: str) -> Threat | None:
        return cls(int(text)) if re.fullmatch(r"[1-9][0-9]{0,8}", text) else None

    @property
    @override
    def flips(self) -> int:
        return self.most

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
    """An attacker with a number of flips on each axis of the noise.

    To list its attacks, axes must be named: regions, or their deletions, additions or changes of type (`bonds`,
    `bonds.delete`, `bonds.add`, `bonds.change`). The unit is one flip, wherever it is.

    Args:
        radius: in the order of `noise.axes`, by axis name, or a number if there is one axis.

    Example:
        >>> box = Box({"motif": 3, "random": 45})
        >>> str(box), box.label, box.limits(Noise(motif=0.02, random=0.45))
        ('box:motif=3,random=45', 'at most 3 in motif, 45 in random', (3, 45))
    """

    form: ClassVar[str] = "box:AXIS=COUNT,…"
    radius: tuple[int, ...]
    axes: tuple[str, ...]  # in the order of the radius; none: that of the noise
    by_radius = True
    word = "box"
    limited = True

    def __init__(self, radius: RadiusLike) -> None:
        axes = tuple(map(str, radius)) if isinstance(radius, Mapping) else ()
        counts = counts_of(list(radius.values()) if isinstance(radius, Mapping) else radius, "radius", axes or None)
        object.__setattr__(self, "radius", counts)
        object.__setattr__(self, "axes", axes)

    @classmethod
    @override
    def parse(cls, text: str) -> Threat | None:
        items = [item.strip().rpartition("=") for item in text.split(",")]
        axes = [axis for axis, _, _ in items]
        if any(axes) and len(set(filter(None, axes))) < len(axes):
            return None
        if not all(re.fullmatch(r"[0-9]{1,10}", count) for _, _, count in items):
            return None
        counts = [int(count) for _, _, count in items]
        return cls(dict(zip(axes, counts, strict=True)) if any(axes) else counts)

    def __str__(self) -> str:
        counts = map(str, self.radius)
        return f"box:{','.join(map('='.join, zip(self.axes, counts, strict=True)) if self.axes else counts)}"

    @property
    @override
    def label(self) -> str:
        counts = [f"{count:,}" for count in self.radius]
        if not self.axes:
            return f"at most {', '.join(counts)} by axis"
        return f"at most {', '.join(map(' in '.join, zip(counts, self.axes, strict=True)))}"

    label_of = Threat.label_of  # its number is not a field

    @override
    def limits(self, noise: Noise) -> tuple[int, ...]:
        counts = dict(zip(self.axes, self.radius, strict=True)) if self.axes else self.radius
        return noise.radius(counts, "threat")

    @override
    def for_noise(self, noise: Noise) -> Threat:
        return Box(dict(zip(noise.axes, self.limits(noise), strict=True)))

    @property
    def most(self) -> int:  # type: ignore[override]  # a number like that of any other
        """How many flips there are on all axes together."""
        return sum(self.radius)

    @property
    @override
    def reverse(self) -> Threat | None:
        if not self.axes:
            return None
        opposite = {"delete": "add", "add": "delete"}
        turned = ((axis.rpartition("."), count) for axis, count in zip(self.axes, self.radius, strict=True))
        return Box({f"{region}{dot}{opposite.get(name, name)}": count for (region, dot, name), count in turned})

    @override
    def check(self, sites: Sites) -> None:
        if not self.axes:
            hint = "Call threat.for_noise(noise), or write Box({'bonds': 2})."
            raise UnfitError("threat", "name its axes for attacks to be listed", str(self), hint)
        for axis in self.axes:
            region, _, suffix = axis.partition(".")
            if suffix not in _SUFFIXES or (suffix and region in self.axes):
                requirement = "have regions as axes, or their .delete, .add and .change, for attacks to be listed"
                raise UnfitError("threat", requirement, f"{axis} in {self}")
            if region not in sites.regions:
                requirement = f"name axes of the regions {', '.join(sites.regions)}"
                raise UnfitError("threat", requirement, f"{axis} in {self}", did_you_mean(axis, sites.regions))
        super().check(sites)

    @override
    def moves(self, sites: Sites, region: int) -> Mask:
        return self._axes(sites)[region, : sites.layers[region].alphabet, : sites.layers[region].alphabet] >= 0

    def _axes(self, sites: Sites) -> Indices:
        """For each region, value before and after the number of the axis that counts it; −1 for none."""
        axes = move_table(sites, -1)
        for number, axis in enumerate(self.axes):
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
    def budgets(self, sites: Sites, changes: Rows) -> Limits:
        ground, (positions, values) = ground_of(sites), np.divmod(changes, VALUES)
        ends = self._axes(sites)[ground.regions[positions], ground.values[positions], values]
        limit = np.array(self.radius)
        return Limits(ends[:, None], np.ones(len(changes), dtype=np.int64), np.zeros_like(limit), limit)

    @override
    def count(self, sites: Sites, size: int) -> int:
        self.check(sites)
        tally = self.tally(sites, self._axes(sites), len(self.radius), size) if 1 <= size <= self.most else {}
        return sum(number for level, number in tally.items() if sum(level) == size and all(map(le, level, self.radius)))
