"""Nodes by what is known of them without links, propagated over links and over fixed edges: certified exactly.

Every node keeps part of its own answer and draws towards the nodes that it is linked to. One link more or less changes
the linear system by a matrix of rank one, so what every node is then answered has a closed form: all attacks with one
link are tried, no noise is drawn, and no alpha is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.methods.links import LinkProof, certify_links, node_rows
from starcert.models.link_votes import FLOOR, log_probabilities
from starcert.objects import Graph
from starcert.objects.content import read_only
from starcert.objects.laws import real_number
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number

Whole = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Real = npt.NDArray[np.float64]

TOLERANCE = 1e-9  # a lead that is not above this and the proved error counts as broken
MAX_TOLERANCE = 1e-3  # where the two are more, nothing useful would survive
BLOCK = 32  # nodes of which all added links are tried at once


@dataclass(frozen=True, eq=False)
class LinkPropagation:
    """The class of node v is the one with the largest score own[v] + f[v], with f the solution of S f = keep · start.

    S = keep · 1 + L, L the Laplacian of the links, each of weight 1, and of fixed edges. So f[v] is the mean of
    start[v], with weight `keep`, and of f of the nodes that v is joined to, with the weights of the edges. Of equal
    classes the first one wins. All fields must follow from data that no attack on links can change: features, labels
    of training nodes, a model that was trained before the attack. Memory and time are those of a dense matrix of
    nodes by nodes.

    Args:
        own: scores that are not propagated, shape (nodes, classes).
        start: scores that are, likewise.
        keep: how much a node's own start counts beside a link; above 0. Where it is so small (below about 0.03) that
            rounding errors may reach a thousandth, it is refused on that graph: see `tolerance`.
        fixed: pairs of nodes that are joined whatever the links are: nearest neighbours by features.
        fixed_weight: what such a pair counts beside a link.

    Example:
        >>> model = LinkPropagation(np.zeros((4, 2)), [[0.4, 0.6], [1, 0], [1, 0], [1, 0]], keep=1)
        >>> graph = Graph(4, [(0, 1), (1, 2), (1, 3), (2, 3)])
        >>> model.answers(graph), model.survives(graph, additions=1), model.survives(graph, deletions=1)
        (array([0, 0, 0, 0]), array([ True,  True,  True,  True]), array([False,  True,  True,  True]))
    """

    own: Real
    start: Real
    keep: float
    fixed: Whole | None = None
    fixed_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("own", "start"):
            given = np.array(getattr(self, name), dtype=np.float64)
            if given.ndim != 2 or not np.isfinite(given).all() or given.shape != np.shape(self.own):
                raise InvalidParameterError(name, "be numbers, a row for each node, of one shape", given.shape)
            object.__setattr__(self, name, read_only(given))
        if not 0 < real_number(self.keep) < np.inf:
            raise InvalidParameterError("keep", "be a number above 0", self.keep)
        if not 0 <= real_number(self.fixed_weight) < np.inf:
            raise InvalidParameterError("fixed_weight", "be a number of 0 or more", self.fixed_weight)
        pairs = np.array([] if self.fixed is None else self.fixed, dtype=np.int64).reshape(-1, 2)
        if len(pairs) and not 0 <= pairs.min() <= pairs.max() < len(self.own):
            raise InvalidParameterError("fixed", f"be pairs of nodes from 0 to {len(self.own) - 1}", self.fixed)
        object.__setattr__(self, "fixed", read_only(pairs))

    @classmethod
    def of_logits(
        cls,
        logits: npt.ArrayLike,
        *,
        own: float,
        keep: float = 0.3,
        known: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        fixed: Whole | None = None,
        fixed_weight: float = 0.05,
    ) -> Self:
        """From the logits of a model that does not look at links, shape (nodes, classes).

        What is propagated is the squares of its probabilities, scaled to sum to 1, or the class where that is
        `known`: nodes and classes. Log-probabilities, at least −3, times `own` are added where they are.
        """
        if not 0 <= real_number(own) < np.inf:
            raise InvalidParameterError("own", "be a number of 0 or more", own)
        scores = log_probabilities(logits)
        start = np.exp(log_probabilities(2 * scores))
        if known is not None:
            start[np.asarray(known[0])] = np.eye(start.shape[1])[np.asarray(known[1])]
        return cls(own * np.maximum(scores, -FLOOR), start, keep, fixed, fixed_weight)

    def scores(self, graph: Graph) -> Real:
        """The scores of each node, shape (nodes, classes)."""
        return _solved(self, graph).scores.copy()

    def answers(self, graph: Graph) -> Whole:
        """The class of each node."""
        return _solved(self, graph).best.copy()

    def tolerance(self, graph: Graph) -> float:
        """The lead that a class needs to count as ahead after an attack: 1e-9 and the proved bound on rounding errors.

        The bound grows with degrees, and about like 1/keep⁴ where `keep` is small: with 1,500 nodes and 4,000 links
        it was 3e-7 at keep 0.3 and 0.19 at 0.01.
        """
        return _solved(self, graph).tolerance

    def survives(
        self, graph: Graph, *, additions: int = 0, deletions: int = 0, nodes: npt.ArrayLike | None = None
    ) -> Truths:
        """For each node, whether no added link, or no deleted one, anywhere, changes its class: one link in all.

        It is exact but for leads of at most `tolerance(graph)`, which count as broken.

        Args:
            graph: the graph.
            additions: how many links an attacker may add, 0 or 1.
            deletions: how many it may delete, 0 or 1.
            nodes: those that are asked about; None: all. Indices.
        """
        hint = "Only attacks with one link have a closed form: ask for additions and for deletions apart."
        whole_number("additions", additions, 0, 1, hint)
        whole_number("deletions", deletions, 0, 1 - additions, hint)
        solved = _solved(self, graph)
        asked = np.arange(graph.n_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        if not additions + deletions:
            return np.ones(len(asked), dtype=bool)
        solved.refuse_beyond(solved.tolerance)
        attacked = solved.survives_added if additions else solved.survives_deleted
        return np.array([attacked(node) for node in asked.tolist()], dtype=bool)

    def certify(
        self, graph: Graph, *, threat: Threat | str, nodes: npt.ArrayLike | None = None
    ) -> Certificates[LinkProof]:
        """One certificate for each node, for one link: "flips:1", "deletions:1" or "additions:1"; alpha is 0.

        What is not certified is open: a lead of at most `tolerance(graph)` says nothing.

        Args:
            graph: the graph.
            threat: what the attacker can do; several links have no closed form, and are refused.
            nodes: those that are asked about; None: all. Indices.
        """
        hint = "Only attacks with one link have a closed form."
        whole_number("threat.most", read_threat(threat).most, 1, 1, hint)
        index, about = node_rows(graph, nodes, self.own.shape[1])

        def survives(deleted: int, added: int) -> Truths:
            return self.survives(graph, additions=added, deletions=deleted, nodes=index)

        return certify_links(self.answers(graph)[index], survives, about, threat, how="propagation")


class _Solved:
    """A model on a graph: M = S^−1, f = keep · M start, and proved bounds on their errors.

    With R = 1 − S M̂ for a computed M̂, M − M̂ = M R; M has no negative entry and rows that sum to 1/keep, so no entry is
    wrong by more than max|R|/keep. The same holds of f.
    """

    def __init__(self, model: LinkPropagation, graph: Graph) -> None:
        n = len(model.own)
        if graph.n_nodes != n or graph.directed:
            raise InvalidParameterError("graph", f"be undirected, with {n} nodes", graph)
        from scipy.sparse import coo_array, diags_array  # noqa: PLC0415  (takes its time)

        assert model.fixed is not None
        self.keep, self.links = float(model.keep), graph.edges
        pairs = np.concatenate([graph.edges, model.fixed])
        weights = np.repeat([1.0, model.fixed_weight], [len(graph.edges), len(model.fixed)])
        one, other = np.concatenate([pairs, pairs[:, ::-1]]).T
        joined = coo_array((np.tile(weights, 2), (one, other)), shape=(n, n)).tocsr()
        self.system: Any = (diags_array(self.keep + joined.sum(axis=1)) - joined).tocsr()
        self.wanted = self.keep * model.start
        try:
            self.inverse: Real = np.linalg.inv(self.system.toarray())
        except np.linalg.LinAlgError:
            self.inverse = np.full((n, n), np.nan)
        self.diagonal = self.inverse.diagonal().copy()
        self.passed = self.inverse @ self.wanted
        self.scores = model.own + self.passed
        self.best: Whole = self.scores.argmax(axis=1)
        self.refuse_beyond(self.error(self.passed, self.wanted))

    def refuse_beyond(self, error: float) -> None:
        """Refuses a `keep` with which rounding errors of the scores, or of leads after an attack, may be this large."""
        if not error <= MAX_TOLERANCE:
            must = f"be so large that rounding errors on this graph stay below {MAX_TOLERANCE:g}"
            hint = f"They may be as large as {np.nan_to_num(error, nan=np.inf):.2g}: take a larger keep, such as 0.3."
            raise InvalidParameterError("keep", must, self.keep, hint)

    def error(self, solution: Real, wanted: Real) -> float:
        """By how much an entry of a solution can be wrong, with the rounding of the residual itself."""
        system, most = self.system, np.abs(solution).max(initial=0)
        rounding = (np.diff(system.indptr).max(initial=0) + 2) * np.finfo(float).eps
        rounding *= abs(system).sum(axis=1).max(initial=0) * most + np.abs(wanted).max(initial=0)
        return float((np.abs(wanted - system @ solution).max(initial=0) + rounding) / self.keep)

    @cached_property
    def tolerance(self) -> float:
        """A lead above this is one in exact arithmetic, after an attack with one link, and as computed there.

        The change is U · (f_i − f_j) with U = (M_ti − M_tj) / (1 ± r), r = M_ii + M_jj − 2 M_ij. U is an entry of the
        attacked M times the change of a link, at most 1/keep; and 1 − r is at least keep/(keep + 2).
        """
        e, e_f = self.error(self.inverse, np.eye(len(self.inverse))), self.error(self.passed, self.wanted)
        e_u = (2 * e + 4 * e / self.keep) * (1 + 2 / self.keep) * 2
        wrong = e_f + 2 * e_f / self.keep + e_u * np.ptp(self.passed, axis=0).max(initial=0)
        wrong += 2 * np.finfo(float).eps * np.abs(self.scores).max(initial=0)  # of adding own scores, and the change
        return TOLERANCE + 4 * float(wrong)  # twice: leads have two scores; twice: `answers` of the attacked graph

    def lead(self, node: int) -> float:
        """By how much the class of a node leads, less the tolerance."""
        rest = np.delete(self.scores[node], self.best[node])
        return float(self.scores[node, self.best[node]] - rest.max(initial=-np.inf)) - self.tolerance

    def leads(self, node: int, changes: Real) -> bool:
        """True if the class of a node is ahead of all others after each of these changes of its scores."""
        scores, best = self.scores[node] + changes, self.best[node]
        return bool((scores[:, [best]] - np.delete(scores, best, axis=1) > self.tolerance).all())

    @cached_property
    def _deleted(self) -> tuple[Real, Real, Real]:
        """Of each link: 1/(1 − r), f_i − f_j, and how far apart classes are there."""
        (i, j), of_each = self.links.T, self.diagonal
        apart = self.passed[i] - self.passed[j]
        return 1 / (1 - (of_each[i] + of_each[j] - 2 * self.inverse[i, j])), apart, np.ptp(apart, axis=1)

    def survives_deleted(self, node: int) -> bool:
        """True if no deleted link changes the class of a node."""
        factor, apart, widths = self._deleted
        row, (i, j), lead = self.inverse[node], self.links.T, self.lead(node)
        change = (row[i] - row[j]) * factor
        near = np.abs(change) * widths >= lead - self.tolerance  # others change no lead by as much
        return lead > 0 and self.leads(node, change[near, None] * apart[near])

    @cached_property
    def _absent(self) -> Truths:
        """Which links can be added."""
        found = ~np.eye(len(self.best), dtype=bool)
        for one, other in (self.links.T, self.links.T[::-1]):
            found[one, other] = False
        return found

    @cached_property
    def _width(self) -> float:
        """The largest distance of two nodes in the difference of two classes."""
        f = self.passed.T
        return max((float(np.ptp(f[a] - f[b])) for a, b in combinations(range(len(f)), 2)), default=0.0)

    def survives_added(self, node: int) -> bool:
        """True if no added link changes the class of a node.

        |U| is at most the larger of M_ti and M_tj: one end must have enough of it. Ends with most come first.
        """
        row, lead = self.inverse[node], self.lead(node)
        enough = lead - self.tolerance
        ends = np.flatnonzero(row * self._width >= enough)
        ends = ends[np.argsort(-row[ends], kind="stable")]
        return lead > 0 and all(
            self._survives_at(node, some, enough) for some in np.split(ends, range(1, len(ends), BLOCK))
        )

    def _survives_at(self, node: int, ends: Whole, enough: float) -> bool:
        """The same for links of some nodes."""
        row, of_each = self.inverse[node], self.diagonal
        change = (row[ends, None] - row) / (1 + of_each[ends, None] + of_each - 2 * self.inverse[ends])
        i, j = np.nonzero((np.abs(change) * self._width >= enough) & self._absent[ends])
        return self.leads(node, -change[i, j, None] * (self.passed[ends[i]] - self.passed[j]))


@lru_cache(maxsize=1)
def _solved(model: LinkPropagation, graph: Graph) -> _Solved:
    """The last one is kept: answers and both attacks are asked of the same graph."""
    return _Solved(model, graph)
