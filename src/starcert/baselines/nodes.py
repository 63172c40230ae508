"""Candidates for the nodes of a graph: their own data, the graph of nearest neighbours by these, and fixed edges.

A node's answer is a logistic regression on its data, or on the means over its neighbours; scores may then be
*propagated*: s ← (1 − RESTART) · A s + RESTART · s₀, with A the normalised adjacency of the neighbours, as in predict
then propagate. Neighbours are the NEIGHBOURS nodes with the largest cosine, and edges that no attack changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from starcert.baselines.columns import Labels, Matrix, SeenColumns
from starcert.objects.kinds import Untouched
from starcert.objects.neighbours import nearest_rows

NEIGHBOURS, RESTART, STEPS, PENALTY = 10, 0.1, 10, 100.0
MAX_NODES = 10_000  # of larger graphs, nearest neighbours are not looked for: all pairs are compared


@dataclass(frozen=True)
class Scaling:
    """The scale of node data in the training graph; rows then have length 1."""

    columns: SeenColumns
    centre: Matrix
    weight: Matrix
    rare: bool  # whether columns weigh more the fewer nodes have them

    @classmethod
    def of(cls, columns: SeenColumns, rows: Matrix, *, rare: bool) -> Scaling:
        """Words and other counts keep their zeros; other numbers are standardised."""
        if (rows >= 0).all():
            weight = np.log((1 + len(rows)) / (1 + (rows > 0).sum(axis=0))) + 1
            return cls(columns, np.zeros(rows.shape[1]), weight if rare else np.ones_like(weight), rare)
        spread = rows.std(axis=0)
        return cls(columns, rows.mean(axis=0), np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0), rare)

    def show(self, seen: Untouched) -> NodeView:
        """The nodes of a graph."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415  (takes its time)

        rows = (self.columns.part_rows(seen) - self.centre) * self.weight
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return NodeView(csr_matrix(np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)), seen)


@dataclass(frozen=True, eq=False)
class NodeView:
    """The nodes of a graph as a candidate sees them."""

    rows: Any  # a sparse matrix, a row of length 1 for each node
    seen: Untouched

    @cached_property
    def alike(self) -> Any:  # noqa: ANN401  (a sparse matrix)
        """The normalised graph of nearest neighbours by the data."""
        n = self.rows.shape[0]
        return normalised(nearest_rows(self.rows, min(NEIGHBOURS, n - 1)), n)

    @cached_property
    def linked(self) -> Any:  # noqa: ANN401  (a sparse matrix)
        """The normalised graph of fixed edges."""
        return normalised(self.seen.links, self.rows.shape[0])


def normalised(pairs: Labels, n: int) -> Any:  # noqa: ANN401  (a sparse matrix)
    """D^(−½) (A + 1) D^(−½) of the undirected graph with these pairs."""
    from scipy.sparse import csr_matrix, diags  # noqa: PLC0415  (takes its time)

    own = np.arange(n)
    both = np.concatenate([pairs, pairs[:, ::-1], np.stack([own, own], axis=1)])
    adjacency = csr_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n))
    adjacency.data[:] = 1
    scale = diags(np.asarray(adjacency.sum(axis=1)).ravel() ** -0.5)
    return scale @ adjacency @ scale


@dataclass(frozen=True)
class NodeCandidate:
    """A way to answer for nodes: over which neighbours data are averaged, and scores are propagated; "": over none."""

    scaling: Scaling | None  # None: no data, the classes of the training nodes are propagated
    averaged: str = ""
    propagated: str = ""

    @property
    def description(self) -> str:
        """Its effect, in words."""
        over = {"": "", "alike": "nearest neighbours by their data", "linked": "edges that no attack changes"}
        if self.scaling is None:
            return f"classes propagated over {over[self.propagated]}"
        rare = ", rare ones weighing more" if self.scaling.rare else ""
        data = f"the data of nodes{rare}" + (f", averaged over {over[self.averaged]}" if self.averaged else "")
        then = f", propagated over {over[self.propagated]}" if self.propagated else ""
        return f"logistic regression on {data}{then}"

    def fit(self, view: NodeView, nodes: Labels, labels: Labels) -> FittedNodes:
        """Learns from some nodes of a graph."""
        if self.scaling is None or len(np.unique(labels)) == 1:
            return FittedNodes(self, None, None, nodes, labels)
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (optional)

        # The weights of the optimum are sums of training rows: in a basis of these there are fewer of them.
        graph = getattr(view, self.averaged) if self.averaged else None
        rows = (view.rows[nodes] if graph is None else (graph[nodes] @ graph) @ view.rows).toarray()
        squares, vectors = np.linalg.eigh(rows @ rows.T)
        kept = squares > 1e-9 * max(squares.max(), 1e-300)
        basis = rows.T @ (vectors[:, kept] / np.sqrt(squares[kept]))
        model = LogisticRegression(C=PENALTY, max_iter=1_000).fit(rows @ basis, labels)
        return FittedNodes(self, model, basis, nodes, labels)

    def view(self, seen: Untouched) -> NodeView:
        """A graph as this candidate sees it."""
        return NodeView(np.empty((seen.n_parts, 0)), seen) if self.scaling is None else self.scaling.show(seen)


@dataclass(frozen=True, eq=False)
class FittedNodes:
    """A candidate that has learned."""

    candidate: NodeCandidate
    model: Any  # on rows in the basis; None: the classes of the training nodes are all it knows
    basis: Matrix | None
    nodes: Labels
    labels: Labels

    def answers(self, view: NodeView) -> Labels:
        """A class for each node of a graph."""
        return np.asarray(np.unique(self.labels)[self.scores(view).argmax(axis=1)])

    def scores(self, view: NodeView) -> Matrix:
        """The scores of each learned class, a row for each node of a graph: numbers of 0 or more."""
        classes = np.unique(self.labels)
        if self.model is None:
            scores = np.zeros((view.rows.shape[0], len(classes)))
            scores[self.nodes] = self.labels[:, None] == classes
        else:
            rows = view.rows @ self.basis
            if self.candidate.averaged:
                graph = getattr(view, self.candidate.averaged)
                rows = graph @ (graph @ rows)
            scores = self.model.predict_proba(rows)
        if self.candidate.propagated:
            graph, first = getattr(view, self.candidate.propagated), scores
            for _ in range(STEPS):
                scores = (1 - RESTART) * (graph @ scores) + RESTART * first
        return np.asarray(scores)


def candidates_for(seen: Untouched) -> list[NodeCandidate]:
    """The candidates for the nodes of a graph, simple ones first."""
    columns, found = SeenColumns.of([seen]), list[NodeCandidate]()
    rows, linked = columns.part_rows(seen), bool(len(seen.links))
    if rows.size and np.ptp(rows, axis=0).any():
        near = seen.parts_stay and seen.n_parts <= MAX_NODES
        over = ["alike"] * near + ["linked"] * linked
        for rare in (False, True) if (rows >= 0).all() else (False,):
            scaling = Scaling.of(columns, rows, rare=rare)
            found += [NodeCandidate(scaling, *how) for how in [("", ""), *(("", each) for each in over)]]
            found += [NodeCandidate(scaling, each, each) for each in over]
    return found + [NodeCandidate(None, "", "linked")] * linked
