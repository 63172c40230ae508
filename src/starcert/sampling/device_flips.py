"""Noisy copies on a device by the sites that flip: for graphs with too many pairs to look at each of them.

The law is that of `starcert.sampling.sparse`, exactly. How many sites of a pool flip is drawn here, to the last digit
of the binomial law; which ones, on the device: uniformly, without a remainder, and again where a site was drawn before.
All sites of a pool are treated alike by that, so every set of so many sites is equally likely. Pools of few sites, and
those that flip often, are looked at site by site.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from starcert.math.flips import ListedFlips
from starcert.objects.blocks import Block
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.sampling.device import DeviceDigits
from starcert.sampling.draws import FlippedDraw
from starcert.sampling.sparse import drawn_counts

if TYPE_CHECKING:
    from starcert.math.flips import Flips
    from starcert.objects import Sites
    from starcert.sampling.draws import Nonzero
    from starcert.sampling.sparse import Pool
    from starcert.sampling.streams import WordStream

__all__ = ["CleanEdges", "DeviceFlipSampler", "DeviceFlippedDraw", "DeviceFlippedGraphs"]

FEW = 2**20
"""Pools of so many listed sites are looked at site by site."""

OFTEN = 1 / 8
"""So are pools whose sites flip more often: those that are left would have to be drawn again and again."""

NUMBERS = 2**25
"""So many random numbers are drawn together, or those of one copy."""

HELD = 2**27
"""So many flipped positions are held at a time, or those of the copies that are drawn together."""


@dataclass(frozen=True, slots=True)
class DeviceFlippedDraw:
    """Bits of copies as the few that flipped, on a device: those of copy i are positions[starts[i] : starts[i + 1]].

    Attributes:
        n_sites: how many sites there are.
        ones: the sorted positions of the sites whose clean bit is 1, here.
        starts: where each copy's positions begin, and where the last one's end, here.
        positions: the flipped positions, ascending in each copy.
    """

    n_sites: int
    ones: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    positions: torch.Tensor

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, samples: slice) -> DeviceFlippedDraw:
        some = self._lengths[samples]
        begin = samples.indices(len(self))[0]
        return DeviceFlippedDraw(self.n_sites, self.ones, self.starts[begin : begin + len(some) + 1], self.positions)

    def taken(self, copies: npt.NDArray[np.int64]) -> DeviceFlippedDraw:
        """See `Draw`."""
        return self._back(self.here().taken(copies))

    def replaced(
        self, copies: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], values: npt.NDArray[np.uint8]
    ) -> DeviceFlippedDraw:
        """See `Draw`."""
        return self._back(self.here().replaced(copies, positions, values))

    def _back(self, here: FlippedDraw) -> DeviceFlippedDraw:
        there = torch.from_numpy(here.positions).to(self.positions.device)
        return DeviceFlippedDraw(self.n_sites, self.ones, here.starts, there)

    @property
    def _lengths(self) -> FlippedDraw:
        """The same without positions, which knows what a slice is."""
        return FlippedDraw(self.n_sites, self.ones, self.starts, np.empty(0, dtype=np.int64))

    @property
    def flips(self) -> torch.Tensor:
        """The flipped positions of these copies, copy by copy."""
        return self.positions[self.starts[0] : self.starts[-1]]

    @property
    def copies(self) -> torch.Tensor:
        """For each of them the number of its copy."""
        lengths = torch.from_numpy(np.diff(self.starts)).to(self.positions.device)
        return torch.arange(len(self), device=lengths.device).repeat_interleave(
            lengths, output_size=int(self.starts[-1] - self.starts[0])
        )

    def here(self) -> FlippedDraw:
        """The same, brought here."""
        return FlippedDraw(self.n_sites, self.ones, self.starts - self.starts[0], self.flips.cpu().numpy())

    def part(self, start: int, stop: int) -> DeviceFlippedDraw:
        """See `Draw`."""
        flips = self.flips
        inside = (flips >= start) & (flips < stop)
        lengths = torch.bincount(self.copies[inside], minlength=len(self)).cpu().numpy()
        ones = self.ones[slice(*np.searchsorted(self.ones, (start, stop)))] - start
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return DeviceFlippedDraw(stop - start, ones, starts, flips[inside] - start)

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """See `Draw`: brought here. As large as copies × sites: for few sites."""
        return self.here().values

    def flips_of(self, copies: npt.NDArray[np.int64], nonzero: Nonzero) -> Flips:
        """See `Draw`: only the flips of these copies come here."""
        lengths = self.starts[copies + 1] - self.starts[copies]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[copies] - starts[:-1], lengths)
        found = self.positions[torch.from_numpy(places).to(self.positions.device)].cpu().numpy()
        return ListedFlips(starts, found.astype(np.uint32))


class CleanEdges:
    """The edges of the clean graph and the blocks of its sites, on a device.

    Args:
        sites: the sites of an undirected graph, all of them node pairs.
        device: where, as torch names it.
    """

    def __init__(self, sites: Sites, device: str) -> None:
        self._there = torch.device(device)
        positions = sites.nonzero[0]
        self.positions = self._on(positions)
        self.ends = self._on(np.concatenate([np.stack(sites.coordinates(positions)), sites.fixed_edges.T], axis=1))
        self._offsets = self._on(np.array(sites.offsets))
        self._blocks = [self._described(block) for block in sites.blocks]

    def _on(self, array: npt.NDArray[np.int64]) -> torch.Tensor:
        return torch.tensor(array, device=self._there)

    def _described(self, block: object) -> tuple[torch.Tensor, ...]:
        if isinstance(block, Block):
            return tuple(map(self._on, (block.nodes, block.first, block.row_starts, block.holes_closed)))
        pairs: npt.NDArray[np.int64] = block.pairs  # type: ignore[attr-defined]  # there are no other blocks of pairs
        return (self._on(pairs),)

    def pairs(self, positions: torch.Tensor) -> torch.Tensor:
        """Both node indices of sites, shape (2, sites): what `Sites.coordinates` says, there."""
        found = torch.empty((2, len(positions)), dtype=torch.int64, device=self._there)
        owner = torch.searchsorted(self._offsets, positions, right=True) - 1
        for number, block in enumerate(self._blocks):
            where = slice(None) if len(self._blocks) == 1 else (owner == number).nonzero()[:, 0]
            found[:, where] = _coordinates(block, positions[where] - self._offsets[number])
        return found


def _coordinates(block: tuple[torch.Tensor, ...], numbers: torch.Tensor) -> torch.Tensor:
    if len(block) == 1:
        return block[0][numbers].T
    nodes, first, starts, holes = block
    if len(holes):
        numbers = numbers + torch.searchsorted(holes, numbers, right=True)
    rows = torch.searchsorted(starts, numbers, right=True) - 1
    return torch.stack([nodes[rows], nodes[first[rows] + numbers - starts[rows]]])


class DeviceFlippedGraphs(NoisyGraphs):
    """Copies as flips on a device: their edges are listed there.

    Args:
        sites: the sites of the clean graph.
        draw: the flips.
        clean: the clean edges.
    """

    _draw: DeviceFlippedDraw

    def __init__(self, sites: Sites, draw: DeviceFlippedDraw, clean: CleanEdges) -> None:
        super().__init__(sites, draw)
        self._clean = clean

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the edges, brought here."""
        n, ends = self.frame.n_nodes, self._listed().cpu().numpy()
        ends = ends[:, np.argsort(ends[0] // n, kind="stable")]
        starts = np.searchsorted(ends[0] // n, np.arange(len(self) + 1))
        u, v = np.sort(ends % n, axis=0)
        return EdgeList(starts, u, v)

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`: brought here."""
        return self._degrees().cpu().numpy()

    def degrees_on(self, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`."""
        return self._degrees().to(device)

    def edge_index_on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """See `NoisyGraphs`: all edges, then all of them back."""
        n, ends = self.frame.n_nodes, self._listed()
        batch = torch.arange(len(self), device=ends.device).repeat_interleave(n)
        return torch.cat([ends, ends.flip(0)], dim=1).to(device), batch.to(device)

    def edge_data_on(self, name: str, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`: in the order of `edge_index_on`."""
        u, v = np.sort((self._listed() % self.frame.n_nodes).cpu().numpy(), axis=0)
        numbers = torch.from_numpy(self._edge_numbers(name, EdgeList(np.empty(0, dtype=np.int64), u, v))).to(device)
        return torch.cat([numbers, numbers])

    def _degrees(self) -> torch.Tensor:
        n, ends = self.frame.n_nodes, self._listed()
        return torch.bincount(ends.flatten(), minlength=len(self) * n).view(len(self), n).to(torch.int32)

    def _listed(self) -> torch.Tensor:
        """Both ends of every edge, shape (2, edges), the nodes of copy i counted from i · n_nodes."""
        n, clean = self.frame.n_nodes, self._clean
        copies, flips = self._draw.copies, self._draw.flips
        kept = torch.ones((len(self), clean.ends.shape[1]), dtype=torch.bool, device=flips.device)
        added = torch.ones(len(flips), dtype=torch.bool, device=flips.device)
        if len(clean.positions):
            place = torch.searchsorted(clean.positions, flips).clamp_(max=len(clean.positions) - 1)
            added = clean.positions[place] != flips
            kept[copies[~added], place[~added]] = False
        copy, edge = kept.nonzero(as_tuple=True)
        new = clean.pairs(flips[added]) + copies[added] * n
        return torch.cat([clean.ends[:, edge] + copy * n, new], dim=1)


class DeviceFlipSampler:
    """Draws the flips of a chunk on a device. The stream of the chunk seeds the device's own generator.

    Args:
        sites: the sites of the clean object.
        pools: those with one flip probability each.
        device: where to draw, as torch names it.
    """

    def __init__(self, sites: Sites, pools: Sequence[Pool], device: str) -> None:
        self._device = torch.device(device)
        self._n_sites, self._ones = sites.n_sites, sites.nonzero[0]
        self._pools = [_DevicePool(pool, self._device) for pool in pools if pool.n_sites and pool.p > 0]
        self._numbers = max(1, int(sum(pool.numbers for pool in self._pools)))
        self._flips = sum(pool.n_sites * pool.p for pool in pools)

    def draw(self, stream: WordStream, samples: int) -> DeviceFlippedDraw:
        """So many noisy copies; a function of the stream, the device's kind and torch's version."""
        return next(self._drawn(stream, samples, samples, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[DeviceFlippedDraw]:
        """The first `wanted` of those copies, as many at a time as take some gigabytes."""
        return self._drawn(stream, samples, wanted, max(1, int(HELD / (1 + self._flips))))

    def _drawn(self, stream: WordStream, samples: int, wanted: int, most: int) -> Iterator[DeviceFlippedDraw]:
        generator = torch.Generator(device=self._device)
        generator.manual_seed(int(stream.at_least(1)[0]) >> 1)
        stream.use(1)
        rows = max(1, NUMBERS // self._numbers)  # fixed by the graph and the noise: the numbers depend on it
        together = -(-most // rows) * rows
        for begin in range(0, wanted, together):
            end = min(begin + together, wanted)
            parts = [self._block(stream, generator, min(rows, samples - start)) for start in range(begin, end, rows)]
            lengths = np.concatenate([each for each, _ in parts])
            starts = np.concatenate([[0], np.cumsum(lengths)])
            positions = torch.cat([each for _, each in parts])
            yield DeviceFlippedDraw(self._n_sites, self._ones, starts, positions)[: end - begin]

    def _block(
        self, stream: WordStream, generator: torch.Generator, copies: int
    ) -> tuple[npt.NDArray[np.int64], torch.Tensor]:
        """How many flips each of some copies has, and their positions, ascending in each."""
        found = [pool.draw(stream, generator, copies) for pool in self._pools]
        empty = torch.empty(0, dtype=torch.int64, device=self._device)
        keys = torch.cat([empty, *(copy * self._n_sites + position for copy, position in found)]).sort().values
        copy = torch.div(keys, self._n_sites, rounding_mode="floor")
        lengths: npt.NDArray[np.int64] = torch.bincount(copy, minlength=copies).cpu().numpy()
        return lengths, keys - copy * self._n_sites


class _DevicePool:
    """The flips of one pool."""

    def __init__(self, pool: Pool, device: torch.device) -> None:
        self._pool, self._device = pool, device
        only = pool.only
        each = pool.p > OFTEN or (only is not None and pool.n_sites <= FEW and pool.p > 1e-9)
        if each and only is None:
            only = np.setdiff1d(np.arange(pool.first, pool.first + pool.size), pool.but, assume_unique=True)
        chances = [Fraction(pool.p)]
        self._digits = DeviceDigits(chances, np.zeros(pool.n_sites, dtype=np.int64), device) if each else None
        self._only = None if only is None else torch.tensor(only, device=device)
        self._but = torch.tensor(np.sort(pool.but) - pool.first, device=device)
        self.numbers = pool.n_sites if each else pool.n_sites * pool.p + 1

    def draw(self, stream: WordStream, generator: torch.Generator, copies: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Copy and position of every flip."""
        pool = self._pool
        if self._digits is not None:
            copy, number = self._digits.below(generator, copies).nonzero(as_tuple=True)
        else:
            counts = torch.from_numpy(drawn_counts(stream, copies, pool.n_sites, pool.p)).to(self._device)
            copy = torch.arange(copies, device=self._device).repeat_interleave(counts)
            number = self._chosen(generator, copy)
        return copy, number + pool.first if self._only is None else self._only[number]

    def _chosen(self, generator: torch.Generator, copy: torch.Tensor) -> torch.Tensor:
        """A site of the pool for each entry, different ones for those of the same copy."""
        span = self._pool.size if self._only is None else len(self._only)
        limit = 2**63 // span * span  # numbers from there on would make some sites likelier than others
        chosen = torch.empty(len(copy), dtype=torch.int64, device=self._device)
        missing = torch.arange(len(copy), device=self._device)
        while len(missing):
            number = torch.empty(len(missing), dtype=torch.int64, device=self._device).random_(generator=generator)
            found = torch.where(number < limit, number % span, -1) if limit < 2**63 else number % span
            if len(self._but):
                place = torch.searchsorted(self._but, found).clamp_(max=len(self._but) - 1)
                found = torch.where(self._but[place] == found, -1, found)
            chosen[missing] = found
            keys, order = (copy * (span + 1) + chosen + 1).sort(stable=True)
            again = chosen < 0
            again[order[1:][keys[1:] == keys[:-1]]] = True
            missing = again.nonzero()[:, 0]
        return chosen
