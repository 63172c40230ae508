"""What voting asks of a base classifier, and the check of what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["Classifier", "checked_answers"]


@runtime_checkable
class Classifier(Protocol):
    """A base classifier: answers a whole batch of noisy graphs with one class each.

    Attributes:
        n_classes: how many classes there are; answers are 0 … n_classes − 1.
        description: says which classifier it is, for the record; equal for equal classifiers.
        batch_size: the most graphs that it wants to see at once. Answers must not depend on it.
    """

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    @property
    def description(self) -> str:
        """Which classifier it is."""

    @property
    def batch_size(self) -> int:
        """The most graphs that it wants to see at once."""

    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each graph, in their order."""


def checked_answers(answers: npt.ArrayLike, n_graphs: int, n_classes: int) -> npt.NDArray[np.int64]:
    """The answers as an array of classes, or a ValueError that says what is wrong with them."""
    array = np.asarray(answers)
    if array.shape != (n_graphs,):
        raise ValueError(f"it gave answers of shape {array.shape} for {n_graphs} graphs; one class each is needed")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"it answered {array.tolist()[0]!r}; a class is a whole number from 0 to {n_classes - 1}")
    wrong = ~((array >= 0) & (array < n_classes) & (array == np.floor(array)))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"it answered {array[first].item()!r}; a class is a whole number from 0 to {n_classes - 1}")
    return array.astype(np.int64)
