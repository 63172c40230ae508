"""The views of noisy graphs kept as the few sites that flipped. For graphs with far more sites than flips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled
from starcert.sampling.batch import EdgeList, NoisyGraphs

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.sampling.draws import FlippedDraw

__all__ = ["FlippedGraphs"]


class FlippedGraphs(NoisyGraphs):
    """Copies as lists of flipped positions.

    Args:
        sites: the sites of the clean graph.
        draw: the flipped positions.
        clean: both node indices of each site whose clean bit is 1, in the order of their positions, shape (2, edges).
    """

    _draw: FlippedDraw

    def __init__(self, sites: Sites, draw: FlippedDraw, clean: npt.NDArray[np.int64]) -> None:
        super().__init__(sites, draw)
        self._clean = clean

    def edges(self) -> EdgeList:
        """See `NoisyGraphs`: the fixed edges, then the others in the order of their sites.

        Were those that the noise added kept apart, the order would tell what the clean graph is.
        """
        ones = self._draw.ones
        starts = self._draw.starts - self._draw.starts[0]
        flips = _sort_each(starts, self._draw.flips)
        place = np.searchsorted(ones, flips)
        deleted = np.append(ones, -1)[place] == flips
        added = np.zeros((2, flips.size), dtype=np.int64)
        added[:, ~deleted] = self._sites.coordinates(flips[~deleted])
        return EdgeList(*_list_edges(starts, place, deleted, added, self._clean, self._sites.fixed_edges))

    def degrees(self) -> npt.NDArray[np.int32]:
        """See `NoisyGraphs`."""
        n = self.frame.n_nodes
        clean = np.bincount(self._sites.graph.edges.reshape(-1), minlength=n).astype(np.int32)
        degrees = np.broadcast_to(clean, (len(self), n)).copy()
        flips, copies = self._draw.flips, self._draw.copies
        change = np.where(np.isin(flips, self._draw.ones), -1, 1).astype(np.int32)
        for end in self._sites.coordinates(flips):
            np.add.at(degrees, (copies, end), change)
        return degrees


@compiled
def _sort_each(starts, positions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The positions of every copy in ascending order."""
    ordered = np.empty_like(positions)
    for i in range(starts.size - 1):
        ordered[starts[i] : starts[i + 1]] = np.sort(positions[starts[i] : starts[i + 1]])
    return ordered


@compiled
def _list_edges(starts, place, deleted, added, clean, fixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fixed edges, then present ones that stayed and added ones merged; place: how many clean ones come before it."""
    n_copies, n_clean, n_fixed = starts.size - 1, clean.shape[1], fixed.shape[0]
    out = np.zeros(n_copies + 1, np.int64)
    for i in range(n_copies):
        size = n_fixed + n_clean
        for k in range(starts[i], starts[i + 1]):
            size += -1 if deleted[k] else 1
        out[i + 1] = out[i] + size
    u, v = np.empty(out[-1], np.int64), np.empty(out[-1], np.int64)
    for i in range(n_copies):
        at, reached = out[i] + n_fixed, 0
        u[out[i] : at], v[out[i] : at] = fixed[:, 0], fixed[:, 1]
        for k in range(starts[i], starts[i + 1]):
            stay = place[k] - reached
            u[at : at + stay], v[at : at + stay] = clean[0, reached : place[k]], clean[1, reached : place[k]]
            at, reached = at + stay, place[k] + deleted[k]
            if not deleted[k]:
                u[at], v[at] = added[0, k], added[1, k]
                at += 1
        u[at : out[i + 1]], v[at : out[i + 1]] = clean[0, reached:], clean[1, reached:]
    return out, u, v
