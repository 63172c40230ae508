"""The result of a sweep: its levels, and which of them are worth a certification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starcert.sweeps.front import beaten_by
from starcert.sweeps.measures import Level
from starcert.sweeps.settings import SweepSettings

__all__ = ["Sweep"]


@dataclass(frozen=True)
class Sweep:
    """What came out of a sweep.

    Attributes:
        settings: what was tried, and on what.
        levels: the measures of each noise level, in the order of the grid.
        class_names: what the classes are called.
        majority: the most frequent class of the graphs.
        n_unlabelled: how many graphs were left out because their class is not known.
        anchored: why regions are anchored, each reason once.
        one_model: whether one model served all levels, rather than one made for each.
        folder: the output folder.
    """

    settings: SweepSettings
    levels: tuple[Level, ...]
    class_names: tuple[str, ...]
    majority: int
    n_unlabelled: int
    anchored: tuple[str, ...]
    one_model: bool
    folder: Path

    @cached_property
    def beaten_by(self) -> tuple[int | None, ...]:
        """For each level, the first unbeaten one that beats it; None if none does.

        One level beats another if its accuracy and its mean certified radius on every axis are at least as high, and
        one of them is higher.
        """
        return tuple(beaten_by([level.criteria for level in self.levels]))

    @cached_property
    def unbeaten(self) -> tuple[int, ...]:
        """The levels that no other one beats, the most accurate first."""
        found = [number for number, by in enumerate(self.beaten_by) if by is None]
        return tuple(sorted(found, key=lambda number: (-self.levels[number].n_right, number)))

    @cached_property
    def worthwhile(self) -> tuple[int, ...]:
        """The unbeaten levels that are more accurate than a constant answer, the most accurate first.

        Those that are not can beat none of these: they are less accurate.
        """
        return tuple(number for number in self.unbeaten if not self.levels[number].constant)

    @property
    def suggested(self) -> int | None:
        """The most accurate of the worthwhile levels that certify a flip at all; None if there is none."""
        return next((number for number in self.worthwhile if any(self.levels[number].mean_radii)), None)
