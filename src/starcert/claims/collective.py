"""Claims about all targets at once: at most k of their answers differ from the stated ones, whatever the attacker does.

`math/collective.py` has the argument. The stated answers are the classes that the selection votes chose, also of
targets that abstain; the clean object counts as an attack of size 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from starcert.claims.question import Question
from starcert.classifiers.base import Classifier, DrawsItself
from starcert.math.attacked_sites import AttackAxis
from starcert.math.collective import Floats, JointEvidence, Matrices, changed_at_most
from starcert.math.confidence import Votes, check_alpha
from starcert.math.evidence import MAX_FLIPS
from starcert.math.flips import Integers
from starcert.math.joint import JointVotes
from starcert.math.listed import group_attacks
from starcert.objects import Sites
from starcert.objects.binding import Problem, attack_axes
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import holds_at_least


@dataclass(frozen=True, eq=False)
class JointQuestion:
    """A threat, asked about all targets of one object at once; `axes` have the sites that its attacks change, alone."""

    asked: Question
    sites: Integers  # these sites, ascending
    axes: tuple[AttackAxis, ...]
    anchored: str  # why the regions are anchored at the clean object; "" if they are not

    @classmethod
    def of(cls, asked: Question, sites: Sites, noise: Noise) -> JointQuestion:
        """The question about the object with these sites."""
        return cls(asked, *changed_sites(asked, sites, noise), sites.reason)


def changed_sites(asked: Question, sites: Sites, noise: Noise) -> tuple[Integers, tuple[AttackAxis, ...]]:
    """The sites that the attacks of a question change, ascending, and the axes with these alone."""
    changed = [block.ravel() % max(sites.n_sites, 1) for blocks in asked.attacks for block in blocks]
    kept, axes = np.unique(np.concatenate([np.empty(0, np.int64), *changed])), []
    for axis in attack_axes(sites, noise):
        there = np.isin(axis.sites, kept)
        values = axis.values if axis.moves is None else axis.values[there]
        axes.append(axis._replace(sites=axis.sites[there], values=values))
    return kept, tuple(axes)


def ask_jointly(
    base: Classifier, problem: Problem, threat: Threat | None, asked: Sequence[Question] | None, samples: int
) -> list[JointQuestion]:
    """The questions about all objects; refused where no claim can be made of them, or votes would not fit into memory.

    `asked` are the questions about single targets, if the threat is none that certificates look at by radius.
    """
    if threat is None:
        raise InvalidParameterError("threat", 'is missing: collective evidence needs one, such as "deletions:1".')
    n_targets = [base.n_targets(each.frame) or 1 for each in problem.sites]
    if len(n_targets) > 1 and max(n_targets) > 1:
        hint = "Certify the objects one by one: each has a claim of its own."
        raise InvalidParameterError("graphs", "be one, or have one target each, for collective evidence", problem, hint)
    every = asked or [Question.of(threat, each, problem.noise) for each in problem.sites]
    found = [JointQuestion.of(*each, problem.noise) for each in zip(every, problem.sites, strict=True)]
    shown = [sum(axis.n_choices * len(axis.law.outcomes) for axis in each.axes) for each in found]
    widest = max([*shown, *n_targets], default=0)
    if widest * samples > MAX_FLIPS:
        must = f"be at most {MAX_FLIPS // widest:,} for collective evidence on {widest:,} changes of sites, or targets"
        raise InvalidParameterError("samples", must, samples)
    return found


def matrices_of(base: Classifier) -> Matrices | None:
    """Matrices on the device of a classifier that draws its noisy copies there; None: here."""
    if base.backend == "cpu" or not isinstance(base, DrawsItself):
        return None
    from starcert.classifiers.torch.module import DeviceMatrices  # noqa: PLC0415  (torch is optional)

    return DeviceMatrices(str(base.device))


@dataclass(frozen=True)
class CollectiveClaim:
    """At most `k` of all answers differ from the stated ones under any attack of a threat; proved for some sizes.

    It is a claim by itself: it fails with probability at most `alpha`, whatever alpha single certificates have.

    Example:
        >>> from starcert.objects.threats import Deletions
        >>> claim = CollectiveClaim(Deletions(1), k=3, n_targets=100, alpha=0.01, n_attacks=(540,), size=1)
        >>> claim.certified, claim.sizes
        (True, {0: 'certified', 1: 'certified'})
        >>> str(claim).partition(", ")[2]
        'at most 3 of the 100 answers differ from the stated ones under 1 deletion (540 attacks).'
    """

    threat: Threat  # whose attacks, and none at all, are meant
    k: int  # the most answers that differ
    n_targets: int  # of how many
    alpha: float  # the probability that it is false
    n_attacks: tuple[int, ...]  # of each size, from 1 on
    size: int  # all attacks up to this size are shown to change at most k answers; 0: the clean object; −1: none
    several: bool = False  # whether the targets are objects, each attacked by itself
    anchored: str = ""  # why the regions are anchored at the clean object, see `Certificate`; "" if they are not

    @property
    def certified(self) -> bool:
        """Whether it holds for the whole threat."""
        return self.size == self.threat.most

    @property
    def sizes(self) -> Mapping[int, str]:
        """The verdict on each size, "certified" or "open", from 0 on: the clean object itself."""
        return {size: "certified" if size <= self.size else "open" for size in range(self.threat.most + 1)}

    def __str__(self) -> str:
        what = "objects" if self.several else "targets"
        answers = f"at most {self.k:,} of the {self.n_targets:,} answers differ from the stated ones"
        attacks = f"{self.threat.label}{' to each object' * self.several} ({sum(self.n_attacks):,} attacks)"
        if not self.certified:
            reached = "not even on the clean object" if self.size < 0 else f"only up to size {self.size}"
            return f"It is open whether {answers} under {attacks}: it is shown {reached}."
        premise = f"With probability at least {holds_at_least(self.alpha)} over the sampling"
        if self.k == self.n_targets:
            return f"Nothing is shown about the {self.n_targets:,} {what} together under {attacks}."
        anchor = f" The regions are anchored ({self.anchored}): they stay as they are." if self.anchored else ""
        return f"{premise}, {answers} under {attacks}.{anchor}"


@dataclass(frozen=True, eq=False)
class Collective:
    """What collective claims are made from: for each object the question, and the votes of all its targets."""

    questions: Sequence[JointQuestion]
    votes: Votes
    labels: Integers  # the stated answers
    alpha: float  # of a claim, by default
    matrices: Matrices | None = None  # where votes are counted; None: here
    _found: dict[tuple[int, int | None, float], tuple[int, int]] = field(default_factory=dict, init=False, repr=False)

    def at_most_changed(self, threat: Threat, k: int | None, alpha: float | None) -> CollectiveClaim:
        """The claim with this k, as far as it is shown; or with the smallest one that is for the whole threat."""
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        limit, most = None if k is None else whole_number("k", k, 0), self.size_of(threat)
        if (key := (most, limit, alpha)) not in self._found:
            worst, size = 0, -1
            for needed in self._smallest(most, Fraction(alpha)):
                if limit is not None and needed > limit:
                    break
                worst, size = max(worst, needed), size + 1
            self._found[key] = worst if limit is None else limit, size
        return self.claim(threat, *self._found[key], alpha)

    def size_of(self, threat: Threat) -> int:
        """The size up to which attacks are those of a threat; refused unless it is part of what was asked about."""
        asked = self.questions[0].asked
        if (most := asked.size_of(threat)) is None:
            hint = "Certify again with this threat: certify(…, threat=…, evidence=Evidence(collective=True))."
            raise InvalidParameterError("threat", f"be the one that was asked about, {asked.threat}", str(threat), hint)
        return most

    def claim(self, threat: Threat, k: int, size: int, alpha: float) -> CollectiveClaim:
        """A claim about these votes; nothing is shown here."""
        sizes = range(self.size_of(threat))
        n_attacks = tuple(sum(one.asked.counts[i] for one in self.questions) for i in sizes)
        anchored = next((each.anchored for each in self.questions if each.anchored), "")
        several = len(self.questions) > 1
        return CollectiveClaim(threat, k, len(self.labels), alpha, n_attacks, size, several, anchored)

    def _smallest(self, most: int, delta: Fraction) -> Iterator[int]:
        """For each size, from 0 on, the smallest k with which all of its attacks pass.

        Each of several objects is attacked by itself: worst of all where each has the attack with the least capital.
        """
        least = np.full((1, len(self.labels)), np.inf)
        enough = len(self.labels) / float(delta)
        for size in range(most + 1):
            if len(self.questions) == 1:
                blocks = self._capitals(0, size, enough)
                yield max((int(changed_at_most(block, delta).max()) for block in blocks), default=0)
                continue
            for number in range(len(self.questions)):
                own = [block.min() for block in self._capitals(number, size, enough)]
                least[0, number] = min([least[0, number], *own])
            yield int(changed_at_most(least, delta)[0])

    def _capitals(self, number: int, size: int, enough: float) -> Iterator[Floats]:
        """The capitals against the targets of an object at all attacks of a size; 0 where no flips were kept."""
        question, evidence = self.questions[number], self._evidence[number]
        if evidence is None:
            yield np.zeros((1, int((self.votes.objects == number).sum())))
            return
        for group in group_attacks(question.axes, question.asked.attacks[size - 1]) if size else [None]:
            yield from evidence.capitals(group, enough)

    @property
    def joint(self) -> Sequence[JointVotes | None]:
        """For each object the votes of all its targets; None where no flips were kept."""
        return self.votes.joint or (None,) * len(self.questions)

    @cached_property
    def _evidence(self) -> tuple[JointEvidence | None, ...]:
        found: list[JointEvidence | None] = []
        for number, (question, votes) in enumerate(zip(self.questions, self.joint, strict=True)):
            labels, n_classes = self.labels[self.votes.objects == number], self.votes.counts.shape[1]
            found.append(
                None if votes is None else JointEvidence(votes, question.axes, labels, n_classes, self.matrices)
            )
        return tuple(found)
