"""What a reader must know before choosing a level, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from starcert.report.findings import Notice, nothing_to_flip
from starcert.runs.grid import noise_text
from starcert.sweeps.result import Sweep

__all__ = ["OTHER", "about_graphs", "next_command", "notices", "verdict"]

MOST_NAMED = 5
OTHER = "PATH/TO/OTHER_GRAPHS"
"""Stands in a command for data that the user has to name. It is a path that is not there, so that the command does not
run unread, and no name, which might be that of a data set to download."""


def about_graphs(sweep: Sweep) -> str:
    """Which graphs the levels were tried on."""
    run, n = sweep.settings.run, sweep.levels[0].n_graphs
    data = run.data if isinstance(run.data, str) else run.data.name
    if run.split == "all":
        part = "all graphs" if run.limit is None else f"the first graphs (--limit {run.limit:,})"
    else:
        part = f"the {run.split} part" + ("" if run.limit is None else f", its first graphs (--limit {run.limit:,})")
    without = f"; {sweep.n_unlabelled:,} without a known class are left out" if sweep.n_unlabelled else ""
    return f"{n:,} graph{'s' * (n != 1)}: {part} of {data}{without}"


def next_command(sweep: Sweep, number: int, run_file: str) -> str:
    """The command that certifies a level, with fresh votes and on graphs that the sweep has not seen.

    Where the data are divided, that is the test part; otherwise the user has to name them.
    """
    words = ["starcert", "certify", run_file, "--noise", noise_text(sweep.levels[number].noise)]
    words += ["--data", OTHER] if sweep.settings.run.split == "all" else ["--split", "test"]
    return shlex.join([*words, "--out", "certified"])


def verdict(sweep: Sweep, number: int) -> str:
    """What there is to say about a level, in a few words."""
    by = sweep.beaten_by[number]
    words = ["unbeaten" if by is None else f"beaten by level {by + 1}"]
    if sweep.levels[number].constant:
        words.append("no better than a constant")
    if sweep.levels[number].short:
        words.append(f"too few votes for {', '.join(sweep.levels[number].short)}")
    return ", ".join(words)


def notices(sweep: Sweep) -> list[Notice]:
    """The warnings that apply, the weightiest first."""
    return list(_notices(sweep))


def _notices(sweep: Sweep) -> Iterator[Notice]:
    levels, n = sweep.levels, sweep.levels[0].n_graphs
    constant = [number for number, level in enumerate(levels) if level.constant]
    majority = f"always answering {sweep.class_names[sweep.majority]!r} is right on {levels[0].majority_share:.1%}"
    if len(constant) == len(levels):
        text = f"At every level {majority} or more than the smoothed classifier. Try less noise, or training with it."
        yield Notice("No level is better than a constant answer", text)
    elif constant:
        text = (
            f"There, {majority} or more than the smoothed classifier. A constant answer is robust against everything, "
            f"and worthless: however far their radii go, leave these levels. {_named(sweep, constant)}"
        )
        yield Notice(f"No better than a constant answer: {_of(len(constant), len(levels))}", text)
    elsewhere = (
        f"Certify the level on other graphs: name them where the command has {OTHER}. Have you no others? Sweep again "
        "with --split validation and another --out, and certify with --split test."
        if sweep.settings.run.split == "all"
        else "Certify the level on the test part, which no sweep has seen."
    )
    text = (
        "The best of many levels looks better on the graphs it was chosen on than it is: the accuracies and radii here "
        f"are for choosing, not for reporting. {elsewhere} A certification draws fresh votes, whatever its seed."
    )
    yield Notice("A level that is chosen here must be certified on other graphs", text)
    short = _short(sweep)
    if short:
        axes = ", ".join(dict.fromkeys(axis for axis, _ in short))
        where = "; ".join(_where(sweep, *each) for each in list(short.items())[:MOST_NAMED])
        more = f"; and so on, {len(short) - MOST_NAMED:,} more" if len(short) > MOST_NAMED else ""
        text = f"Even if all {sweep.settings.run.samples:,} votes agreed, no flip would be certified in {where}{more}."
        if any(least is not None for _, least in short):
            text += " Where more votes could, a radius of 0 says nothing about the level: take more --samples."
        yield Notice(f"Too few votes for a single flip: {axes}", text)
    first = sweep.levels[0]
    empty = nothing_to_flip(dict(zip(first.noise.axes, first.n_without, strict=True)), n)
    if empty is not None:
        yield empty
    if sweep.anchored:
        text = " ".join(sweep.anchored[:MOST_NAMED]) + " The certificates speak of regions frozen at each clean graph."
        yield Notice("Anchored regions", text)
    if n < 50:
        text = f"One graph more or less is {1 / n:.1%} of accuracy. Small differences between levels mean nothing."
        yield Notice(f"Only {n:,} graph{'s' * (n != 1)}", text)


def _short(sweep: Sweep) -> dict[tuple[str, int | None], list[int]]:
    """The levels with too few votes for a flip, by the axis and by how many votes would do there."""
    found: dict[tuple[str, int | None], list[int]] = {}
    for axis in sweep.levels[0].noise.axes:
        for number, level in enumerate(sweep.levels):
            if axis in level.short:
                found.setdefault((axis, level.short[axis]), []).append(number)
    return found


def _where(sweep: Sweep, short: tuple[str, int | None], numbers: Sequence[int]) -> str:
    axis, least = short
    could = "none ever could" if least is None else f"{least:,} votes could"
    if len(numbers) == len(sweep.levels):
        return f"{axis} ({could})"
    named = ", ".join(str(number + 1) for number in numbers[:MOST_NAMED])
    more = f" and {len(numbers) - MOST_NAMED:,} more" if len(numbers) > MOST_NAMED else ""
    return f"{axis} at level{'s' * (len(numbers) != 1)} {named}{more} ({could})"


def _named(sweep: Sweep, numbers: Sequence[int]) -> str:
    named = "; ".join(noise_text(sweep.levels[number].noise) for number in numbers[:MOST_NAMED])
    more = f"; and {len(numbers) - MOST_NAMED:,} more" if len(numbers) > MOST_NAMED else ""
    return f"({named}{more}.)"


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} level{'s' * (whole != 1)}"
