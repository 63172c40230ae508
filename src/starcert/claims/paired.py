"""Intervals over the choice of graphs: for a share, and for the difference of two shares of the same graphs.

They hold with probability 1 − INTERVAL, each by itself. Those of shares are exact (Clopper–Pearson). A difference is
(b − c)/n, where b graphs have what is counted in the second case alone, and c in the first alone. It is s · (2t − 1),
with s the share of graphs on which the cases differ, (b + c)/n, and t that of b among them, which is binomial whatever
b + c is. Both have exact intervals, t at 4/5 of INTERVAL and s at 1/5; their products bound the difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from starcert.claims.unknown import NEVER
from starcert.math.limits import upper_limit

INTERVAL = Fraction(1, 20)  # intervals fail with this probability, over the choice of graphs
Mask = npt.NDArray[np.bool_]


def share_interval(count: int, total: int, alpha: Fraction = INTERVAL) -> tuple[float, float]:
    """An interval for the share that `count` of `total` graphs estimate, alpha/2 a side."""
    return 1 - upper_limit(total - count, total, alpha / 2), upper_limit(count, total, alpha / 2)


def paired_difference(before: Mask, after: Mask) -> tuple[float, float, float]:
    """The difference of two shares of the same graphs, and an interval for it."""
    return difference_of_counts(int((after & ~before).sum()), int((before & ~after).sum()), len(before))


def difference_of_counts(gained: int, lost: int, total: int) -> tuple[float, float, float]:
    """The same, where some graphs have what is counted in the second case alone, and some in the first alone."""
    either = gained + lost
    least, most = share_interval(either, total, INTERVAL / 5)
    ends = share_interval(gained, either, INTERVAL * 4 / 5) if either else (0.0, 1.0)
    low, high = (2 * end - 1 for end in ends)
    return (gained - lost) / total, low * (least if low > 0 else most), high * (most if high > 0 else least)


@dataclass(frozen=True)
class StructureGain:
    """The share right and certified, less the share that a blind model has right, of the same graphs."""

    attacks: str  # what is certified against, in words
    n_graphs: int  # those of a known class that can be attacked so
    certified: float | None  # the share that is right and certified; None: no finding, as `why` says
    blind: float  # the share that the blind model has right: it is certified against every attack
    gain: float | None  # their difference
    low: float | None  # its interval
    high: float | None
    why: str = ""  # why it would say nothing that none is certified; "" where it is a finding

    @classmethod
    def of(cls, attacks: str, certified: Mask, blind: Mask, among: Mask, why: str = "") -> StructureGain:
        """The gain on some graphs, given which are right and certified, and which the blind model has right.

        Where none is certified, and there is a reason `why` that says nothing, there is no gain.
        """
        if not among.any():
            return cls(attacks, 0, math.nan, math.nan, math.nan, math.nan, math.nan)
        one, other = certified[among], blind[among]
        if why and not one.any():
            return cls(attacks, len(one), None, float(other.mean()), None, None, None, why)
        return cls(
            attacks,
            len(one),
            float(one.mean()),
            float(other.mean()),
            *paired_difference(other, one),
            why * (why != NEVER),
        )

    def __str__(self) -> str:
        if self.gain is None or self.low is None or self.high is None:
            return f"– ({self.why})"
        return f"{100 * self.gain:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"
