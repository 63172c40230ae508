"""Votes, the certificates of p_A that they give, what evidence shows beside them, and the figures that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.from_bounds import certify
from starcert.claims.metrics import accuracy, certified_ratio, certified_share, right, score
from starcert.claims.outcomes import majority_share
from starcert.claims.slack import slack_table
from starcert.math.confidence import Bounds, clopper_pearson
from starcert.math.limits import counts_alpha
from starcert.math.votes import Votes
from starcert.methods.evidence import with_evidence
from starcert.methods.smoothed import SmoothedClassifier
from starcert.objects.binding import Problem
from starcert.objects.noise import Noise
from starcert.voting.plans import Job

ALPHA = 0.01
"""The failure probability of every certificate in the paper (where it is called a confidence level of 0.99)."""

Labels: TypeAlias = npt.NDArray[np.int64]
Grid: TypeAlias = npt.NDArray[np.float64]

Judged: TypeAlias = Mapping[str, Any]
Radius = tuple[int, int]
TWO_FLIPS: tuple[Radius, ...] = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
NOT_RECORDED: Any = ()


@dataclass(frozen=True)
class Voted:
    """Objects, the votes on them, and the certificates that the votes give."""

    noise: Noise  # what they were drawn with
    labels: Labels  # the true classes of the objects
    votes: Votes  # the votes on each
    capacity: Sequence[tuple[int, ...]] | None = None  # how many sites each has on each axis; None: not known
    anchored: Sequence[str] | None = None  # why the regions of each are anchored; "" if they are not
    numbers: Labels = NOT_RECORDED  # the number of each in the whole data set
    clean: Labels = NOT_RECORDED  # the models' answers without noise
    judged: Sequence[Judged] = ()  # what evidence shows about each, if that was asked

    @classmethod
    def joined(cls, noise: Noise, trials: Sequence[Sequence[dict[str, Any]]]) -> Voted:
        """What the parts of some trials have found."""
        every = [part for parts in trials for part in parts]

        def column(name: str) -> list[Any]:
            return [row for part in every for row in part[name]]

        return cls(
            noise,
            np.array(column("labels"), dtype=np.int64),
            Votes(column("estimation"), selection=column("selection")),
            [tuple(each) for each in column("capacity")],
            column("anchored"),
            np.array(column("numbers"), dtype=np.int64),
            np.array(column("clean"), dtype=np.int64),
            column("judged"),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def bounds(self) -> Bounds:
        """The confidence bounds of the votes."""
        return clopper_pearson(self.votes, alpha=ALPHA)

    @cached_property
    def certificates(self) -> Certificates:
        """A certificate for each object."""
        return certify(self.bounds, self.noise, capacity=self.capacity, anchored=self.anchored)

    @property
    def smallest_p_lower(self) -> float:
        """The smallest lower bound of all objects."""
        return float(self.bounds.p_lower.min())

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Which objects the smoothed classifier answers right; an abstention is not right."""
        return right(self.certificates, self.labels)

    @property
    def accuracy(self) -> float:
        """The share of those."""
        return accuracy(self.certificates, self.labels)

    @property
    def clean_accuracy(self) -> float:
        """The share of right answers without noise."""
        return accuracy(self.clean, self.labels)

    @property
    def majority(self) -> float:
        """The share of the most frequent class: the accuracy of a constant answer."""
        return majority_share(self.labels)

    @property
    def plurality(self) -> float:
        """The share of objects whose true class has the most votes, even where the smoothed classifier would abstain.

        It is what the paper's figure of accuracies shows: at p = (0.16, 0.05) it has 1, where its smallest p_lower is
        0.49, so the answer to at least one graph must be an abstention.
        """
        return accuracy(self.votes.counts.argmax(axis=1), self.labels)

    @property
    def largest_share(self) -> float:
        """How many of the classes with the most votes are the same one: 1 for a constant network."""
        return majority_share(self.votes.counts.argmax(axis=1))

    def share(self, radius: tuple[int, ...]) -> float:
        """The share of objects that are right and certified at a radius."""
        return self.certificates.certified_accuracy(self.labels, radius)

    def shares(self, box: Any) -> Grid:  # noqa: ANN401  (whatever a radius may be)
        """The same at every radius of a box."""
        return certified_share(self.certificates, self.labels, max_radius=box)

    def ratios(self, box: Any) -> Grid:  # noqa: ANN401
        """The share of right objects that are certified, at every radius of a box."""
        return certified_ratio(self.certificates, self.labels, max_radius=box)

    def score(self, box: Any) -> int:  # noqa: ANN401
        """How many radii of a box hold for more than half of the objects, right and certified."""
        return score(self.certificates, self.labels, max_radius=box)

    def measures(self, box: Any) -> dict[str, float]:  # noqa: ANN401
        """Score, plurality, smallest p_lower and accuracy; and the score with votes moved by three standard errors."""
        low, high = (self.shifted(errors).score(box) for errors in (-3, 3))
        return {"score": self.score(box), "plurality": self.plurality, "smallest_p_lower": self.smallest_p_lower,
                "accuracy": self.accuracy, "low": low, "high": high}  # fmt: skip

    def certified_at(self, radii: Iterable[tuple[int, ...]]) -> dict[str, float]:
        """Columns of a table: the share right and certified at each of some radii."""
        return {f"certified_at_{'_'.join(map(str, radius))}": self.share(radius) for radius in radii}

    def p_value_of_constant(self, majority: float, tried: int = 1) -> float:
        """The binomial probability of at least as many right answers by a constant one, times the settings tried."""
        from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

        test = binomtest(int(self.right.sum()), len(self), majority, alternative="greater")
        return min(1.0, tried * float(test.pvalue))

    def as_if(self, samples: int) -> Voted:
        """The same shares of votes, as if there had been another number of them.

        Draws of the data are judged on fewer votes than the study itself; this makes their bounds comparable.
        """
        so_far = self.votes.counts.cumsum(axis=1)
        # Sums are rounded, not counts: so they end with `samples` exactly.
        counts = np.diff(np.rint(so_far * (samples / so_far[:, -1:])), axis=1, prepend=0)
        return replace(self, votes=Votes(counts, selection=self.votes.selection))

    def anchored_too(self) -> dict[str, Voted]:
        """Two certificates of votes under `Flip(delete, add)`: the first has present and absent pairs as regions."""
        flip = self.noise["pairs"]
        two = Noise(bonds=flip.change(1), gaps=flip.change(0))
        reason = "The regions bonds and gaps are the present and the absent edges of the clean graph."
        return {"anisotropic": replace(self, noise=two, anchored=[reason] * len(self)), "sparsity_aware": self}

    def shifted(self, errors: float) -> Voted:
        """The same with each count for an object's class, of two, moved by some standard errors."""
        counts = self.votes.counts
        total, rows, chosen = counts.sum(axis=1), np.arange(len(counts)), self.bounds.labels
        share = counts[rows, chosen] / total
        for_class = np.clip(np.rint(total * share + errors * np.sqrt(total * share * (1 - share))), 0, total)
        two = np.where(chosen[:, None] == np.arange(2), for_class[:, None], (total - for_class)[:, None])
        return replace(self, votes=Votes(two, selection=self.votes.selection))


def measure_grids(levels: Iterable[Iterable[Voted]], box: Any) -> dict[str, Grid]:  # noqa: ANN401
    """`Voted.measures` of rows of noise levels, each measure as a grid."""
    table = [[each.measures(box) for each in row] for row in levels]
    return {name: np.array([[each[name] for each in row] for row in table]) for name in table[0][0]}


def unanimous_score(noise: Noise, samples: int, box: Any) -> int:  # noqa: ANN401
    """The score of unanimous votes: the most that this many of them can give."""
    failure = clopper_pearson(Votes([[samples, 0]], selection=[[1, 0]]), alpha=ALPHA).failure[0]
    return int((slack_table(noise, box) > failure).sum())


class Question(NamedTuple):
    """What evidence is asked about each object."""

    radii: tuple[Radius, ...]  # about which radii
    own_samples: int  # the maximal number of votes at attacked versions of an object; 0: none
    max_flips: int | None  # attacks of more flips in all are not considered; None: all within the radii


class Tally(NamedTuple):
    """How many objects are answered right, and of these certified by each argument, broken or open."""

    right: int
    by_p_A: int  # noqa: N815  (the paper's symbol): by p_A alone, at the whole alpha
    by_evidence: int  # by p_A or by evidence from the same votes
    with_own_votes: int  # the same with votes at attacked objects
    broken: int  # an attack is known
    open: int  # neither certified nor broken


def judge(
    smoothed: SmoothedClassifier, problem: Problem, votes: Votes, truth: Sequence[int], question: Question, seed: int
) -> list[Judged]:
    """The verdicts on the objects of a problem at each radius, from votes with their flips recorded."""
    job, radii = Job.of(smoothed.classifier, problem, seed), question.radii
    within: dict[str, Any] = {"max_radius": tuple(map(max, zip(*radii, strict=True))), "capacity": problem.capacities}
    paper, counts = (
        certify(clopper_pearson(votes, alpha=share), smoothed.noise, **within)
        for share in (ALPHA, counts_alpha(ALPHA, evidence=True))
    )
    judging = partial(with_evidence, counts, job, alpha=ALPHA, max_flips=question.max_flips, advance=lambda _: None)
    shared = judging(most=0)
    own = judging(most=question.own_samples) if question.own_samples else shared
    return [
        {
            "right": not one.abstained and one.label == label,
            "by_p_A": [one.certified(radius) for radius in radii],
            "by_evidence": [same.certified(radius) for radius in radii],
            "with_own_votes": [more.certified(radius) for radius in radii],
            "broken": [_is_broken(more, radius) for radius in radii],
            "own_votes": more.verdicts.own_votes if more.verdicts else 0,
        }
        for label, one, same, more in zip(truth, paper, shared, own, strict=True)
    ]


def _is_broken(one: Certificate, radius: Radius) -> bool:
    """Whether an attack within a radius is known to change the answer."""
    return any(all(map(int.__le__, level, radius)) for level in one.broken)


def tallies(question: Question, found: Sequence[Judged]) -> dict[str, Tally]:
    """A tally for each radius of a question, and for any flips anywhere, by the radius in words."""
    groups = {str(radius): [i] for i, radius in enumerate(question.radii)}
    for flips in range(1, (question.max_flips or 0) + 1):
        name = "any flip" if flips == 1 else f"any {flips} flips"
        groups[name] = [i for i, radius in enumerate(question.radii) if sum(radius) == flips]
    right, made = [one for one in found if one["right"]], {}
    for name, places in groups.items():
        certified = (
            sum(all(one[argument][i] for i in places) for one in right)
            for argument in ("by_p_A", "by_evidence", "with_own_votes")
        )
        by_p, shared, own = certified
        broken = sum(any(one["broken"][i] for i in places) for one in right)
        made[name] = Tally(len(right), by_p, shared, own, broken, len(right) - own - broken)
    return made


def median_range(values: Sequence[float]) -> str:
    """The median of a figure over the draws, and its range where the draws differ.

    Example:
        >>> median_range([95, 50, 100]), median_range([50, 50]), median_range([3, 4])
        ('95 (50–100)', '50', '3.5 (3–4)')
    """
    median, least, greatest = (f"{value:.9g}" for value in (np.median(values), min(values), max(values)))
    return median if least == greatest else f"{median} ({least}–{greatest})"
