"""What votes give: certificates, and verdicts of evidence.

`Voted` has the certificates of p_A and the figures that are read off them. Where evidence is asked, every object is
judged four times from one set of votes: by p_A at the whole alpha, by p_A at the share of alpha that counts have beside
evidence, by evidence from the same votes, and with votes at attacked versions of the object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.certificates.certificate import Certificate
from starcert.certificates.certify import Certificates, certify
from starcert.certificates.evidence import with_evidence
from starcert.certificates.metrics import accuracy, certified_ratio, certified_share, majority_share, right, score
from starcert.certificates.slack import slack_table
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.math.confidence import Bounds, Votes, clopper_pearson
from starcert.math.limits import counts_alpha
from starcert.objects.binding import Problem
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.voting.plans import Job

ALPHA = 0.01
"""The failure probability of every certificate in the paper (where it is called a confidence level of 0.99)."""

Labels: TypeAlias = npt.NDArray[np.int64]
Grid: TypeAlias = npt.NDArray[np.float64]
Radius: TypeAlias = tuple[int, int]
Judged: TypeAlias = dict[str, Any]
"""The verdicts on one object, as plain numbers and words."""

NOT_RECORDED: Any = ()

ONE_FLIP: tuple[Radius, ...] = ((1, 0), (0, 1))
TWO_FLIPS: tuple[Radius, ...] = (*ONE_FLIP, (2, 0), (1, 1), (0, 2))


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
    fold: Labels = NOT_RECORDED  # which trial each is from
    judged: Sequence[Judged] = ()  # the verdicts on each, if evidence was asked

    @classmethod
    def joined(cls, noise: Noise, trials: Sequence[Sequence[dict[str, Any]]]) -> Voted:
        """What the parts of some trials have found."""
        every = [part for parts in trials for part in parts]

        def column(name: str) -> list[Any]:
            return [row for part in every for row in part[name]]

        fold = [number for number, parts in enumerate(trials) for part in parts for _ in part["labels"]]
        return cls(
            noise,
            np.array(column("labels"), dtype=np.int64),
            Votes(column("estimation"), selection=column("selection")),
            [tuple(each) for each in column("capacity")],
            column("anchored"),
            np.array(column("numbers"), dtype=np.int64),
            np.array(column("clean"), dtype=np.int64),
            np.array(fold),
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

    @property
    def abstained(self) -> float:
        """The share of objects without an answer."""
        return float((~self.certificates.certified((0,) * len(self.noise.axes))).mean())

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

    def open_attacks(self) -> Iterator[dict[str, Any]]:
        """Rows of a table: the attacks that stay open, and what is missing."""
        for number, one in enumerate(self.judged):
            for level, why in one["open"].items():
                yield {"graph": number, "p_lower": one["p_lower"], "level": level, "why": why}

    def p_value_of_constant(self, majority: float, tried: int = 1) -> float:
        """The binomial probability of at least as many right answers by a constant one, times the settings tried."""
        from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

        test = binomtest(int(self.right.sum()), len(self), majority, alternative="greater")
        return min(1.0, tried * float(test.pvalue))

    def by_fold(self, hits: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """The share of hits among all objects, and its standard deviation over the folds."""
        return float(hits.mean()), float(np.std([hits[self.fold == each].mean() for each in np.unique(self.fold)]))

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


@dataclass(frozen=True)
class Question:
    """What evidence is asked about each object."""

    radii: tuple[Radius, ...]  # about which radii
    own_samples: int  # the maximal number of votes at attacked versions of an object; 0: none
    max_flips: int | None  # attacks of more flips in all are not considered; None: all within the radii

    @property
    def box(self) -> Radius:
        """The smallest box with all radii in it."""
        return max(r for r, _ in self.radii), max(r for _, r in self.radii)


@dataclass(frozen=True)
class Asked:
    """A question about the graphs of a data set."""

    data: str  # "motif", "MUTAG" or "PROTEINS"
    model: str  # the base classifier
    rates: tuple[float, float]  # how likely motif and random pairs flip, or present (delete) and absent ones (add)
    samples: int  # votes on each graph
    question: Question  # what evidence is asked
    graphs: int  # how many graphs; of MUTAG, how many folds of ten
    draws: int = 1  # how many draws
    headline: tuple[str, ...] = ()  # the radii that are shown at a glance

    @property
    def noise(self) -> Noise:
        """The noise with these rates."""
        one, two = self.rates
        motif = self.data == "motif"
        return Noise(motif=one, random=two) if motif else Noise(pairs=Flip(delete=one, add=two))

    @property
    def columns(self) -> dict[str, object]:
        """Columns of a table: data, model and noise."""
        return {"data": self.data, "model": self.model, "noise_1": self.rates[0], "noise_2": self.rates[1]}

    def row(self, draws: Sequence[RadiusTally]) -> dict[str, Any]:
        """A row of a table about one radius: the median and range of each count over some draws."""
        counts = [
            {"majority": one.majority, "blind": one.blind, **one.columns(), "lost_by_sharing_alpha": one.shared_away,
             "own_votes": round(one.own_votes)}
            for one in draws
        ]  # fmt: skip
        return {
            **self.columns, "votes": self.samples, "max_own_votes": self.question.own_samples,
            "radius": draws[0].radius, "graphs": draws[0].graphs,
            **{name: median_range([each[name] for each in counts]) for name in counts[0]},
        }  # fmt: skip


def judge(
    smoothed: SmoothedClassifier,
    problem: Problem,
    votes: Votes,
    truth: Sequence[int],
    question: Question,
    seed: int,
) -> list[Judged]:
    """The verdicts on the objects of a problem, from votes with their flips recorded."""
    job = Job.of(smoothed.classifier, problem, seed)
    bounds = (clopper_pearson(votes, alpha=share) for share in (ALPHA, counts_alpha(ALPHA, evidence=True)))
    within: dict[str, Any] = {"max_radius": question.box, "capacity": problem.capacities}
    paper, counts = (certify(each, smoothed.noise, **within) for each in bounds)
    judging = partial(with_evidence, counts, job, alpha=ALPHA, max_flips=question.max_flips, advance=lambda _: None)
    shared = judging(most=0)
    own = judging(most=question.own_samples) if question.own_samples else shared
    radii = question.radii
    return [
        {
            "truth": int(label),
            "class": a.label,
            "abstained": a.abstained,
            "p_lower": a.p_lower,
            "by_p_A": [a.certified(radius) for radius in radii],
            "by_counts": [b.certified(radius) for radius in radii],
            "shared": [_verdict(c, radius) for radius in radii],
            "own": [_verdict(d, radius) for radius in radii],
            "own_votes": d.verdicts.own_votes if d.verdicts else 0,
            "open": {str(k): v.why for k, v in d.verdicts.levels.items() if v.kind == "open"} if d.verdicts else {},
        }
        for label, a, b, c, d in zip(truth, paper, counts, shared, own, strict=True)
    ]


def _verdict(one: Certificate, radius: Radius) -> str:
    """Whether all attacks within a radius are covered, one of them is known to succeed, or neither."""
    if one.certified(radius):
        return "certified"
    return "broken" if any(all(map(int.__le__, level, radius)) for level in one.broken) else "open"


@dataclass(frozen=True)
class RadiusTally:
    """How many objects are certified, broken or open at one radius."""

    radius: str  # the radius in words; "any k flips" for all radii of k flips in all
    graphs: int  # how many objects there are
    right: int  # those that the smoothed classifier answers, and right; all that follows is among these
    # certified by p_A alone, at the whole alpha: the paper's certificate
    by_p_A: int  # noqa: N815  (the paper's symbol)
    by_counts: int  # by p_A at the part of alpha that it has beside evidence
    shared: int  # by p_A or by evidence from the same votes
    own: int  # the same with votes at attacked objects
    broken: int  # an attack is known
    lost: int  # certified by p_A at its part of alpha, and not with evidence: none
    shared_away: int  # certified by p_A at the whole alpha, and not with evidence, where alpha is shared
    own_votes: float  # votes at attacked objects, on average over all objects, for all radii of the question
    majority: int  # how many objects a constant answer has right
    blind: int  # how many a model has right that sees no edge

    @property
    def open(self) -> int:
        """Neither certified nor broken."""
        return self.right - self.own - self.broken

    def columns(self) -> dict[str, int]:
        """Columns of a table."""
        return {"right": self.right, "by_p_A": self.by_p_A, "by_p_A_at_share": self.by_counts,
                "by_evidence": self.shared, "with_own_votes": self.own, "broken": self.broken,
                "open": self.open}  # fmt: skip


def tallies(question: Question, found: Sequence[Judged], blind: Sequence[int] = ()) -> dict[str, RadiusTally]:
    """A tally for each radius of a question, and for any flips anywhere, by the radius in words.

    `blind` are the answers of a model that sees no edge, if there is one.
    """
    groups = {str(radius): [i] for i, radius in enumerate(question.radii)}
    for flips in range(1, (question.max_flips or 0) + 1):
        name = "any flip" if flips == 1 else f"any {flips} flips"
        groups[name] = [i for i, radius in enumerate(question.radii) if sum(radius) == flips]
    return tally_groups(groups, found, blind)


def tally_groups(
    groups: Mapping[str, Sequence[int]], found: Sequence[Judged], blind: Sequence[int] = ()
) -> dict[str, RadiusTally]:
    """A tally for each group of what was asked, by its name."""
    right = [one for one in found if one["class"] == one["truth"] and not one["abstained"]]
    own_votes = float(np.mean([one["own_votes"] for one in found]))
    truths = [one["truth"] for one in found]
    others = max(Counter(truths).values()), sum(map(int.__eq__, truths, blind))
    made = {}
    for name, places in groups.items():
        certified = {
            argument: [all(one[argument][i] in {True, "certified"} for i in places) for one in right]
            for argument in ("by_p_A", "by_counts", "shared", "own")
        }
        broken = sum(any(one["own"][i] == "broken" for i in places) for one in right)
        lost, away = (
            sum(before and not after for before, after in zip(certified[argument], certified["own"], strict=True))
            for argument in ("by_counts", "by_p_A")
        )
        by_p, by_counts, shared, own = map(sum, certified.values())
        counts = by_p, by_counts, shared, own, broken, lost, away
        made[name] = RadiusTally(name, len(found), len(right), *counts, own_votes, *others)
    return made


def median_range(values: Sequence[float]) -> str:
    """The median of a figure over the draws, and its range where the draws differ.

    Example:
        >>> median_range([95, 50, 100]), median_range([50, 50]), median_range([3, 4])
        ('95 (50–100)', '50', '3.5 (3–4)')
    """
    median, least, greatest = (f"{value:.9g}" for value in (np.median(values), min(values), max(values)))
    return median if least == greatest else f"{median} ({least}–{greatest})"
