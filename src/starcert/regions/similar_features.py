"""Regions by how alike the nodes are: pairs with few common features are where attackers like to add edges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition
from starcert.graphs.layers import Indices
from starcert.graphs.pairsets import Across, Within
from starcert.regions.builder import Builder
from starcert.regions.listing import MOST_LISTED, listed_against_rest, too_many
from starcert.regions.node_labels import data_of
from starcert.regions.numbers import share
from starcert.regions.rule import RegionRule

__all__ = ["BUILDER", "REGIONS", "similar_features"]

_WHY = (
    "Attackers tend to join nodes that have few features in common (Wu et al. 2019): give those pairs more noise, and "
    "edges between like nodes keep their information."
)
REGIONS = ("alike", "unlike")

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
    return RegionRule(
        "similar_features",
        {"threshold": threshold, "attribute": attribute},
        REGIONS,
        partial(_divide, threshold=threshold, attribute=attribute),
        _WHY,
    )


def _divide(graph: Graph, *, threshold: float, attribute: str) -> Partition:
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
        return Partition(((REGIONS[0], Within(sets)), (REGIONS[1], Across(sets))))
    sizes = np.array([len(nodes) for nodes in members])
    n_alike, n_unlike = (None if rows is None else int(sizes[rows].prod(axis=1).sum()) for rows in (alike, unlike))
    inside = int((sizes * (sizes - 1) // 2).sum())
    if unlike is not None and n_unlike is not None and (n_alike is None or n_unlike <= n_alike + inside):
        _refuse_many(n_unlike)
        return _by_features(listed_against_rest(graph, _between(members, unlike), REGIONS[1], REGIONS[0], REGIONS))
    if alike is None or n_alike is None:
        raise too_many(*REGIONS)
    _refuse_many(n_alike + inside)
    own = [np.stack(np.triu_indices(len(nodes), 1), axis=1) for nodes in members]
    pairs = [nodes[rows] for nodes, rows in zip(members, own, strict=True)]
    listed = np.concatenate([_between(members, alike), *pairs])
    return _by_features(listed_against_rest(graph, listed, *REGIONS, order=REGIONS))


def _by_features(partition: Partition) -> Partition:
    """The partition with our word for it: pairs that are alike may happen to be the edges, but were not read there."""
    return replace(partition, anchored=False)


def _refuse_many(size: int) -> None:
    if size > MOST_LISTED:
        raise too_many(*REGIONS)


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


BUILDER = Builder(
    "similar_features", similar_features, ", ".join(REGIONS), _WHY, "", {"threshold": float, "attribute": str}
)
