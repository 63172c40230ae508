"""The law of deep votes: copies of the clean object with few flips are all asked, others are drawn with more flips.

Votes at the clean object show an attack on r sites only where all r flip, once in (1/p)ʳ copies. But what an attack
makes likely is known: its copies have r flips more. So let K be the numbers of flips in each pool of sites, P their law
in the clean object, and choose two finite sets of such numbers. All copies with K in the first are *asked*, once, and
of the second are *drawn*: K by a fixed law Q, and then the sites that flip uniformly. With w(K) = P(K)/Q(K),

    P(not the class, attacked on S) ≤ A_S + E_Q[Y·L_S·w(K)] + e_S,    A_S = Σ P_S(F)·Y(F) over the copies F asked,

where e_S is the probability that the attacked object shows numbers in neither set, or what the clean one never does.
Nothing else depends on Q, so any law may be chosen before the first deep vote. Its chances are whole multiples of
2⁻⁶², so that w is known exactly.

**A good law.** Let P_S be the law of K where S is attacked, f the failure rate at K, and c = E[L|K]²/E[L²|K], the share
of copies with K that show the attack. A bet that stakes a share u(K) of its capital on such a vote grows with a vote by

    G = (θ − Σ P_S·f·φ(u)) / Σ P_S/(u·c),    φ(u) = −log(1 − u)/u,    if Q(K) ∝ P_S(K)/(u·c).

It is largest where u/(1 − u) + log(1 − u) = G/(f·c), or at the largest stake if f is small: the plain law then. Where
f·c is large, it is the law with the least variance, P_S/√(f·c) or so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, exact_number, float_at_least, float_below, upper_end
from starcert.math.attacked_sites import AttackAxis, SiteLaw, pools_of, shares_of
from starcert.math.bets import FRACTIONS
from starcert.math.pooling import Attacked, binomial, ways_to_show

UNIT = 2**62  # chances of a law are whole multiples of 1/UNIT
MAX_NUMBERS = 2**12  # flip numbers that a law may have
MAX_GRID = 16 * MAX_NUMBERS  # among which they are chosen, and those that are asked
MAX_FLIPS = 2**9  # of one pool that they may have
NEGLIGIBLE = 2.0**-30  # flip numbers that are rarer, wherever the object is attacked, are left out
MAX_ASKED = 1 / 2  # the largest share of the votes that are copies asked once each
FAILURE = 1 / 3  # f in forecasts: attacks that fail more seldom are settled anyway, by whatever law
STAKES = np.linspace(1e-4, FRACTIONS[0], 2**12)  # u

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Level = tuple[int, ...]


class DeepLaw(NamedTuple):
    """Flip numbers of each pool: those of which all copies are asked, and those that are drawn."""

    asked: Whole  # shape (numbers, pools), in ascending order
    drawn: Whole  # likewise
    weights: Whole  # of those that are drawn: the probability, in 1/UNIT


class Pools:
    """The sites of an object by how often they flip: what deep votes know of it."""

    def __init__(self, axes: Sequence[AttackAxis]) -> None:
        self.axes = tuple(axes)
        self.of_axis = pools_of(axes)
        self.firsts = sorted(set(self.of_axis))  # the first axis of each
        self.sites = [axes[first].sites for first in self.firsts]
        self.sizes = [len(sites) for sites in self.sites]
        self.clean = [axes[first].law.clean for first in self.firsts]

    def attacked(self, level: Level) -> list[Attacked]:
        """For each pool the law of each of its axes, and how many of its sites are attacked."""
        members = list(zip(self.axes, level, self.of_axis, strict=True))
        return [tuple((axis.law, r) for axis, r, pool in members if pool == first and r) for first in self.firsts]

    def moments(self, level: Level, power: int) -> list[list[arb]]:
        """For each pool `_moments` where a level is attacked."""
        with LOCK, ctx.workprec(96):
            pools = zip(self.attacked(level), self.sizes, self.clean, strict=True)
            return [_moments(attacked, size, clean, power) for attacked, size, clean in pools]

    def copies(self, numbers: Sequence[int]) -> int:
        """How many copies have these flip numbers, where sites have two values."""
        return prod(comb(size, number) for size, number in zip(self.sizes, numbers, strict=True))

    def chance(self, numbers: Sequence[int]) -> arb:
        """The probability of each of these copies in the clean object."""
        masses = [
            exact_number(p) ** number * exact_number(1 - p) ** (size - number)
            for p, size, number in zip(self.clean, self.sizes, numbers, strict=True)
        ]
        return prod(masses, start=arb(1))


@lru_cache(maxsize=2**10)
def _moments(pool: Attacked, n_sites: int, clean: Fraction, power: int) -> list[arb]:
    """P(K)·E[Lⁱ | K] for each number K of flips in a pool, i being the power; only what the clean object shows."""
    found = [arb(0)] * (min(n_sites, MAX_FLIPS) + 1)
    others = binomial(n_sites - sum(attacked for _, attacked in pool), clean)
    for flips, mass, ratio in _ways(pool):
        shown = mass * exact_number(ratio) ** power
        for number, other in enumerate(others[: max(0, len(found) - flips)]):
            found[number + flips] += shown * other
    return found


def _ways(pool: Attacked) -> Iterator[tuple[int, arb, Fraction]]:
    """How attacked sites may look in the clean object: flips, probability, and likelihood ratio."""
    every = [list(zip(ways_to_show(law, number), _ratios(law, number), strict=True)) for law, number in pool]
    for ways in product(*every):
        flips = sum(flipped for (flipped, _), _ in ways)
        yield (
            flips,
            prod((mass for (_, mass), _ in ways), start=arb(1)),
            prod((ratio for _, ratio in ways), start=Fraction(1)),
        )


def _ratios(law: SiteLaw, attacked: int) -> Iterator[Fraction]:
    """The likelihood ratio of each of `shares_of`, exactly; 0 for what the clean object never shows."""
    stayed = (1 - law.attacked) / (1 - law.clean) if law.clean < 1 else Fraction(0)
    shown = [own / clean if clean else Fraction(0) for clean, own in law.outcomes]
    for shares in shares_of(law, attacked):
        yield prod(
            (ratio**number for ratio, number in zip(shown, shares, strict=True)),
            start=stayed ** (attacked - sum(shares)),
        )


def masses(pools: Pools, level: Level, power: int, numbers: Whole) -> list[arb]:
    """P(K)·E[Lⁱ | K] for each row of flip numbers, i being the power; only what the clean object shows."""
    with LOCK, ctx.workprec(96):
        tables = pools.moments(level, power)
        return [prod(map(list.__getitem__, tables, row), start=arb(1)) for row in numbers.tolist()]


def covered(pools: Pools, level: Level, *sets: Whole) -> float:
    """Less than the probability that an attacked object shows numbers of these sets, and what the clean one may."""
    with LOCK, ctx.workprec(96):
        return float_below(sum(masses(pools, level, 1, np.concatenate(sets)), arb(0)).lower())


def weights_of(pools: Pools, law: DeepLaw) -> Floats:
    """At least w = P/Q of each of the numbers that are drawn."""
    with LOCK, ctx.workprec(96):
        clean = zip(masses(pools, (0,) * len(pools.axes), 0, law.drawn), law.weights.tolist(), strict=True)
        return np.array([float_at_least(upper_end(mass * UNIT / weight)) for mass, weight in clean])


class _Forecast:
    """What the votes on one level gain by a law, for any sets of numbers; `grid` has all numbers that matter."""

    def __init__(self, pools: Pools, level: Level, grid: Whole, failure: float) -> None:
        self._failure = failure
        none, once, twice = (_joint(pools.moments(level, power), grid) for power in range(3))
        self.attacked = once
        with np.errstate(divide="ignore", invalid="ignore"):
            self._share = np.where(once > 0, once**2 / (none * twice), 0.0)

    def law(self, asked: npt.NDArray[np.bool_]) -> tuple[float, Floats]:
        """G and Q for copies that are not asked."""
        drawn = ~asked & (self._share > 0)
        theta = 0.5 - self._failure * float(self.attacked[asked].sum()) - (1 - float(self.attacked.sum()))
        law = np.zeros(len(asked))
        mass, share = self.attacked[drawn], self._share[drawn]
        speed, stake = 0.0, np.full(len(mass), STAKES[-1])
        for _ in range(20):  # of Dinkelbach's algorithm: it converges in a few steps
            cost = mass / (stake * share)
            speed = max(0.0, theta + self._failure * float(mass @ (np.log1p(-stake) / stake))) / max(cost.sum(), 1e-300)
            wanted = np.interp(speed / (self._failure * share), _GAINS, STAKES)
            if np.allclose(wanted, stake, rtol=1e-3):
                break
            stake = wanted
        law[drawn] = cost / max(cost.sum(), 1e-300)
        return speed, law


_GAINS = STAKES / (1 - STAKES) + np.log1p(-STAKES)


def choose_law(pools: Pools, levels: Sequence[Level], votes: int, *, asking: bool = True) -> DeepLaw | None:
    """A good law for these levels and at most this many votes; None where there is none.

    Levels share the law: each has a part of it that is the larger, the more votes it needs. Numbers are asked in the
    order of what a copy of theirs saves, as many as the forecast wants; without `asking`, none.
    """
    found = _choice(pools, levels, votes, asking=asking)
    return None if found is None else _rounded(found.grid, found.asked, found.law)


def forecast_votes(
    pools: Pools, levels: Sequence[Level], votes: int, *, growth: float, failure: float = FAILURE
) -> float:
    """About how many deep votes let log capitals against attacks grow by `growth` if these fail with `failure`.

    The law is the one that is best for such attacks and `votes` votes; copies that it asks are counted. It is no bound.
    Infinite where there is no forecast.
    """
    found = _choice(pools, levels, votes, asking=True, failure=failure)
    if found is None or not found.growth:
        return math.inf
    return found.n_asked + (votes - found.n_asked) * growth / found.growth


class _Choice(NamedTuple):
    """A law on a grid of flip numbers."""

    grid: Whole
    asked: npt.NDArray[np.bool_]  # the numbers of which all copies are asked
    law: Floats  # of the others
    n_asked: int  # how many copies are asked
    growth: float  # how much the votes make the logarithm of each level's capital grow; 0: no forecast


def _choice(
    pools: Pools, levels: Sequence[Level], votes: int, *, asking: bool, failure: float = FAILURE
) -> _Choice | None:
    grid = _grid(pools, levels) if levels else np.empty((0, 0), dtype=np.int64)
    if not len(grid) or not votes:
        return None
    forecasts = [_Forecast(pools, level, grid, failure) for level in levels]
    prices = np.array([pools.copies(numbers) for numbers in grid.tolist()], dtype=np.float64)

    def law(asked: npt.NDArray[np.bool_]) -> tuple[float, Floats]:
        speeds, laws = zip(*(each.law(asked) for each in forecasts), strict=True)
        if min(speeds) <= 0:  # no forecast: all the same
            return 0.0, np.mean(laws, axis=0)
        parts = 1 / np.array(speeds)
        return float((votes - prices[asked].sum()) / parts.sum()), np.average(laws, axis=0, weights=parts)

    asked = np.zeros(len(grid), dtype=np.bool_)
    best = law(asked)
    chosen = asked
    order: Whole = np.argsort(-best[1] / prices, kind="stable")[: None if asking else 0]
    for number in order:
        if prices[asked].sum() + prices[number] > MAX_ASKED * votes:
            continue
        asked = asked.copy()
        asked[number] = True
        found = law(asked)
        if found[0] > best[0]:
            best, chosen = found, asked
    return _Choice(grid, chosen, best[1], int(prices[chosen].sum()), best[0])


def _rounded(grid: Whole, asked: npt.NDArray[np.bool_], law: Floats) -> DeepLaw:
    """The law in whole multiples of 1/UNIT, without what is negligible; so coarse that no machine finds another one."""
    kept = np.flatnonzero(law > NEGLIGIBLE)
    kept = np.sort(kept[np.argsort(-law[kept], kind="stable")[:MAX_NUMBERS]])
    weights = np.maximum(1, np.rint(law[kept] * 2.0**24)).astype(np.int64) * (UNIT >> 24)
    if len(weights):
        weights[np.argmax(weights)] += UNIT - int(weights.sum())
    return DeepLaw(grid[asked], grid[kept], weights)


def _grid(pools: Pools, levels: Sequence[Level]) -> Whole:
    """All flip numbers that are not negligible at some level."""
    by_pool = zip(*(pools.moments(level, 1) for level in levels), strict=True)
    ranges = [np.flatnonzero(np.max([_floats(each) for each in tables], axis=0) > NEGLIGIBLE) for tables in by_pool]
    if prod(map(len, ranges)) > MAX_GRID:
        return np.empty((0, len(ranges)), dtype=np.int64)
    grid = np.array(list(product(*ranges)), dtype=np.int64).reshape(-1, len(ranges))
    found: Whole = grid[np.max([_joint(pools.moments(level, 1), grid) for level in levels], axis=0) > NEGLIGIBLE]
    return found


def _joint(tables: Sequence[Sequence[arb]], grid: Whole) -> Floats:
    found: Floats = np.prod([_floats(table)[grid[:, pool]] for pool, table in enumerate(tables)], axis=0)
    return found


def _floats(table: Sequence[arb]) -> Floats:
    return np.array([float(mass.mid()) for mass in table])
