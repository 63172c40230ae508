"""The votes of all targets of an object side by side, as a side file keeps them: the flips of each copy once.

In the file an object has those sites alone whose flips were kept, numbered from 0; listed attacks are renumbered too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from starcert.archive.evidence_file import GraphEvidence, Whole
from starcert.archive.listed_attacks import AttackIndex
from starcert.archive.untrusted import MalformedError
from starcert.claims.question import Question
from starcert.math.attacked_sites import AttackAxis
from starcert.math.joint import NO_CLASS, JointVotes
from starcert.math.listed import AttackList
from starcert.objects.noise import Noise


def joint_evidence(
    votes: JointVotes, axes: Sequence[AttackAxis], attacks: AttackList | None, noise: Noise
) -> GraphEvidence:
    """What a side file keeps of joint votes; the axes have the kept sites alone, as positions of the object."""
    kept, n = votes.sites, len(votes.sites)
    values, valued = np.zeros(n, dtype=np.uint8), [axis for axis in axes if axis.moves is not None]
    for axis in valued:
        values[np.searchsorted(kept, axis.sites)] = axis.values
    return GraphEvidence(
        votes.flips,
        tuple(np.searchsorted(kept, axis.sites) for axis in axes),
        None,
        {},
        None,
        values if noise.is_valued else None,
        None if attacks is None else numbered_attacks(kept, axes, attacks),
        votes.answers[:, 1:].astype(np.uint16),
    )


def numbered_attacks(kept: Whole, axes: Sequence[AttackAxis], attacks: AttackList) -> AttackList:
    """Listed attacks on an object as they are on its kept sites alone, numbered from 0."""
    whole = max((axis.n_sites for axis in axes if axis.moves is not None), default=0)

    def numbered(block: Whole) -> Whole:
        ranks, positions = divmod(block, whole) if whole else (0, block)
        return np.searchsorted(kept, positions) + len(kept) * ranks

    return [[numbered(block) for block in blocks] for blocks in attacks]


def joint_votes(
    found: GraphEvidence, noise: Noise, counts: Whole, asked: Question | None, name: str
) -> tuple[JointVotes, tuple[AttackAxis, ...]]:
    """The votes and axes in a side file; refused unless they fit the counts of all targets and the listed attacks."""
    found.check(f"evidence of {name}", NO_CLASS, counts[0], noise)
    assert found.answers is not None
    answers = np.column_stack([found.record.classes, found.answers])
    if not found.record.complete or answers.max(initial=0) >= counts.shape[1]:
        raise MalformedError(f"the evidence of {name} must say which sites flipped, and have the classes of the file.")
    seen = [np.bincount(each, minlength=counts.shape[1]) for each in answers.T]
    if not np.array_equal(seen, counts):
        raise MalformedError(f"the evidence of {name} must be of the answers that are counted.")
    axes = found.axes(noise)
    if asked is not None:
        AttackIndex(axes).check(found.attacks or (), asked, f"evidence of {name}")
    return JointVotes(np.arange(found.record.n_sites), found.record, answers), axes
