"""What a run falls back to: a blind model, asked in the classifier's words for classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from starcert.certificates.fallback import Fallback, Predicts
from starcert.runs.inputs import RunInputs, TriedModel, aligned
from starcert.runs.models import call_model
from starcert.runs.settings import RunSettings
from starcert.runs.user_code import Reference, UserCodeError, running_user_code


@dataclass(frozen=True)
class _Model:
    """A model of the user's: its class numbers are those of the data, aligned with the classifier."""

    model: Predicts
    reference: Reference
    words: Sequence[Hashable] | None  # what the classifier calls the classes; None: by their numbers

    def predict(self, objects: Sequence[Any]) -> np.ndarray[Any, Any]:
        """The class of each object, or of each of its targets, in the words of the classifier."""
        with running_user_code(self.reference.file):
            answers = np.asarray(self.model.predict(objects)).reshape(-1)
        if self.words is None or answers.dtype.kind not in "iu" or (answers >= len(self.words)).any():
            return answers
        return np.array([self.words[each] for each in answers.tolist()], dtype=object)


def with_fallback(settings: RunSettings, inputs: RunInputs, ready: TriedModel) -> TriedModel:
    """The model of a run with what it falls back to, if it does."""
    reference, threshold = settings.fallback, settings.threshold
    if reference is None or threshold is None:
        return ready
    base, words = ready.base, ready.base.class_labels or ready.base.class_names
    assert isinstance(reference, Reference)
    train, validation = (each and aligned(each, base) for each in (inputs.train, inputs.validation))
    offered = replace(inputs, train=train, validation=validation, rule=ready.rule).offered("cpu", settings.noise)
    model = call_model(reference, offered)
    if not isinstance(model, Predicts):
        hint = "Let it return a model with a method predict on a list of objects."
        raise UserCodeError(f"{reference.file}: {reference.name} returned a {type(model).__name__}. {hint}")
    return replace(ready, fallback=Fallback(_Model(model, reference, words), threshold), blind=reference.digest)
