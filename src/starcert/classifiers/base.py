"""The contract of a base classifier, and checks that it is kept.

`Classifier` is the whole contract. Three parts are required: `n_classes`, `description` and `classify`. All others have
a default, and a classifier that can do better overrides them: nothing is looked up by name.

A certificate speaks of one function of one graph. A classifier that looks at the other graphs of its batch, draws at
random or changes while it votes is none. Here answers are compared; which copies are classified again, and how often,
is decided in `voting/ask.py` (a few, before votes count), `voting/counting.py` (some of the votes, at the end)
and `methods/audit.py` (other copies).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.classifiers.values import ValueRange
from starcert.objects import NodeFrame
from starcert.sampling.batch import NoisyGraphs
from starcert.system.errors import ClassifierError
from starcert.system.processes import available_bytes

Places: TypeAlias = Sequence[int] | npt.NDArray[np.int64]

CHUNK_SIZE = 1024  # samples in a chunk, unless the classifier or the caller says otherwise
MIN_BATCH = 64  # the batch that copies are taken from to be classified alone has at least this many copies

_ADVICE = (
    "What it answers depends on the graphs beside it, or on how often it was asked. Take batch statistics (they must "
    "follow model.eval()) and counters out of it, or ask about one copy at a time: batch_size=1."
)


class Scores(NamedTuple):
    """Answers of `classify`, and numbers that they come from: where the largest two are close, so are two answers."""

    answers: npt.ArrayLike  # the classes
    numbers: npt.NDArray[np.float64] | None = None  # shape (copies, numbers), or (copies, targets, numbers)
    rounding: float = 0.0  # by how much numbers of the same copy may differ, relative to the largest of a batch
    assumed_logits: bool = False  # the last number of each row is taken for a logit although the user did not say so


def value_scores(values: ValueRange, outputs: npt.ArrayLike, rounding: float) -> Scores:
    """Numbers as answers: the steps that they lie in. Where one is close to the edge of a step, so are two answers."""
    return Scores(values.steps_of(outputs), values.numbers_of(outputs), rounding)


class UnsteadyAnswersError(ClassifierError):
    """A classifier answers one copy differently from time to time: what it answered counts for nothing."""


class OtherAnswersError(UnsteadyAnswersError):
    """Two equal copies got different answers during one run: votes that a store keeps of it may be of either kind."""


class Classifier(ABC):
    """A base classifier: answers a whole batch of noisy copies of one graph with one class each.

    The answer on a copy may depend on that copy alone. Voting checks it on a few copies at the start, and the audit on
    many at the end of a run, in other batches and alone: a classifier that answers one of them differently is refused.
    docs/models.md says when to override what.

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

    n_classes: int  # how many classes there are; answers are 0 … n_classes − 1
    class_names: tuple[str, ...] | None = None  # in the order of their numbers; None: they have none
    class_labels: tuple[Hashable, ...] | None = None  # what it was fitted on, such as (3, 8), in the same order
    values: ValueRange | None = None  # its outputs are numbers in this range, and its classes are the steps of it
    batch_size: int = 256  # the largest batch that it wants. Answers must not depend on it
    chunk_size: int = CHUNK_SIZE  # samples of a unit of work with a random stream of its own. Votes depend on it
    backend: str = "cpu"  # what draws the noisy copies: "cpu", or the kind of a device. Votes depend on it
    device: object = "cpu"  # where it is: noisy copies are drawn there, "cpu" or a device of torch such as "cuda:0"
    chunks_per_batch: int = 1  # how many chunks of a graph it wants as one batch, where starting one takes longest
    max_batch_nodes: int = 0  # up to this many nodes, copies of several graphs are one call of `scored_each`; 0: never
    call_cost: int = 96  # of a call beside its copies, in copies; it sets how large an audit is, and is never measured

    @property
    @abstractmethod
    def description(self) -> str:
        """Which classifier it is, as it is now, for the record; equal for equal classifiers only."""

    @abstractmethod
    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each copy, in their order, shape (copies,); or one for each target, shape (copies, targets)."""

    def n_targets(self, frame: NodeFrame) -> int | None:
        """The number of parts of a graph that are classified, each by itself; None: the graph itself is, as one.

        Args:
            frame: what noise leaves alone of the graph. Where its nodes are the targets: `return frame.n_nodes`.
        """
        return None

    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64] | None:
        """The node index of each target, in their order; None: the targets are not nodes.

        By default every node, where a graph has as many targets as nodes.
        """
        n_targets = self.n_targets(frame)
        if n_targets is None or not isinstance(frame, NodeFrame) or n_targets != frame.n_nodes:
            return None
        return np.arange(n_targets)

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """The answers of `classify`, with the numbers that they come from, if there are any.

        The checks compare them: a difference shows long before an answer changes, and rounding at a tie is none.
        """
        return Scores(self.classify(graphs))

    def scored_each(self, batches: Sequence[NoisyGraphs]) -> list[Scores]:
        """The results of `scored` for each of several batches, which may be copies of different graphs."""
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


def named_classes(names: Sequence[str]) -> str:
    """Which number means which class, for messages: "0 = depot, 1 = factory, 2 = shop"."""
    shown = ", ".join(f"{number} = {name}" for number, name in enumerate(names[:20]))
    return shown + ", …" * (len(names) > 20)


def places_to_check(copies: int, *, scored: bool) -> list[int]:
    """Which of the first copies are classified alone before votes count: eight, or one where scores are compared."""
    return [copies - 1] if scored else sorted(set(np.linspace(0, copies - 1, 8).astype(int).tolist()))


@contextmanager
def named_errors(where: str) -> Iterator[None]:
    """Reports whatever a user's code may raise with the place where it happened."""
    try:
        yield
    except Exception as error:
        problem = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ClassifierError(f"The base classifier failed on {where}: {problem}") from error


def checked_scores(found: Scores, classifier: Classifier, graphs: NoisyGraphs) -> Scores:
    """Scores with checked answers."""
    n_targets = classifier.n_targets(graphs.frame)
    return found._replace(answers=checked_answers(found.answers, len(graphs), classifier.n_classes, n_targets))


def check_alone(classifier: Classifier, batch: NoisyGraphs, found: Scores, place: int, *, name: str) -> None:
    """Refuses a classifier that answers one copy of a batch differently alone than was `found` for the batch."""
    copy = batch[place : place + 1]

    def answer_again() -> Scores:
        return checked_scores(classifier.scored(copy), classifier, copy)

    try:
        alone = answer_again()
    except Exception as error:
        raise UnsteadyAnswersError(
            f"The base classifier answers {name} in a batch of {len(batch)}, but fails on it alone: "
            f"{type(error).__name__}: {error}. {_ADVICE}"
        ) from error
    if _agree(alone, [0], found, [place]).all():
        return
    if len(batch) > 1:
        # Some more answers: one that is drawn from two classes is often the same twice.
        more = (answer_again() for _ in range(16))
        again = next((each for each in more if not _agree(each, [0], alone, [0]).all()), None)
    else:
        alone, again = found, alone
    if again is not None:
        first = _first_difference(alone, 0, again, 0)
        raise UnsteadyAnswersError(
            f"The base classifier answers differently when it is asked twice about {name}: {_shown(alone, 0, first)}, "
            f"then {_shown(again, 0, first)}. Take the randomness out of it: dropout must follow model.eval(), a seed "
            "must start anew with every graph."
        )
    first = _first_difference(found, place, alone, 0)
    raise UnsteadyAnswersError(
        f"The base classifier answers {name} with {_shown(found, place, first)} in a batch of {len(batch)}, but "
        f"with {_shown(alone, 0, first)} alone. {_ADVICE}"
    )


def check_regrouped(
    classifier: Classifier,
    batch: NoisyGraphs,
    found: Scores,
    other: NoisyGraphs,
    again: Scores,
    places: Places,
    *,
    name: Callable[[int], str],
) -> None:
    """Refuses a classifier that `found` answers for copies at `places` of a batch, and others `again` in another."""
    apart = np.flatnonzero(~_agree(again, np.arange(len(places)), found, places))
    if not len(apart):
        return
    there, here = int(apart[0]), int(places[apart[0]])
    check_alone(classifier, batch, found, here, name=name(here))
    check_alone(classifier, other, again, there, name=name(here))
    first = _first_difference(found, here, again, there)
    raise UnsteadyAnswersError(
        f"The base classifier answers {name(here)} with {_shown(found, here, first)} in a batch of {len(batch)}, but "
        f"with {_shown(again, there, first)} in another of {len(other)}. {_ADVICE}"
    )


def look_like_probabilities(scores: Scores) -> bool:
    """True if all numbers that were assumed to be logits lie in [0, 1]."""
    if not scores.assumed_logits or scores.numbers is None:
        return False
    outputs = scores.numbers[..., -1]
    return bool(((outputs >= 0) & (outputs <= 1)).all())


def refuse_probabilities(n_copies: int) -> NoReturn:
    """Refuses a module whose single outputs look like probabilities: as logits, nearly all would answer class 1."""
    raise ClassifierError(
        f"The base classifier has one output, and on the first {n_copies} noisy copies it always lies in [0, 1], as a "
        "probability does. Read as a logit it is class 1 wherever it is above 0. If there is a sigmoid in the model, "
        "say outputs='probability' (class 1 above 1/2) where the classifier is made, with from_pyg, from_dense or "
        "from_torch, or let the model return the logit. If it is a logit, say outputs='logit'."
    )


def _agree(one: Scores, i: Places, other: Scores, j: Places) -> npt.NDArray[np.bool_]:
    """True where copies i of one batch and copies j of another were answered alike, up to rounding of scores."""
    same = np.asarray(one.answers)[i] == np.asarray(other.answers)[j]
    if one.numbers is not None and other.numbers is not None:
        mine, its = one.numbers[i], other.numbers[j]
        if not (same.all() and np.array_equal(mine, its)):  # they are usually equal
            close = np.isclose(mine, its, rtol=0.0, atol=_rounding(other)).all(axis=-1)
            same = (same | are_tied(other)[j]) & close
    return np.asarray(same.reshape(len(j), -1).all(axis=1))


def are_tied(scores: Scores) -> npt.NDArray[np.bool_]:
    """True where the largest two numbers of a copy, or target, differ by no more than rounding; never without numbers.

    Then either answer may be given.
    """
    if scores.numbers is None:
        return np.zeros(np.shape(scores.answers), dtype=np.bool_)
    ordered = np.sort(scores.numbers, axis=-1)
    return np.asarray(ordered[..., -1] - ordered[..., -2] <= 2 * _rounding(scores), dtype=np.bool_)


def _rounding(scores: Scores) -> float:
    """By how much numbers of the same copy may differ."""
    numbers = np.asarray(scores.numbers)
    return scores.rounding * float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))


def _first_difference(one: Scores, i: int, other: Scores, j: int) -> int:
    """The first target that was answered differently, or whose numbers differ most; 0 where there is only one."""
    apart = np.asarray(np.asarray(one.answers)[i] != np.asarray(other.answers)[j])
    if apart.ndim == 0 or apart.any() or one.numbers is None or other.numbers is None:
        return int(apart.argmax())
    return int(np.abs(one.numbers[i] - other.numbers[j]).max(axis=-1).argmax())


def _shown(scores: Scores, place: int, first: int) -> str:
    """The answer on a copy; of many targets, some from the first that matters on."""
    answers = np.asarray(scores.answers)[place]
    if answers.ndim:
        from_there = f" from target {first} on" if first else ""
        return f"classes {answers[first : first + 5].tolist()}{from_there}"
    if scores.numbers is None:
        return f"class {answers}"
    numbers = ", ".join(f"{number:.6g}" for number in scores.numbers[place][:5])
    return f"class {answers} ({numbers}{', …' if scores.numbers.shape[1] > 5 else ''})"
