"""Nodes by what is known of them without links, and one vote of every node that they are linked to: certified exactly.

A link can do no more than one vote does. So the worst attack on a node is known in closed form, whatever the size of
the graph: no noise is drawn, and no alpha is spent. A bonus for the answer without links makes it a majority that must
be beaten by several links: it can fall back to the blind answer, but never has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Self

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.methods.links import LinkProof, certify_links, node_rows
from starcert.objects import Graph
from starcert.objects.content import read_only
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError, whole_number

Whole = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

UNIT = 2**20  # scores are whole numbers of this part of 1: sums are exact
FLOOR = 3.0  # log-probabilities below −FLOOR count as that
WEIGHTS, BONUSES = (0.9, 0.6, 0.4), (0, 1, 2, 3, 4, 6, 8)  # those that `fit` tries


@dataclass(frozen=True, eq=False)
class LinkVotes:
    """The class of node v is the one with the largest score own[v] + Σ votes[u] over the nodes u that v is linked to.

    Of equal classes the first one wins. `own` and `votes` must follow from data that no attack on links can change:
    features, labels of training nodes, a model that was trained before the attack.

    Args:
        own: the scores of each node without links, whole numbers, shape (nodes, classes).
        votes: what a link to each node adds, likewise.

    Example:
        >>> votes = LinkVotes([[0, 1], [1, 0], [1, 0], [1, 0]], [[0, 2], [2, 0], [2, 0], [2, 0]])
        >>> graph = Graph(4, [(0, 1), (1, 2), (1, 3), (2, 3)])
        >>> votes.answers(graph), votes.survives(graph, additions=1), votes.survives(graph, deletions=1)
        (array([0, 0, 0, 0]), array([ True,  True,  True,  True]), array([False,  True,  True,  True]))
        >>> found = votes.certify(graph, threat="flips:2")
        >>> found.certified_sizes, found.broken_sizes, found[0].verdict("flips:1")
        (array([0, 1, 2, 2]), array([1, 2, 0, 0]), 'broken')
    """

    own: Whole
    votes: Whole

    def __post_init__(self) -> None:
        for name in ("own", "votes"):
            given: npt.NDArray[np.generic] = np.asarray(getattr(self, name))
            if given.ndim != 2 or given.dtype.kind not in "iu" or given.shape != np.shape(self.own):
                raise InvalidParameterError(name, "be whole numbers, a row for each node, of one shape", given.shape)
            object.__setattr__(self, name, read_only(given.astype(np.int64)))

    @classmethod
    def of_logits(
        cls,
        logits: npt.ArrayLike,
        *,
        weight: float,
        bonus: float = 0.0,
        known: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Self:
        """From the logits of a model that does not look at links, shape (nodes, classes).

        Own scores are log-probabilities, at least −3; the answer of the model gets `bonus` votes besides. Each node
        votes with `weight` for the answer of the model, or for its class where that is `known`: nodes and classes.
        """
        scores = np.maximum(log_probabilities(logits), -FLOOR)
        if not 0 <= weight < np.inf or not 0 <= bonus < np.inf:
            raise InvalidParameterError("weight", "and bonus be numbers of 0 or more", (weight, bonus))
        answers, unit = np.asarray(logits).argmax(axis=1), round(weight * UNIT)
        own = np.rint(scores * UNIT).astype(np.int64)
        own[np.arange(len(own)), answers] += round(bonus * unit)
        if known is not None:
            answers[np.asarray(known[0])] = np.asarray(known[1])
        return cls(own, unit * np.eye(own.shape[1], dtype=np.int64)[answers])

    @classmethod
    def fit(
        cls,
        graph: Graph,
        logits: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        train: npt.ArrayLike,
        validation: npt.ArrayLike,
        additions: int = 1,
        deletions: int = 0,
    ) -> Self:
        """The weight and the bonus with which most validation nodes are right and survive these attacks.

        Args:
            graph: the graph.
            logits: those of a model that does not look at links, of all nodes.
            labels: the classes of all nodes; those of nodes in neither set are not used.
            train: the nodes whose classes are known: they vote for these. Indices.
            validation: the nodes that decide, likewise. Of equals the smallest bonus, and the largest weight.
            additions: how many links an attacker may add.
            deletions: how many links it may delete besides.
        """
        taught, deciding, truth = np.asarray(train), np.asarray(validation), np.asarray(labels)
        best, chosen = -1.0, None
        for bonus, weight in product(BONUSES, WEIGHTS):
            tried = cls.of_logits(logits, weight=weight, bonus=bonus, known=(taught, truth[taught]))
            right = tried.answers(graph) == truth
            share = float(np.mean((right & tried.survives(graph, additions=additions, deletions=deletions))[deciding]))
            if share > best:
                best, chosen = share, tried
        assert chosen is not None
        return chosen

    def scores(self, graph: Graph) -> Whole:
        """The scores of each node, shape (nodes, classes)."""
        if graph.n_nodes != len(self.own) or graph.directed:
            raise InvalidParameterError("graph", f"be undirected, with {len(self.own)} nodes", graph)
        found = self.own.copy()
        for one, other in (graph.edges.T, graph.edges.T[::-1]):
            np.add.at(found, one, self.votes[other])
        return found

    def answers(self, graph: Graph) -> Whole:
        """The class of each node."""
        found: Whole = self.scores(graph).argmax(axis=1)
        return found

    def survives(self, graph: Graph, *, additions: int = 0, deletions: int = 0) -> Truths:
        """For each node, whether no attack within these numbers of links, anywhere, changes its class.

        It is exact: where it says no, there is such an attack.
        """
        whole_number("additions", additions, 0)
        whole_number("deletions", deletions, 0)
        scores = self.scores(graph)
        answers, found = scores.argmax(axis=1), np.ones(graph.n_nodes, dtype=bool)
        linked: list[list[int]] = [[] for _ in range(graph.n_nodes)]
        for u, v in graph.edges.tolist():
            linked[u].append(v)
            linked[v].append(u)
        for mine, rival in product(range(scores.shape[1]), repeat=2):
            gains = self.votes[:, rival] - self.votes[:, mine]  # of an added link to each node
            most = additions * max(0, gains.max(initial=0)) - deletions * min(0, gains.min(initial=0))
            nodes = np.flatnonzero((answers == mine) & found & (scores[:, mine] - scores[:, rival] <= most))
            if mine == rival or not len(nodes):
                continue
            order = np.argsort(-gains, kind="stable")
            helpful = order[: int((gains > 0).sum())].tolist()
            for node in nodes.tolist():
                lead = int(scores[node, mine] - scores[node, rival])
                lead -= int(gains[list(_others(helpful, {node, *linked[node]}, additions))].sum())
                lead += int(np.sort(np.minimum(gains[linked[node]], 0))[:deletions].sum())
                found[node] = lead > 0 or (lead == 0 and mine < rival)
        return found

    def certify(
        self, graph: Graph, *, threat: Threat | str, nodes: npt.ArrayLike | None = None
    ) -> Certificates[LinkProof]:
        """One certificate for each node: at every size of a threat it is certified, or broken; alpha is 0.

        Args:
            graph: the graph.
            threat: flips, deletions, additions, and deletions + additions, are decided; rewired edges, exchanged ends
                and local budgets are certified as part of these.
            nodes: those that are asked about; None: all. Indices.
        """
        index, about = node_rows(graph, nodes, self.own.shape[1])

        def survives(deleted: int, added: int) -> Truths:
            return self.survives(graph, additions=added, deletions=deleted)[index]

        return certify_links(self.answers(graph)[index], survives, about, threat, how="votes of links")


def log_probabilities(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Of logits, a row for each node."""
    given = np.asarray(logits, dtype=np.float64)
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidParameterError("logits", "be numbers, a row for each node", given.shape)
    rest = given - given.max(axis=1, keepdims=True)
    found: npt.NDArray[np.float64] = rest - np.log(np.exp(rest).sum(axis=1, keepdims=True))
    return found


def _others(ranked: list[int], taken: set[int], count: int) -> Iterator[int]:
    """The first of ranked nodes that are not taken."""
    return islice((node for node in ranked if node not in taken), count)
