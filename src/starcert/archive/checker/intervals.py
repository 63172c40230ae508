"""Are the intervals in a file true? An end is proved as it is stated, or as the next one that the claim includes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from starcert.archive.checker.rows import Difference
from starcert.archive.checker.values import ValueChecker, holds_by_radius
from starcert.archive.claims import Interval
from starcert.math.values import ENDS, bounds_of_steps

if TYPE_CHECKING:
    from starcert.archive.intervals import IntervalArchive


class IntervalProofs:
    """The proofs of the intervals in a file; ends are those of f from above, and of 1 − f."""

    def __init__(self, archive: IntervalArchive) -> None:
        self.archive, self.proof = archive, archive.result.proof
        self.weighed = 0  # how many times an attack was weighed
        self._checkers: dict[int, ValueChecker] = {}  # by object

    def interval(self, claim: Interval) -> Iterator[Difference]:
        """Which ends of an interval cannot be proved."""
        for end, stated in enumerate((claim.low, claim.high)):
            at = self._least_included(claim, end, stated)
            if not 0 <= at <= ENDS or not self._holds(claim, end, at):
                yield f"{self.archive.title(claim.what)}, {('low', 'high')[end]}", stated, "not proved"

    def _least_included(self, claim: Interval, end: int, stated: float) -> int:
        """The end that is easiest to prove of those that a claim includes, as a multiple of 1/ENDS of f or of 1 − f."""
        low, high = -1, ENDS + 1  # the largest end, or the least one, that the claim includes lies between these
        while high - low > 1:
            middle = (low + high) // 2
            found = self.proof.numbers((middle, middle), claim.what.above)[end]
            inside = found <= stated if end else found >= stated
            low, high = (middle, high) if inside == bool(end) else (low, middle)
        return low if end else ENDS - high

    def _holds(self, claim: Interval, end: int, at: int) -> bool:
        """True if an end is proved."""
        proof, row, n = self.proof, claim.row, self.proof.outputs.steps
        number, target = int(proof.votes.objects[row]), int(proof.votes.targets[row])
        bottoms, tops = bounds_of_steps(proof.outputs.edges, claim.what.above)
        tops, share = tops if end else n - bottoms, Fraction(proof.alpha) / proof.together / 2
        attacks, kept = proof.attacks(number, claim.what), proof.kept[number]
        if attacks is None or kept is None or proof.votes.ballots[number] is None:
            counts, law, radii = proof.votes.counts[row], proof.noise.product, proof.largest(number, claim.what)
            return all(holds_by_radius(counts, tops, n, share, law, radius, at) for radius in radii)
        listed = sum(len(each.rows) for each in attacks if each.rows is not None)
        asked = () if proof.asked is None else proof.asked[number].counts[: claim.what.size]
        if number not in self._checkers:
            votes = proof.votes.ballots[number]
            assert votes is not None
            self._checkers[number] = ValueChecker(votes, kept.axes)
        found = self._checkers[number].holds(target, np.asarray(tops), n, attacks, at, share)
        self.weighed += found or 0
        return found is not None and listed == sum(asked)
