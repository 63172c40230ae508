"""Shared work of the methods on a split of the nodes of one graph: networks, blind scores, votes for all nodes.

A change is of any link of the graph, near a node or far from it. Validation nodes are as many of each class, which test
nodes are not: each class counts as often as blind models answer it on nodes that it has not learned from. It weighs
the tries of every method alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

import starcert as sc
from starcert.baselines.blind_model import Blindfold
from starcert.baselines.nodes import NodeView, candidates_for
from starcert.benchmark.folds import Nodes, Objects
from starcert.benchmark.networks import (
    ALPHA,
    LAYERS,
    BlindRecord,
    Graphs,
    Networks,
    Rates,
    Rule,
    here,
    network_named,
    once,
    pairs_noise,
    quiet,
)
from starcert.benchmark.outcomes import kind_of
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.methods.hashed_voters import HashedVoters
from starcert.models import NodeGCN, NodePropagation
from starcert.models.fitting import Keep, own_generator

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

NAMES = {"gin": "propagation", "gcn": "gcn"}
"""The classifiers of nodes in place of each network of graphs: `NodePropagation`, `NodeGCN`."""
ONE_LINK = "deletions:1"  # the attacks that evidence is asked about: others are too many on a whole graph
MEAN = "mean of all of these"  # blind models
AT_ONCE = 15  # up to which size voters are asked at once: more costs no more


class NodeNetworks(Networks):
    """Shared work of the methods on a split: votes and attacks on one graph serve all its nodes."""

    of_nodes = True
    farthest = 1  # all attacks with one link are tried, where they are few enough
    max_own = 300  # each takes a pass over the whole graph
    rates: ClassVar[Mapping[str, Sequence[Rates]]] = {
        "two-way": ((0.4, 0.0005), (0.6, 0.001), (0.8, 0.002)),
        # Of 2,810 nodes, an absent link is added at a rate of 0.002 about as often as there are links.
        "isotropic": ((0.002, 0.002), (0.005, 0.005), (0.01, 0.01)),
        "one-way": ((0.7, 0.0), (0.8, 0.0), (0.9, 0.0)),
    }

    @property
    @override
    def called(self) -> str:
        return NAMES.get(self.model, super().called)

    @property
    @override
    def shapes(self) -> Mapping[str, Mapping[str, Any]]:
        name, values = ("link_weight", (0.5, 1, 2)) if self.model == "gin" else ("hidden", (16, 32, 64))
        return {f"{name.replace('_', ' ')} {value:g}": {name: value} for value in values}

    @override
    def seen(self, objects: Objects) -> tuple[Graphs, Sequence[int]]:
        return (objects.graph,), objects.numbers.tolist()

    @override
    def held(self, train: Objects, validation: Objects) -> tuple[Objects, Whole, Real]:
        answers = self.blind_scores(train).value[MEAN].argmax(axis=1)
        return validation, validation.labels, weights_of(validation, np.delete(answers, train.numbers))

    @override
    @once
    def blind(self, train: Objects, validation: Objects) -> BlindRecord:
        tried, weights = self.blind_scores(train).value, self.held(train, validation)[2]
        shares = {name: float(weights @ (scores.argmax(axis=1)[validation.numbers] == validation.labels))
                  for name, scores in tried.items()}  # fmt: skip
        chosen = max(shares, key=lambda name: shares[name])
        answers, tries = tried[chosen].argmax(axis=1), {name: round(each, 4) for name, each in shares.items()}
        return BlindRecord(tries, chosen, lambda nodes: answers[nodes.numbers], answers, tried[chosen])

    @override
    def unseen(self, validation: Objects) -> Objects:
        """Validation nodes choose the blind model: of nodes there is one for all."""
        return validation

    @once
    def blind_scores(self, train: Objects) -> dict[str, Real]:
        """Log-probabilities of all nodes by models that never see a link: those of `blind`, and their mean."""
        shown, found = Blindfold(pairs_noise(0.1, 0.1), None, None).show(train.graph), dict[str, Real]()
        views = dict[int, NodeView]()  # candidates with the same scaling share one
        for each in candidates_for(shown):
            if id(each.scaling) not in views:
                views[id(each.scaling)] = each.view(shown)
            view = views[id(each.scaling)]
            shares = np.zeros((train.graph.n_nodes, train.data.n_classes))  # nothing for a class that no node has
            shares[:, np.unique(train.labels)] = each.fit(view, train.numbers, train.labels).scores(view)
            found[each.description] = np.log(np.maximum(shares, 1e-9))
        found = {name: one - np.logaddexp.reduce(one, axis=1, keepdims=True) for name, one in found.items()}
        return found | {MEAN: np.mean(list(found.values()), axis=0)}

    def learned(
        self, train: Objects, validation: Objects, noise: sc.Noise, model: str, how: Mapping[str, Any], keep: Keep
    ) -> torch.nn.Module:
        """A network for all nodes, trained with noise on links, or without any."""
        words, n_classes = np.asarray(train.graph.node_data["x"]), train.data.n_classes
        with own_generator(self.setting.seed, "cpu"):
            if model == "gin":
                module: torch.nn.Module = NodePropagation(words, n_classes, **how)
            elif model == "gcn":
                module = NodeGCN(words.shape[1], n_classes, **how)
            else:
                sizes = {"hidden": self.setting.hidden, "layers": LAYERS, **how}
                module = network_named(model)(words.shape[1], n_classes, **sizes)
        taught = from_pyg(module.to(here()[0]), n_classes=n_classes, targets="nodes")
        with quiet():
            sc.models.fit_nodes_with_noise(
                sc.SmoothedClassifier(taught, noise), train.graph, train.data.labels, train=train.numbers,
                validation=validation.numbers, epochs=self.setting.max_epochs, seed=self.setting.seed, keep=keep,
                progress=False,
            )  # fmt: skip
        return module

    @override
    def trained(
        self, train: Objects, validation: Objects, noise: sc.Noise, shape: str, regions: bool
    ) -> sc.SmoothedClassifier:
        """A network trained with noise on links; what does not depend on them is computed once for all votes."""
        module = self.learned(train, validation, noise, self.model, self.shapes.get(shape, {}), keep="accuracy")
        shown: dict[str, Any] = {"model": module}
        if isinstance(module, NodePropagation):
            shown = module.for_votes()
        elif here()[0] == "cpu":
            shown["features"] = sparse("x")
        base = from_pyg(**shown, n_classes=train.data.n_classes, targets="nodes")
        return sc.SmoothedClassifier(base, noise, alpha=ALPHA)

    @override
    def question(self, threat: str, evidence: bool) -> str | None:
        return ONE_LINK if evidence and kind_of(threat)[0] == "deletions" else None

    @override
    @once
    def voters(self, number: int, train: Objects, validation: Objects) -> sc.HashedVotes:
        """One network for all voters, trained with noise that leaves as many links as a voter sees."""
        network = self.network(train, validation, (1 - 1 / number, 0.0)).value
        return sc.HashedVotes(network.classifier, number, self.setting.seed)

    @override
    def polled(
        self, model: sc.HashedVotes, graphs: Graphs, threat: str, rule: Rule, choosing: bool
    ) -> tuple[sc.Certificates[HashedVoters], int, float]:
        """Every deleted link is tried, of other changes the worst assumed."""
        kind, size = kind_of(threat)
        found, seconds = self.decided(model, graphs, f"{kind}:{max(size, AT_ONCE)}", rule, int(kind == "deletions"))
        return found, found.proof.forward_passes, seconds

    @once
    def decided(
        self, model: sc.HashedVotes, graphs: Graphs, threat: str, rule: Rule, tried: int
    ) -> sc.Certificates[HashedVoters]:  # fmt: skip
        """The certificates of hashed voters for all nodes."""
        most = self.setting.max_attacks
        return model.certify(graphs, threat=threat, rule=rule, tried=tried, max_attacks=most, progress=False)


def weights_of(validation: Nodes, answers: Whole) -> Real:
    """The weight of each validation node: the split has equal numbers of each class, which other nodes need not have.

    Each class counts as often as a model answers it on nodes that it has not learned from.
    """
    labels, n = validation.labels, validation.data.n_classes
    shares = np.bincount(answers, minlength=n) / np.maximum(np.bincount(labels, minlength=n), 1)
    weights: Real = shares[labels] / shares[labels].sum()
    return weights
