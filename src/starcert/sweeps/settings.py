"""The settings of a sweep: those of a run, and a grid of noise levels instead of one noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from starcert.errors import InvalidParameterError
from starcert.graphs.content import digest
from starcert.noise import Noise
from starcert.runs import RunFile, RunSettings
from starcert.runs import complete as complete_run
from starcert.runs.grid import Grid
from starcert.runs.models import asks_for

__all__ = ["CERTIFYING", "SAMPLES", "SweepSettings", "complete"]

SAMPLES = 1_000
"""Estimation votes for each graph and level, where nothing else is said."""

CERTIFYING = ("samples", "selection_samples", "limit")
"""What a certification may have settings of its own for, beside the noise."""


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep needs to know.

    Attributes:
        run: what all levels share; its noise is that of the first level.
        grid: the noise levels.
        own_noise: the noise that the user gave; that of the first level if none was given, or one with other axes.
        certifying: what the run file says for certifying alone, by its keys; see `CERTIFYING`.
    """

    run: RunSettings
    grid: Grid
    own_noise: Noise
    certifying: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def levels(self) -> tuple[Noise, ...]:
        """The noise levels."""
        return self.grid.levels(self.run.noise)

    @property
    def seed(self) -> int:
        """The seed of the votes: another than that of a certification with the same settings.

        The noise of a certificate must not be chosen on the votes that bound it, so these come from other streams,
        whatever the seeds are.
        """
        return int(digest("sweep", self.run.seed)[:15], 16)


def complete(file: RunFile, options: Mapping[str, object], grid: Grid | None) -> SweepSettings:
    """The settings of a sweep from a run file and from options, which override it.

    How many samples there are, where the output goes and which part of the data is used, the file says in its table
    [sweep]: what it says elsewhere is for certifying. Data that are divided there are divided here, and of them the
    validation part is used.

    Args:
        file: what the run file says.
        options: further settings by their keys, checked.
        grid: the noise levels; None: those of the file.
    """
    grid = grid or file.grid
    if grid is None:
        hint = "For example --grid motif=0.02,0.05,0.1,random=0.2,0.45, or a table [sweep.grid] in a run file."
        raise InvalidParameterError("grid", "be given", None, hint)
    shared = {
        key: value for key, value in file.values.items() if key not in ("samples", "selection_samples", "store", "out")
    }
    values: dict[str, object] = {"samples": SAMPLES, **shared, **file.sweep, **options}
    if "samples" in options and "selection_samples" not in options:
        values.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    noise = values.get("noise")
    levels = grid.levels(noise if isinstance(noise, Noise) else None)
    chosen = options.get("split", file.sweep.get("split"))
    if chosen == "test":
        hint = "Levels that are chosen on the graphs they are then judged on look better than they are: use validation."
        raise InvalidParameterError("split", "leave the test part to certification", chosen, hint)
    divided = file.values.get("split", "all") != "all"
    run = complete_run({**values, "noise": levels[0], "split": chosen or ("validation" if divided else "all")})
    if chosen is None and not divided and asks_for(run.model, "train"):
        run = replace(run, split="validation")
    own = noise if isinstance(noise, Noise) and noise.axes == levels[0].axes else levels[0]
    return SweepSettings(run, grid, own, {key: file.values[key] for key in CERTIFYING if key in file.values})
