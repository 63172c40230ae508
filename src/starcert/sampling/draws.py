"""The noisy values of the sites of some copies, in the form they were drawn in: what a site means, only views know.

Bits of 64 copies packed into one number (`PackedDraw`), or the sites that flipped and what they show (`FlippedDraw`);
the same on a device are in `device` and `device_flips`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.math.arithmetic import compiled
from starcert.math.flips import Flips, ListedFlips, ShownFlips

if TYPE_CHECKING:
    from starcert.sampling.streams import WordStream

LANES = 64  # copies whose bits share one 64-bit number: copy i is bit i % 64, its lane

Positions = npt.NDArray[np.int64]
Values = npt.NDArray[np.uint8]
UInt64s = npt.NDArray[np.uint64]
Nonzero: TypeAlias = tuple[Positions, Values]
"""The positions of sites whose clean value is not 0, ascending, and these values: `Sites.nonzero`."""


class Method(Enum):
    """The method of drawing copies: a value for every site, or only the sites that flip; here, or on a device."""

    DENSE = "dense"
    SPARSE = "sparse"
    DEVICE_DENSE = "dense on a device"
    DEVICE_SPARSE = "sparse on a device"


class Draw(ABC):
    """The values of all sites in some noisy copies."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int:
        """The number of copies."""

    @abstractmethod
    def __getitem__(self, copies: slice) -> Self:
        """Consecutive copies."""

    @abstractmethod
    def select(self, copies: Positions) -> Self:
        """The copies with these numbers, in this order."""

    def repeated(self, times: int) -> Self:
        """All copies, this many times over."""
        return self.select(np.tile(np.arange(len(self)), times))

    @abstractmethod
    def replace(self, copies: Positions, positions: Positions, values: Values) -> Self:
        """The same copies with other values at some sites, each named once with its copy."""

    @abstractmethod
    def part(self, start: int, stop: int) -> Self:
        """The values of the sites from `start` to before `stop`, of all copies."""

    @property
    @abstractmethod
    def values(self) -> Values:
        """The noisy value of every site, shape (copies, sites)."""

    @abstractmethod
    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        """The sites that flipped in the copies with these numbers, and their values if there are more than two.

        `nonzero` are the sites whose clean value is not 0.
        """


class SiteSampler(ABC):
    """Draws the sites of one object under a noise."""

    @abstractmethod
    def draw(self, stream: WordStream, samples: int) -> Draw:
        """This many noisy copies: a function of the stream (and, on a device, of its kind and torch's version)."""

    @abstractmethod
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Draw]:
        """The first `wanted` of the copies that `draw` gives, in portions that take a bounded amount of memory."""


@dataclass(frozen=True, slots=True)
class PackedDraw(Draw):
    """Bits, those of 64 copies in one number: `packed` has shape (sites, numbers), and copy i is lane `first + i`."""

    packed: UInt64s
    first: int
    count: int

    @classmethod
    def joined(cls, draws: Sequence[PackedDraw]) -> PackedDraw:
        """The copies of several draws that fill whole numbers, one after the other."""
        return cls(np.concatenate([each.packed for each in draws], axis=1), 0, sum(map(len, draws)))

    def __len__(self) -> int:
        return self.count

    @override
    def __getitem__(self, copies: slice) -> PackedDraw:
        start, stop = _bounds(copies, self.count)
        begin = self.first + start
        packed = self.packed[:, begin // LANES : -(-(self.first + stop) // LANES)]
        return PackedDraw(packed, begin % LANES, max(0, stop - start))

    @override
    def part(self, start: int, stop: int) -> PackedDraw:
        return PackedDraw(self.packed[start:stop], self.first, self.count)

    @property
    @override
    def values(self) -> Values:
        octets = np.ascontiguousarray(self.packed).view(np.uint8)  # lanes in order on a little-endian machine
        lanes = np.unpackbits(octets, axis=1, bitorder="little")
        return np.ascontiguousarray(lanes[:, self.first : self.first + self.count].T)

    @override
    def select(self, copies: Positions) -> PackedDraw:
        packed: UInt64s = _selected_lanes(self.packed, self.first + copies)
        return PackedDraw(packed, 0, len(copies))

    @override
    def repeated(self, times: int) -> PackedDraw:
        if self.first % 8 or self.count % 8:
            return super(PackedDraw, self).repeated(times)
        octets = self.packed.view(np.uint8)[:, self.first // 8 : (self.first + self.count) // 8]
        lanes = np.zeros((len(octets), -(-times * octets.shape[1] // 8) * 8), dtype=np.uint8)
        lanes[:, : times * octets.shape[1]] = np.tile(octets, (1, times))
        return PackedDraw(lanes.view(np.uint64), 0, times * self.count)

    @override
    def replace(self, copies: Positions, positions: Positions, values: Values) -> PackedDraw:
        packed, (column, lane) = self.packed.copy(), np.divmod(self.first + copies, LANES)
        bits = np.uint64(1) << lane.astype(np.uint64)
        np.bitwise_and.at(packed, (positions, column), ~bits)
        np.bitwise_or.at(packed, (positions, column), bits * values)
        return PackedDraw(packed, self.first, self.count)

    @override
    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        flips: Values = _flips_of_lanes(self.packed, self.first + copies, nonzero[0])
        return flips


@dataclass(frozen=True, slots=True)
class FlippedDraw(Draw):
    """Only the sites that flipped: those of copy i are positions[starts[i] : starts[i + 1]]."""

    n_sites: int  # how many sites there are
    nonzero: Nonzero  # the sites whose clean value is not 0
    starts: Positions  # where each copy's positions begin, and where the last one's end
    positions: Any  # the flipped positions; on a device, a tensor
    shown: Values | None = None  # the value that each of them shows; None if all sites are bits: the other one

    @classmethod
    def of_values(cls, values: Values, nonzero: Nonzero) -> FlippedDraw:
        """The draw in which the sites have these values, shape (copies, sites)."""
        n_sites = values.shape[1]
        flipped = values != _clean(n_sites, nonzero)
        starts, places = np.cumsum([0, *np.count_nonzero(flipped, axis=1)]), np.flatnonzero(flipped)
        return cls(n_sites, nonzero, starts, places % max(1, n_sites), values.reshape(-1)[places])

    @classmethod
    def joined(cls, draws: Sequence[FlippedDraw]) -> FlippedDraw:
        """The copies of several draws of the same sites, one after the other."""
        starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(each.starts) for each in draws]))])
        positions = np.concatenate([each.flips for each in draws])
        shown = None if draws[0].shown is None else np.concatenate([each.shown_flips for each in draws])
        return cls(draws[0].n_sites, draws[0].nonzero, starts, positions, shown)

    def __len__(self) -> int:
        return self.starts.size - 1

    @override
    def __getitem__(self, copies: slice) -> Self:
        start, stop = _bounds(copies, len(self))
        return dataclasses.replace(self, starts=self.starts[start : max(start, stop) + 1])

    @property
    def flips(self) -> Any:  # noqa: ANN401  (an array, or on a device a tensor)
        """The flipped positions of these copies, copy by copy."""
        return self.positions[self.starts[0] : self.starts[-1]]

    @property
    def shown_flips(self) -> Values:
        """The value that each of them shows."""
        if self.shown is None:
            return 1 - self.clean_at(self.flips)
        return self.shown[self.starts[0] : self.starts[-1]]

    @property
    def copies(self) -> Any:  # noqa: ANN401  (an array, or on a device a tensor)
        """For each of them the number of its copy."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def clean_at(self, positions: Positions) -> Values:
        """The clean values at positions."""
        places = np.searchsorted(self.nonzero[0], positions)
        there = np.append(self.nonzero[0], -1)[places] == positions
        return np.where(there, np.append(self.nonzero[1], np.uint8(0))[places], np.uint8(0))

    @override
    def part(self, start: int, stop: int) -> FlippedDraw:
        if (start, stop) == (0, self.n_sites):
            return self
        here = (self.flips >= start) & (self.flips < stop)
        starts = np.concatenate([[0], np.cumsum(here)])[self.starts - self.starts[0]]
        shown = None if self.shown is None else self.shown_flips[here]
        return FlippedDraw(stop - start, self.nonzero_part(start, stop), starts, self.flips[here] - start, shown)

    def nonzero_part(self, start: int, stop: int) -> Nonzero:
        """The sites from `start` to before `stop` whose clean value is not 0, counted from `start`."""
        here = slice(*np.searchsorted(self.nonzero[0], (start, stop)))
        return self.nonzero[0][here] - start, self.nonzero[1][here]

    @property
    @override
    def values(self) -> Values:
        values = np.tile(_clean(self.n_sites, self.nonzero), (len(self), 1))
        values[self.copies, self.flips] = self.shown_flips
        return values

    @override
    def select(self, copies: Positions) -> FlippedDraw:
        starts, places = runs_of(self.starts, copies)
        shown = None if self.shown is None else self.shown[places]
        return FlippedDraw(self.n_sites, self.nonzero, starts, self.positions[places], shown)

    @override
    def replace(self, copies: Positions, positions: Positions, values: Values) -> FlippedDraw:
        before, others = self.copies * self.n_sites + self.flips, copies * self.n_sites + positions
        kept, flipped = ~np.isin(before, others), values != self.clean_at(positions)
        keys = np.concatenate([before[kept], others[flipped]])
        order = np.argsort(keys, kind="stable")
        copy, flips = np.divmod(keys[order], self.n_sites)
        shown = None if self.shown is None else np.concatenate([self.shown_flips[kept], values[flipped]])[order]
        return FlippedDraw(self.n_sites, self.nonzero, np.searchsorted(copy, np.arange(len(self) + 1)), flips, shown)

    def ascending(self) -> FlippedDraw:
        """The same with the positions of each copy in ascending order."""
        starts, before = self.starts - self.starts[0], self.copies * self.n_sites
        if self.shown is None:
            return FlippedDraw(self.n_sites, self.nonzero, starts, np.sort(before + self.flips) - before)
        order = np.argsort(before + self.flips, kind="stable")  # quick where they ascend already
        return FlippedDraw(self.n_sites, self.nonzero, starts, self.flips[order], self.shown_flips[order])

    @override
    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        some = self.select(copies).ascending()
        listed = ListedFlips(some.starts, some.positions.astype(np.uint32))
        return listed if some.shown is None else ShownFlips(listed, some.shown)


def _clean(n_sites: int, nonzero: Nonzero) -> Values:
    clean = np.zeros(n_sites, dtype=np.uint8)
    clean[nonzero[0]] = nonzero[1]
    return clean


def runs_of(starts: Positions, copies: Positions) -> tuple[Positions, Positions]:
    """The places at which the entries of some copies begin once they are joined, and the place of each entry before."""
    lengths = starts[copies + 1] - starts[copies]
    joined = np.concatenate([[0], np.cumsum(lengths)])
    return joined, np.arange(joined[-1]) + np.repeat(starts[copies] - joined[:-1], lengths)


def _bounds(copies: slice, count: int) -> tuple[int, int]:
    start, stop, step = copies.indices(count)
    if step != 1:
        raise IndexError("copies are taken in one run: use a slice without a step")
    return start, stop


@compiled
def _selected_lanes(packed, lanes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The bits of all sites in some lanes, packed again."""
    chosen = np.zeros((packed.shape[0], (lanes.size + LANES - 1) // LANES), np.uint64)
    for site in range(packed.shape[0]):
        for i in range(lanes.size):
            column, lane = lanes[i] // LANES, np.uint64(lanes[i] % LANES)
            bit = (packed[site, column] >> lane) & np.uint64(1)
            chosen[site, i // LANES] |= bit << np.uint64(i % LANES)
    return chosen


@compiled
def _flips_of_lanes(packed, lanes, ones):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The flips of all sites in some lanes, a bit each: the noisy bits, inverted where the clean bit is 1."""
    n_sites = packed.shape[0]
    bits = np.empty((lanes.size, (n_sites + 7) // 8), np.uint8)
    clean = np.zeros(bits.shape[1], np.uint64)
    for site in ones:
        clean[site >> 3] |= np.uint64(1) << np.uint64(site & 7)
    for octet in range(bits.shape[1]):
        first, last = 8 * octet, min(8 * octet + 8, n_sites)
        for i in range(lanes.size):
            column, lane = lanes[i] // LANES, np.uint64(lanes[i] % LANES)
            found = np.uint64(0)
            for site in range(first, last):
                found |= ((packed[site, column] >> lane) & np.uint64(1)) << np.uint64(site - first)
            bits[i, octet] = found ^ clean[octet]
    return bits
