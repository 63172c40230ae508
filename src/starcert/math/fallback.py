"""A blind answer to fall back to, and what the votes must show for an answer to stand.

A *blind* answer b is the same for every attacked object. With a threshold t from 1/2 to 1, fixed in advance, the
smoothed classifier with a fallback is

    F_t(x) = the class c ≠ b with P_x(c) > t, if there is one, else b.

Like the plain smoothed classifier it is decided by *contests*, one with each other class B: the answer stands where
f_B = 1_B + third·1[neither] has a mean below `limit` for every B.

    the answer is              limit   third   in words
    that of plain smoothing    1/2     1/2     it is likelier than B: P(not A) + P(B) < 1
    the blind answer b         t       0       B does not rise above t: P(B) < t
    another class c            1 − t   1       c stays above t: P(not c) < 1 − t
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

Counts = npt.NDArray[np.int64]


class Contest(NamedTuple):
    """The score of votes for other classes against an answer, and the limit that its mean must stay below."""

    limit: float = 0.5
    third: float = 0.5  # what a vote for neither the answer nor the other class counts

    def score(self, mine: int, rival: int, total: int) -> tuple[int, int]:
        """The votes against the answer, which has `mine` of `total`, and their number; another class has `rival`.

        Example:
            >>> PLAIN.score(50, 30, 100), Contest(0.7, 0.0).score(50, 30, 100), Contest(0.3, 1.0).score(50, 30, 100)
            ((30, 80), (30, 100), (50, 100))
        """
        if self.third == PLAIN.third:  # those for neither say nothing
            return rival, mine + rival
        return (total - mine if self.third else rival), total


PLAIN = Contest()


@dataclass(frozen=True, eq=False)
class BlindAnswers:
    """The threshold of a fallback, and the blind answer of each row of votes."""

    threshold: float  # the probability t that another class must exceed, from 1/2 to below 1
    answers: Counts  # the class that each row has if none does: the same for all that an attacker makes of an object

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        self.answers.setflags(write=False)

    def __len__(self) -> int:
        return len(self.answers)

    def __str__(self) -> str:
        """A text for the fallback: another one has another text."""
        return f"{self.threshold!r} {blake2b(self.answers.astype('<i8').tobytes(), digest_size=12).hexdigest()}"

    def of_rows(self, rows: slice | list[int]) -> BlindAnswers:
        """Those of some rows."""
        return BlindAnswers(self.threshold, self.answers[rows])

    def chosen(self, selection: Counts) -> Counts:
        """The answer of each row that its selection votes suggest: a class with more than a share t of them, else b.

        Example:
            >>> BlindAnswers(0.7, np.array([0, 0, 1])).chosen(np.array([[20, 80], [40, 60], [5, 95]])).tolist()
            [1, 0, 1]
        """
        rows, others = np.arange(len(selection)), selection.copy()
        others[rows, self.answers] = 0
        leading = others.argmax(axis=1)
        above = others[rows, leading] > self.threshold * selection.sum(axis=1)
        return np.where(above, leading, self.answers)

    def against(self, counts: Counts, labels: Counts, lost: Counts) -> Counts:
        """The votes that are bounded in each row: `lost`, those against the answer; of a blind one, those for a class.

        It is the class with the most votes. A limit for it bounds every single other one, with all of alpha: which of
        them is the likeliest is fixed, and the limit of its own count, which it exceeds with probability alpha at most,
        is no larger.
        """
        rivals = counts.copy()
        rivals[np.arange(len(counts)), labels] = 0
        return np.where(labels == self.answers, rivals.max(axis=1), lost)

    def check(self, n_rows: int, n_classes: int) -> None:
        """Refuses answers that are not one class for each row."""
        given = self.answers
        if given.shape != (n_rows,) or given.min(initial=0) < 0 or given.max(initial=0) >= n_classes:
            must = f"be one class from 0 to {n_classes - 1} for each of {n_rows} rows"
            raise InvalidParameterError("blind", must, given.tolist()[:8])


def contests_of(blind: BlindAnswers | None, labels: Counts) -> list[Contest]:
    """The condition on the answer of each row; exact, as 1 − t is a float where t is one from 1/2 to 1."""
    if blind is None:
        return [PLAIN] * len(labels)
    ours, other = Contest(blind.threshold, 0.0), Contest(1 - blind.threshold, 1.0)
    return [ours if same else other for same in (labels == blind.answers).tolist()]


def check_threshold(threshold: float) -> float:
    """The threshold of a fallback as a float, or an error that says what it may be."""
    try:
        value = float(threshold)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError("threshold", "be a number such as 0.7", threshold) from None
    if not 0.5 <= value < 1:
        hint = "At 0.5 any majority is enough to differ from the blind answer, near 1 hardly anything is."
        raise InvalidParameterError("threshold", "be at least 0.5 and below 1", threshold, hint)
    return value
