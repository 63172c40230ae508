"""What attacks leave alone of an object: all that a *blind* model, which no attack can mislead, may look at.

Attacks change sites: those that lie in a region with an axis, of layers that fit the threat. All other sites are fixed.
Where regions are anchored, which sites are fixed says something about the clean values, and none of them is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.layers import Coordinates, Indices, Layer, Region
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites

if TYPE_CHECKING:
    from starcert.objects.threats import Threat

Mask: TypeAlias = npt.NDArray[np.bool_]
MAX_SHOWN_SITES = 4096  # of larger layers no fixed site is shown


@dataclass(frozen=True)
class Untouched:
    """What is the same in an object and in all that a threat makes of it.

    Attributes:
        values: values of the whole, by name; a category is text.
        parts: data of its parts, by name: an entry, or a row of numbers, for each.
        n_parts: how many parts there are, such as nodes.
        part: what a part is called.
        links: pairs of parts, shape (links, 2).
        parts_stay: whether no part comes or goes. Where some may, just the data of one part by itself are untouched:
            their number, sums and means are not, nor are the values and the links.
    """

    values: Mapping[str, float | str] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    n_parts: int = 0
    part: str = "part"
    links: Indices = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    parts_stay: bool = True


def attacked_blocks(sites: Sites, noise: Noise | None, threat: Threat | None) -> list[Region]:
    """The regions that a threat can change: those with an axis; of a threat that lists its attacks, where it fits."""
    listed = threat is not None and not threat.by_radius
    return [
        block
        for region, block, layer in zip(sites.regions, sites.blocks, sites.layers, strict=True)
        if (noise is None or noise[region].suffixes) and not (listed and not threat.fits(layer))  # type: ignore[union-attr]
    ]


def fixed_at(sites: Sites, blocks: Sequence[Region], layer: Layer, coordinates: Coordinates) -> Mask:
    """Which of some sites of a layer lie in none of these regions; none where the regions are anchored."""
    fixed = np.full(len(coordinates[0]), not sites.anchored)
    for block in blocks:
        if block.layer == layer.name:
            fixed &= block.locate(*coordinates) < 0
    return fixed


def fixed_columns(sites: Sites, blocks: Sequence[Region], layer: Layer) -> Mask:
    """Which columns of a layer of nodes and columns have no site in any of these regions."""
    here = [block for block in blocks if block.layer == layer.name and block.size]
    fixed = np.full(layer.ranges[-1][1], not sites.anchored and sum(block.size for block in here) < layer.size)
    for block in here if fixed.any() else ():
        fixed[np.unique(block.coordinates(np.arange(block.size))[-1])] = False
    return fixed


def fixed_values(sites: Sites, blocks: Sequence[Region]) -> dict[str, float | str]:
    """The values of all fixed sites, by layer and number; those with more than two values are categories."""
    found: dict[str, float | str] = {}
    for layer in sites.clean.layers:
        if layer.size > MAX_SHOWN_SITES:
            continue
        values = np.zeros(layer.size, dtype=np.int64)
        coordinates, others = sites.clean.nonzero(layer.name)
        values[layer.numbers(*coordinates)] = others
        fixed = np.flatnonzero(fixed_at(sites, blocks, layer, layer.coordinates(np.arange(layer.size))))
        for number, value in zip(fixed.tolist(), values[fixed].tolist(), strict=True):
            found[f"{layer.name} {number}"] = str(value) if layer.alphabet > 2 else value
    return found
