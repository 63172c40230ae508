"""Outputs that are numbers: bounds on their mean at every attacked object, from the outputs on copies of the clean one.

A function f of the output has values in [0, 1]. With L the likelihood ratio of an attack and e what the clean object
never shows, the mean of f at the attacked object is at most E[f·L] + e. So if it is θ or more,

    E[(θ − f)/(1 − θ)·L] ≤ e,

and a bet on more does not grow on average: start with capital 1, and multiply it with every copy by

    1 + g·((θ − f)/(1 − θ)·L − e),   0 ≤ g < 1/(L_max + e).

The capital increases with θ. So the mean is below every θ at which the capital is 1/δ, up to δ *in all*: if θ is less
than the mean, the capital at the mean is 1/δ as well. And the mean is below θ at *every* attack once the capital
against each of them is 1/δ: alpha is divided neither between attacks nor between the θ that are looked at. An outcome
counts by its distance from θ: outputs that are close together are known better than those that are not.

**Without a list.** f exceeds a threshold with a clean probability that Clopper–Pearson bounds; ρ_up bounds it at every
attacked object within a radius, and the mean of f is the integral of these probabilities over all thresholds.

Values of f are whole numbers k of n, and ends are multiples of 1/`ENDS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, Whole
from starcert.math.attacked_sites import AttackAxis, LevelAttacks, attack_number, n_attacks
from starcert.math.ballots import Ballots
from starcert.math.bets import Bet, capital_of, centred_bet
from starcert.math.choices import Level, RecordedCopies
from starcert.math.flips import AnyIntegers
from starcert.math.limits import upper_limit
from starcert.math.margins import RELATIVE_ERROR, Tradeoff
from starcert.math.weighing import Columns, Weights, columns_of, weigh

ENDS = 2**16
MAX_VOTES = 2**24  # with at most this many votes, sums of logarithms stay within 64 bits
FEW = 64  # attacks for which an end is searched at once, those that look worst
LOWERED = 1 - 2.0**-20  # more than all relative errors of a likelihood ratio, of which `ratios` is at least that


class ValueEvidence:
    """The outputs on all copies of one object, ready to be weighed; the axes have sites whose flips were kept."""

    def __init__(self, ballots: Ballots, axes: Sequence[AttackAxis]) -> None:
        self._copies = RecordedCopies(ballots, axes)
        self._answers = ballots.answers

    def upper(self, target: int, tops: Whole, n: int, attacks: Iterable[LevelAttacks], needed: int) -> int:
        """The least end j found with capitals against a mean of j/ENDS or more, of all attacks, that are as needed.

        `tops` has the number k for each answer: the value of f is k/n. Capitals are logarithms, as in `bets`.
        """
        outputs, at = self._outputs(target, tops, n), 0
        for some in attacks:
            at = ENDS if at == ENDS else self._raised(outputs, some, needed, at)
        return at

    def capitals(self, target: int, tops: Whole, n: int, attacks: LevelAttacks, at: int) -> Whole:
        """The capital against a mean of at/ENDS or more for each of these attacks, at least: logarithms in 1/SCALE."""
        return self._weights(self._outputs(target, tops, n), attacks, at).capital

    def _outputs(self, target: int, tops: Whole, n: int) -> _Outputs:
        answers, groups = np.unique(self._answers[:, target], return_inverse=True)
        return _Outputs(groups.reshape(-1), tops[answers], n)

    def _raised(self, outputs: _Outputs, attacks: LevelAttacks, needed: int, at: int) -> int:
        """An end, raised until the capitals against all of these attacks are as needed."""
        weights = self._weights(outputs, attacks, at)
        fails = weights.capital < needed
        while fails.any() and at < ENDS:
            open_ones = np.flatnonzero(fails)
            worst = open_ones[np.argsort(-weights.estimate[open_ones], kind="stable")[:FEW]]
            few = attacks._replace(rows=self._rows(attacks, worst)) if attacks.attacked else attacks
            low, at = at, ENDS
            while at - low > 1:
                middle = (low + at) // 2
                passed = (self._weights(outputs, few, middle).capital >= needed).all()
                low, at = (low, middle) if passed else (middle, at)
            if at < ENDS:
                fails &= self._weights(outputs, attacks, at, wanted=fails).capital < needed
        return at

    def _rows(self, attacks: LevelAttacks, numbers: Whole) -> Whole:
        if attacks.rows is not None:
            return attacks.rows[numbers]
        axes = self._copies.listed(attacks.level, attacks.attacked)
        firsts = np.cumsum([0, *(axis.size * axis.moves for axis in axes)]).tolist()
        chosen = (zip(firsts, attack_number(axes, int(number)), strict=False) for number in numbers)
        return np.array([[first + choice for first, own in each for choice in own] for each in chosen])

    def _weights(
        self, outputs: _Outputs, attacks: LevelAttacks, at: int, wanted: npt.NDArray[np.bool_] | None = None
    ) -> Weights:
        """The capital against a mean of at/ENDS or more for each attack, and an estimate of the mean."""
        copies, listed = self._copies, attacks.attacked
        ratios, axes = copies.ratios(attacks.level, listed), copies.listed(attacks.level, listed)
        if not np.isfinite(ratios).all():  # no bet can be won: the capital stays 1
            number = n_attacks(axes) if attacks.rows is None else len(attacks.rows)
            return Weights(np.zeros(number, dtype=np.int64), np.ones(number))
        odds = (at * outputs.n - outputs.tops * ENDS) / ((ENDS - at) * outputs.n)  # exact, but for one rounding
        unseen = copies.unseen(attacks.level, range(len(copies.axes)))
        bet = centred_bet(odds, outputs.tops / outputs.n, ratios * LOWERED, ratios, unseen)
        if not listed:
            counts = np.bincount(outputs.groups, minlength=len(outputs.tops))
            estimate = float(bet.values @ counts) / copies.n_votes
            return Weights(np.array([capital_of(bet.gains @ counts)]), np.array([estimate]))
        columns, alone = outputs.columns(copies, listed), Bet(bet.gains[:, None], bet.quiet, bet.values[None])
        return weigh(columns, axes, alone, copies.n_votes, attacks.rows, wanted)


class _Outputs:
    """The answers of the copies, by group: copies with the same answer are one, and have the same k of n."""

    def __init__(self, groups: Whole, tops: Whole, n: int) -> None:
        self.groups, self.tops, self.n = groups, tops, n
        self._columns: dict[tuple[int, ...], Columns] = {}

    def columns(self, copies: RecordedCopies, listed: tuple[int, ...]) -> Columns:
        """The columns of the copies on some axes."""
        if listed not in self._columns:
            shown = np.concatenate([copies.matrix(axis) for axis in listed], axis=1)
            self._columns[listed] = columns_of(shown, self.groups, len(self.tops))
        return self._columns[listed]


def thresholds_of(tops: Whole) -> list[tuple[int, int]]:
    """The numbers k that f takes, each with the one before it, but for the least: f is that, or more, for certain."""
    different = np.unique(tops).tolist()
    return list(zip(different[1:], different[:-1], strict=True))


def upper_by_radius(
    counts: AnyIntegers, tops: Whole, n: int, share: Fraction, tradeoff: Tradeoff, radius: Level
) -> int:
    """The least end j for which counts of answers show that the mean of f is at most j/ENDS within a radius.

    Of all thresholds together, `share` is the probability that one of their bounds fails.
    """
    total, thresholds, bound = int(counts.sum()), thresholds_of(tops), float(tops.min()) / n
    for threshold, before in thresholds:
        limit = upper_limit(int(counts[tops >= threshold].sum()), total, share / len(thresholds))
        bound += (threshold - before) / n * (1.0 if limit >= 1 else tradeoff.upper(radius, limit, 1 - limit))
    return min(ENDS, ceil(bound * (1 + 2 * RELATIVE_ERROR) * ENDS))


def bounds_of_steps(edges: Floats, above: float | None) -> tuple[Whole, Whole]:
    """For each step between edges the least and the largest value of a function of outputs, times the number of steps.

    The function is where the output lies in the range, or whether it is above a number.
    """
    steps = len(edges) - 1
    if above is None:
        return np.arange(steps), np.arange(1, steps + 1)
    certain = edges[:-1] >= above  # all outputs of a step are above its lower edge,
    certain[0] &= edges[0] > above  # but for the least of all in the first one
    return steps * certain.astype(np.int64), steps * (edges[1:] > above).astype(np.int64)
