"""Collective claims, proved from the answers of all targets on every copy.

The engine weighs target after target by counting bits of packed columns. Here, for a block of attacks, a matrix says
which copies show what at the attacked sites, and its product with the answers counts them, for all targets and classes
at once. Then the capital against each rival is M = mean over g of Π (1 + g·(θ − X)), and a claim of k needs the k + 1
smallest capitals of every attack, the clean object included, to have a sum of (k + 1)/δ or more. g depends on no vote.

**Rounding.** Products are exact: they are sums of zeros and ones, so every partial sum, in whatever order, is a whole
number of at most the number of copies, and floats hold whole numbers up to 2²⁴ (2⁵³ in double precision) exactly.
Logarithms of gains are proved in balls, rounded down to multiples of 1/SCALE, and added as whole numbers. Only then
there are floats: the logarithm, at most `MAX_LOGARITHM` and wrong by at most 2⁻⁵³ of itself, its exponential, the mean
of a few of them, and the sum of at most 2²⁰ capitals. All of these are positive, so that the relative error of the sum
is less than 2⁻³³, and that of everything before it less than 2⁻⁴⁰. Both together are less than `ROUNDED`. What that
leaves open is decided in balls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from starcert.archive.checker.bets import (
    PRECISION,
    SCALE,
    Ball,
    Cells,
    CheckedBet,
    mean_of_exponentials,
    ratios_of,
    seen_on,
    shown_outcomes_of,
)
from starcert.archive.checker.rows import Difference
from starcert.archive.claims import Together
from starcert.archive.listed_attacks import AttackIndex
from starcert.math.arithmetic import LOCK, exact_number
from starcert.math.attacked_sites import AttackAxis, AttackList
from starcert.math.ballots import Ballots
from starcert.math.choices import Choices, Level
from starcert.math.pooling import Scheme

if TYPE_CHECKING:
    from starcert.archive.collective_votes import KeptClaims

ROUNDED = 2.0**-30
MAX_LOGARITHM = 600  # larger capitals count as this one
EASILY = 1 + 2.0**-16  # a smaller k is proved "easily" with this much more capital than it needs
MAX_NUMBERS = 2**24  # of a block of copies × attacks, or copies × answers
MAX_ATTACKS = 2**11  # that are weighed at a time
MAX_EXACT = 2**24  # floats of single precision hold whole numbers up to this

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class CollectiveCheck(NamedTuple):
    """The result of checking a claim."""

    proved: bool
    smallest: int  # the smallest k that would be proved easily
    attacks: int  # how many were weighed, the clean object not counted


class TargetsChecker:
    """The ballots of one object, looked at in the plainest way there is; on copies that are not there all agree."""

    def __init__(self, ballots: Ballots, axes: Sequence[AttackAxis], n_classes: int) -> None:
        assert ballots.labels is not None
        self.axes, self.labels, self.n_classes = axes, np.array(ballots.labels), n_classes
        self.index, self.n_copies, self._answers = AttackIndex(axes), ballots.n_copies, ballots.answers
        self._shown = [shown_outcomes_of(ballots, axis) for axis in axes]
        self.choices = Choices(ballots, axes, failure=0.5)  # on listed axes alone they depend on no vote
        self._exact = np.dtype(np.float32 if len(ballots) <= MAX_EXACT else np.float64)

    def capitals(self, blocks: Sequence[Whole] | None, enough: float) -> Iterator[tuple[_Attacks, Floats]]:
        """At least the capital against each target, shape (attacks, targets), of some attacks at a time; None: clean.

        Capitals of `enough` or more may be smaller than they are, but not below that.
        """
        by_level = {(0,) * len(self.axes): [np.empty((1, 0), np.int64)]}
        by_level = by_level if blocks is None else self.index.by_level(blocks)
        for level, places in by_level.items():
            cells, bet = self._bet(level)
            step = max(1, min(MAX_NUMBERS // max(1, len(self._answers)), MAX_ATTACKS) // max(1, cells.number // 8))
            for block in places:
                for start in range(0, len(block), step):
                    some = _Attacks.of(bet, self._cells(cells, block[start : start + step]), self.n_copies)
                    yield some, self._block(some, enough)

    def _bet(self, level: Level) -> tuple[Cells, CheckedBet]:
        """The cells of the attacks of a level, and the bet on them, which depends on no vote."""
        axes = [axis for axis, number in enumerate(level) if number]
        cells, wager = (
            Cells.of(self.axes, level, axes),
            self.choices.choose(level, Scheme(tuple(axes), 1, Fraction(1)), 0),
        )
        if wager is None:  # nothing is staked, and nothing is won
            nothing = np.zeros((1, cells.number), dtype=np.int64)
            return cells, CheckedBet(nothing, nothing, nothing[:, 0])
        with LOCK, ctx.workprec(PRECISION):
            theta = exact_number(seen_on(self.axes, level, axes) - Fraction(1, 2))
            return cells, CheckedBet.of(wager.sizes, theta, ratios_of(self.axes, level, axes), 0.5)

    def _cells(self, numbers: Cells, places: Whole) -> npt.NDArray[np.int32]:
        """The cell of each copy at the attacked sites of each attack, as a number."""
        cells = np.zeros((len(places), len(self._answers)), dtype=np.int32)
        for column in places.T:
            of_axis, choices = self.index.of_axis[column], self.index.choices[column]
            for axis in np.unique(of_axis):
                here = of_axis == axis
                cells[here] += numbers.steps[axis][self._shown[axis][choices[here]]]
        return cells

    def _block(self, some: _Attacks, enough: float) -> Floats:
        n_targets = self._answers.shape[1]
        found = np.empty((len(some.cells), n_targets))
        step = max(1, MAX_NUMBERS // max(len(self._answers), 4 * len(some.cells)) // self.n_classes)
        for start in range(0, n_targets, step):
            targets = np.arange(start, min(start + step, n_targets))
            lost = self._count(some, (self._answers[:, targets] != self.labels[targets])[:, :, None])
            # All other classes as one: no capital is larger than that against each of them.
            found[:, targets] = self._floats(some, lost, lost).min(axis=-1)
            short = (found[:, targets] < enough).any(axis=0)
            if self.n_classes > 2 and short.any():
                by_class = self._count(some, self._by_rival(targets[short]))
                found[:, targets[short]] = self._floats(some, by_class, lost[:, :, short]).min(axis=-1)
        return found

    def _by_rival(self, targets: Whole) -> npt.NDArray[np.bool_]:
        """Marks the copies that answer each class but the stated one, shape (copies, targets, rivals)."""
        rivals = np.array([[each for each in range(self.n_classes) if each != own] for own in self.labels[targets]])
        answers: npt.NDArray[np.bool_] = self._answers[:, targets, None] == rivals
        return answers

    def _count(self, some: _Attacks, answers: npt.NDArray[np.bool_]) -> Whole:
        """The number of copies with each answer that show each cell, shape (cells, attacks, targets, answers)."""
        flat = answers.reshape(len(answers), int(np.prod(answers.shape[1:]))).astype(self._exact)
        found = np.empty((len(some.there), len(some.cells), *answers.shape[1:]), dtype=np.int64)
        found[0] = answers.sum(axis=0)
        for place, cell in enumerate(some.there[1:], 1):
            shown = (some.cells == cell).astype(self._exact)
            found[place] = (shown @ flat).reshape(found[place].shape)
            found[0] -= found[place]
        return found

    def _floats(self, some: _Attacks, rival: Whole, lost: Whole) -> Floats:
        """The capitals against rivals, shape (attacks, targets, rivals), in floats: see above."""
        total = np.zeros(rival.shape[1:])
        for stake in range(len(some.bet.quiet)):
            logarithm = some.logarithm(stake, rival, lost)
            total += np.exp(np.minimum(logarithm / SCALE, MAX_LOGARITHM))
        return total / len(some.bet.quiet)

    def exact(self, some: _Attacks, attack: int) -> list[Ball]:
        """The lower end of the capital against each target at one attack."""
        one, targets = _Attacks.of(some.bet, some.cells[[attack]], self.n_copies), np.arange(len(self.labels))
        lost = self._count(one, (self._answers != self.labels)[:, :, None])
        rival = lost if self.n_classes == 2 else self._count(one, self._by_rival(targets))
        stakes = range(len(some.bet.quiet))
        logarithms = np.stack([one.logarithm(each, rival, lost)[0] for each in stakes])
        found = []
        with LOCK, ctx.workprec(PRECISION):
            for target in targets:
                balls = [mean_of_exponentials(logarithms[:, target, each]) for each in range(rival.shape[-1])]
                found.append(min(ball.lower() for ball in balls))
        return found


class _Attacks(NamedTuple):
    """Attacks of one level, and what each copy shows at their sites."""

    bet: CheckedBet
    cells: npt.NDArray[np.int32]  # shape (attacks, copies that are there)
    there: list[int]  # the different cells
    n_copies: int  # with those that are not there

    @classmethod
    def of(cls, bet: CheckedBet, cells: npt.NDArray[np.int32], n_copies: int) -> _Attacks:
        return cls(bet, cells, np.unique(cells).tolist() or [0], n_copies)

    def logarithm(self, stake: int, rival: Whole, lost: Whole) -> Whole:
        """At most the logarithm of the capital, from how many copies of each cell answer so; cells come first."""
        bet = self.bet
        found: Whole = bet.quiet[stake] * (self.n_copies - lost.sum(axis=0))
        for own, other, cell in zip(rival, lost - rival, self.there, strict=True):
            found = found + bet.rival[stake, cell] * own + bet.other[stake, cell] * other
        return found


def prove_together(about: tuple[KeptClaims, list[CollectiveCheck]], claim: Together) -> Iterator[Difference]:
    """Yields the false parts of a claim about all answers at once, and adds its check to a list."""
    kept, found = about
    made, chosen = claim.claim, kept.votes.labels
    attacks = [each.attacks[: made.size] for each in kept.votes.asked]
    found.append(check_claim(kept.checkers, attacks, n_targets=len(chosen), k=made.k, delta=Fraction(made.alpha)))
    if not found[-1].proved:
        yield f"changed under {made.threat}", made.k, found[-1].smallest


def check_claim(
    checkers: Sequence[TargetsChecker | None],
    attacks: Sequence[AttackList],
    *,
    n_targets: int,
    k: int,
    delta: Fraction,
) -> CollectiveCheck:
    """True if at most k answers differ under each of these attacks; an object without a checker has no capital.

    Each of several objects, with one target each, is attacked by itself: worst of all where each has the attack with
    the least capital.
    """
    claim = _Claim(k, delta, 2 * n_targets / float(delta))
    if len(checkers) == 1 and (checker := checkers[0]) is not None:
        found = CollectiveCheck(proved=True, smallest=0, attacks=-1)
        for some, capitals in _weighed(checker, attacks[0], claim.enough):
            proved, smallest = claim.judge(capitals, partial(checker.exact, some))
            found = CollectiveCheck(
                found.proved and proved, max(found.smallest, smallest), found.attacks + len(some.cells)
            )
        return found
    least, number = np.zeros((1, n_targets)), 0
    for row, (each, lists) in enumerate(zip(checkers, attacks, strict=True)):
        if each is not None:
            weighed = [capitals for _, capitals in _weighed(each, lists, claim.enough)]
            least[0, row] = min(float(capitals.min()) for capitals in weighed)
            number += sum(map(len, weighed)) - 1

    def exact(_: int) -> list[Ball]:
        return [
            arb(0) if each is None else min(
                min(each.exact(some, attack))
                for some, _ in _weighed(each, lists, claim.enough)
                for attack in range(len(some.cells))
            )
            for each, lists in zip(checkers, attacks, strict=True)
        ]  # fmt: skip

    return CollectiveCheck(*claim.judge(least, exact), number)


def _weighed(checker: TargetsChecker, attacks: AttackList, enough: float) -> Iterator[tuple[_Attacks, Floats]]:
    """The clean object, and then all attacks."""
    for blocks in (None, *attacks):
        yield from checker.capitals(blocks, enough)


class _Claim(NamedTuple):
    k: int
    delta: Fraction
    enough: float  # capitals of more are never missing in a sum

    def judge(self, capitals: Floats, exact: Callable[[int], list[Ball]]) -> tuple[bool, int]:
        """Marks the attacks that pass with k, and returns the smallest k with which all of them pass by a clear margin.

        `capitals` has shape (attacks, targets); `exact` returns the lower ends of those of an attack, given its row.
        """
        sums = np.cumsum(np.sort(capitals, axis=1), axis=1)
        goals = np.arange(1, capitals.shape[1] + 1) * float(1 / self.delta)
        smallest = int((sums < goals * EASILY).sum(axis=1).max())  # what passes with k passes with k + 1
        if self.k >= capitals.shape[1]:
            return True, smallest
        reached, goal = sums[:, self.k], goals[self.k]
        if (reached < goal * (1 - ROUNDED)).any():
            return False, smallest
        return all(map(self._passes, map(exact, np.flatnonzero(reached < goal * (1 + ROUNDED)).tolist()))), smallest

    def _passes(self, capitals: list[Ball]) -> bool:
        with LOCK, ctx.workprec(PRECISION):
            total = sum(sorted(capitals)[: self.k + 1], arb(0))
            return bool(total * exact_number(self.delta) >= self.k + 1)
