"""Layers, regions and clean objects: what sites are, whatever they mean.

A layer is a kind of sites with coordinates: the pairs of n nodes, n × f feature bits, a row of cells. To bring a new
one, write a subclass of `Layer` with other coordinates, and an object that has it, see `CleanObject`. Samplers, votes,
stores and certificates work on the numbers of sites and take it as it is; a classifier sees plain vectors, or a view of
its own that `starcert.sampling.views` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

__all__ = ["CleanObject", "Coordinates", "Indices", "Keyed", "Layer", "Numbered", "Region", "Values"]

Indices: TypeAlias = npt.NDArray[np.int64]
Coordinates: TypeAlias = Sequence[Indices]
"""One array for each coordinate, all of one length."""
Values: TypeAlias = npt.NDArray[np.uint8]
"""Values of sites, from 0 to the layer's alphabet − 1."""


@runtime_checkable
class Region(Protocol):
    """A subset of a layer, its sites numbered from 0; picklable, and small however many sites there are."""

    @property
    def layer(self) -> str:
        """The name of the layer."""

    @property
    def size(self) -> int:
        """How many sites there are."""

    @property
    def content(self) -> tuple[Indices, ...]:
        """The arrays that say which sites these are, for a digest."""

    def coordinates(self, numbers: Indices) -> Coordinates:
        """The coordinates of sites from 0 to size − 1."""

    def locate(self, *coordinates: Indices) -> Indices:
        """The numbers of the sites with these coordinates, −1 for those that are not here."""

    def to_json(self) -> dict[str, Any]:
        """The region as JSON can say it, in as few numbers as will do."""


@dataclass(frozen=True)
class Layer:
    """A kind of sites. As it is, a row of them whose one coordinate is their number; others are subclasses.

    Values are 0 … alphabet − 1, and 0 is the value of most sites: objects list the others.

    Attributes:
        name: what the layer is called, one word.
        size: how many sites there are.
        alphabet: how many values a site has, 256 at most.

    Example:
        >>> Layer("cells", size=4, alphabet=3).everything().to_json()
        {'layer': 'cells', 'sites': [0, 1, 1, 1]}
    """

    name: str
    size: int
    alphabet: int

    @property
    def ranges(self) -> tuple[tuple[str, int], ...]:
        """For each coordinate its name and how many values it takes, from 0."""
        return (("site", self.size),)

    def coordinates(self, numbers: Indices) -> Coordinates:
        """The coordinates of sites from 0 to size − 1."""
        return (numbers,)

    def numbers(self, *coordinates: Indices) -> Indices:
        """The numbers of sites by their coordinates; −1 for coordinates that no site has."""
        (numbers,) = coordinates
        return numbers

    def everything(self) -> Region:
        """The region of all sites."""
        return Numbered(self, np.arange(self.size))

    def check(self, regions: Mapping[str, Region]) -> None:
        """Refuses regions that are not well formed, and two that share a site."""
        owners = np.full(self.size, -1, dtype=np.int64)
        for number, (name, region) in enumerate(regions.items()):
            sites = self.numbers(*region.coordinates(np.arange(region.size)))
            if ((sites < 0) | (sites >= self.size)).any() or len(np.unique(sites)) < len(sites):
                wanted = f"hold sites of the layer {self.name}, each once"
                raise InvalidParameterError(f"regions[{name}]", wanted, sites.tolist()[:5])
            taken = sites[owners[sites] >= 0]
            if len(taken):
                where = tuple(int(each[0]) for each in self.coordinates(taken[:1]))
                got = f"{where} in both {list(regions)[owners[taken[0]]]!r} and {name!r}"
                raise InvalidParameterError("regions", "be disjoint", got, "Give each site to one region at most.")
            owners[sites] = number


class Keyed(Protocol):
    """What is known by its content."""

    @property
    def key(self) -> str:
        """A hex digest of the content: the same for equal ones everywhere."""


@runtime_checkable
class CleanObject(Protocol):
    """What is smoothed: values of the sites of its layers, in a frame; immutable and picklable. A `Graph` is one."""

    @property
    def key(self) -> str:
        """A hex digest of values and frame: the same for equal objects everywhere. It seeds the noise."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The kinds of sites that it has, each by another name."""

    @property
    def frame(self) -> Keyed:
        """What noise leaves alone: all that a classifier is told beside the noisy values."""

    def nonzero(self, layer: str) -> tuple[Coordinates, Values]:
        """The coordinates of the sites of a layer whose value is not 0, and their values."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """Sites of any layer, one by one.

    Attributes:
        of: the layer.
        sites: their numbers in the layer, ascending.
    """

    of: Layer
    sites: Indices

    @property
    def layer(self) -> str:
        """See `Region`."""
        return self.of.name

    @property
    def size(self) -> int:
        """See `Region`."""
        return len(self.sites)

    @property
    def content(self) -> tuple[Indices, ...]:
        """See `Region`."""
        return (self.sites,)

    def coordinates(self, numbers: Indices) -> Coordinates:
        """See `Region`."""
        return self.of.coordinates(self.sites[numbers])

    def locate(self, *coordinates: Indices) -> Indices:
        """See `Region`."""
        wanted = self.of.numbers(*coordinates)
        if not len(self.sites):
            return np.full(len(wanted), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.sites, wanted), len(self.sites) - 1)
        return np.where(self.sites[places] == wanted, places, -1)

    def to_json(self) -> dict[str, Any]:
        """See `Region`: the layer, and each number as its distance to the one before."""
        return {"layer": self.layer, "sites": np.diff(self.sites, prepend=0).tolist()}

    @classmethod
    def from_json(cls, described: Mapping[str, Any], layer: Layer) -> Numbered:
        """The region of a layer that `to_json` wrote down."""
        return cls(layer, np.cumsum(np.array(described["sites"], dtype=np.int64)))
