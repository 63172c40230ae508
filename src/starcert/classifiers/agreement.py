"""Checks that a classifier is one function of one graph: its answers depend on that graph only, and it stays the same.

A certificate speaks of such a function. A classifier that looks at the other graphs of its batch, draws at random or
changes while it votes is none: its votes would be those of no smoothed classifier. Here answers are compared; which
copies are classified again, and how often, is decided in `voting/counting.py` (a few, before votes count) and
`certificates/auditing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier, Scores, checked_answers
from starcert.classifiers.identity import identity
from starcert.system.errors import ClassifierError, InvalidParameterError

if TYPE_CHECKING:
    from starcert.sampling.batch import Copies, NoisyGraphs

__all__ = [
    "CHANGED",
    "KEEP_UNCHANGED",
    "MIN_BATCH",
    "Unchanged",
    "check_alone",
    "check_company",
    "checked_scores",
    "look_like_probabilities",
    "named_errors",
    "places_to_check",
    "refuse_probabilities",
]

Places: TypeAlias = Sequence[int] | npt.NDArray[np.int64]

N_CHECKED = 8
"""Copies of the first graph that are classified alone before its votes count; one where scores are compared, which say
more than the answers on many."""

MIN_BATCH = 64
"""The batch that copies are taken from to be classified alone has at least this many copies."""

CHANGED = (
    "the base classifier changed while it voted: the digest of its content is not what it was before the run, so its "
    "votes are not those of one classifier"
)

KEEP_UNCHANGED = (
    "Nothing is certified. Let it answer without changing what it holds, such as a counter, a list or a random "
    "generator; functools.lru_cache may keep results. In a class of your own, `Classifier.content` says what counts."
)

_ADVICE = (
    "What it answers depends on the graphs beside it. Take batch statistics out of it (they must follow model.eval()), "
    "or ask about one copy at a time: batch_size=1."
)


def places_to_check(copies: int, *, scored: bool) -> list[int]:
    """Which of the first copies are classified alone before votes count: a few, evenly over all batches.

    Example:
        >>> places_to_check(99, scored=True), places_to_check(99, scored=False)
        ([98], [0, 14, 28, 42, 56, 70, 84, 98])
    """
    return [copies - 1] if scored else sorted(set(np.linspace(0, copies - 1, N_CHECKED).astype(int).tolist()))


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
        raise ClassifierError(
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
        raise ClassifierError(
            f"The base classifier answers differently when it is asked twice about {name}: {_shown(alone, 0, first)}, "
            f"then {_shown(again, 0, first)}. Take the randomness out of it: dropout must follow model.eval(), a seed "
            "must start anew with every graph."
        )
    first = _first_difference(found, place, alone, 0)
    raise ClassifierError(
        f"The base classifier answers {name} with {_shown(found, place, first)} in a batch of {len(batch)}, but "
        f"with {_shown(alone, 0, first)} alone. {_ADVICE}"
    )


def check_company(
    classifier: Classifier,
    batch: NoisyGraphs,
    found: Scores,
    other: NoisyGraphs,
    again: Scores,
    places: Places,
    *,
    name: Callable[[int], str],
) -> None:
    """Refuses a classifier that answers copies of a batch differently in another one.

    It `found` answers for the batch, and `again` for the other, whose copies are those at `places` of the first.
    """
    apart = np.flatnonzero(~_agree(again, np.arange(len(places)), found, places))
    if not len(apart):
        return
    there, here = int(apart[0]), int(places[apart[0]])
    check_alone(classifier, batch, found, here, name=name(here))
    check_alone(classifier, other, again, there, name=name(here))
    first = _first_difference(found, here, again, there)
    raise ClassifierError(
        f"The base classifier answers {name(here)} with {_shown(found, here, first)} in a batch of {len(batch)}, but "
        f"with {_shown(again, there, first)} in another of {len(other)}. {_ADVICE}"
    )


def look_like_probabilities(scores: Scores) -> bool:
    """Whether all numbers that were assumed to be logits lie in [0, 1]."""
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


class Unchanged:
    """Remembers a classifier as it was before a run.

    It classifies a copy before its content is digested: what it makes at its first call, such as lazy layers, is then
    there. It classifies the same copy again before a difference counts: some kernels keep their last batch.

    Args:
        classifier: the classifier.
        draw: draws the copy, the same every time.
    """

    def __init__(self, classifier: Classifier, draw: Callable[[], Copies]) -> None:
        self._classifier, self._draw = classifier, draw
        self._classify()
        self._before = self._digest()

    def holds(self) -> bool:
        """Whether the classifier has the content that it had; True as well if its content cannot be digested."""
        if self._before is None or self._digest() == self._before:
            return True
        self._classify()
        return self._digest() == self._before

    def _classify(self) -> None:
        with suppress(Exception):  # whatever a user's code may raise: voting meets it too, and names the graph
            self._classifier.classify(self._draw())

    def _digest(self) -> str | None:
        try:
            return identity(self._classifier.content())
        except InvalidParameterError:
            return None


def _agree(one: Scores, i: Places, other: Scores, j: Places) -> npt.NDArray[np.bool_]:
    """Whether copies i of one batch and copies j of another were answered alike: up to rounding, where scores exist."""
    same = np.asarray(one.answers)[i] == np.asarray(other.answers)[j]
    if one.numbers is not None and other.numbers is not None:
        mine, its = one.numbers[i], other.numbers[j]
        if not (same.all() and np.array_equal(mine, its)):  # they are usually equal
            finite = np.abs(other.numbers[np.isfinite(other.numbers)])
            rounding = other.rounding * float(finite.max(initial=0.0))
            ordered = np.sort(its, axis=-1)
            tied = same | (ordered[..., -1] - ordered[..., -2] <= 2 * rounding)
            same = tied & np.isclose(mine, its, rtol=0.0, atol=rounding).all(axis=-1)
    return np.asarray(same.reshape(len(j), -1).all(axis=1))


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
