"""Noisy copies drawn for every site and kept on a torch device, for classifiers that live there.

Every value is exact: a uniform number of 63 binary digits is compared with the cumulative probabilities of the values.
One that agrees with one of them in all digits (one in 10¹⁹) goes on with further digits until it is decided.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

from starcert.math.flips import Flips, ListedFlips, ShownFlips
from starcert.math.flips import Places as FlipPlaces
from starcert.objects import Sites
from starcert.objects.layers import ColumnLayer
from starcert.sampling.batch import EdgeList, NoisyGraphs, NoisyVectors, layer_places
from starcert.sampling.draws import Draw, Nonzero, Positions, SiteSampler, Values
from starcert.sampling.streams import WordStream, cumulative, settled
from starcert.system.errors import StarcertError

DIGITS = 63

MAX_MATRIX_NODES = 8192  # up to this many nodes, a graph has dense adjacency matrices
MAX_NUMBERS = 2**26  # random numbers, of eight bytes, that are held at a time
MAX_BYTES = 2**32  # noisy values, of one byte, that are held at a time, or those of one block of copies
MAX_ENTRIES = 2**30  # entries of adjacency matrices that are listed at a time

POSITION_BITS = 32
"""The bytes for the position of a flip where flips are listed; where they are packed, every site takes one bit."""


@dataclass(frozen=True, slots=True)
class DeviceDraw(Draw):
    """Values of copies on a device, shape (copies, sites): truth values if all sites are bits, else bytes."""

    there: torch.Tensor

    def __len__(self) -> int:
        return len(self.there)

    @override
    def __getitem__(self, copies: slice) -> DeviceDraw:
        return DeviceDraw(self.there[copies])

    @override
    def select(self, copies: Positions) -> DeviceDraw:
        return DeviceDraw(self.there.index_select(0, torch.from_numpy(copies).to(self.there.device)))

    @override
    def replace(self, copies: Positions, positions: Positions, values: Values) -> DeviceDraw:
        places = torch.from_numpy(np.stack([copies, positions])).to(self.there.device)
        others = torch.from_numpy(values).to(self.there.device, self.there.dtype)
        return DeviceDraw(self.there.index_put(tuple(places), others))

    @override
    def part(self, start: int, stop: int) -> DeviceDraw:
        return DeviceDraw(self.there[:, start:stop])

    @property
    def bits(self) -> torch.Tensor:
        """The sites that are not 0, as truth values."""
        return self.there if self.there.dtype == torch.bool else self.there > 0

    @property
    @override
    def values(self) -> Values:
        return self.there.to(torch.uint8).cpu().numpy()

    @override
    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        """Only the flips come here, as positions or as packed bits, whichever is smaller."""
        some, n_sites = self.select(copies).there, self.there.shape[1]
        clean = torch.zeros(n_sites, dtype=some.dtype, device=some.device)
        positions, values = (torch.tensor(each, device=some.device) for each in nonzero)
        clean[positions] = values.to(some.dtype)
        flips = some != clean
        counts = flips.sum(dim=1).cpu().numpy()
        places: FlipPlaces
        if POSITION_BITS * int(counts.sum()) < flips.numel():
            listed = flips.nonzero()[:, 1].to(torch.int32).cpu().numpy()
            places = ListedFlips(np.concatenate([[0], np.cumsum(counts)]), listed.view(np.uint32))
        else:
            width = -(-n_sites // 8)
            padded = torch.nn.functional.pad(flips.to(torch.uint8), (0, -n_sites % 8)).view(len(some), width, 8)
            shifts = torch.arange(8, dtype=torch.uint8, device=flips.device)
            places = (padded << shifts).sum(dim=2, dtype=torch.uint8).cpu().numpy()
        return places if some.dtype == torch.bool else ShownFlips(places, some[flips].cpu().numpy())


@dataclass(frozen=True, slots=True)
class Places:
    """Which node pairs the sites of a graph are, on a device.

    `entries` has for each entry of an adjacency matrix, row by row, the number of its site; for a fixed edge the number
    of sites and its own; for an entry that is always 0 the largest.
    """

    ends: torch.Tensor  # both node indices of every site, shape (2, sites)
    fixed: torch.Tensor  # the fixed edges, shape (2, edges)
    fixed_types: torch.Tensor  # their types, or 1
    entries: torch.Tensor | None = None  # None beyond `MAX_MATRIX_NODES` nodes

    @classmethod
    def of(cls, sites: Sites, device: str) -> Places:
        """The places of sites."""
        first, last = sites.span(sites.clean.layers[0].name)
        graph, fixed = sites.graph, sites.fixed_edges.T
        ends = np.stack(sites.coordinates(np.arange(first, last)))
        arrays = [ends, fixed, sites.fixed_types]
        if graph.n_nodes <= MAX_MATRIX_NODES:
            (u, v), n_edges = np.concatenate([ends, fixed], axis=1), last - first + fixed.shape[1]
            entries = np.full((graph.n_nodes,) * 2, n_edges)
            entries[u, v] = np.arange(n_edges)
            if not graph.directed:
                entries[v, u] = np.arange(n_edges)
            arrays.append(entries.reshape(-1))
        return cls(*(torch.tensor(array, device=torch.device(device)) for array in arrays))


class DeviceGraphs(NoisyGraphs):
    """Copies as values on a device: the views are computed there."""

    _draw: DeviceDraw

    def __init__(self, sites: Sites, draw: DeviceDraw, places: Places) -> None:
        super().__init__(sites, draw)
        self.places = places

    @override
    def edges(self) -> EdgeList:
        copy, u, v = (tensor.cpu().numpy() for tensor in self._listed())
        types = self._types().cpu().numpy() if self.frame.type_names else None
        return EdgeList(np.searchsorted(copy, np.arange(len(self) + 1)), u, v, types)

    @override
    def degrees(self) -> npt.NDArray[np.int32]:
        return self.degrees_on(torch.device("cpu")).numpy()

    @override
    def degrees_on(self, device: torch.device) -> torch.Tensor:
        if not self.frame.directed and self.places.entries is not None:
            return self._adjacency(torch.uint8).sum(dim=2, dtype=torch.int32).to(device)
        n, (copy, u, v) = self.frame.n_nodes, self._listed()
        ends = torch.cat([u + copy * n, v + copy * n])
        return torch.bincount(ends, minlength=len(self) * n).view(len(self), n).to(torch.int32).to(device)

    @property
    def _by_target(self) -> bool:
        # Edges that are taken from a matrix, row by row, are in that order.
        frame = self.frame
        return self.places.entries is not None and not (frame.directed or frame.edge_data or frame.type_names)

    @override
    def edge_index_on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Both directions by target, or all edges, then all of them back."""
        n = self.frame.n_nodes
        batch = torch.arange(len(self), device=self.places.ends.device).repeat_interleave(n).to(device)
        if self._by_target:
            step = max(1, MAX_ENTRIES // max(1, n) ** 2)
            parts = [part._read_off() + number * step * n for number, part in enumerate(self.split(step))]
            return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)).to(device), batch
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

    @override
    def edge_types_on(self, device: torch.device) -> torch.Tensor:
        types = self._types()
        return (types if self.frame.directed else torch.cat([types, types])).to(device)

    @override
    def edge_data_on(self, name: str, device: torch.device) -> torch.Tensor:
        numbers = torch.from_numpy(self._edge_numbers(name, self.edges())).to(device)
        return numbers if self.frame.directed else torch.cat([numbers, numbers])

    @override
    def node_values_on(self, name: str, device: torch.device) -> torch.Tensor:
        shape = self._node_sites(name).values.shape
        return _layer_values(self._draw, self._sites, name).view(len(self), *shape).to(device)

    @override
    def adjacency_on(self, device: torch.device) -> torch.Tensor:
        return self._adjacency(torch.float32).to(device)

    def _adjacency(self, dtype: torch.dtype) -> torch.Tensor:
        """Dense adjacency matrices of 0 and 1."""
        if self.places.entries is None:
            raise ValueError(f"dense adjacency matrices on a device are for at most {MAX_MATRIX_NODES:,} nodes")
        drawn, n_fixed, n = self._edge_draw.bits, len(self.places.fixed_types), self.frame.n_nodes
        padded = torch.zeros((len(self), drawn.shape[1] + n_fixed + 1), dtype=dtype, device=drawn.device)
        padded[:, : drawn.shape[1]] = drawn
        padded[:, drawn.shape[1] : -1] = 1
        return padded.index_select(1, self.places.entries).view(len(self), n, n)

    def _listed(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Copy, u and v of every edge, copy by copy, fixed ones first."""
        copy, site = self._with_fixed(self._edge_draw.bits).nonzero(as_tuple=True)
        ends = torch.cat([self.places.fixed, self.places.ends], dim=1)
        return copy, ends[0, site], ends[1, site]

    def _types(self) -> torch.Tensor:
        """The type of every edge, in the order in which edges are listed."""
        values = self._with_fixed(self._edge_draw.there.to(torch.uint8))
        return values[values > 0]

    def _with_fixed(self, drawn: torch.Tensor) -> torch.Tensor:
        """The drawn values, with those of the fixed edges before them."""
        fixed = self.places.fixed_types.to(drawn.dtype)
        return torch.cat([fixed.expand(len(self), len(fixed)), drawn], dim=1) if len(fixed) else drawn


class DeviceVectors(NoisyVectors):
    """Copies of a plain vector as values on a device."""

    _draw: DeviceDraw

    @override
    def vectors_on(self, device: torch.device, layer: str | None = None) -> torch.Tensor:
        layers = self._sites.clean.layers
        if layer is not None or not isinstance(layers[0], ColumnLayer):
            name = layers[0].name if layer is None else layer
            return _layer_values(self._draw, self._sites, name).to(torch.uint8, copy=True).to(device)
        parts = [_layer_values(self._draw, self._sites, each.name) for each in layers]
        order = np.argsort(np.concatenate([each.columns for each in layers]))  # type: ignore[attr-defined]
        joined = torch.cat(parts, dim=1)
        return joined[:, torch.from_numpy(order).to(joined.device)].to(torch.uint8).to(device)


def _layer_values(draw: DeviceDraw, sites: Sites, name: str) -> torch.Tensor:
    """The values of all sites of a layer, fixed ones too, shape (copies, sites)."""
    places = layer_places(sites, name)
    drawn = draw.part(*places.span).there
    if places.order is not None:
        drawn = drawn.index_select(1, torch.from_numpy(places.order).to(drawn.device))
    if places.numbers is None:
        return drawn
    values = torch.from_numpy(places.clean).to(drawn.device, drawn.dtype).repeat(len(drawn), 1)
    values[:, torch.from_numpy(places.numbers).to(drawn.device)] = drawn
    return values


class BlockSampler(SiteSampler):
    """Draws on a device, in blocks of copies. The chunk's stream seeds the device's generator."""

    device: torch.device
    rows: int  # copies in a block: fixed by the graph and the noise, as the random numbers depend on it
    most: int  # copies that are held at a time

    @abstractmethod
    def _joined_blocks(self, stream: WordStream, generator: torch.Generator, blocks: Sequence[int]) -> Draw:
        """Blocks of this many copies each, one after the other."""

    @override
    def draw(self, stream: WordStream, samples: int) -> Any:
        return next(self._drawn(stream, samples, samples, samples))

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Any]:
        return self._drawn(stream, samples, wanted, max(1, self.most))

    def _drawn(self, stream: WordStream, samples: int, wanted: int, most: int) -> Iterator[Draw]:
        generator = torch.Generator(device=self.device)
        generator.manual_seed(stream.next_word() >> 1)
        step = -(-most // self.rows) * self.rows
        for begin in range(0, wanted, step):
            end = min(begin + step, wanted)
            blocks = [min(self.rows, samples - start) for start in range(begin, end, self.rows)]
            yield self._joined_blocks(stream, generator, blocks)[: end - begin]


class DeviceSampler(BlockSampler):
    """Draws a value for every site on a device: `laws` and `law` are those of `DenseValues`."""

    def __init__(self, laws: Sequence[Sequence[Fraction]], law: npt.NDArray[np.integer], device: str) -> None:
        self.device, self._laws = torch.device(device), DeviceLaws(laws, law, torch.device(device))
        self.rows, self.most = max(64, MAX_NUMBERS // max(1, law.size)), MAX_BYTES // max(1, law.size)

    @override
    def _joined_blocks(self, stream: WordStream, generator: torch.Generator, blocks: Sequence[int]) -> DeviceDraw:
        try:
            parts = [self._laws.draw(generator, copies) for copies in blocks]
            return DeviceDraw(parts[0] if len(parts) == 1 else torch.cat(parts))
        except torch.cuda.OutOfMemoryError as error:
            raise StarcertError(
                f"{sum(blocks):,} noisy copies with {len(self._laws):,} sites each do not fit on {self.device}. "
                "Run it on the CPU, or lower the flip probabilities."
            ) from error


class DeviceLaws:
    """The law of every site, on a device, to the last digit."""

    def __init__(self, laws: Sequence[Sequence[Fraction]], law: npt.NDArray[np.integer], device: torch.device) -> None:
        self._sums, self._law, self._device = cumulative(laws), law, device
        # A number is beyond a sum if it is larger than this. One more, and its next digits may yet be below the sum's.
        last = [[int(total * 2**DIGITS) - 1 for total in each] for each in self._sums]
        open_ones = [[(total * 2**DIGITS).denominator > 1 for total in each] for each in self._sums]
        which = torch.tensor(law.astype(np.int64), device=device)
        self._last, self._open = (
            torch.tensor(table, dtype=dtype, device=device).view(len(laws), -1)[which].T.contiguous()
            for table, dtype in ((last, torch.int64), (open_ones, torch.bool))
        )
        self._any_open = any(map(any, open_ones))

    def __len__(self) -> int:
        return self._law.size

    def draw(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        """Values of shape (copies, sites): truth values if there are two, else bytes."""
        number = self._numbers(generator, copies, len(self))
        if len(self._last) == 1:
            values = number > self._last[0]
        else:
            values = torch.zeros(number.shape, dtype=torch.uint8, device=self._device)
            for last in self._last:
                values += number > last
        if self._any_open:
            tied = torch.zeros((), dtype=torch.bool, device=self._device)
            for last, is_open in zip(self._last, self._open, strict=True):
                tied = tied | ((number == last + 1) & is_open)
            for copy, site in tied.nonzero().tolist() if bool(tied.any()) else ():
                sums, further = self._sums[self._law[site]], lambda: int(self._numbers(generator, 1))
                values[copy, site] = settled(sums, int(number[copy, site]), DIGITS, further)
        return values

    def _numbers(self, generator: torch.Generator, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.int64, device=self._device).random_(generator=generator)
