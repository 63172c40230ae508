"""The command itself: errors of the user's end in one line and status 2, and so does Ctrl-C in status 130."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from starcert import __version__
from starcert.errors import StarcertError

__all__ = ["JsonOption", "NoiseOption", "app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How many node pairs may flip, region by region, before a smoothed graph classifier changes its answer.",
)

NOISE_HELP = (
    "Flip probabilities by region: motif=0.02,random=0.45. "
    "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add."
)
NoiseOption = Annotated[str, typer.Option(help=NOISE_HELP, metavar="REGION=P[/P],…")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def main() -> NoReturn:
    """The entry point."""
    try:
        app()
    except StarcertError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"starcert {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass
