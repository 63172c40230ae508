"""Hashed voters as a proof: their votes, and how far each of them may change at every size of a threat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.proof import SizedProof
from starcert.claims.rows import Whole
from starcert.claims.verdict import Verdict
from starcert.objects.threats import Threat
from starcert.system.output import quantity


@dataclass(frozen=True, eq=False, repr=False)
class HashedVoters(SizedProof):
    """The answers of hashed voters, and the results of trying on each. No attack is kept: they break single voters."""

    threat: Threat
    rule: str  # "counting" or "exact"
    relaxed: str  # what was certified in place of the threat, which is part of it; "": the threat itself
    votes: Whole  # what each voter answers, shape (rows, voters)
    certified_sizes: Whole
    broken_sizes: Whole
    tried: int  # up to how many changes inside a group all attacks were tried
    attacks: int  # how many were tried on all voters
    forward_passes: int  # how many graphs the base classifier answered
    classifier: str

    @property
    @override
    def method(self) -> str:
        return f"{quantity(self.votes.shape[1], 'voter')}, {self.rule} rule, alpha = 0"

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        instead = f", as part of {self.relaxed}" if self.relaxed else ""
        anchored, broken = f"; anchored: {of.anchored[row]}" * bool(of.anchored[row]), int(self.broken_sizes[row])
        if size <= self.certified_sizes[row]:
            why = "by counting voters" if self.rule == "counting" else "by the worst division over groups"
            return Verdict("certified", why + instead + anchored)
        if 0 < broken <= size:
            return Verdict("broken", f"by an attack of size {broken}, at most {self.tried} in each group{anchored}")
        how = "assuming the worst" if self.rule == "exact" else "counting voters"
        return Verdict("open", f"{how} it could change{instead}{anchored}")

    @override
    def columns(self, one: Certificate) -> Mapping[str, object]:
        counts = np.bincount(self.votes[one.row], minlength=one.certificates.n_classes).tolist()
        return {f"votes_{label}": count for label, count in enumerate(counts)}
