"""Copies that are asked alone are answered as in their batch: the answer on a graph depends on that graph only.

A certificate speaks of a classifier that is a function of one graph. One that looks at the other graphs of its batch,
or draws at random, is none: its votes would be those of no smoothed classifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from starcert.classifiers.base import Classifier, Scores, checked_answers
from starcert.errors import ClassifierError

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = [
    "LEAST",
    "asked_alone",
    "check_alone",
    "checked_scores",
    "look_like_probabilities",
    "refuse_probabilities",
    "scores_of",
]

FIRST, EACH = 32, 4
"""So many copies of the first graph of a job, and of each other graph, are asked alone."""

FIRST_SCORED, EACH_SCORED = 8, 2
"""As many where scores are compared: one copy's tell more than the answers on many."""

LEAST = 64
"""At least so many copies are asked together where some are asked alone."""


def asked_alone(graph: int, copies: int, *, scored: bool) -> list[int]:
    """Which copies of a graph are asked alone too: a few, spread over all batches.

    Args:
        graph: the number of the graph in its job.
        copies: how many copies there are.
        scored: whether scores are compared, and not answers.

    Example:
        >>> asked_alone(1, 100, scored=False)
        [0, 33, 66, 99]
    """
    first, each = (FIRST_SCORED, EACH_SCORED) if scored else (FIRST, EACH)
    return sorted(set(np.linspace(0, copies - 1, each if graph else first).astype(int).tolist()))


def scores_of(classifier: Classifier, graphs: NoisyGraphs) -> Scores:
    """The answers on a batch, checked, with the numbers that they come from where the classifier offers such."""
    return checked_scores(classifier.scored(graphs), classifier, graphs)


def checked_scores(found: Scores, classifier: Classifier, graphs: NoisyGraphs) -> Scores:
    """What a classifier found, its answers checked."""
    n_targets = classifier.n_targets(graphs.frame)
    return found._replace(answers=checked_answers(found.answers, len(graphs), classifier.n_classes, n_targets))


def check_alone(classifier: Classifier, batch: NoisyGraphs, together: Scores, place: int, *, name: str) -> None:
    """Refuses a classifier that answers a copy differently alone than in its batch.

    Args:
        classifier: the base classifier.
        batch: the copies that were asked together.
        together: what was answered then.
        place: which of them is asked alone now.
        name: what the copy is called in a message.
    """
    copy = batch[place : place + 1]
    try:
        alone = scores_of(classifier, copy)
    except Exception as error:
        raise ClassifierError(
            f"The base classifier answers {name} in a batch of {len(batch)}, but fails on it alone: "
            f"{type(error).__name__}: {error}. {_ADVICE}"
        ) from error
    if _agree(alone, 0, together, place):
        return
    if len(batch) > 1:
        # Some more answers: one that is drawn from two classes is often the same twice.
        more = (scores_of(classifier, copy) for _ in range(16))
        again = next((each for each in more if not _agree(each, 0, alone, 0)), None)
    else:
        alone, again = together, alone
    if again is not None:
        first = _first_apart(alone, 0, again, 0)
        raise ClassifierError(
            f"The base classifier answers differently when it is asked twice about {name}: {_shown(alone, 0, first)}, "
            f"then {_shown(again, 0, first)}. Take the randomness out of it: dropout must follow model.eval(), a seed "
            "must start anew with every graph."
        )
    first = _first_apart(together, place, alone, 0)
    raise ClassifierError(
        f"The base classifier answers {name} with {_shown(together, place, first)} in a batch of {len(batch)}, but "
        f"with {_shown(alone, 0, first)} alone. {_ADVICE}"
    )


def look_like_probabilities(scores: Scores) -> bool:
    """Whether all that was taken for logits, without being said to be such, lies in [0, 1]."""
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


_ADVICE = (
    "What it answers depends on the graphs beside it. Take batch statistics out of it (they must follow model.eval()), "
    "or ask about one copy at a time: batch_size=1."
)


def _agree(one: Scores, i: int, other: Scores, j: int) -> bool:
    """Whether copy i of one batch and copy j of another were answered alike: up to rounding, where there are scores."""
    same = np.asarray(np.asarray(one.answers)[i] == np.asarray(other.answers)[j])
    if one.numbers is None or other.numbers is None:
        return bool(same.all())
    if same.all() and np.array_equal(one.numbers[i], other.numbers[j]):  # as a rule, and quickly told
        return True
    finite = np.abs(other.numbers[np.isfinite(other.numbers)])
    rounding = other.rounding * float(finite.max(initial=0.0))
    if not np.isclose(one.numbers[i], other.numbers[j], rtol=0.0, atol=rounding).all():
        return False
    ordered = np.sort(other.numbers[j], axis=-1)
    return bool((same | (ordered[..., -1] - ordered[..., -2] <= 2 * rounding)).all())


def _first_apart(one: Scores, i: int, other: Scores, j: int) -> int:
    """The first target that was answered differently, or whose numbers differ most; 0 where there is but one."""
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
