"""Verdicts of evidence, proved from single votes in ball arithmetic.

The engine counts bits of packed columns and adds rounded logarithms. Here the votes against the class are rows of a
plain matrix, counted attack by attack: how many of each stage and bin show which outcome at the attacked sites. The
penalty π is summed over all outcomes and bins, likelihood ratios are fractions, and with the resulting θ and X the
capital is M = mean over g of Π (1 + g·(θ − X)).

An attack is harmless if (1 − reserve)·M + reserve, times the capital of its own votes where it has some, is at least
1/δ after some chunk of these: by Ville's inequality any chunk will do. δ is computed here, from alpha and the box.
λ and g, and the ranks of attacks that may break a level, are chosen from the votes before (`math.choices`).

Every attack is proved in this way where a level, or a size, has at most `MAX_AGAIN`. Where it has more, the proof is
`weigh`, the engine's kernel, which rounds capital down; the attacks nearest to failing, and those that need votes of
their own, are proved here as well.

Where a threat lists its attacks, there are sizes in place of levels, and δ is all of what evidence may certify with. An
attack also passes if it lies on a level that the counts of votes prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.archive.checker.arithmetic import anytime_limit_holds, limit_holds
from starcert.archive.checker.bets import (
    PRECISION,
    Ball,
    Cells,
    CheckedBet,
    mean_of_exponentials,
    mixture,
    pooled_outcomes,
    ratios_of,
    seen_on,
    shown_outcomes_of,
)
from starcert.archive.claims import SAME, Broken
from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.listed_attacks import AttackIndex
from starcert.math.arithmetic import LOCK, exact_number
from starcert.math.attacked_sites import (
    AttackAxis,
    ListedAxis,
    attacks_of,
    axes_at,
    group_attacks,
    number_attack,
    pools_of,
    sites_by_pool,
)
from starcert.math.bets import RESERVE, class_and_rival, needed, stakes_below
from starcert.math.choices import Choices, Level, ends_of_stages, pooled_axes
from starcert.math.evidence import FEW, MAX_ATTACKS, MAX_FLIPS, FlipEvidence, Weighed, breaking_share, dangerous_attacks
from starcert.math.fallback import Contest
from starcert.math.limits import AlphaShares
from starcert.math.pooling import Scheme, bins_of, level_weight, schemes_of

MAX_AGAIN = 2**14
"""Attacks of a level, or of a size, that are all proved in balls."""
NEAREST = 64  # of more attacks, those nearest to failing

Whole = npt.NDArray[np.int64]
Chosen: TypeAlias = Mapping[int, Sequence[int]]  # for each listed axis the numbers of the attacked choices
Harmless: TypeAlias = Callable[[Level], bool]  # whether the counts of votes prove a level


class EvidenceCheck(NamedTuple):
    """The proved claims about one graph: certified and broken levels or sizes, and the number of attacks in balls."""

    levels: int = 0
    broken: int = 0
    attacks: int = 0
    own: int = 0  # attacks that were settled with votes of their own

    def __add__(self, other: object) -> EvidenceCheck:
        """Both together."""
        return EvidenceCheck(*map(int.__add__, self, other)) if isinstance(other, EvidenceCheck) else NotImplemented


class EvidenceChecker:
    """The votes on one graph, looked at in the plainest way there is.

    `axes` are those of the noise on the graph, `alpha` is the failure probability of its certificate, `box` the
    requested radii (None: all), `failure` the failure rate of its selection votes.
    """

    def __init__(
        self,
        graph: GraphEvidence,
        axes: Sequence[AttackAxis],
        *,
        label: int,
        alpha: Fraction,
        box: Level | None,
        failure: float,
        contest: Contest,  # what the class has to withstand
    ) -> None:
        record = graph.record
        if record.sites is not None:
            axes = axes_at(axes, record.sites)
        self.graph, self.axes, self.label, self.contest = graph, axes, label, contest
        self._shares, self._failure = AlphaShares.of(alpha), failure
        self.alpha = self._shares.certified
        self.pools = pools_of(axes)
        self.by_kernel = 0  # attacks that were proved by `weigh`, as their level or size has more than `MAX_AGAIN`
        self._box = graph.sizes if box is None else tuple(map(min, box, graph.sizes))
        ends = ends_of_stages(len(record.samples))
        stage_of_chunk = np.searchsorted(ends, np.arange(len(record.samples)), side="right")
        self.stages = np.repeat(stage_of_chunk, record.kept)  # of each vote against the class
        self.n_votes = [int(record.samples[stage_of_chunk == stage].sum()) for stage in range(len(ends))]
        n_sites = record.n_sites if record.sites is None else len(record.sites)
        n_choices = max(n_sites, sum(axis.n_choices for axis in axes))
        known = record.complete and len(record) * n_choices <= MAX_FLIPS
        # For each axis and choice the outcome that each vote against the class shows, 0 where the site did not flip.
        self.shown = [shown_outcomes_of(record, axis) for axis in axes] if known else None
        pools = sites_by_pool(axes)
        # How many sites of each axis flipped in each vote against the class, shape (votes, axes).
        if known:
            self.numbers = np.stack([record.matrix(sites).sum(axis=1) for sites in pools], axis=1)
        elif record.sites is None:
            self.numbers = record.numbers(pools)
        self.choices = self._choices(len(record.samples))
        self.before = [self._choices(end) for end in [0, *ends[:-1]]]  # for each stage, from the votes before it

    def _choices(self, chunks: int) -> Choices:
        return Choices(self.graph.record.first(chunks), self.axes, failure=self._failure, contest=self.contest)

    @cached_property
    def engine(self) -> FlipEvidence:
        """Weighs more attacks than are proved in balls, and ranks those that may break a level."""
        about = {"alpha": self.alpha, "failure": self._failure, "box": self._box, "contest": self.contest}
        return FlipEvidence(self.graph.record, self.axes, **about)  # type: ignore[arg-type]

    def wins_clean(self, *, fixed: bool) -> bool:
        """True if the class beats each other one at the graph itself."""
        record, holds = self.graph.record, limit_holds if fixed else anytime_limit_holds
        total, others = int(record.samples.sum()), np.bincount(record.answers[:, 0], minlength=1).tolist()
        scores = [self.contest.score(total - len(record), each, total) for each in others]
        return all(holds(*each, Fraction(self.contest.limit), self.alpha) for each in scores)

    def delta(self, level: Level, scheme: Scheme) -> Fraction:
        """The probability that one harmful attack of a level passes: levels and their schemes share alpha."""
        return self.alpha * level_weight(level, self._box) * scheme.share

    def certifies(self, level: Level) -> EvidenceCheck | None:
        """Proves that no attack of a level changes the answer; None: it is not proved."""
        attacked = np.bincount(self.pools, level, len(level))  # the axes of a pool take different sites
        if (attacked > self.graph.sizes).any():
            return EvidenceCheck(levels=1)  # there are fewer sites
        schemes = self.schemes(level)
        if sum(scheme.share for scheme in schemes) > 1:
            return None  # more than the alpha of the level
        for scheme in schemes:
            with LOCK, ctx.workprec(PRECISION):
                if (found := self._by_scheme(level, scheme)) is not None:
                    return found
        return None

    def schemes(self, level: Level) -> list[Scheme]:
        """Which axes are listed in turn: that depends on no votes."""
        laws = [(axis.law, len(axis.sites)) for axis in self.axes]
        return schemes_of(laws, level, MAX_ATTACKS, self.pools)

    def _by_scheme(self, level: Level, scheme: Scheme) -> EvidenceCheck | None:
        delta, wanted = self.delta(level, scheme), None
        if scheme.n_attacks > MAX_AGAIN:
            weighed = self.engine.weighed(level, scheme)
            wanted = self._in_balls(weighed, delta)
            if wanted is None or len(weighed.weights.capital) != scheme.n_attacks:
                return None
        every = (dict(zip(scheme.listed, each, strict=True)) for each in attacks_of(self.listed(level, scheme)))
        chosen = (each for number, each in enumerate(every) if wanted is None or number in wanted)
        return self._pass(level, scheme, delta, chosen, _OwnBet.of(self, level, scheme))

    def _in_balls(self, weighed: Weighed, delta: Fraction) -> set[int] | None:
        """The numbers of attacks that are proved in balls besides; None: an open one has no votes of its own."""
        capital = weighed.weights.capital
        rest = np.flatnonzero(capital < needed(delta)).tolist()
        nearest = np.argsort(capital, kind="stable")[:NEAREST].tolist()
        return None if len(rest) > len(self.graph.own) else {*nearest, *rest}

    def listed(self, level: Level, scheme: Scheme) -> list[ListedAxis]:
        """The listed axes of a scheme."""
        found = []
        for axis in scheme.listed:
            law = self.axes[axis].law
            found.append(
                ListedAxis(len(self.axes[axis].sites), level[axis], law.moves, len(law.outcomes), self.pools[axis])
            )
        return found

    def _pass(
        self, level: Level, scheme: Scheme, delta: Fraction, chosen: Iterable[Chosen], own: _OwnBet | None
    ) -> EvidenceCheck | None:
        """The number of these attacks, and of those that pass with votes of their own; None if one does not pass."""
        share, reserve = exact_number(delta), exact_number(RESERVE)
        shared = _SharedBet.of(self, level, scheme)
        # Where no bet is possible nothing was lost either. Where flips are not known, all may have been lost.
        unweighed = arb(self.choices.choose(level, scheme, 0) is None)
        attacks = settled = 0
        for attack in chosen:
            attacks += 1
            won = unweighed if shared is None else shared.capital(attack)
            capital = ((1 - reserve) * won + reserve) * share
            if capital >= 1:
                continue
            settled += 1
            if own is None or not own.reaches(capital, self.own_votes(attack)):
                return None
        self.by_kernel += scheme.n_attacks if scheme.n_attacks > MAX_AGAIN else 0
        return EvidenceCheck(levels=1, attacks=attacks, own=settled)

    def certifies_size(self, size: int, harmless: Harmless) -> EvidenceCheck | None:
        """The same for the listed attacks of a size; those on levels that the counts prove are not weighed."""
        index, lists = AttackIndex(self.axes), self.graph.attacks
        assert lists is not None
        rest = {level: places for level, places in index.by_level(lists[size - 1]).items() if not harmless(level)}
        number = sum(map(len, chain.from_iterable(rest.values())))
        if number > MAX_AGAIN:
            every = group_attacks(self.axes, lists[size - 1])
            weighed = self.engine.weighed_list([part for part in every if not harmless(part.level)])
            wanted = self._in_balls(weighed, self.alpha)
            if len(weighed.weights.capital) != number or wanted is None:
                return None
            rest = index.by_level([np.array([self.engine.attack(weighed, each)]) for each in wanted])
        found = EvidenceCheck(levels=int(number > 0))
        plain = _OwnBet(self)
        with LOCK, ctx.workprec(PRECISION):
            for level, parts in rest.items():
                axes = tuple(axis for axis, flips in enumerate(level) if flips)
                chosen = (dict(zip(axes, index.chosen(row, axes), strict=True)) for places in parts for row in places)
                passed = self._pass(level, Scheme(axes, min(number, MAX_AGAIN), Fraction(1)), self.alpha, chosen, plain)
                if passed is None:
                    return None
                found += passed._replace(levels=0)
        self.by_kernel += number if number > MAX_AGAIN else 0
        return found

    def own_votes(self, attack: Chosen) -> Sequence[tuple[Whole, Whole]]:
        """Votes at the graph under one attack, chunk by chunk: for each class, and flip numbers of those against."""
        sites = [self.axes[axis].attacked(chosen) for axis, chosen in attack.items()]
        return self.graph.own.get(tuple(sorted(np.concatenate([np.empty(0, dtype=np.int64), *sites]).tolist())), ())

    def breaks(self, broken: Broken, harmless: Harmless) -> bool:
        """True if votes at an attack of a level, or listed with a size, show that it changes the answer.

        Its part of alpha goes by its rank among the attacks that look most dangerous on the clean graph: a file that
        chose the rank, or δ, could have looked at all votes.
        """
        level, moved = broken.level, number_attack(self.axes, broken.sites, broken.values)
        votes, sums = broken.votes, np.cumsum([counts for counts, _ in self.graph.own.get(moved, ())], axis=0)
        weighed = self._weighed(level, harmless) if list(votes) in sums.tolist() else None
        ranked = [] if weighed is None else dangerous_attacks(self.engine, level, weighed)
        if moved not in ranked:
            return False
        delta = breaking_share(level, self._shares.broken, ranked.index(moved))
        others = votes[: self.label] + votes[self.label + 1 :]
        scores = [self.contest.score(votes[self.label], each, sum(votes)) for each in others]
        with LOCK, ctx.workprec(PRECISION):
            won = [mixture(of - against, of, 1 - self.contest.limit) for against, of in scores]
            shown = bool(sum(won, arb(0)) / len(won) * exact_number(delta) >= 1)
        return shown and broken.delta * SAME >= delta

    def _weighed(self, level: Level, harmless: Harmless) -> Weighed | None:
        """Ranks the attacks of a level, or of a size; None if none of them has to be weighed."""
        if self.graph.attacks is not None:
            if not 1 <= level[0] <= len(self.graph.attacks):
                return None
            parts = group_attacks(self.axes, self.graph.attacks[level[0] - 1])
            rest = [part for part in parts if not harmless(part.level)]
            return self.engine.weighed_list(rest) if rest else None
        if not self.engine.possible(level):
            return None
        schemes = self.schemes(level)
        early = [each for each in schemes if each.n_attacks <= FEW] or schemes
        return self.engine.weighed(level, early[-1])

    def bins(self, pooled: Sequence[int], numbers: Whole) -> tuple[Whole, int]:
        """The bin of each vote from its flip numbers, and how many bins there are."""
        bins, n_bins = np.zeros(len(numbers), dtype=np.int64), 1
        for first in dict.fromkeys(self.pools[axis] for axis in pooled):
            starts = bins_of(len(self.axes[first].sites), self.axes[first].law.clean)
            own = sum((numbers[:, first] >= start).astype(np.int64) for start in starts[1:])
            bins, n_bins = bins * len(starts) + own, n_bins * len(starts)
        return bins, n_bins

    def theta(self, level: Level, attacked: Iterable[int], pooled: Sequence[int], limits: Sequence[float]) -> Ball:
        """The limit, less π, less what a graph that is attacked on these axes shows and the clean one never does."""
        by_pool: dict[int, list[int]] = {}
        for axis in pooled:
            by_pool.setdefault(self.pools[axis], []).append(axis)
        pools = (
            (tuple((self.axes[axis].law, level[axis]) for axis in axes), len(self.axes[first].sites))
            for first, axes in by_pool.items()
        )
        penalty = arb(0)
        for ratio, masses in pooled_outcomes(tuple(pools)):
            for limit, mass in zip(limits, masses, strict=True):
                over = ratio - arb(limit)
                if not over <= 0:
                    penalty += mass * (over if over > 0 else over.upper())
        room = seen_on(self.axes, level, attacked) - 1 + Fraction(self.contest.limit)
        theta: Ball = exact_number(room) - penalty
        return theta


class _SharedBet(NamedTuple):
    """The bet on the votes on the clean graph, for all attacks of a scheme."""

    cells: Cells
    shown: Sequence[npt.NDArray[np.uint8]]  # as `EvidenceChecker.shown`
    groups: Whole  # the stage and bin of each vote against the class, as one number
    bet: CheckedBet  # votes for the class are counted already: `quiet` is what all of them add
    classes: npt.NDArray[np.integer]  # of each vote

    @classmethod
    def of(cls, checker: EvidenceChecker, level: Level, scheme: Scheme) -> _SharedBet | None:
        """The bet of a scheme; None where none is chosen, or single flips are not known."""
        if scheme.listed and checker.shown is None:
            return None
        pooled = pooled_axes(level, scheme)
        bins, n_bins = checker.bins(pooled, checker.numbers)
        # Without pooled axes nothing is chosen, and all votes are of one stage.
        n_votes = checker.n_votes if pooled else [sum(checker.n_votes)]
        stages = checker.stages if pooled else np.zeros_like(checker.stages)
        ratios = ratios_of(checker.axes, level, scheme.listed)
        bets, quiet = list[CheckedBet](), np.zeros(1, dtype=np.int64)
        for stage, votes in enumerate(n_votes):
            wager = checker.before[stage].choose(level, scheme, stage)
            if wager is None:
                return None
            limits = wager.limits.tolist()
            theta = checker.theta(level, range(len(level)), pooled, limits)
            values = [ratio * arb(limit) for ratio in ratios for limit in limits]
            bets.append(CheckedBet.of(wager.sizes, theta, values, checker.contest.third))
            quiet = quiet + (votes - int((stages == stage).sum())) * bets[-1].quiet
        rival, other = (
            np.concatenate([each.reshape(len(quiet), -1, n_bins) for each in parts], axis=-1).reshape(len(quiet), -1)
            for parts in ([bet.rival for bet in bets], [bet.other for bet in bets])
        )
        cells = Cells.of(checker.axes, level, scheme.listed, len(n_votes) * n_bins)
        answers = checker.graph.record.answers[:, 0]
        return cls(cells, checker.shown or (), stages * n_bins + bins, CheckedBet(rival, other, quiet), answers)

    def capital(self, attack: Chosen) -> Ball:
        """At least the least capital of an attack: votes are counted by class, group and what they show there."""
        cells, bet = self.cells.of_votes(self.groups, self.shown, attack), self.bet
        counts = np.bincount(cells, minlength=bet.rival.shape[1])
        least: Ball = arb("inf") if len(cells) else mean_of_exponentials(bet.quiet)
        for rival in np.unique(self.classes):
            mine = np.bincount(cells[self.classes == rival], minlength=len(counts))
            least = least.min(bet.capital(mine, counts - mine, 1))
        return least


class _OwnBet(NamedTuple):
    """The bet on votes at attacked graphs: by the bins of some axes, or, without a bet on these, by counts alone."""

    checker: EvidenceChecker
    axes: tuple[int, ...] = ()
    bet: CheckedBet | None = None
    order: Sequence[int] = ()  # the bins, those with the largest λ first

    @classmethod
    def of(cls, checker: EvidenceChecker, level: Level, scheme: Scheme) -> _OwnBet | None:
        """The bet of a scheme; None where none is chosen, or there are no votes at attacked graphs."""
        chosen = checker.choices.own_bet(level, scheme) if checker.graph.own else None
        if chosen is None or not chosen.axes:
            return None if chosen is None else cls(checker)
        limits = chosen.limits.tolist()
        theta, sizes = checker.theta(level, chosen.axes, chosen.axes, limits), stakes_below(chosen.theta, chosen.limits)
        bet = CheckedBet.of(sizes, theta, list(map(arb, limits)), checker.contest.third)
        return cls(checker, chosen.axes, bet, np.argsort(-chosen.limits, kind="stable").tolist())

    def reaches(self, already: Ball, votes: Sequence[tuple[Whole, Whole]]) -> bool:
        """True if the capital, times `already`, was 1 or more after any chunk."""
        return any(bool(already * self.capital(votes[:end]) >= 1) for end in range(len(votes), 0, -1))

    def capital(self, votes: Sequence[tuple[Whole, Whole]]) -> Ball:
        """The capital after these chunks against the strongest other class, at least."""
        numbers = np.concatenate([each for _, each in votes])
        contest, total = self.checker.contest, np.sum([counts for counts, _ in votes], axis=0)
        mine, rival = class_and_rival(total, self.checker.label)
        if self.bet is None:
            return mixture(*contest.score(mine, rival, int(total.sum())), contest.limit)
        bins, n_bins = self.checker.bins(self.axes, numbers)
        counts = np.bincount(bins, minlength=n_bins)
        whole = np.zeros_like(counts)
        for place in self.order:  # where votes for the rival cost most
            whole[place] = min(rival, counts[place])
            rival -= whole[place]
        return self.bet.capital(whole, counts - whole, mine)
