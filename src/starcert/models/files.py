"""Files of a training: its weights and how they were made, and the state of one that is not finished.

Nothing in such a file is run when it is read. `torch.save` writes a zip archive, and torch does not verify its
checksums: a flipped bit would give other weights. So the comment of the archive, the last bytes of the file, is the
SHA-256 digest of the archive without that comment. `torch.load` still reads such a file.

What is drawn at random in an epoch follows from the seed and the epoch's number, or from torch's generator, whose state
is kept. So a training that continues from a `TrainingCheckpoint` gives the same weights, bit by bit, as one that was
never interrupted. A checkpoint that cannot be read or written costs time, and a warning names it.
"""

from __future__ import annotations

import copy
import io
import os
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import torch

from starcert.classifiers.torch import TorchClassifier
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning, WriteError
from starcert.system.files import versions, write_whole

if TYPE_CHECKING:
    from starcert.models.fitting import Training

SECONDS = 10.0  # the least time between two writings of a checkpoint

_MARK = b"starcert sha256 "
_COMMENT_BYTES = len(_MARK) + 64
_NO_COMMENT = b"\0\0"  # the last bytes of a zip archive are the length of its comment, and the comment

_FORMAT = "starcert weights 2"
_CHECKPOINT_FORMAT = 2  # that of 0.2.0 holds epochs with other figures

_DAMAGED = "its content and its digest do not agree"
_WRITERS = "starcert train writes one, and so do models.save_weights and torch.save(module.state_dict(), FILE)."

Module = TypeVar("Module", bound=torch.nn.Module)


TrainingPart: TypeAlias = torch.nn.Module | torch.optim.Optimizer | torch.optim.lr_scheduler.StepLR
"""A part of a training that has a state."""


def save_file(content: object, path: str | PathLike[str]) -> None:
    """Writes what `torch.save` can write, with a digest; the file is there whole or not at all."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(path, [_with_digest(buffer.getvalue())])


def load_file(path: str | PathLike[str]) -> tuple[Any, bool]:
    """The content of a file, read without running anything in it, and true if it has a digest, which was then verified.

    torch raises nearly anything on a file that it did not write.
    """
    data = Path(path).read_bytes()
    has_digest = data[-_COMMENT_BYTES:].startswith(_MARK)
    if has_digest and data != _with_digest(data[: -_COMMENT_BYTES - 2] + _NO_COMMENT):
        raise StarcertError(_DAMAGED)
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True), has_digest


def _with_digest(archive: bytes) -> bytes:
    assert archive.endswith(_NO_COMMENT)
    comment = _MARK + sha256(archive).hexdigest().encode()
    return archive[:-2] + len(comment).to_bytes(2, "little") + comment


def save_weights(
    smoothed: Any,  # noqa: ANN401  (a `SmoothedClassifier`: it is made in a layer above this one)
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
    if not isinstance(base, TorchClassifier):
        requirement = "smooth a classifier from a torch module on graphs"
        raise InvalidParameterError("smoothed", requirement, type(base).__name__)
    made = {
        "module": type(base.model).__name__,
        "noise": repr(smoothed.noise),
        "best_epoch": training.best_epoch,
        "validation_accuracy": training.validation_accuracy,
        "history": [tuple(each) for each in training.history],
        "settings": dict(settings or {}),
        "versions": versions(),
    }
    weights = {name: tensor.detach().cpu() for name, tensor in base.model.state_dict().items()}
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
    """What a file records about its weights: module, noise, epochs, accuracy, settings and versions.

    Of a state dict of your own nothing is known: {}.
    """
    return dict(_read(path)["made"])


def _read(path: str | PathLike[str]) -> dict[str, Any]:
    """The "weights" and "made" of a file; a file of starcert's must be whole."""
    try:
        found, has_digest = load_file(path)
        form = found.get("format") if isinstance(found, dict) else None
        if form == _FORMAT and not has_digest:
            raise StarcertError(_DAMAGED)
    except OSError as error:
        advice = "Train first; in a file of code, name it by Path(__file__).with_name(…)."
        raise StarcertError(f"{os.fspath(path)}: cannot be read ({error.strerror}). {advice}") from error
    except StarcertError as error:
        advice = "Restore a good copy, or delete it and train again."
        raise StarcertError(f"{os.fspath(path)}: is damaged: {error}. {advice}") from error
    except Exception as error:  # torch raises nearly anything on a file that is none of its own
        raise StarcertError(f"{os.fspath(path)}: is no file of weights. {_WRITERS}") from error
    if form == _FORMAT:
        return {"weights": found["weights"], "made": found["made"]}
    if not (isinstance(found, dict) and found and all(isinstance(each, torch.Tensor) for each in found.values())):
        raise StarcertError(f"{os.fspath(path)}: holds no weights of starcert, and no state dict. {_WRITERS}")
    return {"weights": found, "made": {}}


class TrainingCheckpoint:
    """The state of a training in a file beside its weights.

    Args:
        path: the file; it is there whole or not at all.
        made_from: all that the weights follow from, plain values. A file of another training, or of other versions of
            the packages, counts as none.
    """

    def __init__(self, path: str | PathLike[str], made_from: Mapping[str, object]) -> None:
        self.path = path
        self._made_from = {**made_from, "format": _CHECKPOINT_FORMAT, "versions": versions()}
        self._state: dict[str, Any] | None = None
        self._saved = False
        self._has_warned = False
        self._last = time.monotonic()

    def restore(self, parts: Mapping[str, TrainingPart], device: torch.device) -> dict[str, Any] | None:
        """Puts the parts and torch's generator into the state of the file; what else was kept.

        None if there is no file, or none that serves: then nothing was changed.
        """
        try:
            found, has_digest = load_file(self.path)
            kept, reason = dict(found), "" if has_digest else "it has no digest"
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001  (torch raises nearly anything on a file that is not its own)
            kept, reason = {}, " ".join(str(error).split())[:200] or type(error).__name__
        if reason:
            _warn(
                f"{os.fspath(self.path)}: this checkpoint is not used ({reason}). Training starts from the beginning."
            )
        if reason or kept.get("made_from") != self._made_from or kept["shapes"] != _shapes(parts):
            return None
        for name, part in parts.items():
            part.load_state_dict(kept["parts"][name])
        torch.random.set_rng_state(kept["random"])
        if device.type == "cuda":
            torch.cuda.set_rng_state(kept["random on device"], device)
        self._saved = True
        return dict(kept["more"])

    def keep(self, parts: Mapping[str, TrainingPart], device: torch.device, **more: object) -> None:
        """Remembers the state at the end of an epoch, and saves it if the last time was long ago."""
        state = {
            "made_from": self._made_from,
            "shapes": _shapes(parts),
            "parts": {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()},
            "random": torch.random.get_rng_state(),
            "more": {name: copy.copy(value) for name, value in more.items()},
        }
        if device.type == "cuda":
            state["random on device"] = torch.cuda.get_rng_state(device)
        self._state, self._saved = state, False
        if time.monotonic() - self._last >= SECONDS:
            self.save()

    def save(self) -> bool:
        """Writes the state at the end of the last epoch, unless that was done; whether the file now holds one."""
        if self._state is not None and not self._saved:
            self._last = time.monotonic()
            try:
                save_file(self._state, self.path)
                self._saved = True
            except WriteError as error:
                if not self._has_warned:
                    lost = "an interruption loses what was learned since the last checkpoint"
                    _warn(f"{error.filename}: {error.reason}. {error.advice}: training goes on, but {lost}.")
                self._has_warned = True
        return self._saved

    def remove(self) -> None:
        """Removes the file: the training has ended."""
        with suppress(OSError):  # none is there, or it could not be written either
            os.unlink(self.path)


def _warn(message: str) -> None:
    warnings.warn(message, StarcertWarning, stacklevel=3)


def _shapes(parts: Mapping[str, TrainingPart]) -> dict[str, dict[str, tuple[int, ...]]]:
    """The shapes of the tensors of each part, by which modules are distinguished."""
    return {
        name: {key: tuple(each.shape) for key, each in part.state_dict().items() if isinstance(each, torch.Tensor)}
        for name, part in parts.items()
    }
