"""The reports of attacks that were tried on a plain model, of intervals, and of a training."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from starcert import models  # which imports torch only where it is needed
from starcert.archive import BLIND, Archive, BlindRow
from starcert.archive.exact import verdicts_by_size
from starcert.claims.outcomes import SizeCounts
from starcert.models.judging import Weighting
from starcert.objects.sites import Sites
from starcert.objects.words import Words
from starcert.report.answer import answer_of, percent
from starcert.report.blocks import (
    Curve,
    Curves,
    Headline,
    IntervalRow,
    Intervals,
    KeyFigure,
    Notice,
    Panel,
    Report,
    Section,
    TableBlock,
    Text,
    Tones,
)
from starcert.report.certificate_report import SCRIPTS, one_by_one
from starcert.report.findings import anchored_notice
from starcert.report.page_data import page_data
from starcert.report.worth import Worth
from starcert.system.output import at_most, holds_at_least, quantity

LOSSES = {"loss": "training loss", "validation_loss": "validation loss"}
SHARES = {"accuracy": "accuracy of noisy copies", "score": "the same, with class weights"}
"""The fields of an `Epoch` that are drawn, and what their lines are called."""


def exact_report(archive: Archive, sites: Sequence[Sites], title: str) -> Report:
    """The report on tried attacks; `sites` are those of the objects, which name what an attack changes."""
    result, word, worth = archive.certificates, archive.word, Worth.of(archive)
    words = Words.of(sites, nodes=archive.nodes is not None)
    proof, sizes, tried = result.proof, result.counts(archive.known), result.proof.tried_on is not None
    says, right = proof.method, "right" if archive.known else "answered"
    names = [*["n_attacks"] * tried, "n_graphs", "n_right", "n_certified", "n_broken", "n_open", *["n_left"] * tried]
    counts = [(each.label, *(f"{getattr(each, name) or 0:,}" for name in names)) for each in sizes]
    if tried:
        how = (
            f"All attacks of the threat ({proof.threat.label}) were tried on the model itself, smallest first, until "
            f"one changed its answer: {proof.forward_passes:,} forward passes. A {word} is certified if no attack "
            "changes its answer, broken if one does, and open where the budget ended first."
        )
    else:
        how = (
            f"The worst attack of the threat ({proof.threat.label}) on each {word} has a closed form. A {word} is "
            "certified if no attack changes its answer, broken if one is known that does, and open otherwise. "
            f"{archive.settings.get('link_votes', '')}".rstrip()
        )
    statement = f"{says[0].upper()}{says[1:]}. {how} This is about the plain model, not about the truth."
    caption = f"Certified, broken and open are counted among the {word}s that are {right}."
    heads = ("name", "true", "answer", *(proof.threat.label_of(each.size) for each in sizes),
             "the attack that breaks", "then", *["attacks left"] * tried)  # fmt: skip
    states = f"{word}s", right, "certified", "broken", "open"
    size_heads = ("attacks", *["number"] * tried, *states, *["attacks left"] * tried)
    cells = [_cells(archive, row, sites) for row in range(len(result))]
    each = TableBlock(heads=heads, rows=cells, left=len(heads) - 1, key="graphs", values=list(exact_rows(archive)))
    return Report(
        title=title,
        answers=[answer_of(archive, words, sites)],
        statement=[statement],
        numbers=list(_numbers(archive)),
        notices=[*_notices(archive), *worth.notices],
        sections=[
            Section(
                "sizes",
                "Certified, broken, open",
                [
                    TableBlock(heads=size_heads, rows=counts, key="sizes", values=[_size(each) for each in sizes]),
                    Text(phrase=caption, caption=True),
                    Text(phrase=f"{says}{f': {proof.forward_passes:,} forward passes' * tried}.", only="terminal"),
                ],
            ),
            *worth.sections,
            one_by_one(words, weighed=True, listed=True, votes=False),
            Section("each", f"Each {word}", [each], "terminal"),
        ],
        origin=[
            {"Settings": [(name, str(value)) for name, value in archive.settings.items() if name != BLIND]},
            {
                "Versions": list(archive.provenance.items()),
                "Classifier": [("which", getattr(proof, "classifier", says))],
            },
        ],
        values={
            "method": says,
            "alpha": 0,
            "threat": str(proof.threat),
            "class_names": list(archive.class_names),
            "forward_passes": proof.forward_passes,
            "seconds": result.seconds,
            "accuracy": None if archive.known is None else result.certified_accuracy(archive.known, 0),
            "majority_share": None if archive.known is None else _majority(archive)[1],
            **worth.to_json(),
        },
        skip=("graphs", f"the {words.many}"),
        scripts=SCRIPTS,
        data=page_data(archive, sites),
        needs_script="The table and the drawings",
    )  # fmt: skip


def exact_rows(archive: Archive) -> Iterable[dict[str, object]]:
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


def _cells(archive: Archive, row: int, sites: Sequence[Sites]) -> tuple[str, ...]:
    one, label = archive.certificates[row], archive.labels[row]
    wrong, attack = "" if label in (None, one.label) else ", wrong", one.attack()
    breaks = ("–", "–")
    if attack is not None:
        named = attack if attack.changes else attack.on(sites[one.object])
        breaks = (str(named), archive.class_names[attack.votes.index(1)])
    truth = "–" if label is None else archive.class_names[label]
    answer = archive.class_names[one.label] + wrong
    return (
        archive.names[row],
        truth,
        answer,
        *verdicts_by_size(archive, row),
        *breaks,
        *([f"{archive.certificates.proof.left(one.row):,}"] if archive.certificates.proof.tried_on else []),
    )


def _majority(archive: Archive) -> tuple[int, float]:
    label, count = Counter(archive.truth).most_common(1)[0]
    return label, count / len(archive.truth)


def _numbers(archive: Archive) -> Iterator[KeyFigure]:
    yield KeyFigure("0", "alpha: nothing is sampled", "alpha")
    if archive.truth:
        label, share = _majority(archive)
        right = archive.certificates.certified_accuracy(archive.labels, 0)
        yield KeyFigure(f"{right:.1%}", "accuracy without attack", "accuracy")
        yield KeyFigure(f"{share:.1%}", "majority class", "majority", archive.class_names[label])


def _notices(archive: Archive) -> Iterator[Notice]:
    yield from anchored_notice(archive.anchored, archive.word)
    if archive.certificates.proof.threat.anchored:
        yield Notice("The threat is anchored", archive.certificates.proof.threat.anchored)
    if archive.certificates.proof.tried_on and (left := archive.certificates.counts()[-1]).n_open:
        text = f"{left.n_left:,} attacks are left: give a larger max_attacks, and the run goes on."
        yield Notice(f"{quantity(left.n_open, archive.word)} open: the budget ended first", text)


def interval_report(archive: Archive, title: str) -> Report:
    """The report on the outputs on noisy copies of each row, and of all that an attacker can make of it."""
    result, word, whats = archive.certificates, archive.word, [each.what for each in archive.claims[0]]
    claims, intervals = [archive.title(each) for each in whats], _ends(archive)
    means = [place for place, claim in enumerate(whats) if claim.above is None][::-1]  # the widest first
    columns = list(zip(archive.names, archive.labels, result, intervals, strict=True))
    low, high, steps = result.proof.outputs.low, result.proof.outputs.high, result.proof.outputs.steps
    share = f"each {word}" if result.together == 1 else f"all {result.together:,} {word}s together"
    whose = "Each interval by itself contains" if result.together == 1 else "Those of a column together contain"
    alpha = result.proof.alpha
    statement = (
        f"The model gives a number from {low} to {high}, known here by its step of {steps}. {whose}, with probability "
        f"at least {holds_at_least(alpha)} over the sampling, the mean output on noisy copies of the {word} and "
        f"of every {word} that the attacker can make of it. This is about the smoothed model, not about the truth."
    )
    drawn, rows = [], []
    for name, label, one, found in sorted(columns, key=lambda each: each[2].estimate):
        drawn.append(IntervalRow(name, [found[place] for place in means], one.estimate, label))
        truth, ends = "–" if label is None else f"{label:.4g}", (f"{low:.4g} to {high:.4g}" for low, high in found)
        rows.append((name, truth, f"{one.estimate:.4g}", *ends))
    values = [
        {"name": name, "true": label, "estimate": one.estimate, "intervals": found}
        for name, label, one, found in columns
    ]
    caption = (
        "Thin lines: under the threat, if there is one. Thick lines: without attack. Dots are estimates, red marks the "
        "true numbers, where they are known."
    )
    return Report(
        title=title,
        answers=[_mean_widths(archive)],
        statement=[statement],
        numbers=[
            KeyFigure(f"{len(archive):,}", f"{word}s", "rows"),
            KeyFigure(at_most(alpha), f"alpha, for {share}", "alpha"),
        ],
        notices=list(anchored_notice(archive.anchored, word)),
        sections=[
            Section(
                "intervals",
                "Intervals",
                [
                    Intervals(low=low, high=high, rows=drawn, about=f"Intervals of each {word}, by its estimate"),
                    Text(phrase=caption, caption=True, only="page"),
                    TableBlock(
                        title="What intervals are worth",
                        heads=("interval", "mean width", "true inside", "mean worst error"),
                        rows=_figures(archive),
                        only="terminal",
                    ),
                    TableBlock(
                        title=f"Each {word}", heads=("name", "true", "estimate", *claims), rows=rows,
                        key="intervals", values=values,
                    ),
                ],
            )
        ],
        origin=[
            {"Settings": [(name, str(value)) for name, value in archive.settings.items()]},
            {"Versions": list(archive.provenance.items())},
        ],
        values={"alpha": alpha, "together": result.together, "claims": claims},
        needs_script="",
    )  # fmt: skip


def _mean_widths(archive: Archive) -> Headline:
    """How wide the intervals are on average, of the whole range of outputs."""
    outputs = archive.certificates.proof.outputs
    whats, ends = [each.what for each in archive.claims[0]], np.array(_ends(archive))
    widths = {archive.title(what): float((found[:, 1] - found[:, 0]).mean())
              for what, found in zip(whats, ends.transpose(1, 0, 2), strict=True) if what.above is None}  # fmt: skip
    told = ", ".join(f"{width:.4g} {what.removeprefix('mean ')}" for what, width in widths.items())
    share = max(widths.values(), default=0.0) / (outputs.high - outputs.low)
    shown = Tones((("open", share), ("by-evidence", 1 - share)))
    phrase = f"The intervals are this wide on average: {told}; outputs lie from {outputs.low:g} to {outputs.high:g}."
    return Headline(phrase, shown, {"mean_width": widths, "range": [outputs.low, outputs.high]})


def _ends(archive: Archive) -> list[list[tuple[float, float]]]:
    """The ends of the intervals of each row."""
    return [[(each.low, each.high) for each in row] for row in archive.claims]


def _figures(archive: Archive) -> list[tuple[str, ...]]:
    """Of each claim the mean width of its intervals and, where true numbers are known, how these lie to it.

    That is the share of them inside, and how far an interval reaches from the true number, on average.
    """
    found = list[tuple[str, ...]]()
    known = [row for row, label in enumerate(archive.labels) if label is not None]
    truth = np.array([archive.labels[row] for row in known], dtype=float)
    whats = [each.what for each in archive.claims[0]]
    for claim, ends in zip(whats, np.array(_ends(archive)).transpose(1, 2, 0), strict=True):
        inside = reach = "–"
        if known and claim.above is None:
            low, high = ends[:, known]
            inside = f"{((low <= truth) & (truth <= high)).mean():.1%}"
            reach = f"{np.maximum(high - truth, truth - low).mean():.4g}"
        found.append((archive.title(claim), f"{(ends[1] - ends[0]).mean():.4g}", inside, reach))
    return found


def weights_in_words(weighting: Weighting, class_names: Sequence[str]) -> str:
    """The weight of each class, and the reason for it."""
    listed = ", ".join(f"{name}: {weight:.3g}" for name, weight in zip(class_names, weighting.weights, strict=True))
    if not weighting.reason:
        return f"Class weights, as chosen: {listed}."
    default = f"Class weights: balanced by default, because {weighting.reason} (--class-weights none turns this off)."
    return f"{default} They are {listed}."


def training_report(
    made: Mapping[str, Any],
    title: str,
    *,
    what: str,
    majority: float,
    weighting: Weighting | None,
    class_names: Sequence[str],
) -> Report:
    """The course of a training.

    Args:
        made: what `how_made` says of its weights.
        title: the heading of the page.
        what: what was learned from, in words.
        majority: the share of the most frequent class among the validation objects.
        weighting: how much each class counted.
        class_names: the names of the classes.
    """
    epochs = [models.Epoch(*each) for each in made["history"]]
    kept = next((each for each in epochs if each.number == made["best_epoch"]), epochs[0])
    losses, shares = (_lines(epochs, names) for names in (LOSSES, SHARES if weighting else {**SHARES, "score": ""}))
    top = max((y for line in losses for y in line.y), default=1.0)
    ends = [1, epochs[-1].number + 1]
    shares.append(Curve(f"majority class {majority:.1%}", ends, [majority, majority], look="mark"))
    at, chosen = [kept.number + 1] * 2, f"kept: epoch {kept.number + 1:,}"
    notices = []
    if kept.only is not None:
        notices.append(Notice("One answer for everything", kept.one_answer(class_names)))
    if weighting is not None and weighting.reason:
        notices.append(Notice("A class is rare", weights_in_words(weighting, class_names)))
    weighted = (
        " Classes are weighted: the losses and the choice of the epoch count every object by the weight of its class."
    )
    heads = ("epoch", "training loss", "validation loss", "accuracy", *["weighted"] * (weighting is not None))
    rows = [
        (f"{each.number + 1}{', kept' * (each is kept)}", f"{each.loss:.4g}", f"{each.validation_loss:.4g}",
         f"{each.accuracy:.1%}", *([f"{each.score:.1%}"] if weighting is not None else []))
        for each in epochs
    ]  # fmt: skip
    return Report(
        title=title,
        answers=[
            Headline(
                f"{percent(kept.accuracy)} of the noisy copies of the validation part are right after epoch "
                f"{kept.number + 1:,} of {epochs[-1].number + 1:,}, which is kept; the majority class: "
                f"{percent(majority)}.",
                Tones((("right", kept.accuracy), ("wrong", 1 - kept.accuracy))),
                {"right": kept.accuracy, "majority": majority},
            )
        ],
        statement=[
            f"{made['module']} learned from {what}, on fresh noisy copies in every epoch, under {made['noise']}. The "
            "validation part decided which epoch was kept: these figures say how the choice was made, not how good the "
            "model is on new objects."
        ],
        numbers=[
            KeyFigure(f"{kept.number + 1:,}", f"the kept epoch, of {epochs[-1].number + 1:,}", "kept"),
            KeyFigure(f"{kept.accuracy:.1%}", "of noisy copies are right, on the validation part", "right"),
            KeyFigure(f"{majority:.1%}", "majority class", "majority"),
        ],
        notices=notices,
        sections=[
            Section(
                "curve",
                "Learning curve",
                [
                    Curves(
                        name="curve-plots",
                        panels=[
                            Panel("epoch", "loss", [*losses, Curve(chosen, at, [0, top], look="mark")], shares=False),
                            Panel("epoch", "share", [*shares, Curve(chosen, at, [0, 1], look="mark")]),
                        ],
                        about="Losses and shares by epoch; the table below has the numbers.",
                    ),
                    Text(
                        phrase="The vertical line is the kept epoch. The training loss is that of the steps of an "
                        "epoch, the validation loss that of the model after it." + weighted * (weighting is not None),
                        caption=True,
                        only="page",
                    ),
                    TableBlock(
                        heads=heads, rows=rows, name="epochs", folded=0, unfold="Epoch by epoch",
                        only="page", key="epochs", values=[each._asdict() for each in epochs],
                    ),
                ],
            )
        ],
        origin=[
            {"Settings": [(name, str(value)) for name, value in made["settings"].items()]},
            {"Versions": [(name, str(value)) for name, value in made["versions"].items()]},
        ],
        values={"kept": kept.number + 1, "accuracy": kept.accuracy, "majority_share": majority},
    )  # fmt: skip


def _lines(epochs: Sequence[models.Epoch], names: Mapping[str, str]) -> list[Curve]:
    """A line for each field where the training has its figures."""
    found = []
    for field, name in names.items():
        points = [(each.number + 1, getattr(each, field)) for each in epochs if name]
        drawn = [(x, y) for x, y in points if y is not None and math.isfinite(y)]
        if drawn:
            hover = [f"epoch {x}: {name} {y:.4g}" for x, y in drawn]
            found.append(Curve(name, [x for x, _ in drawn], [y for _, y in drawn], hover, look="line"))
    return found
