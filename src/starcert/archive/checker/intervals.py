"""Intervals, proved from single outputs in ball arithmetic.

The engine counts bits of packed columns, bounds likelihood ratios in floats, and searches the ends. Here an end is
given, and proved as it is stated, or as the next one that the claim includes. For each attack the copies are counted
from the plain matrix of what they show, by the step of their output; likelihood ratios and θ are fractions, and the
capital is M = mean over g of Π (1 + g·((θ − f)/(1 − θ)·L − e)). It has to reach 1/δ at every attack. g depends on no
output. Of more attacks than `MAX_AGAIN`, `weigh` proves all, which rounds capital down, and those nearest to failing
are proved here as well.

By radius, the limit of each threshold is proved by the tail of a binomial law in another way, and ρ_up in whole numbers
where the cells of the radius are few enough, else by the engine's enclosure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from flint import ctx
from typing_extensions import override

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
from starcert.archive.checker.rows import Difference, Proofs
from starcert.archive.claims import Interval
from starcert.math.arithmetic import LOCK, exact_number, float_below
from starcert.math.attacked_sites import (
    AttackAxis,
    LevelAttacks,
    ListedAxis,
    attack_number,
    attacks_of,
    n_attacks,
    pools_of,
)
from starcert.math.ballots import Ballots
from starcert.math.bets import centred_stakes, needed
from starcert.math.channels import Product
from starcert.math.choices import Choices, Level
from starcert.math.limits import upper_limit
from starcert.math.margins import Tradeoff
from starcert.math.values import ENDS, ValueEvidence, bounds_of_steps

if TYPE_CHECKING:
    from starcert.archive.record import Archive

Whole = npt.NDArray[np.int64]


class IntervalProofs(Proofs):
    """The proofs of the intervals in a file; ends are those of f from above, and of 1 − f."""

    def __init__(self, archive: Archive) -> None:
        self.archive, self.proof = archive, archive.certificates.proof
        self.weighed = 0  # how many times an attack was weighed
        self._checkers: dict[int, ValueChecker] = {}  # by object

    @override
    def found(self, _progress: bool | None) -> dict[str, object]:
        return {"weighed": self.weighed}

    def interval(self, claim: Interval) -> Iterator[Difference]:
        """Which ends of an interval cannot be proved."""
        for end, stated in enumerate((claim.low, claim.high)):
            at = self._least_included(claim, end, stated)
            if not 0 <= at <= ENDS or not self._holds(claim, end, at):
                yield f"{self.archive.title(claim.what)}, {('low', 'high')[end]}", stated, "not proved"

    def _least_included(self, claim: Interval, end: int, stated: float) -> int:
        """The end that is easiest to prove of those that a claim includes, as a multiple of 1/ENDS of f or of 1 − f."""
        low, high = -1, ENDS + 1  # the largest end, or the least one, that the claim includes lies between these
        while high - low > 1:
            middle = (low + high) // 2
            found = self.proof.numbers((middle, middle), claim.what.above)[end]
            inside = found <= stated if end else found >= stated
            low, high = (middle, high) if inside == bool(end) else (low, middle)
        return low if end else ENDS - high

    def _holds(self, claim: Interval, end: int, at: int) -> bool:
        """True if an end is proved."""
        proof, row, n = self.proof, claim.row, self.proof.outputs.steps
        number, target = int(proof.votes.objects[row]), int(proof.votes.targets[row])
        bottoms, tops = bounds_of_steps(proof.outputs.edges, claim.what.above)
        tops, share = tops if end else n - bottoms, Fraction(proof.alpha) / proof.together / 2
        attacks, kept = proof.attacks(number, claim.what), proof.kept[number]
        if attacks is None or kept is None or proof.votes.ballots[number] is None:
            counts, law, radii = proof.votes.counts[row], proof.noise.product, proof.largest(number, claim.what)
            return all(holds_by_radius(counts, tops, n, share, law, radius, at) for radius in radii)
        listed = sum(len(each.rows) for each in attacks if each.rows is not None)
        asked = () if proof.asked is None else proof.asked[number].counts[: claim.what.size]
        if number not in self._checkers:
            votes = proof.votes.ballots[number]
            assert votes is not None
            self._checkers[number] = ValueChecker(votes, kept.axes)
        found = self._checkers[number].holds(target, np.asarray(tops), n, attacks, at, share)
        self.weighed += found or 0
        return found is not None and listed == sum(asked)


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
                cells, groups, gains = self._bet(target, tops, n, some.level, at)
                for attack in islice(self._attacks(some, which), None if which else number):
                    weighed += 1
                    counts = np.bincount(cells.of_votes(groups, self._shown, attack), minlength=gains.shape[1])
                    if not mean_of_exponentials(gains @ counts) * exact_number(delta) >= 1:
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

    def _bet(self, target: int, tops: Whole, n: int, level: Level, at: int) -> tuple[Cells, Whole, Whole]:
        """The cells of a level, the answer of each copy as a number, and what it adds to the logarithms of capital."""
        listed = tuple(axis for axis, number in enumerate(level) if number)
        answers, groups = np.unique(self.answers[:, target], return_inverse=True)
        theta = Fraction(at, ENDS)
        odds = [exact_number((theta - Fraction(int(k), n)) / (1 - theta)) for k in tops[answers]]
        unseen = 1 - seen_on(self.axes, level, listed)
        sizes = centred_stakes(float(self._choices.ratios(level, listed).max()), unseen)
        ratios = ratios_of(self.axes, level, listed)
        gains = log_gains(sizes, exact_number(-unseen), [-ratio * each for ratio in ratios for each in odds])
        return Cells.of(self.axes, level, listed, len(odds)), groups.reshape(-1), gains


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
