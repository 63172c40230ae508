"""What is known about each vote of hashed voters: certified, broken or open at every size of a threat; alpha is 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Verdict
from starcert.methods.exact_certificates import Decided, DecidedCertificate
from starcert.methods.trying import Whole
from starcert.objects import TargetNodes
from starcert.objects.threats import Threat
from starcert.system.output import quantity


@dataclass(frozen=True, eq=False, repr=False)
class HashedCertificates(Decided, Sequence["HashedCertificate"]):
    """What is known about each graph, or target of a graph; rows are those of the first graph first."""

    threat: Threat
    rule: str  # "counting" or "exact"
    relaxed: str  # what was certified in place of the threat, which is part of it; "": the threat itself
    objects: Whole  # of each row, the number of its object
    targets: Whole  # and of its target there
    labels: Whole  # the class with most votes
    votes: Whole  # what each voter answers, shape (rows, voters)
    certified_sizes: Whole  # the largest certified size of each row
    broken_sizes: Whole  # the smallest broken one; 0: none is known
    tried: int  # up to how many changes inside a group all attacks were tried
    attacks: int  # how many were tried on all voters
    forward_passes: int  # how many graphs the base classifier answered
    n_classes: int
    classifier: str
    classes: tuple[Hashable, ...] | None = None
    nodes: TargetNodes | None = None
    anchored: tuple[str, ...] = ()  # of each object, why what it says is anchored; "" if it is not
    seconds: float = 0.0

    def __repr__(self) -> str:
        says = f"{quantity(self.votes.shape[1], 'voter')}, {self.rule} rule, alpha = 0"
        anchor = ", anchored" if any(self.anchored) else ""
        return f"HashedCertificates({quantity(len(self), 'row')}, threat={str(self.threat)!r}: {says}{anchor})"

    @overload
    def __getitem__(self, index: int) -> HashedCertificate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[HashedCertificate]: ...
    def __getitem__(self, index: int | slice) -> HashedCertificate | Sequence[HashedCertificate]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return HashedCertificate(self, range(len(self))[index])

    @override
    def judge(self, row: int, size: int) -> Verdict:
        instead = f", as part of {self.relaxed}" if self.relaxed else ""
        anchor = self.anchored[self.objects[row]] if self.anchored else ""
        anchored, broken = f"; anchored: {anchor}" if anchor else "", int(self.broken_sizes[row])
        if size <= self.certified_sizes[row]:
            why = "by counting voters" if self.rule == "counting" else "by the worst division over groups"
            return Verdict("certified", why + instead + anchored)
        if 0 < broken <= size:
            return Verdict("broken", f"by an attack of size {broken}, at most {self.tried} in each group{anchored}")
        how = "assuming the worst" if self.rule == "exact" else "counting voters"
        return Verdict("open", f"{how} it could change{instead}{anchored}")


@dataclass(frozen=True)
class HashedCertificate(DecidedCertificate):
    """What is known about one graph, or one target; no attack is kept: those that were tried break single voters."""

    certificates: HashedCertificates

    @property
    def counts(self) -> tuple[int, ...]:
        """How many voters answer each class."""
        found = np.bincount(self.certificates.votes[self.row], minlength=self.certificates.n_classes)
        return tuple(found.tolist())
