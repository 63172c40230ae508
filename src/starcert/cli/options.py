"""Options that certify and sweep share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from starcert.system.terminal import say

__all__ = [
    "AlphaOption",
    "DataOption",
    "DeviceOption",
    "FamilyOption",
    "MaxRadiusOption",
    "ModelOption",
    "RegionsOption",
    "RunArgument",
    "SeedOption",
    "SelectionOption",
    "SplitSeedOption",
    "WorkersOption",
    "named",
    "note",
]

_DATA_HELP = (
    "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, with the "
    "classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
    "or molecules (a file .smi, or .csv with a column smiles)."
)
_MODEL_HELP = (
    "A function that returns a starcert classifier, a PyG module called as model(x, edge_index, batch), a fitted "
    "scikit-learn estimator on graphs, or a function from a networkx graph to its class. It may have the parameters "
    "device, data, train (the training part under --split), noise and regions (to train with them)."
)
_REGIONS_HELP = (
    "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
    "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its Partition. "
    "Without it, all node pairs are one region."
)

RunArgument = Annotated[
    Path | None,
    typer.Argument(help="A file with any of these settings; options override it.", metavar="RUN.TOML"),
]
ModelOption = Annotated[str | None, typer.Option(help=_MODEL_HELP, metavar="FILE.PY:FUNCTION")]
DataOption = Annotated[str | None, typer.Option(help=_DATA_HELP, metavar="NAME|PATH")]
RegionsOption = Annotated[str | None, typer.Option(help=_REGIONS_HELP, metavar="BUILDER|FILE.PY:FUNCTION")]
SelectionOption = Annotated[
    int | None,
    typer.Option(help="Noisy copies that choose the class.", show_default="a hundredth of the samples, at least 100"),
]
AlphaOption = Annotated[
    float | None,
    typer.Option(help="The probability that a graph's certificate fails (not the confidence).", show_default="0.01"),
]
FamilyOption = Annotated[
    str | None,
    typer.Option(
        help="What fails with probability alpha: each certificate by itself, or any of all (alpha is divided by their "
        "number, so that all hold together).",
        show_default="each",
        metavar="each|all",
    ),
]
SeedOption = Annotated[int | None, typer.Option(help="The seed of all noise.", show_default="0")]
MaxRadiusOption = Annotated[
    str | None,
    typer.Option(
        help="The box of radii to look at: motif=3,random=45. Without it, all that can be flipped.",
        metavar="AXIS=COUNT,…",
    ),
]
SplitSeedOption = Annotated[int | None, typer.Option(help="The seed of that division.", show_default="0")]
DeviceOption = Annotated[
    str | None,
    typer.Option(help="Where a torch module runs: cpu, cuda, cuda:1.", show_default="where the model is"),
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Processes that count votes, each with one torch thread.", show_default="1")
]


def named(key: str) -> str:
    """What the option for a setting is called."""
    return f"--{key.replace('_', '-')}"


def note(text: str) -> None:
    """Tells a user something on the way."""
    say(f"Note: {text}")
