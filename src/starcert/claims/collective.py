"""Claims about all targets at once: at most k of their answers differ from the stated ones, whatever the attacker does.

`math/collective.py` has the argument. The stated answers are the classes that the selection votes chose, also of
targets that abstain; the clean object counts as an attack of size 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.math.arithmetic import Floats
from starcert.math.attacked_sites import group_attacks
from starcert.math.ballots import Ballots
from starcert.math.collective import JointEvidence, Matrices, changed_at_most
from starcert.math.confidence import check_alpha
from starcert.math.evidence import MAX_FLIPS
from starcert.math.flips import Integers
from starcert.math.votes import Votes
from starcert.objects.binding import Problem
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import holds_at_least


def matrices_of(base: Classifier) -> Matrices | None:
    """Matrices on the device of a classifier that draws its noisy copies there; None: here."""
    if base.backend == "cpu":
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
        """True if it holds for the whole threat."""
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
    """The input of collective claims: the ballots of each object, and the question about it.

    The questions are those that were asked before the votes, if they list their attacks, or all of a file. Without any,
    they are asked when a claim is (`about`): ballots then have the flips of all sites.
    """

    votes: Votes
    labels: Integers  # the stated answers
    alpha: float  # of a claim, by default
    questions: Sequence[Question] | None = None  # with their axes: see `Question.on`
    problem: Problem | None = None  # the objects, to ask new questions about; None: there are none
    listed: Sequence[Question] | None = None  # about each target, asked before the votes
    matrices: Matrices | None = None  # where votes are counted; None: here
    _about: dict[str, Collective] = field(default_factory=dict, init=False, repr=False)

    def about(self, threat: Threat) -> Collective:
        """The same with questions; refused where no claim can be made about the objects."""
        if self.questions is not None:
            return self
        assert self.problem is not None
        if len(self.problem) > 1 and self.votes.targets.max(initial=0):
            hint = "Certify the objects one by one: each has a claim of its own."
            raise InvalidParameterError("graphs", "be one, or have one target each", self.problem, hint)
        if (key := "" if self.listed else str(threat)) not in self._about:
            noise, sites = self.problem.noise, self.problem.sites
            asked = self.listed or [Question.of(threat, each, noise) for each in sites]
            questions = [question.on(each, noise) for question, each in zip(asked, sites, strict=True)]
            self._about[key] = replace(self, questions=questions)
        return self._about[key]

    def at_most_changed(self, threat: Threat, k: int | None, alpha: float | None) -> CollectiveClaim:
        """The claim with this k, as far as it is shown; or with the smallest one that is for the whole threat."""
        if self.questions is None:
            return self.about(threat).at_most_changed(threat, k, alpha)
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        limit, most = None if k is None else whole_number("k", k, 0), self.size_of(threat)
        worst, size = 0, -1
        for needed in self._smallest(most, Fraction(alpha)):
            if limit is not None and needed > limit:
                break
            worst, size = max(worst, needed), size + 1
        return self.claim(threat, worst if limit is None else limit, size, alpha)

    @property
    def asked(self) -> Sequence[Question]:
        """The questions, once there are some."""
        assert self.questions is not None
        return self.questions

    def size_of(self, threat: Threat) -> int:
        """The size up to which attacks are those of a threat; refused unless it is part of what was asked about."""
        asked = self.asked[0]
        if (most := asked.size_of(threat)) is None:
            hint = "Certify again with this threat: certify(…, threat=…, evidence=True)."
            raise InvalidParameterError("threat", f"be the one that was asked about, {asked.threat}", str(threat), hint)
        return most

    def claim(self, threat: Threat, k: int, size: int, alpha: float) -> CollectiveClaim:
        """A claim about these votes; nothing is shown here."""
        sizes = range(self.size_of(threat))
        n_attacks = tuple(sum(one.counts[i] for one in self.asked) for i in sizes)
        anchored = next((each.anchored for each in self.asked if each.anchored), "")
        several = len(self.asked) > 1
        return CollectiveClaim(threat, k, len(self.labels), alpha, n_attacks, size, several, anchored)

    def _smallest(self, most: int, delta: Fraction) -> Iterator[int]:
        """For each size, from 0 on, the smallest k with which all of its attacks pass.

        Each of several objects is attacked by itself: worst of all where each has the attack with the least capital.
        """
        least = np.full((1, len(self.labels)), np.inf)
        enough = len(self.labels) / float(delta)
        for size in range(most + 1):
            if len(self.asked) == 1:
                blocks = self._capitals(0, size, enough)
                yield max((int(changed_at_most(block, delta).max()) for block in blocks), default=0)
                continue
            for number in range(len(self.asked)):
                own = [block.min() for block in self._capitals(number, size, enough)]
                least[0, number] = min([least[0, number], *own])
            yield int(changed_at_most(least, delta)[0])

    def _capitals(self, number: int, size: int, enough: float) -> Iterator[Floats]:
        """The capitals against the targets of an object at all attacks of a size; 0 where no flips were kept."""
        question, evidence = self.asked[number], self._evidence[number]
        if evidence is None:
            yield np.zeros((1, int((self.votes.objects == number).sum())))
            return
        for group in group_attacks(question.axes, question.attacks[size - 1]) if size else [None]:
            yield from evidence.capitals(group, enough)

    @property
    def ballots(self) -> Sequence[Ballots | None]:
        """For each object its ballots at the sites that attacks change; None where these flips were not kept."""
        kept = self.votes.ballots or (None,) * len(self.asked)
        return [None if each is None or not each.complete else each for each in kept]

    @cached_property
    def _evidence(self) -> tuple[JointEvidence | None, ...]:
        n_classes, found = self.votes.counts.shape[1], list[JointEvidence | None]()
        for question, ballots in zip(self.asked, self.ballots, strict=True):
            if ballots is not None:
                shown = sum(axis.n_choices * len(axis.law.outcomes) for axis in question.axes)
                if max(shown, ballots.n_targets) * len(ballots) > MAX_FLIPS:
                    must = f"change few sites: {shown:,} changes of sites on {len(ballots):,} copies are too many"
                    raise InvalidParameterError("threat", must, str(question.threat))
            found.append(None if ballots is None else JointEvidence(ballots, question.axes, n_classes, self.matrices))
        return tuple(found)
