"""Intervals over the choice of graphs: for a share, for a mean, and for differences on the same graphs.

Each holds with probability 1 − INTERVAL, by itself. Those of shares are exact (Clopper–Pearson); that of a mean is
Student's, which holds for many graphs.

A difference of shares is (b − c)/n, where b graphs have what is counted in the second case alone, and c in the first
alone. Both have exact limits at INTERVAL/4 on each side, whose differences bound it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from starcert.math.limits import upper_limit

__all__ = ["INTERVAL", "difference_interval", "mean_interval", "paired_difference", "share_interval"]

INTERVAL = Fraction(1, 20)
"""Intervals fail with this probability, over the choice of graphs."""


def share_interval(count: int, total: int, alpha: Fraction = INTERVAL) -> tuple[float, float]:
    """An interval for the share that `count` of `total` graphs estimate, exact (Clopper–Pearson), alpha/2 a side.

    Example:
        >>> [round(end, 3) for end in share_interval(45, 60)]
        [0.621, 0.853]
    """
    return 1 - upper_limit(total - count, total, alpha / 2), upper_limit(count, total, alpha / 2)


def paired_difference(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """The difference of two shares of the same graphs, and an interval for it that holds with probability 1 − INTERVAL.

    Example:
        >>> by, low, high = paired_difference(np.arange(100) < 50, np.arange(100) < 70)
        >>> round(by, 2), low < 0.2 < high, low > 0
        (0.2, True, True)
    """
    return difference_interval(int((after & ~before).sum()), int((before & ~after).sum()), len(before))


def difference_interval(gained: int, lost: int, total: int) -> tuple[float, float, float]:
    """The same from its numbers: graphs that are counted in the second case alone, in the first alone, and all."""
    (least_gained, most_gained), (least_lost, most_lost) = (
        share_interval(count, total, INTERVAL / 2) for count in (gained, lost)
    )
    return (gained - lost) / total, least_gained - most_lost, most_gained - least_lost


def mean_interval(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """The mean of one number for each graph, and Student's interval for it; of a single graph it is endless.

    Example:
        >>> [round(number, 2) for number in mean_interval(np.array([1.0, 2.0, 3.0, 4.0]))]
        [2.5, 0.45, 4.55]
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, -math.inf, math.inf
    half = float(stdtrit(len(values) - 1, float(1 - INTERVAL / 2)) * values.std(ddof=1) / math.sqrt(len(values)))
    return mean, mean - half, mean + half
