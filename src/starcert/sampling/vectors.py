"""The plain view of noisy copies of any object: the values of a whole layer, in the layer's own order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.sampling.batch import NoisyCopies

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.sampling.draws import Draw

__all__ = ["LayerPlaces", "NoisyVectors", "places_of"]


class LayerPlaces(NamedTuple):
    """Where the values of a layer come from.

    Attributes:
        fixed: the clean values of all its sites; those that noise may change are 0.
        numbers: the number in the layer of each site that may change.
        positions: its position among the sites of all regions.
    """

    fixed: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]


def places_of(sites: Sites) -> dict[str, LayerPlaces]:
    """The places of each layer of an object, by its name."""
    found = {}
    for layer in sites.clean.layers:
        positions = [
            np.arange(offset, offset + block.size)
            for block, offset in zip(sites.blocks, sites.offsets, strict=True)
            if block.layer == layer.name
        ]
        there = np.concatenate([np.empty(0, dtype=np.int64), *positions])
        coordinates, values = sites.clean.nonzero(layer.name)
        fixed = np.zeros(layer.size, dtype=np.uint8)
        fixed[layer.numbers(*coordinates)] = values
        numbers = layer.numbers(*sites.coordinates(there)) if len(there) else there
        fixed[numbers] = 0
        found[layer.name] = LayerPlaces(fixed, numbers, there)
    return found


class NoisyVectors(NoisyCopies):
    """Noisy copies as plain vectors.

    Args:
        sites: the sites of the clean object.
        draw: their noisy values.
        places: where the values of each layer come from.
    """

    def __init__(self, sites: Sites, draw: Draw, places: dict[str, LayerPlaces]) -> None:
        super().__init__(sites, draw)
        self._places = places

    def vectors(self, layer: str | None = None) -> npt.NDArray[np.uint8]:
        """The values of all sites of a layer (the first, if it is not named), fixed ones too, shape (copies, sites)."""
        fixed, numbers, positions = self._places[next(iter(self._places)) if layer is None else layer]
        vectors = np.tile(fixed, (len(self), 1))
        vectors[:, numbers] = self.values[:, positions]
        return vectors
