"""Deep votes, ready to be weighed: what copies asked and copies drawn by a `DeepLaw` say about every attack of a level.

For an attack S the bet is that E[Y·L_S·w(K)] is below θ_S = 1/2 − A_S − e_S (see `deep`). So θ depends on the attack:
it is rounded down to few values, and the attacks of each are weighed together. Where what was not asked is too little
to break the class, or what was asked is enough, nothing is left to bet on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import ctx

from starcert.math.arithmetic import LOCK, float_at_least, upper_end
from starcert.math.attacked_sites import AttackAxis, ListedAxis, attacks_of, shown_outcomes
from starcert.math.bets import NOTHING, stakes
from starcert.math.deep import DeepLaw, Pools, covered, weights_of
from starcert.math.flips import FlipRecord
from starcert.math.pooling import SUMMED
from starcert.math.weighing import Columns, columns_of, weigh

CERTAIN = -NOTHING  # the logarithm of the capital against an attack that nothing is left to bet on, in 1/SCALE
STEP = 2.0**-8  # θ is rounded down by multiples of it
MAX_WEIGHTS = 256  # different w that votes are distinguished by; where there are more, they are rounded up
MAX_ENTRIES = 2**27  # of a matrix of votes × choices that is made at a time
MAX_BITS = 2**33  # of all columns of votes: with more, nothing is bet on deep votes

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Level = tuple[int, ...]


class DeepWeights(NamedTuple):
    """For each attack the logarithm of the capital, the estimated failure rate, and what it is at least."""

    capital: Whole
    estimate: Floats
    least: Floats


class DeepVotes:
    """The votes against the class among all copies with the numbers that a law asks, and among those that it draws."""

    def __init__(
        self, axes: Sequence[AttackAxis], law: DeepLaw, asked: FlipRecord | None, drawn: FlipRecord | None
    ) -> None:
        self.law, self._pools, self._axes = law, Pools(axes), tuple(axes)
        self.asked, self.drawn = asked, drawn
        self.n_asked, self.n_drawn = (0 if each is None else int(each.samples.sum()) for each in (asked, drawn))
        # What a vote weighs depends on its flip numbers, and votes of one weight are a group.
        with LOCK, ctx.workprec(96):
            masses = np.array([float_at_least(upper_end(self._pools.chance(each))) for each in law.asked.tolist()])
        self._weights, self._group = _few(weights_of(self._pools, law))
        self._asked = self._grouped(asked, law.asked, masses, np.arange(len(masses)))
        self._drawn = self._grouped(drawn, law.drawn, self._weights, self._group)

    def __str__(self) -> str:
        flips = sorted(set(self.law.asked.sum(axis=1).tolist()))
        every = len(flips) > 2 and flips[-1] - flips[0] == len(flips) - 1
        numbers = f"{flips[0]} to {flips[-1]}" if every else " or ".join(map(str, flips))
        asked = f"all {self.n_asked:,} copies with {numbers} flips" if self.n_asked else ""
        drawn = f"{self.n_drawn:,} deep votes" if self.n_drawn or not asked else ""
        return ", and ".join(filter(None, (drawn, asked)))

    def _grouped(self, record: FlipRecord | None, numbers: Whole, values: Floats, groups: Whole) -> _Grouped | None:
        if record is None:
            return None
        return _Grouped(record, values, groups[_places(record.numbers(self._pools.sites), numbers)])

    def weights(
        self,
        level: Level,
        listed: Sequence[int],
        choices: Sequence[ListedAxis],
        ratios: Floats,
        rows: Whole | None = None,
    ) -> DeepWeights:
        """What each attack weighs: `ratios` are those of the listed axes by cell, the rest is as `weigh` takes it."""
        rows = rows_of(choices) if rows is None else rows
        axes = [self._axes[axis] for axis in listed]
        asked, drawn = self.law.asked, self.law.drawn
        capital, found = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        n_columns = sum(axis.size * axis.moves * axis.outcomes for axis in choices)
        if n_columns * sum(len(each) for each in (self.asked, self.drawn) if each is not None) > MAX_BITS:
            return DeepWeights(capital, found, found)
        if self._asked is not None:
            values = np.multiply.outer(ratios, self._asked.values) * SUMMED
            nothing = np.zeros((1, 1, *values.shape), dtype=np.int64)
            columns = self._asked.columns(axes)
            found = weigh(columns, choices, nothing, np.zeros(1, np.int64), values[None], 1, rows).estimate * SUMMED
        estimate = found.copy()
        if self._drawn is not None:
            top = 0.5 - _above(1 - covered(self._pools, level, asked, drawn))
            values = self._values(listed, choices, ratios)
            columns, steps = self._drawn.columns(axes), np.ceil(found / STEP).astype(np.int64)
            for step in np.unique(steps):
                theta, here = top - float(step) * STEP, steps == step
                bet = stakes(theta if theta > 0 else 0.5, values)
                assert bet is not None
                quiet = (self.n_drawn - len(self._drawn.record)) * bet.quiet
                own = weigh(columns, choices, bet.seen[:, None], quiet, values[None], self.n_drawn, rows[here])
                capital[here] = own.capital if theta > 0 else 0  # nothing is staked, and nothing is won
                estimate[here] += own.estimate
        least = found / SUMMED ** (4 + 2 * len(axes))  # undoes all roundings
        capital[found + _above(1 - covered(self._pools, level, asked)) < 0.5] = CERTAIN
        capital[least >= 0.5] = NOTHING
        return DeepWeights(capital, estimate, least)

    def largest(self, listed: Sequence[int], choices: Sequence[ListedAxis], ratios: Floats) -> float:
        """At least what a vote that is drawn can weigh against an attack: the bet stakes no more than it can lose."""
        return float(self._values(listed, choices, ratios).max(initial=0.0))

    def _values(self, listed: Sequence[int], choices: Sequence[ListedAxis], ratios: Floats) -> Floats:
        """What votes against the class weigh in each cell and group, shape (*cells, groups)."""
        values: Floats = np.multiply.outer(ratios, self._weights) * self._can_show(listed, choices) * SUMMED
        return values

    def _can_show(self, listed: Sequence[int], choices: Sequence[ListedAxis]) -> npt.NDArray[np.bool_]:
        """Whether copies of a group can show each cell: one with K flips shows no more of them at attacked sites."""
        shape = [axis.attacked + 1 for axis in choices for _ in range(axis.outcomes)]
        shares, owners = np.indices(shape), np.repeat(listed, [axis.outcomes for axis in choices])
        possible = np.zeros((*shape, len(self._weights)), dtype=np.bool_)
        for numbers, group in zip(self.law.drawn, self._group, strict=True):
            enough = np.ones(shape, dtype=np.bool_)
            for first, number in zip(self._pools.firsts, numbers, strict=True):
                pool = [place for place, axis in enumerate(owners) if self._pools.of_axis[axis] == first]
                enough &= shares[pool].sum(axis=0) <= number
            possible[..., group] |= enough
        return possible


class _Grouped:
    """Votes against the class with the group of each, and the value of each group."""

    def __init__(self, record: FlipRecord, values: Floats, groups: Whole) -> None:
        self.record, self.values, self._groups = record, values, groups
        self._columns: dict[tuple[int, ...], Columns] = {}

    def columns(self, axes: Sequence[AttackAxis]) -> Columns:
        """The columns of the choices on these axes; those last asked for are kept."""
        key = tuple(map(id, axes))
        if key not in self._columns:
            parts = []
            for axis in axes:
                wide = max(1, len(self.record) * axis.law.moves * len(axis.law.outcomes))
                step = max(1, MAX_ENTRIES // wide)
                for start in range(0, len(axis.sites), step):
                    some = slice(start, start + step)
                    part = axis._replace(sites=axis.sites[some], values=axis.values[some])
                    parts.append(columns_of(shown_outcomes(self.record, part), self._groups, len(self.values)))
            self._columns = {key: parts[0]._replace(words=np.concatenate([part.words for part in parts]))}
        return self._columns[key]


def rows_of(choices: Sequence[ListedAxis]) -> Whole:
    """All attacks on the listed axes as rows of `weigh`."""
    firsts = np.repeat(
        np.cumsum([0, *(axis.size * axis.moves for axis in choices[:-1])]), [axis.attacked for axis in choices]
    )
    flat = np.fromiter(
        (choice for attack in attacks_of(choices) for chosen in attack for choice in chosen), dtype=np.int64
    )
    rows: Whole = flat.reshape(-1, len(firsts)) + firsts
    return rows


def _places(numbers: Whole, known: Whole) -> Whole:
    """The place of each row of flip numbers among the known ones, which ascend."""
    if not len(numbers):
        return np.empty(0, dtype=np.int64)
    radix = np.concatenate([[1], np.cumprod(known.max(axis=0)[:0:-1] + 1)])[::-1]
    codes, wanted = known @ radix, numbers @ radix
    places: Whole = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    assert (known[places] == numbers).all()
    return places


def _few(weights: Floats) -> tuple[Floats, Whole]:
    """At most `MAX_WEIGHTS` weights, none smaller than those given, and the place of each of these among them."""
    if len(weights) <= MAX_WEIGHTS:
        return weights, np.arange(len(weights))
    low, high = float(weights.min()), float(weights.max())
    steps = high * (low / high) ** (np.arange(MAX_WEIGHTS) / MAX_WEIGHTS) * (1 + 1e-9)  # descending
    places = MAX_WEIGHTS - np.searchsorted(steps[::-1], weights, side="left") - 1
    return steps, places


def _above(x: float) -> float:
    """A number above the true difference that x was rounded from."""
    return x + 2.0**-50
