"""Sweeps for the tests of their page: made from numbers that nobody measured."""

from pathlib import Path

import numpy as np

from starcert.runs.grid import SweepSettings, parse_grid
from starcert.runs.settings import RunSettings
from starcert.runs.sweep_levels import SweepLevel, SweepResult
from starcert.runs.user_code import Reference


def invented(grid, *, classes=("left", "right"), seed=0, n_graphs=60, n_majority=30, changes=None, **told):
    """A sweep over a grid with random measures; `changes` by level number."""
    parsed = parse_grid([grid])
    noises = parsed.levels()
    rng = np.random.default_rng(seed)
    run = RunSettings(
        model=Reference(Path("model.py"), "f"), data="MUTAG", noise=noises[0], regions="x", split="validation"
    )
    levels = []
    for number, noise in enumerate(noises):
        axes = len(noise.axes)
        values = {
            "noise": noise,
            "n_graphs": n_graphs,
            "n_right": int(rng.integers(20, 61)),
            "n_abstained": 3,
            "n_base_right": 58,
            "n_majority": n_majority,
            "n_without": (0,) * axes,
            "mean_radii": tuple(rng.integers(0, 50, axes) / 10),
            "short": {},
        }
        values |= (changes or {}).get(number, {})
        marks = tuple(float(k < values["n_right"]) for k in range(values["n_graphs"]))
        levels.append(SweepLevel(**{"marks": marks, **values}))
    values = {
        "majority": 0,
        "n_unlabelled": 0,
        "anchored": (),
        "one_model": True,
        "folder": Path("/project/my sweep"),
        **told,
    }
    return SweepResult(SweepSettings(run, parsed, noises[0]), tuple(levels), class_names=tuple(classes), **values)
