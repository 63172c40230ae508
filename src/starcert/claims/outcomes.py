"""The outcome of each object under a threat: the one table from which shares, gains, files and pages are made.

Each method of certifying fills it in (`Results.outcomes`); whatever counts or shows results reads it, and nothing else.
A threat has sizes 1, 2, … up to `threat.most`: units of the attacker, such as flips or rewired edges. Of a box of
radii these are flips within it, so that a curve along one axis is the table of one box.

**What was not asked is None, never 0.** A size is unknown beyond the threat that was asked about, beyond the radii that
were looked at, and where no number of votes certifies anything. A share of 0 says that objects were examined, and none
is certified; where no object was, there is no share at all, and a reason. Beside others, it counts as not certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from starcert.claims.question import size_within
from starcert.claims.verdict import FoundAttack, State
from starcert.math.channels import MAX_RADIUS
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import as_frame

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 6
BEYOND = 2**62  # in place of a size: there is none
NEVER = "no number of votes certifies it under this noise"
TOO_FAR = "beyond the radii that were looked at"

Mask = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Labels: TypeAlias = npt.ArrayLike | Sequence[object]  # the true classes; None: not known


class Outcome(NamedTuple):
    """The outcome of one object (or target) under a threat, by the size of its attacks."""

    answer: int | None  # None: the method abstains
    certified: int | None  # the largest size up to which no attack changes the answer; None: not examined
    broken: int | None = None  # the smallest size of an attack that is known to change the answer; None: none is known
    looked: int = MAX_RADIUS  # the largest size that was examined, by default any: beyond it, 0 is not a finding
    attacks: tuple[int, ...] = ()  # how many attacks of each size there are, from 1 on; empty: they were not counted
    found: FoundAttack | None = None  # the attack that breaks it
    why: str = ""  # by which argument the whole threat has its verdict, or why larger sizes were not examined

    def possible(self, size: int) -> bool:
        """True if there is an attack of at most this size; size 0 needs none."""
        return not (size and self.attacks) or any(self.attacks[:size])

    def withstands(self, size: int) -> bool:
        """True if all attacks of at most this size are certified to change nothing."""
        return self.answer is not None and (self.certified or 0) >= size

    def state(self, size: int) -> State | None:
        """The state under attacks of at most this size; None if they were not examined."""
        if self.withstands(size):
            return "certified"
        if self.broken is not None and self.broken <= size:
            return "broken"
        return "open" if size <= self.looked else None


class SizeCounts(NamedTuple):
    """The numbers of objects in each state, among those that have an attack of at most this size.

    Given labels, these are objects of a known class. Of those that are answered (given labels, right) each is
    certified, broken or open.
    """

    label: str  # the attacks in words
    size: int
    n_graphs: int
    n_without: int  # how many objects are left out, for they have no such attack: they are certified for nothing
    n_right: int
    n_by_p_A: int | None  # noqa: N815  (the paper's p_A) None: the method has no p_A, or `why` says why it is unknown
    n_certified: int | None  # None: unknown, as `why` says
    n_broken: int
    n_attacks: int | None  # how many attacks there are on these objects; None: they were not counted
    n_left: int | None  # how many attacks on objects that are open were not tried; None: the method tries none
    own_samples: tuple[int, ...]  # about how many votes at attacked versions would settle open ones, where it is known
    why: str  # why it would say nothing that the others are not certified; "" where it is a finding on any

    @property
    def n_open(self) -> int:
        """The number that are neither certified nor broken."""
        return self.n_right - (self.n_certified or 0) - self.n_broken

    def share(self, count: int | None) -> float | None:
        """A number of objects as a share of those that can be attacked so; None where it is unknown."""
        return None if count is None else count / self.n_graphs if self.n_graphs else math.nan

    def percent(self, count: int | None) -> str:
        """That share in percent; a dash where it is unknown, or no object can be attacked so."""
        return "–" if count is None or not self.n_graphs else f"{count / self.n_graphs:.1%}"


@dataclass(frozen=True, eq=False)
class Outcomes(Sequence[Outcome]):
    """The outcome of each object, or target, under a threat.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
        >>> [(one.answer, one.certified, one.state(2)) for one in found.outcomes("flips:2")]
        [(0, 1, 'open'), (0, 0, 'open')]
        >>> [(each.label, each.n_certified, each.n_open) for each in found.outcomes("flips:2").counts()]
        [('any 1 flip', 1, 1), ('any 2 flips', 0, 2)]
    """

    threat: Threat
    rows: tuple[Outcome, ...]
    objects: tuple[int, ...]  # the number of each row's object: targets of one object share its attacks
    by_p_A: Outcomes | None = None  # noqa: N815  (the same by p_A alone; None: the method has no p_A)
    tried: tuple[int, ...] | None = (
        None  # how many attacks were tried on each row's object; None: the method tries none
    )
    to_settle: tuple[int | None, ...] = ()  # about how many votes at attacked versions would settle the first open size

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Outcome, ...]: ...
    def __getitem__(self, index: int | slice) -> Outcome | tuple[Outcome, ...]:
        return self.rows[index]

    @cached_property
    def _columns(self) -> tuple[Whole, Whole, Whole]:
        """Of each row the largest certified size, and the smallest sizes that break it and that have an attack.

        −1 where there is no answer, and beyond all sizes where nothing breaks it, or there is no attack.
        """
        certified = [-1 if one.answer is None else one.certified or 0 for one in self.rows]
        broken = [BEYOND if one.broken is None else one.broken for one in self.rows]
        attacked = [
            next((size for size, n in enumerate(one.attacks, start=1) if n), BEYOND if one.attacks else 0)
            for one in self.rows
        ]
        return np.array(certified, np.int64), np.array(broken, np.int64), np.array(attacked, np.int64)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, which `to_csv` writes; what was not examined is missing."""
        rows = [
            {"object": number, "answer": one.answer, "certified": one.certified, "broken": one.broken,
             "attack": None if one.found is None else one.found.words, "why": one.why}
            for number, one in zip(self.objects, self.rows, strict=True)
        ]  # fmt: skip
        return as_frame(rows).convert_dtypes()  # whole numbers stay whole beside what is missing

    @property
    def answered(self) -> Mask:
        """Which rows have an answer."""
        return self.certified(0)

    def right(self, truth: Sequence[int | None]) -> Mask:
        """Which rows have the true class, which is known, as their answer."""
        pairs = zip(self.rows, truth, strict=True)
        return np.array([label is not None and one.answer == label for one, label in pairs], dtype=np.bool_)

    def possible(self, size: int) -> Mask:
        """Which rows have an attack of at most this size; size 0: all, none need be attacked."""
        found: Mask = self._columns[2] <= (size or BEYOND)
        return found

    def certified(self, size: int) -> Mask:
        """Which rows have an answer that no attack of at most this size changes."""
        found: Mask = self._columns[0] >= size
        return found

    def broken(self, size: int) -> Mask:
        """Which rows are broken by a known attack of at most this size."""
        found: Mask = (self._columns[1] <= size) & ~self.certified(size)
        return found

    def why_unknown(self, size: int, among: Mask) -> str:
        """Why it would say nothing that the others of some rows are not certified; "" where it is a finding on any."""
        others = among & ~self.certified(size)
        reasons = {one.why if size > one.looked else "" for _, one in self._by_object(others)}
        return "" if "" in reasons or not reasons else min(reasons)

    def only(self, places: Sequence[int]) -> Outcomes:
        """The same of some rows, in this order."""

        def chosen(column: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(column[place] for place in places) if column else ()

        alone = None if self.by_p_A is None else self.by_p_A.only(places)
        tried = None if self.tried is None else chosen(self.tried)
        return Outcomes(self.threat, chosen(self.rows), chosen(self.objects), alone, tried, chosen(self.to_settle))

    def counts(self, truth: Sequence[int | None] | None = None) -> list[SizeCounts]:
        """The states of the rows at some sizes, 1 first; given true class numbers, of those of a known class."""
        return [self.counts_at(size, truth) for size in size_steps(self.threat.most)]

    def counts_at(self, size: int, truth: Sequence[int | None] | None = None) -> SizeCounts:
        """The states of the rows under attacks of at most this size."""
        eligible = np.ones(len(self), dtype=np.bool_) if truth is None else known(truth)
        return self.counts_among(size, eligible, self.answered if truth is None else self.right(truth))

    def counts_among(self, size: int, eligible: Mask, answered: Mask) -> SizeCounts:
        """The states of eligible rows that can be attacked, and of those among them that are answered as wanted."""
        possible = eligible & self.possible(size)
        judged, safe = possible & answered, self.certified(size)
        alone = None if self.by_p_A is None else int((judged & self.by_p_A.certified(size)).sum())
        why, n_certified = self.why_unknown(size, possible), int((judged & safe).sum())
        unknown = bool(why) and not n_certified
        broken = self.broken(size)
        still_open = judged & ~safe & ~broken
        settle = [
            votes
            for one, votes, is_open in zip(self.rows, self.to_settle, still_open, strict=False)
            if is_open and votes is not None and size == (one.certified or 0) + 1
        ]
        attacks = {number: sum(one.attacks[:size]) for number, one in self._by_object(possible)}
        left = None
        if self.tried is not None:
            open_objects = set(np.array(self.objects)[still_open].tolist())
            tried = dict(zip(self.objects, self.tried, strict=True))
            left = sum(max(0, n - tried[number]) for number, n in attacks.items() if number in open_objects)
        return SizeCounts(
            label=self.threat.label_of(size),
            size=size,
            n_graphs=int(possible.sum()),
            n_without=int((eligible & ~possible).sum()),
            n_right=int(judged.sum()),
            n_by_p_A=None if unknown else alone,
            n_certified=None if unknown else n_certified,
            n_broken=int((judged & broken).sum()),
            n_attacks=sum(attacks.values()) if all(attacks.values()) else None,
            n_left=left,
            own_samples=tuple(sorted(settle)),
            why=why,
        )

    def _by_object(self, some: Mask) -> list[tuple[int, Outcome]]:
        return [(number, one) for number, one, counts in zip(self.objects, self.rows, some, strict=True) if counts]


def size_steps(most: int) -> list[int]:
    """Some sizes of a threat, 1 first and the largest last."""
    return list(range(1, most + 1)) if most <= MAX_STEPS else sorted({*steps_to(most), most})


def steps_to(farthest: int) -> list[int]:
    """Some counts of flips to state shares at: 1, 2, 5, 10, … as far as anything is certified.

    Example:
        >>> steps_to(30)
        [1, 2, 5, 10, 20]
    """
    steps = [first * 10**power for power in range(9) for first in (1, 2, 5)]
    reached = [step for step in steps if step <= farthest] or [1]
    return reached if len(reached) <= MAX_STEPS else [*reached[: MAX_STEPS - 1], reached[-1]]


def common_size(known: Threat, threat: Threat) -> int | None:
    """Up to which size the attacks of a threat are those of a known one; None: it is another threat."""
    return known.most if size_within(threat, known) is not None else size_within(known, threat)


def known(truth: Sequence[int | None]) -> Mask:
    """Of which rows the class is known."""
    return np.array([label is not None for label in truth], dtype=np.bool_)


def share_of(hits: Mask, eligible: Mask) -> float:
    """The share of the eligible rows that are hits; NaN if there are none."""
    return float(hits[eligible].mean()) if eligible.any() else math.nan


def beyond(threat: Threat) -> str:
    """The reason where something was not asked about."""
    return f"beyond the threat that was asked about, {threat.label}"


def in_words(rows: Iterable[tuple[str, bool, str]]) -> list[str]:
    """Sentences for below a table: what each row is about, whether it has a share, and why 0 would say nothing.

    Example:
        >>> in_words([("1 flip in a", True, ""), ("2 flips in a", False, "not asked"), ("2 in b", False, "not asked")])
        ['A dash: 2 flips in a, 2 in b (not asked).']
    """
    by_reason: dict[tuple[bool, str], list[str]] = {}
    for what, known, why in rows:
        if why and not (known and why == NEVER):  # graphs with fewer sites may be certified all the same
            by_reason.setdefault((known, why), []).append(what)
    return [
        f"{'By p_A alone' if known else 'A dash'}: {', '.join(each)} ({why})."
        for (known, why), each in by_reason.items()
    ]


def majority_share(labels: npt.ArrayLike) -> float:
    """The share of the most frequent class: the accuracy of a constant answer.

    Example:
        >>> majority_share([0, 1, 1, 1])
        0.75
    """
    truth = np.asarray(labels)
    if truth.ndim != 1 or not truth.size:
        raise InvalidParameterError("labels", "be a row of classes, one or more", f"an array of shape {truth.shape}")
    return float(np.unique(truth, return_counts=True)[1].max() / truth.size)
