"""Cells of a product of channels in floating point: split in two halves, each listed and sorted once.

The product of several axes has Π(R_i + 1) cells and more, far too many to list. But whatever we ask of them (the mass
with log ratio up to t) is a sum over pairs from two halves of the axes, so it is enough to list each half, sorted, with
running sums. Memory follows the larger half; time follows the sum of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from starcert.math.arithmetic import compiled
from starcert.math.cells import NEGLIGIBLE, Floats, cells_of, count_listed, merged, window
from starcert.math.channels import Product
from starcert.system.errors import InvalidParameterError

__all__ = ["MAX_HALF", "Cells", "HalfKey", "Halves", "count_cells", "halve"]

HalfKey: TypeAlias = tuple[tuple[int, int], ...]
"""What a half is made of: (factor, power) pairs."""

MAX_HALF = 2**24
MAX_PAIRS = 2**26
"""So many pairs of cells are listed to make a half: before equal ratios merge, some three gigabytes."""
MAX_STORED = 2**22
"""So many cells are kept for the next radius, seven floats each."""


class Cells(NamedTuple):
    """Cells in ascending order of log ratio.

    Attributes:
        values: shape (3, n): log ratio, clean mass, attacked mass.
        sums: shape (4, n + 1): entry j is the clean mass of the first j cells, of the others, and the
            attacked mass of the first j cells, of the others. Each is summed from its own end.
    """

    values: Floats
    sums: Floats


@dataclass(slots=True)
class Halves:
    """Lists the two halves of a product for any radius, and remembers what it has listed.

    The smaller half comes first. Tables are shared between radii: a search over radii asks for the same
    halves again and again.
    """

    product: Product
    _tables: dict[HalfKey, Cells] = field(default_factory=dict)
    _stored: int = 0

    def __call__(self, powers: tuple[int, ...]) -> tuple[Cells, Cells]:
        """The two halves of the product for so many attacked sites of each factor."""
        left, right = halve(self.product, powers)
        first = self._tables.get(left) or self._table(left)
        second = self._tables.get(right) or self._table(right)
        return (first, second) if first.values.shape[1] <= second.values.shape[1] else (second, first)

    def _table(self, half: HalfKey) -> Cells:
        cells = self._tables.get(half)
        if cells is None:
            if len(half) <= 1:
                values = np.array([[0.0], [1.0], [1.0]])
                if half:
                    (factor, power) = half[0]
                    values = cells_of(self.product.factors[factor], power)
            else:
                values = _multiply(self._table(half[:-1]).values, self._table(half[-1:]).values)
            cells = Cells(values, _running_sums(values))
            if self._stored > MAX_STORED:  # a cache, not a leak
                self._tables.clear()
                self._stored = 0
            self._tables[half] = cells
            self._stored += values.shape[1]
        return cells


def halve(product: Product, powers: tuple[int, ...]) -> tuple[HalfKey, HalfKey]:
    """Splits the attacked factors into two halves of about equal size, each a tuple of (factor, power).

    A channel and its reverse share their ratios if these are evenly spaced: k1 + k2 decides, so together they have
    R1 + R2 + 1 cells and not (R1 + 1)(R2 + 1). With more than two factors they stay together to profit from it.
    """
    present = tuple([(i, power) for i, power in enumerate(powers) if power])
    if len(present) <= 2 and product.binary:
        return present[:1], present[1:]
    halves, lengths = _balanced(product, powers)
    if max(lengths) > MAX_HALF:
        raise InvalidParameterError(
            "radius",
            f"leave at most {MAX_HALF:,} cells in each half of the axes",
            powers,
            "Lower the radii of the largest axes, or give axes of one kind one flip law: they merge.",
        )
    left, right = (tuple([(i, powers[i]) for i in sorted(half)]) for half in halves)
    return left, right


def count_cells(product: Product, powers: tuple[int, ...]) -> int:
    """How many cells are listed at most for the two halves of a product: what it costs to evaluate a radius.

    Cells with equal ratios count one by one, since they are listed before they merge.
    """
    sizes = {i: _length(product, i, power) for i, power in enumerate(powers) if power}
    if len(sizes) <= 2:
        return sum(sizes.values())
    return sum(math.prod(sizes[i] for i in half) for half in _balanced(product, powers)[0])


def _balanced(product: Product, powers: tuple[int, ...]) -> tuple[tuple[list[int], list[int]], list[int]]:
    """The attacked factors of each half, and how many cells either has at most."""
    units: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for i, power in enumerate(powers):
        if power:
            first = product.reverses[i]
            if first not in units:
                first = i
                units[i], sizes[i] = [], 1
            units[first].append(i)
            sizes[first] += _length(product, i, power) - 1
    halves: tuple[list[int], list[int]] = ([], [])
    lengths = [1, 1]
    for unit in sorted(units, key=sizes.__getitem__, reverse=True):
        smaller = lengths[1] < lengths[0]
        halves[smaller].extend(units[unit])
        lengths[smaller] *= sizes[unit]
    return halves, lengths


def _length(product: Product, factor: int, power: int) -> int:
    """How many cells a factor has at most."""
    if product.factors[factor].binary:
        return _window_length(*product.rounded[factor], power)
    return count_listed(product.factors[factor], power)


@lru_cache(maxsize=2**16)
def _window_length(clean: float, attacked: float, radius: int) -> int:
    (low, high), (low2, high2) = (window(radius, p) for p in (clean, attacked))
    return 1 + min(radius, high - low + high2 - low2 + 1)


def _multiply(left: Floats, right: Floats) -> Floats:
    """All pairs of cells: log ratios add, masses multiply; equal ratios merge, negligible cells go."""
    if left.shape[1] * right.shape[1] > MAX_PAIRS:
        raise InvalidParameterError(
            "radius",
            f"leave at most {MAX_PAIRS:,} pairs of cells in each half of the axes",
            f"{left.shape[1] * right.shape[1]:,}",
            "Lower the radii of the largest axes.",
        )
    masses = (left[1:, :, None] * right[1:, None, :]).reshape(2, -1)
    keep = (masses > NEGLIGIBLE**1.5).any(axis=0)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ belongs to a cell without mass
        log_ratio = np.add.outer(left[0], right[0]).reshape(-1)[keep]
    return merged(log_ratio, masses[:, keep])


@compiled
def _running_sums(values: Floats) -> Floats:
    n = values.shape[1]
    sums = np.zeros((4, n + 1))
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + values[1, i]
        sums[2, i + 1] = sums[2, i] + values[2, i]
    for i in range(n - 1, -1, -1):
        sums[1, i] = sums[1, i + 1] + values[1, i]
        sums[3, i] = sums[3, i + 1] + values[2, i]
    return sums
