"""Two methods that are made for nodes: blind scores with a vote of each link, and blind scores propagated over links.

Both are certain, and a change is of any link of the graph. What they say about a node holds for all changes of at most
a size: `flips:k` are at most k added and deleted links in any mix, `rewire:k` k deleted and k added ones.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from starcert.benchmark.folds import Nodes
from starcert.benchmark.methods import Fitted, TriedMethod
from starcert.benchmark.outcomes import KINDS, Result, Timed, fewer, kind_of
from starcert.claims.outcomes import Outcome
from starcert.models import LinkPropagation, LinkVotes
from starcert.objects.neighbours import nearest_neighbours


class OfLinks(TriedMethod):
    """A method that begins with blind scores; validation nodes choose."""

    of_nodes, trains = True, False
    decides: ClassVar[bool]  # whether an attack is known where a size is not certified, and any size can be asked about

    @override
    def speaks_of(self, threat: str) -> bool:
        return kind_of(threat)[0] in KINDS

    @override
    def fit(self, train: Nodes, validation: Nodes, threat: str) -> Fitted:
        self.start, seconds = self.networks.blind(train, validation)
        return super().fit(train, validation, threat)._replace(train_seconds=seconds)

    @override
    def judge(self, model: Any, objects: Nodes, threat: str, *, choosing: bool = False) -> Result:
        begun, (kind, most), numbers = time.perf_counter(), kind_of(threat), objects.numbers
        if not self.decides:  # nothing is known about several links
            most = int(kind != "rewire")
        answers = model.answers(objects.graph)[numbers].tolist()
        found = tuple(Outcome(answer, 0) for answer in answers)
        if most:
            certified = model.certify(objects.graph, threat=fewer(threat, most), nodes=numbers).outcomes()
            found = tuple(Outcome(one.answer, one.certified, one.broken) for one in certified)
        return Result(threat, found, None, 0, 1, time.perf_counter() - begun, None if self.decides else most)


class VotesOfLinks(OfLinks):
    """Blind scores and one vote of every linked node; the answer without links has a bonus of several votes."""

    name, certifies = "link votes", "blind scores and a vote of each link; certain"
    decides = True

    @override
    def words(self, setting: Any) -> str:
        return "weight {}, bonus {:g}".format(*setting)

    @override
    def fit(self, train: Nodes, validation: Nodes, threat: str) -> Fitted:
        """Tries three weights and bonuses: several links more than the threat has must speak against the blind answer.

        Deleted links leave the answers of the others, so smaller ones do.
        """
        kind, size = kind_of(threat)
        links = 2 * size if kind == "rewire" else size
        self.settings = [(0.6, 2 * links), (0.4, 2 * links), (0.6, 3 * links)]
        if kind == "deletions":
            self.settings = [(0.6, 2 * size), (0.6, size), (0.6, size - 1)]
        return super().fit(train, validation, threat)

    @override
    def model(self, setting: Any, train: Nodes, validation: Nodes) -> Timed:
        (weight, bonus), known = setting, (train.numbers, train.labels)
        return Timed(LinkVotes.of_logits(self.start.scores, weight=weight, bonus=bonus, known=known), 0.0)


class OverLinks(OfLinks):
    """Blind scores propagated over links and nearest neighbours; every attack with one link is tried.

    Where the lead after an attack is within `LinkPropagation.tolerance`, it is open whether the answer changes; so
    nothing is called broken.
    """

    name, certifies = "link propagation", "blind scores propagated over links; certain"
    settings = (0.1, 0.2, 0.3)  # what scores count that are not propagated
    decides = False

    @override
    def words(self, setting: float) -> str:
        return f"own {setting}"

    @override
    def model(self, setting: float, train: Nodes, validation: Nodes) -> Timed:
        near, known = nearest_neighbours(np.asarray(train.graph.node_data["x"])), (train.numbers, train.labels)
        return Timed(LinkPropagation.of_logits(self.start.scores, own=setting, known=known, fixed=near), 0.0)
