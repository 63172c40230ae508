"""Nodes of Cora-ML and Citeseer: words alone, words and votes of linked nodes or propagation, and one-way noise.

The blind row is the best on validation nodes of several models that never see a link. Link votes and propagation start
from the scores of that model. Validation nodes are as many of each class; they count by
how often the blind model answers their class, as test nodes have them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import starcert as sc
from starcert.baselines.blind_model import Blindfold
from starcert.baselines.nodes import candidates_for
from starcert.classifiers import from_pyg
from starcert.datasets import Dataset
from starcert.models import LinkPropagation, LinkVotes, NodePropagation
from starcert.models.fitting import own_generator
from starcert.objects.neighbours import nearest_neighbours
from starcert.system.processes import one_torch_thread
from starcert_studies.benchmark.data import nodes_of
from starcert_studies.small_noise import here
from starcert_studies.study import split_nodes
from starcert_studies.voted import ALPHA
from starcert_studies.worth_rows import Mask, always, row_of

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

ATTACKS = {f"{kind}:{n}": (n * (kind == "additions"), n * (kind == "deletions"))
           for kind in ("additions", "deletions") for n in (1, 2, 3, 5, 10)}  # fmt: skip
"""How many links each adds and deletes."""
ASKED = ("additions:1", "additions:3", "additions:5", "deletions:1", "deletions:3")  # link votes are chosen for each
ONE_LINK = (
    "additions:1",
    "deletions:1",
)  # propagation is certified against one link, and chosen for one that is deleted
OWN = (0.1, 0.2, 0.3)  # what scores count that are not propagated
RATE, DECAY, CHECK_EVERY = 1e-2, 5e-4, 10
NOISES = (0.7, 0.8, 0.9)  # how likely a link is deleted


@dataclass(frozen=True)
class SplitOfNodes:
    """A graph, a split of its nodes, and what is done there."""

    data: str
    of_a_class: int  # nodes of a class to learn from; as many decide
    epochs: int
    samples: int  # votes on the graph under each noise
    seed: int


@dataclass(frozen=True, eq=False)
class Deciding:
    """Validation nodes, and how much each counts."""

    nodes: Whole
    weights: Real

    @classmethod
    def of(cls, nodes: Whole, labels: Whole, answers: Whole) -> Deciding:
        """Each class counts as often as a blind model answers it."""
        shares = np.bincount(answers, minlength=labels.max() + 1) / np.bincount(labels[nodes])
        return cls(nodes, shares[labels[nodes]] / shares[labels[nodes]].sum())

    def share(self, mask: Mask) -> float:
        """The share of nodes for which something holds."""
        return float(self.weights @ mask[self.nodes])


def judge_nodes(setting: SplitOfNodes) -> dict[str, Any]:
    """All rows of a split."""
    with one_torch_thread():
        data = nodes_of(setting.data)
        graph, labels = data.graph, np.asarray(data.labels)
        train, validation, test = split_nodes(labels, setting.seed, setting.of_a_class)
        start = time.perf_counter()
        tried = blind_scores(setting, data)
        deciding = Deciding.of(validation, labels, np.delete(next(iter(tried.values())).argmax(axis=1), train))
        kind = max(tried, key=lambda name: deciding.share(tried[name].argmax(axis=1) == labels))
        logits = tried[kind]
        wise = (logits.argmax(axis=1) == labels)[test]
        rows = [row_of("blind", wise, always(wise, list(ATTACKS)), tries=len(tried), alpha=0, choice=kind,
                       seconds=time.perf_counter() - start)]  # fmt: skip
        for asked in ASKED:
            start = time.perf_counter()
            votes, choice = chosen_votes(graph, logits, labels, train, deciding, asked)
            right = votes.answers(graph) == labels
            safe = {name: votes.survives(graph, additions=a, deletions=d)[test] for name, (a, d) in ATTACKS.items()}
            rows.append(row_of(f"link votes, for {asked}, exact", right[test], safe, tries=3, alpha=0, choice=choice,
                               seconds=time.perf_counter() - start))  # fmt: skip
        start = time.perf_counter()
        spread, choice = chosen_propagation(data, logits, train, deciding, "deletions:1")
        right, safe = spread.answers(graph) == labels, {}
        for name in ONE_LINK:
            added, deleted = ATTACKS[name]
            safe[name] = spread.survives(graph, additions=added, deletions=deleted, nodes=test)
        rows.append(row_of("link propagation, for deletions:1, exact", right[test], safe, tries=len(OWN), alpha=0,
                           choice=choice, seconds=time.perf_counter() - start))  # fmt: skip
    most = labels[test] == np.bincount(labels[test]).argmax()
    constant = row_of("most frequent class", most, always(most, list(ATTACKS)), tries=1, alpha=0, seconds=0)
    return {"rows": [constant, *rows], "numbers": test.tolist(), "device": "CPU"}


def network_logits(setting: SplitOfNodes, data: Dataset) -> Real:
    """Of all nodes, by a network on words and nearest neighbours: the epoch with the least validation loss is kept."""
    graph, labels = data.graph, torch.tensor(np.asarray(data.labels))
    words = np.asarray(graph.node_data["x"])
    train, validation, _ = (
        torch.tensor(each) for each in split_nodes(labels.numpy(), setting.seed, setting.of_a_class)
    )
    x, none = torch.tensor(words, dtype=torch.float32), torch.empty((2, 0), dtype=torch.int64)
    with own_generator(setting.seed, "cpu"):
        module = NodePropagation(words, data.n_classes, link_weight=0)
        optimizer = torch.optim.Adam(module.parameters(), lr=RATE, weight_decay=DECAY)
        least, kept = float("inf"), np.empty(0)
        for epoch in range(setting.epochs):
            loss = torch.nn.functional.cross_entropy(module.train()(x, none)[train], labels[train])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if epoch % CHECK_EVERY == CHECK_EVERY - 1 or epoch == setting.epochs - 1:
                with torch.no_grad():
                    found = module.eval()(x, none)
                held = float(torch.nn.functional.cross_entropy(found[validation], labels[validation]))
                if held < least:
                    least, kept = held, found.double().numpy()
    return kept


def blind_scores(setting: SplitOfNodes, data: Dataset) -> dict[str, Real]:
    """Log-probabilities of all nodes by models that never see a link: those of `baselines.blind`, and the network."""
    labels, seen = np.asarray(data.labels), Blindfold(sc.Noise(links=0.1), None, None).show(data.graph)
    train = split_nodes(labels, setting.seed, setting.of_a_class)[0]
    found = {"network on words, propagated over nearest neighbours": network_logits(setting, data)}
    for each in candidates_for(seen):
        view = each.view(seen)
        found[each.description] = np.log(np.maximum(each.fit(view, train, labels[train]).scores(view), 1e-9))
    found = {name: one - np.logaddexp.reduce(one, axis=1, keepdims=True) for name, one in found.items()}
    return found | {"mean of all of these": np.mean(list(found.values()), axis=0)}


def votes_for(asked: str) -> Iterator[tuple[float, float]]:
    """Three weights and bonuses for an attack: several links more than it has must speak against the blind answer."""
    added, deleted = ATTACKS[asked]
    if added:
        yield from ((0.6, 2 * added), (0.4, 2 * added), (0.6, 3 * added))
    else:
        yield from ((0.6, 2 * deleted), (0.6, deleted), (0.6, deleted - 1))


def chosen_votes(
    graph: sc.Graph, logits: Real, labels: Whole, train: Whole, deciding: Deciding, asked: str
) -> tuple[LinkVotes, str]:
    """The link votes with which most validation nodes are right and certified against an attack."""
    added, deleted = ATTACKS[asked]

    def quality(votes: LinkVotes) -> float:
        safe = votes.survives(graph, additions=added, deletions=deleted)
        return deciding.share((votes.answers(graph) == labels) & safe)

    tried = {
        f"weight {weight}, bonus {bonus:g}": LinkVotes.of_logits(
            logits, weight=weight, bonus=bonus, known=(train, labels[train])
        )
        for weight, bonus in votes_for(asked)
    }
    choice = max(tried, key=lambda name: quality(tried[name]))
    return tried[choice], choice


def chosen_propagation(
    data: Dataset, logits: Real, train: Whole, deciding: Deciding, asked: str
) -> tuple[LinkPropagation, str]:
    """The propagation with which most validation nodes are right and certified against an attack with one link."""
    (added, deleted), labels = ATTACKS[asked], np.asarray(data.labels)
    near = nearest_neighbours(np.asarray(data.graph.node_data["x"]))

    def quality(tried: LinkPropagation) -> float:
        kept = np.zeros(len(labels), dtype=bool)
        kept[deciding.nodes] = tried.survives(data.graph, additions=added, deletions=deleted, nodes=deciding.nodes)
        return deciding.share(kept & (tried.answers(data.graph) == labels))

    tried = {
        f"own {own}": LinkPropagation.of_logits(logits, own=own, known=(train, labels[train]), fixed=near)
        for own in OWN
    }
    choice = max(tried, key=lambda name: quality(tried[name]))
    return tried[choice], choice


def smooth_nodes(setting: SplitOfNodes) -> dict[str, Any]:
    """Smoothing with noise that only deletes links, by p_A: the noise with most validation nodes at one added link."""
    data, start = nodes_of(setting.data), time.perf_counter()
    labels = np.asarray(data.labels)
    train, validation, test = split_nodes(labels, setting.seed, setting.of_a_class)
    best, kept = -1.0, None
    for delete in NOISES:
        with one_torch_thread():
            found = smoothed_by(setting, data, delete)
        right = (np.asarray(found.labels) == labels) & ~np.array([one.abstained for one in found])
        safe = {name: right & found.certified((deleted, added)) for name, (added, deleted) in ATTACKS.items()}
        deciding = Deciding.of(validation, labels, np.delete(np.asarray(found.labels), train))
        if (share := deciding.share(safe["additions:1"])) > best:
            best, kept = share, (right[test], {name: mask[test] for name, mask in safe.items()}, delete)
    assert kept is not None
    row = row_of("one-way noise, p_A", kept[0], kept[1], tries=len(NOISES), alpha=ALPHA, choice=f"delete {kept[2]}",
                 seconds=time.perf_counter() - start)  # fmt: skip
    return {"rows": [row], "numbers": test.tolist(), "device": here()[1]}


def smoothed_by(setting: SplitOfNodes, data: Dataset, delete: float) -> sc.Certificates:
    """Certificates of all nodes by a network that was trained with one-way noise."""
    labels, noise = np.asarray(data.labels), sc.Noise(links=sc.Flip(delete=delete, add=0))
    train, validation, _ = split_nodes(labels, setting.seed, setting.of_a_class)
    with own_generator(setting.seed, "cpu"):
        module = NodePropagation(np.asarray(data.graph.node_data["x"]), data.n_classes).to(here()[0])
    taught = sc.SmoothedClassifier(from_pyg(module, n_classes=data.n_classes, targets="nodes"), noise)
    sc.models.fit_nodes_with_noise(taught, data.graph, labels, train=train, validation=validation, progress=False,
                                   epochs=setting.epochs, seed=setting.seed)  # fmt: skip
    base = from_pyg(**module.for_votes(), n_classes=data.n_classes, targets="nodes")
    voting = sc.Voting(progress=False)
    return sc.SmoothedClassifier(base, noise).certify(
        [data.graph], samples=setting.samples, seed=setting.seed, alpha=ALPHA, voting=voting
    )
