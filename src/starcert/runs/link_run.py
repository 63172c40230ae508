"""Link votes in a run: starcert's own model of the nodes of one graph, and what it answers as a classifier of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.baselines.blind_model import MEAN, node_scores, weights_by_class
from starcert.classifiers.base import Classifier
from starcert.classifiers.functions import nodes_of
from starcert.datasets.dataset import Dataset
from starcert.datasets.parts import MASKS
from starcert.math.closed_forms import Links, sums_of_votes
from starcert.models.link_votes import LinkVotes
from starcert.objects import NodeFrame
from starcert.objects.content import digest
from starcert.objects.threats import Threat
from starcert.sampling.batch import NoisyGraphs
from starcert.system.errors import InvalidParameterError
from starcert.system.output import note


def link_votes(data: Dataset, threat: Threat | None) -> LinkVotes:
    """The votes of links that certify most validation nodes under a threat, on top of the best blind model.

    The blind model is the candidate with most validation nodes right. Masks in the node data say which nodes it learns
    from, and which decide; their classes count as often as blind models answer them elsewhere.
    """
    if not data.of_nodes or data.labels.dtype == object or threat is None:
        raise InvalidParameterError("data", "be one graph with a class for each of its nodes", data)
    train, validation = (nodes_of(name, data.graph.frame) for name in MASKS[:2])
    labels = np.asarray(data.labels, dtype=np.int64)
    scores = node_scores(data.graph, train, labels[train], data.n_classes)
    if not scores:
        hint = "Link votes begin with a model of node data, such as words: give each node a row of numbers."
        raise InvalidParameterError("data", f"has no node data to learn from. {hint}")
    answers = {name: each.argmax(axis=1) for name, each in scores.items()}
    weights = weights_by_class(labels[validation], np.delete(answers[MEAN], train), data.n_classes)
    right = {name: float(weights @ (each[validation] == labels[validation])) for name, each in answers.items()}
    best = max(right, key=lambda name: right[name])
    parts: dict[str, Any] = {"train": train, "validation": validation, "weights": weights}
    found = LinkVotes.fit(data.graph, scores[best], labels, **parts, threat=threat)
    share = f"right on {right[best]:.1%} of {len(validation):,} validation nodes, weighted by class"
    said = f"Blind: {best}, {share}. Links: {found.about}."
    note(said)
    return replace(found, about=said)


class LinkClassifier(Classifier):
    """The answers of votes of links for some nodes of a graph."""

    def __init__(self, votes: LinkVotes, nodes: str | None, class_names: Sequence[str]) -> None:
        self.votes, self.nodes, self.n_classes = votes, nodes, votes.own.shape[1]
        self.class_names = tuple(class_names) if len(class_names) == self.n_classes else None

    @property
    @override
    def description(self) -> str:
        content = digest(self.votes.own.tobytes(), self.votes.votes.tobytes())
        return f"link votes {content} of {self.nodes or 'all nodes'}"

    @override
    def n_targets(self, frame: NodeFrame) -> int:
        return len(self.target_nodes(frame))

    @override
    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64]:
        return nodes_of(self.nodes, frame)

    @override
    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        nodes, n_nodes = self.target_nodes(graphs.frame), graphs.frame.n_nodes
        every = (Links.of(n_nodes, pairs) for pairs in graphs.edges().pairs())
        scores = [sums_of_votes(self.votes.own, self.votes.votes, links)[nodes] for links in every]
        found: npt.NDArray[np.int64] = np.stack(scores).argmax(axis=2)
        return found
