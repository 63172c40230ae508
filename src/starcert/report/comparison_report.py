"""A comparison as a report: verdicts side by side, curves, differences, and the rows on which runs differ."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from starcert.archive import Archive
from starcert.claims.gains import worth_sentence
from starcert.objects.laws.law import Move
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.report.answer import BlindShare, answer_in
from starcert.report.blocks import (
    Curves,
    Headline,
    KeyFigure,
    Marked,
    Notice,
    Phrase,
    Report,
    Section,
    TableBlock,
    Text,
)
from starcert.report.comparison import ComparedRun, Comparison, compare
from starcert.report.document import as_bytes, page_of, target, write_page
from starcert.report.findings import reasons_of, verdict_cells
from starcert.report.shares import MAX_LINES
from starcert.report.worth import GAIN_HEADS, gain_cells, gains_section
from starcert.system.errors import StarcertError
from starcert.system.output import plural, quantity

MAX_DIFFERENT = 300  # the most graphs on which runs differ that are listed


def write_comparison(
    path: str | os.PathLike[str], runs: Mapping[str, Archive], *, threat: Threat | str | None = None
) -> Comparison:
    """Writes a comparison as one HTML page, and returns it; a file with other content is not replaced."""
    file, found = target(path), compare(runs, threat=threat)
    report = comparison_report(found)
    try:
        there = file.read_bytes() if file.is_file() else None
    except OSError:
        there = b""  # its content is not known
    if there not in (None, as_bytes(page_of(report))):
        raise StarcertError(f"{file}: is there already, with other content. Name another file: --out another.html")
    if there is None:
        write_page(file, report)
    return found


def comparison_report(found: Comparison) -> Report:
    """A comparison as blocks."""
    one, names, n_rows, panels = found.one, [run.name for run in found.runs], len(found.rows), found.panels
    same = one if found.n_graphs == 1 else quantity(found.n_graphs, one)
    about = f"{len(names)} runs on the same {same}. Each is compared with the first, "
    shares = (
        f"The share of {one}s that are {found.what} against a number of flips on one axis, with none on the others."
    )
    curves = Curves(
        name="compare-plot",
        panels=panels,
        about=f"Shares {found.what}, run by run and axis by axis; the table below has the differences.",
        many=len(panels) > MAX_LINES,
    )
    gains = [(_named(run), *gain_cells(each)) for run, each in found.gains]
    return Report(
        title=f"Compared: {', '.join(names)}",
        answers=_answers(found),
        statement=[(about, Marked(names[0], "bdi"), f", {one} by {one}.")],
        numbers=[
            KeyFigure(f"{len(names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", plural(found.n_graphs, one), "number-graphs"),
            KeyFigure(f"{n_rows:,}", f"{plural(n_rows, one)} on which they differ", "number-different"),
        ],
        notices=comparison_notices(found),
        sections=[
            _verdicts(found),
            Section("curves", "Axis by axis", [Text(phrase=shares, only="page"), curves]),
            _differences(found, names[0]),
            *([gains_section(("run", *GAIN_HEADS), gains, f"{one}s", [])] if gains else []),
            _different(found),
        ],
        origin=[{run.name: list(run.about())} for run in found.runs],
        values={"runs": names, "threat": str(found.threat), "n_rows": found.n_graphs},
        skip=("different", f"the {one}s"),
    )


def _answers(found: Comparison) -> list[Headline]:
    """The answer of each run under the whole threat."""
    said, size = [], found.threat.most
    last = {run: (counts, weighed) for run, counts, weighed in found.verdicts if counts.size == size}
    for run, outcomes in zip(found.runs, found.outcomes, strict=True):
        counts, weighed = last[run.name]
        among, blind = found.among & outcomes.possible(size), None
        if run.blind is not None and found.known and among.any():
            blind = BlindShare(float(run.blind[among].mean()))
        n_silent = int((among & ~outcomes.answered).sum())
        said.append(
            answer_in(
                counts, f"{found.one}s", labelled=found.known, attacked=weighed, abstained=n_silent, blind=blind,
                about=run.name,
            )
        )  # fmt: skip
    return said


def _named(text: str) -> Phrase:
    """A name from data, in its own direction of writing."""
    return (Marked(text, "bdi"),)


def _verdicts(found: Comparison) -> Section:
    by_radius, one, right = found.threat.by_radius, found.one, "right" if found.known else "answered"
    listed = f"the attacks on the list: {found.threat.label}"
    attackers = "an attacker with at most this many flips, wherever they are" if by_radius else listed
    verdicts = found.verdicts
    cells = [(_named(run), row.label, *verdict_cells(row, weighed).values()) for run, row, weighed in verdicts]
    heads = ("run", "flips" if by_radius else "attacks", "listed", f"{one}s", right, "certified by p_A",
             "certified with evidence", "broken", "open")  # fmt: skip
    values = [{"run": run, **row._asdict(), "weighed": weighed} for run, row, weighed in verdicts]
    meaning = f"What becomes of the {one}s that are answered{' right' * found.known}, for {attackers}."
    caption = (
        "Certified with evidence: by either argument; of a plain model, by trying every attack. A dash: the run has no "
        "evidence about these attacks, or does not list them."
    )
    table = TableBlock(
        name="verdict-table", heads=heads, rows=cells, left=2, head_column=False, key="verdicts", values=values
    )
    blocks = [Text(phrase=meaning), table, Text(phrase=caption, caption=True, only="page")]
    return Section("verdicts", "Certified, open, broken", blocks)


def _differences(found: Comparison, first: str) -> Section:
    meaning = (
        f"The share {found.what}, less that of ", Marked(first, "bdi"), f" on the same {found.one}s. Each interval "
        f"holds with probability 95% over the choice of {found.one}s, by itself; one that contains 0 shows no "
        "difference.",
    )  # fmt: skip
    rows = [(_named(each.run), *each.cells) for each in found.differences]
    heads, values = ("run", "flips", "share", "difference", "interval"), [each._asdict() for each in found.differences]
    table = TableBlock(
        name="difference-table", heads=heads, rows=rows, left=2, head_column=False, key="differences", values=values
    )
    notes = [Text(phrase=" ".join(notes), caption=True)] if (notes := found.notes) else []
    return Section("differences", "Differences", [Text(phrase=meaning), table, *notes])


def _different(found: Comparison) -> Section:
    heading, n = f"{found.one.capitalize()}s on which they differ", len(found.rows)
    if not n:
        return Section("different", heading, [Text(phrase="There are none: all answers and radii are equal.")])
    rows = [tuple(_named(cell) for cell in row) for row in found.rows[:MAX_DIFFERENT]]
    caption = "Under the name of an axis: the most flips that are certified there alone."
    caption += f" The {MAX_DIFFERENT} most different of {n}." * (n > MAX_DIFFERENT)
    table = TableBlock(
        name="different-table", heads=found.heads, rows=rows, left=2, head_column=False, most=20,
        key="different", values=[dict(zip(found.heads, row, strict=True)) for row in found.rows],
    )  # fmt: skip
    return Section("different", heading, [table, Text(phrase=caption, caption=True)])


def comparison_notices(found: Comparison) -> list[Notice]:
    """The notices of a comparison: about its runs, and which of them gain nothing on their blind models."""
    notices = list(_about_runs(found))
    for run in found.runs:
        sentence = worth_sentence([each for name, each in found.gains if name == run.name], f"{found.one}s")
        notices += [Notice(f"{run.name}: worth no more than a blind model", sentence)] * bool(sentence)
    return notices


def _about_runs(side: Comparison) -> Iterator[Notice]:
    """The notices about runs: left-out runs, other data, and attackers that are not the same."""
    runs, threat, shared = side.runs, side.threat, side.shared
    first, one = runs[0], side.one
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
    anchored = {run.name: run.anchored for run in runs}
    if any(each != anchored[first.name] for each in anchored.values()):
        reasons = "; ".join(f"{name} {_anchors(each, one)}" for name, each in anchored.items())
        text = f"What an attacker may change is not the same in all of them: {reasons}."
        yield Notice("The runs do not have the same threat model", text)
    asked = {run.name: run.listed for run in runs}
    if len({str(each) for each in asked.values()}) > 1:
        listed = "; ".join(f"{name}: {'radii' if each is None else each.label}" for name, each in asked.items())
        more = "Evidence about listed attacks says nothing about others."
        text = f"They are compared under {threat.label} ({listed}). {more}"
        yield Notice("The runs were asked about different attackers", text)
    yield from (notice for run in runs for notice in run.notices())
    yield from _other_laws(runs, shared) if shared else ()
    alone = {run.name: [axis for axis in run.by_axis if axis not in shared] for run in runs}
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
    known = [_moves(run.results.noise) for run in runs]
    differ = [axis for axis in shared if len({each[axis][1:] for each in known}) > 1]
    if differ:
        laws = "; ".join(
            f"{run.name}: {', '.join(f'{region} under {run.results.noise[region]!r}' for region in regions)}"
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
