"""Regions by a number that each node pair has: the common features of its nodes, or what a low rank leaves over.

The regions share all node pairs of a graph: the smaller one is listed, the larger one is all the others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from starcert.objects import Graph, Partition
from starcert.objects.layers import Indices
from starcert.objects.regions.builder import Builder, RegionRule, canonical_order, positive, share
from starcert.objects.regions.nodes import data_of
from starcert.objects.site_sets import Across, Inside, Pairs, PairSet, Within
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

__all__ = [
    "FEATURE_REGIONS",
    "LOW_RANK",
    "MOST_LISTED",
    "RANK_REGIONS",
    "SIMILAR_FEATURES",
    "listed_against_rest",
    "low_rank",
    "residuals",
    "similar_features",
    "too_many",
]

MOST_LISTED = 1_000_000
"""The most node pairs that are listed one by one: each takes a few hundred bytes."""


def listed_against_rest(graph: Graph, pairs: Indices, listed: str, rest: str, order: tuple[str, str]) -> Partition:
    """A region of these pairs and a region of all others.

    Args:
        graph: the graph.
        pairs: node indices, one pair a row, each once.
        listed: the region of the pairs.
        rest: the region of the others.
        order: both regions, in the order that the partition has them.

    Example:
        >>> import numpy as np
        >>> graph = Graph(4, [])
        >>> partition = listed_against_rest(graph, np.array([[0, 2]]), "few", "many", ("many", "few"))
        >>> partition, partition.sites(graph).sizes
        (Partition(many, few), (5, 1))
    """
    if len(pairs) > MOST_LISTED:
        raise too_many(listed, rest)
    named = frozenset(frozenset((graph.nodes[u], graph.nodes[v])) for u, v in pairs.tolist())
    parts: dict[str, PairSet] = {listed: Pairs(named), rest: Inside(frozenset(graph.nodes), named)}
    return Partition(tuple((region, parts[region]) for region in order))


def too_many(one: str, other: str) -> StarcertError:
    """The error where neither region is small enough to be listed."""
    return StarcertError(
        f"The regions {one} and {other} both have more than {MOST_LISTED:,} node pairs, too many to be listed. "
        "Choose a threshold or a quantile that leaves fewer in one of them, or regions that are described by node sets."
    )


FEATURE_REGIONS = ("alike", "unlike")

_CHUNK = 2_000_000


def similar_features(threshold: float = 0.01, *, attribute: str = "x") -> RegionRule:
    """Regions of the pairs whose features have a Jaccard index of at least a threshold (`alike`), or less (`unlike`).

    The Jaccard index of two nodes is the number of features that both have, over the number that one of them has;
    that of two nodes without any feature is 1, for they are equal. It follows from the features alone, which no attack
    on edges changes: not anchored.

    Where being alike is transitive, as for labels, the regions are described by node sets, however large the graph.
    Otherwise the smaller region is listed.

    Args:
        threshold: from 0, where all pairs are alike, to 1, where only nodes with equal features are. The default
            takes out the pairs with nothing, or next to nothing, in common.
        attribute: the node data with the features: a row of zeros and ones for each node.

    Example:
        >>> import numpy as np
        >>> x = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> graph = Graph(4, [], node_data={"x": x})
        >>> [part.sites(graph).sizes for part in (similar_features(0.5)(graph), similar_features(0.6)(graph))]
        [(2, 4), (0, 6)]
    """
    threshold = share(threshold, "threshold")
    if not isinstance(attribute, str) or not attribute:
        raise InvalidParameterError("attribute", "be the name of node data", attribute)
    return SIMILAR_FEATURES.rule(
        {"threshold": threshold, "attribute": attribute},
        FEATURE_REGIONS,
        partial(_divide_by_features, threshold=threshold, attribute=attribute),
    )


def _divide_by_features(graph: Graph, *, threshold: float, attribute: str) -> Partition:
    features = _features(graph, attribute)
    # Nodes with equal features are alike, and alike to the same nodes: only different rows are compared.
    kinds, kind_of = np.unique(features, axis=0, return_inverse=True)
    kind_of = kind_of.ravel()
    cuts = np.cumsum(np.bincount(kind_of, minlength=len(kinds)))[:-1]
    members = np.split(np.argsort(kind_of, kind="stable"), cuts) if len(kinds) else []
    alike, unlike = _compare(kinds, threshold)
    groups = _transitive(len(kinds), alike, unlike)
    if groups is not None:
        sets = tuple(frozenset(graph.nodes[i] for kind in group for i in members[kind]) for group in groups)
        return Partition(((FEATURE_REGIONS[0], Within(sets)), (FEATURE_REGIONS[1], Across(sets))))
    sizes = np.array([len(nodes) for nodes in members])
    n_alike, n_unlike = (None if rows is None else int(sizes[rows].prod(axis=1).sum()) for rows in (alike, unlike))
    inside = int((sizes * (sizes - 1) // 2).sum())
    if unlike is not None and n_unlike is not None and (n_alike is None or n_unlike <= n_alike + inside):
        _refuse_many(n_unlike)
        return _by_features(
            listed_against_rest(
                graph, _between(members, unlike), FEATURE_REGIONS[1], FEATURE_REGIONS[0], FEATURE_REGIONS
            )
        )
    if alike is None or n_alike is None:
        raise too_many(*FEATURE_REGIONS)
    _refuse_many(n_alike + inside)
    own = [np.stack(np.triu_indices(len(nodes), 1), axis=1) for nodes in members]
    pairs = [nodes[rows] for nodes, rows in zip(members, own, strict=True)]
    listed = np.concatenate([_between(members, alike), *pairs])
    return _by_features(listed_against_rest(graph, listed, *FEATURE_REGIONS, order=FEATURE_REGIONS))


def _by_features(partition: Partition) -> Partition:
    """The partition with our word for it: pairs that are alike may happen to be the edges, but were not read there."""
    return replace(partition, anchored=False)


def _refuse_many(size: int) -> None:
    if size > MOST_LISTED:
        raise too_many(*FEATURE_REGIONS)


def _between(members: list[Indices], kinds: Indices) -> Indices:
    """All node pairs between pairs of kinds."""
    pairs = [np.stack(np.meshgrid(members[a], members[b]), axis=-1).reshape(-1, 2) for a, b in kinds.tolist()]
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])


def _compare(kinds: npt.NDArray[np.float32], threshold: float) -> tuple[Indices | None, Indices | None]:
    """The pairs of different kinds that are alike, and those that are not; None for too many."""
    counts = kinds.sum(axis=1).astype(np.int64)
    found: list[list[Indices] | None] = [[], []]
    sizes = [0, 0]
    step = max(1, _CHUNK // max(1, len(kinds)))
    for start in range(0, len(kinds), step):
        rows = np.arange(start, min(start + step, len(kinds)))
        common = np.rint(kinds[rows] @ kinds.T).astype(np.int64)
        union = counts[rows, None] + counts - common
        # The quotient of two whole numbers is the float nearest to it: 1/3 is at least the threshold 1/3.
        is_alike = common / np.maximum(union, 1) >= threshold
        later = rows[:, None] < np.arange(len(kinds))
        for which, mask in enumerate((is_alike & later, ~is_alike & later)):
            sizes[which] += int(mask.sum())
            so_far = found[which]
            if so_far is None or sizes[which] > MOST_LISTED:
                found[which] = None
            else:
                so_far.append(np.argwhere(mask) + np.array([start, 0]))
    none = np.empty((0, 2), dtype=np.int64)
    alike, unlike = (None if parts is None else np.concatenate([none, *parts]) for parts in found)
    return alike, unlike


def _transitive(n_kinds: int, alike: Indices | None, unlike: Indices | None) -> list[list[int]] | None:
    """The groups of kinds that are all alike, if kinds of different groups never are; else None."""
    if unlike is not None and not len(unlike):
        return [list(range(n_kinds))]
    if alike is None:
        return None
    from scipy import sparse  # noqa: PLC0415  (takes its time)

    links = sparse.coo_array((np.ones(len(alike)), tuple(alike.T)), shape=(n_kinds, n_kinds))
    n_groups, group_of = sparse.csgraph.connected_components(links, directed=False)
    sizes = np.bincount(group_of, minlength=n_groups)
    if int((sizes * (sizes - 1) // 2).sum()) != len(alike):
        return None
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    for kind, group in enumerate(group_of.tolist()):
        groups[group].append(kind)
    return groups


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
        raise InvalidParameterError(
            f"node_data[{attribute}]",
            "hold zeros and ones, for the Jaccard index compares sets of features",
            f"{rows[node, column].item()!r} at node {graph.nodes[node]!r}",
            "Store features cut at a threshold of your choice as other node data, and name those.",
        )
    return rows.astype(np.float32)


SIMILAR_FEATURES = Builder(
    "similar_features",
    similar_features,
    ", ".join(FEATURE_REGIONS),
    why="Attackers tend to join nodes that have few features in common (Wu et al. 2019): give those pairs more noise, "
    "and edges between like nodes keep their information.",
    kinds={"threshold": float, "attribute": str},
)


RANK_REGIONS = ("residual", "captured")


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
    rank = whole_number("rank", rank, 1)
    if quantile is not None and threshold is not None:
        raise InvalidParameterError("threshold", "be left out where there is a quantile", threshold)
    if threshold is not None:
        threshold = positive(threshold, "threshold")
    else:
        quantile = share(0.9 if quantile is None else quantile, "quantile")
    return LOW_RANK.rule(
        {"rank": rank, "quantile": quantile, "threshold": threshold},
        RANK_REGIONS,
        partial(_divide_by_residual, rank=rank, quantile=quantile, threshold=threshold),
    )


def _divide_by_residual(graph: Graph, *, rank: int, quantile: float | None, threshold: float | None) -> Partition:
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
    listed, rest = RANK_REGIONS if few is missed else RANK_REGIONS[::-1]
    return listed_against_rest(graph, np.stack([u[few], v[few]], axis=1), listed, rest, RANK_REGIONS)


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


LOW_RANK = Builder(
    "low_rank",
    low_rank,
    ", ".join(RANK_REGIONS),
    why="Attacks on graphs show in the small singular values of the adjacency (Entezari et al. 2020): node pairs that "
    "a low-rank approximation does not explain are given another noise than those that it does.",
    reason="The residual of the low-rank approximation was computed from the edges of the clean graph.",
    kinds={"rank": int, "quantile": float, "threshold": float},
)
