"""Hashed voting: every node pair has one voter that sees it, so few changes reach few voters. Nothing is sampled.

    pairs   `PairHash` (names of nodes only) into T groups       voter g: the base classifier on the edges of group g
    rule    "counting": each change turns a voter from A to B    "exact": what changes do to each voter is tried

The exact rule tries all attacks of at most `tried` changes inside each group by `ExactClassifier`, assumes the worst
beyond, and finds the worst division of a budget over the groups (`math/closed_forms.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Literal, TypedDict

import numpy as np
from typing_extensions import Unpack

from starcert.claims.certificates import Certificates
from starcert.classifiers.base import Classifier
from starcert.classifiers.derived import EachClass
from starcert.math import closed_forms as votes
from starcert.math.arithmetic import Whole
from starcert.math.closed_forms import Truths
from starcert.methods.estimator import GraphLike, as_objects
from starcert.methods.exhaustive import ExactClassifier, TriedAttacks, any_changes, rows_of
from starcert.methods.hashed_voters import Cell, HashedVoters, Reached, budget_of
from starcert.objects import Graph, Sites
from starcert.objects.binding import Problem
from starcert.objects.hashed_pairs import PairHash, listed
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.voting.plans import Job

MAX_TRIED = 16


class Trying(TypedDict, total=False):
    """The options for trying attacks, as in `ExactClassifier.certify`."""

    max_attacks: int
    executor: Executor | None
    batch_size: int | None
    progress: bool | str | None


class HashedVotes:
    """The class that most of T voters answer, each on one group of node pairs; the smallest class wins a tie.

    Args:
        base: the classifier of all voters; train it on `copies` of the training graphs.
        groups: how many groups, T, and so voters.
        seed: of the hash.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 0), n_classes=2)
        >>> ring = sc.Graph(12, [(node, (node + 1) % 12) for node in range(12)])
        >>> voting = HashedVotes(base, groups=5)
        >>> [voting.certify([ring], threat="flips:5", rule=rule)[0].certified_size for rule in ("counting", "exact")]
        [2, 4]
    """

    def __init__(self, base: Classifier, groups: int, seed: int = 0) -> None:
        ExactClassifier(base)  # refuses what does not answer classes
        self.base, self.hash, self.groups = base, PairHash(seed), whole_number("groups", groups, 1, 2**16)

    def copies(self, graphs: Sequence[GraphLike]) -> list[list[Graph]]:
        """The part of each graph that each voter sees: the graphs to train it on, all of one graph with its label."""
        return [list(self._seen(sites.graph)) for sites in self._problem(graphs).sites]

    def predict(self, graphs: Sequence[GraphLike]) -> Whole:
        """The answer to each graph, or target of a graph."""
        return self.certify(graphs, threat="flips:1", rule="counting").labels

    def certify(
        self,
        graphs: Sequence[GraphLike],
        *,
        threat: Threat | str,
        tried: int = 2,
        rule: Literal["counting", "exact"] = "exact",
        reached: Reached | None = None,
        **how: Unpack[Trying],
    ) -> Certificates[HashedVoters]:
        """Decides for each size of a threat whether the answer can change.

        Args:
            graphs: the clean graphs.
            threat: flips, deletions, additions or other changes of single pairs, and deletions + additions, are
                decided; rewired edges, exchanged ends and local budgets are certified as part of these.
            tried: up to how many changes inside a group all attacks are tried by the exact rule.
            rule: "exact", or "counting": every change costs two votes, as in GNNCert.
            reached: what `reach` of these voters found on these graphs, in place of trying attacks again.
            how: `max_attacks` that are tried on each voter of a graph for one sort of changes, at most; `executor`,
                `batch_size` and `progress` as in `ExactClassifier.certify`.
        """
        begun, asked, problem = time.perf_counter(), read_threat(threat), self._problem(graphs)
        if rule not in ("counting", "exact"):
            raise InvalidParameterError("rule", "be 'counting' or 'exact'", rule)
        depth = whole_number("tried", tried, 0, MAX_TRIED) if rule == "exact" else 0
        typed = any(each.graph.type_names for each in problem.sites)
        known_apart = reached is not None and rule == "exact"
        budget = budget_of(asked, typed=typed, apart=known_apart)
        most = max(i for each in budget.cells for i, _ in each), max(j for each in budget.cells for _, j in each)
        if reached is None:
            reached = self._reached(problem, budget.single, depth, most, how)
        elif reached.asker is not self:
            raise InvalidParameterError("reached", "be what `reach` of these voters returned", "that of other voters")
        elif _keys(reached.graphs) != _keys(problem.sites) or (known_apart and budget.single):
            raise InvalidParameterError("reached", "be what was tried on these graphs, and for such threats", threat)
        found = reached
        answers, needed = votes.winners(found.votes, self.base.n_classes)
        if rule == "counting":
            lost = np.broadcast_to(
                2 * np.add(*np.ogrid[: most[0] + 1, : most[1] + 1]), (*needed.shape, *np.add(most, 1))
            )
        else:
            known = votes.known_gains(found.votes, answers, found.reached)
            possible = found.reached | ~found.covered[:, :, None]
            lost = votes.largest_sums(votes.known_gains(found.votes, answers, possible), most)
        certified = np.all(lost < needed[..., None, None], axis=1)
        broken: Truths = np.zeros_like(certified)
        if rule == "exact" and not budget.relaxed:
            broken = np.any(votes.largest_sums(known, most) >= needed[..., None, None], axis=1)
        at_most = np.stack([np.all([certified[:, i, j] for i, j in cells], axis=0) for cells in budget.cells], axis=1)
        changed = np.stack([np.any([broken[:, i, j] for i, j in cells], axis=0) for cells in budget.cells], axis=1)
        proof = HashedVoters(
            asked,
            rule,
            budget,
            found,
            np.logical_and.accumulate(at_most, axis=1).sum(axis=1),
            np.where(changed.any(axis=1), changed.argmax(axis=1) + 1, 0),
            self.base.description,
        )
        rows = rows_of(Job.of(self.base, problem, 0))
        return Certificates(rows, answers, asked, proof, time.perf_counter() - begun)

    def reach(self, graphs: Sequence[GraphLike], *, most: int = 2, tried: int = 2, **how: Unpack[Trying]) -> Reached:
        """Tries attacks once for several threats: in a group `most` deletions and `most` additions, `tried` in all.

        What it finds serves flips, deletions, additions, both together, and rewired edges, of any size and by both
        rules: `certify(graphs, threat=…, reached=…)`. It is about the classifier as it is now.
        """
        problem, depth = self._problem(graphs), whole_number("tried", tried, 1, MAX_TRIED)
        if any(each.graph.type_names for each in problem.sites):
            raise InvalidParameterError("graphs", "have edges of one type", graphs)
        found = self._reached(problem, None, depth, (whole_number("most", most, 1, MAX_TRIED),) * 2, how)
        return found._replace(asker=self)

    def _reached(self, problem: Problem, single: Threat | None, depth: int, most: Cell, how: Trying) -> Reached:
        voters = [each for sites in problem.sites for each in self._voters(sites, attacked=depth > 0)]
        exact = ExactClassifier(EachClass(self.base))

        def ask(about: Problem, within: Threat) -> Certificates[TriedAttacks]:
            return exact.certify(about, threat=within, **how)

        return Reached.of(ask, self.base.n_classes, voters, problem.sites, single, depth, most)

    def _problem(self, graphs: Sequence[GraphLike]) -> Problem:
        problem = any_changes(as_objects(graphs), None)
        for sites in problem.sites:
            if not isinstance(sites.clean, Graph) or not all(layer.name in EDGE_LAYERS for layer in sites.layers):
                raise InvalidParameterError("graphs", "be graphs whose node pairs are attacked", sites)
        return problem

    def _seen(self, graph: Graph) -> Iterator[Graph]:
        """The part that each voter sees."""
        u, v = graph.edges.T
        groups = self.hash.groups(graph, u, v, self.groups)
        for voter in range(self.groups):
            yield graph.with_some_edges(groups == voter)

    def _voters(self, sites: Sites, *, attacked: bool = False) -> Iterator[Sites]:
        """The part that each voter sees, and the pairs of its group, if they are attacked."""
        graph = sites.graph
        u, v = sites.coordinates(np.arange(sites.n_sites if attacked else 0))
        pairs = self.hash.groups(graph, u, v, self.groups)
        for voter, seen in enumerate(self._seen(graph)):
            mine = pairs == voter
            yield Sites(seen, ("all",), (listed(u[mine], v[mine], directed=graph.directed),))


def _keys(sites: Sequence[Sites]) -> list[str]:
    return [each.clean.key for each in sites]
