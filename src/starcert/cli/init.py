"""`starcert init`: an example that runs as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from starcert.cli.app import app
from starcert.cli.views import show

__all__ = ["init"]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it; made if need be.")] = Path(),
    example: Annotated[
        str, typer.Option(help="The kind of model: function, or sklearn (needs the extra kernels).", metavar="KIND")
    ] = "function",
) -> None:
    """Write an example to start from: a commented run.toml, a model, and small graphs of three classes.

    Files that are there already are never overwritten.

    For example:

    starcert init && starcert certify run.toml

    starcert init trial --example sklearn
    """
    from starcert.runs.example import write_example  # noqa: PLC0415  (networkx: only where it is needed)

    written = write_example(folder, example)
    graphs = [path for path in written if path.suffix == ".graphml"]
    place = os.path.relpath(graphs[0].parent)
    run = os.path.relpath(next(path for path in written if path.name == "run.toml"))
    show(
        f"Wrote run.toml, model.py, and {len(graphs)} graphs with their classes, in {place}.",
        f"Next: starcert certify {run}",
    )
