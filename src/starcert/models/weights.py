"""A trained module in a file: its weights, and how they were made; read without running anything in the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol, TypeVar

import torch

from starcert.models.copies import Trainable
from starcert.models.torch_file import DamagedFileError, load_file, save_file
from starcert.models.training import Training
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.provenance import versions

__all__ = ["how_made", "load_weights", "save_weights"]

_FORMAT = "starcert weights 2"
_FORMAT_WITHOUT_DIGEST = "starcert weights 1"

_WRITERS = "starcert train writes one, and so do models.save_weights and torch.save(module.state_dict(), FILE)."

Module = TypeVar("Module", bound=torch.nn.Module)


class TrainedWithNoise(Protocol):
    """What a file tells of a `SmoothedClassifier`."""

    noise: Noise

    @property
    def classifier(self) -> object:
        """The base classifier."""


def save_weights(
    smoothed: TrainedWithNoise,
    path: str | PathLike[str],
    training: Training,
    *,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Writes the weights of the module behind a smoothed classifier into a file, with how they were made.

    Args:
        smoothed: what `fit_with_noise` or `fit_nodes_with_noise` has trained.
        path: the file, such as model.pt; it is there whole or not at all.
        training: what the training returned.
        settings: how it was trained, plain values by their names, for the record.
    """
    base = smoothed.classifier
    if not isinstance(base, Trainable):
        requirement = "smooth a classifier from a torch module on graphs"
        raise InvalidParameterError("smoothed", requirement, type(base).__name__)
    model = base.model
    made = {
        "module": type(model).__name__,
        "noise": repr(smoothed.noise),
        "best_epoch": training.best_epoch,
        "validation_accuracy": training.validation_accuracy,
        "settings": dict(settings or {}),
        "versions": versions(),
    }
    weights = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    save_file({"format": _FORMAT, "weights": weights, "made": made}, path)


def load_weights(module: Module, path: str | PathLike[str]) -> Module:
    """The module with the weights of a file, in evaluation mode: what a model function of a run returns.

    Args:
        module: made as it was before training, on any device. It is changed in place.
        path: what `save_weights` or `starcert train` wrote, or a state dict of your own from `torch.save`.
    """
    weights = _read(path)["weights"]
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        reason = " ".join(str(error).split()).partition(": ")[2][:300]
        made = how_made(path).get("module", "module of your own")
        hint = f"It holds a {made}: make the module with the settings that it was trained with."
        raise InvalidParameterError("module", f"fit the weights of {os.fspath(path)}", reason, hint) from error
    return module.eval()


def how_made(path: str | PathLike[str]) -> dict[str, Any]:
    """What a file says of the making of its weights: module, noise, best epoch, accuracy, settings and versions.

    Of a state dict of your own nothing is known: {}.
    """
    return dict(_read(path)["made"])


def _read(path: str | PathLike[str]) -> dict[str, Any]:
    """What a file holds as "weights" and "made": one of starcert's is whole, or was written before it had a digest."""
    try:
        found, has_digest = load_file(path)
        form = found.get("format") if isinstance(found, dict) else None
        if form == _FORMAT and not has_digest:
            raise DamagedFileError
    except OSError as error:
        advice = "Train first; in a file of code, name it by Path(__file__).with_name(…)."
        raise StarcertError(f"{os.fspath(path)}: cannot be read ({error.strerror}). {advice}") from error
    except DamagedFileError as error:
        advice = "Restore a good copy, or delete it and train again."
        raise StarcertError(f"{os.fspath(path)}: is damaged: {error}. {advice}") from error
    except Exception as error:  # torch raises nearly anything on a file that is none of its own
        raise StarcertError(f"{os.fspath(path)}: is no file of weights. {_WRITERS}") from error
    if form in (_FORMAT, _FORMAT_WITHOUT_DIGEST):
        return {"weights": found["weights"], "made": found["made"]}
    if not (isinstance(found, dict) and found and all(isinstance(each, torch.Tensor) for each in found.values())):
        raise StarcertError(f"{os.fspath(path)}: holds no weights of starcert, and no state dict. {_WRITERS}")
    return {"weights": found, "made": {}}
