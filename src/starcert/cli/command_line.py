"""The command itself: a user's error ends in one line and status 2; tables and lines are printed in one way.

Ctrl-C, SIGTERM and SIGHUP end it in one line too, with status 128 plus the number of the signal: 130, 143 and 129.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from starcert import __version__
from starcert.system.errors import StarcertError, StarcertWarning
from starcert.system.output import be_quiet, harden_streams, note, plain, say
from starcert.system.processes import available_bytes, in_words

if TYPE_CHECKING:
    from rich.console import RenderableType

RESUMABLE = {"certify", "sweep", "reproduce", "benchmark"}
"""Commands that keep every vote as it is counted, and continue where they stopped."""

COMMANDS = {
    "benchmark": ("benchmark_commands", "Compare methods on the same folds, beside a model that sees no edge."),
    "certify": (
        "run_commands",
        "Certify your own model: a report, certificates, a table and a run file in one folder.",
    ),
    "compare": ("file_commands", "Compare two or more runs on the same graphs."),
    "init": ("run_commands", "Write an example to start from: a commented run.toml, a model, and small graphs."),
    "list": ("setting_options", "List what there is to choose from: threats, regions, laws, methods, data, settings."),
    "radius": ("radius_commands", "Compute what a noise certifies: one radius, or all from a bound or votes."),
    "reproduce": (
        "benchmark_commands",
        "Reproduce a study of the paper: figures, tables, a page, and which claims hold.",
    ),
    "show": ("file_commands", "Show a finished run again, or everything about one of its rows."),
    "sweep": ("run_commands", "Choose the noise: accuracy against certified radii over a grid of levels."),
    "train": ("run_commands", "Train your own PyG module with the noise that it will vote under."),
    "verify": ("file_commands", "Prove the claims in a file of certificates again, in exact arithmetic."),
}
"""Every command: the module that has it, which is imported when it runs, and its line in the help."""


class _Commands(TyperGroup):
    """The group of all commands: it imports what runs, and handles interruptions itself, whatever typer would do."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(**attributes)
        for name, (_, summary) in COMMANDS.items():
            self.commands.setdefault(name, TyperCommand(name, help=summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (typer has brought several types)
        """The command that is named, from its module."""
        if args[0] in COMMANDS:
            import_module(f"starcert.cli.{COMMANDS[args[0]][0]}")
            self.commands = get_group(app).commands
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, OSError) as error:
            if (interruption := _interruption(error)) is None:
                raise
            raise typer.Exit(_interrupted(interruption, resumable=ctx.invoked_subcommand in RESUMABLE)) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How many node pairs may flip, region by region, before a smoothed graph classifier changes its answer.",
)

_debugging: list[bool] = []  # filled inside the command, needed where it has ended


def _set_debugging(wanted: bool) -> None:
    _debugging.append(wanted)


DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", callback=_set_debugging)]


def _set_quiet(wanted: bool) -> None:
    if wanted:
        be_quiet()


QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No notes, no progress.", callback=_set_quiet)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def loaded() -> TyperGroup:
    """The group with every command in it."""
    for module, _ in COMMANDS.values():
        import_module(f"starcert.cli.{module}")
    return get_group(app)


def main() -> NoReturn:
    """The entry point: whatever goes wrong ends in one message, and in a traceback with --debug only."""
    _open_streams()
    harden_streams()
    try:
        with _signals_interrupt(), warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            app()
    except KeyboardInterrupt as error:
        sys.exit(_interrupted(error))
    except Exception as error:  # noqa: BLE001  (whatever it is: reported in one line)
        message, status = _explain(error)
        if any(_debugging):
            traceback.print_exc()
        say(f"Error: {message}")
        sys.exit(status)
    sys.exit(0)


def _explain(error: Exception) -> tuple[str, int]:
    """The message for an error, and the exit status: 2, or 70 where it is a fault in starcert."""
    if wanted := _lacks_memory(error):
        free = available_bytes()
        left = "" if free is None else f" There are {in_words(free)} left."
        advice = "Take fewer or smaller graphs, noise that adds fewer edges (delete/add), fewer workers, or more memory"
        return f"There is not enough memory: {wanted}.{left} {advice}.", 2
    if isinstance(error, StarcertError | OSError):
        return str(error), 2
    from starcert.runs.user_code import place_of_user_code  # noqa: PLC0415  (slow to import)

    what = f"{type(error).__name__}: {error}"
    if place := place_of_user_code(error):
        return f"{place}: {what}. starcert --debug … shows the whole traceback.", 2
    return f"{what}. Internal error; please report it with the output of starcert --debug …", 70


def _lacks_memory(error: BaseException | None) -> str:
    """The object that could not be allocated, if an error is lack of memory or followed from it; "" otherwise."""
    while error is not None:
        from_torch = isinstance(error, RuntimeError) and re.search(r"can't allocate|out of memory", str(error))
        if isinstance(error, MemoryError) or from_torch:
            amount = re.search(r"(Unable|you tried|Tried) to allocate .*?(?=\. |\.?$)", str(error))
            return amount[0] if amount else "a part of the work could not be kept"
        error = error.__cause__ or error.__context__
    return ""


def _open_streams() -> None:
    """Opens missing standard streams, which lead nowhere then, so that no other file gets their numbers."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for as long as the process is)


def _show_warning(
    show: Callable[..., None], message: Warning | str, category: type[Warning], *place: object, **more: object
) -> None:
    """A warning of starcert's own is a note, without the line of code that it comes from."""
    if issubclass(category, StarcertWarning):
        note(str(message))
    else:
        show(message, category, *place, **more)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP do what Ctrl-C does; a signal that is ignored (nohup) stays so."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    main_thread = threading.current_thread() is threading.main_thread()  # only that one may set handlers
    before = {each: signal.getsignal(each) for each in numbers if main_thread}
    handled = [each for each, handler in before.items() if handler != signal.SIG_IGN]

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in handled:  # both may come, repeatedly: the first is enough, and cleaning up is not cut short
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number))

    for each in handled:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each in handled:
            signal.signal(each, before[each])


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interruption that an error is, or that it followed from: a terminal that was closed cannot be written to."""
    while isinstance(error, OSError) and error.errno == errno.EIO:
        error = error.__context__
    return error if isinstance(error, KeyboardInterrupt) else None


def _interrupted(error: KeyboardInterrupt, *, resumable: bool = False) -> int:
    """Says that the command was interrupted, and what notes on the interruption say is kept; returns its status."""
    notes = getattr(error, "__notes__", ["What was counted is kept: the same command goes on."] if resumable else [])
    try:
        print(plain(" ".join(["Interrupted.", *notes])), file=sys.stderr, flush=True)
    except OSError:  # the terminal is gone: nothing more can be printed, not even at the very end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    exec("")  # CPython remembers an interruption inside `exec`, as imports use it, and would die of SIGINT at its end
    return 128 + next((each for each in error.args if isinstance(each, signal.Signals)), signal.SIGINT)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"starcert {__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)


@app.callback()
def _root(_version: Annotated[bool, _VERSION] = False, _debug: DebugOption = False) -> None:
    pass


def report(as_json: bool, values: Callable[[], object], view: Callable[[], Iterable[RenderableType]]) -> None:
    """Prints a result: its values as one JSON object, or a view of it for people."""
    if as_json:
        print(json.dumps(values()))
    else:
        show(*view())


def show(*parts: RenderableType) -> None:
    """Prints tables and plain lines; nothing in them is read as markup, and nothing commands the terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.segment import Segment, Segments  # noqa: PLC0415

    console = Console(highlight=False, soft_wrap=True, markup=False)
    unwrapped = console.options.update(no_wrap=True, overflow="ignore")
    for part in parts:
        if isinstance(part, str):
            console.print(plain(part))
        else:  # names may stand in any cell: what is printed is looked at, after the table is laid out
            laid_out = console.render(part, unwrapped)
            console.print(Segments(Segment(plain(text), style) for text, style, _ in laid_out), end="")
