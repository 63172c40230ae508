"""Intervals, proved from single outputs in ball arithmetic.

The engine counts bits of packed columns, bounds likelihood ratios in floats, and searches the ends. Here an end is
given. For each attack the copies are counted from the plain matrix of what they show, by the step of their output;
likelihood ratios and θ are fractions, and the capital is M = mean over g of Π (1 + g·((θ − f)/(1 − θ)·L − e)). It has
to reach 1/δ at every attack. g depends on no output. Of more attacks than `MAX_AGAIN`, `weigh` proves all, which
rounds capital down, and those nearest to failing are proved here as well.

By radius, the limit of each threshold is proved by the tail of a binomial law in another way, and ρ_up in whole numbers
where the cells of the radius are few enough, else by the engine's enclosure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import ctx

from starcert.archive.checker.arithmetic import CellListing, can_list, limit_holds
from starcert.archive.checker.bets import (
    PRECISION,
    Cells,
    log_gains,
    mean_of_exponentials,
    ratios_of,
    seen_on,
    shown_outcomes_of,
)
from starcert.archive.checker.evidence import MAX_AGAIN, NEAREST, Chosen
from starcert.math.arithmetic import LOCK, exact_number, float_below
from starcert.math.attacked_sites import AttackAxis, ListedAxis, attack_number, attacks_of, n_attacks, pools_of
from starcert.math.ballots import Ballots
from starcert.math.bets import centred_stakes, needed
from starcert.math.channels import Product
from starcert.math.choices import Choices
from starcert.math.copies import Level
from starcert.math.limits import upper_limit
from starcert.math.listed import LevelAttacks
from starcert.math.margins import Tradeoff
from starcert.math.values import ENDS, ValueEvidence

Whole = npt.NDArray[np.int64]


class ValueChecker:
    """The outputs on one object, looked at in the plainest way there is; `axes` have the sites of the votes."""

    def __init__(self, ballots: Ballots, axes: Sequence[AttackAxis]) -> None:
        self.axes, self.answers, self._ballots = axes, ballots.answers, ballots
        self._shown = [shown_outcomes_of(ballots, axis) for axis in axes]
        self._choices = Choices(ballots, axes, failure=0.5)

    def holds(
        self, target: int, tops: Whole, n: int, attacks: Iterable[LevelAttacks], at: int, delta: Fraction
    ) -> int | None:
        """The number of attacks weighed to prove that the mean of f is at most at/ENDS; None if it is not proved."""
        weighed = 0
        for some in attacks if at < ENDS else ():
            number, which = self._number(some), None
            if some.attacked and number > MAX_AGAIN:
                capitals = self._kernel.capitals(target, tops, n, some, at)
                if len(capitals) != number or (capitals < needed(delta)).any():
                    return None
                which = set(np.argsort(capitals, kind="stable")[:NEAREST].tolist())
            with LOCK, ctx.workprec(PRECISION):
                bet = self._bet(target, tops, n, some.level, at)
                for attack in islice(self._attacks(some, which), None if which else number):
                    weighed += 1
                    if not mean_of_exponentials(bet.logarithms(self._shown, attack)) * exact_number(delta) >= 1:
                        return None
        return weighed

    @cached_property
    def _kernel(self) -> ValueEvidence:
        """Weighs more attacks than are proved in balls; it rounds capital down."""
        return ValueEvidence(self._ballots, self.axes)

    def _number(self, some: LevelAttacks) -> int:
        return n_attacks(self._listed(some.level)) if some.rows is None else len(some.rows)

    def _attacks(self, some: LevelAttacks, which: Collection[int] | None) -> Iterator[Chosen]:
        """The attacks that are proved in balls: all, or those with these numbers."""
        listed = self._listed(some.level)
        if not some.attacked:
            yield {}
        elif some.rows is not None:
            firsts = np.cumsum([0, *(axis.size * axis.moves for axis in listed)])
            for row in some.rows if which is None else some.rows[sorted(which)]:
                owner = np.searchsorted(firsts, row, side="right") - 1
                yield {axis: (row[owner == i] - firsts[i]).tolist() for i, axis in enumerate(some.attacked)}
        else:
            every = attacks_of(listed) if which is None else (attack_number(listed, each) for each in which)
            yield from (dict(zip(some.attacked, each, strict=True)) for each in every)

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
        unseen = 1 - seen_on(self.axes, level, listed)
        sizes = centred_stakes(float(self._choices.ratios(level, listed).max()), unseen)
        ratios = ratios_of(self.axes, level, listed)
        gains = log_gains(sizes, exact_number(-unseen), [-ratio * each for ratio in ratios for each in odds])
        return _Bet(Cells.of(self.axes, level, listed, len(odds)), groups.reshape(-1), gains)


class _Bet(NamedTuple):
    """The term that a copy adds to the logarithm of the capital, by its cell at the attacked sites and its answer."""

    cells: Cells
    groups: Whole  # the answer of each copy, as a number
    gains: Whole  # shape (stakes, cells)

    def logarithms(self, shown: Sequence[npt.NDArray[np.uint8]], attack: Mapping[int, Sequence[int]]) -> Whole:
        """At most the logarithm of the capital for each stake, at one attack."""
        cells = self.cells.of_votes(self.groups, shown, attack)
        found: Whole = self.gains @ np.bincount(cells, minlength=self.gains.shape[1])
        return found


def holds_by_radius(counts: Whole, tops: Whole, n: int, share: Fraction, law: Product, radius: Level, at: int) -> bool:
    """True if counts of answers prove that the mean of f is at most at/ENDS within a radius; `share` is the alpha."""
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
