"""Pooled axes: any r of the sites may be attacked there, and votes are distinguished by how many sites flipped.

Attack r of the n sites of an axis. In a copy of the clean object J ~ Bin(r, p) of them flip, and K − J ~ Bin(n − r, p)
of the others. The likelihood ratio L of the attack is a function of J; with more than two values, of how many of the J
sites show each outcome of a flip. For any numbers λ(K) ≥ 0,

    E[Y·L] ≤ E[Y·λ(K)] + π,    π = E[(L − λ(K))₊],

for Y ≤ 1. The right side knows flip numbers alone: it holds for every attack of that size at once. Flip numbers that
are rare share a *bin*, and λ is one number a bin. Axes that count attacks on the same sites (edges that go, and edges
that change their type) are one *pool*: their attacks take different sites of it, and K counts its flips once.

Which axes of a level are listed and which are pooled is a *scheme*; alpha is shared between levels and schemes in
advance (`level_weight`, `schemes_of`). Masses are made in ball arithmetic and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, prod
from typing import NamedTuple, TypeAlias

import numpy as np
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, Floats, binomial_masses, exact_number, float_at_least, upper_end
from starcert.math.attacked_sites import ListedAxis, SiteLaw, n_attacks, ratio_of, shares_of
from starcert.math.bets import growth

MAX_COUNTED = 2**14  # on an axis with more sites, flip counts are not distinguished: it takes long and gains little
MAX_MASSES = 2**18  # the largest table of J × bins
RARE = 1 / 64  # A bin has at least this mass
SUMMED = 1 + 2.0**-30  # more than the relative error of a sum of at most MAX_MASSES rounded positive terms
CAPS = 12  # how many caps of λ are tried


class PooledAxes(NamedTuple):
    """The pooled axes as one: upper bounds for each way in which attacked sites show outcomes."""

    ratios: Floats  # on its likelihood ratio, ascending
    masses: Floats  # on its probability in each bin, shape (ratios, bins)


@lru_cache(maxsize=256)
def bins_of(n_sites: int, clean: Fraction) -> tuple[int, ...]:
    """The flip numbers at which bins begin, from 0."""
    if n_sites > MAX_COUNTED:
        return (0,)
    from scipy.stats import binom  # noqa: PLC0415  (half a second)

    starts, mass = [0], 0.0
    for count, share in enumerate(binom.pmf(np.arange(n_sites + 1), n_sites, float(clean))):
        if mass >= RARE:
            starts.append(count)
            mass = 0.0
        mass += share
    return tuple(starts[:-1] if mass < RARE and len(starts) > 1 else starts)


Attacked: TypeAlias = tuple[tuple[SiteLaw, int], ...]  # of each axis of a pool: the law, and how many are attacked


@lru_cache(maxsize=2**12)
def _pool_masses(pool: Attacked, n_sites: int) -> Floats:
    """At least P(attacked sites show these outcomes, K in bin), shape (ways to show outcomes, bins)."""
    clean = pool[0][0].clean
    starts = bins_of(n_sites, clean)
    with LOCK, ctx.workprec(96):
        hit = [(0, arb(1))]
        for law, attacked in pool:
            assert law.clean == clean
            own = ways_to_show(law, attacked)
            hit = own if len(pool) == 1 else [(i + j, left * right) for i, left in hit for j, right in own]
        if len(starts) == 1:
            return np.array([[float_at_least(upper_end(mass))] for _, mass in hit])
        left = n_sites - sum(attacked for _, attacked in pool)
        others = binomial_masses(left, clean, 0, left)
        sums = [arb(0)]
        for mass in others:
            sums.append(sums[-1] + mass)
        ends = [*starts[1:], n_sites + 1]
        table = np.zeros((len(hit), len(starts)))
        for row, (j, mass) in enumerate(hit):
            for b, (start, end) in enumerate(zip(starts, ends, strict=True)):
                low, high = (min(max(edge - j, 0), len(others)) for edge in (start, end))
                if high > low:
                    table[row, b] = max(0.0, float_at_least(upper_end(mass * (sums[high] - sums[low]))))
    return table


def ways_to_show(law: SiteLaw, attacked: int) -> list[tuple[int, arb]]:
    """For each of `shares_of` how many sites flip, and its probability in the clean object."""
    flips = binomial_masses(attacked, law.clean, 0, attacked)
    if not law.parts:
        return list(enumerate(flips))
    chances = [exact_number(clean / law.clean if law.clean else Fraction(0)) for clean, _ in law.parts]
    found = []
    for shares in shares_of(law, attacked):
        mass, left = flips[sum(shares)], sum(shares)
        for chance, number in zip(chances, shares, strict=True):
            mass, left = mass * comb(left, number) * chance**number, left - number
        found.append((sum(shares), mass))
    return found


@lru_cache(maxsize=2**10)
def pool_of(axes: tuple[tuple[SiteLaw, int, int], ...], pools: tuple[int, ...] | None = None) -> PooledAxes | None:
    """The pooled axes, each given by law, number of sites and number of attacked ones.

    None: the table is too large, or its ratios are beyond floats.
    Axes with one number in `pools` have the same sites. Bins are in the order of their product, the last pool's first.
    """
    members: dict[int, list[tuple[SiteLaw, int, int]]] = {}
    for number, axis in zip(range(len(axes)) if pools is None else pools, axes, strict=True):
        members.setdefault(number, []).append(axis)
    size, tables = 1, []
    for some in members.values():
        ways = prod(comb(attacked + len(law.outcomes), attacked) for law, _, attacked in some)
        size *= ways * len(bins_of(some[0][1], some[0][0].clean))
        if size > MAX_MASSES:
            return None
        tables.append(_pool_masses(tuple((law, attacked) for law, _, attacked in some), some[0][1]))
    ratios, masses = np.ones(1), np.ones((1, 1))
    for some, table in zip(members.values(), tables, strict=True):
        for law, _, attacked in some:
            own = np.array([ratio_of(law, attacked, shares) for shares in shares_of(law, attacked)]) * SUMMED
            with np.errstate(over="ignore", invalid="ignore"):
                ratios = np.multiply.outer(ratios, own).ravel()
        masses = np.multiply.outer(masses, table).transpose(0, 2, 1, 3).reshape(len(ratios), -1)
    if not np.isfinite(ratios).all():
        return None
    order = np.argsort(ratios, kind="stable")
    return PooledAxes(ratios[order], masses[order])


def penalty(pool: PooledAxes, limits: Floats) -> float:
    """At least π, for a λ in each bin."""
    over = np.maximum(pool.ratios[:, None] - limits, 0.0)
    return float((over * pool.masses).sum()) * SUMMED


def choose_limits(
    pool: PooledAxes, rates: Floats, room: float, listed: Sequence[tuple[float, float]]
) -> tuple[Floats, float]:
    """A good λ for each bin, and its penalty π.

    Where votes fail at a rate f in a bin, the best λ is the ratio that a share f of the copies there exceeds. A cap on
    all λ keeps votes from becoming so large that no stake is worth it; the cap with the fastest growth is taken.

    `rates` are the failure rates in each bin so far, `room` is θ before the penalty, and `listed` has each likelihood
    ratio of an attack on the listed axes with its probability.
    """
    bins = pool.masses.sum(axis=0)
    beyond = np.cumsum(pool.masses[::-1], axis=0)[::-1] - pool.masses  # mass of the larger ratios
    first = (beyond <= rates * bins).argmax(axis=0)
    wanted = pool.ratios[first]
    low, high = max(float(wanted.min()), 1e-3), float(wanted.max())
    caps = np.geomspace(low, high, CAPS) if high > low else [high]
    ratio, chance = (np.array(column) for column in zip(*listed, strict=True))
    masses = np.multiply.outer(chance, bins * rates)
    best = wanted, penalty(pool, wanted)
    fastest = -math.inf
    for cap in caps:
        limits = np.minimum(wanted, cap)
        cost = penalty(pool, limits)
        speed = growth(room - cost, np.multiply.outer(ratio, limits), masses)
        if speed > fastest:
            fastest, best = speed, (limits, cost)
    return best


class Scheme(NamedTuple):
    """The listed axes (the others are pooled), the number of their attacks, and the share of the level's alpha."""

    listed: tuple[int, ...]
    n_attacks: int
    share: Fraction


def level_weight(level: tuple[int, ...], box: tuple[int, ...]) -> Fraction:
    """The level's part of alpha. Over levels none of which lies within another, the parts add up to at most 1.

    Two such levels differ on more than one axis. So it is enough to weigh the counts on all axes but the one with the
    largest limit: a count of r weighs 1/((r + 1)(r + 2)), divided by the sum over the box.
    """
    free, weight = box.index(max(box)), Fraction(1)
    for axis, (count, limit) in enumerate(zip(level, box, strict=True)):
        if axis != free:
            weight *= Fraction(limit + 2, (limit + 1) * (count + 1) * (count + 2))
    return weight


def schemes_of(
    axes: Sequence[tuple[SiteLaw, int]], level: tuple[int, ...], max_attacks: int, pools: Sequence[int] | None = None
) -> list[Scheme]:
    """The schemes of a level with at most `max_attacks` attacks, those with few attacks first.

    An axis with a single attack, or whose attacks cannot be seen, need not be listed. Pooling all axes gets an eighth
    of the level's alpha; the other schemes share the rest evenly. `axes` holds the law and the number of sites of each
    axis, `pools` the number of its pool (by default its own).
    """
    members: dict[int, list[int]] = {}
    for axis, pool in enumerate(range(len(axes)) if pools is None else pools):
        if level[axis]:
            members.setdefault(pool, []).append(axis)
    choices: list[tuple[list[int], int]] = []
    for some in members.values():
        number = n_attacks([ListedAxis(axes[axis][1], level[axis], axes[axis][0].moves, pool=0) for axis in some])
        if number > 1 and not all(axes[axis][0].free for axis in some):
            choices.append((some, number))
    found = []
    for length in range(1, len(choices) + 1):
        for chosen in combinations(choices, length):
            number = prod(ways for _, ways in chosen)
            if number <= max_attacks:
                found.append((number, tuple(sorted(axis for some, _ in chosen for axis in some))))
    pooled = Scheme((), 1, Fraction(1, 8) if found else Fraction(1))
    return [pooled, *(Scheme(listed, number, Fraction(7, 8 * len(found))) for number, listed in sorted(found))]
