"""What voting asks of a base classifier, what a classifier may offer besides, and the check of what it answers."""

from __future__ import annotations

from inspect import getattr_static
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.batch import NoisyGraphs
    from starcert.sampling.sampler import Sampler

__all__ = ["Classifier", "DrawsItself", "Scored", "Scores", "checked_answers", "is_classifier"]


@runtime_checkable
class Classifier(Protocol):
    """A base classifier: answers a whole batch of noisy graphs with one class each.

    Attributes:
        n_classes: how many classes there are; answers are 0 … n_classes − 1.
        description: says which classifier it is, as it is now, for the record; equal for equal classifiers only.
        batch_size: the most graphs that it wants to see at once. Answers must not depend on it.

    The answer on a graph may depend on that graph alone. Voting sees to it: of each clean graph, some noisy copies are
    asked alone as well as in their batch, and a classifier that answers differently is refused.
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


class Scores(NamedTuple):
    """Answers, and the numbers that they come from.

    Attributes:
        answers: one class for each graph.
        numbers: shape (graphs, numbers), of which the largest two are the closest where two answers are; None for want
            of any.
        rounding: by how much numbers of the same graph may differ, relative to the largest of a batch.
    """

    answers: npt.ArrayLike
    numbers: npt.NDArray[np.float64] | None = None
    rounding: float = 0.0


@runtime_checkable
class Scored(Protocol):
    """What a classifier may offer: the numbers that its answers come from.

    Where there are such, copies that are asked alone are compared by them, not by their answers: a difference shows
    long before an answer changes, and rounding that changes an answer at a tie is no difference.
    """

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """One class for each graph, as `classify` answers, with what the answers come from."""


@runtime_checkable
class DrawsItself(Protocol):
    """What a classifier may offer: a sampler of its own, for example one that draws noisy copies on its device."""

    def sampler(self, sites: Sites, noise: Noise) -> Sampler:
        """The sampler of a graph."""


def is_classifier(value: object) -> TypeGuard[Classifier]:
    """Whether something has what a classifier needs; nothing of it is computed to find out.

    Example:
        >>> is_classifier(len)
        False
    """
    names = ("n_classes", "description", "batch_size", "classify")
    return not isinstance(value, type) and all(getattr_static(value, name, None) is not None for name in names)


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
