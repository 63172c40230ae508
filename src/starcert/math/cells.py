"""Cells in floating point: the law of the log ratio of attacked sites, for one channel and for a product of channels.

A *cell* is the set of noisy graphs with one likelihood ratio (R_Q in the paper). With two outcomes the cells of R sites
are those of a binomial count, kept only where one of its two sides has mass: the rest weighs less than `NEGLIGIBLE` on
either side. With three that are evenly spaced, as under a symmetric law on k values, they are 2R + 1. Otherwise every
way to share R sites among the outcomes may be a cell of its own.

The product of several axes has Π(R_i + 1) cells and more, far too many to list. But the mass with log ratio up to t is
a sum over pairs from two halves of the axes, so it is enough to list each half, sorted, with running sums. Memory
follows the larger half; time follows the sum of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, compiled
from starcert.math.channels import Channel, Outcome, Product, log_quotient
from starcert.system.errors import InvalidParameterError

HalfKey: TypeAlias = tuple[tuple[int, int], ...]  # what a half is made of: (factor, power) pairs

NEGLIGIBLE = 1e-30
RIGHT = 1e-40  # with three outcomes and more, smaller masses lack digits: they follow from the other side
MAX_HALF = 2**24  # the most cells of one half
MAX_PAIRS = 2**26  # pairs of cells listed to make a half, before equal ratios merge: some three gigabytes
MAX_STORED = 2**22  # the most cells that are kept for the next radius, seven floats each


def cells_of(channel: Channel, radius: int) -> Floats:
    """The cells of `radius` attacked sites in ascending order, shape (3, n): log ratio, clean mass, attacked mass."""
    if channel.binary:
        sides = ((float(p), float(1 - p), *window(radius, float(p))) for p in channel.outcomes[1])
        values: Floats = _binomial_values(radius, *channel.log_ratios, *sides)
        return values
    if channel.evenly_spaced:
        masses_of_sums = (_trinomial(radius, side) for side in zip(*channel.outcomes, strict=True))
        return _with_digits(np.array([evenly_spaced_log_ratios(channel, radius), *masses_of_sums]))
    cells = _with_digits(_multinomial(radius, channel.shared, [x for x in channel.log_ratios if math.isfinite(x)]))
    ends = []
    for side, log_ratio in ((0, -math.inf), (1, math.inf)):  # one outcome that the other side never shows is enough
        log_shared = radius * log_quotient(sum((masses[side] for masses in channel.shared), Fraction(0)), Fraction(1))
        cells[1 + side] *= math.exp(log_shared)
        ends.append(np.array([[log_ratio], [0.0], [0.0]]))
        ends[side][1 + side] = -math.expm1(log_shared)
    log_ratio, *masses = np.concatenate([ends[0], cells, ends[1]], axis=1)
    keep = np.maximum(*masses) > 0
    return _merged(log_ratio[keep], np.array(masses)[:, keep])


def count_listed(channel: Channel, radius: int) -> int:
    """The number of cells of `radius` attacked sites, all listed."""
    if channel.evenly_spaced:
        return (len(channel.outcomes) - 1) * radius + 1
    return math.comb(radius + len(channel.shared) - 1, radius) + len(channel.outcomes) - len(channel.shared)


def window(radius: int, probability: float, bits: float = -math.log2(NEGLIGIBLE)) -> tuple[int, int]:
    """The counts outside of which Bin(radius, probability) has a mass below 2^(1−bits), inclusive.

    By Bernstein, P(|k − mean| > w) ≤ 2·exp(−w² / (2·variance + 2w/3)).
    """
    nats = bits * math.log(2)
    mean, variance = radius * probability, radius * probability * (1 - probability)
    width = nats / 3 + math.sqrt(nats**2 / 9 + 2 * variance * nats)
    return max(0, math.floor(mean - width)), min(radius, math.ceil(mean + width))


@compiled
def _binomial_values(radius, disagree, agree, clean, attacked):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Log ratio, clean and attacked mass of the counts in either window (p, 1 − p, low, high)."""
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
        if not in_clean:  # away from its own window a side follows from the other one, through the ratio
            clean_mass = attacked_mass * np.exp(-log_ratio)
        if not in_attacked:
            attacked_mass = clean_mass * np.exp(log_ratio)
        if clean_mass > 0 or attacked_mass > 0:
            values[0, n], values[1, n], values[2, n] = log_ratio, clean_mass, attacked_mass
            n += 1
    return values[:, :n].copy()


@compiled
def log_ratio_of_count(count: int, radius: int, disagree: float, agree: float) -> float:
    """L(k) for k agreeing bits, from the log ratios of one disagreeing and one agreeing bit; 0 · ∞ = 0 here."""
    return (count * agree if count > 0 else 0.0) + ((radius - count) * disagree if count < radius else 0.0)


@compiled
def _binomial(radius: int, p: float, q: float, low: int, high: int) -> Floats:
    """Bin(radius, p) on [low, high] by its recurrence from the mode, normalised; q is 1 − p, rounded by itself."""
    mass = np.zeros(high - low + 1)  # no log gamma, which may lose nine digits: this is right to a few last units
    mode = min(max(int((radius + 1) * p), low), high)
    mass[mode - low] = 1.0
    for k in range(mode, high):
        mass[k + 1 - low] = mass[k - low] * ((radius - k) * p) / ((k + 1) * q)
    for k in range(mode, low, -1):
        mass[k - 1 - low] = mass[k - low] * (k * q) / ((radius - k + 1) * p)
    mass /= mass.sum()
    return mass


def evenly_spaced_log_ratios(channel: Channel, radius: int) -> Floats:
    """The 2R + 1 log ratios of three evenly spaced outcomes, each from the two that are on its own side."""
    low, middle, high = channel.log_ratios
    counts = np.arange(radius + 1)
    below, above = (counts[::-1] * low + counts * middle), (counts[::-1] * middle + counts * high)
    return np.concatenate([below, above[1:]])


def _trinomial(radius: int, masses: Sequence[Fraction]) -> Floats:
    low, middle, high = masses
    share = high / (low + high)
    first, last = window(radius, float(middle), -5 * math.log2(RIGHT) / 4)
    outer = _binomial(radius, float(middle), float(1 - middle), first, last)
    sums: Floats = _trinomial_sums(radius, first, outer, float(share), float(1 - share))
    return sums


@compiled
def _trinomial_sums(radius, first, outer, p, q):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """`first` + i sites add 1 with mass outer[i]; of the others each adds 2 with probability p, 0 with q.

    Each binomial goes outwards from its mode, until nothing is left. Sums of positive terms: no digits are lost.
    """
    sums = np.zeros(2 * radius + 1)
    row = np.empty(radius + 1)
    for i in range(outer.size):
        n = radius - first - i
        mode = min(int((n + 1) * p), n)
        row[mode] = total = 1.0
        top = bottom = mode
        while top < n and row[top] > 1e-60:
            row[top + 1] = row[top] * ((n - top) * p) / ((top + 1) * q)
            top += 1
            total += row[top]
        while bottom > 0 and row[bottom] > 1e-60:
            row[bottom - 1] = row[bottom] * (bottom * q) / ((n - bottom + 1) * p)
            bottom -= 1
            total += row[bottom]
        for k in range(bottom, top + 1):
            sums[first + i + 2 * k] += outer[i] * (row[k] / total)
    return sums


def _multinomial(radius: int, outcomes: Sequence[Outcome], log_ratios: Sequence[float]) -> Floats:
    """Log ratio, clean and attacked mass of every way to share `radius` sites among outcomes, shape (3, n)."""
    if len(outcomes) == 1:
        return np.array([[radius * log_ratios[0]], [1.0], [1.0]])
    shares = [side[0] / sum(side, Fraction(0)) for side in zip(*outcomes, strict=True)]
    rows = [_binomial(radius, float(share), float(1 - share), 0, radius) for share in shares]  # of the first outcome
    if len(outcomes) == 2:
        counts = np.arange(radius + 1)
        return np.array([counts * log_ratios[0] + counts[::-1] * log_ratios[1], *rows])
    parts = []
    for count in range(radius + 1):
        part = _multinomial(radius - count, outcomes[1:], log_ratios[1:])
        part[0] += count * log_ratios[0]
        part[1:] *= [[row[count]] for row in rows]
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _with_digits(values: Floats) -> Floats:
    """The cells of which one side is right: the other side follows from it, through the ratio, where it is not."""
    log_ratio, clean, attacked = values[:, np.maximum(values[1], values[2]) >= RIGHT]
    own = np.where(clean >= RIGHT, clean, attacked * np.exp(np.minimum(-log_ratio, 0)))
    rival = np.where(attacked >= RIGHT, attacked, clean * np.exp(np.minimum(log_ratio, 0)))
    return np.array([log_ratio, own, rival])


def _merged(log_ratio: Floats, masses: Floats) -> Floats:
    """Cells in ascending order of log ratio, those with equal ratios as one."""
    order = np.argsort(log_ratio, kind="stable")
    log_ratio, masses = log_ratio[order], masses[:, order]
    starts = _group_starts(log_ratio)
    values = np.empty((3, starts.size))  # one memory layout: the compiled code is made for it
    values[0], values[1:] = log_ratio[starts], np.add.reduceat(masses, starts, axis=1)
    return values


@compiled
def _group_starts(log_ratio: Floats) -> npt.NDArray[np.int64]:
    """The starts of groups of ratios that are equal but for rounding errors, measured from the first of a group."""
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


class _Cells(NamedTuple):
    """Cells in ascending order of log ratio, and running sums, each from its own end."""

    values: Floats  # shape (3, n), as `cells_of` returns them
    sums: Floats  # shape (4, n + 1), entry j: clean mass of the first j cells, of the others; attacked mass likewise


class Halves:
    """Lists the two halves of a product for any radius, the smaller one first. Radii share what has been listed."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._tables: dict[HalfKey, _Cells] = {}
        self._stored = 0

    def __call__(self, powers: tuple[int, ...]) -> tuple[_Cells, _Cells]:
        """The two halves of the product for these numbers of attacked sites of each factor."""
        first, second = map(self._table, halve(self._product, powers))
        return (first, second) if first.values.shape[1] <= second.values.shape[1] else (second, first)

    def _table(self, half: HalfKey) -> _Cells:
        cells = self._tables.get(half)
        if cells is None:
            if len(half) > 1:
                values = _multiply(self._table(half[:-1]).values, self._table(half[-1:]).values)
            elif half:
                values = cells_of(self._product.factors[half[0][0]], half[0][1])
            else:
                values = np.array([[0.0], [1.0], [1.0]])
            cells = _Cells(values, _running_sums(values))
            if self._stored > MAX_STORED:  # a cache, not a leak
                self._tables, self._stored = {}, 0
            self._tables[half] = cells
            self._stored += values.shape[1]
        return cells


def halve(product: Product, powers: tuple[int, ...]) -> tuple[HalfKey, HalfKey]:
    """Splits the attacked factors into two halves of about equal size, each a tuple of (factor, power).

    With more than two factors a channel and its reverse stay together: if their ratios are evenly spaced, k1 + k2
    decides, and they have R1 + R2 + 1 cells and not (R1 + 1)(R2 + 1).
    """
    present = tuple([(i, power) for i, power in enumerate(powers) if power])
    if len(present) <= 2 and product.binary:
        return present[:1], present[1:]
    halves, lengths = _balanced(product, powers)
    if max(lengths) > MAX_HALF:
        must = f"leave at most {MAX_HALF:,} cells in each half of the axes"
        hint = "Lower the radii of the largest axes, or give axes of one kind one flip law: they merge."
        raise InvalidParameterError("radius", must, powers, hint)
    left, right = (tuple([(i, powers[i]) for i in sorted(half)]) for half in halves)
    return left, right


def count_cells(product: Product, powers: tuple[int, ...]) -> int:
    """An upper limit on the cells listed for both halves, before equal ratios merge: what evaluating a radius costs."""
    sizes = {i: _length(product, i, power) for i, power in enumerate(powers) if power}
    if len(sizes) <= 2:
        return sum(sizes.values())
    return sum(math.prod(sizes[i] for i in half) for half in _balanced(product, powers)[0])


def _balanced(product: Product, powers: tuple[int, ...]) -> tuple[tuple[list[int], list[int]], list[int]]:
    """The attacked factors of each half, and an upper limit on the cells of each."""
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
    if product.factors[factor].binary:
        return _window_length(*product.rounded[factor], power)
    return count_listed(product.factors[factor], power)


@lru_cache(maxsize=2**16)
def _window_length(clean: float, attacked: float, radius: int) -> int:
    (low, high), (low2, high2) = (window(radius, p) for p in (clean, attacked))
    return 1 + min(radius, high - low + high2 - low2 + 1)


def _multiply(left: Floats, right: Floats) -> Floats:
    """All pairs of cells: log ratios add, masses multiply; equal ratios merge, negligible cells go."""
    if (pairs := left.shape[1] * right.shape[1]) > MAX_PAIRS:
        must = f"leave at most {MAX_PAIRS:,} pairs of cells in each half of the axes"
        raise InvalidParameterError("radius", must, f"{pairs:,}", "Lower the radii of the largest axes.")
    masses = (left[1:, :, None] * right[1:, None, :]).reshape(2, -1)
    keep = (masses > NEGLIGIBLE**1.5).any(axis=0)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ belongs to a cell without mass
        log_ratio = np.add.outer(left[0], right[0]).reshape(-1)[keep]
    return _merged(log_ratio, masses[:, keep])


def _running_sums(values: Floats) -> Floats:
    sums = np.zeros((4, values.shape[1] + 1))
    np.cumsum(values[1:], axis=1, out=sums[::2, 1:])
    np.cumsum(values[1:, ::-1], axis=1, out=sums[1::2, -2::-1])
    return sums
