"""Intervals, proved from single outputs in ball arithmetic.

The engine counts bits of packed columns, bounds likelihood ratios in floats, and searches the ends. Here an end is
given. For each attack the copies are counted from the plain matrix of what they show, by the step of their output;
likelihood ratios and θ are fractions, and the capital is M = mean over g of Π (1 + g·((θ − f)/(1 − θ)·L − e)). It has
to reach 1/δ at every attack. The engine's choice of g is taken over: a bet is fair whatever it is.

By radius, the limit of each threshold is proved by the tail of a binomial law in another way, and ρ_up in whole numbers
where the cells of the radius are few enough, else by the engine's enclosure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise, product
from math import prod

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.files.checker.arithmetic import (
    CellListing,
    can_list,
    flip_outcomes,
    limit_holds,
    log_gains,
    mean_of_exponentials,
    shown_outcomes_of,
)
from starcert.files.checker.evidence import MAX_AGAIN, NEAREST, PRECISION, Chosen
from starcert.math.arithmetic import LOCK, exact_number, float_below
from starcert.math.attacked_sites import AttackAxis, ListedAxis, attack_number, attacks_of, n_attacks, pools_of
from starcert.math.bets import centred_stakes
from starcert.math.channels import Product
from starcert.math.evidence import Level
from starcert.math.joint import JointVotes
from starcert.math.limits import upper_limit
from starcert.math.listed import LevelAttacks
from starcert.math.margins import Tradeoff
from starcert.math.values import ENDS, ValueEvidence

Whole = npt.NDArray[np.int64]


class ValueChecker:
    """The outputs on one object, looked at in the plainest way there is; `axes` have the sites of the votes."""

    def __init__(self, votes: JointVotes, axes: Sequence[AttackAxis]) -> None:
        self.axes, self.answers, self.engine = axes, votes.answers, ValueEvidence(votes, axes)
        numbered = [axis._replace(sites=np.searchsorted(votes.sites, axis.sites)) for axis in axes]
        self._shown = [shown_outcomes_of(votes.flips, axis) for axis in numbered]

    def holds(
        self, target: int, tops: Whole, n: int, attacks: Iterable[LevelAttacks], at: int, delta: Fraction
    ) -> int | None:
        """How many attacks were weighed to prove that the mean of f is at most at/ENDS; None: it is not proved."""
        weighed = 0
        for some in attacks if at < ENDS else ():
            with LOCK, ctx.workprec(PRECISION):
                bet = self._bet(target, tops, n, some.level, at)
                for chosen in self._chosen(target, tops, n, some, at):
                    weighed += 1
                    if not mean_of_exponentials(bet.logarithms(chosen)) * exact_number(delta) >= 1:
                        return None
        return weighed

    def _chosen(self, target: int, tops: Whole, n: int, some: LevelAttacks, at: int) -> Iterator[Chosen]:
        """The attacks that are weighed again: all, or those nearest to failing."""
        listed, pools = self._listed(some.level), some.attacked
        number = n_attacks(listed) if some.rows is None else len(some.rows)
        if not pools:
            return iter([()])
        which = range(number)
        if number > MAX_AGAIN:
            which = self.engine.nearest(target, tops, n, some, at, NEAREST).tolist()
        if some.rows is not None:
            firsts = np.cumsum([0, *(axis.size * axis.moves for axis in listed)])
            return (_by_axis(some.rows[row], firsts) for row in which)
        every = attacks_of(listed)
        return islice(every, number) if number <= MAX_AGAIN else (attack_number(listed, each) for each in which)

    def _listed(self, level: Level) -> list[ListedAxis]:
        pools = pools_of(self.axes)
        return [
            ListedAxis(len(axis.sites), number, axis.law.moves, len(axis.law.outcomes), pools[i])
            for i, (axis, number) in enumerate(zip(self.axes, level, strict=True))
            if number
        ]

    def _bet(self, target: int, tops: Whole, n: int, level: Level, at: int) -> _Bet:
        listed = tuple(axis for axis, number in enumerate(level) if number)
        answers, groups = np.unique(self.answers[:, target], return_inverse=True)
        theta = Fraction(at, ENDS)
        odds = [exact_number((theta - Fraction(int(k), n)) / (1 - theta)) for k in tops[answers]]
        own = [[ratio for ratio, _, _ in flip_outcomes(self.axes[axis].law, level[axis])] for axis in listed]
        ratios = [prod(parts, start=arb(1)) for parts in product(*own)]
        seen = prod(((1 - self.axes[axis].law.unseen) ** level[axis] for axis in listed), start=Fraction(1))
        sizes = centred_stakes(self.engine.largest_ratio(level, listed), 1 - seen)
        gains = log_gains(sizes, exact_number(seen - 1), [-ratio * each for ratio in ratios for each in odds])
        steps, step = list[Whole](), len(odds)
        for axis in reversed(listed):
            lengths = [step * (level[axis] + 1) ** i for i in range(len(self.axes[axis].law.outcomes))]
            steps.insert(0, np.array([0, *reversed(lengths)]))
            step = lengths[-1] * (level[axis] + 1)
        return _Bet(groups.reshape(-1), gains, [self._shown[axis] for axis in listed], steps)


class _Bet:
    """What a copy adds to the logarithm of the capital, by what it shows at the attacked sites and what it answers."""

    def __init__(self, groups: Whole, gains: Whole, shown: list[npt.NDArray[np.uint8]], steps: list[Whole]) -> None:
        self.groups, self.gains, self.shown, self.steps = groups, gains, shown, steps

    def logarithms(self, attack: Chosen) -> Whole:
        """At most the logarithm of the capital for each stake, at one attack."""
        cells = self.groups.copy()
        for shown, steps, chosen in zip(self.shown, self.steps, attack, strict=True):
            for number in chosen:
                cells += steps[shown[number]]
        counts = np.bincount(cells, minlength=self.gains.shape[1])
        found: Whole = self.gains @ counts
        return found


def _by_axis(row: Whole, firsts: Whole) -> Chosen:
    owner = np.searchsorted(firsts, row, side="right") - 1
    return tuple(tuple((row[owner == axis] - firsts[axis]).tolist()) for axis in range(len(firsts) - 1))


def holds_by_radius(counts: Whole, tops: Whole, n: int, share: Fraction, law: Product, radius: Level, at: int) -> bool:
    """Whether counts of answers prove that the mean of f is at most at/ENDS within a radius; `share` is the alpha."""
    values = sorted(set(tops.tolist()))
    bound, total = Fraction(values[0], n), int(counts.sum())
    rho = CellListing(law.channels, radius) if can_list(law.channels, radius) else Tradeoff(law)
    for before, threshold in pairwise(values):
        count, part = int(counts[tops >= threshold].sum()), share / (len(values) - 1)
        limit = Fraction(upper_limit(count, total, part))
        if not limit_holds(count, total, limit, part):
            return False
        bound += Fraction(threshold - before, n) * (_rho_upper(rho, radius, limit) if limit < 1 else 1)
    return bound <= Fraction(at, ENDS)


def _rho_upper(rho: CellListing | Tradeoff, radius: Level, limit: Fraction) -> Fraction:
    """At least ρ_up of a limit: 1 − ρ_low(1 − limit)."""
    if isinstance(rho, CellListing):
        return 1 - rho.rho_lower(1 - limit)
    cut = rho.cut(radius, float(1 - limit), float(limit))
    enclosure = next(rho.prover.enclosures(radius, 1 - limit, cut.log_ratio), None)
    return Fraction(1) if enclosure is None else 1 - Fraction(max(0.0, float_below(enclosure.lower)))
