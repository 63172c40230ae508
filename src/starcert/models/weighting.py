"""The weight of an object of each class in training, where some classes are rare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.laws import real_number
from starcert.system.errors import InvalidParameterError

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
