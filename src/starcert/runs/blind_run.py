"""The blind row of a run: what a model answers that learned from the training part, and sees what no attack changes.

A run may fall back to such a model, or to one from a file, in the classifier's words for classes. No certificate rests
on the row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from starcert import baselines
from starcert.archive import BlindRow
from starcert.baselines import BlindModel
from starcert.methods.preparation import Fallback, Predicts
from starcert.objects.threats import Threat
from starcert.runs.inputs import RunInputs, TriedModel, aligned
from starcert.runs.models import call_model
from starcert.runs.training_run import TRAIN_MASK
from starcert.runs.user_code import Reference, UserCodeError, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError

MAX_TRAINING = 5_000  # of more training objects, some are drawn from every class
NO_PART = "There is no training part to learn from: --split test has one."
ITSELF = "The training part itself is certified: --split test is another one."
NO_MASK = f"The node data {TRAIN_MASK} are missing: they say which nodes are learned from."


class FittedBlind(NamedTuple):
    """The blind model of a run, and how many objects or nodes it learned from; or why there is none."""

    model: BlindModel | None
    learned: int = 0
    missing: str = ""


def fit_blind(inputs: RunInputs, ready: TriedModel) -> FittedBlind:
    """Fits the blind model on the training part, once; classes are numbered as the classifier numbers them."""
    settings = ready.settings
    if ready.fitted is not None:
        return ready.fitted
    if ready.data.of_nodes:
        if TRAIN_MASK not in ready.data.graph.node_data:
            return FittedBlind(None, missing=NO_MASK)
        train = ready.data
        learned = int(np.asarray(train.graph.node_data[TRAIN_MASK]).astype(bool).sum())
    else:
        if settings.split == "train" or inputs.train is None:
            return FittedBlind(None, missing=ITSELF if settings.split == "train" else NO_PART)
        train = aligned(inputs.train.labelled, ready.base).limited(MAX_TRAINING, settings.split_seed)
        learned = len(train)
        if not learned:
            return FittedBlind(None, missing="No class in the training part is known.")
    noise, rule = ready.problem.noise, ready.rule
    model = baselines.blind(train, noise=noise, regions=rule, threat=settings.threat, progress="blind model")
    return FittedBlind(model, learned)


def blind_row(inputs: RunInputs, ready: TriedModel) -> BlindRow:
    """The answers of the blind model for each row, or why there are none; no run fails because of it."""
    if not ready.data.known:
        return BlindRow(missing="No class of what is certified is known.")
    try:
        model, learned, missing = fit_blind(inputs, ready)
        if model is None:
            return BlindRow(missing=missing)
        found, nodes = model.predict(ready.data.graphs), ready.job.target_nodes
        answers = (found if nodes is None else nodes.labels(found)).tolist()
    except Exception as error:  # noqa: BLE001  (votes are worth more than this row, whatever happened to it)
        why = str(error) if isinstance(error, StarcertError) else f"{type(error).__name__}: {error}"
        return BlindRow(missing=f"It could not be fitted. {why}")
    return BlindRow(model.description, model.cross_validated, learned, tuple(map(int, answers)))


@dataclass(frozen=True)
class _InWords:
    """A model whose class numbers are those of the data, as the classifier numbers them."""

    model: Predicts
    reference: Reference | None  # the file that it is from; None: it is starcert's own
    words: Sequence[Hashable] | None  # what the classifier calls the classes; None: by their numbers

    def predict(self, objects: Sequence[Any]) -> np.ndarray[Any, Any]:
        """The class of each object, or of each of its targets, in the words of the classifier."""
        if self.reference is None:
            answers = np.asarray(self.model.predict(objects))
        else:
            with running_user_code(self.reference.file):
                answers = np.asarray(self.model.predict(objects)).reshape(-1)
        if self.words is None or answers.dtype.kind not in "iu" or (answers >= len(self.words)).any():
            return answers
        return np.array([self.words[each] for each in answers.tolist()], dtype=object)


def with_fallback(inputs: RunInputs, ready: TriedModel) -> TriedModel:
    """The model of a run with what it falls back to, if it does."""
    settings, base = ready.settings, ready.base
    given, threshold = settings.fallback, settings.threshold
    if given is None or threshold is None:
        return ready
    words = base.class_labels or base.class_names
    if not isinstance(given, Reference):
        _check_threat(settings.threat, ready)
        fitted = fit_blind(inputs, ready)
        if fitted.model is None:
            raise StarcertError(f"There is no blind model to fall back to. {fitted.missing}")
        return replace(ready, fallback=Fallback(_InWords(fitted.model, None, words), threshold), fitted=fitted)
    train, validation = (None if each is None else aligned(each, base) for each in (inputs.train, inputs.validation))
    offered = replace(inputs, rule=ready.rule, train=train, validation=validation).offered("cpu", settings.noise)
    found = call_model(given, offered)
    if not isinstance(found, Predicts):
        hint = "Let it return a model with a method predict on a list of objects."
        raise UserCodeError(f"{given.file}: {given.name} returned a {type(found).__name__}. {hint}")
    return replace(ready, fallback=Fallback(_InWords(found, given, words), threshold), blind=given.digest)


def _check_threat(threat: Threat | None, ready: TriedModel) -> None:
    """Refuses a threat that leaves regions alone: the blind model would see them, but radii are certified there too."""
    if threat is None or threat.by_radius:
        return
    alone = {layer.name for each in ready.problem.sites for layer in each.layers if not threat.fits(layer)}
    if alone:
        must = (
            f"be a threat that may change all regions, where a run falls back to blind: not {', '.join(sorted(alone))}"
        )
        hint = (
            "Let what it leaves alone lie in no region, or fall back to a model of yours: --fallback FILE.PY:FUNCTION."
        )
        raise InvalidParameterError("threat", must, str(threat), hint)
