"""Are the collective claims in a file true? `checker/collective.py` proves each from the votes of all targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from starcert.certificates.collective import JointQuestion
from starcert.certificates.questions import Question
from starcert.files.checker.collective import CollectiveCheck, TargetsChecker, check_claim
from starcert.files.collective_votes import KeptClaims
from starcert.files.joint_votes import numbered_attacks
from starcert.objects import Sites
from starcert.objects.noise import Noise
from starcert.system.output import quantity


def check_collective(kept: KeptClaims) -> Iterator[CollectiveCheck]:
    """What is found about each claim, one after the other."""
    votes, selection = kept.votes.votes, kept.votes.votes.selection
    assert selection is not None
    chosen, n_classes = selection.argmax(axis=1), selection.shape[1]
    checkers = [
        None if joint is None else TargetsChecker(joint, each.axes, chosen[votes.objects == number], n_classes)
        for number, (each, joint) in enumerate(zip(kept.votes.questions, kept.votes.joint, strict=True))
    ]
    for claim in kept.claims:
        attacks = [each.asked.attacks[: claim.size] for each in kept.votes.questions]
        yield check_claim(checkers, attacks, n_targets=len(chosen), k=claim.k, delta=Fraction(claim.alpha))


def sentences(kept: KeptClaims, checks: Sequence[CollectiveCheck]) -> Iterator[str]:
    """What is known of claims that are true."""
    for claim, found in zip(kept.claims, checks, strict=True):
        again = f"{quantity(found.attacks, 'attack')} and the clean graphs were weighed again for all answers together"
        yield f"{claim} Proved: {again}."


def listed_otherwise(kept: KeptClaims, sites: Sequence[Sites], noise: Noise) -> Iterator[int]:
    """The numbers of the objects on which the threat lists other attacks than the file has."""
    for number, (here, each) in enumerate(zip(kept.votes.questions, sites, strict=True)):
        anew = JointQuestion.of(Question.of(here.asked.threat, each, noise), each, noise)
        lists = numbered_attacks(anew.sites, anew.axes, anew.asked.attacks)
        mine = [block for blocks in here.asked.attacks for block in blocks]
        others = [block for blocks in lists for block in blocks]
        same = len(mine) == len(others) and all(map(np.array_equal, mine, others))
        if not (same and here.asked.counts == anew.asked.counts and len(here.sites) == len(anew.sites)):
            yield number
