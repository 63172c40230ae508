"""The candidates of a blind model: what attacks leave alone (`Untouched`) as numbers, and what learns from these.

Names of categories are learned from the training objects; those that come later count as none of them. Indicators
(zeros and ones, and categories) are counted, all other numbers have moments. Of whole objects, estimators of
scikit-learn on these numbers are the candidates.

A node's answer is a logistic regression on its data, or on the means over its neighbours; scores may then be
*propagated*: s ← (1 − RESTART) · A s + RESTART · s₀, with A the normalised adjacency of the neighbours, as in predict
then propagate. Neighbours are the NEIGHBOURS nodes with the largest cosine, and edges that no attack changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import as_array
from starcert.objects.kinds import Untouched
from starcert.objects.neighbours import nearest_rows

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
CONSTANT = "the most frequent class"
NUMBERED = re.compile(r" \d+$")  # the end of the name of one of many values
MAX_CATEGORIES = 64  # the most frequent ones have a column
NEIGHBOURS, RESTART, STEPS, PENALTY = 10, 0.1, 10, 100.0
MAX_NODES = 10_000  # of larger graphs, nearest neighbours are not looked for: all pairs are compared


@dataclass(frozen=True)
class _Column:
    """Data of one name: a column for each category, or `width` columns of numbers."""

    name: str
    categories: tuple[Hashable, ...] | None
    width: int

    @classmethod
    def of(cls, name: str, given: Sequence[Any]) -> _Column | None:
        """The form in which data of this name are shown, given those of the training objects; None: not at all."""
        arrays = [as_array(each) for each in given]
        if any(each is None or each.ndim not in (1, 2) for each in arrays) or not arrays:
            return None
        joined = [each for each in arrays if each is not None and len(each)]
        if {each.ndim for each in joined} == {1} and all(each.dtype.kind in "biuOUS" for each in joined):
            often = Counter(entry for each in joined for entry in each.tolist())
            if len(often) <= MAX_CATEGORIES or any(isinstance(entry, str) for entry in often):
                frequent = sorted((entry for entry, _ in often.most_common(MAX_CATEGORIES)), key=str)
                return cls(name, tuple(frequent), len(frequent))
        widths = {1 if each.ndim == 1 else each.shape[1] for each in joined}
        numeric = all(each.dtype.kind in "biuf" for each in joined)
        return cls(name, None, widths.pop()) if numeric and len(widths) == 1 else None

    def rows(self, given: object, n_rows: int) -> Matrix:
        """The data of some parts; zeros where they are missing, or of another form."""
        found, array = np.zeros((n_rows, self.width)), None if given is None else as_array(given)
        if array is None or len(array) != n_rows or not n_rows:
            return found
        if self.categories is not None:
            place = {category: number for number, category in enumerate(self.categories)}
            known = np.array([place.get(entry, -1) for entry in array.tolist()], dtype=np.int64)
            found[np.flatnonzero(known >= 0), known[known >= 0]] = 1.0
        elif array.reshape(n_rows, -1).shape[1] == self.width and array.dtype.kind in "biuf":
            found = array.reshape(n_rows, -1).astype(np.float64)
            if not np.isfinite(found.sum()):
                found = np.nan_to_num(found, posinf=0.0, neginf=0.0)
        return found


def _rows_of(columns: Sequence[_Column], seen: Untouched) -> Matrix:
    rows = [each.rows(seen.parts.get(each.name), seen.n_parts) for each in columns]
    return np.concatenate([np.empty((seen.n_parts, 0)), *rows], axis=1)


@dataclass(frozen=True)
class SeenColumns:
    """The form in which objects of some data are shown as numbers; made from the training objects."""

    parts: tuple[_Column, ...]
    values: tuple[_Column, ...]
    indicators: npt.NDArray[np.bool_]  # which columns of parts hold zeros and ones alone
    parts_stay: bool
    part: str

    @classmethod
    def of(cls, seen: Sequence[Untouched]) -> SeenColumns:
        """The columns for objects like these."""

        def columns(named: Sequence[Any], wrap: bool) -> tuple[_Column, ...]:
            names = dict.fromkeys(name for each in named for name in each)
            given = {name: [[each[name]] if wrap else each[name] for each in named if name in each] for name in names}
            found = (_Column.of(name, each) for name, each in given.items())
            return tuple(each for each in found if each is not None)

        parts = columns([each.parts for each in seen], wrap=False)
        stay = all(each.parts_stay for each in seen)
        values = columns([each.values for each in seen], wrap=True) if stay else ()
        every = (_rows_of(parts, each) for each in seen)
        indicators = np.all([(rows * rows == rows).all(axis=0) for rows in every], axis=0)
        return cls(parts, values, indicators, stay, seen[0].part)

    def part_rows(self, seen: Untouched) -> Matrix:
        """A row for each part of an object."""
        return _rows_of(self.parts, seen)

    def whole(self, seen: Untouched) -> Matrix:
        """The row of an object: its values; if parts stay, their number, counts, presence, and moments."""
        row = [each.rows([seen.values[each.name]] if each.name in seen.values else None, 1)[0] for each in self.values]
        if self.parts_stay:
            rows = self.part_rows(seen)
            ones, numbers = rows[:, self.indicators], rows[:, ~self.indicators]
            row += [np.array([seen.n_parts], dtype=np.float64), ones.sum(axis=0), ones.any(axis=0)]
            row += [getattr(numbers, each)(axis=0) for each in ("sum", "mean", "std", "min", "max") if len(numbers)]
            row += [np.zeros(5 * numbers.shape[1])] * (not len(numbers))
        return np.concatenate([np.empty(0), *row])

    @property
    def names(self) -> list[str]:
        """The entries of `whole`, in words."""
        found = [f"{NUMBERED.sub('', each.name)} in no region" for each in self.values for _ in range(each.width)]
        if self.parts_stay:
            owners = np.array([each.name for each in self.parts for _ in range(each.width)], dtype=object)
            counted = [f"counts of {name}" for name in owners[self.indicators]]
            moments = [f"moments of {name}" for name in owners[~self.indicators]]
            found += [f"the number of {self.part}s", *counted * 2, *moments * 5]
        return found


@dataclass(frozen=True)
class WholeView:
    """Training objects as a matrix, without columns that are constant there or repeat another one."""

    columns: SeenColumns
    kept: Labels
    rows: Matrix

    @classmethod
    def of(cls, seen: Sequence[Untouched]) -> WholeView:
        """The view for objects like these."""
        columns = SeenColumns.of(seen)
        rows = np.array([columns.whole(each) for each in seen])
        _, first = np.unique(rows, axis=1, return_index=True)
        kept = np.sort([at for at in first.tolist() if np.ptp(rows[:, at])]).astype(np.int64)
        return cls(columns, kept, rows[:, kept])

    def show(self, seen: Sequence[Untouched]) -> Matrix:
        """Other objects in the same columns."""
        return np.array([self.columns.whole(each)[self.kept] for each in seen]).reshape(len(seen), len(self.kept))

    @property
    def description(self) -> str:
        """The visible data, in words; "" if there are none."""
        names = self.columns.names
        return ", ".join(dict.fromkeys(names[at] for at in self.kept.tolist()))


def estimators(seed: int) -> dict[str, Callable[[], Any]]:
    """The candidates by name, simple ones first."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415  (optional)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    from sklearn.svm import SVC  # noqa: PLC0415

    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        "support vector machine": lambda: make_pipeline(StandardScaler(), SVC()),
        "random forest": lambda: RandomForestClassifier(random_state=seed),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=seed),
    }


def fit_constant(labels: Labels) -> Callable[[Sized], Labels]:
    """The class that is most frequent in training, whatever it is asked about."""
    constant = int(np.bincount(labels).argmax())
    return lambda asked: np.full(len(asked), constant)


def fit_rows(make: Callable[[], Any] | None, rows: Matrix, labels: Labels) -> Callable[[Matrix], Labels]:
    """The answers of an estimator fitted to these rows; a constant without one, or where they have one class."""
    if make is None or len(np.unique(labels)) == 1:
        return fit_constant(labels)
    estimator = make().fit(rows, labels)
    return lambda others: np.asarray(estimator.predict(others), dtype=np.int64).reshape(len(others))


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


@dataclass(frozen=True, eq=False)
class NodeCandidate:
    """A way to answer for nodes: over which neighbours data are averaged, and scores are propagated; "": over none."""

    taught: NodeView  # the training graph
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

    def view(self, seen: Untouched) -> NodeView:
        """A graph as this candidate sees it."""
        return NodeView(np.empty((seen.n_parts, 0)), seen) if self.scaling is None else self.scaling.show(seen)

    def fit(self, nodes: Labels, labels: Labels) -> Callable[[NodeView], Matrix]:
        """Learns from some nodes of the training graph; from a view of a graph, the scores of each learned class.

        They are numbers of 0 or more, a row for each node; classes are in ascending order.
        """
        classes, predict = np.unique(labels), None
        if self.scaling is not None and len(classes) > 1:
            predict = self._regression(nodes, labels)

        def scores(view: NodeView) -> Matrix:
            if predict is None:
                found = np.zeros((view.rows.shape[0], len(classes)))
                found[nodes] = labels[:, None] == classes
            else:
                found = predict(view)
            if self.propagated:
                graph, first = getattr(view, self.propagated), found
                for _ in range(STEPS):
                    found = (1 - RESTART) * (graph @ found) + RESTART * first
            return np.asarray(found)

        return scores

    def _regression(self, nodes: Labels, labels: Labels) -> Callable[[NodeView], Matrix]:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (optional)

        # The weights of the optimum are sums of training rows: in a basis of these there are fewer of them.
        graph = getattr(self.taught, self.averaged) if self.averaged else None
        every = self.taught.rows
        rows = (every[nodes] if graph is None else (graph[nodes] @ graph) @ every).toarray()
        squares, vectors = np.linalg.eigh(rows @ rows.T)
        kept = squares > 1e-9 * max(squares.max(), 1e-300)
        basis = rows.T @ (vectors[:, kept] / np.sqrt(squares[kept]))
        model = LogisticRegression(C=PENALTY, max_iter=1_000).fit(rows @ basis, labels)

        def predict(view: NodeView) -> Matrix:
            found = view.rows @ basis
            if self.averaged:
                around = getattr(view, self.averaged)
                found = around @ (around @ found)
            return np.asarray(model.predict_proba(found))

        return predict


def candidates_for(seen: Untouched) -> list[NodeCandidate]:
    """The candidates for the nodes of a graph, simple ones first."""
    columns, found = SeenColumns.of([seen]), list[NodeCandidate]()
    rows, linked = columns.part_rows(seen), bool(len(seen.links))
    if rows.size and np.ptp(rows, axis=0).any():
        near = seen.parts_stay and seen.n_parts <= MAX_NODES
        over = ["alike"] * near + ["linked"] * linked
        for rare in (False, True) if (rows >= 0).all() else (False,):
            scaling = Scaling.of(columns, rows, rare=rare)
            view = scaling.show(seen)
            ways = [("", ""), *(("", each) for each in over), *((each, each) for each in over)]
            found += [NodeCandidate(view, scaling, *way) for way in ways]
    bare = NodeView(np.empty((seen.n_parts, 0)), seen)
    return found + [NodeCandidate(bare, None, "", "linked")] * linked
