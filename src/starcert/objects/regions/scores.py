"""Regions by a number that each node pair has: the smaller region is listed, the larger one is all other pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from starcert.objects.content import canonical_order
from starcert.objects.graph import Graph
from starcert.objects.layers import Indices
from starcert.objects.partition import Partition
from starcert.objects.regions.builder import RegionRule, builder, check_attribute, check_number, data_of, rule_by
from starcert.objects.site_sets import Across, Inside, Pairs, PairSet, Within
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

FEATURE_REGIONS = ("alike", "unlike")
RANK_REGIONS = ("residual", "captured")

MAX_LISTED = 1_000_000  # at most this many node pairs are listed one by one: each takes a few hundred bytes
MAX_KINDS = 8192  # at most this many different rows of features are compared
MAX_NODES = 4096  # the adjacency of at most this many nodes is decomposed as a dense matrix

_CHUNK, _DECIMALS = 2_000_000, 9


@builder(
    ", ".join(FEATURE_REGIONS),
    why="Attackers tend to join nodes that have few features in common (Wu et al. 2019): give those pairs more noise, "
    "and edges between like nodes keep their information.",
)
def similar_features(threshold: float = 0.01, *, attribute: str = "x") -> RegionRule:
    """Regions of the pairs whose features have a Jaccard index of at least a threshold (`alike`), or less (`unlike`).

    The Jaccard index of two nodes is the number of features that both have, over the number that one of them has; that
    of two nodes without any feature is 1. It follows from the features alone: not anchored. Where being alike is
    transitive, as for labels, graphs may be of any size; otherwise the smaller region is listed.

    Args:
        threshold: from 0, where all pairs are alike, to 1, where only nodes with equal features are.
        attribute: the node data with the features: a row of zeros and ones for each node.

    Example:
        >>> graph = Graph(4, [], node_data={"x": np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])})
        >>> [part.sites(graph).sizes for part in (similar_features(0.5)(graph), similar_features(0.6)(graph))]
        [(2, 4), (0, 6)]
    """
    threshold = check_number(threshold, "threshold", share=True)
    attribute = check_attribute(attribute)
    return rule_by(_divide_by_features, FEATURE_REGIONS, threshold=threshold, attribute=attribute)


def _divide_by_features(graph: Graph, *, threshold: float, attribute: str) -> Partition:
    # Nodes with equal features are alike to the same nodes: only different rows are compared.
    kinds, kind_of = np.unique(_features(graph, attribute), axis=0, return_inverse=True)
    if len(kinds) > MAX_KINDS:
        raise StarcertError(
            f"The regions alike and unlike compare at most {MAX_KINDS:,} different rows of features, not "
            f"{len(kinds):,}. Choose regions that are described by node sets."
        )
    members = [np.flatnonzero(kind_of.ravel() == kind) for kind in range(len(kinds))]
    same = _alike(kinds, threshold)
    if len(kinds):  # being alike is transitive if it is being in the group of the first kind that one is alike to
        group_of = same.argmax(axis=1)
        if (same == (group_of[:, None] == group_of)).all():
            rows = (np.flatnonzero(row) for row in same[np.unique(group_of)])
            groups = (np.concatenate([members[kind] for kind in row]) for row in rows)
            sets = tuple(frozenset(graph.nodes[i] for i in group) for group in groups)
            return Partition((("alike", Within(sets)), ("unlike", Across(sets))))
    sizes, n_pairs = np.array([len(nodes) for nodes in members]), graph.n_nodes * (graph.n_nodes - 1) // 2
    n_same = int(sizes @ same @ sizes - sizes @ same.diagonal()) // 2
    few = 2 * n_same < n_pairs
    _check_size(n_same if few else n_pairs - n_same, FEATURE_REGIONS)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for one, other in np.argwhere(np.triu(same == few)).tolist():
        both = np.stack(np.meshgrid(members[one], members[other]), axis=-1).reshape(-1, 2)
        pairs.append(both[both[:, 0] < both[:, 1]] if one == other else both)
    # Not anchored: pairs that are alike may happen to be the edges, but were not read there.
    listed = _list_few(graph, "alike" if few else "unlike", np.concatenate(pairs), FEATURE_REGIONS)
    return replace(listed, anchored=False)


def _alike(kinds: npt.NDArray[np.float32], threshold: float) -> npt.NDArray[np.bool_]:
    """A truth value for every two rows of features: they have at least this Jaccard index."""
    counts, step = kinds.sum(axis=1).astype(np.int64), max(1, _CHUNK // max(1, len(kinds)))
    alike: npt.NDArray[np.bool_] = np.empty((len(kinds), len(kinds)), dtype=np.bool_)
    for start in range(0, len(kinds), step):
        some = slice(start, start + step)
        common = np.rint(kinds[some] @ kinds.T).astype(np.int64)
        union = counts[some, None] + counts - common
        # The quotient of two whole numbers is the float nearest to it: 1/3 is at least the threshold 1/3.
        alike[some] = (common / np.maximum(union, 1) >= threshold) | (union == 0)
    return alike


def _list_few(graph: Graph, few: str, pairs: Indices, regions: tuple[str, str]) -> Partition:
    """Two regions that share all node pairs: the one called `few` lists its pairs, the other has all others."""
    _check_size(len(pairs), regions)
    named = frozenset(frozenset((graph.nodes[u], graph.nodes[v])) for u, v in pairs.tolist())
    rest = Inside(frozenset(graph.nodes), named)
    parts: list[tuple[str, PairSet]] = [(region, Pairs(named) if region == few else rest) for region in regions]
    return Partition(tuple(parts))


def _check_size(size: int, regions: tuple[str, str]) -> None:
    if size > MAX_LISTED:
        raise StarcertError(
            f"The regions {' and '.join(regions)} both have more than {MAX_LISTED:,} node pairs, too many to list. "
            "Choose a threshold or a quantile that leaves fewer in one of them, or regions described by node sets."
        )


def _features(graph: Graph, attribute: str) -> npt.NDArray[np.float32]:
    """The features as zeros and ones; whole numbers up to 2^24 are exact in float32."""
    try:
        rows = np.asarray(data_of(graph, attribute))
    except ValueError:  # rows of different lengths
        rows = np.empty(graph.n_nodes, dtype=object)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        got = f"{rows.ndim} dimension{'s' * (rows.ndim > 1)} of {rows.dtype}"
        hint = "Labels go to the builder node_labels."
        raise InvalidParameterError(f"node_data[{attribute}]", "hold a row of zeros and ones for each node", got, hint)
    wrong = (rows != 0) & (rows != 1)
    if wrong.any():
        node, column = (int(place) for place in np.argwhere(wrong)[0])
        wanted = "hold zeros and ones, as the Jaccard index compares sets of features"
        got = f"{rows[node, column].item()!r} at node {graph.nodes[node]!r}"
        hint = "Store features cut at a threshold of your choice as other node data, and name those."
        raise InvalidParameterError(f"node_data[{attribute}]", wanted, got, hint)
    return rows.astype(np.float32)


@builder(
    ", ".join(RANK_REGIONS),
    why="Attacks on graphs show in the small singular values of the adjacency (Entezari et al. 2020): node pairs that "
    "a low-rank approximation does not explain are given another noise than those that it does.",
    reason="The residual of the low-rank approximation was computed from the edges of the clean graph.",
)
def low_rank(rank: int = 5, *, quantile: float | None = None, threshold: float | None = None) -> RegionRule:
    """Regions of the pairs that a low-rank approximation of the adjacency misses (`residual`) or not (`captured`).

    With A the adjacency and A_r its best approximation of rank r, that of the singular values, the residual of a pair
    is |A − A_r| there. It is computed from the edges: anchored. At most 4,096 nodes.

    All singular values as large as the r-th are kept, and residuals are compared in 9 decimals: the answer does not
    depend on the order of the nodes.

    Args:
        rank: how many singular values are kept, 1 or more.
        quantile: the share of the pairs that are captured at least. By default 0.9, unless there is a threshold.
        threshold: instead of a quantile, the least residual of the region.

    Example:
        >>> star = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4), (3, 4)])
        >>> low_rank(2, threshold=0.3)(star).sites(star).sizes
        (1, 9)
    """
    rank = whole_number("rank", rank, 1)
    if quantile is not None and threshold is not None:
        raise InvalidParameterError("threshold", "cannot be combined with a quantile.")
    if threshold is not None:
        threshold = check_number(threshold, "threshold")
    else:
        quantile = check_number(0.9 if quantile is None else quantile, "quantile", share=True)
    return rule_by(_divide_by_residual, RANK_REGIONS, rank=rank, quantile=quantile, threshold=threshold)


def _divide_by_residual(graph: Graph, *, rank: int, quantile: float | None, threshold: float | None) -> Partition:
    u, v = np.triu_indices(graph.n_nodes, 1)
    found = residuals(graph, rank)[u, v]
    missed = found >= (np.inf if threshold is None else threshold)
    if quantile is not None and len(found):
        missed = found > np.sort(found)[max(0, int(np.ceil(quantile * len(found) - 1e-9)) - 1)]
    few, region = (missed, "residual") if 2 * missed.sum() <= len(missed) else (~missed, "captured")
    return _list_few(graph, region, np.stack([u[few], v[few]], axis=1), RANK_REGIONS)


def residuals(graph: Graph, rank: int) -> npt.NDArray[np.float64]:
    """|A − A_r| of every node pair, in 9 decimals; rows and columns as the nodes of the graph."""
    if graph.n_nodes > MAX_NODES:
        raise StarcertError(
            f"low_rank decomposes a dense matrix and takes graphs of at most {MAX_NODES:,} nodes, not {graph!r}. "
            "Choose regions that are described by node sets, such as communities."
        )
    # In the order of the names, so that rounding is the same however the nodes are listed.
    order = np.array(canonical_order(graph.nodes), dtype=np.int64)
    adjacency = graph.to_numpy()[np.ix_(order, order)].astype(np.float64)
    values, vectors = np.linalg.eigh(adjacency)  # symmetric: singular values are the sizes of the eigenvalues
    sizes = np.abs(values)
    least: float = np.sort(sizes)[::-1][:rank].min(initial=np.inf)
    kept = sizes >= least - 1e-8 * max(1.0, sizes.max(initial=0.0))
    missing = np.round(np.abs(adjacency - (vectors[:, kept] * values[kept]) @ vectors[:, kept].T), _DECIMALS)
    placed = np.empty((graph.n_nodes, graph.n_nodes))
    placed[np.ix_(order, order)] = missing
    return placed
