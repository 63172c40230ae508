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

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, Whole
from starcert.math.attacked_sites import AttackAxis, LevelAttacks, attack_number, describe_attack
from starcert.math.ballots import Ballots
from starcert.math.bets import FRACTIONS, MAX_VOTES, NO_CAPITAL, Bet, bet_below, capital_of, needed, with_reserve
from starcert.math.choices import Choices, Level, pooled_axes
from starcert.math.fallback import PLAIN, Contest
from starcert.math.pooling import Scheme, level_weight, schemes_of
from starcert.math.weighing import Columns, Weights, columns_of, weigh

MAX_ATTACKS = 2**20  # at most this many attacks of a level are weighed by default
MAX_FLIPS = 2**28  # the largest matrix of votes × listed sites
DANGEROUS = 32  # attacks, the most dangerous ones, that have votes of their own first
FEW = 2**16  # more attacks than these are weighed only after votes at attacked objects were tried

Attack = tuple[int, ...]  # the attacked sites, ascending: see `AttackAxis.attacked`


class Weighed(NamedTuple):
    """The capital and the estimate of each attack of a level, by a scheme."""

    scheme: Scheme
    needed: int  # the logarithm of a capital, in `bets.SCALE`, that proves an attack harmless
    weights: Weights  # with the reserve for votes of its own: what those win is added to the logarithm
    failure: Floats  # the estimates with all other classes as one: ranks are by these
    parts: tuple[LevelAttacks, ...]  # the attacks, in this order

    @property
    def proved(self) -> bool:
        """True if every attack is harmless."""
        return bool((self.weights.capital >= self.needed).all())

    @property
    def rest(self) -> Whole:
        """The numbers of the attacks that are open, those that look worst first."""
        rest = np.flatnonzero(self.weights.capital < self.needed)
        return rest[np.argsort(-self.weights.estimate[rest], kind="stable")]


class FlipEvidence(Choices):
    """The votes on one object, ready to be weighed. Anything proved here is false with probability at most `alpha`.

    `failure` is the failure rate of the selection votes, a first guess; `box` the largest count of interest on each
    axis, by default all of its sites; `max_attacks` the limit on attacks weighed at one level; `contest` what the class
    has to withstand.
    """

    def __init__(
        self,
        flips: Ballots,
        axes: Sequence[AttackAxis],
        *,
        alpha: Fraction,
        failure: float,
        box: Level | None = None,
        max_attacks: int = MAX_ATTACKS,
        contest: Contest = PLAIN,
    ) -> None:
        super().__init__(flips, axes, failure=failure, contest=contest)
        self.box = self.sizes if box is None else tuple(map(min, box, self.sizes))
        self.alpha = alpha
        self.max_attacks = max_attacks
        self._columns: dict[tuple[tuple[int, ...], tuple[int, ...], int], Columns] = {}

    def schemes(self, level: Level) -> list[Scheme]:
        """The schemes of a level, see `schemes_of`."""
        return schemes_of([(axis.law, len(axis.sites)) for axis in self.axes], level, self.max_attacks, self.pools)

    def possible(self, level: Level) -> bool:
        """True if there is any attack of a level: axes of one pool take different sites of it."""
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
        """The capitals of the attacks of a level, by a scheme."""
        goal = needed(self.delta(level, scheme))
        return Weighed(scheme, goal, *self.capitals(level, scheme, goal), (LevelAttacks(level),))

    def weighed_list(self, parts: Sequence[LevelAttacks]) -> Weighed:
        """The capitals of listed attacks, none of their axes pooled: each may take all of alpha."""
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
        """The capital of each attack, with the reserve, and its `failure`.

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
        """True if the shared votes alone prove every attack of a level harmless, by any scheme."""
        if not self.possible(level):
            return True
        return any(self.weighed(level, scheme).proved for scheme in self.schemes(level))

    @cached_property
    def _rivals(self) -> Whole:
        """The classes that votes against the class are for. One without votes has the largest capital against it."""
        return np.unique(self._flips.answers).astype(np.int64)

    def weights(
        self,
        level: Level,
        scheme: Scheme,
        rows: Whole | None = None,
        *,
        rivals: Whole | None = None,
        wanted: npt.NDArray[np.bool_] | None = None,
    ) -> Weights:
        """The capital of each attack by the shared votes, without the reserve; or some, as in `weigh`.

        With `rivals`, votes for other classes than a rival count less (see `Contest`): X = f_B·L_C·λ(K). The stakes are
        the same, as the largest X is. Without, every vote against the class counts whole.
        """
        votes = len(self._stages)
        parts = np.ones((1, 1)) if rivals is None else parts_against(len(rivals), self.contest.third)
        pooled = pooled_axes(level, scheme)
        pool = self._pool_of_bet(level, scheme)
        listed = self.listed(level, scheme.listed)
        n_columns = sum(axis.size * axis.moves * axis.outcomes for axis in listed)
        no_estimate = np.zeros(scheme.n_attacks)
        if pool is None:  # no bet can be won: the capital stays 1
            return Weights(np.zeros(scheme.n_attacks, dtype=np.int64), no_estimate)
        unknown = scheme.listed and not self._flips.complete
        if unknown or votes * n_columns > MAX_FLIPS or not 0 < self.n_votes <= MAX_VOTES:
            return Weights(np.full(scheme.n_attacks, NO_CAPITAL, dtype=np.int64), no_estimate)

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
            groups = groups * len(parts) + np.searchsorted(rivals, self._flips.answers[:, 0])
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


def parts_against(rivals: int, third: float) -> Floats:
    """The weight of a vote for each class in the contest with each rival, shape (rivals, classes): for itself, 1."""
    parts: Floats = third + (1 - third) * np.eye(rivals)
    return parts


def dangerous_attacks(evidence: FlipEvidence, level: Level, weighed: Weighed) -> list[Attack]:
    """Attacks of a level, or of a size, the most dangerous first: those that look worst, or one on the strongest sites.

    The rank of an attack here decides its part of alpha, so it comes from the votes on the clean object alone.
    """
    axes, listed = evidence.axes, weighed.scheme.listed

    def any_will_do(axis: int) -> bool:  # it has one attack alone, or attacks that cannot be distinguished
        one, number = axes[axis], level[axis]
        return not number or one.law.free or (number == len(one.sites) and one.law.moves == 1)

    if all(axis in listed or any_will_do(axis) for axis in range(len(level))):
        order = np.argsort(-weighed.failure, kind="stable")[:DANGEROUS]
        return [_whole_attack(evidence, level, weighed, int(index)) for index in order]
    sites: list[int] = []
    for axis in range(len(level)):
        ranked = np.argsort(-evidence.scores(axis), kind="stable").tolist()
        sites += first_choices(axes, axis, level[axis], ranked, sites)
    return [tuple(sorted(sites))]


def _whole_attack(evidence: FlipEvidence, level: Level, weighed: Weighed, index: int) -> Attack:
    """The attacked sites of a weighed attack, and those of pooled axes: all, or the first that there are."""
    sites, axes = list(evidence.attack(weighed, index)), evidence.axes
    for axis, number in enumerate(level):
        if axis not in weighed.scheme.listed:
            sites += first_choices(axes, axis, number, range(axes[axis].n_choices), sites)
    return tuple(sorted(sites))


def first_choices(
    axes: Sequence[AttackAxis], axis: int, number: int, ranked: Iterable[int], taken: Sequence[int]
) -> list[int]:
    """The first of ranked choices on an axis that attack no site twice, nor one already taken; as attacks have them."""
    one, used = axes[axis], set(describe_attack(axes, taken)[0])
    chosen: dict[int, int] = {}  # by site
    for choice in ranked:
        if len(chosen) == number:
            break
        if (site := int(one.sites[choice // one.law.moves])) not in used:
            chosen.setdefault(site, choice)
    return [int(site) for site in one.attacked(list(chosen.values()))]


def breaking_share(level: Level, alpha: Fraction, rank: int) -> Fraction:
    """The part of the alpha for what is broken that the attack of a rank at a level, or of a size, has."""
    return alpha / (prod((number + 1) * (number + 2) for number in level) * (rank + 1) * (rank + 2))
