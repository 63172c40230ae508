"""Cells in floating point: the law of the log ratio of a product of channels, split in two halves.

A *cell* is the set of noisy graphs with one likelihood ratio (R_Q in the paper). The product of several
axes has Π(R_i + 1) cells, far too many to list. But whatever we ask of them (the mass with log ratio up to
t) is a sum over pairs from two halves of the axes, so it is enough to list each half, sorted, with running
sums. Memory follows the larger half; time follows the sum of both.

A region may hold millions of sites, so a binomial is kept only where one of its two sides has mass: the
rest weighs less than `NEGLIGIBLE` on either side, by Bernstein's inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.core.channels import Channel, Product
from starcert.core.compiled import compiled
from starcert.errors import InvalidParameterError

__all__ = ["Cells", "Floats", "HalfKey", "Halves", "count_cells", "halve", "log_ratio_of_count", "window"]

Floats: TypeAlias = npt.NDArray[np.float64]

HalfKey: TypeAlias = tuple[tuple[int, int], ...]
"""What a half is made of: (factor, power) pairs."""

NEGLIGIBLE = 1e-30
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
                    values = _binomial_cells(self.product.factors[factor], power)
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

    A channel and its reverse share their ratios: k1 + k2 decides, so together they have R1 + R2 + 1 cells
    and not (R1 + 1)(R2 + 1). With more than two factors they stay together to profit from it.
    """
    present = tuple([(i, power) for i, power in enumerate(powers) if power])
    if len(present) <= 2:
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
    sizes = {i: 1 + _window_length(*product.rounded[i], power) for i, power in enumerate(powers) if power}
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
            sizes[first] += _window_length(*product.rounded[i], power)
    halves: tuple[list[int], list[int]] = ([], [])
    lengths = [1, 1]
    for unit in sorted(units, key=sizes.__getitem__, reverse=True):
        smaller = lengths[1] < lengths[0]
        halves[smaller].extend(units[unit])
        lengths[smaller] *= sizes[unit]
    return halves, lengths


def window(radius: int, probability: float, bits: float = -math.log2(NEGLIGIBLE)) -> tuple[int, int]:
    """The counts outside of which Bin(radius, probability) has a mass below 2^(1−bits), inclusive.

    Bernstein: P(|k − mean| > w) ≤ 2·exp(−w² / (2·variance + 2w/3)).
    """
    nats = bits * math.log(2)
    mean, variance = radius * probability, radius * probability * (1 - probability)
    width = nats / 3 + math.sqrt(nats**2 / 9 + 2 * variance * nats)
    return max(0, math.floor(mean - width)), min(radius, math.ceil(mean + width))


@lru_cache(maxsize=2**16)
def _window_length(clean: float, attacked: float, radius: int) -> int:
    (low, high), (low2, high2) = (window(radius, p) for p in (clean, attacked))
    return min(radius, high - low + high2 - low2 + 1)


def _binomial_cells(channel: Channel, radius: int) -> Floats:
    """The cells of one axis."""
    clean, attacked = ((float(p), float(1 - p), *window(radius, float(p))) for p in (channel.clean, channel.attacked))
    values: Floats = _binomial_values(radius, *channel.log_ratios, clean, attacked)
    return values


@compiled
def _binomial_values(radius, disagree, agree, clean, attacked):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Log ratio, clean and attacked mass of the counts in either window (p, 1 − p, low, high).

    Away from its own window a side follows from the other one, through the ratio.
    """
    own = _binomial(radius, *clean)
    rival = _binomial(radius, *attacked)
    clean_low, clean_high = clean[2:]
    attacked_low, attacked_high = attacked[2:]  # never to the left of the clean window: a ≤ b
    first_gap, after_gap = clean_high + 1, max(clean_high + 1, attacked_low)
    size = first_gap - clean_low + attacked_high + 1 - after_gap
    values = np.empty((3, size))
    n = 0
    for i in range(size):
        k = clean_low + i if clean_low + i < first_gap else after_gap + i - (first_gap - clean_low)
        log_ratio = log_ratio_of_count(k, radius, disagree, agree)
        in_clean = clean_low <= k <= clean_high
        in_attacked = attacked_low <= k <= attacked_high
        clean_mass = own[k - clean_low] if in_clean else 0.0
        attacked_mass = rival[k - attacked_low] if in_attacked else 0.0
        if not in_clean:
            clean_mass = attacked_mass * np.exp(-log_ratio)
        if not in_attacked:
            attacked_mass = clean_mass * np.exp(log_ratio)
        if clean_mass > 0 or attacked_mass > 0:
            values[0, n], values[1, n], values[2, n] = log_ratio, clean_mass, attacked_mass
            n += 1
    return values[:, :n].copy()


@compiled
def log_ratio_of_count(count: int, radius: int, disagree: float, agree: float) -> float:
    """L(k) for k agreeing bits, from the log ratios of one disagreeing and one agreeing bit.

    0 · ∞ = 0 here: what does not occur has no ratio.
    """
    return (count * agree if count > 0 else 0.0) + ((radius - count) * disagree if count < radius else 0.0)


@compiled
def _binomial(radius: int, p: float, q: float, low: int, high: int) -> Floats:
    """Bin(radius, p) on [low, high] by its recurrence from the mode, normalised; q is 1 − p, rounded by itself.

    No log gamma: this is right to a few units in the last place even where log gamma loses nine digits.
    """
    mass = np.zeros(high - low + 1)
    mode = min(max(int((radius + 1) * p), low), high)
    mass[mode - low] = 1.0
    for k in range(mode, high):
        mass[k + 1 - low] = mass[k - low] * ((radius - k) * p) / ((k + 1) * q)
    for k in range(mode, low, -1):
        mass[k - 1 - low] = mass[k - low] * (k * q) / ((radius - k + 1) * p)
    mass /= mass.sum()
    return mass


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
    order = np.argsort(log_ratio, kind="stable")
    log_ratio, masses = log_ratio[order], masses[:, keep][:, order]
    starts = _group_starts(log_ratio)
    merged = np.empty((3, starts.size))  # one memory layout: the compiled code is made for it
    merged[0], merged[1:] = log_ratio[starts], np.add.reduceat(masses, starts, axis=1)
    return merged


@compiled
def _group_starts(log_ratio: Floats) -> npt.NDArray[np.int64]:
    """Where groups of equal ratios begin: equal but for rounding errors, measured from the first one of the group."""
    scale = 1.0
    for x in log_ratio:
        if np.isfinite(x):
            scale = max(scale, 1 + abs(x))
    starts = np.empty(log_ratio.size, np.int64)
    n = 0
    for i in range(log_ratio.size):
        same = n > 0 and (
            log_ratio[i] == log_ratio[starts[n - 1]] or log_ratio[i] - log_ratio[starts[n - 1]] <= 2.0**-46 * scale
        )
        if not same:
            starts[n] = i
            n += 1
    return starts[:n].copy()


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
