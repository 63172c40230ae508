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

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.math.bets import SCALE, capital_of, stakes
from starcert.math.evidence import FlipEvidence, below
from starcert.math.flips import AnyIntegers, Mask
from starcert.math.joint import JointVotes
from starcert.math.listed import Group
from starcert.math.pooling import SUMMED
from starcert.math.weighing import Columns, columns_of, weigh

MAX_CAPITALS = 2**25  # targets × attacks that are held at a time
MAX_LOGARITHM = 600  # larger capitals count as this one: sums of them stay finite
ROUNDED = 2.0**-30  # more than the relative errors of all sums here: those of at most 2²⁰ positive terms

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class JointEvidence:
    """The votes of all targets of one object, ready to be weighed; `labels` has their classes, chosen without them.

    The axes have those sites that the votes keep, as positions of the object.
    """

    def __init__(self, votes: JointVotes, axes: Sequence[AttackAxis], labels: Whole, n_classes: int) -> None:
        numbered = [axis._replace(sites=np.searchsorted(votes.sites, axis.sites)) for axis in axes]
        self._copies = FlipEvidence(votes.flips, numbered, alpha=Fraction(1), failure=0.5)
        self._answers, self._labels, self._n_classes = np.ascontiguousarray(votes.answers.T), labels, n_classes
        self._clean = Group((0,) * len(axes), np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64))
        self._columns: dict[tuple[tuple[int, ...], int], Columns] = {}

    def capitals(self, group: Group | None, enough: float) -> Iterator[Floats]:
        """At least the capital against each target at each attack of a group, shape (attacks, targets), in blocks.

        Without a group, at the clean object: as if that were an attack. Capitals of `enough` need not be exact.
        """
        whole, step = self._clean if group is None else group, max(1, MAX_CAPITALS // len(self._answers))
        for start in range(0, len(whole.rows), step):
            block = whole._replace(rows=whole.rows[start : start + step])
            found = np.empty((len(block.rows), len(self._answers)))
            for target, (answers, label) in enumerate(zip(self._answers, self._labels.tolist(), strict=True)):
                found[:, target] = self._against(block, answers, label, enough)
            yield found

    def _against(self, block: Group, answers: AnyIntegers, label: int, enough: float) -> Floats:
        """The capital against one target: the smallest of those against each other class."""
        lost = answers != label
        least = self._capital(block, [lost], [1.0])
        if self._n_classes == 2 or (least >= enough).all():
            return least
        others = (answers == other for other in range(self._n_classes) if other != label)
        exact = [self._capital(block, [rival, lost & ~rival], [1.0, 0.5]) for rival in others]
        smallest: Floats = np.min(exact, axis=0)
        return smallest

    def _capital(self, block: Group, parts: Sequence[Mask], weights: Sequence[float]) -> Floats:
        """The capital of a bet on votes that are 0, or one of these weights in each of some parts of them."""
        copies, level, listed = self._copies, block.level, block.scheme.listed
        value = np.multiply.outer(copies.ratios(level, listed), weights) * SUMMED
        bet = stakes(below(copies.room(level, listed)), value)
        if bet is None:  # nothing is staked, and nothing is won
            return np.ones(len(block.rows))
        counts = np.array([part.sum() for part in parts])
        quiet = bet.quiet * (copies.n_votes - int(counts.sum()))
        if listed:
            columns, axes = self._columns_of(listed, len(parts)).divided(parts), copies.listed(level, block.scheme)
            logarithms = weigh(columns, axes, bet.seen[:, None], quiet, value[None], copies.n_votes, block.rows).capital
        else:
            logarithms = np.array([capital_of(quiet + bet.seen @ counts)])
        return np.exp(np.minimum(logarithms / SCALE, MAX_LOGARITHM)) * (1 - ROUNDED)

    def _columns_of(self, listed: tuple[int, ...], times: int) -> Columns:
        """What all copies show on some axes, as often as there are parts of them."""
        if (listed, times) not in self._columns:
            shown = np.concatenate([self._copies.matrix(axis) for axis in listed], axis=1)
            groups = np.repeat(np.arange(times), len(shown))
            self._columns[listed, times] = columns_of(np.tile(shown, (times, 1)), groups, times)
        return self._columns[listed, times]


def changed_at_most(capitals: Floats, delta: Fraction) -> Whole:
    """For each attack the smallest k with which it passes, all larger ones included; all targets, if with no other.

    `capitals` has shape (attacks, targets).
    """
    n_targets = capitals.shape[1]
    sums = np.cumsum(np.sort(capitals, axis=1), axis=1) * (1 - ROUNDED)
    fails = sums < np.arange(1, n_targets + 1) * (float(1 / delta) * (1 + ROUNDED))
    return np.where(fails.any(axis=1), n_targets - np.argmax(fails[:, ::-1], axis=1), 0)
