"""`starcert certify`: certificates for the user's own model and data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.app import NOISE_HELP, DebugOption, app
from starcert.cli.options import (
    AlphaOption,
    DataOption,
    DeviceOption,
    FamilyOption,
    MaxRadiusOption,
    ModelOption,
    RegionsOption,
    RunArgument,
    SeedOption,
    SelectionOption,
    SplitSeedOption,
    WorkersOption,
    named,
    note,
)
from starcert.cli.parsing import parse_noise, parse_radius
from starcert.cli.views import show

__all__ = ["certify"]


@app.command()
def certify(
    run: RunArgument = None,
    model: ModelOption = None,
    data: DataOption = None,
    regions: RegionsOption = None,
    noise: Annotated[str | None, typer.Option(help=NOISE_HELP, metavar="REGION=P[/P],…")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Noisy copies of each graph that bound its class.", show_default="10,000")
    ] = None,
    selection_samples: SelectionOption = None,
    alpha: AlphaOption = None,
    family: FamilyOption = None,
    seed: SeedOption = None,
    max_radius: MaxRadiusOption = None,
    limit: Annotated[int | None, typer.Option(help="Certify the first so many graphs.", show_default="all")] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="The part to certify: all, or train, validation or test of 80/10/10% of every class.",
            show_default="all",
            metavar="PART",
        ),
    ] = None,
    split_seed: SplitSeedOption = None,
    device: DeviceOption = None,
    workers: WorkersOption = None,
    store: Annotated[
        Path | None,
        typer.Option(help="The file of votes, to share between runs.", show_default="votes.db in the output"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The output folder.", show_default="certified, beside the run file")
    ] = None,
    _debug: DebugOption = False,
) -> None:
    """Certify your own model: report.html, certificates.json, results.csv and run.toml in one folder.

    Interrupted, the same command goes on where it was. Everything can stand in a run file, which the output repeats.

    For example:

    starcert init && starcert certify run.toml

    starcert certify --model model.py:classifier --data MUTAG --noise bonds=0.04/0.2 --limit 20 --out results
    """
    from starcert.cli.outcome import outcome_view  # noqa: PLC0415
    from starcert.runs import complete, read, take  # noqa: PLC0415  (numpy and more: only where it is needed)
    from starcert.runs.run import execute  # noqa: PLC0415
    from starcert.runs.run_file import RunFile  # noqa: PLC0415

    given = {
        "model": model,
        "data": data,
        "regions": regions,
        "noise": None if noise is None else parse_noise(noise),
        "samples": samples,
        "selection_samples": selection_samples,
        "alpha": alpha,
        "family": family,
        "seed": seed,
        "limit": limit,
        "split": split,
        "split_seed": split_seed,
        "device": device,
        "workers": workers,
        "store": store,
        "out": out,
    }
    options = take({key: value for key, value in given.items() if value is not None}, base=Path.cwd(), named=named)
    file = RunFile({}) if run is None else read(run)
    values: dict[str, object] = {
        "out": Path.cwd() / "certified" if run is None else Path(run).absolute().parent / "certified"
    }
    values |= {**file.values, **options}
    if "samples" in options and selection_samples is None:
        values.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    if max_radius is not None:
        values["max_radius"] = None
    settings = complete(values)
    if max_radius is not None:
        settings = complete({**values, "max_radius": parse_radius(settings.noise, max_radius, "--max-radius")})
    outcome = execute(settings, expected=_still_expected(file.expected, options), note=note)
    show(*outcome_view(outcome))


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
