"""Deep votes, weighed again in ball arithmetic.

The engine finds A_S and e_S from likelihood ratios, in floats that are rounded up, and counts bits of packed columns.
Here an attacked site has its own law: the probability of a copy that was asked is a product over its sites, and that of
flip numbers the coefficient of a polynomial. Votes are counted attack by attack, from lists of the votes in which each
site flips. With w(K) = P(K)/Q(K), Q being exact, the capital is the mean over g of Π (1 + g·(θ_S − Y·L_S·w(K))).

The engine's choice, how large a vote the stakes are made for, is taken over: it depends on the law and on no vote. That
no vote is larger is proved here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, comb, prod

import numpy as np
import numpy.typing as npt
from flint import arb

from starcert.files.checker.arithmetic import Ball, flip_outcomes, log_gains, mean_of_exponentials
from starcert.files.deep_votes import KeptDeepVotes
from starcert.files.listed_attacks import AttackIndex
from starcert.math.arithmetic import exact_number, float_at_least, float_below
from starcert.math.attacked_sites import AttackAxis, pools_of, sites_by_pool
from starcert.math.bets import sizes_of_stakes
from starcert.math.deep import UNIT
from starcert.math.deep_votes import STEP
from starcert.math.evidence import FlipEvidence, Level, Weighed
from starcert.math.flips import FlipRecord
from starcert.math.listed import ListedEvidence
from starcert.math.pooling import Scheme

Whole = npt.NDArray[np.int64]
Chosen = Sequence[Sequence[int]]  # for each listed axis the numbers of the attacked sites


class DeepProof:
    """The deep votes on one graph, if there are any."""

    def __init__(self, kept: KeptDeepVotes | None, axes: Sequence[AttackAxis]) -> None:
        self._axes, self._votes = axes, None if kept is None else kept.votes(axes)
        if kept is not None:
            self._weights = kept.weights.tolist()
            self._asked = _Copies(kept.asked_against, kept.asked, axes)
            self._drawn = _Copies(kept.drawn_against, kept.drawn, axes)

    def weighed(self, engine: FlipEvidence | ListedEvidence, level: Level, scheme: Scheme) -> Weighed:
        """What the engine finds by the votes on the clean graph; with deep votes too if an attack is still open.

        Both lie on the path of one capital, so each attack may pass by either.
        """
        engine.deep = None
        found = engine.weighed(level, scheme)
        if self._votes is None or found.proved:
            return found
        engine.deep = self._votes
        return engine.weighed(level, scheme)

    def bet(self, engine: FlipEvidence, level: Level, scheme: Scheme) -> DeepBet | None:
        """The bet for the attacks of a level; None where there are no deep votes, or axes are pooled."""
        if self._votes is None or any(number and axis not in scheme.listed for axis, number in enumerate(level)):
            return None
        ratios = engine.ratios(level, scheme.listed)
        return self._bet(level, self._votes.largest(scheme.listed, engine.listed(level, scheme), ratios))

    def breaks(self, attack: Sequence[int]) -> bool:
        """Whether the copies that were asked show that an attack fails with one half or more."""
        if self._votes is None:
            return False
        index = AttackIndex(self._axes)
        ((level, (places,)),) = index.by_level([np.array([attack], dtype=np.int64)]).items()
        chosen = index.chosen(places[0], [axis for axis, number in enumerate(level) if number])
        return bool(self._bet(level, 0.0).failing(chosen) >= arb(1) / 2)

    def _bet(self, level: Level, largest: float) -> DeepBet:
        return DeepBet(self._axes, level, self._asked, self._drawn, self._weights, largest)


class DeepBet:
    """The bet on deep votes for attacks on this many sites of each axis, made for votes of at most `largest`."""

    def __init__(
        self,
        axes: Sequence[AttackAxis],
        level: Level,
        asked: _Copies,
        drawn: _Copies,
        weights: Sequence[int],
        largest: float,
    ) -> None:
        self._asked, self._drawn, self._largest = asked, drawn, largest
        self._listed = [axis for axis, number in enumerate(level) if number]
        cells = list(product(*(flip_outcomes(axes[axis].law, level[axis]) for axis in self._listed)))
        self._ratios = [prod((ratio for ratio, _, _ in cell), start=arb(1)) for cell in cells]
        flips = [tuple(number for _, number, _ in cell) for cell in cells]
        law, clean = _AttackedLaw(axes, level), _AttackedLaw(axes, (0,) * len(level))
        self._not_asked = 1 - sum(law.masses(asked.numbers), arb(0))
        self._room = arb(1) / 2 - self._not_asked + sum(law.masses(drawn.numbers), arb(0))  # 1/2 − e
        # Numbers below are in the order of `_Copies.counts`. First P_S of a copy asked:
        self._failing = [law.copy(row, cell) for cell in flips for row in asked.numbers.tolist()]
        own = [mass * UNIT / weight for mass, weight in zip(clean.masses(drawn.numbers), weights, strict=True)]
        values = [ratio * weight for ratio in self._ratios for weight in own]
        possible = [law.shows(row, cell) for cell in flips for row in drawn.numbers.tolist()]
        self._values = [value if shows else arb(0) for value, shows in zip(values, possible, strict=True)]
        self._fair = all(value <= arb(largest) for value in self._values)
        self._steps, step = list[Whole](), 1
        for axis in reversed(self._listed):
            lengths = [step * (level[axis] + 1) ** i for i in range(len(axes[axis].law.outcomes))]
            self._steps.insert(0, np.array([0, *reversed(lengths)]))
            step = lengths[-1] * (level[axis] + 1)
        self._gains: dict[int, tuple[Whole, Whole]] = {}

    def failing(self, attack: Chosen) -> Ball:
        """A_S: the probability of all copies asked that were against the class."""
        counts = self._asked.counts(self._listed, self._steps, attack, len(self._ratios))
        return sum((int(counts[place]) * self._failing[place] for place in np.flatnonzero(counts)), arb(0))

    def capital(self, attack: Chosen) -> Ball:
        """At least the capital against an attack; infinite where the copies asked prove it harmless for certain."""
        failing, half = self.failing(attack), arb(1) / 2
        if failing + self._not_asked < half:
            return arb("inf")
        if failing >= half or not self._fair:
            return arb(0)
        # θ is rounded down, so that many attacks share it.
        step = ceil(float_at_least(failing.upper()) / STEP)
        theta = self._room - arb(step) * arb(STEP)
        if not theta > 0 or not self._drawn.total:
            return arb(1)  # nothing is staked
        if step not in self._gains:
            sizes = sizes_of_stakes(float_below(theta.lower()), np.array([self._largest]))
            quiet = (self._drawn.total - self._drawn.against) * log_gains(sizes, theta, [arb(0)])[:, 0]
            self._gains[step] = quiet, log_gains(sizes, theta, self._values)
        quiet, seen = self._gains[step]
        counts = self._drawn.counts(self._listed, self._steps, attack, len(self._ratios))
        return mean_of_exponentials(quiet + seen @ counts)


class _AttackedLaw:
    """The law of copies where this many sites of each axis are attacked, as far as the clean object may show them."""

    def __init__(self, axes: Sequence[AttackAxis], level: Level) -> None:
        self._pools = pools_of(axes)
        self._level, self._listed = level, [axis for axis, number in enumerate(level) if number]
        # Of each axis: with which probability an attacked site stays, and flips.
        self._shown = [
            (
                exact_number(1 - axis.law.attacked if axis.law.clean < 1 else Fraction(0)),
                exact_number(sum((attacked for clean, attacked in axis.law.outcomes if clean), Fraction(0))),
            )
            for axis in axes
        ]
        self._firsts = sorted(set(self._pools))
        attacked = np.bincount(self._pools, level, len(axes)).astype(np.int64)
        self._others = [len(axis.sites) - int(number) for axis, number in zip(axes, attacked, strict=True)]
        self._clean = [(exact_number(axis.law.clean), exact_number(1 - axis.law.clean)) for axis in axes]

    def masses(self, numbers: Whole) -> list[Ball]:
        """The probability of each row of flip numbers."""
        tables = [self._pool(first, int(numbers[:, first].max(initial=0))) for first in self._firsts]
        rows = numbers[:, self._firsts].tolist()
        return [prod((table[k] for table, k in zip(tables, row, strict=True)), start=arb(1)) for row in rows]

    def _pool(self, first: int, top: int) -> list[Ball]:
        """The probabilities of 0, 1, …, `top` flips of a pool: every attacked site multiplies by (stay + flip·z)."""
        size, (yes, no) = self._others[first], self._clean[first]
        found = [comb(size, k) * yes**k * no ** max(size - k, 0) for k in range(top + 1)]
        for axis, number in enumerate(self._level):
            stay, flip = self._shown[axis]
            for _ in range(number if self._pools[axis] == first else 0):
                found = [stay * here + flip * before for before, here in pairwise([arb(0), *found])]
        return found

    def copy(self, numbers: Sequence[int], flips: Sequence[int]) -> Ball:
        """The probability of one copy with these flip numbers, with `flips` of them at attacked sites of each axis."""
        left, mass = self._elsewhere(numbers, flips), arb(1)
        for axis, flipped in zip(self._listed, flips, strict=True):
            stay, flip = self._shown[axis]
            mass *= flip**flipped * stay ** max(self._level[axis] - flipped, 0)
        for first in self._firsts:
            if not 0 <= left[first] <= self._others[first]:
                return arb(0)  # there is no such copy
            yes, no = self._clean[first]
            mass *= yes ** left[first] * no ** (self._others[first] - left[first])
        return mass

    def shows(self, numbers: Sequence[int], flips: Sequence[int]) -> bool:
        """Whether a copy with these flip numbers may have that number of them at attacked sites."""
        return min(self._elsewhere(numbers, flips)) >= 0

    def _elsewhere(self, numbers: Sequence[int], flips: Sequence[int]) -> list[int]:
        left = list(numbers)
        for axis, flipped in zip(self._listed, flips, strict=True):
            left[self._pools[axis]] -= flipped
        return left


class _Copies:
    """The votes against the class among copies with these flip numbers, listed by the sites that flip in them."""

    def __init__(self, record: FlipRecord | None, numbers: Whole, axes: Sequence[AttackAxis]) -> None:
        self.numbers, self.against, self.total, self._axes = numbers, 0, 0, axes
        if record is None:
            return
        self.against, self.total = len(record), int(record.samples.sum())
        places = {tuple(row): place for place, row in enumerate(numbers.tolist())}
        rows = record.numbers(sites_by_pool(axes)).tolist()
        self._places = np.array([places[tuple(row)] for row in rows], dtype=np.int64)
        lengths, order = record.numbers([np.arange(record.n_sites)])[:, 0], np.argsort(record.flipped, kind="stable")
        self._votes = np.repeat(np.arange(len(record)), lengths)[order]
        self._starts = np.searchsorted(record.flipped[order], np.arange(record.n_sites + 1))
        self._shown = None if record.shown is None else record.shown[order]

    def counts(self, listed: Sequence[int], steps: Sequence[Whole], attack: Chosen, n_cells: int) -> Whole:
        """How many votes there are in each cell, with each of the flip numbers: a flip adds the step of its outcome."""
        n_numbers = len(self.numbers)
        if not self.against:
            return np.zeros(n_cells * n_numbers, dtype=np.int64)
        flips = [
            self._at(self._axes[axis], choice, own)
            for axis, own, chosen in zip(listed, steps, attack, strict=True)
            for choice in chosen
        ]
        votes, of_vote = np.unique(np.concatenate([each for each, _ in flips]), return_inverse=True)
        cells = np.zeros(len(votes), dtype=np.int64)
        np.add.at(cells, of_vote, np.concatenate([step for _, step in flips]))
        places = self._places[votes]
        found = np.bincount(cells * n_numbers + places, minlength=n_cells * n_numbers)
        found[:n_numbers] += np.bincount(self._places, minlength=n_numbers) - np.bincount(places, minlength=n_numbers)
        return found

    def _at(self, axis: AttackAxis, choice: int, steps: Whole) -> tuple[Whole, Whole]:
        """The votes in which the site of a choice flips, and the step of what it shows in each."""
        site, move = divmod(choice, axis.law.moves)
        place = int(axis.sites[site])
        here = slice(int(self._starts[place]), int(self._starts[place + 1]))
        if axis.moves is None or self._shown is None:
            return self._votes[here], np.full(here.stop - here.start, steps[1])
        return self._votes[here], steps[axis.moves.outcomes[axis.values[site], move][self._shown[here]]]
