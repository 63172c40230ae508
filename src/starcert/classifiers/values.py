"""Outputs that are numbers: the range in which they lie, divided into steps. A base that gives numbers answers steps.

So votes, workers, stores and audits know classes alone, and what is certified about steps (`math/values.py`) holds for
the numbers themselves: an output is no more than the upper edge of its step, and no less than the lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError, whole_number

MAX_STEPS = 2**12
MAX_WHOLE = 2**53 - 1  # larger whole numbers may be rounded as they become floats

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ValueRange:
    """Outputs from `low` to `high`, in steps of equal width; an output outside the range raises an error.

    Step i has the outputs above edge i, up to edge i + 1; the first step has `low` too. Intervals are wider by the
    width of a step than they would be without steps: half of it at either end.

    Args:
        low: no output is less.
        high: no output is more.
        steps: into how many steps the range is divided.

    Example:
        >>> grades = ValueRange(1, 6, steps=10)
        >>> grades.steps_of([1, 1.5, 1.6, 6]).tolist()
        [0, 0, 1, 9]
    """

    low: float
    high: float
    steps: int = 256

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not abs(float(value)) <= 1e300:
                raise InvalidParameterError(name, "be a number", value)
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "steps", whole_number("steps", self.steps, 2, MAX_STEPS))
        if not (np.diff(self.edges) > 0).all():
            raise InvalidParameterError("high", f"be more than low, {self.low}, by {self.steps} steps", self.high)

    @property
    def edges(self) -> Floats:
        """The edges of the steps, from `low` to `high`: one more than there are steps."""
        return _edges(self.low, self.high, self.steps)

    def steps_of(self, outputs: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The step of each output; a ValueError names one that is outside, or is none."""
        given = np.asarray(outputs)
        if given.dtype.kind not in "biuf":
            raise ValueError(f"it gave {given.dtype} where numbers are needed")
        # Compared as they came, in float16 for instance, `low`, `high` and edges would be rounded to that type.
        values = given.astype(np.result_type(given, np.float64))
        if given.dtype.kind in "iu" and (np.abs(values) > MAX_WHOLE).any():
            raise ValueError(f"it gave whole numbers beyond {MAX_WHOLE:,}, which floats do not hold: give floats")
        wrong = given[~((values >= self.low) & (values <= self.high))]
        if wrong.size:
            raise ValueError(
                f"it gave {wrong.tolist()[0]!r}, and its outputs are to lie from {self.low:g} to {self.high:g}: give a "
                "ValueRange that holds all of them, or let it clip them"
            )
        return np.searchsorted(self.edges[1:-1], values, side="left").astype(np.int64)

    def numbers_of(self, outputs: npt.ArrayLike) -> Floats:
        """Two numbers for each output that are as close as it is to the edge of a step: see `Scores`."""
        above, inner = np.asarray(outputs, dtype=np.float64) - self.low, self.edges[1:-1] - self.low
        after = np.searchsorted(inner, above).clip(1, len(inner) - 1) if len(inner) > 1 else np.zeros(above.shape, int)
        distance = np.minimum(np.abs(above - inner[after - 1]), np.abs(above - inner[after]))
        return np.stack([above - distance, above], axis=-1)

    def value(self, share: Fraction, *, up: bool) -> float:
        """The number that has this share of the range below it, rounded `up` or down by more than all roundings."""
        exact = Fraction(self.low) + (Fraction(self.high) - Fraction(self.low)) * share
        slip = Fraction(max(abs(self.low), abs(self.high))) / 2**51  # edges are rounded, and so is this number
        return min(self.high, float(exact + slip)) if up else max(self.low, float(exact - slip))


@lru_cache(maxsize=64)
def _edges(low: float, high: float, steps: int) -> Floats:
    width = (Fraction(high) - Fraction(low)) / steps
    edges = np.array([float(Fraction(low) + i * width) for i in range(steps + 1)])
    edges.setflags(write=False)
    return edges
