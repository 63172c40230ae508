"""The recorded copies of one object, and what they show at the sites that an attack changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis, ListedAxis, pools_of, ratio_of, shares_of, shown_outcomes
from starcert.math.ballots import Ballots
from starcert.math.fallback import PLAIN, Contest
from starcert.math.pooling import SUMMED

Floats = npt.NDArray[np.float64]
Level = tuple[int, ...]


class RecordedCopies:
    """The flips of an object's noisy copies by the axes on which it may be attacked."""

    def __init__(self, flips: Ballots, axes: Sequence[AttackAxis], contest: Contest = PLAIN) -> None:
        self.axes, self.contest = tuple(axes), contest
        self.sizes = tuple(len(axis.sites) for axis in self.axes)
        self.pools = pools_of(self.axes)
        self.n_votes = flips.n_copies
        self._flips = flips
        self._matrices: dict[int, npt.NDArray[np.bool_]] = {}

    def listed(self, level: Level, listed: Iterable[int]) -> list[ListedAxis]:
        """These axes with the attacks of a level on them."""
        found = []
        for axis in listed:
            law = self.axes[axis].law
            found.append(ListedAxis(self.sizes[axis], level[axis], law.moves, len(law.outcomes), self.pools[axis]))
        return found

    def matrix(self, axis: int) -> npt.NDArray[np.bool_]:
        """The outcomes that the recorded copies show on an axis, see `shown_outcomes`."""
        if axis not in self._matrices:
            self._matrices[axis] = shown_outcomes(self._flips, self.axes[axis])
        return self._matrices[axis]

    def ratios(self, level: Level, listed: Iterable[int]) -> Floats:
        """At least the likelihood ratio of each number of each outcome on each listed axis; 0 where there is none."""
        ratios = np.ones(())
        for axis in listed:
            law, count = self.axes[axis].law, level[axis]
            own = np.zeros((count + 1,) * len(law.outcomes))
            for shares in shares_of(law, count):
                own[shares] = ratio_of(law, count, shares)
            with np.errstate(over="ignore", invalid="ignore"):  # ∞ · 0: there is no such number of outcomes
                ratios = np.nan_to_num(np.multiply.outer(ratios, own * SUMMED), nan=0.0, posinf=np.inf)
        return ratios

    def unseen(self, level: Level, axes: Iterable[int]) -> Fraction:
        """The probability that an object attacked on these axes shows what the clean one never does."""
        return 1 - prod(((1 - self.axes[axis].law.unseen) ** level[axis] for axis in axes), start=Fraction(1))

    def room(self, level: Level, axes: Iterable[int]) -> float:
        """At most the limit less what objects that are attacked on these axes show and the clean one never does."""
        return below(float(Fraction(self.contest.limit) - self.unseen(level, axes)))


def below(x: float) -> float:
    """A number below the true difference that x was rounded from."""
    return x - 2.0**-50
