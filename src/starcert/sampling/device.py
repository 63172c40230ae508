"""Noisy copies drawn and kept on a torch device, for classifiers that live there.

Every bit is an exact comparison again: a uniform number of 63 binary digits with the first 63 digits of p, and, where
they agree, with the next ones. (The digits agree once in 10¹⁹ draws; it is looked for nevertheless.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from starcert.math.flips import ListedFlips
from starcert.sampling.batch import EdgeList, NoisyGraphs, NoisyVectors, node_places
from starcert.sampling.draws import Draw, LateFlips
from starcert.system.errors import StarcertError

if TYPE_CHECKING:
    from starcert.math.flips import Flips
    from starcert.objects import Sites
    from starcert.sampling.draws import Nonzero
    from starcert.sampling.streams import WordStream

__all__ = [
    "AnyDraw",
    "DeviceDigits",
    "DeviceDraw",
    "DeviceFlips",
    "DeviceGraphs",
    "DeviceRows",
    "DeviceSampler",
    "DeviceVectors",
    "Places",
    "replaced_entries",
    "taken_rows",
]

DIGITS = 63

MOST_DENSE = 8192
"""Up to so many nodes, a graph's dense adjacency matrix can be asked for."""

NUMBERS = 2**26
"""So many random numbers, of eight bytes, are held at a time."""

POSITION_BITS = 32
"""What the position of a flip takes where flips are listed; where they are packed, every site takes one bit."""

LISTED = 2**30
"""So many entries of matrices are read off at a time."""

HELD = 2**32
"""So many noisy bits, of one byte, are held at a time, or those of the copies that are drawn together."""


Drawn = TypeVar("Drawn")
"""What a sampler makes of rows."""


class AnyDraw(Draw, Protocol):
    """A draw on a device."""

    @property
    def bits(self) -> torch.Tensor:
        """Which sites are not 0, shape (copies, sites)."""

    @property
    def shown(self) -> torch.Tensor:
        """The value of every site."""


@dataclass(frozen=True, slots=True)
class DeviceDraw:
    """Bits of copies on a device, shape (copies, sites)."""

    bits: torch.Tensor

    def __len__(self) -> int:
        return int(self.bits.shape[0])

    def __getitem__(self, samples: slice) -> DeviceDraw:
        return DeviceDraw(self.bits[samples])

    def taken(self, copies: npt.NDArray[np.int64]) -> DeviceDraw:
        """See `Draw`."""
        return DeviceDraw(taken_rows(self.bits, copies))

    def replaced(
        self, copies: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], values: npt.NDArray[np.uint8]
    ) -> DeviceDraw:
        """See `Draw`."""
        return DeviceDraw(replaced_entries(self.bits, copies, positions, values))

    @property
    def shown(self) -> torch.Tensor:
        """The value of every site."""
        return self.bits

    def part(self, start: int, stop: int) -> DeviceDraw:
        """See `Draw`."""
        return DeviceDraw(self.bits[:, start:stop])

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """See `Draw`: the bits, brought here."""
        return self.bits.to(torch.uint8).cpu().numpy()

    def flips_of(self, copies: npt.NDArray[np.int64], nonzero: Nonzero) -> DeviceFlips:
        """See `Draw`: only what flipped in these copies will come here."""
        clean = torch.zeros(self.bits.shape[1], dtype=torch.bool, device=self.bits.device)
        clean[torch.tensor(nonzero[0], device=clean.device)] = True
        return DeviceFlips.of(taken_rows(self.bits, copies) ^ clean)


def taken_rows(rows: torch.Tensor, which: npt.NDArray[np.int64]) -> torch.Tensor:
    """Some rows, in this order."""
    return rows.index_select(0, torch.from_numpy(which).to(rows.device))


def replaced_entries(
    rows: torch.Tensor,
    copies: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64],
    values: npt.NDArray[np.uint8],
) -> torch.Tensor:
    """The same rows but for some entries."""
    places = torch.from_numpy(np.stack([copies, positions])).to(rows.device)
    return rows.index_put(tuple(places), torch.from_numpy(values).to(rows.device, rows.dtype))


@dataclass(frozen=True, slots=True)
class DeviceFlips(LateFlips):
    """The flips of some copies, on a device, in whichever form is smaller.

    Attributes:
        packed: a bit for each site, site s being bit s % 8 of byte s // 8, shape (copies, bytes); None if they are few.
        counts: how many there are in each copy.
        positions: their sites, ascending, copy by copy; None if they are packed.
    """

    packed: torch.Tensor | None
    counts: torch.Tensor
    positions: torch.Tensor | None

    @classmethod
    def of(cls, flips: torch.Tensor) -> DeviceFlips:
        """The flips of copies, shape (copies, sites)."""
        n_copies, n_sites = flips.shape
        counts = flips.sum(dim=1)
        if POSITION_BITS * int(counts.sum()) < flips.numel():
            return cls(None, counts, flips.nonzero()[:, 1].to(torch.int32))
        octets = torch.nn.functional.pad(flips.to(torch.uint8), (0, -n_sites % 8)).view(n_copies, -(-n_sites // 8), 8)
        shifts = torch.arange(8, dtype=torch.uint8, device=flips.device)
        return cls((octets << shifts).sum(dim=2, dtype=torch.uint8), counts, None)

    def fetched(self, parts: Sequence[DeviceFlips]) -> list[Flips]:
        """See `LateFlips`: one piece, if all parts have the same form."""
        if all(part.packed is not None for part in parts):
            return [_here([part.packed for part in parts if part.packed is not None])]
        if any(part.packed is not None for part in parts):
            return [flips for part in parts for flips in part.fetched([part])]
        starts = np.concatenate([[0], np.cumsum(_here([part.counts for part in parts]))])
        positions = _here([part.positions for part in parts if part.positions is not None])
        return [ListedFlips(starts, positions.view(np.uint32))]


def _here(parts: Sequence[torch.Tensor]) -> npt.NDArray[Any]:
    """Tensors, one after the other, brought here at once."""
    array: npt.NDArray[Any] = (parts[0] if len(parts) == 1 else torch.cat(list(parts))).cpu().numpy()
    return array


@dataclass(frozen=True, slots=True)
class Places:
    """Which node pairs the sites of a graph are, on a device.

    Attributes:
        ends: both node indices of every site, shape (2, sites).
        fixed: the fixed edges, shape (2, edges).
        constant: what an entry that is always 0 holds, and one that is always 1.
        entries: for each entry of an adjacency matrix, row by row, the number of its site, or that of the sites for an
            entry that is always 0, or one more for one that is always 1; None beyond `MOST_DENSE`
            nodes.
    """

    ends: torch.Tensor
    fixed: torch.Tensor
    constant: torch.Tensor
    entries: torch.Tensor | None = None

    @classmethod
    def of(cls, sites: Sites, device: str) -> Places:
        """The places of sites."""
        first, last = sites.span(sites.clean.layers[0].name)
        n_sites, graph = last - first, sites.graph
        ends = np.stack(sites.coordinates(np.arange(first, last)))
        arrays = [ends, np.array(sites.fixed_edges.T), np.array([False, True])]
        if graph.n_nodes <= MOST_DENSE:
            entries = np.full((graph.n_nodes,) * 2, n_sites)
            for u, v, column in ((*ends, np.arange(n_sites)), (*sites.fixed_edges.T, n_sites + 1)):
                entries[u, v] = column
                if not graph.directed:
                    entries[v, u] = column
            arrays.append(entries.reshape(-1))
        return cls(*(torch.as_tensor(array, device=torch.device(device)) for array in arrays))


class DeviceGraphs(NoisyGraphs):
    """Copies as bits on a device: the views are computed there.

    Args:
        sites: the sites of the clean graph.
        draw: the noisy bits.
        places: which node pairs they are.
    """

    _draw: AnyDraw

    def __init__(self, sites: Sites, draw: AnyDraw, places: Places) -> None:
        super().__init__(sites, draw)
        self.places = places

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the edges, brought here."""
        copy, u, v = (tensor.cpu().numpy() for tensor in self._listed())
        starts = np.searchsorted(copy, np.arange(len(self) + 1))
        return EdgeList(starts, u, v)

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`: the degrees, brought here."""
        return self._degrees().cpu().numpy()

    def degrees_on(self, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`."""
        return self._degrees().to(device)

    @property
    def by_target(self) -> bool:
        """See `NoisyGraphs`: edges that are read off a matrix, row by row, are in that order."""
        return self.places.entries is not None and not self.frame.directed and not self.frame.edge_data

    def edge_index_on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """See `NoisyGraphs`: both directions by target, or all edges, then all of them back."""
        n = self.frame.n_nodes
        batch = torch.arange(len(self), device=self.places.ends.device).repeat_interleave(n).to(device)
        if self.by_target:
            parts = [part._read_off() for part in self.split(max(1, LISTED // n**2))]
            offsets = range(0, len(self) * n, n * max(1, LISTED // n**2))
            shifted = [part + offset if offset else part for part, offset in zip(parts, offsets, strict=True)]
            return (shifted[0] if len(parts) == 1 else torch.cat(shifted, dim=1)).to(device), batch
        copy, u, v = self._listed()
        one, other = u + copy * n, v + copy * n
        if self.frame.directed:
            return torch.stack([one, other]).to(device), batch
        return torch.stack([torch.cat([one, other]), torch.cat([other, one])]).to(device), batch

    def _read_off(self) -> torch.Tensor:
        """Source and target of every entry of the adjacency matrices, row by row."""
        n = self.frame.n_nodes
        places = self._adjacency(torch.bool).view(-1).nonzero()[:, 0]
        target = torch.div(places, n, rounding_mode="floor")
        first = torch.div(target, n, rounding_mode="floor") * n
        return torch.stack([places - target * n + first, target])

    def edge_data_on(self, name: str, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`: in the order of `edge_index_on`."""
        numbers = torch.from_numpy(self._edge_numbers(name, self.edges())).to(device)
        return numbers if self.frame.directed else torch.cat([numbers, numbers])

    def node_values_on(self, name: str, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`: the values stay where they were drawn."""
        shape = self._node_sites(name).values.shape
        drawn = self._draw.part(*self._sites.span(name)).shown
        fixed, numbers = node_places(self._sites, name)
        if numbers is not None:
            values = torch.tensor(fixed).to(drawn.device, drawn.dtype).repeat(len(self), 1)
            values[:, torch.from_numpy(numbers).to(drawn.device)] = drawn
            drawn = values
        return drawn.view(len(self), *shape).to(device)

    def adjacency_on(self, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`."""
        return self._adjacency(torch.float32).to(device)

    def _degrees(self) -> torch.Tensor:
        if not self.frame.directed and self.places.entries is not None:
            return self._adjacency(torch.uint8).sum(dim=2, dtype=torch.int32)
        n, (copy, u, v) = self.frame.n_nodes, self._listed()
        ends = torch.cat([u + copy * n, v + copy * n])
        return torch.bincount(ends, minlength=len(self) * n).view(len(self), n).to(torch.int32)

    def _adjacency(self, dtype: torch.dtype) -> torch.Tensor:
        if self.places.entries is None:
            raise ValueError(f"dense adjacency matrices are for graphs of at most {MOST_DENSE:,} nodes on a device")
        n, bits = self.frame.n_nodes, self._edge_draw.bits
        padded = torch.empty((len(self), bits.shape[1] + 2), dtype=dtype, device=bits.device)
        padded[:, :-2] = bits
        padded[:, -2:] = self.places.constant
        return padded.index_select(1, self.places.entries).view(len(self), n, n)

    def _listed(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Copy, u and v of every edge, copy by copy."""
        present, fixed = self._edge_draw.bits, self.places.fixed
        if fixed.shape[1]:
            ones = torch.ones((len(self), fixed.shape[1]), dtype=torch.bool, device=present.device)
            present = torch.cat([ones, present], dim=1)
        ends = torch.cat([fixed, self.places.ends], dim=1)
        copy, site = present.nonzero(as_tuple=True)
        return copy, ends[0, site], ends[1, site]


class DeviceVectors(NoisyVectors):
    """Copies of a plain vector as values on a device."""

    _draw: AnyDraw

    def vectors_on(self, device: torch.device, layer: str | None = None) -> torch.Tensor:
        """See `NoisyVectors`: nothing leaves the device."""
        places, drawn = self._places_of(layer), self._draw.shown
        vectors = torch.from_numpy(places.fixed).to(drawn.device).repeat(len(self), 1)
        numbers, positions = (torch.from_numpy(each).to(drawn.device) for each in places[1:])
        vectors[:, numbers] = drawn.index_select(1, positions).to(torch.uint8)
        return vectors.to(device)


class DeviceRows(ABC, Generic[Drawn]):
    """Draws the copies of a chunk on a device, a row of sites each. The chunk's stream seeds the device's generator.

    Args:
        n_sites: how many sites there are.
        device: where to draw, as torch names it.
    """

    def __init__(self, n_sites: int, device: str) -> None:
        self._n_sites, self._device = n_sites, torch.device(device)

    @abstractmethod
    def _rows(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        """The sites of so many copies, shape (copies, sites)."""

    @abstractmethod
    def _kept(self, rows: torch.Tensor) -> Drawn:
        """Rows as a draw."""

    def draw(self, stream: WordStream, samples: int) -> Drawn:
        """So many noisy copies; a function of the stream, the device's kind and torch's version."""
        return next(self._drawn(stream, samples, samples, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Drawn]:
        """The first `wanted` of those copies, as many at a time as take some gigabytes."""
        return self._drawn(stream, samples, wanted, max(1, HELD // max(1, self._n_sites)))

    def _drawn(self, stream: WordStream, samples: int, wanted: int, most: int) -> Iterator[Drawn]:
        generator = torch.Generator(device=self._device)
        generator.manual_seed(int(stream.at_least(1)[0]) >> 1)
        rows = max(64, NUMBERS // max(1, self._n_sites))  # fixed by the graph: the numbers depend on it
        together = -(-most // rows) * rows
        for begin in range(0, wanted, together):
            end = min(begin + together, wanted)
            try:
                parts = [self._rows(generator, min(rows, samples - start)) for start in range(begin, end, rows)]
                whole = parts[0] if len(parts) == 1 else torch.cat(parts)
            except torch.cuda.OutOfMemoryError as error:
                raise StarcertError(
                    f"{end - begin:,} noisy copies with {self._n_sites:,} sites each do not fit on {self._device}. "
                    "Run it on the CPU, or lower the flip probabilities."
                ) from error
            yield self._kept(whole[: end - begin])


class DeviceSampler(DeviceRows[DeviceDraw]):
    """Draws bits on a device.

    Args:
        sites: the sites of the clean object.
        values: the different flip probabilities.
        law: for each site the place of its probability among them.
        device: where to draw, as torch names it.
    """

    def __init__(
        self, sites: Sites, values: npt.NDArray[np.float64], law: npt.NDArray[np.unsignedinteger], device: str
    ) -> None:
        super().__init__(sites.n_sites, device)
        clean = np.zeros(sites.n_sites, dtype=np.int64)
        clean[sites.nonzero[0]] = 1
        present = [1 - chance if one else chance for chance in map(Fraction, values.tolist()) for one in (False, True)]
        self._digits = DeviceDigits(present, 2 * law.astype(np.int64) + clean, self._device)

    def _rows(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        return self._digits.below(generator, copies)

    def _kept(self, rows: torch.Tensor) -> DeviceDraw:
        return DeviceDraw(rows)


class DeviceDigits:
    """Probabilities on a device, to the last digit.

    Args:
        chances: the different probabilities.
        which: for each site the place of its own among them.
        device: where.
    """

    def __init__(self, chances: Sequence[Fraction], which: npt.NDArray[np.int64], device: torch.device) -> None:
        digits = [_digits(chance) for chance in chances]
        last, more = torch.tensor(digits, dtype=torch.int64, device=device).view(-1, 2).T
        places = torch.as_tensor(which, device=device)
        self._last, self._more = last[places], more[places]
        self._more_digits = any(more for _, more in digits)

    def __len__(self) -> int:
        return len(self._last)

    def below(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        """Truth values that are true with the probability of their site, shape (copies, sites)."""
        number = torch.empty((copies, len(self)), dtype=torch.int64, device=self._last.device)
        number.random_(generator=generator)
        below: torch.Tensor = number <= self._last
        if self._more_digits:
            tied = (number == self._last + 1) & (self._more > 0)
            if bool(tied.any()):
                below |= tied & (torch.empty_like(number).random_(generator=generator) < self._more)
        return below


def _digits(chance: Fraction) -> tuple[int, int]:
    """The first 63 binary digits of a probability as a whole number, less one, and the next 63.

    A uniform number of 63 digits is below the probability if it is at most the first, or one more and tied.
    """
    first, rest = divmod(chance.numerator << DIGITS, chance.denominator)
    second, beyond = divmod(rest << DIGITS, chance.denominator)
    if beyond:
        raise ValueError(f"a flip probability of {float(chance)!r} has more than {2 * DIGITS} binary digits")
    return first - 1, second
