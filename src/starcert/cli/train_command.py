"""`starcert train`: the module of a run, trained with its noise."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.command_line import app, show
from starcert.cli.run_commands import RunArgument, with_settings
from starcert.runs.setting_values import check_options, option_name
from starcert.runs.settings import SETTINGS, TRAIN_SETTINGS
from starcert.system.output import duration

if TYPE_CHECKING:
    from starcert.runs.settings import RunSettings
    from starcert.runs.training_run import TrainedRun

__all__ = ["train"]

AgainOption = Annotated[bool, typer.Option("--again", help="Train in any case, and replace weights that are there.")]

_OF_RUNS = {key: setting for key, setting in SETTINGS.items() if setting.in_training}


@app.command()
@with_settings({"run": RunArgument, "again": AgainOption}, TRAIN_SETTINGS | _OF_RUNS)
def train(run: Path | None, again: bool, _debug: bool, **given: object) -> None:
    """Train your own PyG module with the noise that it will vote under, and keep its best epoch's weights in a file.

    It learns from the training part of the data (80% of every class), and the validation part (10%) decides which epoch
    is kept. Of nodes, the node data train_mask and val_mask say which are which. The setting weights names the file;
    starcert certify reads it. A run file may hold the options of training in its table train. Interrupted, the same
    command goes on where it was.

    For example:

    starcert init learned --example pyg && starcert train learned/run.toml

    starcert train run.toml --epochs 100 --learning-rate 0.01 --again
    """
    how = {key: word for key, word in given.items() if key in TRAIN_SETTINGS}
    words = {key: word for key, word in given.items() if key not in TRAIN_SETTINGS}
    checked, options = check_options(how, TRAIN_SETTINGS), check_options(words, SETTINGS)
    from starcert.runs.run_file import RunFile, read_run_file  # noqa: PLC0415  (slow to import)
    from starcert.runs.training_run import train_run, training_settings  # noqa: PLC0415

    file = RunFile() if run is None else read_run_file(run)
    settings, training = training_settings(file, options, checked)
    outcome = train_run(settings, training, again=again)
    show(*_view(outcome), f"Next: {_next_command(run, words, settings)}")


def _view(outcome: TrainedRun) -> Iterator[str]:
    made = outcome.made
    place = os.path.relpath(outcome.weights)
    if outcome.seconds is None:
        yield f"{place} was trained so before; --again trains it anew."
    else:
        epochs = f"{outcome.settings.epochs:,} epochs in {duration(outcome.seconds)}"
        yield f"Trained {made['module']} on {outcome.what}: {epochs}, under {made['noise']}."
        yield f"Wrote {place}."
    right = f"{made['validation_accuracy']:.1%} of noisy copies are right"
    yield f"Kept: epoch {made['best_epoch'] + 1:,}, by validation: {right} (majority class {outcome.majority:.1%})."


def _next_command(run: Path | None, words: Mapping[str, object], settings: RunSettings) -> str:
    """The certification with these weights: of the part that training has not seen."""
    command = ["starcert", "certify", *([] if run is None else [str(run)])]
    for key, word in words.items():
        command += [] if word is None else [option_name(key), str(word)]
    if settings.split == "all" and settings.targets == "graphs":
        command += ["--split", "test"]
    return shlex.join(command)
