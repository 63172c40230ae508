"""The report of a run that tried every attack on the plain model: verdicts by size, and the attacks that break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from starcert.archive import BLIND, BlindRow, ExactArchive
from starcert.claims.outcomes import SizeCounts
from starcert.objects.sites import Sites
from starcert.report.blocks import KeyFigure, Notice, Report, Section, TableBlock, Text
from starcert.report.findings import anchored_notice
from starcert.report.worth import Worth
from starcert.system.output import quantity


def exact_report(archive: ExactArchive, sites: Sequence[Sites], title: str) -> Report:
    """The report on tried attacks; `sites` are those of the objects, which name what an attack changes."""
    result, word, worth = archive.result, archive.word, Worth.of(archive)
    says = result.proof.method
    right, sizes = "right" if archive.known else "answered", result.counts(archive.known)
    counts = [(each.label, *(f"{n:,}" for n in (each.n_attacks, each.n_graphs, each.n_right, each.n_certified or 0,
               each.n_broken, each.n_open, each.n_left))) for each in sizes]  # fmt: skip
    statement = (
        f"{says[0].upper()}{says[1:]}. All attacks of the threat ({result.proof.threat.label}) were tried on the model "
        f"itself, smallest first, until one changed its answer: {result.proof.forward_passes:,} forward passes. A "
        f"{word} is certified if no attack changes its answer, broken if one does, and open where the budget ended "
        "first. This is about the plain model, not about the truth."
    )
    caption = f"Certified, broken and open are counted among the {word}s that are {right}."
    heads = ("name", "true", "answer", *(result.proof.threat.label_of(each.size) for each in sizes),
             "the attack that breaks", "then", "attacks left")  # fmt: skip
    size_heads = ("attacks", "number", f"{word}s", right, "certified", "broken", "open", "attacks left")
    values = list(exact_rows(archive))
    cells = [_cells(archive, row, sites) for row in range(len(result))]
    return Report(
        title=title,
        statement=[statement],
        numbers=list(_numbers(archive, sizes[-1], worth)),
        notices=[*_notices(archive), *(() if worth is None else worth.notices)],
        sections=[
            Section(
                "sizes",
                "Certified, broken, open",
                [
                    TableBlock(heads=size_heads, rows=counts, key="sizes", values=[_size(each) for each in sizes]),
                    Text(phrase=caption, caption=True),
                    Text(phrase=f"{says}: {result.proof.forward_passes:,} forward passes.", only="terminal"),
                ],
            ),
            *(() if worth is None else worth.sections),
            Section(
                "each",
                f"Each {word}",
                [TableBlock(heads=heads, rows=cells, left=len(heads) - 1, key="graphs", values=values)],
            ),
        ],
        origin=[
            {"Settings": [(name, str(value)) for name, value in archive.settings.items() if name != BLIND]},
            {"Versions": list(archive.provenance.items()), "Classifier": [("which", result.proof.classifier)]},
        ],
        values={
            "method": says,
            "alpha": 0,
            "threat": str(result.proof.threat),
            "class_names": list(archive.class_names),
            "forward_passes": result.proof.forward_passes,
            "seconds": result.seconds,
            "accuracy": None if archive.known is None else result.certified_accuracy(archive.known, 0),
            "majority_share": None if archive.known is None else _majority(archive)[1],
            **({} if worth is None else worth.to_json()),
        },
        needs_script="",
    )  # fmt: skip


def exact_rows(archive: ExactArchive) -> Iterator[dict[str, object]]:
    """The rows of an archive; `blind_class`, if known, is what a model answers that sees nothing attacks change."""
    blind, about = BlindRow.of(archive), ("graph", "name", "true")
    if blind is None or blind.missing:
        return archive.rows()
    names = [archive.class_names[answer] for answer in blind.answers]
    pairs = zip(archive.rows(), names, strict=True)
    return ({key: row[key] for key in about} | {"blind_class": name} | row for row, name in pairs)


def _size(each: SizeCounts) -> dict[str, object]:
    names = ("n_right", "n_certified", "n_broken", "n_open", "n_attacks", "n_left")
    about = {"size": each.size, "label": each.label, "n_rows": each.n_graphs}
    return {**about, **{name: getattr(each, name) for name in names}}


def _cells(archive: ExactArchive, row: int, sites: Sequence[Sites]) -> tuple[str, ...]:
    one, label = archive.result[row], archive.labels[row]
    wrong, attack = "" if label in (None, one.label) else ", wrong", one.attack()
    breaks = ("–", "–")
    if attack is not None:
        named = attack if attack.changes else attack.on(sites[one.object])
        breaks = (str(named), archive.class_names[attack.votes.index(1)])
    truth = "–" if label is None else archive.class_names[label]
    answer = archive.class_names[one.label] + wrong
    return archive.names[row], truth, answer, *archive.kinds(row), *breaks, f"{archive.result.proof.left(one.row):,}"


def _majority(archive: ExactArchive) -> tuple[int, float]:
    label, count = Counter(archive.truth).most_common(1)[0]
    return label, count / len(archive.truth)


def _numbers(archive: ExactArchive, last: SizeCounts, worth: Worth | None) -> Iterator[KeyFigure]:
    yield KeyFigure("0", "alpha: nothing is sampled", "alpha")
    if archive.truth:
        label, share = _majority(archive)
        right = archive.result.certified_accuracy(archive.labels, 0)
        yield KeyFigure(f"{right:.1%}", "accuracy without attack", "accuracy")
        yield KeyFigure(f"{share:.1%}", "majority class", "majority", archive.class_names[label])
    yield from () if worth is None else worth.figures
    what = "certified" if archive.known is None else "right and certified"
    number = quantity(last.n_graphs, archive.word)
    yield KeyFigure(last.percent(last.n_certified), f"of {number} {what}, {last.label}", "certified")


def _notices(archive: ExactArchive) -> Iterator[Notice]:
    yield from anchored_notice(archive.anchored, archive.word)
    if archive.result.proof.threat.anchored:
        yield Notice("The threat is anchored", archive.result.proof.threat.anchored)
    if (left := archive.result.counts()[-1]).n_open:
        text = f"{left.n_left:,} attacks are left: give a larger max_attacks, and the run goes on."
        yield Notice(f"{quantity(left.n_open, archive.word)} open: the budget ended first", text)
