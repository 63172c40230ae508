"""A trained module in a file: its weights and how they were made; nothing in the file is run when it is read.

`torch.save` writes a zip archive, and torch does not verify its checksums: a flipped bit would give other weights. So
the comment of the archive, the last bytes of the file, is the SHA-256 digest of the archive without that comment.
`torch.load` still reads such a file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from starcert.classifiers.torch import TorchClassifier
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import write_whole
from starcert.system.provenance import versions

if TYPE_CHECKING:
    from starcert.models.fitting import Smoothed, Training

__all__ = ["DamagedFileError", "how_made", "load_file", "load_weights", "save_file", "save_weights"]

_MARK = b"starcert sha256 "
_COMMENT_BYTES = len(_MARK) + 64
_NO_COMMENT = b"\0\0"
"""The last bytes of a zip archive are the length of its comment, and the comment."""

_FORMAT = "starcert weights 2"
_FORMAT_WITHOUT_DIGEST = "starcert weights 1"

_WRITERS = "starcert train writes one, and so do models.save_weights and torch.save(module.state_dict(), FILE)."

Module = TypeVar("Module", bound=torch.nn.Module)


class DamagedFileError(StarcertError):
    """A file has a digest that is not the one of its content, or lacks one that it must have."""

    def __init__(self) -> None:
        super().__init__("its content and its digest do not agree")


def save_file(content: object, path: str | PathLike[str]) -> None:
    """Writes what `torch.save` can write, with a digest; the file is there whole or not at all."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(path, [_with_digest(buffer.getvalue())])


def load_file(path: str | PathLike[str]) -> tuple[Any, bool]:
    """What a file holds, read without running anything in it, and whether it has a digest, which was then verified.

    Raises:
        OSError: the file cannot be read.
        DamagedFileError: its digest does not agree.
        Exception: nearly anything, from torch, on a file that it did not write.
    """
    data = Path(path).read_bytes()
    has_digest = data[-_COMMENT_BYTES:].startswith(_MARK)
    if has_digest and data != _with_digest(data[: -_COMMENT_BYTES - 2] + _NO_COMMENT):
        raise DamagedFileError
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True), has_digest


def _with_digest(archive: bytes) -> bytes:
    assert archive.endswith(_NO_COMMENT)
    comment = _MARK + sha256(archive).hexdigest().encode()
    return archive[:-2] + len(comment).to_bytes(2, "little") + comment


def save_weights(
    smoothed: Smoothed,
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
