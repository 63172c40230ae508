"""The notices of a comparison: left-out runs, other data, and attackers that are not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from starcert.claims.gains import worth_sentence
from starcert.claims.paired import StructureGain
from starcert.objects.laws.law import Move
from starcert.objects.noise import Noise
from starcert.report.blocks import Notice
from starcert.report.compared_runs import ComparedRun
from starcert.report.comparison import Comparison
from starcert.report.findings import reasons_of
from starcert.system.output import quantity


def comparison_notices(found: Comparison) -> list[Notice]:
    """The notices of a comparison."""
    return [*_about_runs(found), *_without_gain(found.gains, found.one)]


def _without_gain(gains: Sequence[tuple[str, StructureGain]], one: str) -> Iterator[Notice]:
    """Says which runs gain nothing on their blind models under the smallest attacks."""
    for name in dict.fromkeys(run for run, _ in gains):
        if sentence := worth_sentence([each for run, each in gains if run == name], f"{one}s"):
            yield Notice(f"{name}: worth no more than a blind model", sentence)


def _about_runs(side: Comparison) -> Iterator[Notice]:
    """The notices about runs: left-out runs, other data, and attackers that are not the same."""
    runs, threat, shared = side.runs, side.threat, side.shared
    first, one = runs[0], runs[0].one
    others = {run.name: len(run.archive) - len(run.rows) for run in runs if len(run.archive) > len(run.rows)}
    if others:
        left = "; ".join(f"{name}, {quantity(n, one)}" for name, n in others.items())
        text = f"What only some runs have is left out: {left}. Graphs are matched by their names."
        yield Notice(f"Compared on the {quantity(len(first.rows), one)} that all runs have", text)
    for run in runs[1:]:
        digests = [each.archive.settings.get("digests") for each in (first, run)]
        before, now = (each.get("data") if isinstance(each, Mapping) else None for each in digests)
        if run.archive.names == first.archive.names and before and now and before != now:
            text = f"Their {one}s have the same names and classes as those of {first.name}, but not the same content."
            yield Notice(f"{run.name} was made from other data", text)
    anchored = {run.name: [run.archive.anchored[row] for row in run.rows] for run in runs}
    if any(each != anchored[first.name] for each in anchored.values()):
        reasons = "; ".join(f"{name} {_anchors(each, one)}" for name, each in anchored.items())
        text = f"What an attacker may change is not the same in all of them: {reasons}."
        yield Notice("The runs do not have the same threat model", text)
    asked = {run.name: run.asked for run in runs}
    if len({str(each) for each in asked.values()}) > 1:
        listed = "; ".join(f"{name}: {'radii' if each is None else each.label}" for name, each in asked.items())
        more = "Evidence about listed attacks says nothing about others."
        text = f"They are compared under {threat.label} ({listed}). {more}"
        yield Notice("The runs were asked about different attackers", text)
    yield from (notice for run in runs for notice in run.notices())
    yield from _other_laws(runs, shared) if shared else ()
    alone = {run.name: [axis for axis in run.axes if axis not in shared] for run in runs}
    if axes := "; ".join(f"{name}: {', '.join(own)}" for name, own in alone.items() if own):
        head = "Some axes are not those of all runs" if shared else "The runs have no axis in common"
        text = f"Axes that only some runs have are shown in curves alone ({axes})."
        yield Notice(head, text if shared else f"{text} Without flips their answers are compared all the same.")
    if not side.same_sites:
        yield _other_sites(runs)
    elif not side.same_lists:
        text = "Other numbers of attacks are listed, as regions or data differ, and no differences are given."
        yield Notice(f"{threat.label[0].upper()}{threat.label[1:]} is not the same attacker in all runs", text)


def _anchors(reasons: Sequence[str], one: str) -> str:
    """The anchors of a run, in how many of its graphs, and why."""
    if not (n := sum(map(bool, reasons))):
        return "is not anchored"
    where = "" if n == len(reasons) else f" in {n:,} of {quantity(len(reasons), one)}"
    return f"is anchored{where} ({reasons_of(reasons).rstrip('.')})"


def _other_laws(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[Notice]:
    """Says which axes have one name, but count other moves of an attacker, since they are of other laws."""
    known = [_moves(run.archive.noise) for run in runs]
    differ = [axis for axis in shared if len({each[axis][1:] for each in known}) > 1]
    if differ:
        laws = "; ".join(
            f"{run.name}: {', '.join(f'{region} under {run.archive.noise[region]!r}' for region in regions)}"
            for run, each in zip(runs, known, strict=True)
            if (regions := list(dict.fromkeys(each[axis][0] for axis in differ)))
        )
        text = f"The same number of flips there does not mean the same attacker in all runs ({laws})."
        yield Notice(f"One name, different laws: {', '.join(differ)}", text)


def _moves(noise: Noise) -> dict[str, tuple[str, int, frozenset[Move]]]:
    """For each axis its region, how many values a site has there, and the moves that it counts."""
    return {
        region + suffix: (region, noise[region].alphabet, frozenset(moves))
        for region in noise
        for suffix, moves in zip(noise[region].suffixes, noise[region].moves, strict=True)
    }


def _other_sites(runs: Sequence[ComparedRun]) -> Notice:
    """Says that "any flip" is not the same attacker in all runs."""
    sites = list(zip(*(run.n_sites for run in runs), strict=True))
    graph = next(number for number, each in enumerate(sites) if len(set(each)) > 1)
    numbers = ", ".join(
        f"{'an unknown number' if n is None else f'{n:,}'} in {run.name}"
        for run, n in zip(runs, sites[graph], strict=True)
    )
    name = runs[0].archive.names[runs[0].rows[graph]]
    text = (
        f"An attacker flips sites in the regions of a run, and these differ (sites of {name}: {numbers}). Certified, "
        "broken and open are counted for each run by itself, and no differences are given."
    )
    return Notice("Any flip is not the same attacker in all runs", text)
