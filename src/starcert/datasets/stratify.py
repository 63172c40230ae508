"""Indices of labelled things, dealt out so that every part has its share of every class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError

__all__ = ["check_count", "folds", "parts"]

Indices = npt.NDArray[np.int64]


def folds(labels: Indices, k: int, seed: int) -> list[tuple[Indices, Indices]]:
    """The (training, test) indices of a stratified k-fold cross-validation, each ascending.

    Every index is tested once. Between two folds the sizes, and the counts of each class, differ by one at most.

    Example:
        >>> [test.tolist() for _, test in folds(np.array([0, 0, 1, 1]), 2, seed=1)]
        [[0, 2], [1, 3]]
    """
    check_count(k, "k", least=2)
    if k > len(labels):
        raise InvalidParameterError("k", f"not be more than the {len(labels)} graphs", k)
    # Class after class, dealt like cards: a class goes on where the one before it stopped.
    order = np.concatenate(_shuffled_classes(labels, _generator(seed)))
    home = np.empty(len(labels), dtype=np.int64)
    home[order] = np.arange(len(labels)) % k
    return [(np.flatnonzero(home != fold), np.flatnonzero(home == fold)) for fold in range(k)]


def parts(labels: Indices, fractions: Sequence[float], seed: int) -> list[Indices]:
    """The indices of disjoint parts with these fractions of everything, each in random order.

    A class with m members gives m · fraction of them to each part, rounded up or down; which of the two is chosen so
    that the sizes of the parts come out even as well.

    Example:
        >>> [len(part) for part in parts(np.repeat([0, 1], [63, 125]), (0.8, 0.1, 0.1), seed=0)]
        [150, 19, 19]
    """
    shares = _as_shares(fractions)
    rng = _generator(seed)
    classes = _shuffled_classes(labels, rng)
    dealt: list[list[Indices]] = [[np.empty(0, dtype=np.int64)] for _ in shares]
    for members, counts in zip(classes, _rounded(shares, [len(members) for members in classes]), strict=True):
        for part, piece in zip(dealt, np.split(members, np.cumsum(counts)[:-1]), strict=True):
            part.append(piece)
    return [rng.permutation(np.concatenate(part)) for part in dealt]


def _rounded(shares: npt.NDArray[np.float64], sizes: Sequence[int]) -> Indices:
    """Whole numbers near size · share, a row for each class, that add up to the sizes."""
    exact = np.outer(sizes, shares)
    counts = np.floor(exact + 1e-9).astype(np.int64)  # 0.7 · 10 is a little less than 7
    rest = np.clip(exact - counts, 0, None)
    wanted = rest.sum(axis=0)
    # What rounding down left over goes to the parts that still want most. A whole number is not rounded up, so the
    # classes with the fewest parts to choose from choose first.
    for row in np.argsort((rest > 1e-9).sum(axis=1), kind="stable"):
        order = np.lexsort([-rest[row], -np.where(rest[row] > 1e-9, wanted, -np.inf)])
        lucky = order[: sizes[row] - int(counts[row].sum())]
        counts[row, lucky] += 1
        wanted[lucky] -= 1
    return counts


def check_count(value: object, name: str, *, least: int) -> None:
    """Refuses what is no whole number, or one below `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidParameterError(name, f"be a whole number, {least} or more", value)


def _generator(seed: int) -> np.random.Generator:
    check_count(seed, "seed", least=0)
    return np.random.default_rng(seed)


def _shuffled_classes(labels: Indices, rng: np.random.Generator) -> list[Indices]:
    return [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]


def _as_shares(fractions: Sequence[float]) -> npt.NDArray[np.float64]:
    numbers = list(fractions)
    right = all(isinstance(number, Real) and 0 <= number <= 1 for number in numbers)
    if not (right and math.isclose(sum(numbers), 1, abs_tol=1e-9)):
        raise InvalidParameterError("fractions", "be numbers from 0 to 1 that add up to 1", fractions)
    return np.array(numbers, dtype=float)
