"""What methods share on a split of the nodes of one graph: networks, blind scores, and votes that serve all nodes.

A change is of any link of the graph, near a node or far from it. Validation nodes are as many of each class, which test
nodes are not: each class counts as often as a blind network answers it on nodes that it has not learned from. It weighs
the tries of every method alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

import starcert as sc
from starcert.baselines.blind_model import Blindfold
from starcert.baselines.nodes import candidates_for
from starcert.benchmark.folds import Nodes
from starcert.benchmark.networks import LAYERS, BlindRecord, Counted, Held, Networks, network_named, own_votes
from starcert.benchmark.outcomes import Outcome, Result, decided, fewer, kind_of, read_threat
from starcert.benchmark.work import ALPHA, Objects, Rates, Timed, here, pairs_noise
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.models import NodeGCN, NodePropagation
from starcert.models.fitting import Keep, own_generator
from starcert.objects import Partition
from starcert.objects.binding import Regions
from starcert.system.errors import StarcertWarning
from starcert.voting.counting import answers_on

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

NAMES = {"gin": "propagation", "gcn": "gcn"}
"""What classifies nodes in place of each network of graphs: `NodePropagation`, `NodeGCN`."""
ONE_LINK = "deletions:1"  # the attacks that evidence is asked about: others are too many on a whole graph
MAX_OWN = 300  # votes on a node at attacked graphs: each takes a pass over the whole graph
AT_ONCE = 15  # up to which size voters are asked at once: more costs no more


class NodeNetworks(Networks):
    """What methods share on a split: votes and attacks on one graph serve all its nodes.

    Votes that choose are not those that certify: copies of the graph are the same for all its nodes, and a choice that
    has seen them would spend more than alpha.
    """

    of_nodes = True
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
    def held(self, train: Objects, validation: Objects) -> Held:
        answers = self.network_logits(train, validation).argmax(axis=1)
        return Held(validation, validation.labels, weights_of(validation, np.delete(answers, train.numbers)))

    @override
    def blind(self, train: Objects, validation: Objects) -> Timed:
        def made() -> BlindRecord:
            tried, weights = self.blind_scores(train, validation), self.held(train, validation).weights
            shares = {name: float(weights @ (scores.argmax(axis=1)[validation.numbers] == validation.labels))
                      for name, scores in tried.items()}  # fmt: skip
            chosen = max(shares, key=lambda name: shares[name])
            answers, tries = tried[chosen].argmax(axis=1), {name: round(each, 4) for name, each in shares.items()}
            return BlindRecord(tries, chosen, lambda nodes: answers[nodes.numbers], answers, tried[chosen])

        return self.once(made, "blind", id(train), id(validation), about=(train, validation))

    @override
    def unseen(self, validation: Objects) -> Objects:
        """Validation nodes choose the blind model: of nodes there is one for all."""
        return validation

    def blind_scores(self, train: Objects, validation: Objects) -> dict[str, Real]:
        """Log-probabilities of all nodes by models that never see a link: those of `blind`, and a network."""
        seen = Blindfold(pairs_noise(0.1, 0.1), None, None).show(train.graph)
        found = {"network on words, propagated over nearest neighbours": self.network_logits(train, validation)}
        for each in candidates_for(seen):
            view = each.view(seen)
            scores = each.fit(view, train.numbers, train.labels).scores(view)
            found[each.description] = np.log(np.maximum(scores, 1e-9))
        found = {name: one - np.logaddexp.reduce(one, axis=1, keepdims=True) for name, one in found.items()}
        return found | {"mean of all of these": np.mean(list(found.values()), axis=0)}

    def network_logits(self, train: Objects, validation: Objects) -> Real:
        """Of all nodes, by a network on words and nearest neighbours, trained once for all methods on a fold."""

        def made() -> Real:
            module = self.module(train, {"link_weight": 0}, "gin")
            self.fit_module(module, train, validation, pairs_noise(0, 0), keep="loss")
            with torch.no_grad():
                words = torch.tensor(np.asarray(train.graph.node_data["x"]), dtype=torch.float32, device=here()[0])
                none = torch.empty((2, 0), dtype=torch.int64, device=here()[0])
                logits: Real = module.eval()(words, none).double().cpu().numpy()
            return logits

        found: Real = self.once(made, "blind network", id(train), id(validation), about=(train, validation)).value
        return found

    def module(self, train: Objects, how: Mapping[str, Any], model: str) -> torch.nn.Module:
        """A network for all nodes, with its first weights."""
        words, n_classes = np.asarray(train.graph.node_data["x"]), train.data.n_classes
        with own_generator(self.work.seed, "cpu"):
            if model == "gin":
                made: torch.nn.Module = NodePropagation(words, n_classes, **how)
            elif model == "gcn":
                made = NodeGCN(words.shape[1], n_classes, **how)
            else:
                sizes = {"hidden": self.work.hidden, "layers": LAYERS, **how}
                made = network_named(model)(words.shape[1], n_classes, **sizes)
        return made.to(here()[0])

    def fit_module(
        self, module: torch.nn.Module, train: Objects, validation: Objects, noise: sc.Noise, keep: Keep = "accuracy"
    ) -> None:
        """Trains a network with noise on links, or without any."""
        taught = sc.SmoothedClassifier(from_pyg(module, n_classes=train.data.n_classes, targets="nodes"), noise)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StarcertWarning)  # a try with one answer for all: validation chooses
            sc.models.fit_nodes_with_noise(taught, train.graph, train.data.labels, train=train.numbers,
                                           validation=validation.numbers, progress=False, epochs=self.work.max_epochs,
                                           seed=self.work.seed, keep=keep)  # fmt: skip

    @override
    def trained(
        self, train: Objects, validation: Objects, noise: sc.Noise, how: Mapping[str, Any], regions: Regions | None
    ) -> sc.SmoothedClassifier:
        """A network trained with noise on links; what does not depend on them is computed once for all votes."""
        module = self.module(train, how, self.model)
        self.fit_module(module, train, validation, noise)
        shown: dict[str, Any] = {"model": module}
        if isinstance(module, NodePropagation):
            shown = module.for_votes()
        elif here()[0] == "cpu":
            shown["features"] = sparse("x")
        return sc.SmoothedClassifier(
            from_pyg(**shown, n_classes=train.data.n_classes, targets="nodes"), noise, alpha=ALPHA
        )

    @override
    def question(self, threat: str, evidence: bool) -> str | None:
        return ONE_LINK if evidence and kind_of(threat)[0] == "deletions" else None

    @override
    def certificates(
        self, smoothed: sc.SmoothedClassifier, objects: Objects, threat: str, *, evidence: bool, choosing: bool
    ) -> Counted:  # fmt: skip
        work, graph, asked = self.work, objects.graph, self.question(threat, evidence)
        samples, seed = (work.choosing_samples, work.seed + 1) if choosing else (work.samples, work.seed)
        how: dict[str, Any] = {"samples": samples, "seed": seed, "voting": sc.Voting(progress=False)}
        if asked is not None:
            how |= {"threat": asked, "evidence": sc.Evidence(own_samples=min(MAX_OWN, work.own_samples))}
        key = id(smoothed), id(graph), samples, seed, asked
        found, seconds = self.once(lambda: smoothed.certify([graph], **how), *key, about=(smoothed, graph))
        passes, attacked = int(found.votes.counts[0].sum() + found.votes.selection[0].sum()), own_votes(found)
        votes = passes * len(objects) + attacked
        return Counted(found, objects.numbers.tolist(), votes, passes + attacked, seconds)

    @override
    def tried(self, base: sc.Classifier, objects: Objects, threat: str) -> Result:
        """Every attack with one link is tried where there are few enough; otherwise nothing is said."""
        asked, graph, limit = read_threat(fewer(threat, 1)), objects.graph, self.work.max_attacks
        sites = Partition.everything("all").sites(graph)
        if sum(asked.count(sites, size) for size in range(1, asked.most + 1)) > limit:
            answers = self.once(lambda: answers_on(base, sites).reshape(-1), "plain", id(base), about=base).value
            return Result(
                threat, tuple(Outcome(int(answers[node]), 0) for node in objects.numbers), None, 0, 1, asked=0
            )
        exact = sc.ExactClassifier(base)
        found, seconds = self.once(
            lambda: exact.certify([graph], threat=asked, max_attacks=limit, progress=False),
            "tried", id(base), id(graph), str(asked), about=(base, graph),
        )  # fmt: skip
        rows, passes = decided(found, objects.numbers), found.forward_passes
        return Result(threat, rows, None, 0, passes, seconds, asked=asked.most, certificates=found)

    @override
    def voters(self, number: int, train: Objects, validation: Objects) -> Timed:
        """One network for all voters, trained with noise that leaves as many links as a voter sees."""
        network = self.network(train, validation, (1 - 1 / number, 0.0))
        made = lambda: sc.HashedVotes(network.value.classifier, number, self.work.seed)  # noqa: E731
        return Timed(self.once(made, "hashed", number, id(network.value)).value, network.seconds)

    @override
    def polled(self, model: sc.HashedVotes, objects: Objects, threat: str, rule: Any, choosing: bool) -> Result:
        """Every deleted link is tried, of other changes the worst assumed."""
        (kind, size), graph = kind_of(threat), objects.graph
        asked, tried = f"{kind}:{max(size, AT_ONCE)}", int(kind == "deletions")
        how: dict[str, Any] = {"tried": tried, "max_attacks": self.work.max_attacks, "progress": False}
        found, seconds = self.once(
            lambda: model.certify([graph], threat=asked, rule=rule, **how),
            "polled", id(model), id(graph), asked, rule, about=(model, graph),
        )  # fmt: skip
        votes, rows = model.groups * len(objects), decided(found, objects.numbers)
        return Result(threat, rows, None, votes, found.forward_passes, seconds)


def weights_of(validation: Nodes, answers: Whole) -> Real:
    """How much each validation node counts: there are as many of each class, which other nodes need not have.

    Each class counts as often as a model answers it on nodes that it has not learned from.
    """
    labels, n = validation.labels, validation.data.n_classes
    shares = np.bincount(answers, minlength=n) / np.maximum(np.bincount(labels, minlength=n), 1)
    weights: Real = shares[labels] / shares[labels].sum()
    return weights
