"""Nodes by what is known of them without links, and one vote of every node that they are linked to: certified exactly.

A link can do no more than one vote does. So the worst attack on a node is known in closed form, whatever the size of
the graph: no noise is drawn, and no alpha is spent. A bonus for the answer without links makes it a majority that must
be beaten by several links: it can fall back to the blind answer, but never has to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.math.closed_forms import LinkAttacks, Links, breaking_links, safe_sizes, sums_of_votes
from starcert.methods.links import LinkAttack, LinkProof, link_attacks, node_rows
from starcert.objects import Graph
from starcert.objects.content import read_only
from starcert.objects.threats import Rewire, Swap, Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number

Whole = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

UNIT = 2**20  # scores are whole numbers of this part of 1: sums are exact
MAX_SUM = 2**60  # of the sizes of scores, and of votes: no sum of them, and no lead, leaves 64 bits
FLOOR = 3.0  # log-probabilities below −FLOOR count as that
WEIGHTS = 0.9, 0.6, 0.4, 0.2, 0.1, 0.05, 0.025  # those that `fit` tries
Cast: TypeAlias = Literal["hard", "soft", "log"]


@dataclass(frozen=True, eq=False)
class LinkVotes:
    """The class of node v is the one with the largest score own[v] + Σ votes[u] over the nodes u that v is linked to.

    Of equal classes the first one wins. `own` and `votes` must follow from data that no attack on links can change:
    features, labels of training nodes, a model that was trained before the attack.

    Args:
        own: the scores of each node without links, whole numbers, shape (nodes, classes).
        votes: what a link to each node adds, likewise.
        about: what they are, in words, for the record.

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
    about: str = ""

    def __post_init__(self) -> None:
        for name in ("own", "votes"):
            given: npt.NDArray[np.generic] = np.asarray(getattr(self, name))
            if given.ndim != 2 or given.dtype.kind not in "iu" or given.shape != np.shape(self.own):
                raise InvalidParameterError(name, "be whole numbers, a row for each node, of one shape", given.shape)
            largest = max(abs(int(given.min(initial=0))), int(given.max(initial=0)))
            if largest * len(given) > MAX_SUM:
                hint = "Divide all scores and votes by one number."
                requirement = f"be at most {MAX_SUM // len(given):,} in size, so that sums stay within 64 bits"
                raise InvalidParameterError(name, requirement, largest, hint)
            object.__setattr__(self, name, read_only(given.astype(np.int64)))

    @classmethod
    def of_logits(
        cls,
        logits: npt.ArrayLike,
        *,
        weight: float,
        bonus: float = 0.0,
        known: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        votes: Cast = "hard",
    ) -> Self:
        """From the logits of a model that does not look at links, shape (nodes, classes).

        Own scores are log-probabilities, at least −3; the answer of the model gets `bonus` votes besides. Each node
        votes with `weight` for the answer of the model, or for its class where that is `known`: nodes and classes.
        Soft votes are its probabilities, and log votes their logarithms, at least −3 and divided by 3.
        """
        scores = np.maximum(log_probabilities(logits), -FLOOR)
        if not 0 <= weight * max(1, bonus) * UNIT * len(scores) < MAX_SUM or not 0 <= bonus < np.inf:
            raise InvalidParameterError("weight", "and bonus be numbers of 0 or more, and not huge", (weight, bonus))
        if votes not in get_args(Cast):
            raise InvalidParameterError("votes", f"be one of {', '.join(get_args(Cast))}", votes)
        answers, unit = np.asarray(logits).argmax(axis=1), round(weight * UNIT)
        own = np.rint(scores * UNIT).astype(np.int64)
        own[np.arange(len(own)), answers] += round(bonus * unit)
        every = np.eye(own.shape[1])
        cast = {"hard": every[answers], "soft": np.exp(scores), "log": 1 + scores / FLOOR}[votes]
        if known is not None:
            cast[np.asarray(known[0])] = every[np.asarray(known[1])]
        about = f"{votes} votes of weight {weight:g}, bonus {bonus:g}"
        return cls(own, np.rint(unit * cast).astype(np.int64), about)  # each vote by itself is from 0 to its weight

    @classmethod
    def fit(
        cls,
        graph: Graph,
        blind: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        train: npt.ArrayLike,
        validation: npt.ArrayLike,
        threat: Threat | str = "additions:1",
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Self:
        """The votes with which most validation nodes are right and certified under a threat.

        Tried are seven weights of a link (the more links nodes have, the less one should weigh), a bonus for the blind
        answer from none to more than the threat can undo, and hard and soft votes. With a large enough bonus the
        answer is the blind one.

        Args:
            graph: the graph.
            blind: the logits of a model that does not look at links, of all nodes.
            labels: the classes of all nodes; those of nodes in neither set are not used.
            train: the nodes whose classes are known: they vote for these. Indices.
            validation: the nodes that decide, likewise. Of equals the smallest bonus, and the largest weight.
            threat: what the attacker can do.
            weights: how much each validation node counts; None: all the same.
        """
        asked, truth = read_threat(threat), np.asarray(labels)
        taught, deciding = np.asarray(train), np.asarray(validation)
        known, links = (taught, truth[taught]), Links.of(graph.n_nodes, graph.edges)
        most = 2 * asked.most if isinstance(asked, Rewire | Swap) else asked.most
        undone = [most * times // 2 for times in (1, 2, 3, 4, 6)]
        bonuses = sorted({0, 1, 2, *undone, most * 8, int(links.degrees.max(initial=0)) + 8 * most})
        best, chosen = -1.0, None
        for bonus, weight, votes in product(bonuses, WEIGHTS, get_args(Cast)[:2]):
            tried = cls.of_logits(blind, weight=weight, bonus=bonus, known=known, votes=votes)
            found = tried._certify(graph, links, asked, deciding)
            kept = (found.labels == truth[deciding]) & (found.proof.certified_sizes >= asked.most)
            share = float(np.average(kept, weights=weights))
            if share > best:
                best, chosen = share, tried
        assert chosen is not None
        return chosen

    def scores(self, graph: Graph) -> Whole:
        """The scores of each node, shape (nodes, classes)."""
        return self._scores(graph, Links.of(graph.n_nodes, graph.edges))

    def _scores(self, graph: Graph, links: Links) -> Whole:
        if graph.n_nodes != len(self.own) or graph.directed:
            raise InvalidParameterError("graph", f"be undirected, with {len(self.own)} nodes", graph)
        return sums_of_votes(self.own, self.votes, links)

    def answers(self, graph: Graph) -> Whole:
        """The class of each node."""
        found: Whole = self.scores(graph).argmax(axis=1)
        return found

    def survives(self, graph: Graph, *, additions: int = 0, deletions: int = 0) -> Truths:
        """For each node, whether no attack within these numbers of links, anywhere, changes its class.

        It is exact: where it says no, there is such an attack.
        """
        cell = whole_number("deletions", deletions, 0), whole_number("additions", additions, 0)
        links = Links.of(graph.n_nodes, graph.edges)
        every = np.arange(graph.n_nodes)
        found: Truths = safe_sizes(self._scores(graph, links), self.votes, links, LinkAttacks([[cell]]), every) == 1
        return found

    def certify(
        self, graph: Graph, *, threat: Threat | str, nodes: npt.ArrayLike | None = None
    ) -> Certificates[LinkProof]:
        """One certificate for each node: at every size of a threat it is certified, or broken; alpha is 0.

        `proof.at_most_changed(k)` is how many of these answers one attack of size k can change at once.

        Args:
            graph: the graph.
            threat: flips, deletions, additions, deletions + additions, local budgets, nodes that the attacker controls
                (`controlled`: any flips at them) and one rewired edge are decided; more of them, and exchanged ends,
                are certified as part of as many deletions and additions.
            nodes: those that are asked about; None: all. Indices.
        """
        return self._certify(graph, Links.of(graph.n_nodes, graph.edges), read_threat(threat), nodes)

    def _certify(
        self, graph: Graph, links: Links, threat: Threat, nodes: npt.ArrayLike | None
    ) -> Certificates[LinkProof]:
        index, about = node_rows(graph, nodes, self.own.shape[1])
        attacks, budget = link_attacks(threat, graph)
        scores = self._scores(graph, links)
        certified = safe_sizes(scores, self.votes, links, attacks, index)
        is_broken = certified < (1 if budget.relaxed else threat.most)
        if budget.relaxed and not attacks.first_is_rewire:
            is_broken[:] = False
        broken = np.where(is_broken, certified + 1, 0)
        find = LinkAttack(scores, self.votes, graph, partial(self._breaking, scores, links, attacks, index), self.own)
        proof = LinkProof(threat, "votes of links", budget.relaxed, certified, broken, find)
        return Certificates(about, scores[index].argmax(axis=1), threat, proof)

    def _breaking(
        self, scores: Whole, links: Links, attacks: LinkAttacks, index: Whole, row: int, size: int
    ) -> tuple[int, npt.ArrayLike]:
        """The node of a row, and the pairs of an attack of this size that changes its answer."""
        node = int(index[row])
        return node, breaking_links(scores, self.votes, links, attacks, node, size)


def log_probabilities(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Of logits, a row for each node."""
    given = np.asarray(logits, dtype=np.float64)
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidParameterError("logits", "be numbers, a row for each node", given.shape)
    rest = given - given.max(axis=1, keepdims=True)
    found: npt.NDArray[np.float64] = rest - np.log(np.exp(rest).sum(axis=1, keepdims=True))
    return found
