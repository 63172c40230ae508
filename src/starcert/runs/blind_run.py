"""The blind row of a run: what a model answers that learned from the training part, and sees what no attack changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from starcert import baselines
from starcert.baselines import BlindModel
from starcert.files import BlindRow
from starcert.objects.noise import Noise
from starcert.runs.inputs import RunInputs, TriedModel, aligned
from starcert.runs.settings import RunSettings
from starcert.runs.training_run import TRAIN_MASK
from starcert.system.errors import StarcertError

MAX_TRAINING = 5_000  # of more training objects, some are drawn from every class
NO_PART = "There is no training part to learn from: --split test has one."
ITSELF = "The training part itself is certified: --split test is another one."
NO_MASK = f"The node data {TRAIN_MASK} are missing: they say which nodes are learned from."


class FittedBlind(NamedTuple):
    """The blind model of a run, and how many objects or nodes it learned from; or why there is none."""

    model: BlindModel | None
    learned: int = 0
    missing: str = ""


def fit_blind(settings: RunSettings, inputs: RunInputs, ready: TriedModel, noise: Noise | None = None) -> FittedBlind:
    """Fits the blind model on the training part, once; classes are numbered as the classifier numbers them."""
    if ready.fitted is not None and noise in (None, ready.problem.noise):
        return ready.fitted
    given: dict[str, Any] = {"noise": noise or ready.problem.noise, "regions": ready.rule, "threat": settings.threat}
    if ready.data.of_nodes:
        if TRAIN_MASK not in ready.data.graph.node_data:
            return FittedBlind(None, missing=NO_MASK)
        learned = int(np.asarray(ready.data.graph.node_data[TRAIN_MASK]).astype(bool).sum())
        return FittedBlind(baselines.blind(ready.data, **given), learned)
    if settings.split == "train" or inputs.train is None:
        return FittedBlind(None, missing=ITSELF if settings.split == "train" else NO_PART)
    train = aligned(inputs.train.labelled, ready.base).limited(MAX_TRAINING, settings.split_seed)
    if not len(train):
        return FittedBlind(None, missing="No class in the training part is known.")
    return FittedBlind(baselines.blind(train, **given), len(train))


def blind_row(settings: RunSettings, inputs: RunInputs, ready: TriedModel, noise: Noise | None = None) -> BlindRow:
    """The answers of the blind model for each row, or why there are none; no run fails because of it."""
    if not ready.data.known:
        return BlindRow(missing="No class of what is certified is known.")
    try:
        model, learned, missing = fit_blind(settings, inputs, ready, noise)
        if model is None:
            return BlindRow(missing=missing)
        found, nodes = model.predict(ready.data.graphs), ready.job.target_nodes
        answers = (found if nodes is None else nodes.labels(found)).tolist()
    except Exception as error:  # noqa: BLE001  (votes are worth more than this row, whatever happened to it)
        why = str(error) if isinstance(error, StarcertError) else f"{type(error).__name__}: {error}"
        return BlindRow(missing=f"It could not be fitted. {why}")
    return BlindRow(model.description, model.cross_validated, learned, tuple(map(int, answers)))
