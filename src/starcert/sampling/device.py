"""Noisy copies drawn and kept on a torch device, for classifiers that live there.

Every bit is an exact comparison again: a uniform number of 63 binary digits with the first 63 digits of p, and, where
they agree, with the next ones. (The digits agree once in 10¹⁹ draws; it is looked for nevertheless.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from starcert.errors import StarcertError
from starcert.sampling.batch import EdgeList, NoisyGraphs

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.sampling.streams import WordStream

__all__ = ["DeviceGraphs", "DeviceSampler"]

DIGITS = 63

NUMBERS = 2**26
"""So many random numbers, of eight bytes, are held at a time."""

HELD = 2**32
"""So many noisy bits, of one byte, are held at a time, or those of the copies that are drawn together."""


class DeviceGraphs(NoisyGraphs):
    """Copies as bits on a device, shape (copies, sites).

    Args:
        sites: the sites of the clean graph.
        ends: both node indices of every site, shape (2, sites), on the device.
        fixed: the fixed edges, shape (2, edges), on the device.
        entries: for each entry of an adjacency matrix, row by row, the number of its site, or that of the sites for an
            entry that is always 0, or one more for one that is always 1; on the device.
        bits_there: the noisy bits, on the device.
    """

    def __init__(
        self, sites: Sites, ends: torch.Tensor, fixed: torch.Tensor, entries: torch.Tensor, bits_there: torch.Tensor
    ) -> None:
        super().__init__(sites)
        self.ends = ends
        self.fixed = fixed
        self.entries = entries
        self.bits_there = bits_there

    def __len__(self) -> int:
        return int(self.bits_there.shape[0])

    def __getitem__(self, samples: slice) -> DeviceGraphs:
        return DeviceGraphs(self._sites, self.ends, self.fixed, self.entries, self.bits_there[samples])

    @cached_property
    def bits(self) -> npt.NDArray[np.uint8]:
        """See `NoisyGraphs`: the bits, brought here."""
        return self.bits_there.to(torch.uint8).cpu().numpy()

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the edges, brought here."""
        copy, u, v = (tensor.cpu().numpy() for tensor in self._listed())
        starts = np.searchsorted(copy, np.arange(len(self) + 1))
        return EdgeList(starts, u, v)

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`: the degrees, brought here."""
        return self.degrees_there().cpu().numpy()

    def degrees_there(self) -> torch.Tensor:
        """The degree of every node, shape (copies, nodes), on the device."""
        return self.adjacency_there(torch.uint8).sum(dim=2, dtype=torch.int32)

    def edge_index_there(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The block-diagonal `edge_index` in both directions, and the copy of each node, on the device."""
        n = self.frame.n_nodes
        copy, u, v = self._listed()
        one, other = u + copy * n, v + copy * n
        batch = torch.arange(len(self), device=self.bits_there.device).repeat_interleave(n)
        return torch.stack([torch.cat([one, other]), torch.cat([other, one])]), batch

    def adjacency_there(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Dense adjacency matrices, shape (copies, nodes, nodes), on the device."""
        n = self.frame.n_nodes
        constant = torch.tensor([[False, True]], device=self.bits_there.device).expand(len(self), 2)
        padded = torch.cat([self.bits_there, constant], dim=1)  # a site, or always absent, or always present
        return padded.index_select(1, self.entries).to(dtype).view(len(self), n, n)

    def _listed(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Copy, u and v of every edge, copy by copy."""
        present = self.bits_there
        if self.fixed.shape[1]:
            ones = torch.ones((len(self), self.fixed.shape[1]), dtype=torch.bool, device=present.device)
            present = torch.cat([ones, present], dim=1)
        ends = torch.cat([self.fixed, self.ends], dim=1)
        copy, site = present.nonzero(as_tuple=True)
        return copy, ends[0, site], ends[1, site]


class DeviceSampler:
    """Draws the copies of a chunk on a device. The stream of the chunk seeds the device's own generator.

    Args:
        sites: the sites of the clean graph.
        values: the different flip probabilities.
        law: for each site the place of its probability among them.
        device: where to draw, as torch names it.
    """

    def __init__(
        self, sites: Sites, values: npt.NDArray[np.float64], law: npt.NDArray[np.unsignedinteger], device: str
    ) -> None:
        self._sites = sites
        self._device = torch.device(device)
        ends = np.stack(sites.endpoints(np.arange(sites.n_sites)))
        self._ends = torch.as_tensor(ends, device=self._device)
        self._fixed = torch.as_tensor(np.array(sites.fixed_edges.T), device=self._device)
        entries = np.full((sites.graph.n_nodes,) * 2, sites.n_sites)
        for u, v, column in ((*ends, np.arange(sites.n_sites)), (*sites.fixed_edges.T, sites.n_sites + 1)):
            entries[u, v] = entries[v, u] = column
        self._entries = torch.as_tensor(entries.reshape(-1), device=self._device)
        digits = [_digits(p) for p in values.tolist()]
        places = torch.as_tensor(law.astype(np.int64), device=self._device)
        first, second = torch.tensor(digits, dtype=torch.int64, device=self._device).T
        self._first, self._second = first[places], second[places]
        self._certain = torch.as_tensor(values == 1, device=self._device)[places]
        self._more_digits = bool(any(d[1] for d in digits))
        clean = np.zeros(sites.n_sites, dtype=bool)
        for ones in sites.ones:
            clean[ones] = True
        self._clean = torch.as_tensor(clean, device=self._device)

    def draw(self, stream: WordStream, samples: int) -> NoisyGraphs:
        """So many noisy copies; a function of the stream, the device's kind and torch's version."""
        return next(self._drawn(stream, samples, samples, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[NoisyGraphs]:
        """The first `wanted` of those copies, as many at a time as take some gigabytes."""
        return self._drawn(stream, samples, wanted, max(1, HELD // max(1, self._first.numel())))

    def _drawn(self, stream: WordStream, samples: int, wanted: int, most: int) -> Iterator[NoisyGraphs]:
        generator = torch.Generator(device=self._device)
        generator.manual_seed(int(stream.at_least(1)[0]) >> 1)
        n_sites = self._first.numel()
        rows = max(64, NUMBERS // max(1, n_sites))  # fixed by the graph: the numbers depend on it
        together = -(-most // rows) * rows
        for begin in range(0, wanted, together):
            end = min(begin + together, wanted)
            try:
                parts = [self._bits(generator, min(rows, samples - start)) for start in range(begin, end, rows)]
                bits = parts[0] if len(parts) == 1 else torch.cat(parts)
            except torch.cuda.OutOfMemoryError as error:
                raise StarcertError(
                    f"{end - begin:,} noisy copies with {n_sites:,} sites each do not fit on {self._device}. "
                    "Run it on the CPU, or lower the flip probabilities."
                ) from error
            yield DeviceGraphs(self._sites, self._ends, self._fixed, self._entries, bits[: end - begin])

    def _bits(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        number = torch.empty((copies, self._first.numel()), dtype=torch.int64, device=self._device)
        number.random_(generator=generator)
        flips: torch.Tensor = number < self._first
        if self._more_digits:
            tied = number == self._first
            if bool(tied.any()):
                flips |= tied & (torch.empty_like(number).random_(generator=generator) < self._second)
        flips |= self._certain
        flips ^= self._clean
        return flips


def _digits(p: float) -> tuple[int, int]:
    """The first and the next 63 binary digits of p < 1, as whole numbers; (0, 0) for p = 1."""
    numerator, denominator = p.as_integer_ratio()
    if numerator >= denominator:
        return 0, 0
    first, rest = divmod(numerator << DIGITS, denominator)
    second, beyond = divmod(rest << DIGITS, denominator)
    if beyond:
        raise ValueError(f"a flip probability of {p!r} has more than {2 * DIGITS} binary digits")
    return first, second
