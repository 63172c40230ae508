"""Nodes of Cora-ML and Citeseer: words alone, words and votes of linked nodes or propagation, and one-way noise.

The methods are those of the benchmark. Link votes and propagation start from the scores of the blind model. Validation
nodes are as many of each class; they count by how often the blind model answers their class, as test nodes have them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from starcert.system.processes import one_torch_thread
from starcert_studies.benchmark.data import data_of
from starcert_studies.benchmark.folds import Nodes
from starcert_studies.benchmark.methods import Fitted, Method
from starcert_studies.benchmark.node_methods import BlindNodes, OverLinks, VotesOfLinks
from starcert_studies.benchmark.node_networks import node_certificates, weights_of
from starcert_studies.benchmark.node_smoothing import OneWayNodes
from starcert_studies.benchmark.outcomes import Result
from starcert_studies.benchmark.work import Networks, Work
from starcert_studies.small_noise import here
from starcert_studies.study import split_nodes
from starcert_studies.voted import ALPHA
from starcert_studies.worth_rows import always, row_of

ATTACKS = {f"{kind}:{n}": (n * (kind == "additions"), n * (kind == "deletions"))
           for kind in ("additions", "deletions") for n in (1, 2, 3, 5, 10)}  # fmt: skip
"""How many links each adds and deletes."""
ASKED = ("additions:1", "additions:3", "additions:5", "deletions:1", "deletions:3")  # link votes are chosen for each
ONE_LINK = (
    "additions:1",
    "deletions:1",
)  # propagation is certified against one link, and chosen for one that is deleted


@dataclass(frozen=True)
class SplitOfNodes:
    """A graph, a split of its nodes, and what is done there."""

    data: str
    of_a_class: int  # nodes of a class to learn from; as many decide
    epochs: int
    samples: int  # votes on the graph under each noise
    seed: int

    @property
    def networks(self) -> Networks:
        """What methods are run with."""
        return Networks(Work(max_epochs=self.epochs, samples=self.samples, seed=self.seed))

    @property
    def parts(self) -> tuple[Nodes, Nodes, Nodes]:
        """Nodes to learn from, nodes that decide, and nodes that are tested."""
        data = data_of(self.data)
        train, validation, test = split_nodes(np.asarray(data.labels), self.seed, self.of_a_class)
        return Nodes(data, train), Nodes(data, validation), Nodes(data, test)


def judge_nodes(setting: SplitOfNodes) -> dict[str, Any]:
    """All rows of a split."""
    train, validation, test = setting.parts
    most = test.labels == np.bincount(test.labels).argmax()
    rows = [row_of("most frequent class", most, always(most, list(ATTACKS)), tries=1, alpha=0, seconds=0)]

    def add(name: str, method: Method, chosen_for: str, attacks: tuple[str, ...]) -> None:
        start = time.perf_counter()
        fitted: Fitted = method.fit(train, validation, chosen_for)  # type: ignore[arg-type]
        found: dict[str, Result] = {attack: method.certify(test, attack) for attack in attacks}  # type: ignore[arg-type]
        answers = np.array([one.answer for one in found[attacks[0]].outcomes])
        safe = {
            attack: np.array([one.withstands(sum(ATTACKS[attack])) for one in result.outcomes])
            for attack, result in found.items()
        }
        rows.append(row_of(name, answers == test.labels, safe, tries=len(fitted.tries), alpha=0, choice=fitted.chosen,
                           seconds=time.perf_counter() - start))  # fmt: skip

    with one_torch_thread():
        networks = setting.networks
        add("blind", BlindNodes(networks), "additions:1", tuple(ATTACKS))
        for asked in ASKED:
            add(f"link votes, for {asked}, exact", VotesOfLinks(networks), asked, tuple(ATTACKS))
        add("link propagation, for deletions:1, exact", OverLinks(networks), "deletions:1", ONE_LINK)
    return {"rows": rows, "numbers": test.numbers.tolist(), "device": "CPU"}


def smooth_nodes(setting: SplitOfNodes) -> dict[str, Any]:
    """Smoothing with noise that only deletes links, by p_A: the noise with most validation nodes at one added link.

    The votes that choose among the noises certify, too: alpha is that of all tries together.
    """
    (train, validation, test), start = setting.parts, time.perf_counter()
    labels, networks = np.asarray(test.data.labels), setting.networks
    method, best, kept = OneWayNodes(networks), -1.0, None
    for rates in method.settings:
        with one_torch_thread():
            smoothed = method.model(rates, train, validation).value
            found = node_certificates(networks, smoothed, test.graph, setting.samples, setting.seed).value
        right = (np.asarray(found.labels) == labels) & ~np.array([one.abstained for one in found])
        safe = {name: right & found.certified((deleted, added)) for name, (added, deleted) in ATTACKS.items()}
        weights = weights_of(validation, np.delete(np.asarray(found.labels), train.numbers))
        if (share := float(weights @ safe["additions:1"][validation.numbers])) > best:
            tested = {name: mask[test.numbers] for name, mask in safe.items()}
            best, kept = share, (right[test.numbers], tested, rates[0])
    assert kept is not None
    row = row_of("one-way noise, p_A", kept[0], kept[1], tries=len(method.settings),
                 alpha=len(method.settings) * ALPHA, choice=f"delete {kept[2]}",
                 seconds=time.perf_counter() - start)  # fmt: skip
    return {"rows": [row], "numbers": test.numbers.tolist(), "device": here()[1]}
