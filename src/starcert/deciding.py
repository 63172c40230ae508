"""Stopping early: a graph has no more votes than it takes to decide what is asked.

Looking at votes to decide whether to draw more is dangerous where bounds hold at a number of votes that is fixed in
advance, as Clopper–Pearson's do: who looks often enough sees what they wish. Here everything that is claimed rests on
capitals that are large at *some* time with a small probability only (`starcert.core.bets`): the bounds on class
probabilities (`anytime_bounds`) and evidence alike. So looking is free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from starcert.binding import Problem
from starcert.certificate import Certificate, certify
from starcert.core.attack_axis import AttackAxis
from starcert.core.bets import count_capital, needed
from starcert.core.confidence import Votes, anytime_bounds
from starcert.core.evidence import counts_alpha
from starcert.core.frontier import levels_of
from starcert.evidence.attack_axes import axes_of
from starcert.judging import verdicts_of
from starcert.plans import Plan, SoFar, Wanted
from starcert.system.stages import staged

__all__ = ["DecidedPlan"]


@dataclass(frozen=True)
class DecidedPlan(Plan):
    """Draws 1, 2, 3, 4, 6, 8, 12, … chunks, until all that is asked about a graph is certified, or it surely abstains.

    Attributes:
        most: as many votes as there may be.
        problem: the graphs, bound.
        alpha: the probability that anything that is said about a graph is false.
        together: alpha is that of so many graphs together.
        max_radius: what is asked: the radii of this box; None: all that an attacker can flip.
        evidence: whether alpha is shared with evidence.
        max_flips: nothing is asked about more flips than these in all; None: about any number.
    """

    most: Wanted
    problem: Problem
    alpha: float
    together: int
    max_radius: tuple[int, ...] | None
    evidence: bool
    max_flips: int | None = None

    @staged("certifying")
    def wanted(self, so_far: SoFar) -> Wanted:
        """See `Plan`."""
        drawn = so_far.n_estimation
        if not drawn:
            return Wanted(self.most.selection, min(so_far.chunk_size, self.most.estimation))
        if drawn >= self.most.estimation or self._decided(so_far):
            return so_far.wanted
        chunks = drawn // so_far.chunk_size
        step = max(1, 2 ** (chunks.bit_length() - 2))  # between a half and a third of what is there
        return Wanted(self.most.selection, min(drawn + step * so_far.chunk_size, self.most.estimation))

    def _decided(self, so_far: SoFar) -> bool:
        records = so_far.records or (None,) * len(so_far.estimation)
        votes = Votes(so_far.estimation, so_far.selection, stopped=True, records=records)
        axes = cache(lambda: axes_of(self.problem.sites[so_far.object], self.problem.noise))
        return all(self._is_decided(votes.row(row), so_far.object, axes) for row in range(len(votes)))

    def _is_decided(self, votes: Votes, graph: int, axes: Callable[[], tuple[AttackAxis, ...]]) -> bool:
        capacity = self.problem.capacities[graph]
        corner = capacity if self.max_radius is None else tuple(map(min, self.max_radius, capacity))
        bounds_alpha = counts_alpha(self.alpha, evidence=self.evidence)
        bounds = anytime_bounds(votes, alpha=bounds_alpha, together=self.together)
        total, mine = int(votes.counts.sum()), int(votes.counts[0, bounds.labels[0]])
        if count_capital(mine, total) >= needed(Fraction(bounds_alpha) / self.together):
            return True  # the class has no majority, and no votes will give it one
        one: Certificate = certify(bounds, self.problem.noise, max_radius=self.max_radius, capacity=[capacity])[0]
        frontier = one.counted
        if self.evidence and votes.records[0] is not None and frontier.radii and not frontier.covers(corner):
            frontier = verdicts_of(one, votes, axes(), alpha=self.alpha, own=None, max_flips=self.max_flips).beyond(
                frontier
            )
        largest = [corner] if self.max_flips is None else levels_of(min(self.max_flips, sum(corner)), corner)
        return all(map(frontier.covers, largest))
