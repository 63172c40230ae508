"""Text for people: rounded probabilities, strings that are safe to print, progress, tables.

Probabilities are rounded against ourselves, so that no sentence claims more than is proved: "at least" is rounded down
and "at most" up, in decimal arithmetic. A float stands for the shortest decimal that names it.

Names of classes, regions, graphs and files come from untrusted data, and a terminal obeys what is written to it: an
escape sequence could hide a warning or paint a verdict. So every text that is printed passes through `plain`. Pages and
tables hand names on as they are, but for the characters that command a terminal or turn the text behind them around:
`harmless` makes these visible. A spreadsheet computes what begins like a formula: in CSV such a text has an apostrophe
before it, "this is text". A class that is called -1 is a number, and stays one.
"""

from __future__ import annotations

import csv
import io
import logging
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import MAX_PREC, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias

from starcert.system.errors import needing

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import ReadableBuffer
    from rich.table import Table


DIGITS, DIGITS_OF_REST, MAX_DECIMALS = 6, 3, 20
"""Digits of a probability that are shown; close to 1, enough for three of 1 − p, but at most 20 decimals."""

PROGRESS_SECONDS = 30.0  # off a terminal, between two lines of progress

_EXACT = Context(prec=MAX_PREC)
_LOG = logging.getLogger(__name__)


def at_least(p: float, *, decimals: int | None = None) -> str:
    """A probability, rounded down to a few digits, or to this many `decimals`.

    Example:
        >>> at_least(0.99), at_least(0.9687216), at_least(0.9999999), at_least(0.99999999987654)
        ('0.99', '0.968721', '0.9999999', '0.999999999876')
        >>> at_least(0.9999999, decimals=6)
        '0.999999'
    """
    return _rounded(Decimal(repr(float(p))), ROUND_FLOOR, decimals)


def at_most(p: float) -> str:
    """A probability, rounded up.

    Example:
        >>> at_most(0.01), at_most(0.0012345678), at_most(1e-7)
        ('0.01', '0.00123457', '1e-07')
    """
    return _rounded(Decimal(repr(float(p))), ROUND_CEILING)


def holds_at_least(alpha: float) -> str:
    """The probability 1 − alpha with which something holds, rounded down.

    Example:
        >>> holds_at_least(0.01), holds_at_least(1e-7)
        ('0.99', '0.9999999')
    """
    return _rounded(_EXACT.subtract(Decimal(1), Decimal(repr(float(alpha)))), ROUND_FLOOR)


def fails_at_most(alpha: float, n_certificates: int = 1) -> str:
    """The sentence about alpha that belongs beside certificates: this many hold together; 1: each by itself.

    Example:
        >>> fails_at_most(0.01)
        'Each certificate by itself fails with a probability of at most 0.01.'
        >>> fails_at_most(0.01, 188)
        'All 188 certificates hold together; that any of them fails has a probability of at most 0.01.'
    """
    what = "Each certificate by itself fails with"
    if n_certificates != 1:
        what = f"All {n_certificates:,} certificates hold together; that any of them fails has"
    return f"{what} a probability of at most {at_most(alpha)}."


def _rounded(number: Decimal, direction: str, decimals: int | None = None) -> str:
    """The number with some decimals; else without zeros at the end, and with an exponent where `:g` has one."""
    if decimals is not None:
        return f"{number.quantize(Decimal(1).scaleb(-decimals), rounding=direction, context=_EXACT):f}"
    rest = _EXACT.subtract(Decimal(1), number)
    places = DIGITS - 1 - number.adjusted() if number else 0
    close = DIGITS_OF_REST - 1 - rest.adjusted() if rest else 0
    unit = Decimal(1).scaleb(-max(places, min(close, MAX_DECIMALS)))
    short = number.quantize(unit, rounding=direction, context=_EXACT).normalize(_EXACT)
    if short and short.adjusted() < -4:
        digits, _, power = f"{short:e}".partition("e")
        return f"{digits}e{int(power):+03d}"
    return f"{short:f}"


_COMMANDING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # characters that command, are invisible, or unassigned


def plural(n: int, noun: str) -> str:
    """The noun for this many: graph, graphs."""
    return f"{noun}{'s' * (n != 1)}"


def quantity(n: int, noun: str) -> str:
    """A number with its noun: 1 graph, 2 graphs."""
    return f"{n:,} {plural(n, noun)}"


def plain(text: str) -> str:
    r"""The text, line by line, with every character that is not visible written as its number.

    Example:
        >>> plain("class \x1b[31mred\x1b[0m, \u202egnp.exe, ärztlich")
        'class \\x1b[31mred\\x1b[0m, \\u202egnp.exe, ärztlich'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        sign
        if sign == "\n" or unicodedata.category(sign) not in _COMMANDING
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


_COMMANDS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""The text with control characters, and those that reverse what follows them, written as their numbers.

    White space, joined emoji and every script of the world stay as they are.

    Example:
        >>> harmless("\x1b[31mred, \u202ereversed,\ttabbed")
        '\\x1b[31mred, \\u202ereversed,\ttabbed'
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """Writes one line to standard error, whatever the text holds; nothing where that is closed."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or never there
        print(plain(" ".join(text.splitlines())), file=sys.stderr, flush=True)


_quiet: list[bool] = []  # whether notes and progress are left out


def be_quiet() -> None:
    """Leaves out all notes and all progress from now on; errors stay."""
    _quiet.append(True)


def is_quiet() -> bool:
    """True if notes and progress are left out."""
    return any(_quiet)


def note(text: str) -> None:
    """Writes something that a user may want to know to standard error."""
    if not is_quiet():
        say(f"Note: {text}")


class _Outlet(io.FileIO):
    """A stream that leads nowhere once it cannot be written; of standard output that is said, but for closed pipes."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())  # what is still in buffers would fail again, at the very end
            os.close(nowhere)
            if self.fileno() == 1 and not isinstance(error, BrokenPipeError):
                say(f"Note: standard output cannot be written ({error.strerror}): the rest of it is lost.")
            return super().write(data)


def harden_streams() -> None:
    """Lets this process continue, whatever becomes of its standard output and error.

    Characters that their encoding does not have are replaced; a pipe without a reader (`| head -1`) and a full disk
    swallow the rest.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
            if stream is getattr(sys, f"__{name}__") and not stream.isatty():
                same = io.TextIOWrapper(
                    io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False)),
                    encoding=stream.encoding,
                    errors=stream.errors,
                    line_buffering=stream.line_buffering,
                    write_through=stream.write_through,
                )
                setattr(sys, name, same)


Advance: TypeAlias = Callable[[int], None]
"""Takes how many more units are done, and moves a progress bar."""


@contextmanager
def progress_bar(title: str, total: int, done: int = 0, *, shown: bool | None = None) -> Iterator[Advance]:
    """A bar with rate and remaining time on standard error; units that an earlier run has `done` do not count for them.

    It is `shown` or not; None: on a terminal, and elsewhere as a line every half a minute. Both ends are logged.
    """
    _LOG.info("%s: begun, %s of %s done", title, f"{done:,}", f"{total:,}")
    with _bar(title, total, done, shown) as advance:
        yield advance
    _LOG.info("%s: ended", title)


@contextmanager
def _bar(title: str, total: int, done: int, shown: bool | None) -> Iterator[Advance]:
    shown = False if is_quiet() else shown
    if shown is False or (shown is None and not sys.stderr.isatty()):
        yield _progress_lines(title, total, done) if shown is None else lambda _units: None
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


def _progress_lines(title: str, total: int, done: int) -> Advance:
    begun = last = time.monotonic()
    now = done

    def advance(units: int) -> None:
        nonlocal last, now
        now += units
        if (moment := time.monotonic()) - last >= PROGRESS_SECONDS and now > done:
            last = moment
            left = (total - now) * (moment - begun) / (now - done)
            say(f"{title}: {now:,} of {total:,} ({now / total:.0%}), about {duration(left)} left")

    return advance


def duration(seconds: float) -> str:
    """A time for people, roughly.

    Example:
        >>> duration(0.2), duration(75), duration(600), duration(7800), duration(260_000)
        ('1 s', '75 s', '10 min', '2.2 h', '3.0 days')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


# What a spreadsheet may compute: it passes over white space, and reads wide signs like narrow ones.
_FORMULA, _NUMBER = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]"), re.compile(r"[-+]?\d+(\.\d+)?", re.ASCII)


def csv_line(cells: Iterable[object]) -> str:
    r"""One line of CSV: numbers as they are, None as nothing, and no text that a spreadsheet or a terminal would obey.

    Example:
        >>> csv_line(["=1+1", -1, "a,b", None, -0.5, "-1", " -1+1", "\a"])
        '\'=1+1,-1,"a,b",,-0.5,-1,\' -1+1,\\x07\n'
    """
    text = io.StringIO()
    # With this ending, cells that hold either of its signs stand in quotes; the line itself ends in "\n".
    csv.writer(text, lineterminator="\r\n").writerow(
        "'" * bool(_FORMULA.match(cell) and not _NUMBER.fullmatch(cell)) + harmless(cell)
        if isinstance(cell, str)
        else cell
        for cell in cells
    )
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    r"""Rows as CSV, line by line, the names of the columns first; no rows give no lines.

    Example:
        >>> list(csv_lines([{"name": "a", "p": 0.5}, {"name": "b", "p": None}]))
        ['name,p\n', 'a,0.5\n', 'b,\n']
    """
    for number, row in enumerate(rows):
        if number == 0:
            yield csv_line(row)
        yield csv_line(row.values())


def as_frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """A DataFrame with these rows; the first one names the columns."""
    with needing("Data frames need", "pandas"):
        import pandas as pd  # noqa: PLC0415  (heavy and optional)
    return pd.DataFrame.from_records(list(rows), columns=list(rows[0]) if rows else [])


MAX_ROWS = 20  # the most rows of a table that are printed
LONGEST_WORD = 30  # longer words are broken where there is no room


def table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: Iterable[str] = (),
    most: int = MAX_ROWS,
    more: str = "--json has all",
) -> Table:
    """A table of at most `most` rows; its caption says where there are `more`.

    Columns in `left` are aligned on the left, numbers on the right. Nothing in a cell is read as markup.
    """
    from rich.table import Table  # noqa: PLC0415  (slow to import)
    from rich.text import Text  # noqa: PLC0415

    found, texts, cells = Table(title=title, title_justify="left"), set(left), list(rows)
    for place, head in enumerate(heads):
        column = [head, *(str(row[place]) for row in cells[:most])]
        longest = min(LONGEST_WORD, max(map(len, " ".join(column).split()), default=0))  # no word is broken
        side: Literal["left", "right"] = "left" if head in texts else "right"
        found.add_column(Text(head), justify=side, overflow="fold", min_width=longest)
    for row in cells[:most]:
        found.add_row(*(Text(str(cell)) for cell in row))
    if len(cells) > most:
        found.caption = f"… and {len(cells) - most:,} more ({more})"
    return found


def facts(title: str, rows: Iterable[tuple[str, object]]) -> Table:
    """Names and values beside each other, without a head."""
    found = table(title, ("", " "), rows, left=("", " "), most=1_000)
    found.show_header = False
    return found
