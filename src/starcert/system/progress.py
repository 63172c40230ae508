"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from starcert.system.terminal import plain

__all__ = ["Advance", "progress_bar"]


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
