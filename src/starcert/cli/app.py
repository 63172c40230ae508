"""The command itself: errors of the user's end in one line and status 2, and so does Ctrl-C in status 130."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Annotated, NoReturn

import typer

from starcert import __version__
from starcert.errors import StarcertError, StarcertWarning

__all__ = ["DebugOption", "JsonOption", "NoiseOption", "app", "main"]

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

_debugging = False


def _set_debugging(wanted: bool) -> None:
    global _debugging  # noqa: PLW0603  (asked for inside the command, needed where it has ended)
    _debugging = _debugging or wanted


DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", callback=_set_debugging)]


def main() -> NoReturn:
    """The entry point: whatever goes wrong ends in one message, and in a traceback with --debug only."""
    _open_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            app()
    except (StarcertError, OSError) as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        _fail("There is not enough memory. Take fewer or smaller graphs, or a machine that has more.", 2)
    except Exception as error:  # noqa: BLE001  (a fault of starcert's own: told in one line as well)
        _fail(f"{type(error).__name__}: {error}. This is a fault in starcert; --debug shows where.", 1)
    sys.exit(0)


def _open_streams() -> None:
    """Gives a process that was started without standard output or error one that leads nowhere.

    It also takes the number of that stream, which the next file would have: whoever writes to it writes nowhere.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for as long as the process is)


def _show_warning(
    show: Callable[..., None], message: Warning | str, category: type[Warning], *place: object, **more: object
) -> None:
    """A warning of starcert's own is a note, without the line of code that it comes from."""
    if issubclass(category, StarcertWarning):
        print(f"Note: {message}", file=sys.stderr)
    else:
        show(message, category, *place, **more)


def _fail(message: str, status: int) -> NoReturn:
    if _debugging:
        traceback.print_exc()
    print(f"Error: {' '.join(message.splitlines())}", file=sys.stderr)
    sys.exit(status)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"starcert {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    _debug: DebugOption = False,
) -> None:
    pass
