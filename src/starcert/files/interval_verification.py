"""Are the intervals in a file true? Each end is computed afresh, and `checker/values.py` proves it in another way.

An interval that is narrower than that stands if the checker proves it as it is; otherwise it refutes the file. One that
is wider says less than can be proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fspath
from typing import Literal

from starcert.certificates.values import Claim, bounds_of_steps
from starcert.files.checker.values import ValueChecker, holds_by_radius
from starcert.files.intervals import IntervalArchive, read_intervals
from starcert.files.verification import Mismatch
from starcert.math.values import ENDS
from starcert.system.output import progress_bar, quantity


@dataclass(frozen=True, slots=True)
class IntervalVerification:
    """The result of checking the intervals of a file."""

    path: str
    archive: IntervalArchive
    mismatches: tuple[Mismatch, ...]  # every interval that is not what can be proved
    weighed: int  # how many times an attack was weighed again

    @property
    def refuted(self) -> tuple[Mismatch, ...]:
        """The false intervals."""
        return tuple(each for each in self.mismatches if each.kind == "false")

    @property
    def verdict(self) -> Literal["proved", "weaker", "refuted"]:
        """The verdict on the whole file: "refuted" if any interval is false, "weaker" if any is too wide."""
        return "refuted" if self.refuted else "weaker" if self.mismatches else "proved"

    def __str__(self) -> str:
        archive, false = self.archive, len(self.refuted)
        what = f"{quantity(len(archive.claims), 'interval')} for each of {quantity(len(archive), archive.word)}"
        premise = ""
        if (asked := archive.result.asked) is not None:
            number = quantity(sum(sum(each.counts) for each in asked), "attack")
            premise = (
                f" Under {asked[0].threat} they are about the {number} listed: that none is missing is taken as stated."
            )
        if false:
            return f"{self.path}: refuted. Of {what}, {quantity(false, 'end')} cannot be proved.{premise}"
        wider = len(self.mismatches)
        less = f" {quantity(wider, 'end')} could be closer." if wider else ""
        how = f"from the outputs, their flips and the noise; attacks were weighed again {self.weighed:,} times"
        return f"{self.path}: proved. {what[0].upper()}{what[1:]} follow {how}.{less}{premise}"


def verify_intervals(path: str | PathLike[str], *, progress: bool | None = False) -> IntervalVerification:
    """Proves the intervals in a file again, from the outputs on noisy copies and the noise alone."""
    archive = read_intervals(path)
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
                    found = checker.compare(end, archive.intervals[row][place])
                    mismatches += [Mismatch(row, name, what, *each) for each in found]
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
            raise ArithmeticError(f"two proofs disagree about an interval of {name}: please report this as a bug")
        return found

    def compare(
        self, end: int, claimed: tuple[float, float]
    ) -> Iterator[tuple[Literal["false", "weaker"], float, float]]:
        """How a claimed end differs from the proved one, if it says more than can be proved, or less."""
        best, claim = self._number(end, self.proved[end]), claimed[end]
        if claim == best:
            return
        if (claim > best) == (end == 1):
            yield "weaker", claim, best
            return
        # The largest end, or the least one, that the claim includes: is it proved?
        low, high = (-1, self.proved[1]) if end else (self.proved[0], ENDS + 1)
        while high - low > 1:
            middle = (low + high) // 2
            inside = self._number(end, middle) <= claim if end else self._number(end, middle) >= claim
            low, high = (middle, high) if inside == bool(end) else (low, middle)
        at = low if end else ENDS - high
        if not 0 <= at <= ENDS or self.holds(end, at) is None:
            yield "false", claim, best

    def _number(self, end: int, at: int) -> float:
        return self.result.numbers((at, at), self.claim.above)[end]
