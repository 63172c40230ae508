"""Do the numbers of a file of tried attacks fit together, and does the classifier still say so?

Without the classifier: sizes follow from the number of the first breaking attack and the counts of attacks; an attack
that breaks gives another class, and changes different sites that are there, as many as its size has; capacities and
counts of attacks are such as the sites allow; and of any flips of bits the number of that attack follows from its
sites. With the classifier and the objects, all attacks that break and a random sample of the others are tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from os import PathLike, fspath
from typing import Literal

import numpy as np

from starcert.certificates.estimator import GraphLike
from starcert.certificates.exact import ExactClassifier
from starcert.certificates.exact_certificates import describe
from starcert.certificates.questions import OrderedAttacks
from starcert.certificates.recounting import recount
from starcert.certificates.trying import NEVER, Tried, attacks_at_once
from starcert.classifiers.base import Classifier
from starcert.files.checker.attack_counts import check_capacity, check_counts, rank_of
from starcert.files.exact_archive import MAX_TRIED, ExactArchive, read_exact
from starcert.files.listed_attacks import StatedThreat
from starcert.files.verification import Mismatch
from starcert.objects.binding import Problem
from starcert.objects.threats import AnyFlips, Threat, read_threat
from starcert.objects.threats.sets import SiteThreat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import progress_bar, quantity
from starcert.voting.plans import Job

TAKEN_AS_STATED = (
    "Taken as stated, because no file can prove it: the answers of the classifier, that it answers the same whenever "
    "it is asked, what the objects are and which of their sites can be attacked, and that a list has all attacks of "
    "its threat."
)


@dataclass(frozen=True, slots=True)
class ExactVerification:
    """The result of checking a file of tried attacks."""

    path: str
    archive: ExactArchive
    mismatches: tuple[Mismatch, ...]
    recounted: int | None = None  # how many answers of the classifier were asked for again; None: there was no model

    @property
    def refuted(self) -> tuple[Mismatch, ...]:
        """The false claims: here, all that differ."""
        return self.mismatches

    @property
    def verdict(self) -> Literal["consistent", "recounted", "refuted"]:
        """The verdict on the whole file."""
        return "refuted" if self.mismatches else "consistent" if self.recounted is None else "recounted"

    def __str__(self) -> str:
        result = self.archive.result
        what = f"{quantity(len(self.archive), self.archive.word)} under {result.threat}"
        if self.mismatches:
            return f"{self.path}: refuted. Of {what}, {quantity(len(self.mismatches), 'claim')} cannot be true."
        if self.recounted is None:
            fit = f"the numbers of {what} fit together; {sum(result.tried):,} answers are taken as stated"
            return f"{self.path}: consistent: {fit}.{self._stated}"
        again = f"{self.recounted:,} of {result.forward_passes:,} answers were asked for again, and are the same"
        return f"{self.path}: recounted. {what[0].upper()}{what[1:]}: {again}."

    @property
    def _stated(self) -> str:
        stated = isinstance(self.archive.result.threat, StatedThreat)
        return " That threat is not starcert's own: it is known by this text alone, and so are its counts." * stated


def verify_exact(
    path: str | PathLike[str],
    *,
    classifier: Classifier | ExactClassifier | None = None,
    objects: Sequence[GraphLike] | Problem | None = None,
    threat: Threat | str | None = None,
    sample: int = 1000,
    seed: int = 0,
    progress: bool | None = False,
) -> ExactVerification:
    """Checks a file of tried attacks; with the classifier and the objects, also what the classifier says.

    Args:
        path: the file.
        classifier: the classifier, or the `ExactClassifier` with its noise and regions.
        objects: the clean objects, in the order of the file.
        threat: the threat, where it cannot be read from the file.
        sample: how many attacks that break nothing are tried again, beside all that break.
        seed: of the choice of these.
        progress: whether to draw a progress bar; None: on a terminal only.
    """
    archive = read_exact(path)
    found = [each for row in range(len(archive)) for each in _row_mismatches(archive, row)]
    found += [each for number in range(len(archive.result.ends)) for each in _count_mismatches(archive, number)]
    if classifier is None:
        return ExactVerification(fspath(path), archive, tuple(found))
    if objects is None:
        raise InvalidParameterError("objects", "be given with a classifier", None)
    exact = classifier if isinstance(classifier, ExactClassifier) else ExactClassifier(classifier)
    asked = archive.result.threat if threat is None else read_threat(threat)
    if isinstance(asked, StatedThreat):
        raise InvalidParameterError("threat", "be given, as the file has but its text", str(asked))
    more, recounted = list[Mismatch](), 0
    job = Job.of(exact.base, exact.problem(objects), 0)
    if len(job.sites) != len(archive.result.ends):
        raise InvalidParameterError("objects", f"be the {len(archive.result.ends)} of the file", len(job.sites))
    chosen = _chosen(archive, whole_number("sample", sample, 0), np.random.default_rng(seed))
    with progress_bar("recounting", sum(map(len, chosen)), shown=progress) as advance:
        for number, numbers in enumerate(chosen):
            more += _recounted(archive, job, number, OrderedAttacks(asked, job.sites[number], job.noise), numbers)
            recounted += len(numbers)
            advance(len(numbers))
    return ExactVerification(fspath(path), archive, tuple(found + more), recounted)


def _row_mismatches(archive: ExactArchive, row: int) -> Iterator[Mismatch]:
    """What a row says that does not follow from the number of its first breaking attack."""
    one, name = archive.result[row], archive.names[row]
    number, ends = one.object, archive.result.ends[one.object]
    if archive.claimed is not None:
        for field, claimed, proved in zip(
            ("certified_size", "broken_size"), archive.claimed[row], (one.certified_size, one.broken_size), strict=True
        ):
            if claimed != proved:
                yield Mismatch(number, name, field, claimed, proved)
    if one.first_attack is None:
        return
    limit, sites = archive.result.limits[number], one.first_attack.sites
    first, size, n_sites = int(archive.result.first[row]), one.broken_size, archive.result.n_sites[number]
    if first >= limit:
        yield Mismatch(number, name, "first", first, f"below {limit}")
    if one.label == int(archive.result.answers[row]):
        yield Mismatch(number, name, "answer_after", one.label, "another class")
    if not sites or list(sites) != sorted(set(sites)) or sites[-1] >= n_sites:
        yield Mismatch(number, name, "attack", list(sites), f"ascending sites below {n_sites}")
    elif isinstance(archive.result.threat, SiteThreat) and len(sites) != size:
        yield Mismatch(number, name, "attack", list(sites), f"{size} sites")
    elif isinstance(archive.result.threat, AnyFlips) and not one.first_attack.values:
        ranked = (0, *ends)[len(sites) - 1] + rank_of(sites, MAX_TRIED)
        if ranked != first:
            yield Mismatch(number, name, "first", first, ranked)


def _count_mismatches(archive: ExactArchive, number: int) -> Iterator[Mismatch]:
    """Whether an object of these sites and capacities can have as many attacks of each size; see `attack_counts`."""
    result, ends = archive.result, archive.result.ends[number]
    counts, n_sites = [later - earlier for earlier, later in pairwise((0, *ends))], result.n_sites[number]
    capacity = result.capacities[number]
    for field, stated, must in (
        ("capacity", capacity, check_capacity(result.axes, capacity, n_sites)),
        ("attacks", counts, check_counts(result.threat, counts, result.axes, capacity, n_sites)),
    ):
        if must:
            name = next((name for name, each in zip(archive.names, result.objects, strict=True) if each == number), "")
            yield Mismatch(number, name, field, stated, must)


def _chosen(archive: ExactArchive, sample: int, rng: np.random.Generator) -> list[list[int]]:
    """The numbers of the attacks to try again, by object: none at all, all that break, and a sample of all tried."""
    result = archive.result
    tried = np.array(result.tried, dtype=np.float64)
    share = rng.multinomial(sample, tried / tried.sum()).tolist() if tried.sum() else [0] * len(tried)
    found = []
    for number, (most, wanted) in enumerate(zip(result.tried, share, strict=True)):
        broken = set(result.first[result.objects == number].tolist()) - {NEVER}
        others = rng.integers(most, size=wanted).tolist() if most else []
        found.append(sorted({NEVER, *broken, *others}))
    return found


def _recounted(
    archive: ExactArchive, job: Job, number: int, attacks: OrderedAttacks, numbers: Sequence[int]
) -> Iterator[Mismatch]:
    """What the threat and the classifier say differently about one object."""
    result = archive.result
    rows = np.flatnonzero(result.objects == number).tolist()
    name = archive.names[rows[0]] if rows else ""
    if attacks.ends != result.ends[number] or len(rows) != job.n_targets(number):
        yield Mismatch(number, name, "attacks", list(result.ends[number]), list(attacks.ends))
        return
    for row in rows:
        if (attack := result.attacks[row]) is not None:
            first = int(result.first[row])
            there = describe(attacks.run(first, first + 1), job.sites[number])
            if there != (attack.sites, attack.values):
                yield Mismatch(number, archive.names[row], "attack", list(attack.sites), list(there[0]))
    tried = Tried(result.labels[rows].tolist(), result.first[rows].tolist(), result.answers[rows].tolist())
    step = attacks_at_once(job, number)
    for _, part in groupby(enumerate(numbers), key=lambda each: each[0] // step):
        some = [each for _, each in part]
        for one in recount(job, number, attacks, tried, some):
            what = "class" if one.attack == NEVER else f"answer under attack {one.attack}"
            yield Mismatch(number, archive.names[rows[one.target]], what, one.expected, one.found)
