"""The checked training data; and the quality of a module's outputs: the loss, and an epoch in figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from starcert.classifiers.torch import TorchClassifier
from starcert.models.weighting import ClassWeights, Weighting
from starcert.system.errors import InvalidParameterError


class Epoch(NamedTuple):
    """An epoch after which the validation objects were evaluated.

    Example:
        >>> Epoch(3, 0.4, 0.5, accuracy=0.9, score=0.75, only=None).accuracy
        0.9
    """

    number: int  # from 0
    loss: float  # of the training objects
    validation_loss: float
    accuracy: float  # the share of noisy copies of validation objects that are right; 0 where outputs are numbers
    score: float  # the same with each object counted by the weight of its class: by this the epoch is kept
    only: int | None  # the class that all copies are answered, though validation objects have several

    def one_answer(self, names: Sequence[str] | None) -> str:
        """An explanation of the fact that all copies are answered alike."""
        assert self.only is not None
        name = str(self.only) if names is None else names[self.only]
        return (
            f"The kept epoch, {self.number + 1:,}, gives every noisy copy of the validation objects the same answer: "
            f"class {name}. Certificates of such a model mean nothing. "
            "Train longer, with less noise, or with balanced class weights."
        )


def read_classes(labels: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The class of each object, on a device."""
    given = np.asarray(labels)
    if given.shape != (count,):
        raise InvalidParameterError(parameter, f"have one class for each of {count}, a whole number", given.shape)
    if given.dtype.kind not in "iu":
        hint = "Number names first: class_names, labels = np.unique(names, return_inverse=True)."
        raise InvalidParameterError(parameter, "be classes, whole numbers from 0", given[:5].tolist(), hint)
    return torch.as_tensor(given.astype(np.int64), device=device)


def read_numbers(labels: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The number of each object, on a device."""
    given = np.asarray(labels)
    if given.shape != (count,) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise InvalidParameterError(parameter, f"be {count} numbers, as the outputs are", labels)
    return torch.as_tensor(given, dtype=torch.get_default_dtype(), device=device)


def read_nodes(nodes: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The indices of nodes, from these or from a truth value for each node, on a device."""
    given = np.asarray(nodes)
    if given.dtype.kind == "b" and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= count:
        raise InvalidParameterError(parameter, f"be indices of nodes, from 0 to {count - 1}", nodes)
    return torch.as_tensor(given.astype(np.int64), device=device)


def weigh(base: TorchClassifier, given: ClassWeights, classes: Tensor) -> tuple[Weighting | None, Tensor | None]:
    """The weight of each class, and the same as a tensor; where outputs are numbers, there are no classes."""
    if base.values:
        if given != "auto":
            raise InvalidParameterError("class_weights", "is for classes, but the outputs are numbers.")
        return None, None
    weighting = Weighting.of(given, classes.cpu().numpy(), n_classes=base.n_classes, names=base.class_names)
    if weighting is None:
        return None, None
    return weighting, torch.tensor(weighting.weights, device=classes.device, dtype=torch.get_default_dtype())


def judge(number: int, loss: float, found: Tensor, wanted: Tensor, weights: Tensor | None) -> Epoch:
    """An epoch by the outputs for copies of validation objects, shape (copies, objects, outputs)."""
    validation_loss = loss_of(found, wanted, weights).item()
    if wanted.is_floating_point():
        return Epoch(number, loss, validation_loss, accuracy=0.0, score=0.0, only=None)
    answers = found.argmax(dim=-1)
    right = (answers == wanted).double()
    score = accuracy = right.mean().item()
    if weights is not None:
        of_objects = weights.double()[wanted]
        mean = max(of_objects.mean().item(), torch.finfo(torch.double).tiny)  # not 1: validation has other shares
        validation_loss, score = validation_loss / mean, (right * of_objects).mean().item() / mean
    one = bool((answers == answers[0, 0]).all()) and bool((wanted != wanted[0]).any())
    only = int(answers[0, 0]) if one else None
    return Epoch(number, loss, validation_loss, accuracy, score, only)


def loss_of(found: Tensor, wanted: Tensor, weights: Tensor | None, worst: float = 0.0) -> Tensor:
    """(1 − worst) · mean + worst · largest of the losses of the copies of an object, in the mean over objects.

    Args:
        found: the outputs for copies of objects, shape (copies, objects, outputs).
        wanted: the class, or number, of each object.
        weights: what the loss of an object of each class is multiplied by.
        worst: how much the copy with the largest loss counts, from 0 to 1.
    """
    rows, truth = found.flatten(0, 1), wanted.repeat(len(found))
    if not worst and weights is None:
        return _losses(rows, truth, None, "mean")  # with weights, torch's own mean divides by those of the batch
    losses = _losses(rows, truth, weights, "none")
    return (1 - worst) * losses.mean() + worst * losses.view(len(found), -1).amax(dim=0).mean()


def _losses(found: Tensor, wanted: Tensor, weights: Tensor | None, reduction: str) -> Tensor:
    """The cross entropy of classes, times the weight of the class, or the squared error of numbers."""
    if wanted.is_floating_point():
        return functional.mse_loss(found[:, 0], wanted, reduction=reduction)
    return functional.cross_entropy(found, wanted, weight=weights, reduction=reduction)
