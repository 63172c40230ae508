"""Stopping early: a graph gets no more votes than it takes to answer the question, yes or no.

The question is whether every attack of a threat is certified: all levels of one by radius, or all that it lists.

**Yes is a claim.** Bounds that hold at a number of votes fixed in advance, as Clopper–Pearson's do, would break if
votes decided whether to draw more. Here every claim, of `anytime_bounds` and of evidence, rests on capitals that are
large at *some* time with a small probability only (`starcert.math.bets`): looking is free.

**Giving up claims nothing.** A graph that is given up has the certificate that its votes support. An error there costs
power, never validity, and `GIVE_UP` takes nothing from alpha.

**Looks have a bounded cost**, by a count and never by the clock, so that votes stay reproducible. Evidence is weighed
once, at the first look that has a quarter of all votes, and only where that is cheap: at most `MAX_LEVELS` levels that
the counts leave open, with no more attacks in all than there are votes to be saved.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar, Self

import numpy as np
from typing_extensions import override

from starcert.claims.question import Question
from starcert.claims.slack import slacks_of
from starcert.math.attacked_sites import AttackAxis
from starcert.math.bets import class_and_rival
from starcert.math.choices import Level, sure_influences
from starcert.math.evidence import FlipEvidence
from starcert.math.fallback import PLAIN, Contest
from starcert.math.limits import AlphaShares, capital_against
from starcert.math.margins import RELATIVE_ERROR
from starcert.math.votes import Votes, chunk_ends
from starcert.methods.evidence import evidence_of
from starcert.objects.binding import Problem, attack_axes
from starcert.objects.threats import Threat
from starcert.voting.plans import Plan, SoFar, Wanted, default_selection

_LOG = logging.getLogger(__name__)

FIRST_CHUNK = 64  # samples, and the fewest selection votes: a word of the sampler has 64 copies
GIVE_UP = 0.01  # the probability to give up a question whose true p_A would more likely than not lead to a yes
SURE = 3.0  # standard errors by which an attack must seem to succeed, for a question to be given up
MAX_INFLUENCES = 2**23  # votes against the class times sites, up to which single attacks are looked at
MAX_LEVELS = 16  # the most levels that one look at evidence weighs
ROUNDING = 1e-9  # more than the rounding errors of a capital in floats, so that the proved bound says yes too


@dataclass(frozen=True)
class DecidedPlan(Plan):
    """Draws chunks of 64, 64, 128, 256, … votes until the question about a graph is answered, or is given up.

    Without a threat there is no question to answer: all votes are drawn, unless the class has no majority that they
    could show.
    """

    most: Wanted  # the most votes that there may be
    problem: Problem
    shares: AlphaShares  # where the alpha of each certificate goes
    questions: Sequence[Question] | None = None  # about each object

    first_chunk: ClassVar[int] = FIRST_CHUNK

    @classmethod
    def of(
        cls,
        samples: int,
        selection_samples: int | None,
        problem: Problem,
        shares: AlphaShares,
        questions: Sequence[Question] | None = None,
    ) -> Self:
        """The plan of at most `samples` estimation votes, with as many selection votes as the question takes.

        Where the answer is yes, the class has p_A > 1 − slack. By Hoeffding's inequality, it is chosen with probability
        1 − GIVE_UP or more by log(1/GIVE_UP)/(2(½ − slack)²) selection votes; any other class only leads to a no.
        Evidence may certify any p_A above one half, and takes `default_selection(samples)`.
        """
        plan = cls(Wanted(0, samples), problem, shares, questions)
        if selection_samples is None:
            limit = max(plan._failure_limit(graph, evidence=plan._evidence) for graph in range(len(problem)))
            few = -math.log(GIVE_UP) / (2 * max(0.5 - limit, 1e-6) ** 2)
            selection_samples = min(max(FIRST_CHUNK, math.ceil(few)), default_selection(samples))
        return replace(plan, most=Wanted(selection_samples, samples))

    @property
    def _evidence(self) -> bool:
        return self.shares.certified > 0

    @override
    def wanted(self, so_far: SoFar) -> Wanted:
        drawn = so_far.n_estimation
        if drawn == self.most.estimation or (drawn and self._is_decided(so_far)):
            _LOG.debug("graph %d: no more votes after %d", so_far.object, drawn)
            return so_far.wanted
        following = next(votes for votes in self._looks(so_far.chunk_size) if votes > drawn)
        return Wanted(self.most.selection, min(following, self.most.estimation))

    def _is_decided(self, so_far: SoFar) -> bool:
        targets = np.arange(len(so_far.estimation))
        votes = Votes(
            so_far.estimation,
            so_far.selection,
            objects=0 * targets,
            targets=targets,
            history="stopped",
            ballots=(so_far.ballots,),
            blind=so_far.blind,
        )
        axes = cache(lambda: attack_axes(self.problem.sites[so_far.object], self.problem.noise))
        looks = self._looks(so_far.chunk_size)
        weighs = so_far.n_estimation == next(votes for votes in looks if 4 * votes >= self.most.estimation)
        rows = map(votes.row, range(len(votes)))
        return all(self._is_row_decided(row, so_far.object, axes, weighs=weighs) for row in rows)

    def _is_row_decided(
        self, votes: Votes, graph: int, axes: Callable[[], tuple[AttackAxis, ...]], *, weighs: bool
    ) -> bool:
        (contest,), total = votes.contests, int(votes.counts.sum())
        mine, rival = class_and_rival(votes.counts[0], int(votes.labels[0]))
        lost = rival if not contest.third else total - mine  # against a blind answer, each other class by itself
        by_evidence = self._evidence and votes.records[0] is not None

        def holds_by_counts(level: Level) -> bool:
            return _shows_below(lost, total, self._slack(level, contest), self.shares.counts)

        asked, largest = self._question(graph), self._largest(graph)
        if largest and all(map(holds_by_counts, largest)):
            return True
        limit, against, of = self._failure_limit(graph, evidence=by_evidence, contest=contest), lost, total
        if by_evidence:  # votes for third classes may say nothing
            against, of = contest.score(mine, rival, total)
        most = max(of + 1, self.most.estimation * of // total)
        futile = _is_futile(against, of, limit, most=most, share=self.shares.counts)
        if futile or (by_evidence and asked and self._is_broken(votes, asked, axes(), holds_by_counts)):
            return True
        nothing = (0,) * len(self.problem.noise.axes)
        if not (weighs and asked and by_evidence and holds_by_counts(nothing)):
            return False
        box = None if asked.box is None else asked.threat.limits(self.problem.noise)
        evidence = evidence_of(votes, axes(), alpha=self.shares.certified, box=box)
        if asked.box is None:
            return self._proves_listed(asked, evidence, holds_by_counts)
        left = asked.left(holds_by_counts, MAX_LEVELS)
        if left is None:
            return False
        attacks = sum(scheme.n_attacks for level in left for scheme in evidence.schemes(level))
        return self._is_cheap(attacks, evidence) and all(map(evidence.proves, left))

    def _is_broken(
        self, votes: Votes, asked: Question, axes: Sequence[AttackAxis], holds_by_counts: Callable[[Level], bool]
    ) -> bool:
        """True if an attack on a single site clearly changes the answer: no further votes will prove that none does.

        By E[Y·L] of that attack less some standard errors: an estimate will do, for giving up claims nothing. Y = 1 for
        a vote for one other class, as an answer may stand with less than half of the votes.
        """
        record, (contest,) = votes.records[0], votes.contests
        if record is None or contest != PLAIN or len(record) * record.n_sites > MAX_INFLUENCES:
            return False
        label = int(votes.labels[0])
        worst = np.empty(0, np.int64)
        for rival in np.unique(record.answers):
            only = replace(record, answers=np.where(record.answers == rival, rival, label)).disagreeing_with([label])
            sure = sure_influences(only, axes, SURE) + len(only) / only.n_copies
            worst = np.union1d(worst, np.flatnonzero(sure > contest.limit))
        if asked.box is None:
            singles = [block.ravel() for block in asked.attacks[0] if block.shape[1] == 1]
            listed = np.concatenate([*singles, np.empty(0, np.int64)]) % record.n_sites
            return bool(np.isin(listed, worst).any())
        units = np.eye(len(axes), dtype=np.int64).tolist()
        return any(
            asked.most_flips >= 1 <= asked.box[i]
            and not holds_by_counts(tuple(units[i]))
            and np.isin(axis.sites, worst).any()
            for i, axis in enumerate(axes)
        )

    def _proves_listed(self, asked: Question, evidence: FlipEvidence, holds_by_counts: Callable[[Level], bool]) -> bool:
        if sum(asked.counts) > self.most.estimation:
            return False  # not even worth grouping by level
        left = [[part for part in parts if not holds_by_counts(part.level)] for parts in asked.parts(evidence.axes)]
        attacks = sum(len(part.rows) for parts in left for part in parts if part.rows is not None)
        return self._is_cheap(attacks, evidence) and all(evidence.weighed_list(parts).proved for parts in left if parts)

    def _is_cheap(self, attacks: int, evidence: FlipEvidence) -> bool:
        """True if weighing these attacks costs less than the votes to be saved."""
        return attacks <= self.most.estimation - evidence.n_votes

    def _looks(self, chunk_size: int) -> Iterator[int]:
        """The numbers of votes to look at: after chunks 1 to 32, then at every 1/16 to 1/32 of the chunks more.

        With evidence, after 1, 2, 3, 4, 6, 8, 12, … chunks: fewer stops to record flips at.
        """
        finer = 1 if self._evidence else 4
        following = 1
        for chunks, votes in enumerate(chunk_ends(chunk_size, FIRST_CHUNK), start=1):
            if chunks == following:
                yield votes
                following += 2 ** max(0, chunks.bit_length() - 1 - finer)

    def _question(self, graph: int) -> Question | None:
        """The question about a graph; None, if nothing definite is asked."""
        return None if self.questions is None else self.questions[graph]

    def _largest(self, graph: int) -> tuple[Level, ...]:
        """The largest levels of the question about a graph, or that without flips; none, if nothing is asked."""
        asked = self._question(graph)
        return () if asked is None else asked.largest or ((0,) * len(self.problem.noise.axes),)

    def _slack(self, level: Level, contest: Contest = PLAIN) -> float:
        """The failure probability below which the counts of votes certify a level: to be proved by the certificate."""
        return slacks_of(self.problem.noise.product, contest.limit).value(level) * (1 - 2 * RELATIVE_ERROR)

    def _failure_limit(self, graph: int, *, evidence: bool, contest: Contest = PLAIN) -> float:
        """The failure probability above which no votes can give a yes: with evidence, or no question, one half."""
        levels = () if evidence else self._largest(graph)
        return min((self._slack(level, contest) for level in levels), default=contest.limit)


def radius_questions(threat: Threat | None, problem: Problem) -> list[Question] | None:
    """The questions of a threat by radius about the objects of a problem; None without a threat."""
    return None if threat is None else [Question.by_radius(threat, problem.noise, one) for one in problem.capacities]


def _shows_below(lost: int, total: int, limit: float, share: Fraction) -> bool:
    """True if votes show that the failure probability is below a limit, up to `share`; clear of rounding errors."""
    return capital_against(lost, total, limit) >= -math.log(share) + ROUNDING


def _is_futile(lost: int, total: int, limit: float, *, most: int, share: Fraction) -> bool:
    """True if the votes that are left are unlikely to show that the failure probability is below a limit.

    With all votes, only `spare` more may be lost; a capital of 1/GIVE_UP rejects a failure probability low enough for
    that.
    """
    spare = _max_lost(most, limit, share) - lost
    return spare < 0 or capital_against(total - lost, total, 1 - spare / (most - total)) >= -math.log(GIVE_UP)


@lru_cache(maxsize=2**10)
def _max_lost(total: int, limit: float, share: Fraction) -> int:
    """The most votes against the class that show a failure probability below a limit; −1 if none do."""
    return bisect_left(range(total + 1), True, key=lambda lost: not _shows_below(lost, total, limit, share)) - 1
