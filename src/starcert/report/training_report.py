"""The report of a training: its learning curve, with the kept epoch marked, and every epoch in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from starcert import models  # which imports torch only where it is needed
from starcert.models.judging import Weighting
from starcert.report.blocks import Curve, Curves, KeyFigure, Notice, Panel, Report, Section, TableBlock, Text

LOSSES = {"loss": "training loss", "validation_loss": "validation loss"}
SHARES = {"accuracy": "accuracy of noisy copies", "score": "the same, with class weights"}
"""The fields of an `Epoch` that are drawn, and what their lines are called."""


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
