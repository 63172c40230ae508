"""Evidence: what the votes on one object prove about every attack of a level, from where their flips fell.

A level is how many sites are attacked on each axis. With Y = 1 for a vote against the class, C the attacked sites of
the *listed* axes and D those of the *pooled* ones,

    P(not the class, attacked on C ∪ D) ≤ E[Y·L_C·λ(K)] + π + (what the clean object never shows)

for any λ ≥ 0 (see `pooling`). So the level is certified once, for each C, the mean of X = Y·L_C·λ(K) is proved to
be below θ = 1/2 − π − …, by a bet (see `bets`). Which axes are listed is a *scheme*; one that succeeds is enough.
With a fallback, the limit of the contest takes the place of 1/2 (see `fallback`).

**Where alpha goes.** A level is only taken for certified when all levels within it are, and every one of its attacks is
proved to be harmless: it has one capital, on shared votes and votes of its own, that starts at 1 and must reach 1/δ at
some look (`bets.with_reserve`). So something false is claimed only if, of some level that is broken while none within
it is, one certain attack that breaks it is taken for harmless: alpha need not be divided between attacks, nor between
levels that lie within one another (`level_weight`). The schemes of a level share its part (`schemes_of`). Nothing of
that depends on votes. The λ of a stage of the bet is chosen on the stages before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import (
    AttackAxis,
    attack_number,
    chance_of,
    ratio_of,
    shares_of,
    sites_by_pool,
)
from starcert.math.bets import (
    FRACTIONS,
    MAX_VOTES,
    NOTHING,
    Bet,
    OwnBet,
    Wager,
    bet_below,
    capital_of,
    needed,
    stakes_below,
    with_reserve,
)
from starcert.math.copies import RecordedCopies, below
from starcert.math.fallback import PLAIN, Contest
from starcert.math.flips import FlipRecord
from starcert.math.listed import LevelAttacks
from starcert.math.pooling import SUMMED, PooledAxes, Scheme, bins_of, choose_limits, level_weight, pool_of, schemes_of
from starcert.math.weighing import Columns, Weights, columns_of, weigh

MAX_ATTACKS = 2**20  # at most this many attacks of a level are weighed by default
MAX_FLIPS = 2**28  # the largest matrix of votes × listed sites
STAGE_GROWTH = 8  # stages of the bet end after 1, 8, 64, … chunks
PRIOR_VOTES = 20.0  # the failure rate of a bin is shrunk to that of all bins with this weight, in votes

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Level = tuple[int, ...]


class Weighed(NamedTuple):
    """What a scheme says about a level: capital and estimate of each attack."""

    scheme: Scheme
    needed: int  # the logarithm of a capital, in `bets.SCALE`, that proves an attack harmless
    weights: Weights  # with the reserve for votes of its own: what those win is added to the logarithm
    failure: Floats  # the estimates with all other classes as one: ranks are by these
    parts: tuple[LevelAttacks, ...]  # the attacks, in this order

    @property
    def proved(self) -> bool:
        """Whether every attack is harmless."""
        return bool((self.weights.capital >= self.needed).all())

    @property
    def rest(self) -> Whole:
        """The numbers of the attacks that are open, those that look worst first."""
        rest = np.flatnonzero(self.weights.capital < self.needed)
        return rest[np.argsort(-self.weights.estimate[rest], kind="stable")]


class FlipEvidence(RecordedCopies):
    """The votes on one object, ready to be weighed. Anything proved here is false with probability at most `alpha`.

    `failure` is the failure rate of the selection votes, a first guess; `box` the largest count of interest on each
    axis, by default all of its sites; `max_attacks` the limit on attacks weighed at one level; `contest` what the class
    has to withstand.
    """

    def __init__(
        self,
        flips: FlipRecord,
        axes: Sequence[AttackAxis],
        *,
        alpha: Fraction,
        failure: float,
        box: Level | None = None,
        max_attacks: int = MAX_ATTACKS,
        contest: Contest = PLAIN,
    ) -> None:
        super().__init__(flips, axes, contest)
        self.box = self.sizes if box is None else tuple(map(min, box, self.sizes))
        self.alpha = alpha
        self.max_attacks = max_attacks
        self._failure = min(max(failure, 1 / 1024), contest.limit)
        self._columns: dict[tuple[tuple[int, ...], tuple[int, ...], int], Columns] = {}
        ends = [0]
        while ends[-1] < len(flips.samples):
            ends.append(1 if ends[-1] == 0 else ends[-1] * STAGE_GROWTH)
        self._ends = np.array(ends[1:])
        stage_of_chunk = np.searchsorted(self._ends, np.arange(len(flips.samples)), side="right")
        self._stages = np.repeat(stage_of_chunk, flips.against)
        self._n_stage = np.bincount(stage_of_chunk, weights=flips.samples, minlength=len(self._ends)).astype(np.int64)

    @cached_property
    def _numbers(self) -> Whole:
        """How many sites of each pool flipped in each vote against the class, in the place of its first axis."""
        return self._flips.numbers(sites_by_pool(self.axes))

    def schemes(self, level: Level) -> list[Scheme]:
        """The schemes of a level, see `schemes_of`."""
        return schemes_of([(axis.law, len(axis.sites)) for axis in self.axes], level, self.max_attacks, self.pools)

    def possible(self, level: Level) -> bool:
        """Whether there is any attack of a level: axes of one pool take different sites of it."""
        return all(
            sum(number for number, pool in zip(level, self.pools, strict=True) if pool == first) <= size
            for first, size in enumerate(self.sizes)
        )

    def attack(self, weighed: Weighed, index: int) -> tuple[int, ...]:
        """The attacked sites of attack number `index` on the listed axes, see `AttackAxis.attacked`, ascending."""
        for part in weighed.parts:
            if part.rows is None:
                listed = weighed.scheme.listed
                chosen = zip(listed, attack_number(self.listed(part.level, listed), index), strict=True)
                return tuple(sorted(site for axis, own in chosen for site in self.axes[axis].attacked(own).tolist()))
            if index < len(part.rows):
                return part.attack(self.axes, index)
            index -= len(part.rows)
        raise IndexError(index)

    def delta(self, level: Level, scheme: Scheme) -> Fraction:
        """With which probability one attack of a scheme, whichever it is, may be proved harmless though it is not."""
        return self.alpha * level_weight(level, self.box) * scheme.share

    def weighed(self, level: Level, scheme: Scheme) -> Weighed:
        """What a scheme says about a level."""
        goal = needed(self.delta(level, scheme))
        return Weighed(scheme, goal, *self.capitals(level, scheme, goal), (LevelAttacks(level),))

    def weighed_list(self, parts: Sequence[LevelAttacks]) -> Weighed:
        """What the votes say about listed attacks, none of their axes pooled: each may take all of alpha."""
        goal, capitals, failures = needed(self.alpha), list[Weights](), list[Floats]()
        for part in parts:
            assert part.rows is not None
            scheme = Scheme(part.attacked, len(part.rows), Fraction(1))
            weights, failure = self.capitals(part.level, scheme, goal, part.rows)
            capitals.append(weights)
            failures.append(failure)
        joined = Weights(*map(np.concatenate, zip(*capitals, strict=True)))
        every_axis = Scheme(tuple(range(len(self.axes))), len(joined.capital), Fraction(1))
        return Weighed(every_axis, goal, joined, np.concatenate(failures), tuple(parts))

    def capitals(self, level: Level, scheme: Scheme, goal: int, rows: Whole | None = None) -> tuple[Weights, Floats]:
        """What each attack weighs, with the reserve, and its `failure`.

        It is the least against any other class. Where all other classes count as one, each capital is at least as
        small: so what reaches the goal that way is not weighed again class by class.
        """
        whole = self.weights(level, scheme, rows)
        shared, estimate = with_reserve(whole.capital), whole.estimate
        short = shared < goal
        if short.any() and len(self._rivals) > 1 and self.contest.third < 1:
            by_class = self.weights(level, scheme, rows, rivals=self._rivals, wanted=short)
            shared = np.where(short, with_reserve(by_class.capital), shared)
            estimate = np.where(short, by_class.estimate, estimate)
        return Weights(shared, estimate), whole.estimate

    def proves(self, level: Level) -> bool:
        """Whether the shared votes alone prove every attack of a level harmless, by any scheme."""
        if not self.possible(level):
            return True
        return any(self.weighed(level, scheme).proved for scheme in self.schemes(level))

    @cached_property
    def _rivals(self) -> Whole:
        """The classes that votes against the class are for. One without votes has the largest capital against it."""
        return np.unique(self._flips.classes).astype(np.int64)

    def weights(
        self,
        level: Level,
        scheme: Scheme,
        rows: Whole | None = None,
        *,
        rivals: Whole | None = None,
        wanted: npt.NDArray[np.bool_] | None = None,
    ) -> Weights:
        """What each attack weighs by the shared votes, without the reserve; or some, as in `weigh`.

        With `rivals`, votes for other classes than a rival count less (see `Contest`): X = f_B·L_C·λ(K). The stakes are
        the same, as the largest X is. Without, every vote against the class counts whole.
        """
        votes = len(self._stages)
        parts = np.ones((1, 1)) if rivals is None else parts_against(len(rivals), self.contest.third)
        pooled = self._pooled(level, scheme)
        pool = self._pool_of_bet(level, scheme)
        listed = self.listed(level, scheme.listed)
        n_columns = sum(axis.size * axis.moves * axis.outcomes for axis in listed)
        no_estimate = np.zeros(scheme.n_attacks)
        if pool is None:  # no bet can be won: the capital stays 1
            return Weights(np.zeros(scheme.n_attacks, dtype=np.int64), no_estimate)
        unknown = scheme.listed and not self._flips.complete
        if unknown or votes * n_columns > MAX_FLIPS or not 0 < self.n_votes <= MAX_VOTES:
            return Weights(np.full(scheme.n_attacks, NOTHING, dtype=np.int64), no_estimate)

        # What a vote against the class adds to the logarithm of the capital depends on its likelihood ratio at the
        # attacked sites of the listed axes (a cell), on its bin, and on the stage, as λ is chosen anew for each stage.
        # A vote for the class adds the same everywhere: `quiet` sums those up.
        bets, quiet = [], np.zeros(len(FRACTIONS), dtype=np.int64)
        for stage in range(len(self._ends)) if pooled else [0]:
            _, whole, theta = self._stage(level, scheme, pool, stage)
            value = np.stack([np.multiply.outer(whole, part).reshape(*whole.shape[:-1], -1) for part in parts])
            bet = bet_below(theta, value)
            if bet is None:  # nothing is staked, and nothing is won
                bet = Bet(np.zeros((len(FRACTIONS), *value.shape), dtype=np.int64), np.zeros_like(quiet), value)
            lost = int((self._stages == stage).sum()) if pooled else votes
            quiet += ((int(self._n_stage[stage]) if pooled else self.n_votes) - lost) * bet.quiet
            bets.append(bet)
        gains, values = (np.concatenate([each[part] for each in bets], axis=-1) for part in (0, 2))
        bet = Bet(gains, quiet, values)

        # Votes of one stage, bin and rival are a group. Without listed axes there is one attack: groups are counted.
        n_bins = pool.masses.shape[1]
        groups = self._stages * n_bins + self.bins(pooled, self._numbers) if pooled else np.zeros(votes, dtype=np.int64)
        n_groups = len(bets) * n_bins * len(parts)
        if rivals is not None:
            groups = groups * len(parts) + np.searchsorted(rivals, self._flips.classes)
        if not scheme.listed:
            counts = np.bincount(groups, minlength=n_groups)
            gained = quiet + gains.reshape(len(quiet), len(parts), -1).transpose(1, 0, 2) @ counts
            estimate = (values.reshape(len(parts), -1) @ counts).max() / self.n_votes
            return Weights(np.array([min(map(capital_of, gained))]), np.array([estimate]))
        key = scheme.listed, pooled, len(parts)
        if key not in self._columns:
            flips = np.concatenate([self.matrix(axis) for axis in scheme.listed], axis=1)
            self._columns[key] = columns_of(flips, groups, n_groups)

        return weigh(self._columns[key], listed, bet, self.n_votes, rows, wanted)

    def _stage(self, level: Level, scheme: Scheme, pool: PooledAxes, stage: int) -> tuple[Floats, Floats, float]:
        """λ of a stage, chosen on the stages before it; what a vote says in each cell and bin; and θ."""
        pooled, room = self._pooled(level, scheme), self.room(level, range(len(level)))
        limits, cost = np.ones(1), 0.0
        if pooled:
            rates = self._rates(level, scheme, pool, stage)
            limits, cost = choose_limits(pool, rates, room, self._listed_ratios(level, scheme))
        value = np.multiply.outer(self.ratios(level, scheme.listed), limits) * SUMMED
        return limits, value, below(room - cost)

    def wager(self, level: Level, scheme: Scheme, stage: int) -> Wager | None:
        """What `weighed` chooses for a stage, 0 without pooled axes; None where no bet can be won."""
        pool = self._pool_of_bet(level, scheme)
        if pool is None:
            return None
        limits, value, theta = self._stage(level, scheme, pool, stage)
        return Wager(limits, stakes_below(theta, value) if theta > 0 else np.zeros(len(FRACTIONS)))

    def own_bet(self, level: Level, scheme: Scheme) -> OwnBet | None:
        """The bet on votes at objects attacked on the listed axes of a scheme; None where it cannot be won.

        Its λ is chosen on all votes here: those that it is about are others.
        """
        pooled = self._pooled(level, scheme)
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

    def _pooled(self, level: Level, scheme: Scheme) -> tuple[int, ...]:
        return tuple(axis for axis, number in enumerate(level) if number and axis not in scheme.listed)

    def _pool(self, level: Level, pooled: tuple[int, ...]) -> PooledAxes | None:
        axes = tuple((self.axes[axis].law, self.sizes[axis], level[axis]) for axis in pooled)
        return pool_of(axes, tuple(self.pools[axis] for axis in pooled))

    def _pool_of_bet(self, level: Level, scheme: Scheme) -> PooledAxes | None:
        """The pooled axes of a bet on the shared votes; None where none can be won, say beyond the range of floats."""
        pool = self._pool(level, self._pooled(level, scheme))
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
        """How often votes fail in each bin, from the stages before one, where the attack that looks worst is made."""
        bins = self.bins(self._pooled(level, scheme), self._numbers)
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


def parts_against(rivals: int, third: float) -> Floats:
    """What a vote for each class counts in the contest with each rival, shape (rivals, classes): for itself, 1."""
    parts: Floats = third + (1 - third) * np.eye(rivals)
    return parts
