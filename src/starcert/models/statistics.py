"""Graphs by a few numbers whose change under few edges is known: any estimator of scikit-learn, certified exactly.

    graph ─► quantities (`quantities.py`) ─► estimator        what d deletions and a additions make of the quantities
                                                              holds every attack: all its points are asked, or bounded

An answer is certified only if every whole point that an attack could reach has it. Where these are too many to ask,
linear models and trees are bounded in a box: a class must lead every other one there by more than rounding errors.
An answer is broken only with a graph in hand. Nothing is sampled: alpha is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows, SizedProof
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.methods.links import link_budget, within_no_other
from starcert.models.quantities import LABEL, EdgeCount, EdgesByLabel, Quantity, quantities_named
from starcert.objects import Graph, Sites
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError

Whole = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Prove = Callable[[Floats, Floats, Whole], Truths]
"""From the low and high corners of boxes, and a class number for each, to which boxes are proved for their class."""

ROUNDING = 1e-9  # relative: far more than the rounding errors of sums of a few thousand floats

MAX_POINTS = 2**13  # of one graph under one budget, that are asked; of more, the box is bounded
MAX_SINGLE = 20_000  # node pairs, up to which every single change is tried where the points do not prove it
DRAWN = 64  # attacks of each size that are drawn to find one that breaks


class Statistics:
    """A classifier of undirected graphs by a few quantities, learned by any scikit-learn estimator.

    Args:
        estimator: learns from rows of whole numbers.
        quantities: names of `QUANTITIES`. The fewer change with an edge, the more can be certified.

    Example:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> graphs = [Graph(6, [(0, node) for node in range(1, 1 + n % 6)]) for n in range(60)]
        >>> model = Statistics(DecisionTreeClassifier(), ["edges"]).fit(graphs, [graph.n_edges > 2 for graph in graphs])
        >>> found = model.certify(graphs[:6], threat="flips:2")
        >>> found.certified_sizes, found[3].attack().words
        (array([2, 1, 0, 0, 1, 2]), 'edge 0–1 deleted')
    """

    def __init__(self, estimator: Any, quantities: Sequence[str] = ("nodes", "labels", "edges")) -> None:  # noqa: ANN401
        self.estimator, self.quantities = estimator, tuple(quantities)

    def fit(self, graphs: Sequence[Graph], labels: Sequence[Hashable] | npt.ArrayLike) -> Self:
        """Learns from graphs with their classes."""
        from sklearn.base import clone  # noqa: PLC0415  (optional)

        for graph in graphs:
            _check(graph)
        self.quantities_ = quantities_named(self.quantities, graphs)
        self.classes_, numbers = np.unique(np.asarray(labels), return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(self._rows(graphs), numbers)
        return self

    def predict(self, graphs: Sequence[Graph]) -> npt.NDArray[Any]:
        """The class of each graph."""
        found: npt.NDArray[Any] = self.classes_[self._answers(self._rows(graphs))]
        return found

    def certify(self, graphs: Sequence[Graph], *, threat: Threat | str) -> Certificates[StatisticsProof]:
        """Decides, for each size of a threat, whether the answers can change.

        Args:
            graphs: the clean graphs.
            threat: any flips, deletions, additions, or both sorts together; rewired edges, exchanged ends and local
                budgets are certified as part of these.
        """
        asked = read_threat(threat)
        budget = link_budget(asked)
        for graph in graphs:
            _check(graph)
        labels = self._answers(self._rows(graphs))
        certified, attacks = np.zeros(len(graphs), dtype=np.int64), dict[int, FoundAttack]()
        left = np.arange(len(graphs))
        for size, cells in enumerate(budget.cells, start=1):
            holds = np.ones(len(left), dtype=np.bool_)
            for cell in within_no_other(cells):
                holds[holds] = self._all_agree([graphs[row] for row in left[holds]], labels[left[holds]], *cell)
            for place in np.flatnonzero(~holds):
                row = int(left[place])
                found, tried_all = self._find_attack(graphs[row], int(labels[row]), within_no_other(cells))
                if found is not None and not budget.relaxed:
                    attacks[row] = found
                holds[place] = tried_all and found is None
            certified[left[holds]] = size
            left = left[holds]
        about = Rows(
            np.arange(len(graphs)), np.zeros(len(graphs), dtype=np.int64), len(self.classes_), [""] * len(graphs),
            classes=tuple(self.classes_.tolist()),
        )  # fmt: skip
        return Certificates(about, labels, asked, StatisticsProof(asked, self._how, budget.relaxed, certified, attacks))

    @property
    def _how(self) -> str:
        return f"{type(self.estimator).__name__} on {', '.join(self.quantities)}"

    def _rows(self, graphs: Sequence[Graph]) -> Whole:
        rows = [np.concatenate([each.values(graph) for each in self.quantities_]) for graph in graphs]
        return np.array(rows, dtype=np.int64).reshape(len(graphs), -1)

    def _answers(self, rows: Whole) -> Whole:
        """The class numbers of rows; each distinct row is asked about once."""
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        found: Whole = np.asarray(self.estimator_.predict(distinct), dtype=np.int64)[place.reshape(-1)]
        return found

    def _all_agree(self, graphs: Sequence[Graph], labels: Whole, deletions: int, additions: int) -> Truths:
        """Which graphs keep their answer at every point within these numbers of deleted and added edges."""
        holds, points, owners, wide = np.zeros(len(graphs), dtype=np.bool_), [], [], []
        for place, graph in enumerate(graphs):
            found = self._points(graph, deletions, additions)
            if found is None:
                wide.append(place)
            else:
                points.append(found)
                owners.append(np.full(len(found), place))
        if points:
            owner = np.concatenate(owners)
            other = self._answers(np.concatenate(points)) != labels[owner]
            holds[np.unique(owner)] = True
            holds[owner[other]] = False
        if wide and (prove := prover_for(self.estimator_)) is not None:
            boxes = [[each.box(graphs[place], deletions, additions) for each in self.quantities_] for place in wide]
            low, high = (
                np.array([np.concatenate([box[end] for box in row]) for row in boxes], dtype=np.float64)
                for end in (0, 1)
            )
            holds[wide] = prove(low, high, labels[wide])
        return holds

    def _points(self, graph: Graph, deletions: int, additions: int) -> Whole | None:
        """All combinations of what each quantity may be; None if they are too many to ask about."""
        parts, total = list[Whole](), 1
        for quantity in self.quantities_:
            found = quantity.points(graph, deletions, additions, MAX_POINTS)
            if found is None or (total := total * len(found)) > MAX_POINTS:
                return None
            parts.append(found)
        return np.array([np.concatenate(chosen) for chosen in product(*parts)], dtype=np.int64)

    def _find_attack(
        self, graph: Graph, label: int, cells: Sequence[tuple[int, int]]
    ) -> tuple[FoundAttack | None, bool]:
        """An attack that changes the answer, if one is found; and whether all attacks were tried."""
        pairs = _Pairs(graph)
        singles = max(deletions + additions for deletions, additions in cells) == 1 and pairs.total <= MAX_SINGLE
        tried = pairs.singles(cells) if singles else self._likely(pairs, cells)
        while some := list(islice(tried, DRAWN)):
            answers = self._answers(self._rows([pairs.attacked(attack) for attack in some]))
            if len(others := np.flatnonzero(answers != label)):
                attack, answer = some[others[0]], int(answers[others[0]])
                votes = tuple(int(number == answer) for number in range(len(self.classes_)))
                return FoundAttack(tuple(attack.tolist()), votes, 0.0).on(pairs.sites), singles
        return None, singles

    def _likely(self, pairs: _Pairs, cells: Sequence[tuple[int, int]]) -> Iterator[Whole]:
        """Attacks that reach the points with other answers, where edges alone decide, and some at random."""
        for quantity in self.quantities_:
            if isinstance(quantity, EdgeCount | EdgesByLabel):
                for deletions, additions in cells:
                    points = quantity.points(pairs.graph, deletions, additions, MAX_POINTS)
                    for point in () if points is None else points:
                        yield pairs.towards(point - quantity.values(pairs.graph), pairs.groups(quantity))
        rng = np.random.default_rng(0)
        for deletions, additions in cells:
            for _ in range(DRAWN):
                lost = rng.permutation(pairs.present)[:deletions]
                yield np.sort(np.concatenate([lost, rng.permutation(pairs.absent)[:additions]]))


class _Pairs:
    """The node pairs of a graph as sites, and attacks on them."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.sites = graph, Sites.everything(graph, "all")
        self.total = self.sites.n_sites
        self.present = self.sites.nonzero[0].copy()  # numpy would shuffle an empty read-only array in place

    @cached_property
    def absent(self) -> Whole:
        """The positions of pairs without an edge."""
        return np.setdiff1d(np.arange(self.total), self.present)

    def singles(self, cells: Sequence[tuple[int, int]]) -> Iterator[Whole]:
        """Every single change within some budgets."""
        if any(deletions for deletions, _ in cells):
            yield from self.present[:, None]
        if any(additions for _, additions in cells):
            yield from self.absent[:, None]

    def attacked(self, attack: Whole) -> Graph:
        """The graph with the pairs of an attack flipped."""
        kept = np.setxor1d(self.present, attack)
        return self.graph.frame.with_edges(np.stack(self.sites.coordinates(kept), axis=1))

    def groups(self, quantity: Quantity) -> Whole:
        """For each pair the number that an edge there adds one to, of the numbers of a quantity that counts edges."""
        if isinstance(quantity, EdgesByLabel):
            return quantity.places(self.graph, np.stack(self.sites.coordinates(np.arange(self.total)), axis=1))
        return np.zeros(self.total, dtype=np.int64)

    def towards(self, change: Whole, groups: Whole) -> Whole:
        """An attack that changes the counts of edges in groups of pairs by these numbers."""
        chosen = list[Whole]()
        for group, number in enumerate(change.tolist()):
            pairs = self.absent if number > 0 else self.present
            chosen.append(pairs[groups[pairs] == group][: abs(number)])
        return np.sort(np.concatenate(chosen))


@dataclass(frozen=True, eq=False)
class StatisticsProof(SizedProof):
    """Up to which size no attack reaches a point with another answer, and the attacks that were found to do so."""

    threat: Threat
    how: str  # the model in a few words
    relaxed: str  # what was certified in place of the threat, which is part of it; "": the threat itself
    certified_sizes: Whole
    attacks: dict[int, FoundAttack]  # by row

    @property
    @override
    def method(self) -> str:
        return f"{self.how}, alpha = 0"

    @cached_property
    @override
    def broken_sizes(self) -> Whole:
        found = np.zeros(len(self.certified_sizes), dtype=np.int64)
        broken = list(self.attacks)
        found[broken] = self.certified_sizes[broken] + 1
        return found

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        instead = f", as part of {self.relaxed}" if self.relaxed else ""
        if size <= self.certified_sizes[row]:
            return Verdict("certified", f"at every point that its quantities can reach{instead}")
        if row in self.attacks:
            return Verdict("broken", f"by an attack of size {self.broken_sizes[row]}", self.attacks[row])
        return Verdict("open", f"its quantities may reach another answer, and no attack is known{instead}")


def _check(graph: Graph) -> None:
    if not isinstance(graph, Graph) or graph.directed:
        raise InvalidParameterError("graphs", "be undirected graphs", graph)
    if LABEL in graph.anchored_data:
        raise InvalidParameterError("graphs", "have labels of nodes that no edge changes", f"anchored {LABEL}")


def prover_for(estimator: Any) -> Prove | None:  # noqa: ANN401  (any estimator of scikit-learn)
    """The proof of boxes for a fitted estimator of scikit-learn; None where only asking will do.

    Linear classifiers, single or behind a `StandardScaler` in a pipeline; trees and forests.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (optional)
    from sklearn.pipeline import Pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    if type(estimator) in _forests():
        return _forest_prover([each.tree_ for each in estimator.estimators_])
    if type(estimator) is DecisionTreeClassifier:
        return _forest_prover([estimator.tree_])
    if type(estimator) in (LogisticRegression, LinearSVC):
        return _linear_prover(estimator.coef_, estimator.intercept_)
    if type(estimator) is Pipeline and [type(step) for _, step in estimator.steps[:-1]] == [StandardScaler]:
        scaler, last = estimator[0], estimator[-1]
        if type(last) in (LogisticRegression, LinearSVC) and scaler.with_mean and scaler.with_std:
            weights = last.coef_ / scaler.scale_
            return _linear_prover(weights, last.intercept_ - weights @ scaler.mean_)
    return None


def _forests() -> tuple[type, ...]:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # noqa: PLC0415  (optional)

    return RandomForestClassifier, ExtraTreesClassifier


def _linear_prover(weights: Floats, intercepts: Floats) -> Prove:
    if len(weights) == 1:  # two classes: the second one wins above 0
        weights, intercepts = np.stack([0 * weights[0], weights[0]]), np.array([0.0, intercepts[0]])

    def prove(low: Floats, high: Floats, labels: Whole) -> Truths:
        holds = np.ones(len(low), dtype=np.bool_)
        for rival in range(len(weights)):
            lead, start = weights[labels] - weights[rival], intercepts[labels] - intercepts[rival]
            least = np.where(lead > 0, low, high)
            size = np.abs(lead * least).sum(axis=1) + np.abs(intercepts[labels]) + np.abs(intercepts[rival])
            size += np.abs(weights[labels] * least).sum(axis=1) + np.abs(weights[rival] * least).sum(axis=1)
            leads: Truths = np.greater((lead * least).sum(axis=1) + start, ROUNDING * size)
            holds[(labels != rival) & ~leads] = False
        return holds

    return prove


def _forest_prover(trees: list[Any]) -> Prove:
    """Each tree by itself takes its worst leaf that the box reaches."""

    def prove(low: Floats, high: Floats, labels: Whole) -> Truths:
        low, high = low.astype(np.float32), high.astype(np.float32)  # as the trees see them
        n_classes = trees[0].value.shape[2]
        least = np.zeros((len(low), n_classes))  # by how much the class leads each other one
        for tree in trees:
            reached = np.zeros((tree.node_count, len(low)), dtype=np.bool_)
            reached[0] = True
            for node in range(tree.node_count):  # parents come before their children
                left, right = tree.children_left[node], tree.children_right[node]
                if left >= 0:
                    at, limit = tree.feature[node], tree.threshold[node]
                    reached[left] = reached[node] & (low[:, at] <= limit)
                    reached[right] = reached[node] & (high[:, at] > limit)
            leaves = np.flatnonzero(tree.children_left < 0)
            shares = tree.value[leaves, 0] / tree.value[leaves, 0].sum(axis=1, keepdims=True)
            leads = shares[:, labels].T[:, :, None] - shares[None]  # boxes × leaves × classes
            least += np.where(reached[leaves].T[:, :, None], leads, np.inf).min(axis=1)
        least[np.arange(len(low)), labels] = np.inf
        proved: Truths = np.greater(least.min(axis=1), ROUNDING * len(trees))
        return proved

    return prove
