"""What is known about each vote of hashed voters: certified, broken or open at every size of a threat; alpha is 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from starcert.certificates.certificate import Verdict
from starcert.certificates.exact_certificates import Decided
from starcert.certificates.outcomes import State
from starcert.certificates.trying import Whole
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


class HashedCertificate(NamedTuple):
    """What is known about one graph, or one target."""

    certificates: HashedCertificates
    row: int

    @property
    def label(self) -> int:
        """The class with most votes."""
        return int(self.certificates.labels[self.row])

    @property
    def counts(self) -> tuple[int, ...]:
        """How many voters answer each class."""
        found = np.bincount(self.certificates.votes[self.row], minlength=self.certificates.n_classes)
        return tuple(found.tolist())

    @property
    def certified_size(self) -> int:
        """The largest size up to which no attack changes the answer."""
        return int(self.certificates.certified_sizes[self.row])

    @property
    def broken_size(self) -> int | None:
        """The size of the smallest attack that is known to change the answer; None: none is."""
        return int(self.certificates.broken_sizes[self.row]) or None

    def verdict(self, threat: Threat | str | int | None = None) -> State:
        """Whether the threat of `certify`, or the same with fewer units, is "certified", "broken" or "open"."""
        return self.judge(threat).kind

    def why(self, threat: Threat | str | int | None = None) -> str:
        """By which argument it has its verdict, such as "by counting voters"."""
        return self.judge(threat).why

    def attack(self, threat: Threat | str | int | None = None) -> None:
        """No attack is kept: those that were tried break voters, not the vote."""

    def judge(self, threat: Threat | str | int | None = None) -> Verdict:
        """The verdict on a threat, with its reason."""
        known, size = self.certificates, self.certificates.size_of(threat)
        instead = f", as part of {known.relaxed}" if known.relaxed else ""
        anchor = known.anchored[known.objects[self.row]] if known.anchored else ""
        anchored = f"; anchored: {anchor}" if anchor else ""
        if size <= self.certified_size:
            why = "by counting voters" if known.rule == "counting" else "by the worst division over groups"
            return Verdict("certified", why + instead + anchored)
        if self.broken_size is not None and self.broken_size <= size:
            why = f"by an attack of size {self.broken_size}, at most {known.tried} in each group"
            return Verdict("broken", why + anchored)
        how = "assuming the worst" if known.rule == "exact" else "counting voters"
        return Verdict("open", f"{how} it could change{instead}{anchored}")
