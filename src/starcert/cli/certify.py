"""`starcert certify`: certificates for the user's own model and data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.app import NOISE_HELP, DebugOption, app
from starcert.cli.parsing import parse_noise, parse_radius
from starcert.cli.views import show

__all__ = ["certify"]

_DATA_HELP = (
    "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, with the "
    "classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
    "or molecules (a file .smi, or .csv with a column smiles)."
)
_MODEL_HELP = (
    "A function that returns a starcert classifier, a PyG module called as model(x, edge_index, batch), a fitted "
    "scikit-learn estimator on graphs, or a function from a networkx graph to its class. It may have the parameters "
    "device, data, and train, the training part under --split."
)
_REGIONS_HELP = (
    "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
    "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its Partition. "
    "Without it, all node pairs are one region."
)


@app.command()
def certify(
    run: Annotated[
        Path | None,
        typer.Argument(help="A file with any of these settings; options override it.", metavar="RUN.TOML"),
    ] = None,
    model: Annotated[str | None, typer.Option(help=_MODEL_HELP, metavar="FILE.PY:FUNCTION")] = None,
    data: Annotated[str | None, typer.Option(help=_DATA_HELP, metavar="NAME|PATH")] = None,
    regions: Annotated[str | None, typer.Option(help=_REGIONS_HELP, metavar="BUILDER|FILE.PY:FUNCTION")] = None,
    noise: Annotated[str | None, typer.Option(help=NOISE_HELP, metavar="REGION=P[/P],…")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Noisy copies of each graph that bound its class.", show_default="10,000")
    ] = None,
    selection_samples: Annotated[
        int | None,
        typer.Option(
            help="Noisy copies that choose the class.", show_default="a hundredth of the samples, at least 100"
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="The probability that a graph's certificate fails (not the confidence).", show_default="0.01"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of all noise.", show_default="0")] = None,
    max_radius: Annotated[
        str | None,
        typer.Option(
            help="The box of radii to look at: motif=3,random=45. Without it, all that can be flipped.",
            metavar="AXIS=COUNT,…",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Certify the first so many graphs.", show_default="all")] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="The part to certify: all, or train, validation or test of 80/10/10% of every class.",
            show_default="all",
            metavar="PART",
        ),
    ] = None,
    split_seed: Annotated[int | None, typer.Option(help="The seed of that division.", show_default="0")] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Where a torch module runs: cpu, cuda, cuda:1.", show_default="where the model is"),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that count votes.", show_default="1")] = None,
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
        "seed": seed,
        "limit": limit,
        "split": split,
        "split_seed": split_seed,
        "device": device,
        "workers": workers,
        "store": store,
        "out": out,
    }
    options = take({key: value for key, value in given.items() if value is not None}, base=Path.cwd(), named=_option)
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
    try:
        outcome = execute(settings, expected=_still_expected(file.expected, options), note=_note)
    except KeyboardInterrupt:
        print("Interrupted. What was counted is kept: the same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    show(*outcome_view(outcome))


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _note(text: str) -> None:
    print(f"Note: {text}", file=sys.stderr)


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
