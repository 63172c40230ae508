"""Some of the work of a finished run done again, with the model and the data of its run file."""

from __future__ import annotations

from pathlib import Path

from starcert.archive import Verification, rerun
from starcert.archive.reading import EXACT, top_of
from starcert.methods.exhaustive import ExactClassifier
from starcert.methods.numbers import SmoothedRegressor
from starcert.methods.smoothed import SmoothedClassifier
from starcert.runs.inputs import read_inputs, try_model
from starcert.runs.run_file import RUN, read_run_file
from starcert.runs.settings import run_settings
from starcert.runs.threats import without_folders
from starcert.system.errors import StarcertError


def rerun_file(path: Path, model: Path | None, n: int, *, seed: int | None, name: str | None) -> Verification:
    """Proves the claims of a file, and does some of the work of its run again; see `starcert.archive.rerun`.

    Without `model`, the run file is the one beside the file.
    """
    place = path.parent / RUN if model is None else model
    if not place.is_file():
        raise StarcertError(f"{place}: no run file is there. Name the one with model and data: --model RUN.TOML.")
    file, exact = read_run_file(place), top_of(path).value["format"] == EXACT
    settings = run_settings({"out": file.folder / "again", **file.values}, {"exact": True} if exact else {})
    ready = try_model(settings, read_inputs(settings))
    noise, threat = ready.problem.noise, None
    method: ExactClassifier | SmoothedRegressor | SmoothedClassifier
    if exact:
        method, threat = ExactClassifier(ready.base, noise, ready.rule), without_folders(settings.threat)
    elif ready.base.values is not None:
        method = SmoothedRegressor(ready.base, noise, ready.rule)
    else:
        method = SmoothedClassifier(ready.base, noise, ready.rule, fallback=ready.fallback)
    return rerun(path, method, ready.problem, n, seed=seed, name=name, threat=threat, progress=None)
