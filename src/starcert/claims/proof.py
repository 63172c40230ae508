"""The record of a method that supports its claims: everything in which the results of methods differ.

`outcomes` is the one thing that every method says; all else follows from it. A proof that decides every size of the
threat that was asked about, at alpha 0, is a `SizedProof`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.claims.outcomes import Labels, Mask, Outcome, Outcomes, beyond, common_size
from starcert.claims.question import size_within
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.math.confidence import class_numbers
from starcert.objects import TargetNodes
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates

Asked: TypeAlias = "Threat | str | RadiusLike | None"
"""A question about a row: a threat, a number of its units, a radius; None: the threat of `certify`."""
Whole = npt.NDArray[np.int64]


class Proof(ABC):
    """The record of a method that decides each row under a threat."""

    alpha: float | None = 0.0  # the probability that anything that a row says is false; None: it is not known
    together = 1  # how many rows share alpha; 1: it is that of each
    weighed = True  # whether anything is known beyond p_A: rows may be broken then

    @property
    @abstractmethod
    def method(self) -> str:
        """The method in a few words."""

    @abstractmethod
    def outcomes(self, of: Certificates, threat: Threat | None) -> Outcomes:
        """The outcome of each row under a threat; None: the threat of `certify`."""

    def alpha_of(self, row: int) -> float | None:
        """The probability that anything that this row says is false."""
        return self.alpha

    def abstained(self, of: Certificates) -> Mask:
        """For which rows no answer is given."""
        return np.zeros(len(of), dtype=np.bool_)

    def by_axis(self, of: Certificates, flips: int | None) -> dict[str, Outcomes]:
        """The outcomes under flips on one axis alone; empty where there are no axes."""
        return {}

    def verdict(self, one: Certificate, asked: Asked) -> Verdict:
        """The verdict on all attacks of a threat."""
        found = one.certificates.outcomes(None if asked is None else _threat(asked))
        outcome = found[one.row]
        return Verdict(outcome.state(found.threat.most) or "open", outcome.why, outcome.found)

    def certified_size(self, one: Certificate) -> int | None:
        """The largest size up to which all is certified of a row; None: it is not known."""
        return one.certificates.outcomes()[one.row].certified

    def broken_size(self, one: Certificate) -> int | None:
        """The size of the smallest attack that is known to change the answer of a row; None: none is."""
        return one.certificates.outcomes()[one.row].broken

    def attack(self, one: Certificate) -> FoundAttack | None:
        """The attack to show first; None if none is known, or kept."""
        return one.certificates.outcomes()[one.row].found

    def columns(self, one: Certificate) -> Mapping[str, object]:
        """The columns that the method adds to a row of a table."""
        return {}

    def rows(self, of: Certificates, labels: Labels | None, **about: Any) -> list[dict[str, object]]:  # noqa: ANN401
        """One row a graph or target, for a table or a CSV file; of what is said about them, `names` alone."""
        called = about.pop("names", None)
        if about:
            raise InvalidParameterError(next(iter(about)), "be left out where no votes were drawn", "a value")
        if called is not None and len(called) != len(of):
            raise InvalidParameterError("names", f"be one for each of {len(of)} rows", len(called))
        names, found = of.classes or range(of.n_classes), list[dict[str, object]]()
        truth, right = (None, None) if labels is None else (of.truth(labels).tolist(), of.right(labels))
        for one in of:
            place: dict[str, object] = {} if called is None else {"name": called[one.row]}
            place |= {} if of.nodes is None else {"target": one.target, "node": of.nodes.names[one.row]}
            if truth is not None and right is not None:
                label = truth[one.row]
                place["true_class"] = None if label is None else names[label]
                place["right"] = None if label is None else bool(right[one.row])
            sizes = {"certified_size": one.certified_size, "broken_size": one.broken_size}
            found.append(
                {"graph": one.object, **place, "answer": names[one.label], **sizes}
                | {**self.columns(one), "anchored": one.anchored}
            )
        return found


class SizedProof(Proof):
    """A proof about each size of the threat that was asked about; nothing is sampled, so alpha is 0."""

    threat: Threat

    if TYPE_CHECKING:  # fields of some proofs, and properties of others

        @property
        def certified_sizes(self) -> Whole:
            """For each row the largest size up to which no attack changes the answer."""

        @property
        def broken_sizes(self) -> Whole:
            """For each row the size of the smallest attack that is known to change the answer; 0: none is."""

    @abstractmethod
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        """The verdict on attacks of at most this size, with its reason and the attack that breaks it, if it is kept."""

    @property
    def attacks_on(self) -> Sequence[tuple[int, ...]]:
        """For each object how many attacks of each size there are; empty: they were not counted."""
        return ()

    @property
    def tried_on(self) -> tuple[int, ...] | None:
        """For each object how many attacks were to be tried; None: the method tries none."""
        return None

    @override
    def outcomes(self, of: Certificates, threat: Threat | None) -> Outcomes:
        known = self.threat
        asked, objects = known if threat is None else threat, tuple(of.objects.tolist())
        if (size := common_size(known, asked)) is None:
            blank = [Outcome(label, None, looked=0, why=f"{asked} was not asked about") for label in of.labels.tolist()]
            return Outcomes(asked, tuple(blank), objects)
        rows = [self._outcome(of, row, size) for row in range(len(of))]
        if size < asked.most:
            rows = [each._replace(why=beyond(known)) for each in rows]
        tried = None if self.tried_on is None else tuple(self.tried_on[number] for number in objects)
        return Outcomes(asked, tuple(rows), objects, tried=tried)

    def _outcome(self, of: Certificates, row: int, size: int) -> Outcome:
        verdict, broken = self.verdict_at(of, row, size), int(self.broken_sizes[row])
        return Outcome(
            answer=int(of.labels[row]),
            certified=min(size, int(self.certified_sizes[row])),
            broken=broken if 0 < broken <= size else None,
            looked=size,
            attacks=self.attacks_on[int(of.objects[row])][:size] if self.attacks_on else (),
            found=verdict.attack,
            why=verdict.why,
        )

    @override
    def certified_size(self, one: Certificate) -> int | None:
        return int(self.certified_sizes[one.row])

    @override
    def broken_size(self, one: Certificate) -> int | None:
        return int(self.broken_sizes[one.row]) or None

    @override
    def verdict(self, one: Certificate, asked: Asked) -> Verdict:
        return self.verdict_at(one.certificates, one.row, size_of(self.threat, asked))

    @override
    def attack(self, one: Certificate) -> FoundAttack | None:
        return self.verdict(one, None).attack


def size_of(known: Threat, asked: Asked) -> int:
    """The size at which a question is part of a threat: a number of units, or the threat with fewer of them."""
    if asked is None or isinstance(asked, int):
        return known.most if asked is None else whole_number("size", asked, 1, known.most)
    threat = _threat(asked)
    if (size := size_within(known, threat)) is None:
        hint = "Certify again with this threat: certify(…, threat=…)."
        raise InvalidParameterError("threat", f"be {known}, or the same with fewer units", str(threat), hint)
    return size


def _threat(asked: Asked) -> Threat:
    if not isinstance(asked, Threat | str):
        raise InvalidParameterError("threat", "be a threat or its text where no votes were drawn", asked)
    return read_threat(asked)


@dataclass(frozen=True, eq=False)
class Rows:
    """One row for each object, or for each target of each object: those of the first object come first.

    Example:
        >>> Rows.of_objects(3, n_classes=2).names
        ['0', '1', '2']
    """

    objects: Whole  # of each row, the number of its object
    targets: Whole  # and of its target there; 0 where objects themselves are classified
    n_classes: int
    anchored: Sequence[str]  # of each row, why its regions are anchored; "" if they are not
    kind: Kind = GRAPHS
    nodes: TargetNodes | None = None  # of each row, where the nodes of graphs are classified
    classes: Sequence[Hashable] | None = None  # what labels call the classes, by number; None: by their numbers alone

    @classmethod
    def of_objects(cls, number: int, n_classes: int) -> Rows:
        """Rows of this many graphs, whose regions are not anchored."""
        return cls(np.arange(number), np.zeros(number, dtype=np.int64), n_classes, [""] * number)

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def word(self) -> str:
        """The word for a row."""
        return self.kind.word if self.nodes is None else "node"

    @property
    def names(self) -> list[str]:
        """The name of each row: the number of its graph, and its node or its target's number, if any."""
        graphs, targets = self.objects.tolist(), self.targets.tolist()
        if self.nodes is None and not any(targets):
            return [str(graph) for graph in graphs]
        named = targets if self.nodes is None else self.nodes.names
        return [f"{graph}.{target}" for graph, target in zip(graphs, named, strict=True)]

    def truth(self, labels: npt.ArrayLike | Sequence[object]) -> npt.NDArray[np.generic]:
        """The true class number of each row; None where the label is None, for a class that is not known.

        Args:
            labels: a class for each row, in the words of `classes` or by its number; where the nodes of one graph are
                classified, a class for each of all its nodes will do.
        """
        given: npt.NDArray[np.generic] = np.array(labels, dtype=object)
        if self.nodes is not None:
            given = self.nodes.labels(given)
        elif given.shape != (len(self),):
            raise InvalidParameterError("labels", f"have one class for each of {len(self)} graphs", given.shape)
        return class_numbers(given, self.n_classes, self.classes)
