"""Checks that need the objects of a file, or its classifier: attacks are listed again, and answers are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, starmap

import numpy as np

from starcert.archive.exact_archive import ExactArchive
from starcert.archive.joint_votes import numbered_attacks
from starcert.archive.record import Archive
from starcert.archive.threat_texts import StatedThreat
from starcert.archive.verification import Mismatch
from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.methods.estimator import GraphLike
from starcert.methods.exhaustive import ExactClassifier, describe
from starcert.methods.trying import NEVER, Tried, attacks_at_once
from starcert.methods.trying import recount as ask_again
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.threats import Threat, read_threat
from starcert.objects.threats.sets import NumberedAttacks
from starcert.system.errors import InvalidParameterError
from starcert.system.output import progress_bar
from starcert.voting.plans import Job


def listed_otherwise(archive: Archive, sites: Problem | Sequence[Sites]) -> Iterator[Mismatch]:
    """The differences between the attacks of a file and those that its threat lists on the objects."""
    given, objects = list(sites.sites if isinstance(sites, Problem) else sites), archive.votes.objects.tolist()
    if len(given) != max(objects) + 1:
        raise InvalidParameterError("sites", f"have one entry for each of {max(objects) + 1} objects", len(given))
    for number, (asked, each) in enumerate(zip(archive.asked or (), given, strict=False)):
        anew = Question.of(asked.threat, each, archive.noise)
        if not _same(asked, anew) or asked.levels != anew.levels:
            row = objects.index(number)
            yield Mismatch(row, archive.names[row], "listed", asked.counts, anew.counts)
    together = () if archive.collective is None else archive.collective.votes.asked
    for number, (here, each) in enumerate(zip(together, given, strict=False)):
        again = Question.of(here.threat, each, archive.noise).on(each, archive.noise)
        lists = numbered_attacks(again.sites, again.axes, again.attacks)
        if not _same(here, replace(again, attacks=lists)) or len(here.sites) != len(again.sites):
            row = objects.index(number)
            yield Mismatch(row, archive.names[row], "listed under 'collective'", here.counts, "others")


def _same(one: Question, other: Question) -> bool:
    """True if two questions list the same attacks."""
    pairs = zip(chain(*one.attacks), chain(*other.attacks), strict=False)
    return one.counts == other.counts and all(starmap(np.array_equal, pairs))


def tried_again(
    archive: ExactArchive,
    classifier: Classifier | ExactClassifier,
    objects: Sequence[GraphLike] | Problem,
    threat: Threat | str | None,
    sample: int,
    seed: int,
    progress: bool | None,
) -> tuple[list[Mismatch], int]:
    """Tries all breaking attacks again, and a sample of the others: the differences, and the number of attacks."""
    exact = classifier if isinstance(classifier, ExactClassifier) else ExactClassifier(classifier)
    asked = archive.result.proof.threat if threat is None else read_threat(threat)
    if isinstance(asked, StatedThreat):
        raise InvalidParameterError("threat", f"is missing: the file has only its text, {asked}.")
    more, recounted = list[Mismatch](), 0
    job = Job.of(exact.base, exact.problem(objects), 0)
    if len(job.sites) != len(archive.result.proof.ends):
        raise InvalidParameterError("objects", f"be the {len(archive.result.proof.ends)} of the file", len(job.sites))
    chosen = _chosen(archive, sample, np.random.default_rng(seed))
    with progress_bar("recounting", sum(map(len, chosen)), shown=progress) as advance:
        for number, numbers in enumerate(chosen):
            more += _recounted(archive, job, number, NumberedAttacks(asked, job.sites[number], job.noise), numbers)
            recounted += len(numbers)
            advance(len(numbers))
    return more, recounted


def _chosen(archive: ExactArchive, sample: int, rng: np.random.Generator) -> list[list[int]]:
    """The numbers of the attacks to try again, by object: none at all, all that break, and a sample of all tried."""
    result = archive.result
    tried = np.array(result.proof.tried, dtype=np.float64)
    share = rng.multinomial(sample, tried / tried.sum()).tolist() if tried.sum() else [0] * len(tried)
    found = []
    for number, (most, wanted) in enumerate(zip(result.proof.tried, share, strict=True)):
        broken = set(result.proof.first[result.objects == number].tolist()) - {NEVER}
        others = rng.integers(most, size=wanted).tolist() if most else []
        found.append(sorted({NEVER, *broken, *others}))
    return found


def _recounted(
    archive: ExactArchive, job: Job, number: int, attacks: NumberedAttacks, numbers: Sequence[int]
) -> Iterator[Mismatch]:
    """The differences that the threat and the classifier show on one object."""
    result = archive.result
    rows = np.flatnonzero(result.objects == number).tolist()
    name = archive.names[rows[0]] if rows else ""
    if attacks.ends != result.proof.ends[number] or len(rows) != job.n_targets(number):
        yield Mismatch(number, name, "attacks", list(result.proof.ends[number]), list(attacks.ends))
        return
    for row in rows:
        if (attack := result.proof.attacks[row]) is not None:
            first = int(result.proof.first[row])
            there = describe(attacks.run(first, first + 1), job.sites[number])
            if there != (attack.sites, attack.values):
                yield Mismatch(number, archive.names[row], "attack", list(attack.sites), list(there[0]))
    tried = Tried(result.labels[rows].tolist(), result.proof.first[rows].tolist(), result.proof.answers[rows].tolist())
    step = attacks_at_once(job, number)
    for _, part in groupby(enumerate(numbers), key=lambda each: each[0] // step):
        some = [each for _, each in part]
        for one in ask_again(job, number, attacks, tried, some):
            what = "class" if one.attack == NEVER else f"answer under attack {one.attack}"
            yield Mismatch(number, archive.names[rows[one.target]], what, one.expected, one.found)
