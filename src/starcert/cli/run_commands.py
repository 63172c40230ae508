"""`starcert certify` and `starcert sweep`: the user's own model and data. Their options are the settings of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from starcert.cli.command_line import DebugOption, app
from starcert.cli.printing import show
from starcert.runs.settings import SETTINGS, check_options
from starcert.system.output import say

__all__ = ["certify", "sweep"]

RunArgument = Annotated[
    Path | None,
    typer.Argument(help="A file with any of these settings; options override it.", metavar="RUN.TOML"),
]
GridOption = Annotated[
    list[str] | None,
    typer.Option(
        help="The noise levels to try, all combinations: motif=0.02,0.05,0.1,random=0.2,0.45 is six. As in --noise, "
        "delete/add counts deletions and additions apart: bonds=0.04/0.05,0.1/0.2 is two levels; "
        "bonds.delete=0.04,0.1,bonds.add=0.05,0.2 is all four combinations. May be given more than once.",
        metavar="REGION=P,P,…",
    ),
]


def _with_settings(first: Mapping[str, object], *, sweep: bool = False) -> Callable[[Callable[..., None]], Any]:
    """Gives a command its options: some of its own, then one for each setting of a run.

    Args:
        first: the annotations of its own arguments and options.
        sweep: whether it sweeps; a sweep has words of its own for some settings.
    """
    annotations = dict(first)
    for key, setting in SETTINGS.items():
        if setting.in_sweeps or not sweep:
            option = typer.Option(
                help=(setting.sweep_help if sweep else "") or setting.help,
                show_default=(setting.sweep_shown if sweep else "") or setting.shown or False,
                metavar=setting.metavar,
            )
            annotations[key] = Annotated[setting.kind | None, option]
    annotations["_debug"] = DebugOption

    def with_options(function: Callable[..., None]) -> Callable[..., None]:
        function.__annotations__ = annotations
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what typer reads options from
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=False if name == "_debug" else None, annotation=each
                )
                for name, each in annotations.items()
            ]
        )
        return function

    return with_options


@app.command()
@_with_settings({"run": RunArgument})
def certify(run: Path | None, _debug: bool, **given: object) -> None:
    """Certify your own model: report.html, certificates.json, results.csv and run.toml in one folder.

    Interrupted, the same command goes on where it was. Everything can stand in a run file, which the output repeats.

    For example:

    starcert init && starcert certify run.toml

    starcert certify --model model.py:classifier --data MUTAG --noise bonds=0.04/0.2 --limit 20 --out results
    """
    options = check_options(given)
    from starcert.cli.run_printing import certified_view  # noqa: PLC0415  (numpy and more: only where it is needed)
    from starcert.runs.certification import certify_run, certify_settings  # noqa: PLC0415
    from starcert.runs.run_file import RunFile, read_run_file  # noqa: PLC0415

    file = RunFile() if run is None else read_run_file(run)
    settings = certify_settings(file, options)
    show(*certified_view(certify_run(settings, expected=_still_expected(file.expected, options), note=_note)))


@app.command()
@_with_settings({"run": RunArgument, "grid": GridOption}, sweep=True)
def sweep(run: Path | None, grid: list[str] | None, _debug: bool, **given: object) -> None:
    """Choose the noise: accuracy against certified radii over a grid of levels: sweep.html, sweep.csv and run.toml.

    A level is unbeaten if no other one is at least as accurate, reaches at least as far on every axis (mean certified
    radius), and is better in one of these. A model function with a parameter `noise` makes a model for each level.

    Levels are chosen on validation graphs; certify the one you choose on others. Interrupted, the same command goes on.
    A run file may hold the grid and a sweep's own settings in its tables `sweep` and `sweep.grid`.

    For example:

    starcert init && starcert sweep run.toml

    starcert sweep run.toml --grid motif=0.02,0.05,0.1,random=0.2,0.4 --samples 2000 --out finer

    starcert sweep --model model.py:classifier --data MUTAG --grid bonds.delete=0.02,0.1,bonds.add=0.05,0.2 --limit 50
    """
    options = check_options(given)
    from starcert.cli.run_printing import sweep_view  # noqa: PLC0415  (numpy and more: only where it is needed)
    from starcert.runs.grid import parse_grid  # noqa: PLC0415
    from starcert.runs.run_file import RunFile, read_run_file  # noqa: PLC0415
    from starcert.runs.sweep import run_sweep, sweep_settings  # noqa: PLC0415

    levels = parse_grid(grid) if grid else None
    file = RunFile() if run is None else read_run_file(run)
    settings = sweep_settings(file, options, levels)
    show(*sweep_view(run_sweep(settings, expected={} if "model" in options else file.expected, note=_note)))


def _note(text: str) -> None:
    """Tells a user something on the way."""
    say(f"Note: {text}")


def _still_expected(expected: Mapping[str, str], options: Mapping[str, object]) -> dict[str, str]:
    """What a run file expects, as far as no option asks for something else."""
    given = set(options)
    if given & {"data", "split", "split_seed"}:
        given |= {"data", "classifier", "regions"}  # a model may be trained on the data
    if "limit" in given:
        given |= {"data", "regions"}
    if "model" in given:
        given |= {"classifier", "regions"}  # regions may be read off the model
    return {name: digest for name, digest in expected.items() if name not in given}
