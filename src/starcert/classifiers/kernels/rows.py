"""The copies of a batch as rows of bits: bit j of row i says whether i and j are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["MOST_NODES", "Rows", "adjacency_rows", "bit_count", "lowest_bit"]

MOST_NODES = 64
"""A row is one word."""

Rows = npt.NDArray[np.uint64]


def adjacency_rows(graphs: NoisyGraphs) -> Rows:
    """One word for every node of every copy, shape (copies, nodes). For graphs of at most `MOST_NODES` nodes."""
    edges = graphs.edges()
    rows: Rows = _fill_rows(edges.starts, edges.u, edges.v, graphs.frame.n_nodes)
    return rows


@compiled
def _fill_rows(starts, u, v, n_nodes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    rows = np.zeros((starts.size - 1, n_nodes), np.uint64)
    for copy in range(starts.size - 1):
        for k in range(starts[copy], starts[copy + 1]):
            rows[copy, u[k]] |= np.uint64(1) << np.uint64(v[k])
            rows[copy, v[k]] |= np.uint64(1) << np.uint64(u[k])
    return rows


@compiled
def lowest_bit(word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The place of the lowest 1 of a word that is not 0."""
    return bit_count((word & (~word + np.uint64(1))) - np.uint64(1))


@compiled
def bit_count(word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """How many ones a word has."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
