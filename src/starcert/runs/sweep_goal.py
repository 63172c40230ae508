"""What a sweep shall find the best noise level for, and how the levels stand by it.

`accuracy@motif=1,random=10` is the share of graphs that are right and certified against so many flips on these axes,
all at once; `accuracy@flips:2` is against any two flips, wherever they fall, and `accuracy` alone without flips.
`flips@random` is how many flips on that axis alone are certified, the mean over the graphs; `flips` alone is how many
there may be wherever they fall. Graphs that have no sites on an axis that is named do not count.

All levels are tried on the same graphs, so they are compared graph by graph. A level whose difference from the best
has an interval that reaches 0 is a *tie*: these graphs cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.certificates.certify import Certificates
from starcert.certificates.metrics import flip_outcomes
from starcert.objects.noise import Noise, Threat, threat_of
from starcert.pages.intervals import mean_interval, paired_difference, share_interval
from starcert.runs.setting_values import parse_by_axis
from starcert.runs.sweep_levels import LevelOutcome
from starcert.system.errors import InvalidParameterError, StarcertError

__all__ = ["ACCURACY", "Goal", "Marks", "Standing", "marks_of", "standings"]

Marks: TypeAlias = tuple[float | None, ...]
"""What each graph adds to the mean of a level: 1 or 0, or a number of flips; None: it does not count."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the best level has most of.

    Attributes:
        kind: "accuracy" or "flips".
        radius: of accuracy, against how many flips on each axis that is named.
        threat: of accuracy, against which attacker, where that is no radius.
        axis: of flips, on which axis; "": wherever they fall.

    Example:
        >>> goal = Goal.parse("accuracy@motif=1,random=10", Noise(motif=0.1, random=0.4))
        >>> str(goal), goal.words
        ('accuracy@motif=1,random=10', 'accuracy certified against 1 flip in motif and 10 flips in random')
    """

    kind: str = "accuracy"
    radius: tuple[tuple[str, int], ...] = ()
    axis: str = ""
    threat: Threat | None = None

    @classmethod
    def parse(cls, text: str, noise: Noise, max_radius: tuple[int, ...] | None = None, name: str = "best") -> Goal:
        """Reads a goal, and checks it against the axes of a noise and the box of radii that is looked at."""
        kind, at, where = text.replace(" ", "").partition("@")
        if kind not in ("accuracy", "flips") or (at and not where):
            hint = f"There are {', '.join(_examples(noise))}."
            raise InvalidParameterError(name, "be accuracy or flips, with @ and where", text, hint)
        if kind == "accuracy" and where.startswith("flips:"):
            return cls(kind, threat=threat_of(where, name))
        if kind == "flips":
            _check_axes([where] if at else [], noise, name, text)
            return cls(kind, axis=where)
        counts = parse_by_axis(where, name) if at else {}
        if not isinstance(counts, dict):
            hint = f"For example {_examples(noise)[1]}."
            raise InvalidParameterError(name, "say against how many flips on which axes", text, hint)
        _check_axes(list(counts), noise, name, text)
        whole = noise.radius({axis: counts.get(axis, 0) for axis in noise.axes}, name)
        if max_radius is not None and any(map(int.__gt__, whole, max_radius)):
            box = ", ".join(f"{axis}={most}" for axis, most in zip(noise.axes, max_radius, strict=True))
            raise InvalidParameterError(name, f"stay within max_radius, {box}", text, "Give a larger --max-radius.")
        return cls(kind, tuple((axis, count) for axis, count in zip(noise.axes, whole, strict=True) if count))

    def __str__(self) -> str:
        where = ",".join(f"{axis}={count}" for axis, count in self.radius) or self.axis or str(self.threat or "")
        return f"{self.kind}@{where}" if where else self.kind

    @property
    def words(self) -> str:
        """What it is, in words."""
        if self.kind == "flips":
            return f"mean certified flips {f'in {self.axis} alone' if self.axis else 'wherever they fall'}"
        if self.threat is not None:
            return f"accuracy certified against {self.threat.label}"
        against = " and ".join(f"{count:,} flip{'s' * (count != 1)} in {axis}" for axis, count in self.radius)
        return f"accuracy certified against {against}" if against else "accuracy"

    def show(self, value: float) -> str:
        """A mean of it, as a reader sees it."""
        return f"{value:.2f}" if self.kind == "flips" else f"{value:.1%}"

    def within(self, low: float, high: float) -> str:
        """An interval for a mean, in short."""
        return "–".join(f"{end:.1f}" if self.kind == "flips" else f"{end:.0%}" for end in (low, high))

    def apart(self, *values: float) -> str:
        """A difference of two means, or the two ends of an interval for it."""
        shown = [f"{value:+.2f}" if self.kind == "flips" else f"{value:+.1%}" for value in values]
        return " to ".join(dict.fromkeys(shown)).replace("-", "−").replace("inf", "∞")


ACCURACY = Goal()
"""What levels are compared by where nothing is said."""


def _examples(noise: Noise) -> list[str]:
    first = noise.axes[0]
    return ["accuracy", f"accuracy@{first}=1", "accuracy@flips:2", "flips", f"flips@{first}"]


def _check_axes(named: Sequence[str], noise: Noise, name: str, text: str) -> None:
    unknown = [axis for axis in named if axis not in noise.axes]
    if unknown:
        hint = f"There is no axis {', '.join(unknown)}."
        raise InvalidParameterError(name, f"name axes of the noise: {', '.join(noise.axes)}", text, hint)


def marks_of(goal: Goal, certificates: Certificates, outcome: LevelOutcome) -> Marks:
    """What each graph adds to the goal at one level: nothing where it is answered wrong, or not at all.

    Raises:
        StarcertError: if no graph has sites on the axes that the goal names.
    """
    axes = outcome.noise.axes
    named = [axes.index(axis) for axis in (dict(goal.radius) or ({goal.axis: 1} if goal.axis else {}))]
    there = np.all(outcome.capacities[:, named] > 0, axis=1)
    known = [] if goal.threat is None else flip_outcomes(certificates, goal.threat.most)
    if goal.threat is not None:
        there = np.array([one.asked == goal.threat.most for one in known])
    if not there.any():
        missing = "sites on all of these axes" if goal.threat is None else "that many sites to flip"
        raise StarcertError(f"best = {goal}: no graph has {missing}. Name others.")
    found: npt.ArrayLike
    if goal.threat is not None:
        found = [one.certified == goal.threat.most for one in known]
    elif goal.kind == "accuracy":
        radius = dict(goal.radius)
        found = certificates.certified(tuple(radius.get(axis, 0) for axis in axes))
    elif goal.axis:
        found = outcome.reach[:, named[0]]
    else:
        found = [one.any_flips for one in certificates]
    marks = np.where(outcome.right, np.asarray(found, dtype=np.float64), 0)
    return tuple(float(mark) if counts else None for mark, counts in zip(marks, there, strict=True))


@dataclass(frozen=True, slots=True)
class Standing:
    """How a level stands by the goal.

    Attributes:
        value: its mean.
        low: the lower end of an interval for it.
        high: its upper end.
        by: its mean less that of the best level; 0 for the best itself.
        least: the lower end of an interval for this difference.
        most: its upper end.
    """

    value: float
    low: float
    high: float
    by: float
    least: float
    most: float

    @property
    def tie(self) -> bool:
        """Whether it cannot be told apart from the best level."""
        return self.least <= 0 <= self.most


def standings(goal: Goal, marks: Sequence[Marks], best: int) -> list[Standing]:
    """How each level stands, beside the best one."""
    rows = np.array([[mark for mark in each if mark is not None] for each in marks], dtype=np.float64)
    found = []
    for row in rows:
        if goal.kind == "accuracy":
            own = (float(row.mean()), *share_interval(int(row.sum()), len(row)))
            apart = paired_difference(rows[best] > 0, row > 0)
        else:
            own, apart = mean_interval(row), mean_interval(row - rows[best])
        found.append(Standing(*own, *apart))
    return found
