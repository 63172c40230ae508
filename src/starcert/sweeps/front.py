"""The trade-off front: which of many candidates no other one beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["beaten_by"]


def beaten_by(criteria: Sequence[Sequence[float]]) -> list[int | None]:
    """For each candidate, the first one that beats it; None if none does: it is then on the front.

    One candidate beats another if it is at least as good by every criterion and better by one. Equals do not beat each
    other. More is better.

    Args:
        criteria: for each candidate, a number for each criterion.

    Example:
        >>> beaten_by([(0.9, 1), (0.8, 3), (0.8, 2), (0.9, 1)])
        [None, None, 1, None]
    """
    if not len(criteria):
        return []
    rows = np.asarray(criteria, dtype=np.float64)
    found: list[int | None] = []
    for row in rows:
        beating = np.flatnonzero((rows >= row).all(axis=1) & (rows > row).any(axis=1))
        found.append(int(beating[0]) if beating.size else None)
    return found
