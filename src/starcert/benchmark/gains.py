"""What a method gains on a blind model, object by object: the difference, its interval, and how likely chance is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from starcert.certificates.paired import paired_difference

Mask = npt.NDArray[np.bool_]


class Gain(NamedTuple):
    """A share that is right and certified, less that which a blind model has right."""

    gain: float
    low: float  # its 95% interval
    high: float
    chance: float  # how likely a method that is no better than the blind model is to gain so much, at most


def gain_of(safe: Mask, blind: Mask, numbers: Sequence[int] | None = None) -> Gain:
    """The gain on objects that are right and certified, given which the blind model has right.

    `numbers` says which objects are the same; None: all differ, and interval and chance are exact. Where splits test
    some of them several times, both are those of the mean over different objects, by its standard error.

    Example:
        >>> gain_of(np.array([True, True, False]), np.array([True, False, False])).chance
        0.5
    """
    if numbers is None or len(set(numbers)) == len(numbers):
        gained, lost = int((safe & ~blind).sum()), int((blind & ~safe).sum())
        return Gain(*paired_difference(blind, safe), float(binom.sf(gained - 1, gained + lost, 0.5)))
    _, places = np.unique(numbers, return_inverse=True)
    times = np.bincount(places)
    sums = np.bincount(places, weights=safe.astype(float) - blind)
    mean = sums.sum() / times.sum()
    error = max(np.sqrt(np.sum((sums - mean * times) ** 2)) / times.sum(), 1e-12)
    gained, lost = int((sums > 0).sum()), int((sums < 0).sum())  # few objects may agree so much that the error is tiny
    chance = max(norm.sf(mean / error), binom.sf(gained - 1, gained + lost, 0.5))
    return Gain(float(mean), float(mean - 1.96 * error), float(mean + 1.96 * error), float(chance))
