"""What trying every attack shows about each object: verdicts by size, the attacks that break, and what is left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.certificates.certificate import Verdict
from starcert.certificates.found_attack import FoundAttack
from starcert.certificates.plausible import Plausible
from starcert.certificates.questions import NO_ATTACK, size_within
from starcert.certificates.trying import NEVER, Trial, Whole
from starcert.math.confidence import class_numbers
from starcert.objects import Sites, TargetNodes
from starcert.objects.kinds import Kind
from starcert.objects.threats import Attacks, Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import quantity

SAYS = "plain model, every attack tried, alpha = 0"


class SizeCounts(NamedTuple):
    """What becomes of the objects, or of those that are answered right, under attacks of at most a size."""

    size: int
    label: str  # the attacks in words
    n_rows: int  # objects, or targets; given labels, those of a known class
    n_right: int  # answered right; without labels, all of them
    n_certified: int  # of these
    n_broken: int
    n_open: int
    n_attacks: int  # of all objects
    n_left: int  # of these, those on objects with an open row that were not tried


class Decided(ABC):
    """Rows, one a graph or target, with an answer each that is certified, broken or open at every size of a threat."""

    threat: Threat
    labels: Whole  # the answer of each row
    n_classes: int
    classes: tuple[Hashable, ...] | None
    nodes: TargetNodes | None

    @property
    @abstractmethod
    def certified_sizes(self) -> Whole:
        """For each row the largest size up to which no attack changes the answer."""

    @property
    @abstractmethod
    def broken_sizes(self) -> Whole:
        """For each row the size of the smallest attack that changes the answer; 0: none was found."""

    @abstractmethod
    def n_attacks(self, size: int, open_rows: npt.NDArray[np.bool_]) -> tuple[int, int]:
        """How many attacks of at most a size there are on all objects, and how many are left to try on open rows."""

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

    def truth(self, labels: npt.ArrayLike | Sequence[object]) -> npt.NDArray[np.generic]:
        """The class number of each label, None where it is not known: one a row, or one for every node of one graph."""
        given = np.asarray(labels, dtype=object) if self.nodes is None else self.nodes.labels(labels)  # type: ignore[arg-type]
        if len(given) != len(self):
            raise InvalidParameterError("labels", f"be one for each of {len(self)} rows", len(given))
        return class_numbers(given, self.n_classes, self.classes)

    def certified_accuracy(self, labels: npt.ArrayLike | Sequence[object], size: int | None = None) -> float:
        """The share of rows of a known class that are answered right, and certified up to a size; 0: without attack."""
        truth = self.truth(labels)
        asked = self.threat.most if size is None else whole_number("size", size, 0, self.threat.most)
        known = np.array([each is not None for each in truth], dtype=np.bool_)
        return float(((truth == self.labels) & (self.certified_sizes >= asked))[known].mean()) if known.any() else 0.0

    def by_size(self, labels: npt.ArrayLike | Sequence[object] | None = None) -> list[SizeCounts]:
        """For attacks of at most 1, at most 2, … units, how many rows are certified, broken and open."""
        known, right = np.ones((2, len(self)), dtype=np.bool_)
        if labels is not None:
            truth = self.truth(labels)
            known, right = np.array([each is not None for each in truth], dtype=np.bool_), truth == self.labels
        found = []
        for size in range(1, self.threat.most + 1):
            certified, broken = self.certified_sizes >= size, (self.broken_sizes > 0) & (self.broken_sizes <= size)
            judged = right & known
            attacks, left = self.n_attacks(size, judged & ~certified & ~broken)
            found.append(
                SizeCounts(
                    size,
                    self.threat.label_of(size),
                    n_rows=int(known.sum()),
                    n_right=int(judged.sum()),
                    n_certified=int((judged & certified).sum()),
                    n_broken=int((judged & broken).sum()),
                    n_open=int((judged & ~certified & ~broken).sum()),
                    n_attacks=attacks,
                    n_left=left,
                )
            )
        return found


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
        >>> found.labels, found.certified_sizes, found.forward_passes, found.certified_accuracy([0, 0], size=1)
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
        return np.array([one.certified_size for one in self], dtype=np.int64)

    @cached_property
    @override
    def broken_sizes(self) -> Whole:
        return np.array([one.broken_size or 0 for one in self], dtype=np.int64)

    @override
    def n_attacks(self, size: int, open_rows: npt.NDArray[np.bool_]) -> tuple[int, int]:
        ends, unsettled = [each[size - 1] for each in self.ends], set(self.objects[open_rows].tolist())
        return sum(ends), sum(max(0, ends[number] - self.limits[number]) for number in unsettled)

    def rows(self) -> list[dict[str, object]]:
        """One row a graph or target, for a table or a CSV file."""
        found = list[dict[str, object]]()
        for row, one in enumerate(self):
            names = self.classes if self.classes is not None else range(self.n_classes)
            place = {} if self.nodes is None else {"target": one.target, "node": self.nodes.names[row]}
            attack, after = one.shown, None if one.shown is None else names[one.shown.votes.index(1)]
            found.append(
                {"graph": one.object, **place, "answer": names[one.label], "certified_size": one.certified_size,
                 "broken_size": one.broken_size, "attacks": self.ends[one.object][-1], "tried": one.tried,
                 "attack": None if attack is None else attack.words,
                 "answer_after": after, "anchored": self.anchored[one.object] if self.anchored else ""}
            )  # fmt: skip
        return found


class ExactCertificate(NamedTuple):
    """What trying attacks shows about one graph, or one target.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> (one,) = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)])], threat="flips:1")
        >>> one.broken_size, one.attack.sites, one.verdict().why
        (1, (1,), 'by attack 2 of 6')
    """

    certificates: ExactCertificates
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
        """The answer of the plain model."""
        return int(self.certificates.labels[self.row])

    @property
    def attack(self) -> FoundAttack | None:
        """The first attack that changes the answer; None: none was found."""
        return self.certificates.attacks[self.row]

    @property
    def shown(self) -> FoundAttack | None:
        """The attack that tables and pages show: of a molecule one that keeps valences, if it is among the first."""
        return self.certificates.shown[self.row] if self.certificates.shown else self.attack

    @property
    def tried(self) -> int:
        """How many attacks were tried for it: up to the first that changes the answer."""
        first = int(self.certificates.first[self.row])
        return self.certificates.limits[self.object] if first == NEVER else first + 1

    @property
    def left(self) -> int:
        """How many attacks would still have to be tried; 0 where nothing is open."""
        whole = self.certificates.ends[self.object][-1]
        return whole - self.tried if self.attack is None else 0

    @property
    def certified_size(self) -> int:
        """The largest size up to which no attack changes the answer."""
        first = int(self.certificates.first[self.row])
        harmless = self.certificates.limits[self.object] if first == NEVER else first
        return bisect_right(self.certificates.ends[self.object], harmless)

    @property
    def broken_size(self) -> int | None:
        """The size of the smallest attack that changes the answer; None: none was found."""
        first = int(self.certificates.first[self.row])
        return None if first == NEVER else bisect_right(self.certificates.ends[self.object], first) + 1

    def verdict(self, threat: Threat | str | int | None = None) -> Verdict:
        """Whether the threat of `certify`, or the same with fewer units, is certified, broken or open, and why."""
        size, ends = self.certificates.size_of(threat), self.certificates.ends[self.object]
        if size <= self.certified_size:
            number = ends[size - 1]
            return Verdict("certified", f"by trying all {quantity(number, 'attack')}" if number else NO_ATTACK)
        if self.broken_size is not None and self.broken_size <= size:
            return Verdict("broken", f"by attack {self.tried:,} of {ends[size - 1]:,}", self.attack)
        return Verdict(
            "open", f"{self.tried:,} of {ends[size - 1]:,} attacks were tried: {ends[size - 1] - self.tried:,} are left"
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
