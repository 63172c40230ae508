"""What runs and sweeps tell people when they are done."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from starcert.certificates.metrics import (
    accuracy,
    majority_share,
    radii_of_flips,
    radius_verdicts,
    shares_by_axis,
    steps_to,
)
from starcert.pages.findings import counted, fixed_pairs, out_of_reach, votes_to_settle, what_evidence_adds
from starcert.pages.intervals import share_interval
from starcert.pages.verdict_data import any_flips_of, flips_asked
from starcert.system.output import fails_at_most
from starcert.system.stages import HEADER

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.certificates.metrics import AxisShares, FlipVerdicts, RadiusVerdicts
    from starcert.files import Archive
    from starcert.pages.findings import Words
    from starcert.runs.certification import CertifiedRun
    from starcert.runs.sweep_levels import SweepLevel
    from starcert.runs.sweep_result import SweepResult
    from starcert.system.stages import StageTimes

__all__ = ["certified_object", "certified_view", "sweep_view"]

MOST_LEVELS = MOST_GRAPHS = 40
"""So many rows a table has; the files have all of them."""

MOST_RADII = 4


def certified_view(outcome: CertifiedRun) -> list[RenderableType]:
    """Accuracy beside the majority's share, abstentions, how much is certified how far, and where the report is."""
    from rich.table import Table  # noqa: PLC0415

    archive = outcome.archive
    about = Table(
        show_header=False,
        title=f"{counted(len(archive), outcome.words.one)}, {len(archive.class_names)} classes",
        title_justify="left",
    )
    for name, value in _facts(outcome):
        about.add_row(name, value)
    return [
        about,
        "",
        *_withstood(archive, outcome.words),
        *_verdict_table(archive, outcome.words),
        *_reach(archive, outcome.words),
        *_notes(outcome),
        *_times(outcome.times),
        f"Report: {outcome.report}",
    ]


def certified_object(outcome: CertifiedRun) -> dict[str, object]:
    """What `certified_view` tells, for programs: None stands for what is not known, or for a graph that abstains."""
    archive, certificates = outcome.archive, outcome.archive.certificates
    truth = [label for label in archive.labels if label is not None]
    rows = zip(archive.names, archive.labels, outcome.base, certificates, strict=True)
    times = {} if outcome.times is None else {"profile": outcome.times.to_dict()}
    return {
        "folder": str(outcome.folder),
        "report": str(outcome.report),
        "class_names": list(archive.class_names),
        "axes": list(archive.noise.axes),
        "alpha": certificates.alpha or archive.alpha,
        "together": archive.together,
        "audit": None if archive.votes.audit is None else asdict(archive.votes.audit),
        "accuracy": accuracy(certificates, archive.labels) if truth else None,
        "majority_share": majority_share(truth) if truth else None,
        "certificates": [
            {
                "name": name,
                "label": label,
                "base_class": answer,
                "class": None if one.abstained else int(one.label),
                "frontier": [list(radius) for radius in one.frontier.radii],
            }
            for name, label, answer, one in rows
        ],
        **times,
    }


def _times(times: StageTimes | None) -> Iterator[RenderableType]:
    """Where the time went, if that was asked."""
    from rich.table import Table  # noqa: PLC0415

    if times is None:
        return
    table = Table(title="Where the time went, in this run", title_justify="left")
    for column in HEADER:
        table.add_column(column, justify="left" if column == HEADER[0] else "right")
    for row in times.rows:
        table.add_row(*row.cells)
    yield table
    yield times.summary
    yield ""


def _facts(outcome: CertifiedRun) -> list[tuple[str, str]]:
    archive, certificates, words = outcome.archive, outcome.archive.certificates, outcome.words
    truth = [label for label in archive.labels if label is not None]
    answered = certificates.certified((0,) * len(archive.noise.axes))
    facts = []
    if truth:
        base = [answer == label for answer, label in zip(outcome.base, archive.labels, strict=True)]
        facts += [
            ("accuracy, smoothed", f"{accuracy(certificates, archive.labels):.1%}"),
            (
                f"accuracy, base classifier on clean {words.whole}s",
                f"{sum(base) / len(truth):.1%}",
            ),
            ("share of the majority class", f"{majority_share(truth):.1%}"),
        ]
        if len(truth) < len(archive):
            facts.append((f"{words.many} without a known class", str(len(archive) - len(truth))))
    else:
        facts.append(("accuracy", "not known: the data have no classes"))
    facts.append(("abstains", f"{int((~answered).sum())} of {len(archive)}"))
    if (audit := archive.votes.audit) is not None:
        facts.append(("audited noisy copies", f"{audit.clean:,}, and {audit.attacked:,} of attacked {words.whole}s"))
    given = certificates.labels[answered]
    if len(given) > 1 and len(set(given.tolist())) == 1:
        facts.append(
            ("answers", f"class {archive.class_names[given[0]]} for every {words.one}: a constant certifies everything")
        )
    return facts


def _withstood(archive: Archive, words: Words) -> Iterator[RenderableType]:
    """With evidence: what each graph withstands, and what breaks it."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    certificates = archive.certificates
    if certificates.verdicts is None:
        return
    axes = ", ".join(archive.noise.axes)
    each = Table(title=f"What each {words.one} withstands, flips in ({axes})", title_justify="left")
    for column in (words.one, "answer", "certified", "broken", "any flips"):
        each.add_column(column, justify="right" if column == "any flips" else "left", overflow="fold")
    for name, truth, one in islice(zip(archive.names, archive.labels, certificates, strict=True), MOST_GRAPHS):
        answer = "abstains" if one.abstained else archive.class_names[one.label]
        wrong = "" if one.abstained or truth in (None, one.label) else ", wrong"
        each.add_row(
            Text(name), Text(answer + wrong), _radii(one.frontier.radii), _radii(one.broken), str(one.any_flips)
        )
    yield each
    if len(archive) > MOST_GRAPHS:
        yield f"… and {len(archive) - MOST_GRAPHS:,} more in results.csv."
    yield (
        "Certified: no attack of at most so many flips changes the answer. Broken: an attack of so many flips is "
        "known that does. Any flips: no attack of so many flips, wherever they are, changes the answer."
    )
    yield ""


def _verdict_table(archive: Archive, words: Words) -> Iterator[RenderableType]:
    """With evidence or a threat: how many graphs are certified, broken and open, and which votes would settle more."""
    from rich.table import Table  # noqa: PLC0415

    certificates, anywhere = archive.certificates, any_flips_of(archive)
    if not anywhere:
        return
    known = any(label is not None for label in archive.labels)
    right, weighed = "right" if known else "answered", certificates.verdicts is not None
    axes = f" in ({', '.join(archive.noise.axes)})" if weighed else ""
    title = f"{words.many.capitalize()} {right} and certified, at most so many flips{axes}"
    table = Table(title=title, title_justify="left")
    for column in ("flips", words.many, right, *VERDICTS[weighed]):
        table.add_column(column, justify="left" if column == "flips" else "right")
    for each in anywhere:
        table.add_row(f"any {each.flips:,}", str(each.n_graphs), str(each.n_right), *verdict_cells(each, weighed))
    if weighed:
        labels = archive.labels if known else None
        radii = radii_of_flips(certificates, min(2, flips_asked(archive)))
        for found in radius_verdicts(certificates, labels, radii=radii):
            cells = str(found.n_graphs), str(found.n_right), *verdict_cells(found, weighed)
            table.add_row(_radii([found.radius]), *cells)
    yield table
    each_one = "certified (with evidence, p_A included), broken or open" if weighed else "certified by p_A or open"
    yield f"Any k: at most k flips, wherever they are. Of the {words.many} that are {right}, each is {each_one}."
    yield from votes_to_settle(anywhere, words)
    yield ""


VERDICTS = {True: ("by p_A", "with evidence", "broken", "open"), False: ("by p_A", "open")}
"""The columns of verdicts, with evidence and without."""


def verdict_cells(found: FlipVerdicts | RadiusVerdicts, weighed: bool) -> list[str]:
    """The counts under `VERDICTS`."""
    beyond = [found.n_certified, found.n_broken] if weighed else []
    return [str(n) for n in (found.n_by_p_A, *beyond, found.n_open)]


def _radii(radii: Sequence[tuple[int, ...]]) -> str:
    shown = ", ".join(f"({', '.join(map(str, radius))})" for radius in radii[:MOST_RADII])
    return f"{shown}, {len(radii) - MOST_RADII:,} more" if len(radii) > MOST_RADII else shown or "none"


def _reach(archive: Archive, words: Words) -> list[RenderableType]:
    """How many graphs are certified against so many flips on one axis, the others untouched."""
    from rich.table import Table  # noqa: PLC0415

    known = any(label is not None for label in archive.labels)
    what = "answered right and certified" if known else "certified"
    certificates = archive.certificates
    reach = max((max(radius) for one in certificates for radius in one.frontier.radii), default=0)
    steps = steps_to(reach)
    shares = partial(shares_by_axis, labels=archive.labels if known else None, flips=steps)
    found = shares(certificates)
    table = Table(title=f"{words.many.capitalize()} {what}, so many flips on one axis", title_justify="left")
    table.add_column("axis")
    for step in steps:
        table.add_column(str(step), justify="right")
    some_empty = any(each.n_without for each in found)
    if some_empty:
        table.add_column("sites")
    alone = [None] * len(found) if certificates.verdicts is None else shares(certificates.counted)
    for each, by_counts in zip(found, alone, strict=True):
        cells = _percents(each)
        if some_empty:
            cells.append(f"none in {counted(each.n_without, words.one)}" if each.n_without else "")
        table.add_row(each.axis, *cells)
        if by_counts is not None:
            table.add_row("  by p_A alone", *_percents(by_counts))
    return [table, f"Shares are of the {words.many} that have sites on the axis."] if some_empty else [table]


def _percents(found: AxisShares) -> list[str]:
    return ["" if share is None else f"{share:.1%}" for share in found.shares]


def _notes(outcome: CertifiedRun) -> list[str]:
    archive = outcome.archive
    reasons = sorted({reason for reason in archive.anchored if reason})
    told = (
        out_of_reach(archive),
        what_evidence_adds(archive, outcome.words),
        fixed_pairs(outcome.fixed, outcome.words),
    )
    notes = [text for text in told if text]
    notes += [f"Anchored: {reason} The certificates speak of regions frozen at each graph." for reason in reasons]
    notes.append(fails_at_most(archive.certificates.alpha or archive.alpha, archive.together))
    return notes


def _means(level: SweepLevel) -> list[str]:
    """The mean radii; with evidence, those by p_A alone in brackets beside them."""
    means = [f"{mean:.2f}" for mean in level.mean_radii]
    if level.by_counts is None:
        return means
    return [f"{mean} ({alone:.2f})" for mean, alone in zip(means, level.by_counts.mean_radii, strict=True)]


def sweep_view(found: SweepResult) -> Iterator[RenderableType]:
    """Every level in a table, the unbeaten ones marked, and what to do next."""
    from rich.table import Table  # noqa: PLC0415

    from starcert.runs.grid import noise_text  # noqa: PLC0415
    from starcert.runs.run_file import RUN  # noqa: PLC0415
    from starcert.runs.sweep import PAGE  # noqa: PLC0415
    from starcert.runs.sweep_result import about_graphs, advice, flip_counts, next_command, notices, tie_sentence  # noqa: PLC0415

    table = Table(title=f"{len(found.levels):,} noise levels on {about_graphs(found)}", title_justify="left")
    table.add_column("")
    table.add_column("level", justify="right")
    # Only at a space does a cell break: after a comma, never in the name of a region.
    noises = [noise_text(level.noise).replace(",", ", ") for level in found.levels]
    table.add_column("noise", min_width=max(len(part) for text in noises for part in text.split()))
    alone = " (by p_A)" if found.settings.run.evidence else ""
    goal = [] if found.settings.goal is None else [str(found.goal).replace("@", "@ ").replace(",", ", ")]
    heads = (
        "accuracy",
        *goal,
        "abstains",
        *(f"radius {axis}{alone}" for axis in found.levels[0].noise.axes),
        *(
            f"any {each.flips:,}: {' / '.join(dict(flip_counts(found, each)))}"
            for each in found.levels[0].any_flips[-1:]
        ),
        "one answer",
        "beaten by",
    )
    for head in heads:
        table.add_column(head, justify="right", min_width=max(map(len, head.split())))
    for number in found.order[:MOST_LEVELS]:
        level, beater, own = found.levels[number], found.beaten_by[number], found.standings[number]
        low, high = share_interval(level.n_right, level.n_graphs)
        table.add_row(
            "★" if number in found.worthwhile else "✗" if level.constant else "",
            str(number + 1),
            noises[number],
            f"{level.accuracy:.1%}\n{low:.0%}–{high:.0%}",
            *([f"{found.goal.show(own.value)}\n{found.goal.within(own.low, own.high)}"] if goal else []),
            f"{level.n_abstained / level.n_graphs:.1%}",
            *_means(level),
            *(" / ".join(str(n) for _, n in flip_counts(found, each)) for each in level.any_flips[-1:]),
            f"{level.answer_share:.0%}",
            "" if beater is None else str(beater + 1),
        )
    more = f" … and {len(found.levels) - MOST_LEVELS:,} more in sweep.csv." if len(found.levels) > MOST_LEVELS else ""
    majority = f"{found.class_names[found.majority]}, {found.levels[0].majority_share:.1%}"
    yield table
    yield (
        f"★ unbeaten in accuracy and mean certified radii; ✗ no better than a constant answer (majority class "
        f"{majority}). Below an accuracy: its 95% interval over the choice of graphs. One "
        f"answer: the share of the most frequent one.{more}"
    )
    for notice in notices(found):
        yield f"{notice.head}. {notice.text}"
    yield from filter(None, [tie_sentence(found)])
    yield advice(found)
    if found.suggested is not None:
        yield f"  {next_command(found, found.suggested, os.path.relpath(found.folder / RUN))}"
    yield f"Page: {found.folder / PAGE}"
