"""The blind row of a run: what a model answers that learned from the training part, and sees what no attack changes.

A run may fall back to such a model, or to one from a file, in the classifier's words for classes. The row is kept in a
file beside the votes, under a digest of all that it follows from; a file that does not fit this digest counts as none.
No certificate rests on it.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from starcert import baselines
from starcert.archive import BlindRow
from starcert.baselines import BlindModel
from starcert.datasets.dataset import Dataset
from starcert.methods.preparation import Fallback, Predicts
from starcert.objects.content import digest
from starcert.objects.threats import Threat
from starcert.runs.inputs import RunInputs, TriedModel, aligned, describe_rule
from starcert.runs.models import call_model
from starcert.runs.setting_values import without_folders
from starcert.runs.training_run import TRAIN_MASK
from starcert.runs.user_code import Reference, UserCodeError, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import versions, write_whole

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
    if ready.fitted is not None:
        return ready.fitted
    train, learned, missing = _training_part(inputs, ready)
    if train is None:
        return FittedBlind(None, missing=missing)
    noise, rule = ready.problem.noise, ready.rule
    model = baselines.blind(train, noise=noise, regions=rule, threat=ready.settings.threat, progress="blind model")
    return FittedBlind(model, learned)


def _training_part(inputs: RunInputs, ready: TriedModel) -> tuple[Dataset | None, int, str]:
    """The training part, and the number of its objects or nodes; or the reason that there is none."""
    if ready.data.of_nodes:
        if TRAIN_MASK not in ready.data.graph.node_data:
            return None, 0, NO_MASK
        return ready.data, int(np.asarray(ready.data.graph.node_data[TRAIN_MASK]).astype(bool).sum()), ""
    settings = ready.settings
    if settings.split == "train" or inputs.train is None:
        return None, 0, ITSELF if settings.split == "train" else NO_PART
    train = aligned(inputs.train.labelled, ready.base).limited(MAX_TRAINING, settings.split_seed)
    return (train, len(train), "") if len(train) else (None, 0, "No class in the training part is known.")


def blind_row(inputs: RunInputs, ready: TriedModel, kept: Path | None = None) -> BlindRow:
    """The answers of the blind model for each row, or why there are none; no run fails because of it.

    They are read from the file where they are `kept`, if it has them, and else written there.
    """
    if not ready.data.known:
        return BlindRow(missing="No class of what is certified is known.")
    try:
        train, _, missing = _training_part(inputs, ready)
        if train is None:
            return BlindRow(missing=missing)
        key = _digest(ready, train)
        if kept is not None and (row := _read(kept, key)) is not None:
            return row
        model, learned, _ = fit_blind(inputs, ready)
        assert model is not None
        found, nodes = model.predict(ready.data.graphs), ready.job.target_nodes
        answers = (found if nodes is None else nodes.labels(found)).tolist()
    except Exception as error:  # noqa: BLE001  (votes are worth more than this row, whatever happened to it)
        why = str(error) if isinstance(error, StarcertError) else f"{type(error).__name__}: {error}"
        return BlindRow(missing=f"It could not be fitted. {why}")
    row = BlindRow(model.description, model.cross_validated, learned, tuple(map(int, answers)))
    if kept is not None:
        with suppress(OSError):  # the files of the run will say what is wrong
            write_whole(kept, [json.dumps({"digest": digest(key, row.to_json()), "row": row.to_json()})])
    return row


def _digest(ready: TriedModel, train: Dataset) -> str:
    """Of all that the row follows from, the code that learns included."""
    settings = ready.settings
    rule, threat = settings.regions, without_folders(settings.threat)
    asked = describe_rule(ready.rule), rule.digest if isinstance(rule, Reference) else "", str(threat), settings.nodes
    code = [file.read_bytes() for file in sorted(Path(baselines.__file__).parent.glob("*.py"))]
    return digest(train.digest, ready.digests, ready.problem.noise.to_dict(), asked, code, versions())


def _read(kept: Path, key: str) -> BlindRow | None:
    """The row in a file, if it is whole and follows from the same."""
    if not kept.is_file():
        return None
    try:
        whole = json.loads(kept.read_text(encoding="utf-8"))
        row = whole["row"]
        return BlindRow(**row | {"answers": tuple(row["answers"])}) if whole["digest"] == digest(key, row) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


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
