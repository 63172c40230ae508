"""A training that was interrupted goes on where it was: its whole state in a file, written every few seconds.

What is drawn at random in an epoch follows from the seed and the epoch's number, or from torch's generator, whose state
is kept. So a training that goes on gives the same weights, bit by bit, as one that was never interrupted. A training
needs no checkpoint: one that cannot be read or written costs time, and a warning names it.
"""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from typing import Any, Protocol

import torch

from starcert.models.weights import load_file, save_file
from starcert.system.errors import StarcertWarning, WriteError
from starcert.system.provenance import versions

__all__ = ["Stateful", "TrainingCheckpoint"]

SECONDS = 10.0
"""The least time between two writings."""


class Stateful(Protocol):
    """A part of a training that has a state: a module, an optimizer, a schedule."""

    def state_dict(self) -> dict[str, Any]:
        """Its state, plain values and tensors."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> object:
        """Puts it into a state."""


class TrainingCheckpoint:
    """The state of a training in a file beside its weights.

    Args:
        path: the file; it is there whole or not at all.
        made_from: all that the weights follow from, plain values. A file of another training, or of other versions of
            the packages, counts as none.
    """

    def __init__(self, path: str | PathLike[str], made_from: Mapping[str, object]) -> None:
        self.path = path
        self._made_from = {**made_from, "versions": versions()}
        self._state: dict[str, Any] | None = None
        self._saved = False
        self._has_warned = False
        self._last = time.monotonic()

    def restore(self, parts: Mapping[str, Stateful], device: torch.device) -> dict[str, Any] | None:
        """Puts the parts and torch's generator into the state of the file.

        Returns:
            What else was kept; None if there is no file, or none that serves: then nothing was changed.
        """
        kept = self._read()
        if kept is None or kept.get("made_from") != self._made_from or kept["shapes"] != _shapes(parts):
            return None
        for name, part in parts.items():
            part.load_state_dict(kept["parts"][name])
        torch.random.set_rng_state(kept["random"])
        if device.type == "cuda":
            torch.cuda.set_rng_state(kept["random on device"], device)
        self._saved = True
        return dict(kept["more"])

    def _read(self) -> dict[str, Any] | None:
        try:
            kept, has_digest = load_file(self.path)
            if has_digest:
                return dict(kept)
            reason = "it has no digest"
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001  (torch raises nearly anything on a file that is not its own)
            reason = " ".join(str(error).split())[:200]
        self._warn(
            f"{os.fspath(self.path)}: this checkpoint is not used ({reason}). Training starts from the beginning."
        )
        return None

    def keep(self, parts: Mapping[str, Stateful], device: torch.device, **more: object) -> None:
        """Remembers the state at the end of an epoch, and saves it if the last time was long ago."""
        state = {
            "made_from": self._made_from,
            "shapes": _shapes(parts),
            "parts": {name: _copied(part.state_dict()) for name, part in parts.items()},
            "random": torch.random.get_rng_state(),
            "more": {name: copy.copy(value) for name, value in more.items()},
        }
        if device.type == "cuda":
            state["random on device"] = torch.cuda.get_rng_state(device)
        self._state, self._saved = state, False
        if time.monotonic() - self._last >= SECONDS:
            self.save()

    def save(self) -> bool:
        """Writes the state at the end of the last epoch, unless that was done; whether the file now holds one.

        A file that cannot be written is named in a warning, once.
        """
        if self._state is not None and not self._saved:
            self._last = time.monotonic()
            try:
                save_file(self._state, self.path)
                self._saved = True
            except WriteError as error:
                if not self._has_warned:
                    lost = "an interruption loses what was learned since the last checkpoint"
                    self._warn(f"{error.filename}: {error.reason}. {error.advice}: training goes on, but {lost}.")
                self._has_warned = True
        return self._saved

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, StarcertWarning, stacklevel=3)

    def remove(self) -> None:
        """Removes the file: the training has ended."""
        with suppress(OSError):  # none is there, or it could not be written either
            os.unlink(self.path)


def _shapes(parts: Mapping[str, Stateful]) -> dict[str, dict[str, tuple[int, ...]]]:
    """The shapes of the tensors of each part, by which one module is told from another."""
    return {
        name: {key: tuple(each.shape) for key, each in part.state_dict().items() if isinstance(each, torch.Tensor)}
        for name, part in parts.items()
    }


def _copied(state: Any) -> Any:  # noqa: ANN401  (what states are made of)
    """A copy of a state that later steps do not change; four times as fast as `deepcopy`, as it is made every epoch."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        copied = copy.copy(state)  # a state dict has attributes of its own
        copied.update((key, _copied(value)) for key, value in state.items())
        return copied
    return [_copied(value) for value in state] if isinstance(state, list) else copy.deepcopy(state)
