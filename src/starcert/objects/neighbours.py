"""The nearest neighbours of nodes by their features: pairs that no attack on edges can change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, whole_number

_CHUNK = 4_000_000  # similarities that are held at once
_DECIMALS = 9  # similarities that differ by less are ties: sums are rounded differently on other machines
_LEAST = 0.5 * 10.0**-_DECIMALS  # what is not rounded to 0


def nearest_neighbours(features: npt.ArrayLike, k: int = 10) -> Indices:
    """The pairs (u, v), u < v, of which one is among the k nearest neighbours of the other; rows ascending.

    Nearness is the cosine of two rows. Of equals those with the smaller number are nearer; nodes that have nothing in
    common are not neighbours, however few there are. Nothing but the features is looked at.

    Args:
        features: numbers of 0 or more, a row for each node: words, counts, one-hot labels.
        k: how many neighbours each node chooses; it may be chosen by more.

    Example:
        >>> nearest_neighbours([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]], k=1).tolist()
        [[0, 1], [2, 3]]
    """
    from scipy import sparse  # noqa: PLC0415  (slow to import)

    whole_number("k", k, 1)
    x = np.asarray(features)
    if x.ndim != 2 or x.dtype.kind not in "biuf" or not np.isfinite(x).all() or (x < 0).any():
        got = f"an array of {x.dtype} with shape {x.shape}"
        raise InvalidParameterError("features", "be rows of numbers of 0 or more, one for each node", got)
    lengths = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    rows = sparse.csr_array(x / np.where(lengths > 0, lengths, 1))
    return np.unique(np.sort(nearest_rows(rows, k, least=_LEAST), axis=1), axis=0)


def nearest_rows(rows: Any, k: int, *, least: float = -np.inf) -> Indices:  # noqa: ANN401  (a sparse matrix)
    """For each row the k others with the largest inner product, of at least `least`: pairs of it and another one.

    Of equals those with the smaller number are nearer.
    """
    found = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, rows.shape[0], step := max(1, _CHUNK // max(1, rows.shape[0]))):
        nearness = np.round((rows[start : start + step] @ rows.T).toarray(), _DECIMALS)
        for node, near in enumerate(nearness, start):
            near[node] = -np.inf
            others = np.flatnonzero(near >= max(least, np.partition(near, -k)[-k] if k <= len(near) else -np.inf))
            chosen = others[np.argsort(-near[others], kind="stable")[:k]]
            found.append(np.stack([np.full_like(chosen, node), chosen], axis=1))
    return np.concatenate(found)
