"""The votes of all targets of an object side by side, as a side file keeps them: the flips of each copy once.

In the file an object has those sites alone whose flips were kept, numbered from 0; listed attacks are renumbered too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from starcert.archive.evidence_file import GraphEvidence, Whole
from starcert.archive.listed_attacks import AttackIndex
from starcert.archive.untrusted import MalformedError
from starcert.claims.question import Question
from starcert.math.attacked_sites import AttackAxis, AttackList
from starcert.math.ballots import Ballots
from starcert.objects.noise import Noise


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


def numbered_attacks(kept: Whole, axes: Sequence[AttackAxis], attacks: AttackList) -> AttackList:
    """Listed attacks on an object as they are on its kept sites alone, numbered from 0."""
    whole = max((axis.n_sites for axis in axes if axis.moves is not None), default=0)

    def numbered(block: Whole) -> Whole:
        ranks, positions = divmod(block, whole) if whole else (0, block)
        return np.searchsorted(kept, positions) + len(kept) * ranks

    return [[numbered(block) for block in blocks] for blocks in attacks]


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
