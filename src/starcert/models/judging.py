"""How good the outputs of a module are: the loss, and an epoch in figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from starcert.classifiers.torch import TorchClassifier
from starcert.models.adversary import losses_of
from starcert.models.against import Against
from starcert.models.weighting import ClassWeights, Weighting
from starcert.system.errors import InvalidParameterError

VALIDATION_COPIES = 8  # noisy copies of each validation graph: the same ones in every epoch
SHARE_COPIES = 32  # the same where the share of right copies of each graph counts


class Epoch(NamedTuple):
    """An epoch after which the validation objects were evaluated.

    Example:
        >>> Epoch(3, 0.4, 0.5, accuracy=0.9, certified=0.75, score=0.75, only=None).right
        0.75
    """

    number: int  # from 0
    loss: float  # of the training objects
    validation_loss: float
    accuracy: float  # the share of noisy copies of validation objects that are right; 0 where outputs are numbers
    certified: float | None  # the share of validation objects with enough right copies (`Against.share`)
    score: float  # by what it is kept: `certified`, or else `accuracy` with each object counted by its class's weight
    only: int | None  # the class that all copies are answered, though validation objects have several

    @property
    def right(self) -> float:
        """The share that a reader looks at: of objects with enough right copies, or else of right copies."""
        return self.accuracy if self.certified is None else self.certified

    def one_answer(self, names: Sequence[str] | None) -> str:
        """What it means that all copies are answered alike."""
        assert self.only is not None
        name = str(self.only) if names is None else names[self.only]
        return (
            f"The kept epoch, {self.number + 1:,}, gives every noisy copy of the validation objects the same answer: "
            f"class {name}. Certificates of such a model mean nothing. "
            "Train longer, with less noise, or with balanced class weights."
        )


def weigh(base: TorchClassifier, given: ClassWeights, classes: Tensor) -> tuple[Weighting | None, Tensor | None]:
    """What each class counts, and the same as a tensor; where outputs are numbers, there are no classes."""
    if base.values:
        if given != "auto":
            raise InvalidParameterError("class_weights", "be left out where outputs are numbers", given)
        return None, None
    weighting = Weighting.of(given, classes.cpu().numpy(), n_classes=base.n_classes, names=base.class_names)
    if weighting is None:
        return None, None
    return weighting, torch.tensor(weighting.weights, device=classes.device, dtype=torch.get_default_dtype())


def validation_copies(against: Against | None) -> int:
    """How many noisy copies of each validation object there are: more where it is their share that counts."""
    return VALIDATION_COPIES if against is None or against.share is None else SHARE_COPIES


def judge(
    number: int, loss: float, found: Tensor, wanted: Tensor, share: float | None, weights: Tensor | None
) -> Epoch:
    """An epoch by the outputs for copies of validation objects, shape (copies, objects, outputs)."""
    truth = wanted.expand(len(found), -1)
    validation_loss = loss_of(found.flatten(0, 1), truth.flatten(), weights).item()
    if wanted.is_floating_point():
        return Epoch(number, loss, validation_loss, 0.0, None, 0.0, None)
    answers = found.argmax(dim=-1)
    right = (answers == truth).double()
    certified = None if share is None else (right.mean(dim=0) > share).double().mean().item()
    accuracy = right.mean().item()
    weighted = accuracy
    if weights is not None:
        of_objects = weights.double()[wanted]
        mean = max(of_objects.mean().item(), torch.finfo(torch.double).tiny)  # not 1: validation has other shares
        validation_loss, weighted = validation_loss / mean, (right * of_objects).mean().item() / mean
    score = weighted if certified is None else certified
    one = bool((answers == answers[0, 0]).all()) and bool((wanted != wanted[0]).any())
    only = int(answers[0, 0]) if one else None
    return Epoch(number, loss, validation_loss, accuracy, certified, score, only)


def loss_of(found: Tensor, wanted: Tensor, weights: Tensor | None) -> Tensor:
    """The mean cross entropy of classes, each times the weight of its class, or the mean squared error of numbers."""
    if weights is not None:
        return losses_of(found, wanted, weights).mean()
    if wanted.is_floating_point():
        return functional.mse_loss(found[:, 0], wanted)
    return functional.cross_entropy(found, wanted)
