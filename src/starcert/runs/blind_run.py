"""The blind row of a run: what a model answers that learned from the training part, and sees what no attack changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from starcert import baselines
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


def blind_row(settings: RunSettings, inputs: RunInputs, ready: TriedModel, noise: Noise | None = None) -> BlindRow:
    """The answers of the blind model for each row, or why there are none; no run fails because of it."""
    if not ready.data.known:
        return BlindRow(missing="No class of what is certified is known.")
    given: dict[str, Any] = {"noise": noise or ready.problem.noise, "regions": ready.rule, "threat": settings.threat}
    try:
        if ready.data.of_nodes:
            return _of_nodes(ready, given)
        if settings.split == "train" or inputs.train is None:
            return BlindRow(missing=ITSELF if settings.split == "train" else NO_PART)
        train = aligned(inputs.train.labelled, ready.base).limited(MAX_TRAINING, settings.split_seed)
        if not len(train):
            return BlindRow(missing="No class in the training part is known.")
        model = baselines.blind(train, **given)
        answers = model.predict(ready.data.graphs)
    except Exception as error:  # noqa: BLE001  (votes are worth more than this row, whatever happened to it)
        why = str(error) if isinstance(error, StarcertError) else f"{type(error).__name__}: {error}"
        return BlindRow(missing=f"It could not be fitted. {why}")
    return BlindRow(model.description, model.cross_validated, len(train), tuple(answers.tolist()))


def _of_nodes(ready: TriedModel, given: dict[str, Any]) -> BlindRow:
    data, nodes = ready.data, ready.job.target_nodes
    assert nodes is not None
    if TRAIN_MASK not in data.graph.node_data:
        return BlindRow(missing=NO_MASK)
    model = baselines.blind(data, **given)
    answers = nodes.labels(model.predict(data.graph))
    learned = int(np.asarray(data.graph.node_data[TRAIN_MASK]).astype(bool).sum())
    return BlindRow(model.description, model.cross_validated, learned, tuple(int(each) for each in answers.tolist()))
