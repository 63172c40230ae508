"""What reaches a terminal: text in which nothing commands it, and a progress bar.

Names of classes, regions, graphs and files come from data that nobody vouches for. A terminal obeys what is written to
it: an escape sequence in a name could hide a warning, paint a verdict or change the window's title. So every text that
is printed passes through `plain`, and what the terminal's encoding does not have is replaced.
"""

from __future__ import annotations

import io
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

__all__ = ["Advance", "plain", "progress_bar", "say", "tolerate_encodings"]

_COMMANDING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that command a terminal, are invisible, or are none: see the Unicode standard."""


def plain(text: str) -> str:
    r"""The text on as many lines as it has, with everything that is no visible character written as its number.

    Example:
        >>> plain("class \x1b[31mred\x1b[0m, \u202egnp.exe, ärztlich")
        'class \\x1b[31mred\\x1b[0m, \\u202egnp.exe, ärztlich'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        sign if sign == "\n" or unicodedata.category(sign) not in _COMMANDING else _number(sign) for sign in text
    )


def _number(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def say(text: str) -> None:
    """Writes a line to standard error, one line whatever the text holds; a closed standard error stays silent."""
    with suppress(OSError, ValueError, AttributeError):  # nobody listens: closed, or never there
        print(plain(" ".join(text.splitlines())), file=sys.stderr, flush=True)


def tolerate_encodings() -> None:
    """Lets standard output and error replace what their encoding does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class Advance(Protocol):
    """Tells the bar that so many more units are done."""

    def __call__(self, units: int, /) -> None:
        """Moves the bar."""


@contextmanager
def progress_bar(title: str, total: int, done: int = 0, *, shown: bool | None = None) -> Iterator[Advance]:
    """A bar with rate and remaining time on standard error; `shown` None: only if that is a terminal.

    Args:
        title: what is being done.
        total: how many units there are in all.
        done: how many of them were done before (by an earlier run): they count as done, but not for the rate.
        shown: whether to draw it.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _units: None
        return
    from rich.console import Console  # noqa: PLC0415  (only where there is something to draw)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(plain(title), total=total, completed=done, rate="")

        def advance(units: int) -> None:
            bar.update(task, advance=units)
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            if speed:
                bar.update(task, rate=f"{speed:,.0f}/s")

        yield advance
