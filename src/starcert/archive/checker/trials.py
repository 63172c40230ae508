"""Do the numbers of a file of tried attacks fit together? Nothing in it was sampled, and no classifier is asked here.

Sizes follow from the number of the first breaking attack and the counts of attacks; an attack that breaks gives another
class, and changes different sites that are there, as many as its size has; capacities and counts of attacks are such as
the sites allow; and of any flips of bits the number of that attack follows from its sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from starcert.archive.checker.rows import Difference
from starcert.archive.claims import TriedRow

if TYPE_CHECKING:
    from starcert.archive.exact_archive import ExactArchive

MAX_TRIED = 2**62


class TrialProofs:
    """The proofs of what trying attacks has shown."""

    def __init__(self, archive: ExactArchive) -> None:
        self.result = archive.result

    def tried(self, claim: TriedRow) -> Iterator[Difference]:
        """Yields statements of a row that do not follow from the number of its first breaking attack."""
        from starcert.archive.checker.attack_counts import rank_of  # noqa: PLC0415  (threats list attacks on objects)
        from starcert.objects.threats import AnyFlips  # noqa: PLC0415  (as above)
        from starcert.objects.threats.sets import SiteThreat  # noqa: PLC0415  (as above)

        one, proof = self.result[claim.row], self.result.proof
        threat = proof.threat
        for field, claimed, proved in (
            ("certified_size", claim.certified, one.certified_size),
            ("broken_size", claim.broken, one.broken_size),
        ):
            if claimed != proved:
                yield field, claimed, proved
        if (attack := proof.attacks[claim.row]) is None:
            return
        limit, sites, ends = (
            proof.limits[one.object],
            attack.sites,
            proof.ends[one.object],
        )
        first, size, n_sites = (
            int(proof.first[claim.row]),
            one.broken_size,
            proof.n_sites[one.object],
        )
        if first >= limit:
            yield "first", first, f"below {limit}"
        if one.label == int(proof.answers[claim.row]):
            yield "answer_after", one.label, "another class"
        if not sites or list(sites) != sorted(set(sites)) or sites[-1] >= n_sites:
            yield "attack", list(sites), f"ascending sites below {n_sites}"
        elif isinstance(threat, SiteThreat) and len(sites) != size:
            yield "attack", list(sites), f"{size} sites"
        elif isinstance(threat, AnyFlips) and not attack.values:
            ranked = (0, *ends)[len(sites) - 1] + rank_of(sites, MAX_TRIED)
            if ranked != first:
                yield "first", first, ranked

    def counts(self, number: int) -> Iterator[Difference]:
        """Yields counts that no object with these sites and capacities has: see `attack_counts`."""
        from starcert.archive.checker.attack_counts import check_capacity, check_counts  # noqa: PLC0415  (as above)

        proof, ends, capacity = self.result.proof, self.result.proof.ends[number], self.result.proof.capacities[number]
        counts, n_sites = [later - earlier for earlier, later in pairwise((0, *ends))], proof.n_sites[number]
        for field, stated, must in (
            ("capacity", capacity, check_capacity(proof.axes, capacity, n_sites)),
            ("attacks", counts, check_counts(proof.threat, counts, proof.axes, capacity, n_sites)),
        ):
            if must:
                yield field, stated, must
