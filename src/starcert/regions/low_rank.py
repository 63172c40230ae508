"""Regions by what a few eigenvectors tell of a graph: attacks tend to leave a residual of high rank."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph, Partition
from starcert.regions.builder import Builder
from starcert.regions.listing import listed_against_rest
from starcert.regions.numbers import positive, share, whole
from starcert.regions.rule import RegionRule, canonical_order

__all__ = ["BUILDER", "REGIONS", "low_rank", "residuals"]

_WHY = (
    "Attacks on graphs show in the small singular values of the adjacency (Entezari et al. 2020): node pairs that a "
    "low-rank approximation does not explain are given another noise than those that it does."
)
_REASON = "The residual of the low-rank approximation was computed from the edges of the clean graph."
REGIONS = ("residual", "captured")

MOST_NODES = 4096
"""The most nodes of a graph: the adjacency is decomposed as a dense matrix."""

_DECIMALS = 9


def low_rank(rank: int = 5, *, quantile: float | None = None, threshold: float | None = None) -> RegionRule:
    """Regions of the pairs that a low-rank approximation of the adjacency misses (`residual`) or not (`captured`).

    With A the adjacency and A_r its best approximation of rank r, that of the singular values, the residual of a pair
    is |A − A_r| there. It is computed from the edges: anchored.

    Always the same answer, whatever the order of the nodes: singular values as large as the r-th are kept all, even
    if the rank becomes larger than r, for no choice among them is better than another; residuals are compared
    in 9 decimals. At most 4,096 nodes.

    Args:
        rank: how many singular values are kept, 1 or more.
        quantile: the share of the pairs that are captured at least: residual are those above the residual that this
            share of the pairs does not exceed; equal ones are captured. By default 0.9, unless there is a threshold.
        threshold: instead of a quantile, the least residual of the region.

    Example:
        >>> star = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4), (3, 4)])
        >>> low_rank(2, threshold=0.3)(star).sites(star).sizes
        (1, 9)
    """
    rank = whole(rank, "rank", 1)
    if quantile is not None and threshold is not None:
        raise InvalidParameterError("threshold", "be left out where there is a quantile", threshold)
    if threshold is not None:
        threshold = positive(threshold, "threshold")
    else:
        quantile = share(0.9 if quantile is None else quantile, "quantile")
    return RegionRule(
        "low_rank",
        {"rank": rank, "quantile": quantile, "threshold": threshold},
        REGIONS,
        partial(_divide, rank=rank, quantile=quantile, threshold=threshold),
        _WHY,
        _REASON,
    )


def _divide(graph: Graph, *, rank: int, quantile: float | None, threshold: float | None) -> Partition:
    u, v = np.triu_indices(graph.n_nodes, 1)
    found = residuals(graph, rank)[u, v]
    if threshold is not None:
        missed = found >= threshold
    elif quantile is not None and len(found):
        cut = np.sort(found)[max(0, int(np.ceil(quantile * len(found) - 1e-9)) - 1)]
        missed = found > cut
    else:
        missed = np.zeros(0, dtype=np.bool_)
    few = missed if 2 * missed.sum() <= len(missed) else ~missed
    listed, rest = REGIONS if few is missed else REGIONS[::-1]
    return listed_against_rest(graph, np.stack([u[few], v[few]], axis=1), listed, rest, REGIONS)


def residuals(graph: Graph, rank: int) -> npt.NDArray[np.float64]:
    """|A − A_r| of every node pair, in 9 decimals; rows and columns as the nodes of the graph."""
    if graph.n_nodes > MOST_NODES:
        raise StarcertError(
            f"low_rank decomposes a dense matrix and takes graphs of at most {MOST_NODES:,} nodes, not {graph!r}. "
            "Choose regions that are described by node sets, such as communities."
        )
    # In the order of the names, so that rounding is the same however the nodes are listed.
    order = np.array(canonical_order(graph), dtype=np.int64)
    adjacency = graph.to_numpy()[np.ix_(order, order)].astype(np.float64)
    values, vectors = np.linalg.eigh(adjacency)  # symmetric: singular values are the sizes of the eigenvalues
    sizes = np.abs(values)
    least: float = np.sort(sizes)[::-1][:rank].min(initial=np.inf)
    kept = sizes >= least - 1e-8 * max(1.0, sizes.max(initial=0.0))
    missing = np.round(np.abs(adjacency - (vectors[:, kept] * values[kept]) @ vectors[:, kept].T), _DECIMALS)
    placed = np.empty((graph.n_nodes, graph.n_nodes))
    placed[np.ix_(order, order)] = missing
    return placed


BUILDER = Builder(
    "low_rank", low_rank, ", ".join(REGIONS), _WHY, _REASON, {"rank": int, "quantile": float, "threshold": float}
)
