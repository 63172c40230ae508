"""Collective claims in archives: at most k answers change; and the votes of all targets that they follow from.

The JSON file has the threat, how many attacks it lists on each object, and the claims. A side file of its own has, once
for each object, which of the attacked sites flipped in each noisy copy, what every target answered there, and the
attacks. In it an object has those sites alone whose flips were kept, numbered from 0; attacks are renumbered too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from starcert.archive.checker.collective import TargetsChecker
from starcert.archive.evidence_file import SIDE, GraphEvidence, Whole, unpack
from starcert.archive.format import CollectivePart, CollectiveRow, SideFile, check_exact, exact
from starcert.archive.listed_attacks import AttackIndex, numbered_attacks, question_form
from starcert.archive.side_arrays import read_side
from starcert.archive.threat_texts import question_of_form, threat_form, threat_of_form
from starcert.archive.untrusted import MalformedError, check
from starcert.claims.collective import Collective, CollectiveClaim
from starcert.claims.question import Question
from starcert.math.attacked_sites import AttackAxis, AttackList
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

    def form(self, side: SideFile) -> CollectivePart:
        """The part of a file, with the entry about the side file."""
        asked = self.votes.asked
        claims = (
            CollectiveRow(
                threat=threat_form(each.threat),
                k=each.k,
                alpha=each.alpha,
                alpha_exact=exact(each.alpha),
                says=str(each),
            )
            for each in self.claims
        )
        return CollectivePart(
            says=SAYS,
            threat=threat_form(asked[0].threat),
            claims=tuple(claims),
            evidence=side,
            listed=tuple(map(question_form, asked)),
        )

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


def read_collective(
    told: CollectivePart,
    path: Path,
    votes: Votes,
    noise: Noise,
    anchored: Sequence[str],
    alpha: float,
    *,
    needed: bool,
) -> KeptClaims | None:
    """The part of a file with its side file, checked against the votes counted; None without its side file."""
    threat, selection = threat_of_form(told.threat, "collective.threat", by_radius=True), votes.selection
    asked = [
        question_of_form(each, f"collective.listed[{i}]", threat, len(noise.axes)) for i, each in enumerate(told.listed)
    ]
    sizes = np.bincount(np.minimum(votes.objects, len(votes))).tolist()
    places = [(number, target) for number, size in enumerate(sizes) for target in range(size)]
    rows = zip(votes.objects.tolist(), votes.targets.tolist(), strict=True)
    if selection is None or len(asked) != len(sizes) or places != list(rows):
        raise MalformedError("'graphs' must be all targets that 'collective' is about, in order, with selection votes.")
    if len(sizes) > 1 and max(sizes) > 1:
        raise MalformedError("'collective' must be about one graph, or about graphs with one target each.")
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    listed, counts = [each.counts for each in asked], votes.counts[firsts].tolist()
    unpacked = partial(unpack, counts=counts, noise=noise, listed=listed, n_targets=sizes)
    place = "collective.evidence"
    side = read_side(told.evidence, place, path, SIDE, unpacked, MISSING_COLLECTIVE, needed=needed)
    if side is None and told.evidence.file is not None:
        return None
    check(side is not None and any(side), place, "name a file with votes of some graph", told.evidence.file)
    questions, ballots, labels = list[Question](), list[Ballots | None](), selection.argmax(axis=1)
    for number, (found, each) in enumerate(zip(side or (), asked, strict=True)):
        own, axes, here = None, tuple[AttackAxis, ...](), votes.objects == number
        if found is not None:
            own, axes = joint_votes(found, noise, votes.counts[here], labels[here], each, f"graph {number}")
        attacks = () if found is None else found.attacks or ()
        questions.append(replace(each, attacks=attacks, axes=axes, anchored=anchored[firsts[number]]))
        ballots.append(own)
    together = Collective(replace(votes, ballots=ballots), labels, alpha, questions)
    claims = (_claim(each, f"collective.claims[{i}]", together) for i, each in enumerate(told.claims))
    return KeptClaims(together, tuple(claims))


def _claim(told: CollectiveRow, place: str, votes: Collective) -> CollectiveClaim:
    threat, alpha = threat_of_form(told.threat, f"{place}.threat", by_radius=True), check_alpha(told.alpha)
    check_exact({"alpha_exact": told.alpha_exact}, {"alpha_exact": alpha}, place)
    n_targets = len(votes.labels)
    check(told.k <= n_targets, f"{place}.k", f"be a whole number from 0 to {n_targets:,}", told.k)
    return votes.claim(threat, told.k, votes.size_of(threat), alpha)


def joint_evidence(
    ballots: Ballots, sites: Whole, axes: Sequence[AttackAxis], attacks: AttackList | None, noise: Noise
) -> GraphEvidence:
    """The part of ballots that a side file keeps: the flips of these sites, which are those of the axes; no others."""
    values, valued = np.zeros(len(sites), dtype=np.uint8), [axis for axis in axes if axis.moves is not None]
    for axis in valued:
        values[np.searchsorted(sites, axis.sites)] = axis.values
    kept = ballots if ballots.sites is not None and np.array_equal(ballots.sites, sites) else ballots.at(sites)
    return GraphEvidence(
        kept.renumbered(),
        tuple(np.searchsorted(sites, axis.sites) for axis in axes),
        None,
        {},
        None,
        values if noise.is_valued else None,
        None if attacks is None else numbered_attacks(sites, axes, attacks),
        joint=True,
    )


def joint_votes(
    found: GraphEvidence, noise: Noise, counts: Whole, labels: Whole | None, asked: Question | None, name: str
) -> tuple[Ballots, tuple[AttackAxis, ...]]:
    """The ballots and axes in a side file; refused unless they fit the counts of all targets and the listed attacks.

    With `labels`, the classes of all targets, copies on which all of them agree are left out: files of 0.2 have them.
    """
    if not found.record.complete:
        raise MalformedError(f"the evidence of {name} must say which sites flipped.")
    if labels is not None:
        found = replace(found, record=found.record.disagreeing_with(labels.tolist()))
    found.check(f"evidence of {name}", None if labels is None else labels.tolist(), counts, noise)
    axes = found.axes(noise)
    if asked is not None:
        AttackIndex(axes).check(found.attacks or (), asked, f"evidence of {name}")
    return found.record, axes
