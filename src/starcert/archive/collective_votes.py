"""Collective claims in archives: at most k answers change; and the votes of all targets that they follow from.

The JSON file has the threat, how many attacks it lists on each object, and the claims. A side file of its own has, once
for each object, which of the attacked sites flipped in each noisy copy, what every target answered there, and the
attacks: see `joint_votes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import BinaryIO

import numpy as np

from starcert.archive.checker.collective import TargetsChecker
from starcert.archive.evidence_file import GraphEvidence, unpack
from starcert.archive.joint_votes import joint_evidence, joint_votes
from starcert.archive.listed_attacks import question_to_json
from starcert.archive.threat_texts import question_from_json, threat_from_json, threat_to_json
from starcert.archive.untrusted import Field, MalformedError
from starcert.claims.collective import Collective, CollectiveClaim
from starcert.claims.question import Question
from starcert.math.attacked_sites import AttackAxis
from starcert.math.ballots import Ballots
from starcert.math.confidence import check_alpha
from starcert.math.votes import Votes
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError

SAYS = (
    "Each entry of 'claims' by itself, with probability at least 1 - alpha over the sampling of all votes: under any "
    "attack of its threat that is listed, and under none, at most 'k' of the answers of the smoothed classifier differ "
    "from the claimed classes of the graphs, which also those have that abstain. Each of several graphs is attacked by "
    "itself. starcert verify proves it again from the answers of all targets on every noisy copy and from where its "
    "flips fell. That the lists have all attacks of the threat is taken as stated."
)
MISSING_COLLECTIVE = (
    "How many answers change together is proved from {name}, which is not beside the file. Without it, nothing is "
    "claimed about that."
)

Unpack = Callable[[BinaryIO], list[GraphEvidence | None]]
SideFile = Callable[[Field, Unpack, int], Sequence[GraphEvidence | None] | None]
"""Reads a side file: its entry, what unpacks it, and how many objects it is about; None where it is not there."""


@dataclass(frozen=True, eq=False)
class KeptClaims:
    """Collective claims, and the votes that they follow from."""

    votes: Collective
    claims: tuple[CollectiveClaim, ...]

    @classmethod
    def of(cls, votes: Collective | None, claims: Sequence[CollectiveClaim] | None) -> KeptClaims | None:
        """The part that an archive keeps: the claims that were made; by default those about the whole threat of a file.

        None without claims, or if it is not known of any object where flips fell.
        """
        if claims is None and votes is not None and votes.questions is not None:
            claims = [votes.at_most_changed(votes.asked[0].threat, None, None)]
        if not claims:
            return None
        made = None if votes is None else votes.about(max((each.threat for each in claims), key=lambda one: one.most))
        if made is None or all(each is None for each in made.ballots):
            raise InvalidParameterError("claims", "needs evidence that says which sites flipped.")
        selection = made.votes.selection
        if selection is None or not np.array_equal(selection.argmax(axis=1), made.labels):
            must = "be about the classes that selection votes chose"
            raise InvalidParameterError("certificates", must, made.labels, "Keep claims of votes with a selection.")
        for each in claims:
            if not each.certified or each != made.claim(each.threat, each.k, each.size, each.alpha):
                hint = "Keep what at_most_changed of these certificates returned, for a threat that it is shown for."
                raise InvalidParameterError("claims", "be shown by the votes for the whole threat", str(each), hint)
        return cls(made, tuple(claims))

    @cached_property
    def checkers(self) -> list[TargetsChecker | None]:
        """The provers of the claims, one for each object; None where no flips are known."""
        votes, n_classes = self.votes, self.votes.votes.counts.shape[1]
        return [
            None if ballots is None else TargetsChecker(ballots, each.axes, n_classes)
            for each, ballots in zip(votes.asked, votes.ballots, strict=True)
        ]

    def evidence(self, noise: Noise) -> list[GraphEvidence | None]:
        """The part of the side file about each object; None where no flips are known."""
        return [
            None if ballots is None else joint_evidence(ballots, each.sites, each.axes, each.attacks, noise)
            for each, ballots in zip(self.votes.asked, self.votes.ballots, strict=True)
        ]

    def to_json(self, side: Mapping[str, object]) -> dict[str, object]:
        """The entry of an archive, with that about the side file."""
        asked = self.votes.asked
        return {
            "says": SAYS,
            "threat": threat_to_json(asked[0].threat),
            "claims": [_claim_to_json(each) for each in self.claims],
            **side,
            "listed": [question_to_json(each) for each in asked],
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a claim."""
        return [
            {
                "threat": str(each.threat),
                "attacks": sum(each.n_attacks),
                "answers": each.n_targets,
                "at_most_changed": each.k,
                "alpha": each.alpha,
                "says": str(each),
            }
            for each in self.claims
        ]

    def content(self, noise: Noise) -> tuple[object, ...]:
        """Values that are equal where files would be equal."""
        return self.to_json({}), self.evidence(noise)


def _claim_to_json(claim: CollectiveClaim) -> dict[str, object]:
    return {
        "threat": threat_to_json(claim.threat),
        "k": claim.k,
        "alpha": claim.alpha,
        "alpha_exact": str(Fraction(claim.alpha)),
        "says": str(claim),
    }


def read_collective(
    field: Field, side_file: SideFile, votes: Votes, noise: Noise, anchored: Sequence[str], alpha: float
) -> KeptClaims | None:
    """The entry of an archive with its side file, checked against the votes counted; None without its side file."""
    inside = field.members("says", "threat", "claims", "evidence", "listed")
    inside["says"].text()
    threat, selection = threat_from_json(inside["threat"], by_radius=True), votes.selection
    asked = [question_from_json(each, threat, len(noise.axes)) for each in inside["listed"].items()]
    sizes = np.bincount(np.minimum(votes.objects, len(votes))).tolist()
    places = [(number, target) for number, size in enumerate(sizes) for target in range(size)]
    rows = zip(votes.objects.tolist(), votes.targets.tolist(), strict=True)
    if selection is None or len(asked) != len(sizes) or places != list(rows):
        raise MalformedError("'graphs' must be all targets that 'collective' is about, in order, with selection votes.")
    if len(sizes) > 1 and max(sizes) > 1:
        raise MalformedError("'collective' must be about one graph, or about graphs with one target each.")
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    listed, counts = [each.counts for each in asked], votes.counts[firsts].tolist()
    side = side_file(
        inside["evidence"], partial(unpack, counts=counts, noise=noise, listed=listed, n_targets=sizes), len(sizes)
    )
    if side is None:
        return None
    questions, ballots, labels = list[Question](), list[Ballots | None](), selection.argmax(axis=1)
    for number, (found, each) in enumerate(zip(side, asked, strict=True)):
        own, axes, rows = None, tuple[AttackAxis, ...](), votes.objects == number
        if found is not None:
            own, axes = joint_votes(found, noise, votes.counts[rows], labels[rows], each, f"graph {number}")
        attacks = () if found is None else found.attacks or ()
        questions.append(replace(each, attacks=attacks, axes=axes, anchored=anchored[firsts[number]]))
        ballots.append(own)
    together = Collective(replace(votes, ballots=ballots), labels, alpha, questions)
    return KeptClaims(together, tuple(_claim_from_json(each, together) for each in inside["claims"].items()))


def _claim_from_json(field: Field, votes: Collective) -> CollectiveClaim:
    inside = field.members("threat", "k", "alpha", "alpha_exact", "says")
    threat, alpha = threat_from_json(inside["threat"], by_radius=True), check_alpha(inside["alpha"].number())
    exact = str(Fraction(alpha))
    inside["alpha_exact"].check(inside["alpha_exact"].value == exact, f"be the fraction that {alpha!r} is")
    inside["says"].text()
    return votes.claim(threat, inside["k"].whole(len(votes.labels)), votes.size_of(threat), alpha)
