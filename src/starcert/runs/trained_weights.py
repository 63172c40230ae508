"""The weights of a run's module from a file: `starcert train` writes it, `certify` and `sweep` read it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcert.objects.noise import Noise
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["other_noise", "put_weights", "torch_module_of"]


def torch_module_of(model: object) -> Module | None:
    """The module of what a model function returned: itself, or that of a classifier; None if there is none."""
    torch = sys.modules.get("torch")  # who has made a module has imported it
    if torch is None:
        return None
    from starcert.classifiers.torch import ModuleClassifier  # noqa: PLC0415  (it imports torch)

    found: Any = model.model if isinstance(model, ModuleClassifier) else model
    return found if isinstance(found, torch.nn.Module) else None


def put_weights(model: object, file: Path, reference: Reference) -> None:
    """Gives the module that a model function returned the weights of a file.

    Args:
        model: what the function returned; its module is changed in place.
        file: what `starcert train` wrote, or a state dict.
        reference: the model function.
    """
    module = torch_module_of(model)
    if module is None:
        hint = "Only a torch module has weights: leave the setting out."
        raise InvalidParameterError("weights", f"be left out for a {type(model).__name__}", str(file), hint)
    if not os.path.isfile(file):
        raise StarcertError(f"{file}: there is no such file of weights. Train first: starcert train run.toml")
    from starcert.classifiers.identity import identity  # noqa: PLC0415
    from starcert.classifiers.torch import ModuleClassifier  # noqa: PLC0415
    from starcert.models import load_weights  # noqa: PLC0415

    try:
        load_weights(module, file)
    except InvalidParameterError as error:
        _, _, got, hint = error.args
        again = f"{hint} Or train again: starcert train run.toml --again."
        raise InvalidParameterError("weights", f"fit the module of {reference}", got, again) from error
    if isinstance(model, ModuleClassifier):
        model.weights = f"weights {identity(dict(module.state_dict()))}"


def other_noise(file: Path | None, noises: Sequence[Noise]) -> Iterator[str]:
    """Says so where the weights of a file were trained with other noise than they will vote under."""
    if file is None:
        return
    from starcert.models import how_made  # noqa: PLC0415

    trained = how_made(file).get("noise")  # of a state dict that somebody else wrote nothing is known
    if trained is None or all(repr(noise) == trained for noise in noises):
        return
    if len(noises) > 1:
        yield f"The weights in {file.name} were trained with {trained}: every level votes with them."
    else:
        yield f"The weights in {file.name} were trained with {trained}, not with {noises[0]!r} as this run has it."
