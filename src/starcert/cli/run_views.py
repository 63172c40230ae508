"""The printed results of training, sweeps and studies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starcert.report.other_reports import weights_in_words
from starcert.runs.training_run import TrainedRun
from starcert.system.output import duration
from starcert.system.tables import table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert_studies import Finished


def trained_object(outcome: TrainedRun, then: str) -> dict[str, object]:
    """The result of a training, for programs; `then` is the command that comes next."""
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
    """The result of a training, and the command that comes next."""
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


def study_view(finished: Finished) -> list[RenderableType]:
    """The claims of a study, whether they hold, and where its page is."""
    heads = ("claim", "published", "here", "verdict")
    rows = [(check.claim, check.published, check.measured, check.verdict) for check in finished.checks]
    notes = [f"  {check.claim}: {check.note}" for check in finished.checks if check.holds is not True and check.note]
    cost = f"{finished.seconds:.0f} s."
    claims = table(f"{finished.name}: the paper's claims", heads, rows, left=heads, most=len(rows))
    return [claims, *notes, f"{cost} Open {finished.folder / 'index.html'}"]
