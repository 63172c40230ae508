"""`starcert init`, `train`, `certify`, `sweep` and `reproduce`: an example, the user's model and data, the studies.

The options of `train`, `certify` and `sweep` are the settings of a run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.command_line import JsonOption, app, report, show
from starcert.cli.run_views import study_view, trained_object, trained_view
from starcert.cli.setting_options import Given, with_settings
from starcert.objects.threats import Threat, injected_nodes
from starcert.report.blocks import Report, as_terminal, values_of
from starcert.runs.certification import certify_run, forecast
from starcert.runs.example import KINDS, write_example
from starcert.runs.grid import parse_grid, sweep_settings
from starcert.runs.run_file import RunFile, read_run_file
from starcert.runs.settings import SETTINGS, SWEEP_SETTINGS, RunSettings, run_settings
from starcert.runs.sweep_report import PAGE, sweep_report
from starcert.runs.sweep_run import run_sweep
from starcert.runs.train_settings import TRAIN_SETTINGS
from starcert.runs.training_run import train_run, training_settings
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import is_empty, write_whole
from starcert.system.output import is_quiet, note
from starcert.system.processes import available_cores

RunArgument = Annotated[
    Path | None, typer.Argument(help="A file of settings; options override it.", metavar="RUN.TOML")
]
_DRY_RUN = "Only report how many votes would be drawn and what they can certify."
DryRunOption = Annotated[bool, typer.Option("--dry-run", help=_DRY_RUN)]
_QUICK = "Short for --set plan=decided: no more votes on a graph once --threat is certified, or unlikely to be."
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

    starcert certify run.toml --quick --threat flips:2
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
    asks_one_thing = settings.threat is not None and settings.plan == "fixed" and not settings.exact
    if asks_one_thing and settings.samples >= MANY and not as_json:
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
    report(as_json, partial(trained_object, outcome, then), partial(trained_view, outcome, then))


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


_STUDY = "synthetic, samples, kernels, mutag, evidence, digits, cora, regression, or all."


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help=_STUDY, metavar="NAME")],
    out: Annotated[
        Path, typer.Option(help="A folder for figures, tables and the page; an interrupted run resumes there.")
    ],
    samples: Annotated[
        int | None, typer.Option(help="Estimation votes for each graph. Default: as in the paper.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="The seed of all votes. The same seed gives the same tables, byte by byte.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; results do not depend on them. Default: one per core.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer votes and levels: minutes become seconds.")] = False,
) -> None:
    """Reproduce a study of the paper: figures, tables, a page, and which of its claims hold.

    Writes OUT/index.html (open it from disk), OUT/figures, OUT/tables and OUT/results.json. Interrupted runs resume:
    repeat the command. The exit status is 1 when a claim comes out other than documented.

    For example:

    starcert reproduce synthetic --out build/synthetic --quick

    starcert reproduce all --out build/paper
    """
    try:
        import starcert_studies as studies  # noqa: PLC0415  (a package of its own)
    except ModuleNotFoundError as error:
        if error.name != "starcert_studies":
            raise
        hint = "pip install ./studies in a copy of starcert's repository, or run make setup there."
        raise StarcertError(f"The studies are a package of their own, which is not installed here: {hint}") from error

    if name == "all":
        _check_folder_of_all(out, studies.STUDIES)
    else:
        studies.find_study(name, "NAME", "all")
    n_workers = available_cores() if workers is None else workers
    finished = []
    for each in [each for each in studies.STUDIES if not studies.why_alone(each)] if name == "all" else [name]:
        folder = out / each if name == "all" else out
        finished.append(studies.reproduce(each, folder, samples=samples, seed=seed, workers=n_workers, quick=quick))
        show(*study_view(finished[-1]))
    if name == "all":
        write_whole(out / "index.html", [studies.all_page(finished)])
        show(f"All of it: {out / 'index.html'}")
        for each in filter(studies.why_alone, studies.STUDIES):
            show(f"Left out: {each}. {studies.why_alone(each)}")
    if not all(check.as_documented for each in finished for check in each.checks):
        raise typer.Exit(1)


def _check_folder_of_all(out: Path, studies: Iterable[str]) -> None:
    """The folder of all studies must hold nothing yet, or studies: an `index.html` of another kind stays as it is."""
    names = set(studies)
    begun = any((out / study / "settings.json").exists() for study in names)
    if out.is_dir():  # a process that was killed may have left the empty folder of a study
        there = (each for each in out.iterdir() if not (each.name in names and each.is_dir() and is_empty(each)))
        foreign = not begun and any(there)
    else:
        foreign = os.path.lexists(out)
    if foreign or (out / "settings.json").exists():
        hint = "Give a new folder, or one that this command began."
        raise InvalidParameterError("--out", "be empty or hold the studies", str(out), hint)
