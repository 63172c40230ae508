"""Noisy copies on a device by the sites that flip: for graphs with too many node pairs to draw each of them.

The law is that of `starcert.sampling.sparse`, exactly. How many sites of a pool flip is drawn here; which ones, on the
device: uniformly, without a remainder, and again where a site was drawn before. Pools of few sites, and those that flip
often, are drawn site by site.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

from starcert.math.flips import Flips, ListedFlips
from starcert.objects import Sites
from starcert.objects.blocks import Block
from starcert.sampling.batch import EdgeList, NoisyGraphs
from starcert.sampling.device import BlockSampler, DeviceLaws
from starcert.sampling.draws import FlippedDraw, Nonzero, Positions, Values, runs_of
from starcert.sampling.sparse import Pool, drawn_counts
from starcert.sampling.streams import WordStream

MAX_LISTED = 2**20  # pools of up to this many listed sites are drawn site by site
MAX_SHARE = 1 / 8  # so are pools whose sites flip more often: the last sites would have to be drawn again and again
MAX_NUMBERS = 2**25  # random numbers that are drawn at a time, or those of one copy
MAX_FLIPS = 2**27  # flipped positions that are held at a time, or those of one block of copies


@dataclass(frozen=True, slots=True)
class DeviceFlippedDraw(FlippedDraw):
    """Bits as the few sites that flipped: `positions` are on a device, ascending in each copy; the rest is here."""

    def here(self) -> FlippedDraw:
        """The same, brought here."""
        return FlippedDraw(self.n_sites, self.nonzero, self.starts - self.starts[0], self.flips.cpu().numpy())

    @property
    @override
    def copies(self) -> torch.Tensor:
        lengths = torch.from_numpy(np.diff(self.starts)).to(self.positions.device)
        numbers = torch.arange(len(self), device=lengths.device)
        return numbers.repeat_interleave(lengths, output_size=int(self.starts[-1] - self.starts[0]))

    @override
    def select(self, copies: Positions) -> DeviceFlippedDraw:
        starts, places = runs_of(self.starts, copies)
        positions = self.positions[torch.from_numpy(places).to(self.positions.device)]
        return DeviceFlippedDraw(self.n_sites, self.nonzero, starts, positions)

    @override
    def replace(self, copies: Positions, positions: Positions, values: Values) -> DeviceFlippedDraw:
        here = self.here().replace(copies, positions, values)
        there = torch.from_numpy(here.positions).to(self.positions.device)
        return DeviceFlippedDraw(self.n_sites, self.nonzero, here.starts, there)

    @override
    def part(self, start: int, stop: int) -> DeviceFlippedDraw:
        inside = (self.flips >= start) & (self.flips < stop)
        lengths = torch.bincount(self.copies[inside], minlength=len(self)).cpu().numpy()
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return DeviceFlippedDraw(stop - start, self.nonzero_part(start, stop), starts, self.flips[inside] - start)

    @property
    @override
    def values(self) -> Values:
        return self.here().values

    @override
    def flips_of(self, copies: Positions, nonzero: Nonzero) -> Flips:
        some = self.select(copies).here()
        return ListedFlips(some.starts, some.positions.astype(np.uint32))


class CleanEdges:
    """The edges of an undirected clean graph and the blocks of its sites, all of them node pairs, on a device."""

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
            numbers = positions[where] - self._offsets[number]
            if len(block) == 1:
                found[:, where] = block[0][numbers].T
                continue
            nodes, first, starts, holes = block
            if len(holes):
                numbers = numbers + torch.searchsorted(holes, numbers, right=True)
            rows = torch.searchsorted(starts, numbers, right=True) - 1
            found[:, where] = torch.stack([nodes[rows], nodes[first[rows] + numbers - starts[rows]]])
        return found


class DeviceFlippedGraphs(NoisyGraphs):
    """Copies as flips on a device: their edges are listed there."""

    _draw: DeviceFlippedDraw

    def __init__(self, sites: Sites, draw: DeviceFlippedDraw, clean: CleanEdges) -> None:
        super().__init__(sites, draw)
        self._clean = clean

    @override
    def edges(self) -> EdgeList:
        n, ends = self.frame.n_nodes, self._listed().cpu().numpy()
        ends = ends[:, np.argsort(ends[0] // n, kind="stable")]
        starts = np.searchsorted(ends[0] // n, np.arange(len(self) + 1))
        u, v = np.sort(ends % n, axis=0)
        return EdgeList(starts, u, v)

    @override
    def degrees(self) -> npt.NDArray[np.int32]:
        return self.degrees_on(torch.device("cpu")).numpy()

    @override
    def degrees_on(self, device: torch.device) -> torch.Tensor:
        n, ends = self.frame.n_nodes, self._listed()
        counts = torch.bincount(ends.flatten(), minlength=len(self) * n)
        return counts.view(len(self), n).to(torch.int32).to(device)

    @override
    def edge_index_on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """All edges, then all of them back."""
        n, ends = self.frame.n_nodes, self._listed()
        batch = torch.arange(len(self), device=ends.device).repeat_interleave(n)
        return torch.cat([ends, ends.flip(0)], dim=1).to(device), batch.to(device)

    @override
    def edge_data_on(self, name: str, device: torch.device) -> torch.Tensor:
        u, v = np.sort((self._listed() % self.frame.n_nodes).cpu().numpy(), axis=0)
        numbers = torch.from_numpy(self._edge_numbers(name, EdgeList(np.empty(0, dtype=np.int64), u, v))).to(device)
        return torch.cat([numbers, numbers])

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


class DeviceFlipSampler(BlockSampler):
    """Draws the flips of sites that are all bits on a device, pool by pool."""

    def __init__(self, sites: Sites, pools: Sequence[Pool], device: str) -> None:
        self.device, self._n_sites, self._nonzero = torch.device(device), sites.n_sites, sites.nonzero
        self._pools = [_DevicePool(pool, self.device) for pool in pools if pool.n_sites and pool.p > 0]
        self.rows = max(1, MAX_NUMBERS // max(1, int(sum(pool.numbers for pool in self._pools))))
        self.most = int(MAX_FLIPS / (1 + sum(pool.flips for pool in pools)))

    @override
    def _joined_blocks(
        self, stream: WordStream, generator: torch.Generator, blocks: Sequence[int]
    ) -> DeviceFlippedDraw:
        lengths, positions = [], []
        for copies in blocks:
            found = [pool.draw(stream, generator, copies) for pool in self._pools]
            empty = torch.empty(0, dtype=torch.int64, device=self.device)
            keys = torch.cat([empty, *(copy * self._n_sites + position for copy, position in found)]).sort().values
            copy = torch.div(keys, self._n_sites, rounding_mode="floor")
            lengths.append(torch.bincount(copy, minlength=copies).cpu().numpy())
            positions.append(keys - copy * self._n_sites)
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return DeviceFlippedDraw(self._n_sites, self._nonzero, starts, torch.cat(positions))


class _DevicePool:
    """Draws the flips of one pool."""

    def __init__(self, pool: Pool, device: torch.device) -> None:
        self._pool, self._device = pool, device
        only = pool.only
        each = pool.p > MAX_SHARE or (only is not None and pool.n_sites <= MAX_LISTED)
        if each and only is None:
            only = np.setdiff1d(np.arange(pool.first, pool.first + pool.size), pool.but, assume_unique=True)
        law = [(1 - Fraction(pool.p), Fraction(pool.p))]
        self._laws = DeviceLaws(law, np.zeros(pool.n_sites, dtype=np.int64), device) if each else None
        self._only = None if only is None else torch.tensor(only, device=device)
        self._but = torch.tensor(np.sort(pool.but) - pool.first, device=device)
        self.numbers = pool.n_sites if each else pool.flips + 1

    def draw(self, stream: WordStream, generator: torch.Generator, copies: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Copy and position of every flip."""
        pool = self._pool
        if self._laws is not None:
            copy, number = self._laws.draw(generator, copies).nonzero(as_tuple=True)
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
