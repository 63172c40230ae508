"""What trying every attack shows about each object: verdicts by size, the attacks that break, and what is left."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Verdict
from starcert.claims.found_attack import FoundAttack
from starcert.claims.outcomes import Outcome, Outcomes, Results, State, common_size
from starcert.claims.question import NO_ATTACK, size_within
from starcert.claims.unknown import beyond
from starcert.methods.plausible import Plausible
from starcert.methods.trying import NEVER, Trial, Whole
from starcert.objects import Sites, TargetNodes
from starcert.objects.kinds import Kind
from starcert.objects.threats import Attacks, Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import quantity

SAYS = "plain model, every attack tried, alpha = 0"


class Decided(Results):
    """Rows, one a graph or target, with an answer each that is certified, broken or open at every size of a threat."""

    threat: Threat
    objects: Whole  # of each row, the number of its object
    targets: Whole  # and of its target there
    n_classes: int
    classes: tuple[Hashable, ...] | None
    nodes: TargetNodes | None

    if TYPE_CHECKING:  # fields of some dataclasses, and properties of others

        @property
        def certified_sizes(self) -> Whole:
            """For each row the largest size up to which no attack changes the answer."""

        @property
        def broken_sizes(self) -> Whole:
            """For each row the size of the smallest attack that is known to change the answer; 0: none is."""

    @property
    def attacks_on(self) -> Sequence[tuple[int, ...]]:
        """For each object how many attacks of each size there are; empty: they were not counted."""
        return ()

    @property
    def tried_on(self) -> tuple[int, ...] | None:
        """For each object how many attacks were to be tried; None: the method tries none."""
        return None

    @abstractmethod
    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401
        """What is known about a row."""

    @abstractmethod
    def judge(self, row: int, size: int) -> Verdict:
        """The verdict on attacks of at most this size, with its reason and the attack that breaks it, if it is kept."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def alpha(self) -> float:
        """The probability that any of it is false: nothing is sampled."""
        return 0.0

    def size_of(self, threat: Threat | str | int | None) -> int:
        """The size at which a question is part of the threat: a number of units, or the threat with fewer of them."""
        if threat is None or isinstance(threat, int):
            return self.threat.most if threat is None else whole_number("size", threat, 1, self.threat.most)
        size = size_within(self.threat, read_threat(threat))
        if size is None:
            hint = "Certify again with this threat: certify(…, threat=…)."
            raise InvalidParameterError("threat", f"be {self.threat}, or the same with fewer units", str(threat), hint)
        return size

    @override
    def outcomes(self, threat: Threat | str | None = None) -> Outcomes:
        asked, objects = self.threat if threat is None else read_threat(threat), tuple(self.objects.tolist())
        if (size := common_size(self.threat, asked)) is None:
            why = f"{asked} was not asked about"
            return Outcomes(
                asked, tuple(Outcome(label, None, looked=0, why=why) for label in self.labels.tolist()), objects
            )
        rows = [self._outcome(row, size) for row in range(len(self))]
        if size < asked.most:
            rows = [each._replace(why=beyond(self.threat)) for each in rows]
        tried = None if self.tried_on is None else tuple(self.tried_on[number] for number in objects)
        return Outcomes(asked, tuple(rows), objects, tried=tried)

    def _outcome(self, row: int, size: int) -> Outcome:
        verdict, broken = self.judge(row, size), int(self.broken_sizes[row])
        return Outcome(
            answer=int(self.labels[row]),
            certified=min(size, int(self.certified_sizes[row])),
            broken=broken if 0 < broken <= size else None,
            looked=size,
            attacks=self.attacks_on[int(self.objects[row])][:size] if self.attacks_on else (),
            found=verdict.attack,
            why=verdict.why,
        )


@dataclass(frozen=True)
class DecidedCertificate:
    """What is known about one graph, or one target; a `threat` is that of `certify`, or the same with fewer units."""

    certificates: Decided
    row: int

    @property
    def object(self) -> int:
        """The number of its graph."""
        return int(self.certificates.objects[self.row])

    @property
    def target(self) -> int:
        """The number of the target in its graph."""
        return int(self.certificates.targets[self.row])

    @property
    def label(self) -> int:
        """The answer without attack."""
        return int(self.certificates.labels[self.row])

    @property
    def certified_size(self) -> int:
        """The largest size up to which no attack changes the answer."""
        return int(self.certificates.certified_sizes[self.row])

    @property
    def broken_size(self) -> int | None:
        """The size of the smallest attack that is known to change the answer; None: none is."""
        return int(self.certificates.broken_sizes[self.row]) or None

    def verdict(self, threat: Threat | str | int | None = None) -> State:
        """Whether a threat is "certified", "broken" or "open"."""
        return self._judge(threat).kind

    def why(self, threat: Threat | str | int | None = None) -> str:
        """By which argument it has its verdict, such as "by trying all 120 attacks"."""
        return self._judge(threat).why

    def attack(self, threat: Threat | str | int | None = None) -> FoundAttack | None:
        """The attack that breaks a threat; None if none is known, or kept."""
        return self._judge(threat).attack

    def _judge(self, threat: Threat | str | int | None) -> Verdict:
        return self.certificates.judge(self.row, self.certificates.size_of(threat))


@dataclass(frozen=True, eq=False, repr=False)
class ExactCertificates(Decided, Sequence["ExactCertificate"]):
    """What trying attacks shows about each graph, or target of a graph; rows are those of the first graph first.

    Attacks on a graph are numbered from 0, those of size 1 first.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> found = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])], threat="flips:2")
        >>> found
        ExactCertificates(2 graphs, threat='flips:2': plain model, every attack tried, alpha = 0)
        >>> found.labels, found.certified_sizes, found.forward_passes, found.certified_accuracy([0, 0], 1)
        (array([0, 0]), array([0, 2]), 25, 0.5)
    """

    threat: Threat
    objects: Whole  # of each row, the number of its object
    targets: Whole  # and of its target there
    labels: Whole  # what the base classifier answers without attack
    first: Whole  # the number of the first attack that changes the answer; −1: none was found
    answers: Whole  # what it then answers
    attacks: tuple[FoundAttack | None, ...]  # that attack
    ends: tuple[tuple[int, ...], ...]  # of each object, how many attacks of at most each size there are
    limits: tuple[int, ...]  # of each object, how many were to be tried at most
    n_classes: int
    classifier: str  # which one it is
    kind: Kind
    classes: tuple[Hashable, ...] | None = None  # what labels call the classes
    nodes: TargetNodes | None = None  # of each row, where nodes are classified
    anchored: tuple[str, ...] = ()  # of each object, why its regions are anchored; "" if they are not
    axes: tuple[str, ...] = ()  # of the noise that names the regions
    capacities: tuple[tuple[int, ...], ...] = ()  # of each object, how many sites can be changed on each axis
    n_sites: tuple[int, ...] = ()  # of each object, how many sites its regions have
    seconds: float = 0.0  # that it took, without what earlier calls had tried
    shown: tuple[FoundAttack | None, ...] = ()  # of each row, the most plausible attack; a file has the first alone

    @classmethod
    def of(
        cls, trial: Trial, nodes: TargetNodes | None, seconds: float, plausible: Sequence[Plausible | None]
    ) -> ExactCertificates:
        """What was found, and nothing beyond the budget."""
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
        joined, sizes = np.concatenate(first), [len(each.labels) for each in tried]
        return cls(
            trial.attacks_on(0).threat,
            np.repeat(np.arange(len(tried)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
            np.concatenate([each.labels for each in tried]),
            joined,
            np.where(joined == NEVER, NEVER, np.concatenate([each.answers for each in tried])),
            tuple(attacks),
            tuple(trial.ends),
            tuple(trial.limits),
            job.classifier.n_classes,
            job.classifier.description,
            job.problem.kind,
            job.classifier.class_labels or job.classifier.class_names,
            nodes,
            job.problem.anchored,
            job.noise.axes,
            job.problem.capacities,
            tuple(each.n_sites for each in job.sites),
            seconds,
            tuple(shown),
        )

    def __repr__(self) -> str:
        what = self.kind.word if self.nodes is None else "node"
        return f"ExactCertificates({quantity(len(self), what)}, threat={str(self.threat)!r}: {SAYS})"

    @overload
    def __getitem__(self, index: int) -> ExactCertificate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ExactCertificate]: ...
    def __getitem__(self, index: int | slice) -> ExactCertificate | Sequence[ExactCertificate]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return ExactCertificate(self, range(len(self))[index])

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
        """How many objects the classifier had to answer: each without attack, and the attacks that were needed."""
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
    def judge(self, row: int, size: int) -> Verdict:
        one, number = self[row], self.ends[int(self.objects[row])][size - 1]
        if size <= one.certified_size:
            return Verdict("certified", f"by trying all {quantity(number, 'attack')}" if number else NO_ATTACK)
        if one.broken_size is not None and one.broken_size <= size:
            return Verdict("broken", f"by attack {one.tried:,} of {number:,}", one.first_attack)
        return Verdict("open", f"{one.tried:,} of {number:,} attacks were tried: {number - one.tried:,} are left")

    @property
    @override
    def tried_on(self) -> tuple[int, ...]:
        return self.limits

    @cached_property
    @override
    def attacks_on(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(later - earlier for earlier, later in pairwise((0, *ends))) for ends in self.ends)

    def rows(self) -> list[dict[str, object]]:
        """One row a graph or target, for a table or a CSV file."""
        found = list[dict[str, object]]()
        for row, one in enumerate(self):
            names = self.classes if self.classes is not None else range(self.n_classes)
            place = {} if self.nodes is None else {"target": one.target, "node": self.nodes.names[row]}
            attack = one.attack()
            after = None if attack is None else names[attack.votes.index(1)]
            found.append(
                {"graph": one.object, **place, "answer": names[one.label], "certified_size": one.certified_size,
                 "broken_size": one.broken_size, "attacks": self.ends[one.object][-1], "tried": one.tried,
                 "attack": None if attack is None else attack.words,
                 "answer_after": after, "anchored": self.anchored[one.object] if self.anchored else ""}
            )  # fmt: skip
        return found


@dataclass(frozen=True)
class ExactCertificate(DecidedCertificate):
    """What trying attacks shows about one graph, or one target.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> (one,) = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)])], threat="flips:1")
        >>> one.broken_size, one.attack().sites, one.why()
        (1, (1,), 'by attack 2 of 6')
    """

    certificates: ExactCertificates

    @property
    def first_attack(self) -> FoundAttack | None:
        """The first attack that changes the answer; None: none was found."""
        return self.certificates.attacks[self.row]

    @override
    def attack(self, threat: Threat | str | int | None = None) -> FoundAttack | None:
        """The attack that breaks a threat, the first one; by default the one to show.

        That is the first one, but of a molecule one that keeps valences, if it is among the first.
        """
        if threat is not None:
            return super().attack(threat)
        return self.certificates.shown[self.row] if self.certificates.shown else self.first_attack

    @property
    def tried(self) -> int:
        """How many attacks were tried for it: up to the first that changes the answer."""
        first = int(self.certificates.first[self.row])
        return self.certificates.limits[self.object] if first == NEVER else first + 1

    @property
    def left(self) -> int:
        """How many attacks would still have to be tried; 0 where nothing is open."""
        whole = self.certificates.ends[self.object][-1]
        return whole - self.tried if self.first_attack is None else 0


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
