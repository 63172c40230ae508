"""The smoothed classifier: the whole method, step by step.

sample    noisy copies of each graph, and let the base classifier vote    `count_votes`
select    the class, on votes of its own                                  `Votes.selection`
audit     some copies again: answers must not depend on the batch         `audit_votes`
bound     the probability of the class, on the other votes                `bound_votes`
certify   the radii that the bounds prove, or abstain                     `certify_rows`
weigh     where the flips of the votes fell, if evidence is wanted        `weigh`
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.claims.collective import Collective, matrices_of
from starcert.claims.from_bounds import certify
from starcert.claims.vote_proof import VoteProof
from starcert.classifiers.base import Classifier
from starcert.math.confidence import Bounds, Family, anytime_bounds, check_alpha, clopper_pearson
from starcert.math.fallback import BlindAnswers
from starcert.math.votes import Votes
from starcert.methods.audit import audit_votes
from starcert.methods.estimator import ABSTAIN, GraphLike, SmoothedEstimator, as_object, as_objects, bound_problem
from starcert.methods.evidence import with_evidence
from starcert.methods.preparation import Fallback, Preparation, plan_of
from starcert.methods.variants import certify_variants
from starcert.objects import Sites, binding
from starcert.objects.binding import Problem, Regions
from starcert.objects.kinds import kind_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import progress_bar
from starcert.voting.plans import Evidence, Job, Plan, Voting
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
        """The problem to certify: these graphs and their regions, a rule called once for each of them.

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
        samples: int | None = None,
        seed: int | None = None,
        alpha: float | None = None,
        family: Family = "each",
        threat: Threat | str | None = None,
        evidence: bool | Evidence = False,
        voting: Voting | None = None,
    ) -> Certificates[Any]:
        """One certificate for each graph (or for each target of each graph), from fresh or stored votes.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph: a number, for the bounds hold where it is fixed in advance. By
                default that of the constructor.
            seed: a whole number, 0 or more; by default that of the constructor.
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
        asked = None if threat is None else read_threat(threat)
        if asked is not None and not isinstance(graphs, Problem):
            graphs = asked.prepared(as_objects(graphs))
            if kind_of(*graphs).of_objects:
                level = check_alpha(self.alpha if alpha is None else alpha) / (len(graphs) if family == "all" else 1)
                how = partial(self.certify, samples=samples, seed=seed, alpha=level, voting=voting)
                return certify_variants(graphs, asked, level, how)
        prepared = Preparation.of(
            self.classifier,
            self.problem(graphs),  # once: votes and capacities are of the same regions
            self.samples if samples is None else samples,
            self.seed if seed is None else seed,
            alpha=self.alpha if alpha is None else alpha,
            family=family,
            threat=asked,
            evidence=evidence,
            voting=voting,
            fallback=self._blind_answers,
        )
        run, weighed = prepared.run, prepared.evidence is not None
        with run.opened() as store:
            # Sample, select and audit.
            votes = draw_votes(run, prepared.plan, store, record=weighed, look=None if store is None else prepared.look)
            # Bound the probability of each class.
            bounds = bound_votes(votes, prepared)
            # Certify, or abstain.
            certificates = certify_rows(bounds, prepared, self._class_labels)
            # Weigh where the flips fell.
            return weigh(certificates, prepared, store) if weighed else certificates

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
        certificates = self.certify(graphs, samples=samples, alpha=alpha, seed=seed, voting=voting)
        return np.where(certificates.abstained, ABSTAIN, self.classes_[certificates.labels])


def draw_votes(
    run: VotingRun, plan: Plan, store: VoteStore | None, *, record: bool, look: Mapping[str, Any] | None = None
) -> Votes:
    """The votes that a plan wants, audited; a store notes which certificate is computed from them (`Look`)."""
    if store is not None and look is not None:
        store.check_look(**look)
    with progress_bar(run.title, len(run.job.sites) * sum(plan.most), shown=run.progress) as advance:
        votes = count_votes(run, plan, advance, store=store, record=record)
    votes = replace(votes, audit=audit_votes(run.job, votes, run.executor))
    _LOG.info("%s (votes: %s)", votes.audit, votes.history)
    if store is not None and look is not None:
        if look["evidence"] and look["estimation"] is None:
            _, rows = np.unique(votes.objects, return_index=True)
            look = {**look, "drawn": votes.counts[rows].sum(axis=1).tolist()}
            store.check_look(**look)
        store.note_look(**look)
    return votes


def bound_votes(votes: Votes, prepared: Preparation) -> Bounds:
    """Bounds on class probabilities at a number of votes that was fixed, or at any time where votes may stop.

    The latter also where the first look was the last.
    """
    alpha = float(prepared.shares.counts * prepared.together)  # of all certificates that share it
    if prepared.stops:
        return anytime_bounds(replace(votes, history="stopped"), alpha=alpha, family_size=prepared.together)
    return clopper_pearson(votes, alpha=alpha, family=prepared.family)


def certify_rows(bounds: Bounds, prepared: Preparation, classes: Sequence[Hashable] | None) -> Certificates[VoteProof]:
    """The proved claims about each object or target: certificates by p_A."""
    problem, votes = prepared.problem, bounds.votes
    assert votes is not None
    rows = votes.objects.tolist()
    found = certify(
        bounds,
        problem.noise,
        max_radius=prepared.limits,
        capacity=[problem.capacities[graph] for graph in rows],
        anchored=[problem.sites[graph].reason for graph in rows],
        nodes=prepared.nodes,
        kind=problem.kind,
        classes=classes,
    )
    collective = None
    if prepared.evidence is not None and bounds.blind is None:
        matrices = matrices_of(prepared.run.job.classifier)
        collective = Collective(
            votes, bounds.labels, prepared.alpha, problem=problem, listed=prepared.questions, matrices=matrices
        )
    proof = replace(found.proof, asked=prepared.questions, collective=collective)
    found = replace(found, threat=prepared.threat, proof=proof)
    _LOG.info("%d certificates by p_A, %d abstain", len(found), found.abstained.sum())
    return found


def weigh(
    certificates: Certificates[VoteProof], prepared: Preparation, store: VoteStore | None
) -> Certificates[VoteProof]:
    """The same certificates with what evidence shows beyond p_A."""
    run = prepared.run
    with progress_bar("evidence", len(certificates), shown=run.progress) as advance:
        return with_evidence(
            certificates,
            run.job,
            alpha=prepared.alpha,
            most=prepared.most_own,
            max_flips=prepared.max_flips,
            store=store,
            executor=run.executor,
            advance=advance,
        )
