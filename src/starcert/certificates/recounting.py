"""Attacks that were tried are tried again: each alone, with the classifier as it is written, or all of some at once.

A run ends with it, whether it tried everything itself or continued a file: answers that depend on the graphs beside
them, on chance or on time show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from starcert.certificates.questions import OrderedAttacks
from starcert.certificates.trying import NEVER, Trial, Tried, UnsteadyAnswersError, show_attacked
from starcert.classifiers import base
from starcert.classifiers.base import Classifier
from starcert.objects import Sites
from starcert.objects.threats.attacks import NO_CHANGE, Attacks
from starcert.system.stages import stage

AUDITED = 32  # attacks that are tried again, each alone, after a run


class Recounted(NamedTuple):
    """An answer that is another one when it is asked for again."""

    object: int
    attack: int  # its number; −1: without attack
    target: int
    expected: int
    found: int


def recount(
    classifier: Classifier, number: int, sites: Sites, attacks: OrderedAttacks, tried: Tried, numbers: Sequence[int]
) -> Iterator[Recounted]:
    """Tries attacks with these numbers again, as one batch, and yields what is answered differently.

    An answer that differs by rounding, where two classes tie, is not different. Nothing is known about a target after
    the first attack that changes its answer.
    """
    runs = (NO_CHANGE if each == NEVER else attacks.run(each, each + 1) for each in numbers)
    copies = show_attacked(classifier, sites, Attacks.joined(runs))
    with base.named_errors(f"graph {number}, attacks {', '.join(map(str, numbers[:5]))}"), stage("auditing"):
        scores = base.checked_scores(classifier.scored(copies), classifier, copies)
    answers = np.asarray(scores.answers).reshape(len(copies), -1)
    tied = base.are_tied(scores).reshape(answers.shape)
    for place, each in enumerate(numbers):
        before, there = (tried.first == NEVER) | (each < tried.first), tried.first == each
        expected = np.where(there & (each != NEVER), tried.answers, tried.labels)
        wrong = (before | there) & (answers[place] != expected) & ~tied[place]
        for target in np.flatnonzero(wrong).tolist():
            yield Recounted(number, each, target, int(expected[target]), int(answers[place, target]))


def audit_trial(trial: Trial) -> None:
    """Tries attacks again: the first and the last, and some more, half of them breaking ones where there are any.

    Refuses answers that differ.
    """
    generator = np.random.default_rng(0)
    ends = [max(0, min(each.done, limit)) for each, limit in zip(trial.tried.values(), trial.limits, strict=True)]
    broken = [
        (number, int(one)) for number, each in trial.tried.items() for one in np.unique(each.first) if one != NEVER
    ]
    chosen = [broken[place] for place in generator.permutation(len(broken))[: AUDITED // 2].tolist()]
    graphs = generator.integers(len(ends), size=AUDITED - len(chosen)).tolist()
    chosen += [(number, int(generator.integers(NEVER, ends[number]))) for number in graphs]
    classifier = trial.job.classifier.as_written
    for number, attack in sorted({(0, NEVER), (len(ends) - 1, ends[-1] - 1), *chosen}):
        found = recount(
            classifier, number, trial.job.sites[number], trial.attacks_on(number), trial.tried[number], [attack]
        )
        for each in found:
            what = f"attack {each.attack} on graph {number}" if attack != NEVER else f"graph {number}"
            raise UnsteadyAnswersError(
                f"The base classifier answers {what} (target {each.target}) with class {each.expected} in a batch, but "
                f"with class {each.found} alone, now. What it answers depends on the graphs beside it, on chance or "
                "on time: take batch statistics, randomness and counters out of it, or try attacks one by one: "
                "batch_size=1."
            )
