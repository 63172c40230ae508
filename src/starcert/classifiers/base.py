"""The contract of a base classifier: what voting asks of it, and what it may offer besides; and any callable as one.

`Classifier` is the whole of it. Three parts are owed: `n_classes`, `description` and `classify`. All others have a
default, and a classifier that can do better overrides them: nothing is looked up by name behind its back. The page
"Write a classifier" of the documentation goes through them with an example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from starcert.classifiers.identity import identity
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
    "CallableClassifier",
    "Classifier",
    "DrawsItself",
    "Scores",
    "checked_answers",
    "checked_names",
    "from_callable",
    "is_classifier",
    "named_classes",
    "numbers_of",
    "rows_of",
]

CHUNK_SIZE = 1024
"""Samples in a chunk, unless the classifier or the caller says otherwise."""

NETWORKX_CALL = 4
"""The `call_cost` of a function that is called copy by copy: what making networkx graphs takes once a batch."""


class Scores(NamedTuple):
    """Answers, and the numbers that they come from.

    Attributes:
        answers: what `classify` answers.
        numbers: shape (copies, numbers), or (copies, targets, numbers); where the largest two are close, so are two
            answers. None for want of any.
        rounding: by how much numbers of the same copy may differ, relative to the largest of a batch.
        assumed_logits: whether the last number of each row was taken for a logit without being said to be one.
    """

    answers: npt.ArrayLike
    numbers: npt.NDArray[np.float64] | None = None
    rounding: float = 0.0
    assumed_logits: bool = False


class Classifier(ABC):
    """A base classifier: answers a whole batch of noisy copies of one graph with one class each.

    The answer on a copy may depend on that copy alone. That is the author's promise. Voting checks it on a few copies
    at the start, and the audit of the run on many at its end, in other company and alone: a classifier that answers one
    of them differently is refused.

    Attributes:
        n_classes: how many classes there are; answers are 0 … n_classes − 1.
        class_names: what the classifier calls its classes, in the order of their numbers; None: nothing.
        class_labels: what the labels that it was fitted on call them, such as (3, 8); None: by name or by number.
        batch_size: the most copies that it wants to see at once. Answers must not depend on it.
        chunk_size: samples in a chunk, the unit of work with a random stream of its own. Votes depend on it.
        backend: what draws the noisy copies: "cpu", or the kind of a device. Votes depend on it.
        together: how many chunks of a graph it wants to see as one batch. More than one is for those that are done with
            a chunk before the next has begun, and whose answers are known not to hang by the batch: that they do not
            is shown in batches of one chunk.
        gathers: up to so many nodes in all copies, it wants to be asked about chunks of several graphs at once, with
            `scored_each`; 0: about one graph after the other.
        call_cost: what a call costs beside its copies, in copies of a large batch. It sets how large an audit may be
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
    together: int = 1
    gathers: int = 0
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
        """The node index of each target, in their order; None: the targets are no nodes.

        By default every node, where a graph has as many targets as nodes. Where some nodes alone are classified (those
        of a mask), say which, each once.
        """
        n_targets = self.n_targets(frame)
        if n_targets is None or not isinstance(frame, NodeFrame) or n_targets != frame.n_nodes:
            return None
        return np.arange(n_targets)

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """What `classify` answers, with the numbers that the answers come from, if there are any.

        Copies that are asked alone are compared by them where there are such, not by their answers: a difference shows
        long before an answer changes, and rounding that changes an answer at a tie is no difference.
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
        """What one noisy copy takes as the classifier sees it, in bytes, beside the list of its edges."""
        return 0

    def free_memory(self) -> int | None:
        """The bytes that are free where the classifier works; None: not known."""
        return available_bytes()


class DrawsItself(Classifier):
    """A classifier with a sampler of its own, for example one that draws noisy copies on its device.

    Attributes:
        device: where it is. Its samplers are kept as long as it stays there.
    """

    @property
    @abstractmethod
    def device(self) -> object:
        """Where it is."""

    @abstractmethod
    def sampler(self, sites: Sites, noise: Noise) -> Sampler:
        """The sampler of a graph."""


def is_classifier(value: object) -> TypeGuard[Classifier]:
    """Whether something is a base classifier.

    Example:
        >>> is_classifier(len)
        False
    """
    return isinstance(value, Classifier)


def checked_answers(
    answers: npt.ArrayLike, n_copies: int, n_classes: int, n_targets: int | None = None
) -> npt.NDArray[np.signedinteger]:
    """The answers as an array of classes, or a ValueError that says what is wrong with them."""
    array = np.asarray(answers)
    if n_targets is None and array.shape != (n_copies,):
        raise ValueError(f"it gave answers of shape {array.shape} for {n_copies} graphs; one class each is needed")
    if n_targets is not None and array.shape != (n_copies, n_targets):
        raise ValueError(
            f"it gave answers of shape {array.shape} for {n_copies} graphs; one class for each of {n_targets} targets "
            "is needed in each"
        )
    if array.dtype.kind not in "biuf":
        first = array.ravel().tolist()[0]
        raise ValueError(f"it answered {first!r}; a class is a whole number from 0 to {n_classes - 1}")
    whole = array.dtype.kind != "f"
    if not (whole and array.size and array.min() >= 0 and array.max() < n_classes):  # as a rule it is quickly told
        wrong = ~((array >= 0) & (array < n_classes) & (whole | (array == np.floor(array))))
        if wrong.any():
            first = array[wrong][0].item()
            raise ValueError(f"it answered {first!r}; a class is a whole number from 0 to {n_classes - 1}")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def rows_of(copies: NoisyCopies) -> npt.NDArray[np.int64]:
    """Copies of a plain vector as an array, shape (copies, columns), for those who classify rows.

    The numbers have a sign and room: 2·x − 1 is −1 where x is 0.
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
    """The names of classes as they are kept, and how many classes there are: by default as many as names, or two."""
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


class CallableClassifier(Classifier):
    """A function of a graph, of a batch of graphs, or of rows, as a base classifier. See `from_callable`."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        n_classes: int,
        on: str,
        description: str | None,
        batch_size: int,
        class_names: tuple[str, ...] | None = None,
    ) -> None:
        self.function = function
        self.class_names = class_names
        self.n_classes = n_classes
        self.on = on
        self.batch_size = batch_size
        self.call_cost = NETWORKX_CALL if on == "networkx" else Classifier.call_cost
        self._description = description

    @property
    def description(self) -> str:
        """Which classifier it is: what was given, or the function's name with its identity as it is now."""
        named = "" if self.class_names is None else f" answering {', '.join(self.class_names)}"
        if self._description:
            return self._description + named
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{name} {identity(self.content())}{named}"

    def content(self) -> object:
        """The function, and what it is called with."""
        return self.function, self.on

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """What one noisy copy takes as the function sees it: some 400 bytes an edge in networkx."""
        return 400 * n_edges + 300 * n_nodes if self.on == "networkx" else 0

    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each graph."""
        if self.on != "networkx":
            answers: npt.ArrayLike = self.function(rows_of(graphs) if self.on == "vectors" else graphs)
            return numbers_of(answers, self.class_names)
        if not isinstance(graphs, NoisyGraphs):
            raise ValueError("it classifies networkx graphs, and these are plain vectors: write on='vectors'")
        return numbers_of([self.function(graph) for graph in graphs.networkx()], self.class_names)


def from_callable(
    function: Callable[[Any], Any],
    *,
    n_classes: int | None = None,
    on: Literal["networkx", "batch", "vectors"] = "networkx",
    description: str | None = None,
    batch_size: int = 256,
    class_names: Sequence[str] | None = None,
) -> CallableClassifier:
    """A base classifier from any function.

    Args:
        function: with `on="networkx"`, takes one networkx graph (names and node data as in the clean graph) and returns
            its class; with `on="batch"`, takes a whole `NoisyGraphs` batch, with its views `values`, `adjacency()`,
            `edge_index()` and `degrees()`, and returns one class for each graph; with `on="vectors"`, for `Bits` and
            `Categories`, takes an array of whole numbers, shape (copies, columns), and returns one class for each row.
        n_classes: how many classes there are, by default two, or as many as names; answers are 0 … n_classes − 1.
        on: what the function is called with.
        description: says which classifier it is, for the record in a vote store. By default the function's name with a
            digest of its code, of what it closes over or is bound to, and of the functions, classes and data of your
            own modules that it names, as they are when the store is opened. Give one of your own for a function that
            may be rewritten without a change of its answers, or that holds what has no content: a lock, a connection.
        batch_size: the most copies in a batch. With 1, a function of a batch sees one at a time.
        class_names: what the classes are called, in the order of their numbers; answers may then be names.

    Example:
        >>> from_callable(lambda graph: int(graph.number_of_edges() > 10), description="many edges").n_classes
        2
        >>> import starcert as sc
        >>> most = from_callable(lambda rows: rows.mean(axis=1) > 0.5, on="vectors")
        >>> smoothed = sc.SmoothedClassifier(most, sc.Noise(all=0.1))
        >>> smoothed.predict(sc.Bits.rows([[0, 0, 0, 1, 0], [1, 1, 0, 1, 1]]), samples=1000, seed=1).tolist()
        [0, 1]
    """
    if not callable(function):
        raise InvalidParameterError("function", "be callable", function)
    names, n_classes = checked_names(class_names, n_classes)
    if on not in ("networkx", "batch", "vectors"):
        raise InvalidParameterError("on", "be 'networkx', 'batch' or 'vectors'", on)
    return CallableClassifier(function, n_classes, on, description, whole_number("batch_size", batch_size, 1), names)
