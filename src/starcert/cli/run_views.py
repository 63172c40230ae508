"""What training, certification, sweeps and studies print when they are done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from starcert.archive import Archive
from starcert.claims.metrics import (
    accuracy,
    majority_share,
)
from starcert.claims.outcomes import SizeCounts, steps_to
from starcert.claims.paired import share_interval
from starcert.claims.sentences import in_short
from starcert.claims.unknown import in_words
from starcert.cli.command_line import facts, table
from starcert.cli.file_commands import anchored_notes, known_columns
from starcert.objects.words import MAX_TUPLE, AttackWords, Words
from starcert.report import findings
from starcert.report.drawings import threat_data
from starcert.report.training_page import weights_in_words
from starcert.report.worth import GAIN_HEADS, Worth
from starcert.runs import sweep_result as sweeps
from starcert.runs.certification import FinishedRun
from starcert.runs.grid import noise_text
from starcert.runs.run_file import RUN
from starcert.runs.sweep_levels import SweepLevel
from starcert.runs.sweep_result import SweepResult
from starcert.runs.sweep_table import sweep_rows
from starcert.runs.training_run import TrainedRun
from starcert.system.output import duration, fails_at_most, quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert_studies import Finished

MAX_LEVELS = MAX_GRAPHS = 40  # the most rows of a table; the files have all of them

MAX_RADII, MAX_VERDICTS = 4, 20  # radii of a graph, and of the table of verdicts; the report has more of them


def trained_object(outcome: TrainedRun, then: str) -> dict[str, object]:
    """What was trained, and how good it is, for programs; `then` is the command that comes next."""
    made = outcome.made
    return {
        "weights": str(outcome.weights),
        "page": str(outcome.page),
        "trained_before": outcome.seconds is None,
        "seconds": outcome.seconds,
        "module": made["module"],
        "noise": made["noise"],
        "learned_from": outcome.what,
        "epochs": made["history"][-1][0] + 1,
        "best_epoch": made["best_epoch"] + 1,
        "validation_accuracy": made["validation_accuracy"],
        "majority_share": outcome.majority,
        "class_names": list(outcome.class_names),
        "class_weights": None if outcome.weighting is None else list(outcome.weighting.weights),
        "next": then,
    }


def trained_view(outcome: TrainedRun, then: str) -> Iterator[str]:
    """What was trained, how good it is, and the command that comes next."""
    made = outcome.made
    place = os.path.relpath(outcome.weights)
    if outcome.seconds is None:
        yield f"{place} was trained so before; --again trains it anew."
    else:
        done, wanted = made["history"][-1][0] + 1, outcome.settings.epochs
        early = "" if done == wanted else f" (of {wanted:,}; no better one after {outcome.settings.patience:,} more)"
        epochs = f"{done:,} epochs{early} in {duration(outcome.seconds)}"
        yield f"Trained {made['module']} on {outcome.what}: {epochs}, under {made['noise']}."
        yield f"Wrote {place}. Its learning curve: {os.path.relpath(outcome.page)}"
    if outcome.weighting is not None:
        yield weights_in_words(outcome.weighting, outcome.class_names)
    right = f"{made['validation_accuracy']:.1%} of noisy copies are right"
    yield f"Kept: epoch {made['best_epoch'] + 1:,}, by validation: {right} (majority class {outcome.majority:.1%})."
    yield f"Next: {then}"


def certified_view(outcome: FinishedRun) -> list[RenderableType]:
    """Accuracy beside the majority's share, abstentions, how much is certified how far, and where the report is."""
    archive, words = outcome.archive, outcome.words
    fixed = findings.fixed_pairs(outcome.fixed, words)
    hidden = findings.invisible_sites(archive.noise, archive.capacities, archive.anchored)
    return [
        facts(f"{quantity(len(archive), words.one)}, {len(archive.class_names)} classes", _facts(outcome)),
        "",
        *_withstood(archive, words),
        *_verdict_table(archive, words),
        *([*together, ""] if (together := findings.changed_together(archive)) else []),
        *_reach(archive, words),
        *worth_view(Worth.of(archive, words)),
        *filter(None, (findings.out_of_reach(archive), findings.what_evidence_adds(archive, words), fixed, hidden)),
        *anchored_notes(archive.anchored),
        *(f"{each.head}. {each.text}" for each in findings.stated(archive)),
        fails_at_most(archive.certificates.alpha or archive.alpha, archive.together),
        *_in_short(archive, words),
        f"Report: {outcome.report}",
    ]


def certified_object(outcome: FinishedRun) -> dict[str, object]:
    """The same for programs: None stands for what is not known, or for a graph that abstains."""
    archive, certificates = outcome.archive, outcome.archive.certificates
    truth = [label for label in archive.labels if label is not None]
    rows = zip(archive.names, archive.labels, outcome.base, certificates, strict=True)
    threat = certificates.listed_threat
    known = {} if threat is None else threat_data(certificates, threat)
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
        **({} if (worth := Worth.of(archive)) is None else worth.to_json()),
        **({} if threat is None else {"threat": str(threat), "sizes": known["labels"]}),
        "certificates": [
            {
                "name": name,
                "label": label,
                "base_class": answer,
                "class": None if one.abstained else int(one.label),
                "frontier": [list(radius) for radius in one.frontier.radii],
                **({} if threat is None else {"threat": [kind for kind, _, _ in known["graphs"][row]]}),
            }
            for row, (name, label, answer, one) in enumerate(rows)
        ],
        **({} if archive.collective is None else {"collective": archive.collective.rows()}),
    }


def _facts(outcome: FinishedRun) -> Iterator[tuple[str, str]]:
    archive, words, counts = outcome.archive, outcome.words, findings.summary(outcome.archive)
    if counts.majority is not None:
        base = sum(answer == label for answer, label in zip(outcome.base, archive.labels, strict=True))
        yield "accuracy, smoothed", f"{counts.n_right / counts.n_labelled:.1%}"
        yield f"accuracy, base classifier on clean {words.whole}s", f"{base / counts.n_labelled:.1%}"
        yield "share of the majority class", f"{counts.majority[1] / counts.n_labelled:.1%}"
        if (worth := Worth.of(archive, words)) is not None and worth.gains:
            yield "accuracy, blind model", f"{worth.gains[0].blind:.1%}"
        if counts.n_labelled < len(archive):
            yield f"{words.many} without a known class", str(len(archive) - counts.n_labelled)
    else:
        yield "accuracy", "not known: the data have no classes"
    yield "abstains", f"{counts.n_abstained} of {len(archive)}"
    if (audit := archive.votes.audit) is not None:
        yield "audited noisy copies", f"{audit.clean:,}, and {audit.attacked:,} of attacked {words.whole}s"
    if len(counts.answers) == 1 and sum(counts.answers.values()) > 1:
        name = archive.class_names[next(iter(counts.answers))]
        yield "answers", f"class {name} for every {words.one}: a constant certifies everything"


def _withstood(archive: Archive, words: Words) -> list[RenderableType]:
    """With evidence: what each graph withstands, and what breaks it."""
    if archive.certificates.verdicts is None:
        return []
    threat, rows, attack = archive.certificates.listed_threat, [], AttackWords(archive.noise, words)
    known = {} if threat is None else threat_data(archive.certificates, threat)
    for row, (name, truth) in enumerate(zip(archive.names, archive.labels, strict=True)):
        one = archive.certificates[row]
        answer = "abstains" if one.abstained else archive.class_names[one.label]
        wrong = "" if one.abstained or truth in (None, one.label) else ", wrong"
        by_radius = (*(attack.radii(each, MAX_RADII) for each in (one.frontier.radii, one.broken)), one.any_flips)
        found = by_radius if threat is None else [kind for kind, _, _ in known["graphs"][row]]
        rows.append((name, answer + wrong, *found, one.attack() or "–"))
    if threat is not None:
        heads = (words.one, "answer", *known["labels"], "attack")
        title = f"What each {words.one} withstands"
        return [table(title, heads, rows, left=heads, most=MAX_GRAPHS, more="results.csv has all"), ""]
    heads = (words.one, "answer", "certified", "broken", "any flips", "attack")
    axes = f", flips in ({', '.join(archive.noise.axes)})" if len(archive.noise.axes) <= MAX_TUPLE else ""
    title = f"What each {words.one} withstands{axes}"
    return [
        table(title, heads, rows, left=heads[:4], most=MAX_GRAPHS, more="results.csv has all"),
        "Certified: no attack of at most this many flips changes the answer. Broken: an attack of this many flips is "
        "known that does. Any flips: no attack of this many flips, wherever they are, changes the answer.",
        "",
    ]


def _in_short(archive: Archive, words: Words) -> Iterator[str]:
    """What is known about one row, for example; the report has such a sentence for each."""
    attack = AttackWords(archive.noise, words)
    for name, one in zip(archive.names, archive.certificates, strict=True):
        if said := "".join(in_short(one, attack, archive.class_names)):
            yield f"{words.one.capitalize()} {name}, for example: {said}"
            return


def _verdict_table(archive: Archive, words: Words) -> list[RenderableType]:
    """With evidence or a threat: how many graphs are certified, broken and open, and which votes would settle more."""
    rows, further = findings.verdict_rows(archive, words, MAX_VERDICTS)
    if not rows:
        return []
    right = "right" if any(label is not None for label in archive.labels) else "answered"
    weighed = archive.certificates.verdicts is not None
    each_one = "certified (with evidence, p_A included), broken or open" if weighed else "certified by p_A or open"
    threat = archive.certificates.listed_threat
    listed = threat is not None
    heads = findings.verdict_heads(words.many, right, listed=listed)
    heads, cells = known_columns(heads, [row.cells(weighed) for row in rows])
    against = "these attacks" if listed else "at most this many flips"
    title = f"{words.many.capitalize()} {right} and certified against {against}"
    what = "Listed: the attacks on all graphs" if listed else "Any k: at most k flips, wherever they are"
    return [
        table(title, heads, cells, left=heads[:1], most=len(cells)),
        *([f"{further:,} further radii of two flips are not shown here: the report has them."] if further else []),
        f"{what}. Of the {words.many} that are {right}, each is {each_one}.",
        *filter(None, [findings.without_attacks(archive, words), "" if threat is None else threat.anchored]),
        *findings.verdict_notes(rows),
        *findings.votes_to_settle(findings.by_size(archive), words),
        "",
    ]


def _reach(archive: Archive, words: Words) -> list[RenderableType]:
    """The share of graphs certified against a number of flips on one axis, the others at 0."""
    known, certificates = any(label is not None for label in archive.labels), archive.certificates
    reach = max((max(radius) for one in certificates for radius in one.frontier.radii), default=0)
    steps, truth = steps_to(reach), archive.labels if known else None
    found = {
        axis: [outcomes.counts_at(size, truth) for size in steps]
        for axis, outcomes in certificates.by_axis(steps[-1]).items()
    }
    some_empty = any(counts[0].n_without for counts in found.values())
    rows = []
    weighed = findings.has_radii_by_evidence(archive)
    for axis, counts in found.items():
        empty = f"none in {quantity(counts[0].n_without, words.one)}" if counts[0].n_without else ""
        rows.append((axis, *(_percent(each, each.n_certified) for each in counts), *[empty] * some_empty))
        if weighed:
            alone = (_percent(each, each.n_by_p_A) for each in counts)
            rows.append(("  by p_A alone", *alone, *[""] * some_empty))
    what = "answered right and certified" if known else "certified"
    title = f"{words.many.capitalize()} {what}, by the number of flips on one axis"
    heads = ("axis", *map(str, steps), *["sites"] * some_empty)
    shown = table(title, heads, rows, left=("axis", "sites"), most=len(rows))
    notes = in_words(
        (f"{axis} at {each.size:,}", each.n_certified is not None, each.why)
        for axis, counts in found.items()
        for each in counts
    )
    return [shown, *[f"Shares are of the {words.many} that have sites on the axis."] * some_empty, *notes]


def worth_view(worth: Worth | None) -> list[RenderableType]:
    """The structure gain at all that is shown, and an honest sentence where there is none."""
    if worth is None or not worth.gains:
        return [] if worth is None else [f"No blind model to compare with. {worth.row.missing}"]
    title = "Right and certified, beside what a blind model has right"
    shown = table(title, GAIN_HEADS, worth.cells, left=GAIN_HEADS[:1], most=MAX_GRAPHS, more="the report has all")
    return [shown, *worth.notes, worth.about, *filter(None, [worth.sentence])]


def _percent(counts: SizeCounts, count: int | None) -> str:
    share = counts.share(count)
    return "–" if share is None else f"{share:.1%}" if counts.n_graphs else ""


def sweep_object(found: SweepResult) -> dict[str, object]:
    """Every level with all that is known about it, and what to do next, for programs."""
    next_level = found.suggested
    return {
        "folder": str(found.folder),
        "page": str(found.folder / sweeps.PAGE),
        "class_names": list(found.class_names),
        "goal": found.goal,
        "suggested": None if next_level is None else next_level + 1,
        "ties": [number + 1 for number in found.ties] if next_level is not None else [],
        "next": None if next_level is None else sweeps.next_command(found, next_level, str(found.folder / RUN)),
        "levels": list(sweep_rows(found)),
        "notices": [each._asdict() for each in sweeps.notices(found)],
    }


def sweep_view(found: SweepResult) -> Iterator[RenderableType]:
    """Every level in a table, the unbeaten ones marked, and what to do next."""
    first = found.levels[0]
    alone = "" if first.by_counts is None else " (by p_A)"
    threat = found.settings.run.threat
    goal = [] if threat is None else [f"certified, {threat.label}"]
    heads = (
        *("", "level", "noise", "accuracy", *goal, "abstains"),
        *(f"radius {axis}{alone}" for axis in first.noise.axes),
        *(f"{each.label}: {' / '.join(dict(sweeps.size_counts(found, each)))}" for each in first.by_size[-1:]),
        *("one answer", "dominated by"),
    )
    rows = []
    for number in found.order:
        level, beater, own = found.levels[number], found.beaten_by[number], found.standings[number]
        low, high = share_interval(level.n_right, level.n_graphs)
        rows.append(
            (
                "★" if number in found.worthwhile else "✗" if level.constant else "",
                number + 1,
                # Only at a space does a cell break: after a comma, never in the name of a region.
                noise_text(level.noise).replace(",", ", "),
                f"{level.accuracy:.1%}\n{low:.0%}–{high:.0%}",
                *([f"{own.value:.1%}\n{own.low:.0%}–{own.high:.0%}"] if goal else []),
                f"{level.n_abstained / level.n_graphs:.1%}",
                *_mean_radii(level),
                *(
                    " / ".join("–" if n is None else str(n) for _, n in sweeps.size_counts(found, each))
                    for each in level.by_size[-1:]
                ),
                f"{level.answer_share:.0%}",
                "" if beater is None else beater + 1,
            )
        )
    title = f"{len(found.levels):,} noise levels on {sweeps.about_graphs(found)}"
    levels = table(title, heads, rows, left=("", "noise"), most=MAX_LEVELS, more="sweep.csv has all")
    for column in levels.columns:  # no word is broken
        column.min_width = max(map(len, " ".join(map(str, (column.header, *column.cells))).split()), default=0)
    yield levels
    majority = f"{found.class_names[found.majority]}, {found.levels[0].majority_share:.1%}"
    yield (
        f"★ Pareto-optimal in accuracy and mean certified radii; ✗ no better than a constant answer (majority class "
        f"{majority}). Below an accuracy: its 95% interval over the choice of graphs. One answer: the share of the "
        "most frequent one."
    )
    for notice in sweeps.notices(found):
        yield f"{notice.head}. {notice.text}"
    yield from filter(None, [sweeps.tie_sentence(found), *sweeps.blind_sentences(found)])
    yield sweeps.advice(found)
    if found.suggested is not None:
        yield f"  {sweeps.next_command(found, found.suggested, os.path.relpath(found.folder / RUN))}"
    yield f"Page: {found.folder / sweeps.PAGE}"


def _mean_radii(level: SweepLevel) -> list[str]:
    """The mean radii; with evidence, those by p_A alone in brackets beside them."""
    if level.by_counts is None:
        return [sweeps.mean_shown(mean) for mean in level.mean_radii]
    both = zip(level.mean_radii, level.by_counts.mean_radii, strict=True)
    return [f"{sweeps.mean_shown(one)} ({sweeps.mean_shown(alone)})" for one, alone in both]


def study_view(finished: Finished) -> list[RenderableType]:
    """The claims of a study, whether they hold, and where its page is."""
    heads = ("claim", "published", "here", "verdict")
    rows = [(check.claim, check.published, check.measured, check.verdict) for check in finished.checks]
    notes = [f"  {check.claim}: {check.note}" for check in finished.checks if check.holds is not True and check.note]
    cost = f"{finished.seconds:.0f} s, at most {finished.peak_bytes / 2**30:.1f} GiB of memory."
    claims = table(f"{finished.name}: the paper's claims", heads, rows, left=heads, most=len(rows))
    return [claims, *notes, f"{cost} Open {finished.folder / 'index.html'}"]
