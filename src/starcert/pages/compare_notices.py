"""What a reader of a comparison must know: what is left out, other data, and attackers that are not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from starcert.objects.laws.law import Move
from starcert.objects.noise import Noise
from starcert.pages.compared_runs import ComparedRun, same_sites
from starcert.pages.findings import MOST_REASONS, Notice, counted

__all__ = ["comparison_notices"]


def comparison_notices(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[Notice]:
    """The notices of a comparison.

    Args:
        runs: what is compared.
        shared: the axes that all of them have.
    """
    yield from _left_out(runs)
    yield from _other_data(runs)
    yield from _anchored(runs)
    yield from _other_laws(runs, shared)
    yield from _other_axes(runs, shared)
    yield from _other_sites(runs)


def _left_out(runs: Sequence[ComparedRun]) -> Iterator[Notice]:
    first, one = runs[0], runs[0].one
    others = {run.name: len(run.archive) - len(run.rows) for run in runs if len(run.archive) > len(run.rows)}
    if others:
        left = "; ".join(f"{name}, {counted(n, one)}" for name, n in others.items())
        text = f"What only some runs have is left out: {left}. Names tell which are the same."
        yield Notice(f"Compared on the {counted(len(first.rows), one)} that all runs have", text)


def _other_data(runs: Sequence[ComparedRun]) -> Iterator[Notice]:
    first, one = runs[0], runs[0].one
    for run in runs[1:]:
        same = run.archive.names == first.archive.names
        digests = [each.archive.settings.get("digests") for each in (first, run)]
        before, now = (each.get("data") if isinstance(each, Mapping) else None for each in digests)
        if same and before and now and before != now:
            text = f"Their {one}s have the same names and classes as those of {first.name}, but not the same content."
            yield Notice(f"{run.name} was made from other data", text)


def _anchored(runs: Sequence[ComparedRun]) -> Iterator[Notice]:
    """Says which runs are anchored and why, where a graph is not so for the same reason in all of them."""
    reasons = {run.name: [run.archive.anchored[row] for row in run.rows] for run in runs}
    if any(each != reasons[runs[0].name] for each in reasons.values()):
        told = "; ".join(f"{name} {_why(each, runs[0].one)}" for name, each in reasons.items())
        text = f"What an attacker may change is not the same in all of them: {told}."
        yield Notice("The runs do not have the same threat model", text)


def _why(reasons: Sequence[str], one: str) -> str:
    """Whether a run is anchored, in how many of its graphs, and why."""
    different = list(dict.fromkeys(filter(None, reasons)))
    if not different:
        return "is not anchored"
    n = sum(map(bool, reasons))
    where = "" if n == len(reasons) else f" in {n:,} of {counted(len(reasons), one)}"
    why, more = " ".join(different[:MOST_REASONS]).rstrip("."), len(different) - MOST_REASONS
    others = f"; and {counted(more, 'further reason')}" if more > 0 else ""
    return f"is anchored{where} ({why}{others})"


def _other_laws(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[Notice]:
    """Says which axes have one name, but count other moves of an attacker, since they are of other laws."""
    known = [_moves(run.archive.noise) for run in runs]
    differ = [axis for axis in shared if len({each[axis][1:] for each in known}) > 1]
    if differ:
        told = "; ".join(
            f"{run.name}: {', '.join(f'{region} under {run.archive.noise[region]!r}' for region in regions)}"
            for run, each in zip(runs, known, strict=True)
            if (regions := list(dict.fromkeys(each[axis][0] for axis in differ)))
        )
        text = f"The same number of flips there does not mean the same attacker in all runs ({told})."
        yield Notice(f"One name, different laws: {', '.join(differ)}", text)


def _moves(noise: Noise) -> dict[str, tuple[str, int, frozenset[Move]]]:
    """For each axis its region, how many values a site has there, and the moves that it counts."""
    return {
        region + suffix: (region, noise[region].alphabet, frozenset(moves))
        for region in noise
        for suffix, moves in zip(noise[region].suffixes, noise[region].moves, strict=True)
    }


def _other_axes(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[Notice]:
    alone = {run.name: [axis for axis in run.axes if axis not in shared] for run in runs}
    told = "; ".join(f"{name}: {', '.join(axes)}" for name, axes in alone.items() if axes)
    if told:
        head = "Some axes are not those of all runs" if shared else "The runs have no axis in common"
        text = f"Only curves show what lies on an axis that some runs alone have ({told})."
        yield Notice(head, text if shared else f"{text} Without flips their answers are compared all the same.")


def _other_sites(runs: Sequence[ComparedRun]) -> Iterator[Notice]:
    """Says that "any flip" is not the same attacker in all runs, where these have not as many sites."""
    if same_sites(runs):
        return
    sites = list(zip(*(run.n_sites for run in runs), strict=True))
    graph = next(number for number, each in enumerate(sites) if len(set(each)) > 1)
    told = ", ".join(
        f"{'an unknown number' if n is None else f'{n:,}'} in {run.name}"
        for run, n in zip(runs, sites[graph], strict=True)
    )
    name = runs[0].archive.names[runs[0].rows[graph]]
    text = (
        f"An attacker flips sites in the regions of a run, and these differ (sites of {name}: {told}). Certified, "
        "broken and open are counted for each run by itself, and no differences are given."
    )
    yield Notice("Any flip is not the same attacker in all runs", text)
