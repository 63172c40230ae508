"""A training that was interrupted goes on where it was: its whole state in a file, every so often.

What is drawn at random in an epoch follows from the seed and the epoch's number, or from torch's generator, whose state
is kept. So a training that goes on gives the same weights, bit by bit, as one that was never interrupted.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from typing import Any, Protocol

import torch

from starcert.system.files import write_whole
from starcert.system.provenance import versions

__all__ = ["Stateful", "TrainingCheckpoint"]

SECONDS = 10.0
"""So much time lies between two writings."""


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
        self._last = time.monotonic()

    def restore(self, parts: Mapping[str, Stateful], device: torch.device) -> dict[str, Any] | None:
        """Puts the parts and torch's generator into the state of the file; what else was kept, or None: no file."""
        try:
            kept = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception:  # noqa: BLE001  (there is none, or torch raises nearly anything on one that is not its own)
            return None
        if not isinstance(kept, dict) or kept.get("made_from") != self._made_from:
            return None
        for name, part in parts.items():
            part.load_state_dict(kept["parts"][name])
        torch.random.set_rng_state(kept["random"])
        if device.type == "cuda":
            torch.cuda.set_rng_state(kept["random on device"], device)
        return dict(kept["more"])

    def keep(self, parts: Mapping[str, Stateful], device: torch.device, **more: object) -> None:
        """Writes the state at the end of an epoch, if it is time."""
        if time.monotonic() - self._last < SECONDS:
            return
        state: dict[str, object] = {
            "made_from": self._made_from,
            "parts": {name: part.state_dict() for name, part in parts.items()},
            "random": torch.random.get_rng_state(),
            "more": more,
        }
        if device.type == "cuda":
            state["random on device"] = torch.cuda.get_rng_state(device)
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_whole(self.path, [buffer.getvalue()])
        self._last = time.monotonic()

    def remove(self) -> None:
        """Removes the file: the training has ended."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)
