"""The smoothed classifier: the whole method, step by step.

sample    noisy copies of each graph, and let the base classifier vote    `count_votes`
select    the class, on votes of its own                                  `Votes.selection`
audit     some copies again: answers must not depend on the batch         `audit_votes`
bound     the probability of the class, on the other votes                `clopper_pearson`, `anytime_bounds`
certify   the radii that the bounds prove, or abstain                     `certify`
weigh     where the flips of the votes fell, if evidence is wanted        `with_evidence`
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.certificates.auditing import audit_votes
from starcert.certificates.certify import Certificates, certify
from starcert.certificates.collective import Collective, ask_jointly, matrices_of
from starcert.certificates.decided_plan import DecidedPlan
from starcert.certificates.estimator import ABSTAIN, GraphLike, SmoothedEstimator, as_object, bound_problem
from starcert.certificates.evidence import with_evidence
from starcert.certificates.fallback import Fallback
from starcert.certificates.questions import Question
from starcert.classifiers.base import Classifier
from starcert.math.confidence import Family, Votes, anytime_bounds, check_alpha, check_family, clopper_pearson
from starcert.math.fallback import BlindAnswers
from starcert.math.limits import AlphaShares
from starcert.objects import Sites, binding
from starcert.objects.binding import Problem, Regions
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number
from starcert.system.output import progress_bar
from starcert.voting.options import Evidence, Voting
from starcert.voting.plans import FixedPlan, Job, Plan, Wanted, default_selection
from starcert.voting.store import VoteStore
from starcert.voting.vote_loop import VotingRun, count_votes

_LOG = logging.getLogger(__name__)


class SmoothedClassifier(SmoothedEstimator):
    """A base classifier, smoothed: it answers the class that the base classifier gives most often on noisy copies.

    It keeps to scikit-learn's conventions: `sklearn.base.clone`, `cross_val_score`, pipelines and the like take it.
    Wherever it takes graphs, it takes `Data` of PyG and graphs of networkx as well, and reads them with the defaults of
    `Graph.from_pyg` and `Graph.from_networkx`.

    Args:
        base: the base classifier; see `starcert.classifiers`. Or a scikit-learn estimator on lists of graphs, which
            `fit` trains: a copy of it, on clean graphs.
        noise: a flip law for every region.
        regions: where the regions are: a `Partition`, or a rule from a graph to its partition. Without it, the one
            region of the noise is every node pair, or every column. A mapping from regions to names of layers, such as
            {"bonds": "pairs", "atoms": "element"}, means whole layers; for `Bits` and `Categories`, a mapping from
            regions to columns, such as {"border": [0, 1, 2], "centre": [3, 4]}, means those.
        samples: estimation votes for each graph in `predict`, by default.
        alpha: the probability that a certificate fails, by default.
        seed: of the noise in `predict`, by default: a whole number, 0 or more.
        fallback: what to answer where no class is likely enough: a blind model or its answers, and a threshold.

    Example:
        >>> import networkx as nx
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7), n_classes=2)
        >>> smoothed = SmoothedClassifier(base, sc.Noise(all=0.1))
        >>> ring, clique = (sc.Graph.from_networkx(g) for g in (nx.cycle_graph(6), nx.complete_graph(6)))
        >>> smoothed.predict([ring, clique], samples=2000, seed=1).tolist()
        [0, 1]
    """

    def __init__(
        self,
        base: Classifier | Any,  # noqa: ANN401  (or any estimator of scikit-learn's)
        noise: Noise,
        regions: Regions | None = None,
        *,
        samples: int = 10_000,
        alpha: float = 0.01,
        seed: int = 0,
        fallback: Fallback | None = None,
    ) -> None:
        super().__init__(base, samples, seed)
        if isinstance(base, Classifier) and base.values is not None:
            hint = "Its outputs are numbers: SmoothedRegressor certifies intervals for them."
            raise InvalidParameterError("base", "answer classes", base.description, hint)
        binding.check_noise_and_regions(noise, regions)
        check_alpha(alpha)
        if not isinstance(fallback, Fallback | None):
            hint = "Write for instance Fallback(starcert.baselines.blind(train), threshold=0.7)."
            raise InvalidParameterError("fallback", "be a Fallback", fallback, hint)
        self.noise, self.regions, self.alpha, self.fallback = noise, regions, alpha, fallback

    def sites(self, graph: GraphLike) -> Sites:
        """The sites of a graph: its partition, bound to it. A rule is called anew each time, see `problem`."""
        return binding.bind(as_object(graph, "graph"), self.noise, self.regions)

    def problem(self, graphs: Sequence[GraphLike] | Problem) -> Problem:
        """What is to be certified: these graphs and their regions, a rule called once for each of them.

        `vote`, `certify` and `predict` take it in place of the graphs; its `sites` are what a report is drawn from.
        """
        return bound_problem(graphs, self.noise, self.regions)

    @property
    def _blind_answers(self) -> Callable[[Job], BlindAnswers] | None:
        return None if self.fallback is None else partial(self.fallback.answers, classes=self._class_labels)

    def vote(
        self,
        graphs: Sequence[GraphLike] | Problem,
        *,
        samples: int | Plan,
        seed: int,
        record: bool = False,
        voting: Voting | None = None,
    ) -> Votes:
        """The votes of the base classifier on noisy copies of each graph.

        They depend on the graphs, the noise, the classifier, the seed and the chunk size, and on nothing else: neither
        on batch sizes, workers or their order, nor on interruptions.

        Afterwards the run is audited: copies are classified again, in another batch and alone, and a classifier that
        answers one of them differently is refused. `Votes.audit` says how many there were.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph; or a `Plan`, which says how many as it sees them come.
            seed: a whole number, 0 or more.
            record: whether to keep which sites flipped in the votes against the class of each graph: `Votes.records`.
            voting: how they are drawn: stored where, counted where, in which chunks.
        """
        how = Voting.of(voting)
        if how.plan != "fixed":
            hint = "It stops by what is asked: certify takes it. Here samples may be a Plan."
            raise InvalidParameterError("plan", 'be "fixed" where votes are drawn alone', how.plan, hint)
        plan = plan_of(samples, how.selection_samples)
        run = VotingRun(self.classifier, self.problem(graphs), seed, how, fallback=self._blind_answers)
        with run.opened() as store:
            return draw_votes(run, plan, store, record=record)

    def certify(
        self,
        graphs: Sequence[GraphLike] | Problem,
        *,
        samples: int,
        seed: int,
        alpha: float | None = None,
        family: Family = "each",
        threat: Threat | str | None = None,
        evidence: bool | Evidence = False,
        voting: Voting | None = None,
    ) -> Certificates:
        """One certificate for each graph (or for each target of each graph), from fresh or stored votes.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph: a number, for the bounds hold where it is fixed in advance.
            seed: a whole number, 0 or more.
            alpha: the probability that a certificate fails; by default that of the constructor, 0.01.
            family: "each" certificate by itself, or "all" together: alpha is then divided by their number.
            threat: what the attacker can do, an object or its text (`starcert.threats`): `AnyFlips(2)` or "flips:2" is
                at most two flips wherever they are, `Box((3, 45))` or "box:3,45" the box of radii to look at. By
                default all that can be flipped.
            evidence: whether to look at where the flips of the votes fell, too: True, or `Evidence(own_samples=…)`.
                alpha is then shared between counts and evidence (`AlphaShares`). Without it, counts have all of it:
                the paper's certificate.
            voting: how votes are drawn: when a graph has enough of them, where they are stored and counted.
        """
        # Check everything before hours of sampling, not after.
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        check_family(family)
        whole_number("samples", samples, 1)
        asked, how = None if threat is None else read_threat(threat), Voting.of(voting)
        by_radius = asked is not None and asked.by_radius
        limits, max_flips = (asked.limits(self.noise), asked.flips) if asked is not None and by_radius else (None, None)
        problem = self.problem(graphs)  # once: votes and capacities are of the same regions
        questions = None
        if asked is not None and not by_radius:
            questions = [Question.of(asked, each, problem.noise) for each in problem.sites]
        weighing = possible_evidence(problem, Evidence.of(evidence))
        weighed = weighing is not None
        max_own = samples if weighing is None or weighing.own_samples is None else weighing.own_samples
        if self.fallback is not None and weighing is not None and weighing.collective:
            hint = "Leave out collective."
            raise InvalidParameterError("evidence", "be plain evidence where there is a fallback", weighing, hint)
        plan, drawing = how.plan, plan_of(samples, how.selection_samples)
        jointly = None
        if weighing is not None and weighing.collective:
            jointly = ask_jointly(self.classifier, problem, asked, questions, samples)
        joint_sites = None if jointly is None else {number: each.sites for number, each in enumerate(jointly)}
        run = VotingRun(self.classifier, problem, seed, how, joint_sites, fallback=self._blind_answers)
        job, nodes = run.job, run.job.target_nodes
        together = sum(map(job.n_targets, range(len(problem)))) if family == "all" else 1
        shares = AlphaShares.of(Fraction(alpha), evidence=weighed, family_size=together)
        if plan == "decided":
            drawing = DecidedPlan.of(samples, how.selection_samples, problem, shares, threat=asked, questions=questions)
        look: dict[str, object] = {
            "selection": drawing.most.selection,
            "estimation": samples if plan == "fixed" else None,
            "evidence": weighed,
            "max_radius": limits if weighed and len(problem.noise.axes) > 1 else None,
            "own": weighed and max_own > 0,
            "fallback": "" if job.blind is None else str(job.blind),
        }
        if weighed and questions is not None and how.store is not None:
            look["threat"] = [str(asked), *(each.digest for each in questions)]
        with run.opened() as store:
            # Sample, select and audit.
            votes = draw_votes(run, drawing, store, record=weighed, look=look)
            # Bound: at a number of votes that was fixed, or at any time, also where the first look was the last.
            counts_alpha = float(shares.counts * together)  # of all certificates that share it
            if plan == "decided":
                bounds = anytime_bounds(replace(votes, history="stopped"), alpha=counts_alpha, family_size=together)
            else:
                bounds = clopper_pearson(votes, alpha=counts_alpha, family=family)
            # Certify, or abstain.
            rows = votes.objects.tolist()
            certificates = certify(
                bounds,
                problem.noise,
                max_radius=limits,
                capacity=[problem.capacities[graph] for graph in rows],
                anchored=[problem.sites[graph].reason for graph in rows],
                nodes=nodes,
                kind=problem.kind,
                classes=self._class_labels,
            )
            certificates = replace(certificates, asked=questions, threat=asked)
            _LOG.info("%d certificates by p_A, %d abstain", len(certificates), certificates.abstained.sum())
            if jointly is not None:
                collective = Collective(jointly, votes, bounds.labels, alpha, matrices_of(self.classifier))
                certificates = replace(certificates, collective=collective)
            if not weighed:
                return certificates
            # Weigh where the flips fell.
            with progress_bar("evidence", len(rows), shown=run.progress) as advance:
                return with_evidence(
                    certificates,
                    job,
                    alpha=alpha,
                    most=max_own,
                    max_flips=max_flips,
                    store=store,
                    executor=run.executor,
                    advance=advance,
                )

    def predict(
        self,
        graphs: Sequence[GraphLike] | Problem,
        *,
        samples: int | None = None,
        alpha: float | None = None,
        seed: int | None = None,
        voting: Voting | None = None,
    ) -> npt.NDArray[np.int64]:
        """The smoothed classifier's answer for each graph, `ABSTAIN` where it cannot be shown to be the likeliest.

        Where graphs have several targets, those of the first graph come first.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph; by default those of the constructor.
            alpha: the probability that an answer is not the likeliest; by default that of the constructor.
            seed: a whole number, 0 or more; by default that of the constructor.
            voting: how votes are drawn, as in `certify`.
        """
        certificates = self.certify(
            graphs,
            samples=self.samples if samples is None else samples,
            alpha=alpha,
            seed=self.seed if seed is None else seed,
            voting=voting,
        )
        return np.where(certificates.abstained, ABSTAIN, self.classes_[certificates.labels])


def draw_votes(
    run: VotingRun, plan: Plan, store: VoteStore | None, *, record: bool, look: Mapping[str, Any] | None = None
) -> Votes:
    """The votes that a plan wants, audited; a store notes which certificate is computed from them (`Look`)."""
    if store is not None and look is not None:
        store.check_look(**look)
    with progress_bar(run.title, len(run.job.sites) * sum(plan.most), shown=run.progress) as advance:
        how: dict[str, Any] = {"record": record, "store": store, "executor": run.executor, "advance": advance}
        votes = count_votes(run.job, plan, drawn=run.drawn, **how)
    votes = replace(votes, audit=audit_votes(run.job, votes, run.executor))
    _LOG.info("%s (votes: %s)", votes.audit, votes.history)
    if store is not None and look is not None:
        if look["evidence"] and look["estimation"] is None:
            _, rows = np.unique(votes.objects, return_index=True)
            look = {**look, "drawn": votes.counts[rows].sum(axis=1).tolist()}
            store.check_look(**look)
        store.note_look(**look)
    return votes


def plan_of(samples: object, selection_samples: int | None) -> Plan:
    """A plan as given; a number of votes is a plan that draws them all."""
    if isinstance(samples, Plan):
        if selection_samples is not None:
            hint = "The plan says how many selection votes there are."
            raise InvalidParameterError("selection_samples", "be left out beside a plan", selection_samples, hint)
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
    if wanted.collective:
        raise InvalidParameterError("collective", "be left out for such objects", sentence)
    warnings.warn(sentence, StarcertWarning, stacklevel=4)
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
