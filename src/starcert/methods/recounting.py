"""Attacks that were tried are tried again: each alone, with the classifier as it is written, or all of some at once.

A run ends with it, whether it tried everything itself or continued a file: answers that depend on the graphs beside
them, on chance or on time show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from starcert.classifiers.base import UnsteadyAnswersError
from starcert.methods.trying import NEVER, Trial, Tried, show_attacked
from starcert.objects import Sites
from starcert.objects.threats.attacks import NO_CHANGE, Attacks
from starcert.objects.threats.numbered import NumberedAttacks
from starcert.voting.ask import Again, Asking, Batch, ask, asked_again
from starcert.voting.plans import Job

AUDITED = 32  # attacks that are tried again, each alone, after a run


class Recounted(NamedTuple):
    """An answer that is another one when it is asked for again."""

    object: int
    attack: int  # its number; −1: without attack
    target: int
    expected: int
    found: int


class AttackedAgain(NamedTuple):
    """A piece: attacks on one object with these numbers, tried again as one batch."""

    graph: int
    numbers: Sequence[int]
    attacks: Attacks
    as_written: bool

    @property
    def n_copies(self) -> int:
        """The number of attacked objects."""
        return len(self.attacks)

    def ask(self, job: Job, sites: Sites) -> Asking[Again]:
        """The answers on them."""
        copies = show_attacked(job.classifier, sites, self.attacks)
        name = f"graph {self.graph}, attacks {', '.join(map(str, self.numbers[:5]))}"
        return asked_again([Batch(copies, name, as_written=self.as_written)])


def recount(
    job: Job, number: int, attacks: NumberedAttacks, tried: Tried, numbers: Sequence[int], *, as_written: bool = False
) -> Iterator[Recounted]:
    """Tries attacks with these numbers again, as one batch, and yields what is answered differently.

    An answer that differs by rounding, where two classes tie, is not different. Nothing is known about a target after
    the first attack that changes its answer.
    """
    runs = (NO_CHANGE if each == NEVER else attacks.run(each, each + 1) for each in numbers)
    piece = AttackedAgain(number, numbers, Attacks.joined(runs), as_written)
    ((_, (answers, tied)),) = ask(job, [piece])
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
    for number, attack in sorted({(0, NEVER), (len(ends) - 1, ends[-1] - 1), *chosen}):
        about = trial.attacks_on(number), trial.tried[number]
        for each in recount(trial.job, number, *about, [attack], as_written=True):
            what = f"attack {each.attack} on graph {number}" if attack != NEVER else f"graph {number}"
            raise UnsteadyAnswersError(
                f"The base classifier answers {what} (target {each.target}) with class {each.expected} in a batch, but "
                f"with class {each.found} alone, now. What it answers depends on the graphs beside it, on chance or "
                "on time: take batch statistics, randomness and counters out of it, or try attacks one by one: "
                "batch_size=1."
            )
