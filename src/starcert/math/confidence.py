"""From votes to bounds on the class probabilities: Clopper–Pearson, rounded outward and proved; and classes by number.

The class is chosen on *selection votes* and bounded on *estimation votes*; choosing and bounding on the same
votes is possible, at the price of a share of alpha for every class that might have been chosen. With more than two
classes the margin is chosen on the selection votes, too. All bounds that a certificate uses hold together with
probability at least 1 − alpha: `limits` has the table of their shares. With `family="all"` the certificates of all N
graphs hold together: alpha / N takes the place of alpha.

Bounds are kept as failure probabilities (1 − p_A), which stay exact where p_A is close to 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.fallback import BlindAnswers, Contest, contests_of
from starcert.math.limits import anytime_limit, chooses_multi_class, share_of_alpha, upper_limit
from starcert.math.votes import Counts, Votes
from starcert.system.errors import InvalidParameterError

CLOPPER_PEARSON, ANYTIME = "clopper-pearson", "anytime"  # the bounds that `verify` can prove, by name
MAX_LISTED = 20  # at most this many classes are listed in a message
Family: TypeAlias = Literal["each", "all"]  # alpha is that of each certificate by itself, or of all of them together


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on the smoothed class probabilities, one entry per graph; those of one hold together with 1 − alpha."""

    labels: Counts  # the chosen class of each graph
    failure: npt.NDArray[np.float64]  # upper bounds on 1 − p_A, the probability of any other answer
    other: npt.NDArray[np.float64]  # upper bounds on the probability of every single other class; at most `failure`
    alpha: float | None  # the failure probability of these bounds themselves; None if they are taken for certain
    n_classes: int
    votes: Votes | None = field(default=None, repr=False)  # those that they come from; None: they come from elsewhere
    family_size: int = 1  # how many graphs, these among them, share alpha: their bounds hold together
    bound: str = ""  # "clopper-pearson" or "anytime"; "" if they come from elsewhere
    blind: BlindAnswers | None = field(default=None, repr=False)  # what each graph falls back to; None: plain smoothing

    def __post_init__(self) -> None:
        labels, failure, other = (np.asarray(x) for x in (self.labels, self.failure, self.other))
        if labels.ndim != 1 or not labels.shape == failure.shape == other.shape:
            shapes = labels.shape, failure.shape, other.shape
            raise InvalidParameterError("bounds", "have one label, failure and other each a graph", shapes)
        if labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < self.n_classes)).all():
            raise InvalidParameterError("labels", f"be classes from 0 to {self.n_classes - 1}", labels.tolist())
        if not ((failure >= 0) & (failure <= 1) & (other >= 0) & (other <= failure)).all():
            got = list(zip(failure, other, strict=True))[:3]
            raise InvalidParameterError("bounds", "have 0 ≤ other ≤ failure ≤ 1 for every graph", got)
        shape = len(labels), self.n_classes
        if self.blind is not None:
            self.blind.check(*shape)
        if self.votes is not None and self.votes.counts.shape != shape:
            raise InvalidParameterError("votes", f"have the shape {shape} of the bounds", self.votes.counts.shape)

    @classmethod
    def certain(cls, p_lower: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> Bounds:
        """Bounds that are taken for certain: p_A is at least `p_lower` in a problem of two classes.

        Example:
            >>> Bounds.certain([0.9995]).p_lower
            array([0.9995])
        """
        try:
            lower = np.atleast_1d(np.asarray(p_lower, dtype=float))
        except (TypeError, ValueError):
            raise InvalidParameterError("p_lower", "be a probability, or one for each graph", p_lower) from None
        wrong = ~((lower >= 0) & (lower <= 1))
        if lower.ndim != 1 or wrong.any():
            got = float(lower[wrong][0]) if wrong.any() else f"an array of shape {lower.shape}"
            raise InvalidParameterError("p_lower", "be a probability from 0 to 1, or one for each graph", got)
        failure = 1 - lower  # exact from 1/2 on; below, the verdict is the same whatever the last digit
        chosen = np.zeros(len(lower), dtype=np.int64) if labels is None else np.asarray(labels)
        return cls(chosen, failure, failure, None, 2)

    @property
    def objects(self) -> Counts:
        """For each entry the number of its graph; without votes, each is a graph of its own."""
        return np.arange(len(self)) if self.votes is None else self.votes.objects

    @property
    def targets(self) -> Counts:
        """For each entry the number of its target in its graph; 0 without votes."""
        return np.zeros(len(self), dtype=np.int64) if self.votes is None else self.votes.targets

    @property
    def p_lower(self) -> npt.NDArray[np.float64]:
        """Lower bounds on p_A, for reading: 1 − failure, rounded down."""
        lower = 1 - self.failure
        return np.where(1 - lower < self.failure, np.nextafter(lower, 0), lower)

    def agrees_with(self, other: Bounds) -> bool:
        """True if both bound the same classes of the same targets by the same numbers, and fail as seldom."""
        pairs = ((self.labels, other.labels), (self.failure, other.failure), (self.other, other.other))
        return (self.alpha, self.family_size) == (other.alpha, other.family_size) and all(
            np.array_equal(mine, theirs) for mine, theirs in pairs
        )

    @cached_property
    def contests(self) -> list[Contest]:
        """The condition on the class of each graph."""
        return contests_of(self.blind, self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Bounds:
        rows = [index]
        votes = None if self.votes is None else self.votes.row(index)
        part = {name: getattr(self, name)[rows] for name in ("labels", "failure", "other")}
        return replace(self, **part, votes=votes, blind=None if self.blind is None else self.blind.of_rows(rows))


def check_alpha(alpha: float) -> float:
    """Alpha as a float strictly between 0 and 1/2, or an error that asks what was meant."""
    try:
        value = float(alpha)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError("alpha", "be a failure probability, a number such as 0.01", alpha) from None
    if not 0 < value < 0.5:
        hint = "It is the failure probability of the certificate: 0.01 means that it holds with 99%."
        if 0.5 <= value < 1:
            hint = f"Was a confidence level meant? Then give alpha={1 - value:.6g}."
        raise InvalidParameterError("alpha", "lie strictly between 0 and 0.5", alpha, hint)
    return value


def check_family(family: object) -> Family:
    """The certificates that alpha is about, or an error that says which there are."""
    if family == "each" or family == "all":  # noqa: PLR1714  (so that its type is known)
        return family
    hint = 'With "all", alpha is divided between the certificates, so that all of them hold together.'
    raise InvalidParameterError("family", 'be "each" or "all"', family, hint)


def spends_on_all_classes(votes: Votes, *, alpha: float, family_size: int = 1) -> npt.NDArray[np.bool_]:
    """For each graph, whether alpha is spent on bounds of all classes, or on that of p_A alone."""
    n_graphs, n_classes = votes.counts.shape
    if votes.blind is not None:
        return np.zeros(n_graphs, dtype=np.bool_)
    if n_classes == 2 or votes.selection is None:
        return np.full(n_graphs, n_classes > 2)
    whole = share_of_alpha(alpha, n_classes, selected_apart=True, all_classes=False, family_size=family_size)
    return chooses_multi_class(votes.selection, votes.counts.sum(axis=1), whole)


def clopper_pearson(votes: Votes, *, alpha: float = 0.01, family: Family = "each") -> Bounds:
    """Bounds that hold together with probability at least 1 − alpha over the sampling of the votes.

    One-sided Clopper–Pearson limits that share alpha by Bonferroni; each is rounded outward and proved.

    Args:
        votes: one row a graph.
        alpha: the failure probability.
        family: "each": of each graph's bounds by themselves; "all": it is divided between the graphs, and the bounds of
            all graphs hold together.

    Example:
        >>> clopper_pearson(Votes([[97_000, 3_000]], selection=[[98, 2]]), alpha=0.01).p_lower.round(6)
        array([0.968721])
    """
    if not isinstance(votes, Votes):
        raise InvalidParameterError("votes", "be Votes", type(votes).__name__, "Write Votes([[970, 30]]).")
    if votes.history != "fixed":
        hint = 'Certify with plan="decided", or draw fresh votes of a fixed number, with another seed.'
        must = "be as many as was fixed in advance, for these bounds to hold"
        raise InvalidParameterError("votes", must, "votes that were seen before their number was fixed", hint)
    family_size = max(1, len(votes)) if check_family(family) == "all" else 1
    return bounds_of(votes, alpha=check_alpha(alpha), family_size=family_size)


def anytime_bounds(votes: Votes, *, alpha: float, family_size: int = 1) -> Bounds:
    """Bounds on p_A that hold at all times, for the two-class margin, whatever plan looked at the votes to stop."""
    if votes.selection is None:
        raise InvalidParameterError("votes", "have selection votes, to be looked at at any time", None)
    share = share_of_alpha(check_alpha(alpha), 2, selected_apart=True, family_size=family_size)  # p_A alone
    pairs = zip(_against(votes).tolist(), votes.counts.sum(axis=1).tolist(), strict=True)
    limits = np.array([anytime_limit(against, total, share) for against, total in pairs])
    return _bounds_by_one_limit(votes, limits, alpha, family_size, ANYTIME)


def _against(votes: Votes) -> Counts:
    """The votes against the class of each row; against a blind answer, those for the strongest other class."""
    lost = votes.counts.sum(axis=1) - votes.counts[np.arange(len(votes)), votes.labels]
    return lost if votes.blind is None else votes.blind.against(votes.counts, votes.labels, lost)


def _bounds_by_one_limit(
    votes: Votes, limits: npt.NDArray[np.float64], alpha: float, family_size: int, bound: str
) -> Bounds:
    """Bounds that spend all of alpha on one limit, that of `_against`; see `BlindAnswers.against`."""
    labels, n_classes = votes.labels, votes.counts.shape[1]
    alone = n_classes > 2 and votes.blind is not None and labels == votes.blind.answers
    failure = np.where(alone, 1.0, limits)  # nothing is known about all other classes together
    return Bounds(labels, failure, limits, alpha, n_classes, votes, family_size, bound, votes.blind)


def bounds_of(votes: Votes, *, alpha: float, family_size: int) -> Bounds:
    """Clopper–Pearson bounds that hold for all of `family_size` graphs."""
    counts = votes.counts
    n_graphs, n_classes = counts.shape
    labels = votes.labels
    totals = counts.sum(axis=1)
    if votes.blind is not None:
        share = share_of_alpha(alpha, 2, selected_apart=True, family_size=family_size)
        limits = _upper_limits(_against(votes), totals, share)
        return _bounds_by_one_limit(votes, limits, alpha, family_size, CLOPPER_PEARSON)
    own = counts[np.arange(n_graphs), labels]
    rivals = counts.copy()
    rivals[np.arange(n_graphs), labels] = 0
    failure, other = np.empty(n_graphs), np.empty(n_graphs)
    everything = spends_on_all_classes(votes, alpha=alpha, family_size=family_size)
    for every_class in (False, True):
        rows = np.flatnonzero(everything == every_class)
        apart = votes.selection is not None
        share = share_of_alpha(alpha, n_classes, selected_apart=apart, all_classes=every_class, family_size=family_size)
        failure[rows] = other[rows] = _upper_limits((totals - own)[rows], totals[rows], share)
        if every_class:
            # The limit grows with the count: the largest count bounds every class.
            largest = _upper_limits(rivals.max(axis=1)[rows], totals[rows], share)
            other[rows] = np.minimum(largest, failure[rows])
    return Bounds(labels, failure, other, alpha, n_classes, votes, family_size, CLOPPER_PEARSON)


def _upper_limits(counts: Counts, totals: Counts, share: Fraction) -> npt.NDArray[np.float64]:
    pairs, inverse = np.unique(np.stack([counts, totals]), axis=1, return_inverse=True)
    limits = [upper_limit(int(count), int(total), share) for count, total in pairs.T]
    return np.array(limits)[inverse.reshape(-1)]


def class_numbers(
    labels: npt.ArrayLike | Sequence[object],
    n_classes: int,
    classes: Sequence[Hashable] | None = None,
    *,
    unseen: int | None = None,
) -> npt.NDArray[Any]:
    """The class number of each label; a label that is None stays None: the class is not known.

    `classes` is what labels call the classes, in the order of their numbers; None: by their numbers alone. Where some
    class is a number itself, as in [3, 8], numbers mean these classes, otherwise class numbers. `unseen` is the number
    of labels that are none of the classes, where at least one label is; None: they are refused.
    """
    given = np.array(labels, dtype=object)
    numbers: dict[Hashable, int] = {} if classes is None else {each: place for place, each in enumerate(classes)}
    if all(isinstance(each, str) for each in numbers):
        numbers |= {number: number for number in range(n_classes)}
    entries = [each.item() if hasattr(each, "item") else each for each in given]
    found = [None if each is None else numbers.get(each, -1) for each in entries]
    if -1 in found and (unseen is None or not any(number is not None and number >= 0 for number in found)):
        row = found.index(-1)
        known = f"a class number from 0 to {n_classes - 1}"
        advice = "Number them: classes, numbers = numpy.unique(labels, return_inverse=True)"
        if classes is not None:
            listed = ", ".join(map(repr, classes[:MAX_LISTED])) + (", …" if len(classes) > MAX_LISTED else "")
            known, advice = f"one of the classes {listed}", "Label with the classes of the classifier"
        hint = f"{advice}; None means that the class is not known."
        raise InvalidParameterError(f"labels[{row}]", f"be {known}", entries[row], hint)
    return np.array([unseen if number == -1 else number for number in found], None if None in found else np.int64)
