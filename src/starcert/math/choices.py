"""The stakes of bets on the votes on one object: λ and g, chosen before the votes that they are about.

The search and `verify` share this module. A file never states λ or g: whoever wrote it could have fitted them to all
votes. Both are chosen here, those of a stage from the votes before it: `Choices(record.first(chunks), …)` has seen no
others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, Whole
from starcert.math.attacked_sites import (
    AttackAxis,
    ListedAxis,
    axes_at,
    chance_of,
    pools_of,
    ratio_of,
    shares_of,
    sites_by_pool,
)
from starcert.math.ballots import Ballots
from starcert.math.bets import FRACTIONS, OwnBet, Wager, bet_below, stakes_below
from starcert.math.fallback import PLAIN, Contest
from starcert.math.pooling import SUMMED, PooledAxes, Scheme, bins_of, choose_limits, pool_of

STAGE_GROWTH = 8  # stages of the bet end after 1, 8, 64, … chunks
PRIOR_VOTES = 20.0  # the failure rate of a bin is shrunk to that of all bins with this weight, in votes

Level = tuple[int, ...]


class RecordedCopies:
    """The flips of an object's noisy copies by the axes on which it may be attacked."""

    def __init__(self, flips: Ballots, axes: Sequence[AttackAxis], contest: Contest = PLAIN) -> None:
        self.axes, self.contest = tuple(axes), contest
        self.sizes = tuple(len(axis.sites) for axis in self.axes)
        self.pools = pools_of(self.axes)
        self.n_votes = flips.n_copies
        self._flips = flips
        self._matrices: dict[int, npt.NDArray[np.bool_]] = {}

    def listed(self, level: Level, listed: Iterable[int]) -> list[ListedAxis]:
        """These axes with the attacks of a level on them."""
        found = []
        for axis in listed:
            law = self.axes[axis].law
            found.append(ListedAxis(self.sizes[axis], level[axis], law.moves, len(law.outcomes), self.pools[axis]))
        return found

    def matrix(self, axis: int) -> npt.NDArray[np.bool_]:
        """The outcomes that the recorded copies show on an axis, see `shown_outcomes`."""
        if axis not in self._matrices:
            self._matrices[axis] = shown_outcomes(self._flips, self.axes[axis])
        return self._matrices[axis]

    def ratios(self, level: Level, listed: Iterable[int]) -> Floats:
        """At least the likelihood ratio of each number of each outcome on each listed axis; 0 where there is none."""
        ratios = np.ones(())
        for axis in listed:
            law, count = self.axes[axis].law, level[axis]
            own = np.zeros((count + 1,) * len(law.outcomes))
            for shares in shares_of(law, count):
                own[shares] = ratio_of(law, count, shares)
            with np.errstate(over="ignore", invalid="ignore"):  # ∞ · 0: there is no such number of outcomes
                ratios = np.nan_to_num(np.multiply.outer(ratios, own * SUMMED), nan=0.0, posinf=np.inf)
        return ratios

    def unseen(self, level: Level, axes: Iterable[int]) -> Fraction:
        """The probability that an object attacked on these axes shows what the clean one never does."""
        return 1 - prod(((1 - self.axes[axis].law.unseen) ** level[axis] for axis in axes), start=Fraction(1))

    def room(self, level: Level, axes: Iterable[int]) -> float:
        """At most the limit less what objects that are attacked on these axes show and the clean one never does."""
        return below(float(Fraction(self.contest.limit) - self.unseen(level, axes)))


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


def below(x: float) -> float:
    """A number below the true difference that x was rounded from."""
    return x - 2.0**-50


MAX_FLIPS_AT_ONCE = 2**24  # entries of the matrix of flips that `influences` makes


def influences(record: Ballots, axes: Sequence[AttackAxis]) -> npt.NDArray[np.float64]:
    """For each site how much likelier the class loses if that site is attacked in the worst way: E[Y·L] − E[Y].

    An estimate; 0 where it is less than twice its standard error, or the record does not say which sites flipped.
    """
    found = np.zeros(record.n_sites)
    for sites, gain, error in _gains(record, axes):
        found[sites] = np.maximum(found[sites], np.where(gain > 2 * error, gain, 0.0).max(axis=1))
    return found


def sure_influences(record: Ballots, axes: Sequence[AttackAxis], errors: float) -> npt.NDArray[np.float64]:
    """As `influences`, less this many standard errors; −∞ where nothing is known."""
    found = np.full(record.n_sites, -np.inf)
    for sites, gain, error in _gains(record, axes):
        found[sites] = np.maximum(found[sites], (gain - errors * error).max(axis=1))
    return found


def _gains(record: Ballots, axes: Sequence[AttackAxis]) -> Iterator[tuple[Whole, Floats, Floats]]:
    """Some sites, and for each of them and each of its moves E[Y·L] − E[Y] with its standard error."""
    n_votes, against = record.n_copies, len(record)
    if not record.complete or not against:
        return
    for axis in axes if record.sites is None else axes_at(axes, record.sites):
        step = max(1, MAX_FLIPS_AT_ONCE // (against * axis.law.moves * len(axis.law.outcomes)))
        for start in range(0, len(axis.sites), step):
            some = axis.sites[start : start + step]
            part = axis._replace(sites=some, values=axis.values[start : start + step])
            shown = shown_outcomes(record, part).sum(axis=0)
            flips = shown.reshape(len(some), axis.law.moves, -1)
            stayed, ratios = against - flips.sum(axis=2), np.array(axis.law.shown)
            gain = (flips @ ratios + stayed * axis.law.stayed - against) / n_votes
            error = np.sqrt(flips @ (ratios - 1) ** 2 + stayed * (axis.law.stayed - 1) ** 2) / n_votes
            yield some, gain, error


def shown_outcomes(flips: Ballots, axis: AttackAxis) -> npt.NDArray[np.bool_]:
    """Marks the votes that show each outcome of a flip of each choice on an axis, shape (votes, choices · outcomes)."""
    if axis.moves is None:
        return flips.matrix(axis.sites)
    shown, clean = flips.values(axis.sites), axis.values.astype(np.int64)
    value = np.where(shown < 0, clean, shown)[:, :, None]
    outcome = axis.moves.outcomes[clean[:, None], np.arange(axis.law.moves), value]
    numbers = np.arange(1, len(axis.law.outcomes) + 1, dtype=np.uint8)
    shows: npt.NDArray[np.bool_] = outcome[..., None] == numbers
    return shows.reshape(len(shown), axis.n_choices * len(numbers))
