"""Tried attacks as a proof: verdicts by size, the attacks that break, and what is left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows, SizedProof
from starcert.claims.question import NO_ATTACK
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.methods.plausible import Plausible
from starcert.methods.trying import NEVER, Trial, Whole
from starcert.objects import Sites
from starcert.objects.threats import Attacks, Threat
from starcert.system.output import quantity
from starcert.voting.plans import Job


@dataclass(frozen=True, eq=False, repr=False)
class TriedAttacks(SizedProof):
    """The results of trying attacks on each row. Attacks on an object are numbered from 0, those of size 1 first."""

    threat: Threat
    objects: Whole  # of each row, the number of its object
    first: Whole  # the number of the first attack that changes the answer; −1: none was found
    answers: Whole  # what it then answers
    attacks: tuple[FoundAttack | None, ...]  # that attack
    ends: tuple[tuple[int, ...], ...]  # of each object, how many attacks of at most each size there are
    limits: tuple[int, ...]  # of each object, how many were to be tried at most
    classifier: str  # which one it is
    axes: tuple[str, ...] = ()  # of the noise that names the regions
    capacities: tuple[tuple[int, ...], ...] = ()  # of each object, how many sites can be changed on each axis
    n_sites: tuple[int, ...] = ()  # of each object, how many sites its regions have
    shown: tuple[FoundAttack | None, ...] = ()  # of each row, the most plausible attack; a file has the first alone

    @property
    @override
    def method(self) -> str:
        return "plain model, every attack tried, alpha = 0"

    @cached_property
    def tried(self) -> tuple[int, ...]:
        """For each object how many attacks were needed: until all of its targets had another answer, or the budget."""
        found = []
        for number, limit in enumerate(self.limits):
            own = self.first[self.objects == number]
            found.append(limit if not len(own) or (own == NEVER).any() else int(own.max()) + 1)
        return tuple(found)

    @property
    def forward_passes(self) -> int:
        """The number of objects that the classifier had to answer: each without attack, and the needed attacks."""
        return len(self.limits) + sum(self.tried)

    @cached_property
    @override
    def certified_sizes(self) -> Whole:
        firsts = zip(self.objects.tolist(), self.first.tolist(), strict=True)
        harmless = [(number, self.limits[number] if first == NEVER else first) for number, first in firsts]
        return np.array([bisect_right(self.ends[number], count) for number, count in harmless], dtype=np.int64)

    @cached_property
    @override
    def broken_sizes(self) -> Whole:
        firsts = zip(self.objects.tolist(), self.first.tolist(), strict=True)
        sizes = [0 if first == NEVER else bisect_right(self.ends[number], first) + 1 for number, first in firsts]
        return np.array(sizes, dtype=np.int64)

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        number, tried = self.ends[int(self.objects[row])][size - 1], self.tried_for(row)
        if size <= self.certified_sizes[row]:
            return Verdict("certified", f"by trying all {quantity(number, 'attack')}" if number else NO_ATTACK)
        if 0 < self.broken_sizes[row] <= size:
            return Verdict("broken", f"by attack {tried:,} of {number:,}", self.attacks[row])
        return Verdict("open", f"{tried:,} of {number:,} attacks were tried: {number - tried:,} are left")

    def tried_for(self, row: int) -> int:
        """The number of attacks tried for a row: up to the first that changes the answer."""
        first = int(self.first[row])
        return self.limits[int(self.objects[row])] if first == NEVER else first + 1

    def left(self, row: int) -> int:
        """The number of attacks that would still have to be tried; 0 where nothing is open."""
        return self.ends[int(self.objects[row])][-1] - self.tried_for(row) if self.attacks[row] is None else 0

    @property
    @override
    def tried_on(self) -> tuple[int, ...]:
        return self.limits

    @cached_property
    @override
    def attacks_on(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(later - earlier for earlier, later in pairwise((0, *ends))) for ends in self.ends)

    @override
    def attack(self, one: Certificate) -> FoundAttack | None:
        """The first one, but of a molecule one that keeps valences, if it is among the first."""
        return self.shown[one.row] if self.shown else self.attacks[one.row]

    @override
    def columns(self, one: Certificate) -> Mapping[str, object]:
        names, attack = one.classes or range(one.certificates.n_classes), one.attack()
        return {
            "attacks": self.ends[one.object][-1],
            "tried": self.tried_for(one.row),
            "attack": None if attack is None else attack.words,
            "answer_after": None if attack is None else names[attack.votes.index(1)],
        }


def tried_certificates(
    trial: Trial, seconds: float, plausible: Sequence[Plausible | None]
) -> Certificates[TriedAttacks]:
    """The certificates that follow from the tried attacks, and nothing beyond the budget."""
    job, tried = trial.job, list(trial.tried.values())
    first, attacks, shown = list[Whole](), list[FoundAttack | None](), list[FoundAttack | None]()
    votes = np.eye(job.classifier.n_classes, dtype=np.int64).tolist()
    for number, (each, limit, others) in enumerate(zip(tried, trial.limits, plausible, strict=True)):
        first.append(np.where(each.first < limit, each.first, NEVER))
        sites, broken = job.sites[number], set(first[-1].tolist()) - {NEVER}
        found = {one: _found(trial.attacks_on(number).run(one, one + 1), sites) for one in broken}
        for target, (one, answer) in enumerate(zip(first[-1].tolist(), each.answers.tolist(), strict=True)):
            attack = None if one == NEVER else replace(found[one], votes=tuple(votes[answer]))
            attacks.append(attack)
            other = None if attack is None or attack.keeps_valences or others is None else others.of(target)
            if other is not None:
                attack = replace(_found(other[0], sites), votes=tuple(votes[other[1]]))
            shown.append(attack)
    joined = np.concatenate(first)
    proof = TriedAttacks(
        trial.attacks_on(0).threat,
        np.repeat(np.arange(len(tried)), [len(each.labels) for each in tried]),
        joined,
        np.where(joined == NEVER, NEVER, np.concatenate([each.answers for each in tried])),
        tuple(attacks),
        tuple(trial.ends),
        tuple(trial.limits),
        job.classifier.description,
        job.noise.axes,
        job.problem.capacities,
        tuple(each.n_sites for each in job.sites),
        tuple(shown),
    )
    labels = np.concatenate([each.labels for each in tried])
    return Certificates(rows_of(job), labels, proof.threat, proof, seconds)


def rows_of(job: Job) -> Rows:
    """The rows of a job without votes: the targets of one object after the other."""
    sizes = [job.n_targets(number) for number in range(len(job.sites))]
    objects = np.repeat(np.arange(len(sizes)), sizes)
    return Rows(
        objects,
        np.concatenate([np.arange(size) for size in sizes]),
        job.classifier.n_classes,
        [job.problem.anchored[number] for number in objects.tolist()],
        job.problem.kind,
        job.target_nodes,
        job.classifier.class_labels or job.classifier.class_names,
    )


def _found(run: Attacks, sites: Sites) -> FoundAttack:
    """One attack in words, without the answer."""
    positions, values = describe(run, sites)
    return FoundAttack(positions, (), 0.0, values).on(sites)


def describe(run: Attacks, sites: Sites) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The sites that one attack changes, and what they become: None for bits, () where all are bits."""
    (changes,) = run
    positions, values = zip(*changes, strict=True)
    if all(layer.alphabet == 2 for layer in sites.layers):
        return positions, ()
    alphabets = np.repeat([layer.alphabet for layer in sites.layers], sites.sizes)[list(positions)].tolist()
    return positions, tuple(None if n == 2 else value for n, value in zip(alphabets, values, strict=True))
