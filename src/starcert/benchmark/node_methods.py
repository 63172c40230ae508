"""The same methods for nodes of one graph, and two that are made for them.

    BlindNodes       does not look at links: certified against any number of changes
    PlainNodes       a network without noise, every deleted link tried
    NodeSmoothing    votes under noise on all links, by p_A: isotropic, sparsity-aware, or one-way
    EvidenceNodes    the same votes and votes at attacked graphs, for single deleted links
    FallbackNodes    that one, with the blind answer where no other class is likely enough
    NodesHashed…     one voter for each group of node pairs, certified by counting voters or exactly
    VotesOfLinks     blind scores and one vote of every linked node, certified exactly
    OverLinks        blind scores propagated over links, certified exactly against one link

A change is of any link of the graph, near a node or far from it: `flips:k` are at most k added and deleted links in any
mix, `deletions:k` and `additions:k` those of one sort. All nodes are answered at once: votes and attacks on one graph
serve them all.

Validation nodes are as many of each class, which test nodes are not: each class counts as often as a blind network
answers it on nodes that it has not learned from. It weighs the tries of every method alike.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import override

import starcert as sc
from starcert.benchmark import methods
from starcert.benchmark.methods import BenchmarkMethod, Fitted
from starcert.benchmark.node_networks import Whole, blind_start, node_network
from starcert.benchmark.node_smoothing import (
    EvidenceNodes,
    FallbackNodes,
    IsotropicNodes,
    NodeMethod,
    NodeSmoothing,
    OneWayNodes,
    TriedNodes,
)
from starcert.benchmark.outcomes import ANY, Outcome, Result, kind_of
from starcert.benchmark.work import Timed
from starcert.models import LinkPropagation, LinkVotes
from starcert.objects import Partition
from starcert.objects.neighbours import nearest_neighbours
from starcert.objects.threats import read_threat
from starcert.voting.counting import answers_on

Truths = npt.NDArray[np.bool_]

PLAIN: dict[str, tuple[str, tuple[float, ...]]] = {"gin": ("link_weight", (0.5, 1, 2)), "gcn": ("hidden", (16, 32, 64))}
"""What is tried of a plain network."""
OWN = (0.1, 0.2, 0.3)  # what scores count that are not propagated


class BlindNodes(NodeMethod):
    """The best on validation nodes of several models that never see a link, fitted on training nodes."""

    name, certifies, trains = methods.Blind.name, methods.Blind.certifies, False

    @override
    def fit(self, train: Any, validation: Any, threat: str) -> Fitted:
        self.start, seconds = blind_start(self.networks, train, validation)
        return Fitted({name: round(each, 4) for name, each in self.start.shares.items()}, self.start.chosen, seconds, 0)

    @override
    def certify(self, objects: Any, threat: str) -> Result:
        answers = self.start.logits.argmax(axis=1)[objects.numbers]
        return Result(threat, tuple(Outcome(int(each), ANY) for each in answers), None, 0, 1)


class DecidedNodes(TriedNodes):
    """A method that decides attacks on all nodes of a graph with certainty."""

    at_once: ClassVar[int] = 1  # up to which size no attacks cost more

    @override
    def judge(self, model: Any, objects: Any, threat: str, *, choosing: bool = False) -> Result:
        (kind, size), graph = kind_of(threat), objects.graph
        asked = f"{kind}:{max(size, self.at_once)}"
        decided: DecidedSizes
        decided, seconds = self.networks.once(
            lambda: self.decide(model, graph, asked), self.name, id(model), id(graph), asked, about=(model, graph)
        )
        return decided.result(objects.numbers, threat, seconds)

    @abstractmethod
    def decide(self, model: Any, graph: sc.Graph, threat: str) -> DecidedSizes:  # noqa: ANN401
        """What is known about all nodes."""


class DecidedSizes(NamedTuple):
    """What is known about all nodes of a graph, with certainty."""

    answers: Whole
    certified: Whole  # the largest certified size of each
    broken: Whole  # the smallest size that is known to be broken; 0: none is
    asked: int | None = None  # the largest size that the method could speak about; None: all
    votes: int = 0  # on each node
    forward_passes: int = 1  # of the whole graph
    certificates: sc.ExactCertificates | None = None  # of all nodes, that can be kept; None: there are none

    def result(self, nodes: Whole, threat: str, seconds: float) -> Result:
        """The record of some nodes, up to the size of a threat."""
        size = kind_of(threat)[1]
        outcomes = tuple(
            Outcome(answer, min(certified, size), broken if 0 < broken <= size else None)
            for answer, certified, broken in np.stack([self.answers, self.certified, self.broken]).T[nodes].tolist()
        )
        asked = None if self.asked is None or self.asked >= size else self.asked
        votes = self.votes * len(nodes)
        return Result(threat, outcomes, None, votes, self.forward_passes, seconds, asked, self.certificates)


class PlainNodes(DecidedNodes):
    """A network without noise, of three makes; every attack with one link is tried where there are few enough."""

    name, certifies, at_once = methods.Plain.name, methods.Plain.certifies, 15

    @property
    def settings(self) -> Sequence[float]:  # type: ignore[override]
        """What is tried of the network."""
        return PLAIN[self.networks.model][1]

    @override
    def words(self, setting: float) -> str:
        return f"{PLAIN[self.networks.model][0].replace('_', ' ')} {setting:g}"

    @override
    def model(self, setting: float, train: Any, validation: Any) -> Timed:
        return node_network(self.networks, train, validation, how={PLAIN[self.networks.model][0]: setting})

    @override
    def decide(self, model: sc.SmoothedClassifier, graph: sc.Graph, threat: str) -> DecidedSizes:
        kind, most = kind_of(threat)[0], self.networks.work.max_attacks
        asked, sites = read_threat(f"{kind}:1"), Partition.everything("all").sites(graph)
        if asked.count(sites, 1) > most:
            answers, none = answers_on(model.classifier, sites).reshape(-1), np.zeros(graph.n_nodes, dtype=np.int64)
            return DecidedSizes(answers, none, none, asked=0)
        tried = sc.ExactClassifier(model.classifier).certify([graph], threat=asked, max_attacks=most, progress=False)
        sizes = tried.certified_sizes, tried.broken_sizes
        return DecidedSizes(tried.labels, *sizes, 1, 0, tried.forward_passes, tried)


class NodesHashedExactly(DecidedNodes):
    """Voters that see one group of node pairs each; every deleted link is tried, of other changes the worst assumed.

    All voters are one network, trained with noise that leaves as many links as a voter sees.
    """

    name, certifies = methods.HashedExactly.name, methods.HashedExactly.certifies
    settings, at_once = methods.VOTERS, 15
    rule: ClassVar[Literal["counting", "exact"]] = "exact"

    @override
    def words(self, setting: int) -> str:
        return f"{setting} voters"

    @override
    def model(self, setting: int, train: Any, validation: Any) -> Timed:
        network = node_network(self.networks, train, validation, (1 - 1 / setting, 0.0))
        made = lambda: sc.HashedVotes(network.value.classifier, setting, self.networks.work.seed)  # noqa: E731
        voting = self.networks.once(made, "hashed nodes", setting, id(network.value))
        return Timed(voting.value, network.seconds)

    @override
    def decide(self, model: sc.HashedVotes, graph: sc.Graph, threat: str) -> DecidedSizes:
        tried, most = int(kind_of(threat)[0] == "deletions"), self.networks.work.max_attacks
        found = model.certify([graph], threat=threat, rule=self.rule, tried=tried, max_attacks=most, progress=False)
        sizes = found.certified_sizes, found.broken_sizes
        return DecidedSizes(found.labels, *sizes, None, model.groups, found.forward_passes)


class NodesHashedByCounting(NodesHashedExactly):
    """The same voters by the published rule: every change turns a voter from the answer to its rival."""

    name, rule = methods.HashedByCounting.name, "counting"


class VotesOfLinks(DecidedNodes):
    """Blind scores and one vote of every linked node; the answer without links has a bonus of several votes."""

    name, certifies, trains = "link votes", "blind scores and a vote of each link; certain", False

    @override
    def words(self, setting: Any) -> str:
        return "weight {}, bonus {:g}".format(*setting)

    @override
    def fit(self, train: Any, validation: Any, threat: str) -> Fitted:
        self.settings = weights_and_bonuses(threat)
        seconds = blind_start(self.networks, train, validation).seconds
        return super().fit(train, validation, threat)._replace(train_seconds=seconds)

    @override
    def model(self, setting: Any, train: Any, validation: Any) -> Timed:
        logits, (weight, bonus) = blind_start(self.networks, train, validation).value.logits, setting
        known = train.numbers, train.labels
        return Timed(LinkVotes.of_logits(logits, weight=weight, bonus=bonus, known=known), 0.0)

    @override
    def decide(self, model: LinkVotes, graph: sc.Graph, threat: str) -> DecidedSizes:
        kind, most = kind_of(threat)

        def survives(size: int) -> Truths:
            splits = {"flips": [(added, size - added) for added in range(size + 1)], "additions": [(size, 0)],
                      "deletions": [(0, size)], "rewire": [(size, size)]}[kind]  # fmt: skip
            kept: Truths = np.all([model.survives(graph, additions=a, deletions=d) for a, d in splits], axis=0)
            return kept

        sizes = largest_sizes(survives, most, graph.n_nodes)
        broken = np.where((sizes < most) & (kind != "rewire"), sizes + 1, 0)  # rewired edges are part of what was asked
        return DecidedSizes(model.answers(graph), sizes, broken)


class OverLinks(TriedNodes):
    """Blind scores propagated over links and nearest neighbours; every attack with one link is tried.

    Where the lead after an attack is about a billionth or less, it is open whether the answer changes; so nothing is
    called broken.
    """

    name, certifies, trains = "link propagation", "blind scores propagated over links; certain", False
    settings = OWN

    @override
    def words(self, setting: float) -> str:
        return f"own {setting}"

    @override
    def fit(self, train: Any, validation: Any, threat: str) -> Fitted:
        seconds = blind_start(self.networks, train, validation).seconds
        return super().fit(train, validation, threat)._replace(train_seconds=seconds)

    @override
    def model(self, setting: float, train: Any, validation: Any) -> Timed:
        near, known = nearest_neighbours(np.asarray(train.graph.node_data["x"])), (train.numbers, train.labels)
        logits = blind_start(self.networks, train, validation).value.logits
        return Timed(LinkPropagation.of_logits(logits, own=setting, known=known, fixed=near), 0.0)

    @override
    def judge(self, model: LinkPropagation, objects: Any, threat: str, *, choosing: bool = False) -> Result:
        start, (kind, _) = time.perf_counter(), kind_of(threat)
        sorts = {"flips": (0, 1), "additions": (1,), "deletions": (0,), "rewire": ()}[kind]
        nodes = objects.numbers
        kept = [model.survives(objects.graph, additions=one, deletions=1 - one, nodes=nodes) for one in sorts]
        sizes = np.all(kept, axis=0).astype(np.int64) if kept else np.zeros(len(nodes), dtype=np.int64)
        decided = DecidedSizes(model.answers(objects.graph)[nodes], sizes, np.zeros_like(sizes), len(sorts) and 1)
        return decided.result(np.arange(len(nodes)), threat, time.perf_counter() - start)


def weights_and_bonuses(threat: str) -> list[tuple[float, int]]:
    """Three weights and bonuses for a threat: several links more than it has must speak against the blind answer."""
    kind, size = kind_of(threat)
    if kind == "deletions":
        return [(0.6, 2 * size), (0.6, size), (0.6, size - 1)]
    links = 2 * size if kind == "rewire" else size
    return [(0.6, 2 * links), (0.4, 2 * links), (0.6, 3 * links)]


def largest_sizes(survives: Callable[[int], Truths], most: int, n: int) -> Whole:
    """Up to which size each of n nodes survives."""
    sizes, kept = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    for size in range(1, most + 1):
        kept &= survives(size)
        if not kept.any():
            break
        sizes[kept] = size
    return sizes


METHODS: dict[str, tuple[type[BenchmarkMethod], ...]] = {
    "two-way": (NodeSmoothing, EvidenceNodes, FallbackNodes),
    "isotropic": (IsotropicNodes,),
    "one-way": (OneWayNodes,),
    "hashed": (NodesHashedByCounting, NodesHashedExactly),
    "plain": (PlainNodes,),
    "links": (VotesOfLinks, OverLinks),
    "blind": (BlindNodes,),
}
"""Methods of nodes by groups that share what is trained."""
