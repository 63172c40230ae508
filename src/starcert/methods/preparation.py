"""The decisions before the first vote: the question, the shares of alpha, and the largest number of votes.

Everything is checked here, before hours of sampling. Nothing in it depends on a vote.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.math.confidence import Family, check_alpha, check_family
from starcert.math.fallback import BlindAnswers
from starcert.math.limits import AlphaShares
from starcert.methods.early_stopping import DecidedPlan, radius_questions
from starcert.objects import TargetNodes
from starcert.objects.binding import Problem
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number
from starcert.voting.plans import Evidence, FixedPlan, Job, Plan, Voting, Wanted, default_selection
from starcert.voting.vote_loop import VotingRun


@dataclass(frozen=True, eq=False)
class Preparation:
    """The checked question of a call of `SmoothedClassifier.certify`."""

    problem: Problem
    run: VotingRun
    plan: Plan  # how many votes there are, and when they stop
    stops: bool  # whether that depends on the votes: bounds then hold at any time
    family: Family
    alpha: float
    shares: AlphaShares  # how counts of votes and evidence share it
    together: int  # how many certificates share it
    threat: Threat | None
    limits: tuple[int, ...] | None  # the box of radii to look at; None: there is no end
    max_flips: int | None  # the most flips in all of a level that is looked at; None: there is no end
    questions: Sequence[Question] | None  # of a threat that lists its attacks, for each object
    evidence: Evidence | None
    most_own: int  # the most votes at attacked versions of an object
    nodes: TargetNodes | None  # of each certificate, where nodes are classified

    @classmethod
    def of(
        cls,
        base: Classifier,
        problem: Problem,
        samples: int,
        seed: int,
        *,
        alpha: float,
        family: Family,
        threat: Threat | str | None,
        evidence: bool | Evidence,
        voting: Voting | None,
        fallback: Callable[[Job], BlindAnswers] | None,
    ) -> Preparation:
        """The question that the arguments of `certify` ask; refused where it cannot be asked."""
        alpha = check_alpha(alpha)
        check_family(family)
        whole_number("samples", samples, 1)
        asked, how, questions = None if threat is None else read_threat(threat), Voting.of(voting), None
        limits = max_flips = None
        if asked is not None and asked.by_radius:
            limits, max_flips = asked.limits(problem.noise), asked.flips
        elif asked is not None:
            questions = [Question.of(asked, each, problem.noise) for each in problem.sites]
        weighing = possible_evidence(problem, Evidence.of(evidence))
        plan: Plan = plan_of(samples, how.selection_samples)
        listed = {
            number: question.changed(sites)
            for number, (question, sites) in enumerate(zip(questions or (), problem.sites, strict=False))
            if weighing is not None and base.n_targets(sites.frame)
        }
        run = VotingRun(base, problem, seed, how, listed, fallback=fallback)
        together = sum(map(run.job.n_targets, range(len(problem)))) if family == "all" else 1
        shares = AlphaShares.of(Fraction(alpha), evidence=weighing is not None, family_size=together)
        own = samples if weighing is None or weighing.own_samples is None else weighing.own_samples
        if stops := how.plan == "decided":
            by_plan = questions or radius_questions(asked, problem)
            plan = DecidedPlan.of(samples, how.selection_samples, problem, shares, by_plan)
        return cls(
            problem,
            run,
            plan,
            stops,
            family,
            alpha,
            shares,
            together,
            asked,
            limits,
            max_flips,
            questions,
            weighing,
            own,
            run.job.target_nodes,  # refused before the first vote where they are no nodes
        )

    @property
    def look(self) -> dict[str, Any]:
        """The entry of a store about the certificate that is computed from its votes."""
        weighed, job = self.evidence is not None, self.run.job
        look: dict[str, Any] = {
            "selection": self.plan.most.selection,
            "estimation": None if self.stops else self.plan.most.estimation,
            "evidence": weighed,
            "max_radius": self.limits if weighed and len(self.problem.noise.axes) > 1 else None,
            "own": weighed and self.most_own > 0,
            "fallback": "" if job.blind is None else str(job.blind),
        }
        if weighed and self.questions is not None:
            look["threat"] = [str(self.threat), *(each.digest for each in self.questions)]
        return look


def plan_of(samples: object, selection_samples: int | None) -> Plan:
    """A plan as given; a number of votes is a plan that draws them all."""
    if isinstance(samples, Plan):
        if selection_samples is not None:
            hint = "The plan says how many selection votes there are."
            raise InvalidParameterError("selection_samples", f"cannot be combined with a plan. {hint}")
        return samples
    n = whole_number("samples", samples, 1)
    select = default_selection(n) if selection_samples is None else selection_samples
    return FixedPlan(Wanted(whole_number("selection_samples", select, 1), n))


def possible_evidence(problem: Problem, wanted: Evidence | None) -> Evidence | None:
    """The evidence that is wanted, if any object can have some: otherwise none takes a share of alpha.

    Warns, before the first vote, of objects that have none.
    """
    if wanted is None or not (sentence := evidence_left_out(problem)):
        return wanted
    warnings.warn(sentence, StarcertWarning, stacklevel=5)
    return None if all(problem.without_evidence) else wanted


def evidence_left_out(problem: Problem) -> str:
    """Says which objects evidence is left out for, and why; "" if for none."""
    reasons = list(filter(None, problem.without_evidence))
    if not reasons:
        return ""
    if len(reasons) == len(problem):
        rest = "Certificates rest on the counts of votes alone, which have all of alpha."
    else:
        rest = (
            "Their certificates rest on the counts of votes alone, with the share of alpha that these have elsewhere."
        )
    return f"Evidence is left out for {len(reasons):,} of {len(problem):,} objects ({reasons[0]}). {rest}"
