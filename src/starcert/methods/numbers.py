"""The smoothed regressor: a base that gives numbers in place of classes, and its votes on noisy copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from starcert.claims.certificates import Certificates
from starcert.claims.intervals import IntervalProof, KeptSites
from starcert.claims.proof import Rows
from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.math.confidence import Family, check_alpha, check_family
from starcert.math.evidence import MAX_FLIPS
from starcert.math.values import MAX_VOTES
from starcert.methods.estimator import GraphLike, bound_problem
from starcert.methods.preparation import plan_of
from starcert.methods.smoothed import draw_votes
from starcert.objects import binding
from starcert.objects.binding import Problem, Regions
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.voting.plans import Voting
from starcert.voting.vote_loop import VotingRun


class SmoothedRegressor:
    """A smoothed model of numbers: its output is the mean over noisy copies.

    Args:
        base: from `starcert.classifiers`, with `outputs=ValueRange(low, high)`.
        noise: a flip law for every region.
        regions: where the regions are: see `SmoothedClassifier`.
        alpha: the probability that an interval fails, by default.

    Example:
        >>> import starcert as sc
        >>> outputs = sc.ValueRange(0, 1)
        >>> share = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=outputs)
        >>> smoothed = SmoothedRegressor(share, sc.Noise(all=0.1))
        >>> one = smoothed.certify(sc.Bits.rows([[1, 1, 0, 1, 0]]), samples=10_000, seed=1)[0]
        >>> found = one.interval("flips:1")  # the true means lie from 0.42 to 0.74
        >>> round(found.low, 2), round(found.high, 2)
        (0.4, 0.76)
    """

    def __init__(self, base: Classifier, noise: Noise, regions: Regions | None = None, *, alpha: float = 0.01) -> None:
        if not isinstance(base, Classifier) or base.values is None:
            hint = "For example starcert.classifiers.from_pyg(model, outputs=ValueRange(low=0, high=10))."
            raise InvalidParameterError("base", "give numbers in a ValueRange", base, hint)
        binding.check_noise_and_regions(noise, regions)
        self.base, self.noise, self.regions, self.alpha = base, noise, regions, check_alpha(alpha)
        self.outputs = base.values

    @property
    def classifier(self) -> Classifier:
        """The base."""
        return self.base

    def problem(self, graphs: Sequence[GraphLike] | Problem) -> Problem:
        """The problem to certify: these graphs and their regions; `certify` takes it in place of the graphs."""
        return bound_problem(graphs, self.noise, self.regions)

    def certify(
        self,
        graphs: Sequence[GraphLike] | Problem,
        *,
        samples: int,
        seed: int,
        alpha: float | None = None,
        family: Family = "each",
        threat: Threat | str | None = None,
        voting: Voting | None = None,
    ) -> Certificates[IntervalProof]:
        """The data that intervals are made from, for each graph or each target of each graph: fresh or stored votes.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: votes on each graph, a number that is fixed in advance.
            seed: a whole number, 0 or more.
            alpha: the probability that an interval fails; by default that of the constructor, 0.01.
            family: "each" interval by itself, or those of "all" objects and targets together, for one question.
            threat: what the attacker can do. One that lists its attacks has to be given here: flips are kept where it
                changes something. By default, they are kept wherever something can be changed, if that is not too much.
            voting: how votes are drawn; the plan is "fixed".
        """
        how, problem = Voting.of(voting), self.problem(graphs)
        failure, together = check_alpha(self.alpha if alpha is None else alpha), check_family(family) == "all"
        whole_number("samples", samples, 1, MAX_VOTES)
        if how.plan != "fixed":
            raise InvalidParameterError("plan", 'be "fixed" for outputs that are numbers', how.plan)
        asked = None if threat is None else read_threat(threat).for_noise(problem.noise)
        questions, kept = None, tuple[KeptSites | None, ...]()
        if asked is not None and not asked.by_radius:
            questions = tuple(Question.of(asked, each, problem.noise).on(each, problem.noise) for each in problem.sites)
            kept = tuple(KeptSites(question.sites, question.axes, whole=False) for question in questions)
        else:
            kept = tuple(KeptSites.everywhere(each, problem.noise) for each in problem.sites)
        kept = self._affordable(kept, problem, samples, listed=questions is not None)
        listed = {number: each.sites for number, each in enumerate(kept) if each is not None}
        run = VotingRun(self.base, problem, seed, how, listed, every_copy=True)
        plan, nodes = plan_of(samples, how.selection_samples), run.job.target_nodes
        look = {"selection": plan.most.selection, "estimation": samples, "evidence": True}
        with run.opened() as store:
            votes = draw_votes(run, plan, store, record=bool(listed), look=look)
        proof = IntervalProof(
            self.outputs,
            problem.noise,
            votes,
            kept,
            problem.capacities,
            failure,
            len(votes) if together else 1,
            questions,
            asked,
        )
        anchored = [problem.anchored[number] for number in votes.objects.tolist()]
        about = Rows(votes.objects, votes.targets, 0, anchored, problem.kind, nodes)
        return Certificates(about, np.empty(0, np.int64), asked, proof)

    def _affordable(
        self, kept: Sequence[KeptSites | None], problem: Problem, samples: int, *, listed: bool
    ) -> tuple[KeptSites | None, ...]:
        """The kept data, without objects for which they are too large: refused where a threat lists its attacks."""
        found: list[KeptSites | None] = []
        for each, sites, reason in zip(kept, problem.sites, problem.without_evidence, strict=True):
            axes = () if each is None else each.axes
            shown = sum(axis.n_choices * len(axis.law.outcomes) for axis in axes)
            widest = max(shown, self.base.n_targets(sites.frame) or 1)
            if listed and reason:
                raise InvalidParameterError("threat", "be one by radius for such objects", reason)
            if listed and widest * samples > MAX_FLIPS:
                must = f"be at most {MAX_FLIPS // widest:,} for {widest:,} changes of sites, or targets"
                raise InvalidParameterError("samples", must, samples)
            found.append(each if widest * samples <= MAX_FLIPS else None)
        return tuple(found)
