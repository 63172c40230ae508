"""The nearest neighbours of nodes by their features: pairs that no attack on edges can change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError, whole_number

_CHUNK = 4_000_000  # similarities that are held at once
_DECIMALS = 9  # similarities that differ by less are ties: sums are rounded differently on other machines


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
    step = max(1, _CHUNK // max(1, rows.shape[0]))
    found = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, rows.shape[0], step):
        nearness = np.round((rows[start : start + step] @ rows.T).toarray(), _DECIMALS)
        for node, near in enumerate(nearness, start):
            others = np.flatnonzero(near > 0)
            others = others[others != node]
            chosen = others[np.argsort(-near[others], kind="stable")[:k]]
            found.append(np.stack([np.minimum(node, chosen), np.maximum(node, chosen)], axis=1))
    return np.unique(np.concatenate(found), axis=0)
