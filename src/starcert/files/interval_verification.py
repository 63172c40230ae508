"""Are the intervals in a file true? Each end is computed afresh, and `checker/values.py` proves it in another way.

An interval that is narrower than that stands if the checker proves it as it is; otherwise it refutes the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fspath
from typing import Literal

from starcert.certificates.values import Claim, bounds_of_steps
from starcert.files.checker.values import ValueChecker, holds_by_radius
from starcert.files.frame import proof_errors
from starcert.files.intervals import IntervalArchive, read_intervals
from starcert.files.untrusted import DisagreementError
from starcert.files.verification import Mismatch
from starcert.math.values import ENDS
from starcert.system.output import progress_bar, quantity


@dataclass(frozen=True, slots=True)
class IntervalVerification:
    """The result of checking the intervals of a file."""

    path: str
    archive: IntervalArchive
    mismatches: tuple[Mismatch, ...]  # every end that cannot be proved
    weighed: int  # how many times an attack was weighed again

    @property
    def refuted(self) -> tuple[Mismatch, ...]:
        """The false intervals."""
        return self.mismatches

    @property
    def verdict(self) -> Literal["proved", "refuted"]:
        """The verdict on the whole file: "refuted" if any interval is false."""
        return "refuted" if self.mismatches else "proved"

    def __str__(self) -> str:
        archive, false = self.archive, len(self.mismatches)
        what = f"{quantity(len(archive.claims), 'interval')} for each of {quantity(len(archive), archive.word)}"
        premise = ""
        if (asked := archive.result.asked) is not None:
            number = quantity(sum(sum(each.counts) for each in asked), "attack")
            premise = (
                f" Under {asked[0].threat} they are about the {number} listed: that none is missing is taken as stated."
            )
        if false:
            return f"{self.path}: refuted. Of {what}, {quantity(false, 'end')} cannot be proved.{premise}"
        how = f"from the outputs, their flips and the noise; attacks were weighed again {self.weighed:,} times"
        return f"{self.path}: proved. {what[0].upper()}{what[1:]} follow {how}.{premise}"


def verify_intervals(path: str | PathLike[str], *, progress: bool | None = False) -> IntervalVerification:
    """Proves the intervals in a file again, from the outputs on noisy copies and the noise alone."""
    archive = read_intervals(path)
    with proof_errors(path):
        return _verified(path, archive, progress)


def _verified(path: str | PathLike[str], archive: IntervalArchive, progress: bool | None) -> IntervalVerification:
    mismatches, weighed = list[Mismatch](), 0
    checkers: dict[int, ValueChecker] = {}
    with progress_bar("intervals", len(archive) * len(archive.claims), shown=progress) as advance:
        for row, name in enumerate(archive.names):
            number = int(archive.result.votes.objects[row])
            for place, claim in enumerate(archive.claims):
                checker = _Checker(archive, row, claim, checkers)
                for end in (0, 1):
                    weighed += checker.check(end, f"{archive.word} {number}")
                    what = f"{archive.title(claim)}, {('low', 'high')[end]}"
                    claimed, proved = archive.intervals[row][place][end], checker.best(end)
                    if not checker.proves(end, claimed):
                        mismatches.append(Mismatch(row, name, what, claimed, proved))
                advance(1)
    return IntervalVerification(fspath(path), archive, tuple(mismatches), weighed)


class _Checker:
    """One interval, computed afresh; ends are those of f from above, and of 1 − f."""

    def __init__(self, archive: IntervalArchive, row: int, claim: Claim, checkers: dict[int, ValueChecker]) -> None:
        self.result, self.row, self.claim = archive.result, row, claim
        self.number = int(self.result.votes.objects[row])
        alpha = Fraction(self.result.alpha) / self.result.together
        self.share, self.proved = alpha / 2, self.result.ends(row, claim, alpha)
        bottoms, tops = bounds_of_steps(self.result.outputs, claim.above)
        self.tops = (self.result.outputs.steps - bottoms, tops)
        self.attacks = self.result.attacks(self.number, claim)
        kept, votes = self.result.kept[self.number], self.result.votes.joint[self.number]
        if self.attacks is not None and kept is not None and votes is not None and self.number not in checkers:
            checkers[self.number] = ValueChecker(votes, kept.axes)
        self.checker = checkers.get(self.number)

    def holds(self, end: int, at: int) -> int | None:
        """How many attacks were weighed to prove an end, given as a multiple of 1/ENDS of f or of 1 − f; None: not."""
        n, tops = self.result.outputs.steps, self.tops[end]
        if self.attacks is not None and self.checker is not None:
            target = int(self.result.votes.targets[self.row])
            return self.checker.holds(target, tops, n, self.attacks, at, self.share)
        counts, law = self.result.votes.counts[self.row], self.result.noise.product
        radii = self.result.largest(self.number, self.claim)
        return 0 if all(holds_by_radius(counts, tops, n, self.share, law, radius, at) for radius in radii) else None

    def check(self, end: int, name: str) -> int:
        """Proves an end in another way than the engine; an ArithmeticError if that fails."""
        found = self.holds(end, self.proved[1] if end else ENDS - self.proved[0])
        listed = sum(len(each.rows) for each in self.attacks or () if each.rows is not None)
        asked = () if self.result.asked is None else self.result.asked[self.number].counts[: self.claim.size]
        if found is None or listed != sum(asked):
            raise DisagreementError(f"about an interval of {name}")
        return found

    def best(self, end: int) -> float:
        """An end as it can be proved."""
        return self._number(end, self.proved[end])

    def proves(self, end: int, claim: float) -> bool:
        """Whether an end is proved as it is claimed."""
        best = self.best(end)
        if claim == best or (claim > best) == (end == 1):
            return True
        # The largest end, or the least one, that the claim includes: is it proved?
        low, high = (-1, self.proved[1]) if end else (self.proved[0], ENDS + 1)
        while high - low > 1:
            middle = (low + high) // 2
            inside = self._number(end, middle) <= claim if end else self._number(end, middle) >= claim
            low, high = (middle, high) if inside == bool(end) else (low, middle)
        at = low if end else ENDS - high
        return 0 <= at <= ENDS and self.holds(end, at) is not None

    def _number(self, end: int, at: int) -> float:
        return self.result.numbers((at, at), self.claim.above)[end]
