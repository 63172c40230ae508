"""The page of a training: its learning curve, with the kept epoch marked, and every epoch in figures."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starcert import models  # which imports torch only where it is needed
from starcert.models.weighting import Weighting
from starcert.report.document import KeyFigure, Notice, assemble, target, write_page

_SERIES = (
    ("loss", "loss", "training loss"),
    ("loss", "validation_loss", "validation loss"),
    ("share", "accuracy", "accuracy of noisy copies"),
    ("share", "score", "the same, with class weights"),
)
"""For each line: the plot, the field of `Epoch`, its name. A line is drawn where the training has its figures."""


def weights_in_words(weighting: Weighting, class_names: Sequence[str]) -> str:
    """What each class counts, and why that was turned on."""
    listed = ", ".join(f"{name}: {weight:.3g}" for name, weight in zip(class_names, weighting.weights, strict=True))
    if not weighting.reason:
        return f"Class weights, as chosen: {listed}."
    default = f"Class weights: balanced by default, because {weighting.reason} (--class-weights none turns this off)."
    return f"{default} They are {listed}."


def write_training_page(
    path: str | os.PathLike[str],
    made: Mapping[str, Any],
    *,
    what: str,
    majority: float,
    weighting: Weighting | None,
    class_names: Sequence[str],
) -> None:
    """Writes how a training went as one HTML page that loads nothing.

    Args:
        path: the file.
        made: what `how_made` says of its weights.
        what: what was learned from, in words.
        majority: the share of the most frequent class among the validation objects.
        weighting: how much each class counted.
        class_names: the names of the classes.
    """
    epochs = [models.Epoch(*each) for each in made["history"]]
    kept = next((each for each in epochs if each.number == made["best_epoch"]), epochs[0])
    lines = []
    for plot, field, name in _SERIES:
        points = [(each.number + 1, getattr(each, field)) for each in epochs]
        drawn = [(x, y) for x, y in points if y is not None and math.isfinite(y)]
        if drawn and (field != "score" or weighting is not None):
            lines.append({"plot": plot, "name": name, "x": [x for x, _ in drawn], "y": [y for _, y in drawn]})
    notices = []
    if kept.only is not None:
        notices.append(Notice("One answer for everything", kept.one_answer(class_names)))
    if weighting is not None and weighting.reason:
        notices.append(Notice("A class is rare", weights_in_words(weighting, class_names)))
    content: dict[str, object] = {
        "numbers": [
            KeyFigure(f"{kept.number + 1:,}", f"the kept epoch, of {epochs[-1].number + 1:,}", "kept"),
            KeyFigure(f"{kept.accuracy:.1%}", "of noisy copies are right, on the validation part", "right"),
            KeyFigure(f"{majority:.1%}", "majority class", "majority"),
        ],
        "notices": notices,
        "module": made["module"],
        "what": what,
        "noise": made["noise"],
        "epochs": epochs,
        "kept": kept,
        "weighted": weighting is not None,
        "origin": [
            {"Settings": [(name, str(value)) for name, value in made["settings"].items()]},
            {"Versions": [(name, str(value)) for name, value in made["versions"].items()]},
        ],
    }
    data = {"lines": lines, "kept": kept.number + 1, "majority": majority}
    page = assemble(
        "report/templates/training.html", content, title=f"Training: {Path(path).stem}", data=data,
        scripts=("text.js", "charts.js", "training_page.js"),
    )  # fmt: skip
    write_page(target(path), page)
