"""The trade-off front: which of many candidates no other one beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["beaten_by"]


def beaten_by(criteria: Sequence[Sequence[float]]) -> list[int | None]:
    """For each candidate, the first one of the front that beats it; None if it is on the front: none beats it.

    One candidate beats another if it is at least as good by every criterion and better by one. Equals do not beat each
    other. More is better. Whoever is beaten is beaten by one that none beats.

    Args:
        criteria: for each candidate, a number for each criterion.

    Example:
        >>> beaten_by([(0.8, 1), (0.8, 2), (0.9, 1), (0.8, 3)])
        [2, 3, None, None]
    """
    if not len(criteria):
        return []
    rows = np.asarray(criteria, dtype=np.float64)
    beating = [(rows >= row).all(axis=1) & (rows > row).any(axis=1) for row in rows]
    front = ~np.array([each.any() for each in beating])
    return [int(np.argmax(each & front)) if each.any() else None for each in beating]
