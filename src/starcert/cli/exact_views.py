"""What a run that tried every attack on the plain model prints when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.claims.metrics import majority_share
from starcert.cli.command_line import facts, table
from starcert.cli.file_commands import anchored_notes
from starcert.cli.run_views import worth_view
from starcert.report.worth import Worth
from starcert.runs.certification import FinishedRun
from starcert.runs.exact_run import exact_rows
from starcert.system.output import duration, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType


def exact_view(outcome: FinishedRun) -> list[RenderableType]:
    """How much is certified at each size, what each row withstands, and where the report is."""
    archive, result = outcome.archive, outcome.archive.result
    right = "right" if archive.known else "answered"
    heads = ("attacks", "number", f"{archive.word}s", right, "certified", "broken", "open", "attacks left")
    cells = [
        (each.label, f"{each.n_attacks:,}", f"{each.n_graphs:,}", f"{each.n_right:,}", f"{each.n_certified:,}",
         f"{each.n_broken:,}", f"{each.n_open:,}", f"{each.n_left:,}")
        for each in result.counts(archive.known)
    ]  # fmt: skip
    labels = [result.proof.threat.label_of(size) for size in range(1, result.proof.threat.most + 1)]
    columns = (archive.word, "answer", *labels, "attack")
    rows = []
    for row, one in enumerate(result):
        wrong = ", wrong" if archive.labels[row] not in (None, one.label) else ""
        attack = one.attack() or "–"
        rows.append((archive.names[row], archive.class_names[one.label] + wrong, *archive.kinds(row), str(attack)))
    return [
        facts(f"{quantity(len(archive), archive.word)}: {result.proof.method}", list(_facts(outcome))),
        "",
        table(f"{archive.word.capitalize()}s {right}: certified, broken, open", heads, cells, left=heads[:1]),
        table(f"What each {archive.word} withstands", columns, rows, left=columns, more="results.csv has all"),
        *worth_view(Worth.of(archive)),
        *anchored_notes(result.anchored),
        *filter(None, [result.proof.threat.anchored]),
        f"Report: {outcome.report}",
    ]


def _facts(outcome: FinishedRun) -> Iterator[tuple[str, str]]:
    archive, result = outcome.archive, outcome.archive.result
    if archive.known is not None:
        yield "accuracy without attack", f"{result.certified_accuracy(archive.labels, 0):.1%}"
        for each in result.counts(archive.known):
            yield f"right and certified, {each.label}", each.percent(each.n_certified)
        yield "share of the majority class", f"{majority_share(archive.truth):.1%}"
        if (worth := Worth.of(archive)) is not None and worth.gains:
            yield "accuracy, blind model", f"{worth.gains[0].blind:.1%}"
    yield "forward passes", f"{result.proof.forward_passes:,} in {duration(result.seconds)}"


def exact_object(outcome: FinishedRun) -> dict[str, object]:
    """The same for programs."""
    archive, result = outcome.archive, outcome.archive.result
    return {
        "folder": str(outcome.folder),
        "report": str(outcome.report),
        "method": result.proof.method,
        "alpha": 0,
        "threat": str(result.proof.threat),
        "class_names": list(archive.class_names),
        "forward_passes": result.proof.forward_passes,
        "seconds": result.seconds,
        "accuracy": None if archive.known is None else result.certified_accuracy(archive.known, 0),
        "majority_share": None if archive.known is None else majority_share(archive.truth),
        **({} if (worth := Worth.of(archive)) is None else worth.to_json()),
        "sizes": [
            {
                "size": each.size,
                "label": each.label,
                "n_rows": each.n_graphs,
                **{name: getattr(each, name) for name in ("n_right", "n_certified", "n_broken", "n_open")},
                "n_attacks": each.n_attacks,
                "n_left": each.n_left,
            }
            for each in result.counts(archive.known)
        ],
        "graphs": list(exact_rows(archive)),
    }
