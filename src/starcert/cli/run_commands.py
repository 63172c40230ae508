"""`starcert init`, `train`, `certify` and `sweep`: an example, and the user's model and data.

The options of `train`, `certify` and `sweep` are the settings of a run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.command_line import JsonOption, app, show
from starcert.cli.setting_options import Given, with_settings
from starcert.objects.threats import Threat, injected_nodes
from starcert.report.blocks import Report, as_terminal, values_of
from starcert.report.other_reports import weights_in_words
from starcert.runs.certification import certify_run, forecast, run_sweep
from starcert.runs.example import KINDS, write_example
from starcert.runs.grid import parse_grid, sweep_settings
from starcert.runs.run_file import RunFile, read_run_file
from starcert.runs.settings import SETTINGS, SWEEP_SETTINGS, RunSettings, run_settings
from starcert.runs.sweep_report import PAGE, sweep_report
from starcert.runs.training_run import TRAIN_SETTINGS, TrainedRun, train_run, training_settings
from starcert.system.errors import InvalidParameterError
from starcert.system.output import duration, is_quiet, note

RunArgument = Annotated[
    Path | None, typer.Argument(help="A file of settings; options override it.", metavar="RUN.TOML")
]
_DRY_RUN = "Only report how many votes would be drawn and what they can certify."
DryRunOption = Annotated[bool, typer.Option("--dry-run", help=_DRY_RUN)]
_QUICK = "Short for --set plan=decided: votes end once --threat is certified, or unlikely to be."
_FEWER = (
    "Fewer votes answer whether this threat is certified, and nothing else: --quick took 31% of them for the example "
    "of starcert init under flips:2."
)
MANY = 5_000  # votes on a graph from which on fewer would be felt
QuickOption = Annotated[bool, typer.Option("--quick", help=_QUICK)]
GridOption = Annotated[
    list[str] | None,
    typer.Option(
        help="The noise levels to try, all combinations: motif=0.02,0.05,0.1,random=0.2,0.45 is six. As in --noise, "
        "delete/add counts deletions and additions apart: bonds=0.04/0.05,0.1/0.2 is two levels; "
        "bonds.delete=0.04,0.1,bonds.add=0.05,0.2 is all four combinations. May be given more than once.",
        metavar="REGION=P,P,…",
    ),
]
AgainOption = Annotated[bool, typer.Option("--again", help="Train in any case, and replace weights that are there.")]


@app.command()
@with_settings({"run": RunArgument, "dry_run": DryRunOption, "quick": QuickOption, "as_json": JsonOption}, SETTINGS)
def certify(run: Path | None, dry_run: bool, quick: bool, as_json: bool, given: Given) -> None:
    """Certify your own model: report.html, certificates.json, results.csv and run.toml in one folder.

    Interrupted runs resume: repeat the command. Any option can be set in the run file, which the output repeats.

    For example:

    starcert init && starcert certify run.toml

    starcert certify --model model.py:classifier --data MUTAG --noise bonds=0.04/0.2 --limit 20 --out results

    starcert certify run.toml --exact --threat flips:2

    starcert certify --method links --data photo.npz --threat flips:3
    """
    options, file = {**given.values, **({"plan": "decided"} if quick else {})}, _run_file(run)
    settings = run_settings({"out": file.folder / "certified", **file.values}, options)
    if quick and settings.threat is None:
        hint = "Without one there is nothing to decide, and all votes are drawn: name one with --threat."
        raise InvalidParameterError("--quick", "needs a threat.", hint=hint)
    if dry_run:
        for sentence in forecast(settings):
            show(sentence)
        return
    if file.train and settings.weights is None:
        note("the run file says how to train, but not where the weights are: the model votes as its function makes it.")
    expected = _still_expected(file.expected, options)
    outcome = certify_run(settings, expected=expected, note=note, before=None if as_json or is_quiet() else show)
    _show(outcome.found, {"folder": outcome.folder, "report": outcome.report}, as_json)
    votes_on_one_thing = settings.threat is not None and settings.method == "smoothed" and not settings.exact
    if votes_on_one_thing and settings.plan == "fixed" and settings.samples >= MANY and not as_json:
        show(_FEWER)


def _show(found: Report, places: Mapping[str, Path], as_json: bool) -> None:
    """Prints a report for programs or for people, and where its page is."""
    if as_json:
        print(json.dumps({**{name: str(place) for name, place in places.items()}, **values_of(found)}))
        return
    *_, (name, page) = places.items()
    show(*as_terminal(found), f"{name.capitalize()}: {page}")


@app.command()
@with_settings({"run": RunArgument, "grid": GridOption, "as_json": JsonOption}, SWEEP_SETTINGS)
def sweep(run: Path | None, grid: list[str] | None, as_json: bool, given: Given) -> None:
    """Choose the noise: accuracy against certified radii over a grid of levels: sweep.html, sweep.csv and run.toml.

    A level is Pareto-optimal if no other one is at least as accurate, reaches at least as far on every axis (mean
    certified radius), and is better in one. With --threat, the best level has most graphs right and certified under it.
    Levels that the graphs cannot tell from the best one are named: a tie. A model function with a parameter `noise`
    makes a model for each level.

    Levels are chosen on validation graphs; certify the one you choose on others. Interrupted runs resume.
    A run file may hold the grid and a sweep's own settings in its tables `sweep` and `sweep.grid`.

    For example:

    starcert init && starcert sweep run.toml

    starcert sweep run.toml --grid motif=0.02,0.05,0.1,random=0.2,0.4 --samples 2000 --out finer

    starcert sweep run.toml --threat box:motif=1,random=10

    starcert sweep --model model.py:classifier --data MUTAG --grid bonds.delete=0.02,0.1,bonds.add=0.05,0.2 --limit 50
    """
    options, file = given.values, _run_file(run)
    levels = parse_grid(grid) if grid else None
    settings = sweep_settings(file, options, levels)
    expected = {} if "model" in options else file.expected
    found = run_sweep(settings, expected=expected, note=note, before=None if as_json or is_quiet() else show)
    _show(sweep_report(found), {"folder": found.folder, "page": found.folder / PAGE}, as_json)


@app.command()
@with_settings(
    {"run": RunArgument, "again": AgainOption, "as_json": JsonOption},
    TRAIN_SETTINGS | {key: setting for key, setting in SETTINGS.items() if setting.in_training},
)
def train(run: Path | None, again: bool, as_json: bool, given: Given) -> None:
    """Train your own PyG module with the noise that it will vote under, and keep its best epoch's weights in a file.

    It learns from the training part of the data (80% of every class), and the validation part (10%) decides which epoch
    is kept. Of nodes, the node data train_mask and val_mask say which are which. The setting weights names the file;
    starcert certify reads it. A run file may hold the options of training in its table train. Interrupted runs resume:
    repeat the command.

    For example:

    starcert init learned --example pyg && starcert train learned/run.toml

    starcert train run.toml --epochs 100 --learning-rate 0.01 --again

    starcert train run.toml --copies 4 --worst 0.5
    """
    how, options = (
        {key: value for key, value in given.values.items() if (key in TRAIN_SETTINGS) is own} for own in (True, False)
    )
    settings, training = training_settings(_run_file(run), options, how)
    outcome = train_run(settings, training, again=again)
    then = _certify_command(run, given, settings)
    if not as_json:
        show(*_trained_view(outcome, then))
        return
    told = {"weights": str(outcome.weights), "page": str(outcome.page), "trained_before": outcome.seconds is None}
    print(json.dumps({**told, "seconds": outcome.seconds, **values_of(outcome.report), "next": then}))


def _trained_view(outcome: TrainedRun, then: str) -> Iterator[str]:
    """The result of a training, and the command that comes next."""
    made = outcome.made
    place = os.path.relpath(outcome.weights)
    if outcome.seconds is None:
        yield f"{place} was trained so before; --again trains it anew."
    else:
        done, wanted = made["history"][-1][0] + 1, outcome.settings.epochs
        early = "" if done == wanted else f" (of {wanted:,}; no better one after {outcome.settings.patience:,} more)"
        epochs = f"{done:,} epochs{early} in {duration(outcome.seconds)}"
        yield f"Trained {made['module']} on {outcome.what}: {epochs}, under {made['noise']}."
        yield f"Wrote {place}. Its learning curve: {os.path.relpath(outcome.page)}"
    if outcome.weighting is not None:
        yield weights_in_words(outcome.weighting, outcome.class_names)
    right = f"{made['validation_accuracy']:.1%} of noisy copies are right"
    yield f"Kept: epoch {made['best_epoch'] + 1:,}, by validation: {right} (majority class {outcome.majority:.1%})."
    yield f"Next: {then}"


def _certify_command(run: Path | None, given: Given, settings: RunSettings) -> str:
    """The certification with trained weights, of the part of the data that training has not seen."""
    command = ["starcert", "certify", *([] if run is None else [str(run)])]
    command += [word for key, words in given.words.items() if key not in TRAIN_SETTINGS for word in words]
    if settings.split == "all" and settings.targets == "graphs":
        command += ["--split", "test"]
    return shlex.join(command)


def _run_file(path: Path | None) -> RunFile:
    return RunFile() if path is None else read_run_file(path)


def _still_expected(expected: Mapping[str, str], options: Mapping[str, object]) -> dict[str, str]:
    """The digests that a run file expects, except of what options change."""
    given = set(options).union(*(SETTINGS[key].unsettles for key in options))
    threat = options.get("threat")
    if isinstance(threat, Threat) and injected_nodes(threat):
        given |= {"data", "regions"}
    return {name: digest for name, digest in expected.items() if name not in given}


_EXAMPLE = (
    "The kind of model: function, sklearn (needs the extra kernels), or pyg, which starcert train trains "
    "(needs the extra torch)."
)
_KIND = (
    "What is certified: molecule (types of bonds and atoms, needs the extra molecules), directed (graphs "
    "with arcs), nodes (of one graph) or vector (rows of bits, needs the extra kernels). Default: undirected graphs."
)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it; made if need be.")] = Path(),
    example: Annotated[str, typer.Option(help=_EXAMPLE, metavar="KIND")] = "function",
    kind: Annotated[str | None, typer.Option(help=_KIND, metavar="KIND")] = None,
) -> None:
    """Write an example to start from: a commented run.toml, a model, and small graphs of three classes.

    Files that are there already are never overwritten.

    For example:

    starcert init && starcert certify run.toml

    starcert init trial --example sklearn

    starcert init learned --example pyg && starcert train learned/run.toml

    starcert init citations --kind nodes && starcert certify citations/run.toml
    """
    if kind is not None and kind not in KINDS:
        raise InvalidParameterError("--kind", f"be one of {', '.join(KINDS)}", kind)
    if kind is not None and example != "function":
        raise InvalidParameterError("--example", "cannot be combined with --kind.")
    written = write_example(folder, kind or example)
    graphs = [path for path in written if path.suffix == ".graphml"]
    run = os.path.relpath(next(path for path in written if path.name == "run.toml"))
    wrote = ", ".join(path.name for path in written if path.suffix != ".graphml")
    wrote += f", and {len(graphs)} graph{'s' * (len(graphs) > 1)}" if graphs else ""
    if kind is None:
        place = os.path.relpath(graphs[0].parent)
        wrote = f"run.toml, model.py, and {len(graphs)} graphs with their classes, in {place}"
    show(f"Wrote {wrote}.", f"Next: starcert {'train' if example == 'pyg' else 'certify'} {run}")
