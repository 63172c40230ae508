"""`starcert sweep`: which noise level to certify with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.app import DebugOption, app
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
from starcert.cli.parsing import parse_grid, parse_noise, parse_radius
from starcert.cli.views import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.sweeps import Sweep

__all__ = ["sweep"]

MOST_ROWS = 40
_GRID_HELP = (
    "The noise levels to try, all combinations: motif=0.02,0.05,0.1,random=0.2,0.45 is six. As in --noise, delete/add "
    "counts deletions and additions apart: bonds=0.04/0.05,0.1/0.2 is two levels; "
    "bonds.delete=0.04,0.1,bonds.add=0.05,0.2 is all four combinations. May be given more than once."
)
_NOISE_HELP = "The flip probabilities of regions that the grid does not vary, as certify takes them."


@app.command()
def sweep(
    run: RunArgument = None,
    grid: Annotated[list[str] | None, typer.Option(help=_GRID_HELP, metavar="REGION=P,P,…")] = None,
    model: ModelOption = None,
    data: DataOption = None,
    regions: RegionsOption = None,
    noise: Annotated[str | None, typer.Option(help=_NOISE_HELP, metavar="REGION=P[/P],…")] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            help="Noisy copies of each graph at each level; more tell levels apart whose radii are long.",
            show_default="1,000",
        ),
    ] = None,
    selection_samples: SelectionOption = None,
    alpha: AlphaOption = None,
    family: FamilyOption = None,
    seed: SeedOption = None,
    max_radius: MaxRadiusOption = None,
    limit: Annotated[int | None, typer.Option(help="Try the first so many graphs.", show_default="all")] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="The part to try the levels on: all, train or validation.",
            show_default="validation if the run file divides the data or the model asks for a training part, else all",
            metavar="PART",
        ),
    ] = None,
    split_seed: SplitSeedOption = None,
    device: DeviceOption = None,
    workers: WorkersOption = None,
    out: Annotated[
        Path | None, typer.Option(help="The output folder.", show_default="sweep, beside the run file")
    ] = None,
    _debug: DebugOption = False,
) -> None:
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
    from starcert.runs import read, take  # noqa: PLC0415  (numpy and more: only where it is needed)
    from starcert.runs.run_file import RunFile  # noqa: PLC0415
    from starcert.sweeps import complete, execute  # noqa: PLC0415

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
        "out": out,
    }
    options = take({key: value for key, value in given.items() if value is not None}, base=Path.cwd(), named=named)
    levels = parse_grid(grid) if grid else None
    file = RunFile({}) if run is None else read(run)
    options.setdefault("out", file.sweep.get("out", (Path() if run is None else run.parent).absolute() / "sweep"))
    if max_radius is not None:
        options["max_radius"] = None
    settings = complete(file, options, levels)
    if max_radius is not None:
        options["max_radius"] = parse_radius(settings.run.noise, max_radius, "--max-radius")
        settings = complete(file, options, levels)
    expected = {} if "model" in options else file.expected
    found = execute(settings, expected=expected, note=note)
    show(*_view(found))


def _view(found: Sweep) -> Iterator[RenderableType]:
    """Every level in a table, the unbeaten ones marked, and what to do next."""
    from rich.table import Table  # noqa: PLC0415

    from starcert.runs.grid import noise_text  # noqa: PLC0415
    from starcert.runs.output import RUN  # noqa: PLC0415
    from starcert.sweeps.findings import about_graphs, next_command, notices  # noqa: PLC0415
    from starcert.sweeps.page import order  # noqa: PLC0415
    from starcert.sweeps.sweep import PAGE  # noqa: PLC0415

    table = Table(title=f"{len(found.levels):,} noise levels on {about_graphs(found)}", title_justify="left")
    table.add_column("")
    table.add_column("level", justify="right")
    # Only at a space does a cell break: after a comma, never in the name of a region.
    noises = [noise_text(level.noise).replace(",", ", ") for level in found.levels]
    table.add_column("noise", min_width=max(len(part) for text in noises for part in text.split()))
    heads = (
        "accuracy",
        "abstains",
        *(f"radius {axis}" for axis in found.levels[0].noise.axes),
        "one answer",
        "beaten by",
    )
    for head in heads:
        table.add_column(head, justify="right", min_width=max(map(len, head.split())))
    for number in order(found)[:MOST_ROWS]:
        level, beater = found.levels[number], found.beaten_by[number]
        table.add_row(
            "★" if number in found.worthwhile else "✗" if level.constant else "",
            str(number + 1),
            noises[number],
            f"{level.accuracy:.1%}",
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in level.mean_radii),
            f"{level.answer_share:.0%}",
            "" if beater is None else str(beater + 1),
        )
    more = f" … and {len(found.levels) - MOST_ROWS:,} more in sweep.csv." if len(found.levels) > MOST_ROWS else ""
    majority = f"{found.class_names[found.majority]}, {found.levels[0].majority_share:.1%}"
    yield table
    yield (
        f"★ unbeaten in accuracy and mean certified radii; ✗ no better than a constant answer (majority class "
        f"{majority}). One answer: the share of the most frequent one.{more}"
    )
    for notice in notices(found):
        yield f"{notice.head}. {notice.text}"
    if found.suggested is None:
        yield "No level that is better than a constant answer certifies a flip. Next: other levels, or more --samples."
    else:
        yield "Next, for the most accurate of the unbeaten levels that certify a flip:"
        yield f"  {next_command(found, found.suggested, os.path.relpath(found.folder / RUN))}"
    yield f"Page: {found.folder / PAGE}"
