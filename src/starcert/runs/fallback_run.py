"""The fallback of a run: a blind model, starcert's own or from a file, asked in the classifier's words for classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from starcert.methods.fallback import Fallback, Predicts
from starcert.objects.threats import Threat
from starcert.runs.blind_run import fit_blind
from starcert.runs.inputs import RunInputs, TriedModel, aligned
from starcert.runs.models import call_model
from starcert.runs.user_code import Reference, UserCodeError, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError


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
