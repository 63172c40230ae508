"""Proofs of the claims about one row from its votes: by their counts, and by where their flips fell.

Nothing is searched. A claimed radius is proved as it stands: it and, with evidence, every level within it. What
`beyond` leaves out is claimed by that to be certified, and proved likewise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.archive.checker.arithmetic import LIMITS, CountVerdicts, list_cells
from starcert.archive.checker.evidence import EvidenceCheck, EvidenceChecker
from starcert.archive.claims import Answer, Broken, Level, Reach, Size
from starcert.archive.untrusted import DisagreementError, MalformedError
from starcert.math.cells import count_cells
from starcert.math.channels import MAX_RADIUS
from starcert.math.confidence import spends_on_all_classes
from starcert.math.fallback import PLAIN
from starcert.math.frontier import Alike, flips_covered, levels_below, levels_of
from starcert.math.margins import Margin, MultiClass, Slacks, Tradeoff, TwoClass
from starcert.math.search import FLAT, MAX_CELLS, MAX_WORK, PROOF, PROVED_CELL

if TYPE_CHECKING:
    from starcert.archive.record import Archive

MAX_LEVELS = 2**12  # of one row that evidence certifies; a search ends at as many
MAX_COMPARED = 2**31  # the most counts of radii that are compared for one row
SPARE = 4  # the work that proofs may take, beside what a search takes in which they are included

Whole = npt.NDArray[np.int64]
Difference: TypeAlias = tuple[str, object, object]  # the name of a false claim, what it says, and what can be proved


class Proofs:
    """The proofs of the claims in a file; each method that `PROVERS` names yields all that is false of a claim."""

    def of_row(self, _row: int) -> object:
        """The proofs of the claims about a row; here a claim says which one it is about."""
        return self

    def of_objects(self) -> Iterator[tuple[int, str, str, object, object]]:
        """Yields what is false of an object: its number, its name, and the difference."""
        yield from ()

    def found(self, _progress: bool | None) -> dict[str, object]:
        """The numbers of what was proved, as `Verification` has them."""
        return {}


class FileProofs(Proofs):
    """The data that the rows of a file share: bounds, and results about each radius."""

    def __init__(self, archive: Archive) -> None:
        self.archive, self.bounds, self.contests = archive, archive.bounds, archive.votes.contests
        spent = spends_on_all_classes(archive.votes, alpha=archive.counts_alpha, family_size=archive.together)
        self.all_classes = spent & (archive.votes.history == "fixed")
        self.verdicts: CountVerdicts = defaultdict(set)  # to be proved once more
        self._tradeoff = Tradeoff(archive.noise.product)
        self._slacks: dict[float, Slacks] = {}
        self._known: dict[tuple[object, ...], bool | None] = {}
        self._rows: list[RowProofs] = []

    @override
    def of_row(self, row: int) -> RowProofs:
        self._rows.append(RowProofs(self, row))
        return self._rows[-1]

    @override
    def found(self, progress: bool | None) -> dict[str, object]:
        listed, enclosed = list_cells(self.archive.noise, self.verdicts, progress)
        checks = tuple(None if each.evidence is None else each.check for each in self._rows)
        by_kernel = sum(0 if each.evidence is None else each.evidence.by_kernel for each in self._rows)
        return {"listed": listed, "enclosed": enclosed, "evidence": checks, "by_kernel": by_kernel}

    def margin(self, row: int) -> Margin:
        """The margin that decides radii of a row."""
        failure, other, contest = float(self.bounds.failure[row]), float(self.bounds.other[row]), self.contests[row]
        if contest == PLAIN and other < failure:
            return MultiClass(self._tradeoff, failure, other)
        slacks = self._slacks.setdefault(contest.limit, Slacks(self.archive.noise.product, contest.limit))
        return TwoClass(slacks, other if contest != PLAIN and not contest.third else failure)

    def judge(self, row: int, margin: Margin, radius: Level) -> tuple[bool | None, int]:
        """The verdict of the counts on a radius, and the work that it took; None if it is not decided."""
        product, contest = margin.product, self.contests[row]
        powers = product.powers(radius)
        failure, other = float(self.bounds.failure[row]), float(self.bounds.other[row])
        key, cost = (failure, other, contest, powers), 0
        if key not in self._known:
            cells = count_cells(product, powers)
            if cells > MAX_CELLS and not (product.binary and len(powers) <= 2):
                return None, FLAT  # no search looks at it
            self._known[key], cost = margin.proves(radius), PROOF * FLAT + PROVED_CELL * cells
        if (verdict := self._known[key]) is not None:
            bound = failure if contest.third else other
            compared = (failure, other, 0.5) if contest == PLAIN else (bound, bound, contest.limit)
            self.verdicts[radius, verdict].add(compared)
        return verdict, cost


class RowProofs:
    """The proofs of the claims about one row."""

    def __init__(self, file: FileProofs, row: int) -> None:
        archive = file.archive
        self._file, self._archive, self._row = file, archive, row
        self.label, self._contest = int(file.bounds.labels[row]), file.contests[row]
        self._margin, self._work = file.margin(row), SPARE * MAX_WORK
        self._box: Level = (MAX_RADIUS,) * len(archive.noise.axes)
        for limits in (archive.boxes[row], archive.max_radius):
            self._box = self._box if limits is None else tuple(map(min, self._box, limits))
        self._asked = None if archive.asked is None else archive.asked[int(archive.votes.objects[row])]
        self._levels: dict[Level, bool] = {}  # by evidence
        self.check = EvidenceCheck()

    @cached_property
    def evidence(self) -> EvidenceChecker | None:
        """Proves the verdicts of evidence; None if there are none."""
        archive, row = self._archive, self._row
        graph, selection = None if archive.evidence is None else archive.evidence[row], archive.votes.selection
        if graph is None or selection is None:
            return None
        return EvidenceChecker(
            graph,
            graph.axes(archive.noise),
            label=self.label,
            alpha=Fraction(archive.alpha) / archive.together,
            box=archive.max_radius if self._asked is None else None,
            failure=1 - selection[row][self.label] / selection[row].sum(),
            contest=self._contest,
        )

    def answer(self, claim: Answer) -> Iterator[Difference]:
        """Yields the errors in the answer and its bounds."""
        failure, other = (float(each[self._row]) for each in (self._file.bounds.failure, self._file.bounds.other))
        p_lower = float(self._file.bounds.p_lower[self._row])
        if claim.label != self.label:
            yield "class", claim.label, self.label
        if not (claim.abstained or self._holds((0,) * len(self._box))):
            yield "abstained", False, True
        if not (self._bounds_all(Fraction(failure)) and self._bounds_each(Fraction(other))):
            raise DisagreementError(f"about the bounds of graph {self._row}")
        for field, claimed, best, rest, least, holds in (
            ("p_lower", claim.p_lower, p_lower, 1 - Fraction(claim.p_lower), failure, self._bounds_all),
            ("failure", claim.failure, failure, Fraction(claim.failure), failure, self._bounds_all),
            ("other", claim.other, other, Fraction(claim.other), other, self._bounds_each),
        ):
            # What is no less than a proved bound is proved with it.
            if rest < least and not holds(rest):
                yield field, claimed, best
        chosen = "multi-class" if other < failure else "two-class"
        margin = chosen if self._archive.votes.blind is None else "fallback"
        if claim.margin != margin:
            yield "margin", claim.margin, margin

    def _bounds_all(self, limit: Fraction) -> bool:
        """True if `limit` bounds the probability of any other answer."""
        counts = self._archive.votes.counts[self._row].tolist()
        # Against a blind answer alpha is spent on the strongest other class: nothing is known about all together.
        unknown = not self._contest.third and len(counts) > 2
        return self._limited(sum(counts) - (0 if unknown else counts[self.label]), limit)

    def _bounds_each(self, limit: Fraction) -> bool:
        """True if it bounds every single other class: by its own votes, or because it bounds all of them at once."""
        rivals = np.delete(self._archive.votes.counts[self._row], self.label)
        alone = self._file.all_classes[self._row] or not self._contest.third
        return bool(alone and self._limited(int(rivals.max()), limit)) or self._bounds_all(limit)

    def _limited(self, count: int, limit: Fraction) -> bool:
        archive, counts = self._archive, self._archive.votes.counts[self._row]
        # The table of `math.limits`: that many bounds, and choosing the class on the same votes counts double.
        bounded = len(counts) if self._file.all_classes[self._row] else 1
        bounded *= 2 if archive.votes.selection is None else 1
        share = Fraction(archive.counts_alpha) / (bounded * archive.together)
        return LIMITS[archive.bound](count, int(counts.sum()), limit, share)

    def by_counts(self, radius: Level) -> bool:
        """True if the counts of votes certify a radius."""
        return self._judged(radius) is True

    def _judged(self, radius: Level) -> bool | None:
        """That, or None where it is not decided: by no proof, or because it is outside of the box."""
        if any(map(int.__gt__, radius, self._box)):
            return None
        verdict, cost = self._file.judge(self._row, self._margin, radius)
        self._work -= cost
        if self._work < 0:
            raise MalformedError(f"the radii of 'graphs[{self._row}]' would take too long to prove.")
        return verdict

    def _holds(self, radius: Level) -> bool:
        """True if the counts certify a radius, or the counts and evidence together certify every level within it."""
        waiting, seen = [radius], {radius}
        while waiting:
            level = waiting.pop()
            if self.by_counts(level):  # and all within it
                continue
            if not self._by_evidence(level):
                return False
            more = [each for each in levels_below(level) if each not in seen]
            waiting += more
            seen.update(more)
        return True

    def _by_evidence(self, level: Level) -> bool:
        """True if evidence certifies a level; of a threat that lists its attacks, that of the clean answer alone."""
        if self.evidence is None or (self._asked is not None and any(level)):
            return False
        if any(map(int.__gt__, level, self._box)):
            return False
        if level not in self._levels:
            if len(self._levels) > 2 * MAX_LEVELS:
                raise MalformedError(f"more than {2 * MAX_LEVELS:,} levels of 'graphs[{self._row}]' would be weighed.")
            if any(level):
                found = self.evidence.certifies(level)
                self.check += found or EvidenceCheck()
                self._levels[level] = found is not None
            else:
                self._levels[level] = self.evidence.wins_clean(fixed=self._archive.votes.history == "fixed")
        return self._levels[level]

    def reach(self, claim: Reach) -> Iterator[Difference]:
        """Yields the errors among the radii that change nothing."""
        standing = [radius for radius in claim.frontier if self._holds(radius)]
        if len(standing) < len(claim.frontier):
            yield "frontier", [each for each in claim.frontier if each not in set(standing)], standing
        if claim.proved:  # otherwise the search has ended before it knew all that there is beyond
            hidden = [radius for radius in self._left_out(claim) if not self._holds(radius)]
            if hidden:
                yield "beyond", claim.beyond, hidden
            if any(self._judged(radius) is None for radius in claim.beyond if self._inside(radius)):
                yield "proved", True, False
        flips, capacity = claim.any_flips or 0, self._archive.capacities[self._row]
        covered = 0 if capacity is None else flips_covered(standing, capacity)
        if flips > covered and not self._every_level(flips, capacity):
            yield "any_flips", claim.any_flips, covered

    def _inside(self, radius: Level) -> bool:
        return all(map(int.__le__, radius, self._box))

    def _every_level(self, flips: int, capacity: Level | None) -> bool:
        """True if all levels with this number of flips are certified."""
        if capacity is None or flips > sum(capacity):
            return False
        levels = list(islice(levels_of(flips, capacity), MAX_LEVELS + 1))
        return len(levels) <= MAX_LEVELS and all(map(self._holds, levels))

    def _left_out(self, claim: Reach) -> Iterable[Level]:
        """The largest radii within which `beyond` has none: as far as was looked, they are claimed to be certified."""
        graph = None if self._archive.evidence is None else self._archive.evidence[self._row]
        if graph is None or self._asked is not None:
            # What counts certify depends on the sums over axes that are alike.
            axes = Alike(self._margin.product, self._box)
            powers = {self._margin.product.powers(each) for each in claim.beyond if self._inside(each)}
            limits = tuple(MAX_RADIUS if each is None else each for each in axes.sums)
            return map(axes.radius, uncovered(powers, limits))
        if sum(self._levels.values()) + len(claim.beyond) >= MAX_LEVELS:
            return ()
        found, most = uncovered(filter(self._inside, claim.beyond), self._box), graph.max_flips
        return chain.from_iterable(
            [each] if most is None or sum(each) <= most else levels_of(most, each) for each in found
        )

    def size(self, claim: Size) -> Iterator[Difference]:
        """Yields the errors among the sizes of listed attacks that change nothing."""
        assert self._asked is not None
        proved = 0
        while proved < claim.certified and self._certifies_size(proved + 1):
            proved += 1
        if proved < claim.certified:
            yield "certified_size", claim.certified, proved

    def _certifies_size(self, size: int) -> bool:
        """True if no listed attack of a size changes the answer."""
        assert self._asked is not None
        if size > len(self._asked.levels) or not self._holds((0,) * len(self._box)):
            return False
        if all(map(self.by_counts, self._asked.levels[size - 1])):
            return True
        found = None if self.evidence is None else self.evidence.certifies_size(size, self.by_counts)
        self.check += found or EvidenceCheck()
        return found is not None

    def broken(self, claim: Broken) -> Iterator[Difference]:
        """Yields the errors in an attack that changes the answer."""
        if self.evidence is None or not self.evidence.breaks(claim, self.by_counts):
            yield "broken", [claim], []
        else:
            self.check += EvidenceCheck(broken=1)


def uncovered(beyond: Iterable[Level], box: Level) -> list[Level]:
    """The maximal radii of a box within which none of some others lies.

    Example:
        >>> uncovered([(2, 0), (1, 1)], (5, 3)), uncovered([], (5, 3)), uncovered([(0, 0)], (5, 3))
        ([(0, 3), (1, 0)], [(5, 3)], [])
    """
    found, left = np.array([box], dtype=np.int64), MAX_COMPARED
    for radius in sorted(beyond):
        left -= found.size
        over = (found >= radius).all(axis=1)
        if not over.any():
            continue
        lowered = []
        for axis, count in enumerate(radius):
            if count:
                lowered.append(found[over])
                lowered[-1][:, axis] = count - 1
        found = found[~over]
        for each in _maximal(np.concatenate([found[:0], *lowered])):
            left -= found.size
            if not (found >= each).all(axis=1).any():
                found = np.concatenate([found, [each]])
        if left < 0:
            raise MalformedError(f"more than {MAX_COMPARED:,} counts of its radii would have to be compared.")
    return sorted(map(tuple, found.tolist()))


def _maximal(rows: Whole) -> list[Whole]:
    """Rows that lie within no other, each once."""
    kept: list[Whole] = []
    for row in np.unique(rows, axis=0)[::-1]:  # a row comes after those that it lies within
        if not kept or not (np.array(kept) >= row).all(axis=1).any():
            kept.append(row)
    return kept
