"""The quality of a module in training: the weight of each class, the loss, and an epoch in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.laws import real_number
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from torch import Tensor

    from starcert.classifiers.torch import TorchClassifier

ClassWeights: TypeAlias = str | Sequence[float]
"""A choice of class weights: "auto", "balanced", "none", or a number for each class."""

CHOICES = ("auto", "balanced", "none")
RARE = 0.1  # a class with a smaller share of the training objects turns balanced weights on


@dataclass(frozen=True, slots=True)
class Weighting:
    """The factor of the loss of an object of each class: the mean over all training objects is 1.

    Balanced, every class counts the same: an object of class c counts n / (k · n_c), where n_c of all n training
    objects are of class c, and k classes occur. The validation losses and accuracies that decide which epoch is kept
    are weighted likewise.

    Example:
        >>> Weighting.of("auto", [0] * 19 + [1], n_classes=2, names=("common", "rare"))
        Weighting(weights=(0.5263157894736842, 10.0), reason='class rare has 5.0% of the training objects, under 10%')
        >>> Weighting.of("auto", [0, 0, 1], n_classes=2) is None
        True
        >>> Weighting.of([1, 2], [0, 0, 0, 1], n_classes=2).weights
        (0.8, 1.6)
    """

    weights: tuple[float, ...]
    reason: str = ""  # why they were turned on by default; "" if they were chosen

    @classmethod
    def of(
        cls, given: ClassWeights, labels: npt.ArrayLike, *, n_classes: int, names: Sequence[str] | None = None
    ) -> Self | None:
        """The weights that a choice means for these training objects; None if all count the same."""
        chosen, classes = check_class_weights(given), np.asarray(labels, dtype=np.int64)
        if classes.min(initial=0) < 0 or classes.max(initial=0) >= n_classes:
            wrong = classes[(classes < 0) | (classes >= n_classes)][0]
            raise InvalidParameterError("labels", f"be classes from 0 to {n_classes - 1}", int(wrong))
        counts = np.bincount(classes, minlength=n_classes)
        present, reason = counts > 0, ""
        if not isinstance(chosen, str):
            if len(chosen) != n_classes or not np.any(np.asarray(chosen)[present]):
                requirement = f"be {n_classes} numbers, one for each class, and not 0 for all that occur"
                raise InvalidParameterError("class_weights", requirement, given)
            weights = np.array(chosen)
        else:
            rarest = int(np.where(present, counts, len(classes)).argmin())
            share = counts[rarest] / max(1, len(classes))
            if chosen == "none" or (chosen == "auto" and share >= RARE):
                return None
            if chosen == "auto":
                name = rarest if names is None else names[rarest]
                reason = f"class {name} has {share:.1%} of the training objects, under {RARE:.0%}"
            weights = np.where(present, 1 / np.maximum(1, counts), 0.0)
            weights[~present] = weights[present].mean()  # some of the validation objects may be of this class
        if np.ptp(weights[present]) == 0:
            return None
        mean = (counts * weights).sum() / len(classes)
        return cls(tuple((weights / mean).tolist()), reason)


def check_class_weights(given: ClassWeights) -> str | tuple[float, ...]:
    """The choice, if it is one."""
    if isinstance(given, str) and given in CHOICES:
        return given
    numbers = [] if isinstance(given, str) or not isinstance(given, Sequence) else [real_number(each) for each in given]
    if not numbers or not all(0 <= each < float("inf") for each in numbers):
        requirement = f"be one of {', '.join(CHOICES)}, or a number of 0 or more for each class"
        raise InvalidParameterError("class_weights", requirement, given, "For example 1, 5.")
    return tuple(numbers)


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


def weigh(base: TorchClassifier, given: ClassWeights, classes: Tensor) -> tuple[Weighting | None, Tensor | None]:
    """The weight of each class, and the same as a tensor; where outputs are numbers, there are no classes."""
    import torch  # noqa: PLC0415  (settings are checked without it)

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
        mean = max(of_objects.mean().item(), float(np.finfo(float).tiny))  # not 1: validation has other shares
        validation_loss, score = validation_loss / mean, (right * of_objects).mean().item() / mean
    one = bool((answers == answers[0, 0]).all()) and bool((wanted != wanted[0]).any())
    only = int(answers[0, 0]) if one else None
    return Epoch(number, loss, validation_loss, accuracy, score, only)


def loss_of(found: Tensor, wanted: Tensor, weights: Tensor | None, worst: float = 0.0) -> Tensor:
    """(1 − worst) · mean + worst · largest of the losses of the copies of an object, in the mean over objects.

    A loss is the cross entropy of classes, times the weight of the class, or the squared error of numbers.

    Args:
        found: the outputs for copies of objects, shape (copies, objects, outputs).
        wanted: the class, or number, of each object.
        weights: what the loss of an object of each class is multiplied by.
        worst: how much the copy with the largest loss counts, from 0 to 1.
    """
    from torch.nn import functional  # noqa: PLC0415

    rows, truth, plain = found.flatten(0, 1), wanted.repeat(len(found)), not worst and weights is None
    how = "mean" if plain else "none"  # with weights, torch's own mean divides by those of the batch
    losses = (
        functional.mse_loss(rows[:, 0], truth, reduction=how) if wanted.is_floating_point()
        else functional.cross_entropy(rows, truth, weight=weights, reduction=how)
    )  # fmt: skip
    if plain:
        return losses
    return (1 - worst) * losses.mean() + worst * losses.view(len(found), -1).amax(dim=0).mean()
