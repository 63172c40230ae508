"""Deep votes in files: the law by which copies were asked and drawn, and which of them were against the class.

Of a copy that answered the class nothing is kept. All copies with the flip numbers that a law asks were asked, so they
need no count, and all others of the votes that there were to be were drawn. That the law was fixed before the first
deep vote is a premise: no file can prove it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, prod

import numpy as np
import numpy.typing as npt

from starcert.files.untrusted import PackedArrays
from starcert.math.attacked_sites import AttackAxis, pools_of, sites_by_pool
from starcert.math.bets import MAX_VOTES
from starcert.math.deep import MAX_FLIPS, MAX_GRID, UNIT, DeepLaw
from starcert.math.deep_votes import DeepVotes
from starcert.math.flips import FlipRecord
from starcert.system.errors import InvalidParameterError

DEEP = {
    "deep_heads": "<i8",  # for each graph: DEEP_HEAD
    "deep_numbers": "<u4",  # flip numbers of each axis (the first of those with the same sites): asked, then drawn
    "deep_weights": "<i8",  # the chance of each of those that are drawn, in 2⁻⁶²
    "deep_classes": "<u2",  # of each vote against the class what it was for: copies asked, then drawn
    "deep_lengths": "<u4",  # how many sites flipped in it
    "deep_positions": "<u4",  # and which
    "deep_shown": "|u1",  # the value that each flip shows, where sites have more than two
}
"""Further arrays of a file with deep votes."""

DEEP_HEAD = ("most", "asked", "drawn", "asked_against", "drawn_against")
"""Deep votes at most (0: none were to be drawn), flip numbers asked and drawn, votes against the class of either."""

MAX_CODES = 2**62  # a row of flip numbers is looked up by a number of 64 bits

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeptDeepVotes:
    """The deep votes on one graph, at most `most`; without numbers, none were drawn."""

    most: int
    asked: Whole  # the flip numbers of which all copies were asked, shape (numbers, axes)
    drawn: Whole  # those that were drawn
    weights: Whole  # with which chance, in 1/UNIT
    asked_against: FlipRecord | None  # the votes against the class, and which sites flipped in each
    drawn_against: FlipRecord | None

    @classmethod
    def of(cls, axes: Sequence[AttackAxis], most: int, votes: DeepVotes | None) -> KeptDeepVotes | None:
        """What is kept of deep votes; None where there were to be none."""
        if not most:
            return None
        nothing = np.zeros((0, len(axes)), dtype=np.int64)
        if votes is None:
            return cls(most, nothing, nothing, nothing.reshape(-1), None, None)
        asked, drawn = (np.zeros((len(each), len(axes)), dtype=np.int64) for each in votes.law[:2])
        firsts = sorted(set(pools_of(axes)))
        asked[:, firsts], drawn[:, firsts] = votes.law.asked, votes.law.drawn
        return cls(most, asked, drawn, votes.law.weights, votes.asked, votes.drawn)

    @property
    def total(self) -> int:
        """How many deep votes there are."""
        return sum(int(each.samples.sum()) for each in (self.asked_against, self.drawn_against) if each is not None)

    def votes(self, axes: Sequence[AttackAxis]) -> DeepVotes | None:
        """The deep votes, ready to be weighed; None if no law served."""
        if not len(self.asked) + len(self.drawn):
            return None
        firsts = sorted(set(pools_of(axes)))
        law = DeepLaw(self.asked[:, firsts], self.drawn[:, firsts], self.weights)
        return DeepVotes(axes, law, self.asked_against, self.drawn_against)

    def parts(self) -> Iterator[tuple[str, npt.ArrayLike]]:
        """The numbers of deep votes, and the arrays that they belong to."""
        records = self.asked_against, self.drawn_against
        against = [0 if each is None else len(each) for each in records]
        yield "deep_heads", [self.most, len(self.asked), len(self.drawn), *against]
        yield from (("deep_numbers", self.asked), ("deep_numbers", self.drawn), ("deep_weights", self.weights))
        for record in records:
            if record is not None:
                yield from (("deep_classes", record.classes), ("deep_lengths", _lengths(record)))
                yield "deep_positions", record.flipped
                yield "deep_shown", [] if record.shown is None else record.shown

    def check(self, name: str, shared: FlipRecord, axes: Sequence[AttackAxis], n_classes: int) -> None:
        """Refuses what is no law of flip numbers on these axes, votes that it does not make, and contradictions.

        `shared` are the votes on the clean graph.
        """
        pools = sites_by_pool(axes)
        self._check_law(name, np.array(list(map(len, pools))), shared.n_sites)
        if len(self.asked) and any(axis.moves is not None and len(axis.sites) for axis in axes):
            raise InvalidParameterError(name, "ask copies only where all sites have two values", self.asked)
        for record, numbers in ((self.asked_against, self.asked), (self.drawn_against, self.drawn)):
            if record is None:
                continue
            if record.label != shared.label or record.classes.max(initial=0) >= n_classes:
                raise InvalidParameterError(name, f"be of votes against class {shared.label} of {n_classes}", record)
            found = set(map(tuple, np.unique(record.numbers(pools), axis=0).tolist()))
            if unknown := found - set(map(tuple, numbers.tolist())):
                raise InvalidParameterError(name, "have deep votes with flip numbers of their law", min(unknown))
        if self.asked_against is not None:
            self._check_answers(name, shared, self.asked_against, pools)

    def _check_law(self, name: str, sizes: Whole, n_sites: int) -> None:
        asked, drawn = (list(map(tuple, each.tolist())) for each in (self.asked, self.drawn))
        if not (rows := asked + drawn):
            return
        if (np.array(rows) > np.minimum(sizes, MAX_FLIPS)).any():
            must = f"have at most {MAX_FLIPS} flips in deep votes, on axes of {sizes} sites"
            raise InvalidParameterError(name, must, max(rows))
        if len(set(rows)) < len(rows) or any(left > right for each in (asked, drawn) for left, right in pairwise(each)):
            raise InvalidParameterError(name, "name each flip number of deep votes once, in ascending order", rows[:8])
        if prod((np.array(rows).max(axis=0) + 1).tolist()) > MAX_CODES:
            raise InvalidParameterError(name, f"have at most {MAX_CODES} flip numbers of deep votes", max(rows))
        if drawn and (self.weights.min() < 1 or sum(self.weights.tolist()) != UNIT):
            must = f"have chances of deep votes that add up to {UNIT}"
            raise InvalidParameterError(name, must, sum(self.weights.tolist()))
        if sizes.sum() != n_sites:  # those on no axis may flip, too, and the law knows nothing of them
            raise InvalidParameterError(name, f"have all {n_sites} sites on axes if there are deep votes", sizes.sum())

    def _check_answers(self, name: str, shared: FlipRecord, asked: FlipRecord, pools: Sequence[Whole]) -> None:
        """Refuses copies that are there twice, and answers that the votes on the clean graph contradict."""
        answers = dict(zip(_copies(asked), asked.classes.tolist(), strict=True))
        if len(answers) < len(asked):
            raise InvalidParameterError(name, "ask each copy once", f"{len(asked) - len(answers)} of them again")
        if not shared.complete:
            return
        known = set(map(tuple, self.asked.tolist()))
        numbers = map(tuple, shared.numbers(pools).tolist())
        for copy, answer, number in zip(_copies(shared), shared.classes.tolist(), numbers, strict=True):
            if number in known and answers.get(copy) != answer:
                must = "have the same answers for copies that were asked and for the same copies among the votes"
                raise InvalidParameterError(name, must, f"the flips {np.frombuffer(copy, dtype=np.uint32).tolist()}")


def take_deep(unread: PackedArrays, sizes: Sequence[int], shared: FlipRecord, *, valued: bool) -> KeptDeepVotes | None:
    """The deep votes that come next, on a graph with axes of these sizes.

    `shared` are the votes on the clean graph; `valued` says whether flips come with what they show.
    """
    head = unread.take("deep_heads", len(DEEP_HEAD)).tolist()
    if not any(head):
        return None
    most, n_asked, n_drawn, *against = head
    if not (1 <= most <= MAX_VOTES and 0 <= min(n_asked, n_drawn) <= max(n_asked, n_drawn) <= MAX_GRID):
        raise InvalidParameterError("deep_heads", f"be {', '.join(DEEP_HEAD)}", head)
    numbers = unread.take("deep_numbers", (n_asked + n_drawn) * len(sizes)).astype(np.int64).reshape(-1, len(sizes))
    if (numbers > MAX_FLIPS).any():
        raise InvalidParameterError("deep_numbers", f"be at most {MAX_FLIPS}", numbers.max())
    asked, left = numbers[:n_asked], most
    for row in asked.tolist():
        left -= prod(map(comb, sizes, row))
        if left < 0:
            raise InvalidParameterError("deep_numbers", f"ask at most {most:,} copies", asked)
    weights, records = unread.take("deep_weights", n_drawn), list[FlipRecord | None]()
    for rows, samples, lost in ((n_asked, most - left, against[0]), (n_drawn, left, against[1])):
        if not 0 <= lost <= (samples if rows else 0):
            raise InvalidParameterError("deep_heads", f"have at most {samples:,} votes against the class", lost)
        records.append(_take_record(unread, samples, lost, shared, valued=valued) if rows else None)
    return KeptDeepVotes(most, asked, numbers[n_asked:], weights, *records)


def _take_record(unread: PackedArrays, samples: int, lost: int, shared: FlipRecord, *, valued: bool) -> FlipRecord:
    classes, lengths = (unread.take(name, lost) for name in ("deep_classes", "deep_lengths"))
    positions = unread.take("deep_positions", int(lengths.sum(dtype=np.int64)))
    arrays = {
        **{"label": np.array(shared.label), "n_sites": np.array(shared.n_sites)},
        **{"samples": np.array([samples]), "against": np.array([lost]), "classes": classes},
        **{"starts": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), "positions": positions},
    }
    if valued:
        arrays["shown"] = unread.take("deep_shown", len(positions))
    return FlipRecord.from_arrays(arrays)


def _lengths(record: FlipRecord) -> Whole:
    """How many sites flipped in each vote."""
    return record.numbers([np.arange(record.n_sites)])[:, 0]


def _copies(record: FlipRecord) -> Iterator[bytes]:
    """The flips of each vote, so that equal copies are equal."""
    flips = record.flipped
    ends = np.cumsum(_lengths(record)).tolist()
    return (flips[start:end].tobytes() for start, end in pairwise([0, *ends]))
