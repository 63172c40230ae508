"""The decisions before the first vote: the question, the shares of alpha, the most votes, and the fallback.

Everything is checked here, before hours of sampling. Nothing in it depends on a vote.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.math.confidence import Family, check_alpha, check_family, class_numbers
from starcert.math.fallback import BlindAnswers, check_threshold
from starcert.math.limits import AlphaShares
from starcert.methods.early_stopping import DecidedPlan, radius_questions
from starcert.objects import CleanObject, Sites, TargetNodes
from starcert.objects.binding import Problem
from starcert.objects.kinds import kind_of
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number
from starcert.voting.plans import Evidence, FixedPlan, Job, Plan, Voting, Wanted, default_selection
from starcert.voting.vote_loop import VotingRun

MAX_CHECKED = 64  # about the most objects on which a model is checked to be blind
MAX_CHANGED = 256  # sites that are changed there, at most


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


@runtime_checkable
class Predicts(Protocol):
    """A model that answers objects, such as `starcert.baselines.blind(…)` or an estimator of yours that is blind."""

    def predict(self, objects: Sequence[Any], /) -> Any:  # noqa: ANN401  (an array of any library)
        """One class for each object, or for each of its targets, those of the first object first."""


@dataclass(frozen=True, eq=False)
class Fallback:
    """The answer of a smoothed classifier where no other class is likely enough.

        F_t(x) = the class c with P_x(c) > t, other than the blind answer b, if there is one; else b

    If votes show F_t(x) = b, it is certified as far as no other class can rise above t, and otherwise as far as its
    class cannot fall to t. `math/fallback.py` has the rule, docs/mathematics.md the theorem.

    That the answers are blind is a premise of every certificate: they must be the same for every object that the
    attacker can make of the one that is certified. A model is asked about some objects with other values at random
    sites, and refused if an answer changes; that finds mistakes, and proves nothing. Neither answers nor threshold may
    depend on the votes.

    Args:
        blind: a model with a method `predict`, which gets the clean objects; or its answers, one class for each object
            or target that is certified, in the words of the classifier or by number. Where the nodes of one graph are
            classified, answers for all its nodes will do.
        threshold: the probability that another class must exceed, from 1/2 to below 1; larger ones lean on the blind
            answer. Choose it on validation objects, never on those that are certified.

    Example:
        >>> import networkx as nx
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7), n_classes=2)
        >>> clique = sc.Graph.from_networkx(nx.complete_graph(6))
        >>> smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1), fallback=sc.Fallback([0], threshold=0.8))
        >>> (one,) = smoothed.certify([clique], samples=2_000, seed=1)
        >>> one.label, one.blind_answer, one.frontier.radii
        (1, 0, ((2,),))
    """

    blind: Predicts | npt.ArrayLike
    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        if not isinstance(self.blind, Predicts) and np.ndim(self.blind) != 1:
            hint = "For example starcert.baselines.blind(train), or [0, 1, 1] for three objects."
            raise InvalidParameterError("blind", "have a method predict, or be a list of answers", self.blind, hint)

    def answers(self, job: Job, classes: Sequence[Hashable] | None) -> BlindAnswers:
        """The blind answer of each target of a job, by number; `classes` are the words for them."""
        if isinstance(self.blind, Predicts):
            given = np.asarray(self.blind.predict([each.clean for each in job.sites])).reshape(-1)
            _check_blind(self.blind, job.sites[:: -(-len(job.sites) // MAX_CHECKED)], job)
        else:
            given = np.asarray(self.blind)
        n_rows = sum(map(job.n_targets, range(len(job.sites))))
        if job.target_nodes is not None:
            given = job.target_nodes.labels(given)
        if given.shape != (n_rows,):
            must = f"have one answer for each of {n_rows} objects or targets"
            raise InvalidParameterError("blind", must, given.shape)
        numbers = class_numbers(given, job.classifier.n_classes, classes)
        if numbers.dtype != np.int64:
            raise InvalidParameterError("blind", "answer every object", None)
        return BlindAnswers(self.threshold, numbers)


def _check_blind(model: Predicts, objects: Sequence[Sites], job: Job) -> None:
    """Refuses a model that answers differently where sites have other values: it is not blind."""
    rng = np.random.default_rng([job.seed, len(objects)])
    changed = [_changed(one, job, rng) for one in objects]
    if not np.array_equal(model.predict([one.clean for one in objects]), model.predict(changed)):
        hint = "It must not see what the noise may change, nor anything that depends on it, such as degrees."
        raise InvalidParameterError("blind", "give the same answer whatever is attacked", model, hint)


def _changed(sites: Sites, job: Job, rng: np.random.Generator) -> CleanObject:
    """An object with other values at some sites that an attacker may change, chosen at random."""
    values = sites.values.copy()
    number = rng.integers(0, min(len(values), MAX_CHANGED), endpoint=True)
    positions = rng.choice(len(values), size=number, replace=False)
    for region, first, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
        here = positions[(positions >= first) & (positions < first + size)]
        alphabet = job.noise[region].alphabet
        steps = rng.integers(1, alphabet, size=len(here))
        values[here] = (np.minimum(values[here], alphabet - 1) + steps) % alphabet
    return kind_of(sites.clean).with_values(sites, values)
