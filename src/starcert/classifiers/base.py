"""The contract of a base classifier: what voting needs of it, and what it may offer besides.

`Classifier` is the whole contract. Three parts are required: `n_classes`, `description` and `classify`. All others have
a default, and a classifier that can do better overrides them: nothing is looked up by name. The page "Write a
classifier" of the documentation goes through them with an example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from starcert.objects import NodeFrame
from starcert.sampling.batch import NoisyCopies, NoisyGraphs, NoisyVectors
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.processes import available_bytes

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.sampler import Sampler

__all__ = [
    "CHUNK_SIZE",
    "Classifier",
    "DrawsItself",
    "Scores",
    "checked_answers",
    "checked_names",
    "is_classifier",
    "named_classes",
    "numbers_of",
    "rows_of",
]

CHUNK_SIZE = 1024
"""Samples in a chunk, unless the classifier or the caller says otherwise."""


class Scores(NamedTuple):
    """Answers, and the numbers that they come from.

    Attributes:
        answers: what `classify` answers.
        numbers: shape (copies, numbers), or (copies, targets, numbers); where the largest two are close, so are two
            answers. None if there are no such numbers.
        rounding: by how much numbers of the same copy may differ, relative to the largest of a batch.
        assumed_logits: whether the last number of each row was taken for a logit although the user did not say so.
    """

    answers: npt.ArrayLike
    numbers: npt.NDArray[np.float64] | None = None
    rounding: float = 0.0
    assumed_logits: bool = False


class Classifier(ABC):
    """A base classifier: answers a whole batch of noisy copies of one graph with one class each.

    The answer on a copy may depend on that copy alone. That is the author's promise. Voting checks it on a few copies
    at the start, and the audit of the run on many at its end, in other batches and alone: a classifier that answers one
    of them differently is refused.

    Attributes:
        n_classes: how many classes there are; answers are 0 … n_classes − 1.
        class_names: the names of the classes, in the order of their numbers; None: they have none.
        class_labels: the labels that it was fitted on, such as (3, 8), in the same order; None: there are none.
        batch_size: the largest batch that it wants. Answers must not depend on it.
        chunk_size: samples in a chunk, the unit of work with a random stream of its own. Votes depend on it.
        backend: what draws the noisy copies: "cpu", or the kind of a device. Votes depend on it.
        chunks_per_batch: how many chunks of a graph it wants as one batch. More than one is for classifiers that answer
            a chunk faster than the next one begins, and whose answers are known not to depend on the batch: the check
            of that sees batches of one chunk.
        max_batch_nodes: chunks of several graphs with up to this many nodes in all copies are one call of
            `scored_each`; 0: graphs are classified one after the other.
        call_cost: the cost of a call beside its copies, in copies of a large batch. It sets how large an audit may be
            (`certificates/auditing.py`): a number of the classifier, never measured, so that results do not
            depend on a clock.

    Example:
        >>> class ManyEdges(Classifier):
        ...     n_classes = 2
        ...     description = "more than ten edges"
        ...
        ...     def classify(self, graphs):
        ...         return graphs.degrees().sum(axis=1) > 20
        >>> ManyEdges().batch_size, ManyEdges().chunk_size, ManyEdges().backend
        (256, 1024, 'cpu')
    """

    n_classes: int
    class_names: tuple[str, ...] | None = None
    class_labels: tuple[Hashable, ...] | None = None
    batch_size: int = 256
    chunk_size: int = CHUNK_SIZE
    backend: str = "cpu"
    chunks_per_batch: int = 1
    max_batch_nodes: int = 0
    call_cost: int = 96

    @property
    @abstractmethod
    def description(self) -> str:
        """Which classifier it is, as it is now, for the record; equal for equal classifiers only."""

    @abstractmethod
    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each copy, in their order, shape (copies,); or one for each target, shape (copies, targets)."""

    def content(self) -> object:
        """All that decides its answers, as it is now: digested before and after a run, which must not change it.

        By default the classifier itself, with all its attributes. Override it where some of them play no part in any
        answer, such as a counter of calls.
        """
        return self

    def n_targets(self, frame: NodeFrame) -> int | None:
        """How many parts of a graph are classified, each by itself; None: the graph itself is, as one.

        Args:
            frame: what noise leaves alone of the graph. Where its nodes are the targets: `return frame.n_nodes`.
        """
        return None

    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64] | None:
        """The node index of each target, in their order; None: the targets are not nodes.

        By default every node, where a graph has as many targets as nodes. Override it where only some nodes are
        classified (those of a mask), each once.
        """
        n_targets = self.n_targets(frame)
        if n_targets is None or not isinstance(frame, NodeFrame) or n_targets != frame.n_nodes:
            return None
        return np.arange(n_targets)

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """What `classify` answers, with the numbers that the answers come from, if there are any.

        Where there are, the checks compare them instead of answers: a difference shows long before an answer changes,
        and rounding that changes an answer at a tie is no difference.
        """
        return Scores(self.classify(graphs))

    def scored_each(self, batches: Sequence[NoisyGraphs]) -> list[Scores]:
        """What `scored` answers for each of several batches, which may be copies of different graphs."""
        return [self.scored(graphs) for graphs in batches]

    @property
    def as_written(self) -> Classifier:
        """The same classifier without shortcuts, if it takes any: the audit compares their answers."""
        return self

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """The bytes of one noisy copy as the classifier sees it, beside the list of its edges."""
        return 0

    def free_memory(self) -> int | None:
        """The bytes that are free where the classifier works; None: not known."""
        return available_bytes()


class DrawsItself(Classifier):
    """A classifier with a sampler of its own, for example one that draws noisy copies on its device."""

    @property
    @abstractmethod
    def device(self) -> object:
        """Where it is. Its samplers are kept as long as it stays there."""

    @abstractmethod
    def sampler(self, sites: Sites, noise: Noise) -> Sampler:
        """The sampler of a graph."""


def is_classifier(value: object) -> TypeGuard[Classifier]:
    """Whether something is a base classifier."""
    return isinstance(value, Classifier)


def checked_answers(
    answers: npt.ArrayLike, n_copies: int, n_classes: int, n_targets: int | None = None
) -> npt.NDArray[np.signedinteger]:
    """The answers as an array of classes, or a ValueError that says what is wrong with them."""
    array = np.asarray(answers)
    if array.shape != ((n_copies,) if n_targets is None else (n_copies, n_targets)):
        each = "one class each" if n_targets is None else f"one class for each of {n_targets} targets"
        where = "" if n_targets is None else " in each"
        raise ValueError(f"it gave answers of shape {array.shape} for {n_copies} graphs; {each} is needed{where}")
    whole, numeric = array.dtype.kind in "biu", array.dtype.kind in "biuf"
    if not (whole and array.size and array.min() >= 0 and array.max() < n_classes):  # a quick test of the usual case
        right = (array >= 0) & (array < n_classes) & (whole | (array == np.floor(array))) if numeric else False
        wrong = array[np.broadcast_to(~np.asarray(right), array.shape)]
        if wrong.size:
            raise ValueError(f"it answered {wrong.tolist()[0]!r}; a class is a whole number from 0 to {n_classes - 1}")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def rows_of(copies: NoisyCopies) -> npt.NDArray[np.int64]:
    """Copies of a plain vector as an array, shape (copies, columns), for classifiers of rows.

    The numbers are signed and wide: 2·x − 1 is −1 where x is 0.
    """
    if not isinstance(copies, NoisyVectors):
        raise ValueError("it classifies rows, and these are graphs: certify Bits or Categories")
    return copies.vectors().astype(np.int64)


def named_classes(names: Sequence[str]) -> str:
    """Which number means which class, for messages.

    Example:
        >>> named_classes(("depot", "factory", "shop"))
        '0 = depot, 1 = factory, 2 = shop'
    """
    more = ", …" if len(names) > 20 else ""
    return ", ".join(f"{number} = {name}" for number, name in enumerate(names[:20])) + more


def checked_names(class_names: Sequence[str] | None, n_classes: int | None) -> tuple[tuple[str, ...] | None, int]:
    """The names of classes, checked, and how many classes there are: by default as many as names, or two."""
    if class_names is None:
        return None, whole_number("n_classes", 2 if n_classes is None else n_classes, 2)
    names = tuple(class_names)
    texts = not isinstance(class_names, str) and all(isinstance(name, str) for name in names)
    if not texts or len(set(names)) < len(names) or len(names) < 2:
        requirement = "be different texts, two or more, in the order of the classes' numbers"
        raise InvalidParameterError("class_names", requirement, class_names)
    if n_classes not in (None, len(names)):
        hint = f"They say {named_classes(names)}."
        raise InvalidParameterError("n_classes", f"be {len(names)}, as there are class names", n_classes, hint)
    return names, len(names)


def numbers_of(answers: npt.ArrayLike, class_names: tuple[str, ...] | None) -> npt.ArrayLike:
    """Answers by number, where they are given by name.

    Example:
        >>> numbers_of(["shop", "depot"], ("depot", "factory", "shop"))
        array([2, 0])
    """
    array = np.asarray(answers)
    if class_names is None or array.dtype.kind != "U":
        return answers
    places = {name: number for number, name in enumerate(class_names)}
    for name in np.unique(array).tolist():
        if name not in places:
            raise ValueError(f"it answered {name!r}; the classes are {named_classes(class_names)}")
    return np.array([places[name] for name in array.ravel().tolist()], dtype=np.int64).reshape(array.shape)
