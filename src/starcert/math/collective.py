"""Claims about many targets at once: at most k of their answers differ from the stated ones under any attack.

Let E_t be the capital against "target t fails at the attacked object with probability one half or more", on all votes
so far. If more than k targets fail so, take any k + 1 of them: the mean of their capitals is one nonnegative
supermartingale that starts at 1, however the targets depend on one another, and it ever reaches 1/δ with probability
at most δ. So an attack changes at most k answers, up to δ, if the k + 1 *smallest* capitals have a mean of 1/δ or more.

**Where alpha goes.** It is divided neither between targets nor between attacks nor between the sizes of a threat. Nor
is anything paid for reading k off the votes, as long as it is one k for all attacks: what passes with k passes with
k + 1, so a k that is too small is claimed only if the one that is too small by one passes, and that one is fixed.
A k for each size would be several claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, Whole, compiled
from starcert.math.attacked_sites import AttackAxis, LevelAttacks
from starcert.math.ballots import Ballots
from starcert.math.bets import SCALE, Bet, bet_below, capital_of
from starcert.math.choices import RecordedCopies, below
from starcert.math.flips import Mask
from starcert.math.pooling import SUMMED

MAX_CAPITALS = 2**25  # targets × attacks that are held at a time
MAX_NUMBERS = 2**24  # of a matrix of copies × attacks, or of copies × answers
MAX_ATTACKS = 2**11  # that are weighed at a time
MAX_EXACT = 2**24  # floats of single precision hold whole numbers up to this
MAX_LOGARITHM = 600  # larger capitals count as this one: sums of them stay finite
ROUNDED = 2.0**-30  # more than the relative errors of all sums here: those of at most 2²⁰ positive terms

Counted = npt.NDArray[np.floating]  # whole numbers


class Matrices:
    """Multiplies matrices of zeros and ones: on this machine's processor, or in a subclass on a device.

    Products are exact: every partial sum, in whatever order, is a whole number of at most the number of copies, and
    single floats hold those up to `MAX_EXACT`; beyond, double ones are taken.
    """

    def of(self, mask: Mask) -> Any:  # noqa: ANN401  (a matrix there)
        """The matrix of a mask."""
        return mask.astype(np.float32 if max(mask.shape) <= MAX_EXACT else np.float64)

    def product(self, left: Any, right: Any) -> Counted:  # noqa: ANN401
        """The product of two of them, here."""
        found: Counted = left @ right
        return found


class JointEvidence:
    """The ballots of one object, ready to be weighed for all its targets at once.

    The axes have sites whose flips were kept. For a block of attacks, a matrix says which copies show what at the
    attacked sites, and its product with the answers counts them. Copies that are not kept are quiet for all targets.
    """

    def __init__(
        self,
        ballots: Ballots,
        axes: Sequence[AttackAxis],
        n_classes: int,
        matrices: Matrices | None = None,
    ) -> None:
        assert ballots.labels is not None
        self._copies = RecordedCopies(ballots, axes)
        self._answers, self._labels, self._n_classes = ballots.answers, np.array(ballots.labels), n_classes
        self._matrices = matrices or Matrices()
        self._clean = LevelAttacks((0,) * len(axes), np.zeros((1, 0), np.int64))
        self._shown: dict[int, npt.NDArray[np.uint8]] = {}

    def capitals(self, listed: LevelAttacks | None, enough: float) -> Iterator[Floats]:
        """At least the capital against each target at each listed attack, shape (attacks, targets), in blocks.

        Without attacks, at the clean object: as if that were one. Capitals of `enough` need not be exact.
        """
        whole, (copies, targets) = self._clean if listed is None else listed, self._answers.shape
        assert whole.rows is not None
        value = self._copies.ratios(whole.level, whole.attacked).ravel() * SUMMED
        bet = bet_below(below(self._copies.room(whole.level, whole.attacked)), np.multiply.outer(value, [1.0, 0.5]))
        step = max(1, min(MAX_NUMBERS // max(copies, 1), MAX_ATTACKS) // max(1, len(value) // 8))
        held = max(step, MAX_CAPITALS // targets // step * step)
        for start in range(0, len(whole.rows), held):
            rows = whole.rows[start : start + held]
            if bet is None:  # nothing is staked, and nothing is won
                yield np.ones((len(rows), targets))
                continue
            blocks = (rows[first : first + step] for first in range(0, len(rows), step))
            yield np.concatenate([self._block(self._cells(whole, block), bet, enough) for block in blocks])

    def _cells(self, part: LevelAttacks, rows: Whole) -> npt.NDArray[np.unsignedinteger]:
        """The cell of each copy at the sites of each attack, as the place of `ratios`, shape (attacks, copies)."""
        outcomes = {axis: len(self._copies.axes[axis].law.outcomes) for axis in part.attacked}
        lengths = [part.level[axis] + 1 for axis, number in outcomes.items() for _ in range(number)]
        cells = np.zeros((len(rows), len(self._answers)), np.uint8 if prod(lengths) < 2**8 else np.uint32)
        first = place = done = 0
        for axis, number in outcomes.items():
            shown = self._shown_on(axis)
            for column in rows[:, place : place + part.level[axis]].T:
                for outcome in range(number):
                    step = cells.dtype.type(prod(lengths[done + outcome + 1 :]))
                    cells += step * shown[(column - first) * number + outcome]
            first, place, done = first + len(shown) // number, place + part.level[axis], done + number
        return cells

    def _shown_on(self, axis: int) -> npt.NDArray[np.uint8]:
        """Marks the copies that show each outcome of each choice on an axis, shape (choices · outcomes, copies)."""
        if axis not in self._shown:
            self._shown[axis] = np.ascontiguousarray(self._copies.matrix(axis).T).view(np.uint8)
        return self._shown[axis]

    def _block(self, cells: npt.NDArray[np.unsignedinteger], bet: Bet, enough: float) -> Floats:
        """The capital against each target at each of some attacks: the smallest of those against each other class."""
        total = self._copies.n_votes
        there, (copies, targets) = np.unique(cells) if cells.size else np.zeros(1, np.int64), self._answers.shape
        shown = [self._matrices.of(cells == cell) for cell in there[1:]]
        gains = np.ascontiguousarray(bet.gains[:, there].transpose(1, 2, 0))  # by cell, whole or half, and stake
        found = np.empty((len(cells), targets))
        step = max(1, MAX_NUMBERS // max(copies, 4 * len(cells)) // self._n_classes)
        for first, last in pairwise([*range(0, targets, step), targets]):
            answers, labels = self._answers[:, first:last], self._labels[first:last]
            lost = self._count(shown, answers != labels)
            # All other classes as one: no capital against one of them is smaller.
            least = _least(lost, lost, gains, bet.quiet, total)
            short = np.flatnonzero((_at_least(least) < enough).any(axis=0))
            if self._n_classes > 2 and len(short):
                rivals = np.array([np.delete(np.arange(self._n_classes), label) for label in labels[short]])
                by_class = (answers[:, short, None] == rivals).reshape(copies, rivals.size)
                least[:, short] = _least(
                    self._count(shown, by_class), lost[:, :, short], gains, bet.quiet, self._copies.n_votes
                )
            found[:, first:last] = _at_least(least)
        return found

    def _count(self, shown: Sequence[Any], answers: Mask) -> Counted:
        """The copies of each cell with each answer, counted: (cells, attacks, answers); the first has the rest."""
        matrix = self._matrices.of(answers)
        counted = [self._matrices.product(each, matrix) for each in shown]
        total = np.count_nonzero(answers, axis=0)
        rest = total - sum(counted) if counted else np.broadcast_to(total, (1, len(total)))
        return np.stack([rest, *counted]).astype(np.float64)


def _at_least(logarithms: Whole) -> Floats:
    return np.exp(np.minimum(logarithms / SCALE, MAX_LOGARITHM)) * (1 - ROUNDED)


def _least(rival: Counted, lost: Counted, gains: Whole, quiet: Whole, copies: int) -> Whole:
    """The logarithm of the least capital against the rivals of each target, which follow one another; in 1/SCALE."""
    found = np.empty(lost.shape[1:], dtype=np.int64)
    _weigh_all(np.ascontiguousarray(rival), np.ascontiguousarray(lost), gains, quiet, copies, found)
    return found


@compiled
def _weigh_all(rival, lost, gains, quiet, copies, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    cells, attacks, targets = lost.shape
    rivals = rival.shape[2] // targets
    logarithms = np.empty(quiet.size, np.int64)
    for attack in range(attacks):
        for target in range(targets):
            for number in range(rivals):
                left = copies
                logarithms[:] = 0
                for cell in range(cells):
                    whole = np.int64(rival[cell, attack, target * rivals + number])
                    half = np.int64(lost[cell, attack, target]) - whole
                    left -= whole + half
                    for stake in range(quiet.size):
                        logarithms[stake] += whole * gains[cell, 0, stake] + half * gains[cell, 1, stake]
                for stake in range(quiet.size):
                    logarithms[stake] += left * quiet[stake]
                won = capital_of(logarithms)
                if number == 0 or won < found[attack, target]:
                    found[attack, target] = won


def changed_at_most(capitals: Floats, delta: Fraction) -> Whole:
    """For each attack the smallest k with which it passes, all larger ones included; all targets, if with no other.

    `capitals` has shape (attacks, targets).
    """
    n_targets = capitals.shape[1]
    sums = np.cumsum(np.sort(capitals, axis=1), axis=1) * (1 - ROUNDED)
    fails = sums < np.arange(1, n_targets + 1) * (float(1 / delta) * (1 + ROUNDED))
    return np.where(fails.any(axis=1), n_targets - np.argmax(fails[:, ::-1], axis=1), 0)
