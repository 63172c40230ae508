"""What methods of nodes share, and smoothing: votes under noise on all links of a graph, for all its nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from typing_extensions import override

import starcert as sc
from starcert.benchmark import methods
from starcert.benchmark.methods import BenchmarkMethod, Fitted, Held, TriedMethod
from starcert.benchmark.node_networks import (
    NODE_MODELS,
    ONE_LINK,
    blind_start,
    node_certificates,
    node_network,
    validation_weights,
)
from starcert.benchmark.outcomes import Outcome, Result, kind_of, outcome_of, speaks_to
from starcert.benchmark.work import ALPHA, Rates, Timed

# Of 2,810 nodes, an absent link is added at a rate of 0.002 about as often as there are links.
ISOTROPIC = ((0.002, 0.002), (0.005, 0.005), (0.01, 0.01))
TWO_WAY = ((0.4, 0.0005), (0.6, 0.001), (0.8, 0.002))
MAX_OWN = 300  # votes on a node at attacked graphs: each takes a pass over the whole graph
ONE_WAY = ((0.7, 0.0), (0.8, 0.0), (0.9, 0.0))


class NodeMethod(BenchmarkMethod):
    """A method whose objects are `Nodes`, with all that it finds about all nodes of the graph."""

    of_nodes = True

    @property
    @override
    def network(self) -> str:
        return NODE_MODELS[self.networks.model] if self.trains else ""


class TriedNodes(NodeMethod, TriedMethod):
    """A method with several settings, of which validation nodes choose one."""

    @override
    def held(self, train: Any, validation: Any) -> Held:
        return Held(validation, validation.labels, validation_weights(self.networks, train, validation))


class NodeSmoothing(TriedNodes):
    """A network trained with noise on links and certified by its votes on noisy copies, at three levels of noise.

    Votes that choose are not those that certify: copies of the graph are the same for all its nodes, and a choice that
    has seen them would spend more than alpha.
    """

    name, certifies = methods.Smoothing.name, methods.Smoothing.certifies
    settings: Sequence[Any] = TWO_WAY
    evidence: ClassVar[bool] = False

    @override
    def model(self, setting: Rates, train: Any, validation: Any) -> Timed:
        return node_network(self.networks, train, validation, setting)

    @override
    def judge(self, model: sc.SmoothedClassifier, objects: Any, threat: str, *, choosing: bool = False) -> Result:
        work, kind = self.networks.work, kind_of(threat)[0]
        samples, seed = (work.choosing_samples, work.seed + 1) if choosing else (work.samples, work.seed)
        own = min(MAX_OWN, work.own_samples) if self.evidence and kind == "deletions" else None
        found, seconds = node_certificates(self.networks, model, objects.graph, samples, seed, own)
        passes = int(found.votes.counts[0].sum() + found.votes.selection[0].sum())
        attacked = sum(one.verdicts.own_votes for one in found if one.verdicts is not None)
        outcomes = tuple(_outcome(found[node], threat, own is not None) for node in objects.numbers.tolist())
        votes = passes * len(objects) + attacked
        limit = None if choosing else speaks_to(found, outcomes, threat)  # all tries are judged at one size
        limit = limit if own is None or limit is None else max(limit, 1)  # one deleted link was asked about
        return Result(threat, outcomes, ALPHA, votes, passes + attacked, seconds, limit, found)


def _outcome(one: sc.Certificate, threat: str, evidence: bool) -> Outcome:
    """What a certificate says by p_A, and what evidence says about one deleted link."""
    by_p = outcome_of(one, threat)
    if not evidence or by_p.answer is None:
        return by_p
    verdict = one.verdict(ONE_LINK)
    certified = max(by_p.certified, int(verdict == "certified"))
    return Outcome(by_p.answer, certified, 1 if verdict == "broken" else by_p.broken)


class IsotropicNodes(NodeSmoothing):
    """One rate for present and absent links."""

    name, settings = methods.Isotropic.name, ISOTROPIC


class OneWayNodes(NodeSmoothing):
    """Links are deleted and never added (randomised ablation)."""

    name, settings = methods.OneWay.name, ONE_WAY


class EvidenceNodes(NodeSmoothing):
    """Votes on copies of the clean graph and of attacked ones decide single deleted links; others are too many."""

    name, evidence = methods.ByEvidence.name, True

    @override
    def judge(self, model: sc.SmoothedClassifier, objects: Any, threat: str, *, choosing: bool = False) -> Result:
        found = super().judge(model, objects, threat, choosing=choosing)
        if kind_of(threat)[0] == "deletions":
            return found
        silent = tuple(Outcome(one.answer, 0) for one in found.outcomes)
        return replace(found, outcomes=silent, asked=0, certificates=None)


class FallbackNodes(NodeSmoothing):
    """The rates that evidence chooses, or p_A where it is not asked, with three thresholds for the blind answer."""

    name, certifies, evidence = methods.WithFallback.name, methods.WithFallback.certifies, True

    @override
    def words(self, setting: Any) -> str:
        return f"{super().words(setting[0])}, threshold {setting[1]:g}"

    @override
    def fit(self, train: Any, validation: Any, threat: str) -> Fitted:
        leader = (EvidenceNodes if kind_of(threat)[0] == "deletions" else NodeSmoothing)(self.networks)
        first = leader.fit(train, validation, threat)
        self.settings = [(leader.best, threshold) for threshold in methods.THRESHOLDS]
        found = super().fit(train, validation, threat)
        return found._replace(train_seconds=first.train_seconds, seconds=first.seconds + found.seconds)

    @override
    def model(self, setting: Any, train: Any, validation: Any) -> Timed:
        (rates, threshold), start = setting, blind_start(self.networks, train, validation)
        smoothed = node_network(self.networks, train, validation, rates).value

        def made() -> sc.SmoothedClassifier:
            fallback = sc.Fallback(start.value.logits.argmax(axis=1), threshold)
            return sc.SmoothedClassifier(smoothed.classifier, smoothed.noise, alpha=ALPHA, fallback=fallback)

        return self.networks.once(made, "leaning", id(smoothed), threshold)
