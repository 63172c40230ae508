"""Values of any alphabet, such as types of edges and categories of nodes, drawn and kept on a torch device.

Every value is exact: a uniform number of 63 binary digits is compared with the sums of the probabilities of values. A
number that agrees with a sum in all of them (one in 10¹⁹) is brought here and goes on with further digits until it is
told apart, however many digits the sum has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from starcert.sampling.batch import EdgeList
from starcert.sampling.device import DIGITS, DeviceGraphs, DeviceRows, replaced_entries, taken_rows
from starcert.sampling.draws import ValueDraw

if TYPE_CHECKING:
    from starcert.math.flips import Flips
    from starcert.sampling.draws import Nonzero

__all__ = ["DeviceValueDraw", "DeviceValueSampler", "DeviceValuedGraphs"]


@dataclass(frozen=True, slots=True)
class DeviceValueDraw:
    """Values of copies on a device, bytes of shape (copies, sites)."""

    shown: torch.Tensor

    def __len__(self) -> int:
        return int(self.shown.shape[0])

    def __getitem__(self, samples: slice) -> DeviceValueDraw:
        return DeviceValueDraw(self.shown[samples])

    def taken(self, copies: npt.NDArray[np.int64]) -> DeviceValueDraw:
        """See `Draw`."""
        return DeviceValueDraw(taken_rows(self.shown, copies))

    def replaced(
        self, copies: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], values: npt.NDArray[np.uint8]
    ) -> DeviceValueDraw:
        """See `Draw`."""
        return DeviceValueDraw(replaced_entries(self.shown, copies, positions, values))

    def part(self, start: int, stop: int) -> DeviceValueDraw:
        """See `Draw`."""
        return DeviceValueDraw(self.shown[:, start:stop])

    @property
    def bits(self) -> torch.Tensor:
        """Which sites are not 0."""
        return self.shown > 0

    @property
    def values(self) -> npt.NDArray[np.uint8]:
        """See `Draw`: brought here."""
        values: npt.NDArray[np.uint8] = self.shown.cpu().numpy()
        return values

    def flips_of(self, copies: npt.NDArray[np.int64], nonzero: Nonzero) -> Flips:
        """See `Draw`: only these copies come here."""
        some = taken_rows(self.shown, copies)
        return ValueDraw(some.cpu().numpy()).flips_of(np.arange(len(copies)), nonzero)


class DeviceValuedGraphs(DeviceGraphs):
    """Copies of a graph whose edges have types, or whose nodes have categories, on a device."""

    @property
    def by_target(self) -> bool:
        """See `NoisyGraphs`."""
        return super().by_target and not self.frame.type_names

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the edges, brought here."""
        edges = super().edges()
        return edges._replace(types=self._types().cpu().numpy()) if self.frame.type_names else edges

    def typed_adjacency_on(self, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`: nothing leaves the device."""
        entries, n, drawn = self.places.entries, self.frame.n_nodes, self._edge_draw.shown
        if entries is None:
            return super().typed_adjacency_on(device)
        found = torch.nn.functional.pad(drawn, (0, 2)).index_select(1, entries).view(len(self), n, n)
        u, v = self.places.fixed
        fixed = torch.tensor(self._sites.fixed_types, dtype=torch.uint8, device=drawn.device)
        found[:, u, v] = fixed
        if not self.frame.directed:
            found[:, v, u] = fixed
        return found.to(device)

    def edge_types_on(self, device: torch.device) -> torch.Tensor:
        """See `NoisyGraphs`: in the order of `edge_index_on`."""
        types = self._types()
        return (types if self.frame.directed else torch.cat([types, types])).to(device)

    def _types(self) -> torch.Tensor:
        """The type of every edge, in the order in which edges are listed: fixed ones first in every copy."""
        drawn: torch.Tensor = self._edge_draw.shown
        fixed = torch.tensor(self._sites.fixed_types, dtype=torch.uint8, device=drawn.device)
        shown = torch.cat([fixed.expand(len(self), len(fixed)), drawn], dim=1)
        return shown[shown > 0]


class DeviceValueSampler(DeviceRows[DeviceValueDraw]):
    """Draws values on a device.

    Args:
        laws: the different laws of sites, each as the probabilities of its values from 0 on, exactly.
        law: for each site the place of its law among them.
        device: where to draw, as torch names it.
    """

    def __init__(self, laws: Sequence[Sequence[Fraction]], law: npt.NDArray[np.integer], device: str) -> None:
        super().__init__(law.size, device)
        longest = max(map(len, laws), default=1)
        self._sums = [[*accumulate(each[:-1]), *[Fraction(1)] * (longest - len(each))] for each in laws]
        self._law = law
        # A number is beyond a sum if it is larger than this. One more, and its next digits may yet be below the sum's.
        last = [[int(total * 2**DIGITS) - 1 for total in each] for each in self._sums]
        open_ones = [[(total * 2**DIGITS).denominator > 1 for total in each] for each in self._sums]
        which = torch.tensor(law.astype(np.int64), device=self._device)
        self._last, self._open = (
            torch.tensor(table, dtype=dtype, device=self._device).view(len(laws), -1)[which].T.contiguous()
            for table, dtype in ((last, torch.int64), (open_ones, torch.bool))
        )
        self._any_open = any(map(any, open_ones))

    def _rows(self, generator: torch.Generator, copies: int) -> torch.Tensor:
        number = self._numbers(generator, copies, self._n_sites)
        values = torch.zeros(number.shape, dtype=torch.uint8, device=self._device)
        tied = torch.zeros((), dtype=torch.bool, device=self._device)
        for last, is_open in zip(self._last, self._open, strict=True):
            values += number > last
            if self._any_open:
                tied = tied | ((number == last + 1) & is_open)
        if self._any_open and bool(tied.any()):
            for copy, site in tied.nonzero().tolist():
                values[copy, site] = self._settled(generator, site, int(number[copy, site]))
        return values

    def _kept(self, rows: torch.Tensor) -> DeviceValueDraw:
        return DeviceValueDraw(rows)

    def _numbers(self, generator: torch.Generator, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.int64, device=self._device).random_(generator=generator)

    def _settled(self, generator: torch.Generator, site: int, number: int) -> int:
        """The value of a site whose first digits do not tell it."""
        sums, unit = self._sums[self._law[site]], 2**DIGITS
        while any(Fraction(number, unit) < total < Fraction(number + 1, unit) for total in sums):
            number, unit = number * 2**DIGITS + int(self._numbers(generator, 1)), unit * 2**DIGITS
        return sum(total <= Fraction(number, unit) for total in sums)
