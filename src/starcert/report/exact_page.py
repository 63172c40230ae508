"""The page of a run that tried every attack on the plain model: verdicts by size, and the attacks that break."""

from __future__ import annotations

import os
from collections import Counter

from starcert.archive import BLIND, ExactArchive
from starcert.claims.outcomes import SizeCounts
from starcert.objects.binding import Problem
from starcert.report.document import KeyFigure, Notice, assemble, target, write_page
from starcert.report.worth import GAIN_HEADS, Worth
from starcert.system.output import quantity


def write_exact_page(path: str | os.PathLike[str], archive: ExactArchive, problem: Problem, title: str) -> None:
    """Writes what trying attacks has shown as one HTML page that loads nothing."""
    result, word, worth = archive.result, archive.word, Worth.of(archive)
    sizes = result.counts(archive.known)
    rows = []
    for row, one in enumerate(result):
        label, attack = archive.labels[row], one.attack()
        after = None if attack is None else archive.class_names[attack.votes.index(1)]
        rows.append(
            {
                "name": archive.names[row],
                "truth": "–" if label is None else archive.class_names[label],
                "answer": archive.class_names[one.label],
                "wrong": label not in (None, one.label),
                "kinds": archive.kinds(row),
                "attack": ""
                if attack is None
                else str(attack if attack.changes else attack.on(problem.sites[one.object])),
                "after": after,
                "left": result.proof.left(one.row),
            }
        )
    content: dict[str, object] = {
        "numbers": [
            KeyFigure("0", "alpha: nothing is sampled", "alpha"),
            *_accuracy(archive),
            *(() if worth is None else worth.figures),
            *_reached(archive, sizes[-1]),
        ],
        "notices": [*_notices(archive), *(() if worth is None else worth.notices)],
        "many": f"{word}s",
        "gain_heads": GAIN_HEADS,
        "gains": [] if worth is None else worth.cells,
        "gain_notes": [] if worth is None else worth.notes,
        "blind_model": "" if worth is None else worth.about,
        "says": result.proof.method,
        "word": word,
        "threat": result.proof.threat.label,
        "sizes": sizes,
        "known": archive.known is not None,
        "passes": result.proof.forward_passes,
        "rows": rows,
        "labels": [result.proof.threat.label_of(each.size) for each in sizes],
        "origin": [{"Settings": [(name, str(value)) for name, value in archive.settings.items() if name != BLIND]},
                   {"Versions": list(archive.provenance.items()), "Classifier": [("which", result.proof.classifier)]}],
    }  # fmt: skip
    page = assemble("report/templates/exact.html", content, title=title, scripts=(), data=None)
    write_page(target(path), page)


def _accuracy(archive: ExactArchive) -> list[KeyFigure]:
    truth = archive.truth
    if not truth:
        return []
    label, count = Counter(truth).most_common(1)[0]
    right = archive.result.certified_accuracy(archive.labels, 0)
    majority = KeyFigure(f"{count / len(truth):.1%}", "majority class", "majority", archive.class_names[label])
    return [KeyFigure(f"{right:.1%}", "accuracy without attack", "accuracy"), majority]


def _reached(archive: ExactArchive, last: SizeCounts) -> list[KeyFigure]:
    share, what = last.percent(last.n_certified), "certified" if archive.known is None else "right and certified"
    return [KeyFigure(share, f"of {quantity(last.n_graphs, archive.word)} {what}, {last.label}", "certified")]


def _notices(archive: ExactArchive) -> list[Notice]:
    reasons = sorted({each for each in archive.result.anchored if each})
    found = [Notice("Anchored", f"{reason} What can be attacked is frozen at each object.") for reason in reasons]
    if archive.result.proof.threat.anchored:
        found.append(Notice("The threat is anchored", archive.result.proof.threat.anchored))
    if (left := archive.result.counts()[-1]).n_open:
        text = f"{left.n_left:,} attacks are left: give a larger max_attacks, and the run goes on."
        found.append(Notice(f"{quantity(left.n_open, archive.word)} open: the budget ended first", text))
    return found
