"""The stakes of bets on the votes on one object: λ and g, chosen before the votes that they are about.

The search and `verify` share this module. A file never states λ or g: whoever wrote it could have fitted them to all
votes. Both are chosen here, those of a stage from the votes before it: `Choices(record.first(chunks), …)` has seen no
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis, chance_of, ratio_of, shares_of, sites_by_pool
from starcert.math.ballots import Ballots
from starcert.math.bets import FRACTIONS, OwnBet, Wager, bet_below, stakes_below
from starcert.math.copies import Level, RecordedCopies, below
from starcert.math.fallback import PLAIN, Contest
from starcert.math.pooling import SUMMED, PooledAxes, Scheme, bins_of, choose_limits, pool_of

STAGE_GROWTH = 8  # stages of the bet end after 1, 8, 64, … chunks
PRIOR_VOTES = 20.0  # the failure rate of a bin is shrunk to that of all bins with this weight, in votes

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Choices(RecordedCopies):
    """The votes on one object, as far as bets are chosen from them.

    `failure` is the failure rate of the selection votes, a first guess; `contest` what the class has to withstand.
    """

    def __init__(self, flips: Ballots, axes: Sequence[AttackAxis], *, failure: float, contest: Contest = PLAIN) -> None:
        super().__init__(flips, axes, contest)
        self._failure = min(max(failure, 1 / 1024), contest.limit)
        self._ends = np.array(ends_of_stages(len(flips.samples)))
        stage_of_chunk = np.searchsorted(self._ends, np.arange(len(flips.samples)), side="right")
        self._stages = np.repeat(stage_of_chunk, flips.kept)
        self._n_stage = np.bincount(stage_of_chunk, weights=flips.samples, minlength=len(self._ends)).astype(np.int64)

    @cached_property
    def _numbers(self) -> Whole:
        """The number of flips of each pool in each vote against the class, in the place of its first axis."""
        return self._flips.numbers(sites_by_pool(self.axes))

    def _stage(self, level: Level, scheme: Scheme, pool: PooledAxes, stage: int) -> tuple[Floats, Floats, float]:
        """λ of a stage, chosen on the stages before it; what a vote says in each cell and bin; and θ."""
        pooled, room = pooled_axes(level, scheme), self.room(level, range(len(level)))
        limits, cost = np.ones(1), 0.0
        if pooled:
            rates = self._rates(level, scheme, pool, stage)
            limits, cost = choose_limits(pool, rates, room, self._listed_ratios(level, scheme))
        value = np.multiply.outer(self.ratios(level, scheme.listed), limits) * SUMMED
        return limits, value, below(room - cost)

    def choose(self, level: Level, scheme: Scheme, stage: int) -> Wager | None:
        """The choices of `weighed` for a stage, 0 without pooled axes; None where no bet can be won."""
        pool = self._pool_of_bet(level, scheme)
        if pool is None:
            return None
        limits, value, theta = self._stage(level, scheme, pool, stage)
        return Wager(limits, stakes_below(theta, value) if theta > 0 else np.zeros(len(FRACTIONS)))

    def own_bet(self, level: Level, scheme: Scheme) -> OwnBet | None:
        """The bet on votes at objects attacked on the listed axes of a scheme; None where it cannot be won.

        Its λ is chosen on all votes here: those that it is about are others.
        """
        pooled = pooled_axes(level, scheme)
        if not pooled:
            return OwnBet((), np.ones(1), self.contest.limit, None, self.contest)
        pool, room = self._pool(level, pooled), self.room(level, pooled)
        if pool is None or room <= 0:
            return None
        rates = self._rates(level, scheme, pool, len(self._ends))
        limits, cost = choose_limits(pool, rates, room, [(1.0, 1.0)])
        theta = below(room - cost)
        bet = bet_below(theta, np.stack([limits, limits * self.contest.third]))
        return None if bet is None else OwnBet(pooled, limits, theta, bet, self.contest)

    def _pool(self, level: Level, pooled: tuple[int, ...]) -> PooledAxes | None:
        axes = tuple((self.axes[axis].law, self.sizes[axis], level[axis]) for axis in pooled)
        return pool_of(axes, tuple(self.pools[axis] for axis in pooled))

    def _pool_of_bet(self, level: Level, scheme: Scheme) -> PooledAxes | None:
        """The pooled axes of a bet on the shared votes; None where none can be won, say beyond the range of floats."""
        pool = self._pool(level, pooled_axes(level, scheme))
        if pool is None or self.room(level, range(len(level))) <= 0:
            return None
        largest = float(self.ratios(level, scheme.listed).max()) * float(pool.ratios[-1]) * SUMMED
        return pool if largest < math.inf else None

    def scores(self, axis: int) -> Floats:
        """For each choice on an axis the estimated probability of failure where it is the whole attack: E[Y·L]."""
        if not self._flips.complete:  # it is not known which sites flipped
            return np.zeros(self.axes[axis].n_choices)
        return self._scores(axis, np.ones(len(self._stages), dtype=np.bool_), self.n_votes)

    def _scores(self, axis: int, of: npt.NDArray[np.bool_], votes: int) -> Floats:
        law = self.axes[axis].law
        flips = self.matrix(axis)[of].sum(axis=0).reshape(-1, len(law.outcomes))
        flipped = sum(flips[:, i] * shown for i, shown in enumerate(law.shown))
        scores: Floats = (flipped + (of.sum() - flips.sum(axis=1)) * law.stayed) / max(votes, 1)
        return scores

    def bins(self, pooled: tuple[int, ...], numbers: Whole) -> Whole:
        """The bin of each vote, from its flip numbers on all axes, in the order of `pool_of`."""
        bins = np.zeros(len(numbers), dtype=np.int64)
        for pool in dict.fromkeys(self.pools[axis] for axis in pooled):
            starts = bins_of(self.sizes[pool], self.axes[pool].law.clean)
            bins = bins * len(starts) + np.searchsorted(starts, numbers[:, pool], side="right") - 1
        return bins

    def _listed_ratios(self, level: Level, scheme: Scheme) -> list[tuple[float, float]]:
        """Each likelihood ratio of an attack on the listed axes, with its probability."""
        listed = [(1.0, 1.0)]
        for axis in scheme.listed:
            law, number = self.axes[axis].law, level[axis]
            listed = [
                (ratio_of(law, number, shares, times=ratio), chance_of(law, number, shares, times=chance))
                for ratio, chance in listed
                for shares in shares_of(law, number)
            ]
        return listed

    def _rates(self, level: Level, scheme: Scheme, pool: PooledAxes, stage: int) -> Floats:
        """The failure rate in each bin, from the stages before one, where the attack that looks worst is made."""
        bins = self.bins(pooled_axes(level, scheme), self._numbers)
        earlier = self._stages < stage
        votes = int(self._n_stage[:stage].sum())
        mass = pool.masses.sum(axis=0)
        rate = (earlier.sum() + PRIOR_VOTES * self._failure) / (votes + PRIOR_VOTES)
        rates = (np.bincount(bins[earlier], minlength=len(mass)) + PRIOR_VOTES * rate) / (votes * mass + PRIOR_VOTES)
        if earlier.any() and self._flips.complete:
            for axis in scheme.listed:
                scores = self._scores(axis, earlier, votes).reshape(-1, self.axes[axis].law.moves).max(axis=1)
                worst = np.sort(scores)[-level[axis] :]
                rates = rates * max(1.0, float(np.prod(worst / rate)))
        at_most: Floats = np.minimum(rates, self.contest.limit)
        return at_most


def ends_of_stages(chunks: int) -> list[int]:
    """After how many chunks each stage of the bet ends: 1, 8, 64, …; the last one has all that are left."""
    ends = [1] if chunks else []
    while ends and ends[-1] < chunks:
        ends.append(ends[-1] * STAGE_GROWTH)
    return ends


def pooled_axes(level: Level, scheme: Scheme) -> tuple[int, ...]:
    """The attacked axes that a scheme does not list."""
    return tuple(axis for axis, number in enumerate(level) if number and axis not in scheme.listed)
