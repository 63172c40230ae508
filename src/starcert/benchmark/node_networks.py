"""Networks that classify nodes: some that never see a link, of which validation nodes choose one, and some that do."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

import starcert as sc
from starcert.baselines.blind_model import Blindfold
from starcert.baselines.nodes import candidates_for
from starcert.benchmark.folds import Nodes
from starcert.benchmark.work import ALPHA, Networks, Rates, Timed, Work, here, pairs_noise
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.models import NodeGCN, NodePropagation
from starcert.models.fitting import own_generator
from starcert.system.errors import StarcertWarning

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

NODE_MODELS = {"gin": "propagation", "gcn": "gcn"}
"""What classifies nodes in place of each network of graphs: `NodePropagation`, `NodeGCN`."""
ONE_LINK = "deletions:1"  # the attacks that evidence is asked about: others are too many on a whole graph
RATE, DECAY, CHECK_EVERY = 1e-2, 5e-4, 10


class BlindStart(NamedTuple):
    """What is known of all nodes without a look at links: what methods that do look at them begin with."""

    shares: dict[str, float]  # of each model that was tried, what it has right of the validation nodes
    chosen: str
    logits: Real  # of the chosen one, log-probabilities of all nodes


def blind_start(networks: Networks, train: Nodes, validation: Nodes) -> Timed:
    """A `BlindStart`, made once for all methods on a fold."""

    def made() -> BlindStart:
        tried, weights = blind_scores(networks, train, validation), validation_weights(networks, train, validation)
        answers = {name: scores.argmax(axis=1)[validation.numbers] for name, scores in tried.items()}
        shares = {name: float(weights @ (each == validation.labels)) for name, each in answers.items()}
        chosen = max(shares, key=lambda name: shares[name])
        return BlindStart(shares, chosen, tried[chosen])

    return networks.once(made, "blind start", id(train), id(validation), about=(train, validation))


def validation_weights(networks: Networks, train: Nodes, validation: Nodes) -> Real:
    """How much each validation node counts, by the answers of a blind network."""
    answers = network_logits(networks, train, validation).argmax(axis=1)
    return weights_of(validation, np.delete(answers, train.numbers))


def weights_of(validation: Nodes, answers: Whole) -> Real:
    """How much each validation node counts: there are as many of each class, which other nodes need not have.

    Each class counts as often as a model answers it on nodes that it has not learned from.
    """
    labels, n = validation.labels, validation.data.n_classes
    shares = np.bincount(answers, minlength=n) / np.maximum(np.bincount(labels, minlength=n), 1)
    weights: Real = shares[labels] / shares[labels].sum()
    return weights


def blind_scores(networks: Networks, train: Nodes, validation: Nodes) -> dict[str, Real]:
    """Log-probabilities of all nodes by models that never see a link: those of `baselines.blind`, and a network."""
    seen = Blindfold(pairs_noise(0.1, 0.1), None, None).show(train.graph)
    found = {"network on words, propagated over nearest neighbours": network_logits(networks, train, validation)}
    for each in candidates_for(seen):
        view = each.view(seen)
        found[each.description] = np.log(np.maximum(each.fit(view, train.numbers, train.labels).scores(view), 1e-9))
    found = {name: one - np.logaddexp.reduce(one, axis=1, keepdims=True) for name, one in found.items()}
    return found | {"mean of all of these": np.mean(list(found.values()), axis=0)}


def network_logits(networks: Networks, train: Nodes, validation: Nodes) -> Real:
    """Of all nodes, by a network that sees no link, trained once for all methods on a fold."""
    made = lambda: _network_logits(networks.work, train, validation)  # noqa: E731
    logits: Real = networks.once(made, "blind network", id(train), id(validation), about=(train, validation)).value
    return logits


def _network_logits(work: Work, train: Nodes, validation: Nodes) -> Real:
    """Of all nodes, by a network on words and nearest neighbours: the epoch with the least validation loss is kept."""
    words = np.asarray(train.graph.node_data["x"])
    x, none = torch.tensor(words, dtype=torch.float32), torch.empty((2, 0), dtype=torch.int64)
    (taught, classes), (held, truth) = (
        (torch.tensor(each.numbers), torch.tensor(each.labels)) for each in (train, validation)
    )
    with own_generator(work.seed, "cpu"):
        module = NodePropagation(words, train.data.n_classes, link_weight=0)
        optimizer = torch.optim.Adam(module.parameters(), lr=RATE, weight_decay=DECAY)
        least, kept = float("inf"), np.empty(0)
        for epoch in range(work.max_epochs):
            loss = torch.nn.functional.cross_entropy(module.train()(x, none)[taught], classes)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if epoch % CHECK_EVERY == CHECK_EVERY - 1 or epoch == work.max_epochs - 1:
                with torch.no_grad():
                    found = module.eval()(x, none)
                now = float(torch.nn.functional.cross_entropy(found[held], truth))
                if now < least:
                    least, kept = now, found.double().numpy()
    return kept


def node_network(
    networks: Networks,
    train: Nodes,
    validation: Nodes,
    rates: Rates = (0.0, 0.0),
    how: Mapping[str, Any] | None = None,
) -> Timed:
    """A smoothed network for all nodes, trained with its noise, or without any; `how` goes to the network."""
    made = lambda: train_node_network(networks.work, networks.model, train, validation, rates, how or {})  # noqa: E731
    return networks.once(made, "node network", id(train), rates, *(how or {}).items(), about=train)


def train_node_network(
    work: Work, model: str, train: Nodes, validation: Nodes, rates: Rates, how: Mapping[str, Any]
) -> sc.SmoothedClassifier:
    """A network trained with noise on links; what does not depend on them is computed once for all votes."""
    data, (device, _), noise = train.data, here(), pairs_noise(*rates)
    words = np.asarray(train.graph.node_data["x"])
    about: dict[str, Any] = {"n_classes": data.n_classes, "targets": "nodes"}
    shown: dict[str, Any]
    module: torch.nn.Module
    with own_generator(work.seed, "cpu"):
        if NODE_MODELS[model] == "propagation":
            spread = NodePropagation(words, data.n_classes, **how)
            module, shown = spread, spread.for_votes()
        else:
            module = NodeGCN(words.shape[1], data.n_classes, **how)
            shown = {"model": module} | ({"features": sparse("x")} if device == "cpu" else {})
    module.to(device)
    taught = sc.SmoothedClassifier(from_pyg(module, **about), noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StarcertWarning)  # a try with one answer for all: validation chooses
        sc.models.fit_nodes_with_noise(taught, train.graph, data.labels, train=train.numbers,
                                       validation=validation.numbers, progress=False, epochs=work.max_epochs,
                                       seed=work.seed)  # fmt: skip
    return sc.SmoothedClassifier(from_pyg(**shown, **about), noise, alpha=ALPHA)


def node_certificates(
    networks: Networks,
    smoothed: sc.SmoothedClassifier,
    graph: sc.Graph,
    samples: int,
    seed: int,
    own: int | None = None,
) -> Timed:
    """Certificates of all nodes, by votes that are counted once for all threats.

    With `own`, single deleted links are decided by evidence, from at most that many votes at attacked graphs.
    """
    how: dict[str, Any] = {"samples": samples, "seed": seed, "voting": sc.Voting(progress=False)}
    if own is not None:
        how |= {"threat": ONE_LINK, "evidence": sc.Evidence(own_samples=own)}
    made = lambda: smoothed.certify([graph], **how)  # noqa: E731
    return networks.once(made, id(smoothed), id(graph), samples, seed, own, about=(smoothed, graph))
