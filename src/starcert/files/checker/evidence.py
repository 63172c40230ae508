"""Verdicts of evidence, proved from single votes in ball arithmetic.

The engine counts bits of packed columns and adds rounded logarithms. Here the votes against the class are rows of a
plain matrix, counted attack by attack: how many of each stage and bin show which outcome at the attacked sites. The
penalty π is summed over all outcomes and bins, likelihood ratios are fractions, and with the resulting θ and X the
capital is M = mean over g of Π (1 + g·(θ − X)).

An attack is harmless if (1 − reserve)·M + reserve, times the capital of its own votes where it has some, is at least
1/δ after some chunk of these: by Ville's inequality any chunk will do. δ is computed here, from alpha and the box.

The engine's choices, λ and g, are taken over: a bet is fair whatever they are, provided they were made beforehand. So
the choices of a stage are requested from an engine that has only seen the votes before that stage.

Where a threat lists its attacks, there are sizes in place of levels, and δ is all of what evidence may certify with. An
attack also passes if it lies on a level that the counts of votes prove.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.files.checker.arithmetic import (
    Ball,
    anytime_limit_holds,
    flip_outcomes,
    limit_holds,
    log_gains,
    mean_of_exponentials,
    mixture,
    pooled_outcomes,
    shown_outcomes_of,
)
from starcert.files.claims import BrokenLevel
from starcert.files.evidence_file import GraphEvidence
from starcert.files.listed_attacks import AttackIndex
from starcert.files.untrusted import DisagreementError
from starcert.math.arithmetic import LOCK, exact_number
from starcert.math.attacked_sites import AttackAxis, attacks_of, number_attack, pools_of, sites_by_pool
from starcert.math.bets import RESERVE, class_and_rival, stakes_below
from starcert.math.evidence import MAX_FLIPS, STAGE_GROWTH, FlipEvidence, Level, Weighed
from starcert.math.fallback import Contest
from starcert.math.limits import AlphaShares
from starcert.math.listed import group_attacks
from starcert.math.pooling import Scheme, bins_of, level_weight

MAX_AGAIN = 2**14
"""Of a level with more attacks, only those nearest to failing and those with own votes are weighed again."""
NEAREST = 64
PRECISION = 96

Whole = npt.NDArray[np.int64]
Chosen: TypeAlias = tuple[tuple[int, ...], ...]  # for each listed axis the numbers of the attacked sites


class EvidenceCheck(NamedTuple):
    """What was proved a second time about one graph: certified and broken levels or sizes, attacks weighed again."""

    levels: int
    broken: int
    attacks: int
    own: int  # attacks that were settled with votes of their own


class EvidenceChecker:
    """The votes on one graph, looked at in the plainest way there is.

    `axes` are those of the noise on the graph, `alpha` is the failure probability of its certificate, `box` the
    requested radii (None: all), and `choices` returns the engine's choices, given the number of the first chunks.
    """

    def __init__(
        self,
        graph: GraphEvidence,
        axes: Sequence[AttackAxis],
        *,
        label: int,
        alpha: Fraction,
        box: Level | None,
        choices: Callable[[int], FlipEvidence],
        contest: Contest,  # what the class has to withstand
    ) -> None:
        record = graph.record
        self.graph, self.axes, self.label = graph, axes, label
        self.contest = contest
        self.alpha = AlphaShares.of(alpha).certified
        self.pools = pools_of(axes)
        self._box = graph.sizes if box is None else tuple(map(min, box, graph.sizes))
        ends = [0, 1]
        while ends[-1] < len(record.samples):
            ends.append(ends[-1] * STAGE_GROWTH)
        stage_of_chunk = np.searchsorted(ends, np.arange(len(record.samples)), side="right") - 1
        self.stages = np.repeat(stage_of_chunk, record.against)  # of each vote against the class
        self.n_votes = [int(record.samples[stage_of_chunk == stage].sum()) for stage in range(len(ends) - 1)]
        n_choices = max(record.n_sites, sum(axis.n_choices for axis in axes))
        known = record.complete and len(record) * n_choices <= MAX_FLIPS
        # For each axis and choice the outcome that each vote against the class shows, 0 where the site did not flip.
        self.shown = [shown_outcomes_of(record, axis) for axis in axes] if known else None
        pools = sites_by_pool(axes)
        by_axis = [record.matrix(sites).sum(axis=1) for sites in pools] if known else None
        # How many sites of each axis flipped in each vote against the class, shape (votes, axes).
        self.numbers = record.numbers(pools) if by_axis is None else np.stack(by_axis, axis=1)
        self.engine = choices(len(record.samples))
        self.before = [choices(end) for end in ends[:-1]]  # the choices of each stage, from the votes before it

    def check(self, certified: Sequence[Level], broken: Sequence[BrokenLevel], name: str) -> EvidenceCheck:
        """Proves certified and broken levels of a graph with this name; an ArithmeticError if that fails."""
        proofs = {level: self._certifies(level) for level in certified}
        return _summary(proofs, {each.level: self._breaks(each) for each in broken}, f"level {{}} of {name}")

    def check_clean_answer(self, *, fixed: bool, name: str) -> None:
        """Proves that the class beats each other one at the graph itself; an ArithmeticError if that fails."""
        record, holds = self.graph.record, limit_holds if fixed else anytime_limit_holds
        total, others = int(record.samples.sum()), np.bincount(record.classes, minlength=1).tolist()
        scores = [self.contest.score(total - len(record), each, total) for each in others]
        if not all(holds(*each, Fraction(self.contest.limit), self.alpha) for each in scores):
            raise DisagreementError(f"about the answer for {name}")

    def check_sizes(
        self, certified: int, broken: Sequence[BrokenLevel], by_counts: Collection[Level], name: str
    ) -> EvidenceCheck:
        """The same of a threat that lists its attacks: sizes up to one are certified; counts prove some levels."""
        proofs: dict[Level, tuple[int, int] | None] = {}
        for size in range(1, certified + 1):
            proofs[(size,)] = self._certifies_size(size, by_counts)
        found = _summary(proofs, {each.level: self._breaks_size(each) for each in broken}, f"size {{}} of {name}")
        return found._replace(levels=sum(proof is not None and proof[0] > 0 for proof in proofs.values()))

    def delta(self, level: Level, scheme: Scheme) -> Fraction:
        """The probability that one harmful attack of a level passes: levels and their schemes share alpha."""
        return self.alpha * level_weight(level, self._box) * scheme.share

    def _certifies(self, level: Level) -> tuple[int, int] | None:
        """How many attacks of a level were weighed again, and how many with votes of their own; None: one failed."""
        attacked = np.bincount(self.pools, level, len(level))  # the axes of a pool take different sites
        if (attacked > self.graph.sizes).any():
            return 0, 0  # there are fewer sites
        schemes = self.engine.schemes(level)
        if sum(scheme.share for scheme in schemes) > 1:
            return None  # more than the alpha of the level
        for scheme in schemes:
            weighed = self.engine.weighed(level, scheme)
            if len(weighed.rest) <= len(self.graph.own):  # else some open attack has no votes of its own
                with LOCK, ctx.workprec(PRECISION):
                    found = self._weigh_again(level, scheme, weighed)
                if found is not None:
                    return found
        return None

    def _weigh_again(self, level: Level, scheme: Scheme, weighed: Weighed) -> tuple[int, int] | None:
        own = _OwnBet.of(self, level, scheme) if len(weighed.rest) else None
        return self._pass(level, scheme, self.delta(level, scheme), self._chosen(level, scheme, weighed), own)

    def _pass(
        self, level: Level, scheme: Scheme, delta: Fraction, chosen: Iterable[Chosen], own: _OwnBet | None
    ) -> tuple[int, int] | None:
        """How many attacks these are, and how many pass with votes of their own; None: one does not pass."""
        needed, reserve = exact_number(delta), exact_number(RESERVE)
        shared = _SharedBet.of(self, level, scheme)
        # Where no bet is possible nothing was lost either. Where flips are not known, all may have been lost.
        unweighed = arb(self.engine.wager(level, scheme, 0) is None)
        attacks = settled = 0
        for attack in chosen:
            attacks += 1
            won = unweighed if shared is None else shared.capital(attack)
            capital = ((1 - reserve) * won + reserve) * needed
            if capital >= 1:
                continue
            settled += 1
            if own is None or not own.reaches(capital, self.own_votes(scheme, attack)):
                return None
        return attacks, settled

    def _certifies_size(self, size: int, by_counts: Collection[Level]) -> tuple[int, int] | None:
        """The same for the listed attacks of a size; those on levels that the counts prove are not weighed."""
        index, lists = AttackIndex(self.axes), self.graph.attacks
        assert lists is not None
        rest = {level: places for level, places in index.by_level(lists[size - 1]).items() if level not in by_counts}
        number = sum(map(len, chain.from_iterable(rest.values())))
        if number > MAX_AGAIN:
            listed = (part for part in group_attacks(self.axes, lists[size - 1]) if part.level not in by_counts)
            weighed = self.engine.weighed_list(list(listed))
            if weighed.scheme.n_attacks != number or len(weighed.rest) > len(self.graph.own):
                return None  # the engine has left out attacks, or some open one has no votes of its own
            few = ([self.engine.attack(weighed, each)] for each in _nearest(weighed))
            rest = index.by_level([np.array(attack) for attack in few])
        plain = _OwnBet(self, (), *[np.empty(0, dtype=np.int64)] * 4)
        again = settled = 0
        with LOCK, ctx.workprec(PRECISION):
            for level, parts in rest.items():
                axes = tuple(axis for axis, flips in enumerate(level) if flips)
                chosen = (index.chosen(row, axes) for places in parts for row in places)
                found = self._pass(level, Scheme(axes, number, Fraction(1)), self.alpha, chosen, plain)
                if found is None:
                    return None
                again, settled = again + found[0], settled + found[1]
        return again, settled

    def own_votes(self, scheme: Scheme, attack: Chosen) -> Sequence[tuple[Whole, Whole]]:
        """Votes at the graph under one attack, chunk by chunk: for each class, and flip numbers of those against."""
        sites = [self.axes[axis].attacked(chosen) for axis, chosen in zip(scheme.listed, attack, strict=True)]
        return self.graph.own.get(tuple(sorted(np.concatenate([np.empty(0, dtype=np.int64), *sites]).tolist())), ())

    def _chosen(self, level: Level, scheme: Scheme, weighed: Weighed) -> Iterator[Chosen]:
        """The attacks that are weighed again: all, or those nearest to failing and those that are open."""
        attacks = attacks_of(self.engine.listed(level, scheme.listed))
        if scheme.n_attacks <= MAX_AGAIN:
            return attacks
        wanted = _nearest(weighed)
        return (attack for number, attack in enumerate(attacks) if number in wanted)

    def _breaks(self, broken: BrokenLevel) -> bool:
        """Whether an attack is of a level, its votes were recorded, and they are too few for the class."""
        level, moved = broken.level, number_attack(self.axes, broken.sites, broken.values)
        of_level = level == tuple(int(np.isin(axis.attacked(range(axis.n_choices)), moved).sum()) for axis in self.axes)
        return of_level and len(broken.sites) == sum(level) and self._changes_answer(broken, moved)

    def _breaks_size(self, broken: BrokenLevel) -> bool:
        """The same where an attack has to be on the list of a size, or of a smaller one."""
        (size,), moved = broken.level, number_attack(self.axes, broken.sites, broken.values)
        blocks = [block for blocks in (self.graph.attacks or ())[:size] for block in blocks]
        of_size = any(block.shape[1] == len(moved) and (np.sort(block) == moved).all(axis=1).any() for block in blocks)
        return of_size and self._changes_answer(broken, moved)

    def _changes_answer(self, broken: BrokenLevel, moved: tuple[int, ...]) -> bool:
        votes, sums = broken.votes, np.cumsum([counts for counts, _ in self.graph.own.get(moved, ())], axis=0)
        if list(votes) not in sums.tolist():
            return False
        others = votes[: self.label] + votes[self.label + 1 :]
        scores = [self.contest.score(votes[self.label], each, sum(votes)) for each in others]
        with LOCK, ctx.workprec(PRECISION):
            won = [mixture(of - against, of, 1 - self.contest.limit) for against, of in scores]
            return bool(sum(won, arb(0)) / len(won) * exact_number(Fraction(broken.delta)) >= 1)

    def bins(self, pooled: Sequence[int], numbers: Whole) -> tuple[Whole, int]:
        """The bin of each vote from its flip numbers, and how many bins there are."""
        bins, n_bins = np.zeros(len(numbers), dtype=np.int64), 1
        for first in dict.fromkeys(self.pools[axis] for axis in pooled):
            starts = bins_of(len(self.axes[first].sites), self.axes[first].law.clean)
            own = sum((numbers[:, first] >= start).astype(np.int64) for start in starts[1:])
            bins, n_bins = bins * len(starts) + own, n_bins * len(starts)
        return bins, n_bins

    def theta(self, level: Level, attacked: Sequence[int], pooled: Sequence[int], limits: Sequence[float]) -> Ball:
        """The limit, less π, less what a graph that is attacked on these axes shows and the clean one never does."""
        shown = prod(((1 - self.axes[axis].law.unseen) ** level[axis] for axis in attacked), start=Fraction(1))
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
        theta: Ball = exact_number(shown - 1 + Fraction(self.contest.limit)) - penalty
        return theta


def _summary(
    certified: Mapping[Level, tuple[int, int] | None], broken: Mapping[Level, bool], what: str
) -> EvidenceCheck:
    for level, proof in (*certified.items(), *broken.items()):
        if proof in (None, False):
            raise DisagreementError(f"about {what.format(level)}")
    again, own = (sum(column) for column in zip((0, 0), *filter(None, certified.values()), strict=True))
    return EvidenceCheck(len(certified), len(broken), again, own)


def _nearest(weighed: Weighed) -> set[int]:
    """The numbers of the attacks that are nearest to failing, and of those that are open."""
    return {*np.argsort(weighed.weights.capital, kind="stable")[:NEAREST].tolist(), *weighed.rest.tolist()}


class _SharedBet(NamedTuple):
    """The bet on the votes on the clean graph, for all attacks of a scheme."""

    shown: list[npt.NDArray[np.uint8]]  # for each listed axis, as `EvidenceChecker.shown`
    groups: Whole  # the stage and bin of each vote against the class, as one number
    seen: Whole  # what such a vote adds to the logarithm of capital, shape (stakes, numbers of outcomes and groups)
    steps: list[Whole]  # for each listed axis and outcome the distance between its numbers in `seen`
    quiet: Whole  # what all votes for the class add
    third: Whole  # what a vote adds, as in `seen`, that is for a third class
    classes: npt.NDArray[np.integer]  # of each vote

    @classmethod
    def of(cls, checker: EvidenceChecker, level: Level, scheme: Scheme) -> _SharedBet | None:
        """The bet of a scheme; None where the engine makes none, or single flips are not known."""
        if scheme.listed and checker.shown is None:
            return None
        pooled = tuple(axis for axis, number in enumerate(level) if number and axis not in scheme.listed)
        bins, n_bins = checker.bins(pooled, checker.numbers)
        # Without pooled axes nothing is chosen, and all votes are of one stage.
        n_votes = checker.n_votes if pooled else [sum(checker.n_votes)]
        stages = checker.stages if pooled else np.zeros_like(checker.stages)
        own = [[ratio for ratio, _, _ in flip_outcomes(checker.axes[axis].law, level[axis])] for axis in scheme.listed]
        ratios = [prod(parts, start=arb(1)) for parts in product(*own)]
        seen, third, quiet = list[Whole](), list[Whole](), np.zeros(0, dtype=np.int64)
        for stage, votes in enumerate(n_votes):
            wager = checker.before[stage].wager(level, scheme, stage)
            if wager is None:
                return None
            limits = wager.limits.tolist()
            theta = checker.theta(level, range(len(level)), pooled, limits)
            for found, part in ((seen, 1.0), (third, checker.contest.third)):
                values = [ratio * arb(limit) * part for ratio in ratios for limit in limits]
                gains = log_gains(wager.sizes, theta, values)
                found.append(gains.reshape(len(gains), -1, n_bins))
            lost = int((stages == stage).sum())
            quiet = (votes - lost) * log_gains(wager.sizes, theta, [arb(0)])[:, 0] + (quiet if len(quiet) else 0)
        steps, step = list[Whole](), len(n_votes) * n_bins
        for axis in reversed(scheme.listed):
            lengths = [step * (level[axis] + 1) ** i for i in range(len(checker.axes[axis].law.outcomes))]
            steps.insert(0, np.array([0, *reversed(lengths)]))
            step = lengths[-1] * (level[axis] + 1)
        shown = [checker.shown[axis] for axis in scheme.listed] if checker.shown is not None else []
        whole, less = (np.concatenate(found, axis=-1).reshape(len(quiet), -1) for found in (seen, third))
        return cls(shown, stages * n_bins + bins, whole, steps, quiet, less, checker.graph.record.classes)

    def capital(self, attack: Chosen) -> Ball:
        """At least the least capital of an attack: votes are counted by class, group and what they show there."""
        cells = self.groups.copy()
        for shown, steps, chosen in zip(self.shown, self.steps, attack, strict=True):
            for number in chosen:
                cells += steps[shown[number]]
        counts = np.bincount(cells, minlength=self.seen.shape[1])
        least: Ball = arb("inf") if len(cells) else mean_of_exponentials(self.quiet)
        for rival in np.unique(self.classes):
            mine = np.bincount(cells[self.classes == rival], minlength=len(counts))
            least = least.min(mean_of_exponentials(self.quiet + self.seen @ mine + self.third @ (counts - mine)))
        return least


class _OwnBet(NamedTuple):
    """The bet on votes at attacked graphs: the pooled axes, and what votes against and for the class add, if pooled."""

    checker: EvidenceChecker
    axes: tuple[int, ...]
    gains: Whole
    quiet: Whole
    third: Whole  # as `gains`, for votes for a third class
    order: Whole  # the bins, those with the largest λ first

    @classmethod
    def of(cls, checker: EvidenceChecker, level: Level, scheme: Scheme) -> _OwnBet | None:
        """The bet of a scheme; None where the engine makes none."""
        bet = checker.engine.own_bet(level, scheme)
        if bet is None:
            return None
        if not bet.axes:
            return cls(checker, (), *[np.empty(0, dtype=np.int64)] * 4)
        limits = bet.limits.tolist()
        theta = checker.theta(level, bet.axes, bet.axes, limits)
        sizes = stakes_below(bet.theta, bet.limits)
        gains = log_gains(sizes, theta, [arb(limit) for limit in limits])
        third = log_gains(sizes, theta, [arb(limit) * checker.contest.third for limit in limits])
        quiet, order = log_gains(sizes, theta, [arb(0)])[:, 0], np.argsort(-bet.limits, kind="stable")
        return cls(checker, bet.axes, gains, quiet, third, order)

    def reaches(self, already: Ball, votes: Sequence[tuple[Whole, Whole]]) -> bool:
        """Whether the capital, times what there is already, was 1 or more after any chunk."""
        return any(bool(already * self.capital(votes[:end]) >= 1) for end in range(len(votes), 0, -1))

    def capital(self, votes: Sequence[tuple[Whole, Whole]]) -> Ball:
        """The capital after these chunks against the strongest other class, at least."""
        numbers = np.concatenate([each for _, each in votes])
        contest, total = self.checker.contest, np.sum([counts for counts, _ in votes], axis=0)
        mine, rival = class_and_rival(total, self.checker.label)
        if not self.axes:
            return mixture(*contest.score(mine, rival, int(total.sum())), contest.limit)
        bins, n_bins = self.checker.bins(self.axes, numbers)
        counts = np.bincount(bins, minlength=n_bins)
        whole = np.zeros_like(counts)
        for place in self.order:  # where votes for the rival cost most
            whole[place] = min(rival, counts[place])
            rival -= whole[place]
        return mean_of_exponentials(self.quiet * mine + self.gains @ whole + self.third @ (counts - whole))
