"""Noisy copies kept as the few sites that flipped. For graphs with far more sites than flips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit

from starcert.sampling.batch import EdgeList, NoisyGraphs

if TYPE_CHECKING:
    from starcert.graphs import Sites

__all__ = ["FlippedGraphs"]

Integers = npt.NDArray[np.int64]


class FlippedGraphs(NoisyGraphs):
    """Copies as lists of flipped positions: those of copy i are positions[starts[i] : starts[i + 1]].

    Args:
        sites: the sites of the clean graph.
        ones: the sorted positions of all present edges.
        ends: both node indices of each of them, shape (2, edges).
        starts: where each copy's positions begin, and where the last one's end.
        positions: the flipped positions.
    """

    def __init__(self, sites: Sites, ones: Integers, ends: Integers, starts: Integers, positions: Integers) -> None:
        super().__init__(sites)
        self.ones = ones
        self.ends = ends
        self.starts = starts
        self.positions = positions

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, samples: slice) -> FlippedGraphs:
        start, stop, step = samples.indices(len(self))
        if step != 1:
            raise IndexError("copies are taken in one run: use a slice without a step")
        return FlippedGraphs(
            self.sites, self.ones, self.ends, self.starts[start : max(start, stop) + 1], self.positions
        )

    @property
    def bits(self) -> npt.NDArray[np.uint8]:
        """See `NoisyGraphs`. As large as copies × sites: for small graphs."""
        bits = np.zeros((len(self), self.sites.n_sites), dtype=np.uint8)
        bits[:, self.ones] = 1
        bits[self._copies(), self._flips()] ^= 1
        return bits

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`."""
        flips = self._flips()
        place = np.searchsorted(self.ones, flips)
        place[place == self.ones.size] = 0
        deleted = self.ones[place] == flips if self.ones.size else np.zeros(flips.size, dtype=bool)
        added = np.zeros((2, flips.size), dtype=np.int64)
        added[:, ~deleted] = self.sites.endpoints(flips[~deleted])
        place[~deleted] = -1
        starts = self.starts - self.starts[0]
        return EdgeList(*_list_edges(starts, place, added, self.ends, self.sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        n = self.graph.n_nodes
        clean = np.bincount(self.graph.edges.reshape(-1), minlength=n).astype(np.int32)
        degrees = np.broadcast_to(clean, (len(self), n)).copy()
        flips, copies = self._flips(), self._copies()
        change = np.where(np.isin(flips, self.ones), -1, 1).astype(np.int32)
        for end in self.sites.endpoints(flips):
            np.add.at(degrees, (copies, end), change)
        return degrees

    def _flips(self) -> Integers:
        return self.positions[self.starts[0] : self.starts[-1]]

    def _copies(self) -> Integers:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@njit(cache=True)
def _list_edges(starts, place, added, clean, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fixed edges, present edges that stayed, and added ones, copy by copy; place is −1 for an added edge."""
    n_copies, n_clean, n_fixed = starts.size - 1, clean.shape[1], fixed.shape[0]
    out = np.zeros(n_copies + 1, np.int64)
    for i in range(n_copies):
        size = n_fixed + n_clean
        for k in range(starts[i], starts[i + 1]):
            size += 1 if place[k] < 0 else -1
        out[i + 1] = out[i] + size
    u, v = np.empty(out[-1], np.int64), np.empty(out[-1], np.int64)
    gone = np.zeros(n_clean, np.bool_)
    for i in range(n_copies):
        at = out[i]
        for k in range(n_fixed):
            u[at], v[at] = fixed[k, 0], fixed[k, 1]
            at += 1
        for k in range(starts[i], starts[i + 1]):
            if place[k] < 0:
                u[at], v[at] = added[0, k], added[1, k]
                at += 1
            else:
                gone[place[k]] = True
        for k in range(n_clean):
            if not gone[k]:
                u[at], v[at] = clean[0, k], clean[1, k]
                at += 1
        for k in range(starts[i], starts[i + 1]):
            if place[k] >= 0:
                gone[place[k]] = False
    return out, u, v
