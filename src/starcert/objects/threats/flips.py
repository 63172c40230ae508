"""Attackers who change sites wherever they are: any of them, some axes, deletions, additions, categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import EDGE_LAYERS, Indices, Layer
from starcert.objects.noise import Noise, RadiusLike, counts_of
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import Mask, Moves, UnfitError
from starcert.objects.threats.base import Find, Threat
from starcert.objects.threats.sets import Limits, SiteThreat
from starcert.system.errors import did_you_mean

_OPPOSITE = {"delete": "add", "add": "delete", "change": "change"}


@dataclass(frozen=True)
class AnyFlips(SiteThreat):
    """An attacker who changes at most `most` sites, wherever in the regions they are; in text `flips:2`.

    Its reverse is itself: whatever it changes, it can change back.

    Example:
        >>> str(AnyFlips(2)), AnyFlips(2).label, AnyFlips(1).label
        ('flips:2', 'any 2 flips', 'any 1 flip')
    """

    most: int
    by_radius = True
    word = "flips"
    unit = "flip"

    @property
    @override
    def flips(self) -> int:
        return self.most

    @override
    def label_of(self, size: int) -> str:
        return f"any {size:,} {self.unit}{'s' * (size > 1)}"

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return np.ones_like(moves.edge)


@dataclass(frozen=True)
class AnyColumns(AnyFlips):
    """`AnyFlips` of rows: any `most` columns get any values; in text `columns:2`.

    Example:
        >>> str(AnyColumns(2)), AnyColumns(2).label
        ('columns:2', 'any 2 columns')
    """

    word = "columns"
    unit = "column"


@dataclass(frozen=True)
class AnyWords(AnyFlips):
    """`AnyFlips` of texts: any `most` words are replaced, each by any other word; in text `words:3`.

    Example:
        >>> str(AnyWords(3)), AnyWords(1).label
        ('words:3', 'any 1 word')
    """

    word = "words"
    unit = "word"


@dataclass(frozen=True)
class Deletions(SiteThreat):
    """An attacker who deletes at most `most` edges, or sets bits to 0; in text `deletions:2`.

    Which edges there are to delete differs at the attacked object; `Additions` leads back from there.

    Example:
        >>> from starcert.objects import Graph, Sites
        >>> sites = Sites.everything(Graph(3, [(0, 1)]), "all")
        >>> str(Deletions(2)), Deletions(2).label, list(Deletions(1).attacks(sites, 1))
        ('deletions:2', 'at most 2 deletions', [((0, 0),)])
    """

    most: int
    word = "deletions"
    unit = "deletion"
    needs = "node pairs, arcs or bits"

    @override
    def fits(self, layer: Layer) -> bool:
        return layer.name in EDGE_LAYERS or layer.alphabet == 2

    @property
    @override
    def reverse(self) -> Threat:
        return Additions(self.most)

    @override
    def reach(self, sites: Sites) -> Indices:
        return np.flatnonzero(sites.values)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return moves.deletes


@dataclass(frozen=True)
class Additions(Deletions):
    """An attacker who adds at most `most` edges, of any type, or sets bits to 1; in text `additions:2`.

    Example:
        >>> from starcert.objects import Graph, Sites
        >>> sites = Sites.everything(Graph(3, [(0, 1)]), "all")
        >>> str(Additions(2)), Additions(2).label, list(Additions(1).attacks(sites, 1))
        ('additions:2', 'at most 2 additions', [((1, 1),), ((2, 1),)])
    """

    word = "additions"
    unit = "addition"

    @property
    @override
    def reverse(self) -> Threat:
        return Deletions(self.most)

    @override
    def reach(self, sites: Sites) -> Indices:
        return np.flatnonzero(sites.values == 0)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return moves.adds


@dataclass(frozen=True)
class Changes(SiteThreat):
    """An attacker who changes at most `most` categories, features or types of edges; in text `changes:2`.

    Edges that are there stay, with perhaps another type, and none is added. So its reverse is itself.

    Example:
        >>> from starcert.objects import Categories, Sites
        >>> row = Sites.everything(Categories([2, 0], values=3), "all")
        >>> str(Changes(1)), list(Changes(1).attacks(row, 1))
        ('changes:1', [((0, 0),), ((0, 1),), ((1, 1),), ((1, 2),)])
    """

    most: int
    word = "changes"
    unit = "changed value"
    needs = "categories, features or types of edges"

    @override
    def fits(self, layer: Layer) -> bool:
        return layer.name not in EDGE_LAYERS or layer.alphabet > 2

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return ~moves.edge | ((moves.before > 0) & (moves.new > 0))


@dataclass(frozen=True, init=False)
class Box(SiteThreat):
    """An attacker with a number of flips on each axis of the noise; in text `box:motif=3,random=45`.

    To list its attacks, axes must be named: regions, or their deletions, additions or changes of type (`bonds`,
    `bonds.delete`, `bonds.add`, `bonds.change`). The unit is one flip, wherever it is.

    Args:
        radius: in the order of `noise.axes`, by axis name, or a number if there is one axis.

    Example:
        >>> box = Box({"motif": 3, "random": 45})
        >>> str(box), box.label, box.limits(Noise(motif=0.02, random=0.45))
        ('box:motif=3,random=45', 'at most 3 in motif, 45 in random', (3, 45))
    """

    radius: tuple[int, ...]
    axes: tuple[str, ...]  # in the order of the radius; none: that of the noise
    by_radius = True
    word = "box"
    form = "AXIS=COUNT,…"

    def __init__(self, radius: RadiusLike) -> None:
        axes = tuple(map(str, radius)) if isinstance(radius, Mapping) else ()
        counts = counts_of(list(radius.values()) if isinstance(radius, Mapping) else radius, "radius", axes or None)
        object.__setattr__(self, "radius", counts)
        object.__setattr__(self, "axes", axes)

    @classmethod
    @override
    def read(cls, numbers: Sequence[int], options: Mapping[str, Any], find: Find) -> Self:
        if numbers and options:
            raise ValueError
        return cls(options or numbers)

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

    @override
    def limits(self, noise: Noise) -> tuple[int, ...]:
        counts = dict(zip(self.axes, self.radius, strict=True)) if self.axes else self.radius
        return noise.radius(counts, "threat")

    @override
    def for_noise(self, noise: Noise) -> Threat:
        return Box(dict(zip(noise.axes, self.limits(noise), strict=True)))

    @property
    def most(self) -> int:  # type: ignore[override]  # a number like that of any other
        """The number of flips on all axes together."""
        return sum(self.radius)

    @property
    @override
    def reverse(self) -> Threat | None:
        turned = (f"{region}.{_OPPOSITE[kind]}" if kind else region for region, kind in self._parts)
        return Box(dict(zip(turned, self.radius, strict=True))) if self.axes else None

    @property
    def _parts(self) -> list[tuple[str, str]]:
        """The region of each axis, and which of its changes, "" for all."""
        split = ((axis, *axis.rpartition(".")) for axis in self.axes)
        return [(region, kind) if kind in _OPPOSITE else (axis, "") for axis, region, _, kind in split]

    @override
    def check(self, sites: Sites) -> None:
        if not self.axes:
            hint = "Call threat.for_noise(noise), or write Box({'bonds': 2})."
            raise UnfitError("threat", "name its axes for attacks to be listed", str(self), hint)
        for axis, (region, kind) in zip(self.axes, self._parts, strict=True):
            if region not in sites.regions or (kind and region in self.axes):
                regions = ", ".join(sites.regions)
                requirement = f"have axes out of the regions {regions}, or their .delete, .add and .change"
                hint = did_you_mean(axis, sites.regions, "A region and a part of it are not counted apart.")
                raise UnfitError("threat", f"{requirement}, for attacks to be listed", f"{axis} in {self}", hint)

    def _axis_of_each(self, sites: Sites, moves: Moves) -> Indices:
        """The number of the axis that counts each change; −1 for none."""
        found = np.full(len(moves.site), -1)
        others = ~moves.deletes & ~moves.adds
        kinds = {"": True, "delete": moves.deletes, "add": moves.adds, "change": others}
        for number, (region, kind) in enumerate(self._parts):
            found[(moves.region == sites.regions.index(region)) & kinds[kind]] = number
        return found

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return self._axis_of_each(sites, moves) >= 0

    @override
    def budgets(self, sites: Sites, moves: Moves) -> Limits:
        axes, limit = self._axis_of_each(sites, moves), np.array(self.radius)
        return Limits(axes[:, None], np.ones_like(axes), np.zeros_like(limit), limit)
