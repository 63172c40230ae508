"""scikit-learn estimators as base classifiers, on graphs or on rows, and its machines on graph kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d
from typing_extensions import override

from starcert.classifiers.base import Classifier, Scores
from starcert.classifiers.functions import ROUNDING, CallableClassifier, checked_range
from starcert.classifiers.identity import identity
from starcert.classifiers.kernels import GraphKernel, Graphlets, NeighbourhoodPairs, VertexHistogram
from starcert.classifiers.kernels.kernel import DEGREE, checked_graphs
from starcert.classifiers.values import ValueRange
from starcert.objects import Graph
from starcert.objects.content import digest
from starcert.sampling.batch import Copies, NoisyGraphs, NoisyVectors
from starcert.system.errors import InvalidParameterError, whole_number

Estimator: TypeAlias = Any
Rows: TypeAlias = Any
"""The noisy copies as an estimator sees them: a list, an array or a matrix with a slice for each of them."""

QUICK_CALL, QUICK_CHUNKS = 512, 16
"""`call_cost` and `chunks_per_batch` of a machine that counts no features: it answers faster than a batch begins."""

DOUBT = 1e-11
"""Decisions this close to zero, relative to their terms, are left to scikit-learn: their sign may be rounding."""


class KernelSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector machine on a graph kernel, as a scikit-learn estimator on lists of starcert `Graph`s.

    Args:
        kernel: one of `starcert.kernels`, not fitted; it is cloned. None: the vertex histogram.
        C: the machine's penalty, as in `sklearn.svm.SVC`.

    Attributes:
        classes_: the classes, sorted.
        kernel_: the fitted kernel.
        features_: the features of the training graphs.
        svc_: the fitted `SVC`, on the precomputed kernel.
        training_digest_: a digest of the training graphs.

    Example:
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> model = KernelSVM().fit([star, ring], ["star", "ring"])
        >>> model.predict([ring]).tolist()
        ['ring']
    """

    def __init__(self, kernel: GraphKernel | None = None, *, C: float = 1.0) -> None:  # noqa: N803
        self.kernel = kernel
        self.C = C

    def fit(self, X: Sequence[Graph], y: npt.ArrayLike) -> Self:  # noqa: N803  (scikit-learn's names)
        """Fit the kernel on the graphs X, and the machine on it and the classes y."""
        if not isinstance(self.kernel, GraphKernel | None):
            hint = "Use a class of starcert.kernels, for example starcert.kernels.ShortestPath()."
            raise InvalidParameterError("kernel", "be a kernel of starcert, or None", self.kernel, hint)
        kernel: GraphKernel = VertexHistogram() if self.kernel is None else clone(self.kernel)
        graphs = checked_graphs(X)
        classes = column_or_1d(np.asarray(y))
        check_classification_targets(classes)
        if len(graphs) != len(classes):
            raise InvalidParameterError("y", f"hold one class for each of the {len(graphs)} graphs", len(classes))
        if len(np.unique(classes)) < 2:
            raise InvalidParameterError("y", "hold two classes at least", np.unique(classes).tolist())
        self.features_ = kernel.fit_transform(graphs)
        matrix = (self.features_ @ self.features_.T).toarray()
        self.kernel_ = kernel
        self.svc_ = SVC(kernel="precomputed", C=self.C).fit(matrix, classes)
        self.classes_ = self.svc_.classes_
        self.training_digest_ = digest([graph.key for graph in graphs])
        return self

    def decision_function(self, X: Sequence[Graph]) -> npt.NDArray[np.float64]:  # noqa: N803
        """The decision of each graph, as `SVC.decision_function` has it."""
        matrix = self.matrix(X)
        return np.asarray(self.svc_.decision_function(matrix))

    def predict(self, X: Sequence[Graph]) -> npt.NDArray[Any]:  # noqa: N803
        """The class of each graph."""
        matrix = self.matrix(X)
        return np.asarray(self.svc_.predict(matrix))

    def matrix(self, X: Any, rows: Any = slice(None)) -> npt.NDArray[np.float64]:  # noqa: ANN401, N803
        """The kernel between graphs, or a batch of noisy copies of which these are `rows`, and the training graphs."""
        check_is_fitted(self, "svc_")
        return np.asarray((self.kernel_.transform(X)[rows] @ self.features_.T).toarray())


def vertex_histogram_svm(*, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """The paper's base classifier: a support vector machine on the histogram of node degrees.

    Example:
        >>> from starcert import Graph
        >>> graphs = [Graph(4, [(0, 1), (1, 2), (2, 3)][: n % 2 * 3]) for n in range(8)]
        >>> vertex_histogram_svm().fit(graphs, [n % 2 for n in range(8)]).predict(graphs[:4])
        array([0, 1, 0, 1])
    """
    return KernelSVM(VertexHistogram(node_labels=DEGREE), C=C)


def graphlet_svm(*, k: int = 5, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """A support vector machine on the numbers of connected graphlets of k nodes, 3 to 5. All of them are counted.

    Example:
        >>> from starcert import Graph
        >>> path, ring = [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3), (3, 0)]
        >>> graphs = [Graph(4, ring if n % 2 else path) for n in range(8)]
        >>> graphlet_svm(k=3).fit(graphs, [n % 2 for n in range(8)]).predict(graphs[:4])
        array([0, 1, 0, 1])
    """
    return KernelSVM(Graphlets(k, k), C=C)


def nspd_svm(*, r: int = 3, d: int = 4, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """A machine on pairs of neighbourhoods up to radius r whose roots are up to d apart, nodes labelled by degree.

    Example:
        >>> from starcert import Graph
        >>> path, ring = [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3), (3, 0)]
        >>> graphs = [Graph(4, ring if n % 2 else path) for n in range(8)]
        >>> nspd_svm(r=1, d=1).fit(graphs, [n % 2 for n in range(8)]).predict(graphs[:4])
        array([0, 1, 0, 1])
    """
    return KernelSVM(NeighbourhoodPairs(r, d, node_labels=DEGREE), C=C)


class SklearnClassifier(Classifier):
    """A fitted estimator whose `predict` takes rows, or a list of starcert `Graph`s. See `from_sklearn`."""

    def __init__(self, estimator: Estimator, batch_size: int) -> None:
        self.estimator, self.batch_size = estimator, batch_size
        self.n_classes = len(estimator.classes_)
        self.class_labels = tuple(np.asarray(estimator.classes_).tolist())
        self.class_names = tuple(map(str, estimator.classes_))
        self.chunks_per_batch = max(1, batch_size // self.chunk_size)
        if self.chunks_per_batch > 1:
            self.call_cost = QUICK_CALL

    @property
    @override
    def description(self) -> str:
        estimator = self.estimator
        if type(estimator) is not KernelSVM:
            return f"{type(estimator).__name__} {identity(estimator)}"
        kernel, parameters, *_ = fitted = _fitted(estimator)
        plain = {name: each for name, each in sorted(parameters.items()) if isinstance(each, int | float | str | None)}
        shown = ", ".join(f"{name}={value!r}" for name, value in plain.items())
        return f"{kernel.__name__}({shown}), SVC(C={estimator.svc_.C!r}) {identity(fitted)}"

    @override
    def classify(self, graphs: NoisyGraphs) -> npt.NDArray[np.int64]:
        estimator, rows = self._estimator_and_rows(graphs)
        answers = self._predict(estimator, rows, len(graphs))
        if len(graphs) > 1:
            self._check_one(estimator, rows, answers)
        return answers

    @override
    def scored(self, graphs: NoisyGraphs) -> Scores:
        estimator, rows = self._estimator_and_rows(graphs)
        answers = self._predict(estimator, rows, len(graphs))
        return Scores(answers, _decisions(estimator, rows, len(graphs)), ROUNDING)

    def _estimator_and_rows(self, graphs: NoisyGraphs) -> tuple[Estimator, Rows]:
        if not isinstance(graphs, NoisyVectors):
            return self.estimator, list(graphs.copies())
        if getattr(graphs.frame, "categories", ()) and hasattr(self.estimator, "feature_names_in_"):
            raise ValueError(
                "it was fitted on a data frame, but noisy rows hold the numbers of values, from 0 in each column. Fit "
                "it on these: np.array([row.row for row in rows])"
            )
        return self.estimator, graphs.rows(estimator=True)

    def _predict(self, estimator: Estimator, rows: Rows, count: int) -> npt.NDArray[np.int64]:
        if not count:
            return np.empty(0, dtype=np.int64)
        return self._numbers(estimator.predict(rows))

    def _check_one(self, estimator: Estimator, rows: Rows, answers: npt.NDArray[np.int64]) -> None:
        """Checks one copy of every batch alone: in some kernels a rare graph changes a whole batch around it."""
        place = len(answers) // 2
        (alone,) = self._numbers(estimator.predict(rows[place : place + 1]))
        if alone != answers[place]:
            raise ValueError(
                f"it answers a noisy copy with class {answers[place]} in a batch of {len(answers)}, but with class "
                f"{alone} alone: it draws at random, or looks at the graphs beside a graph. Take another estimator; "
                "in the second case, asking about one copy at a time will do: batch_size=1"
            )

    def _numbers(self, answers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        classes, answers = np.asarray(self.estimator.classes_), np.asarray(answers)
        order = np.argsort(classes, kind="stable")
        places = np.searchsorted(classes, answers, sorter=order)
        numbers: npt.NDArray[np.int64] = order[np.minimum(places, len(classes) - 1)]
        wrong = classes[numbers] != answers
        if np.any(wrong):
            raise ValueError(f"it answered {answers[wrong][0]!r}, which is none of its classes {classes.tolist()}")
        return numbers


class PipelineClassifier(SklearnClassifier):
    """A fitted `Pipeline` that begins with a kernel of `starcert.kernels`. See `from_sklearn`."""

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        return float(self.estimator[0].copy_bytes(n_nodes, n_edges))

    @override
    def _estimator_and_rows(self, graphs: NoisyGraphs) -> tuple[Estimator, Rows]:
        return self.estimator[1:], self.estimator[0].transform(graphs)


class KernelClassifier(SklearnClassifier):
    """A fitted `KernelSVM` on a kernel of `starcert.kernels`. See `from_sklearn`.

    A kernel is linear in its features φ, so the support vectors of a machine for two classes collapse into weights:
    Σ_i α_i κ(G, G_i) = ⟨w, φ(G)⟩ with w = Σ_i α_i φ(G_i).
    """

    _collapsed: tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None

    def __init__(self, estimator: Estimator, batch_size: int) -> None:
        super().__init__(estimator, batch_size)
        quick = self.n_classes == 2 and estimator.kernel_.is_quick
        self.chunks_per_batch, self.call_cost = (QUICK_CHUNKS, QUICK_CALL) if quick else (1, Classifier.call_cost)

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        row_of_kernel_matrix = 8 * self.estimator.svc_.shape_fit_[0]
        return float(self.estimator.kernel_.copy_bytes(n_nodes, n_edges) + row_of_kernel_matrix)

    @override
    def classify(self, graphs: NoisyGraphs) -> npt.NDArray[np.int64]:
        return super().classify(graphs) if self.n_classes > 2 else self._decide(graphs)[0]

    @override
    def scored(self, graphs: NoisyGraphs) -> Scores:
        if self.n_classes > 2:
            return super().scored(graphs)
        numbers, decisions = self._decide(graphs)
        return Scores(numbers, _columns(decisions), ROUNDING)

    @override
    def _estimator_and_rows(self, graphs: NoisyGraphs) -> tuple[Estimator, Rows]:
        return self.estimator.svc_, self.estimator.matrix(graphs)

    def _decide(self, graphs: NoisyGraphs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Classes and decisions between two classes."""
        svc = self.estimator.svc_
        intercept = float(svc.intercept_[0])
        decisions, magnitudes = self.estimator.kernel_.weighted_sums(graphs, *self._weights())
        decisions += intercept
        # Of two classes, scikit-learn takes the first only where the decision is below zero.
        numbers = (decisions >= 0).astype(np.int64)
        doubtful = np.flatnonzero(np.abs(decisions) <= DOUBT * (magnitudes + abs(intercept)))
        if len(doubtful):  # the kernel of all training graphs: for these alone
            numbers[doubtful] = self._numbers(svc.predict(self.estimator.matrix(graphs, doubtful)))
        return numbers, decisions

    def _weights(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The weights of features, and their sizes before anything cancels out: of the machine as it is now."""
        svc = self.estimator.svc_
        if self._collapsed is None or self._collapsed[0] is not svc:
            support, coefficients = self.estimator.features_[svc.support_], np.asarray(svc.dual_coef_[0])
            self._collapsed = svc, support.T @ coefficients, support.T @ np.abs(coefficients)
        return self._collapsed[1:]


class SklearnValues(CallableClassifier):
    """A fitted estimator whose `predict` gives numbers. See `from_sklearn`."""

    def __init__(self, estimator: Estimator, batch_size: int, outputs: ValueRange) -> None:
        super().__init__(estimator.predict, None, "predict", None, batch_size, outputs=outputs)
        self.estimator = estimator

    @override
    def _content(self) -> object:
        return self.estimator

    @override
    def _returned(self, graphs: Copies) -> npt.ArrayLike:
        rows = graphs.rows(estimator=True) if isinstance(graphs, NoisyVectors) else [*graphs.copies()]
        found: npt.ArrayLike = self.function(rows)
        return found


def from_sklearn(
    estimator: Estimator, *, batch_size: int | None = None, outputs: ValueRange | None = None
) -> SklearnClassifier | SklearnValues:
    """A base classifier from a fitted scikit-learn estimator on rows or on graphs.

    Of `Bits` and `Categories`, any estimator sees noisy copies as an array of whole numbers, shape (copies, columns).
    A `starcert.models.KernelSVM` on one of `starcert.kernels`, and a `Pipeline` that begins with one, answer from
    compiled features of whole batches. Any other estimator gets a list of starcert `Graph`s, which is slow.

    Args:
        estimator: fitted, with `predict` and `classes_`. Its answers are numbered in the order of `classes_`.
        batch_size: the most graphs at once; by default 1,024 where features are compiled, else 256.
        outputs: the range of what `predict` gives, of a regressor.

    Example:
        >>> from starcert.objects import Graph
        >>> from starcert.models import vertex_histogram_svm
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> from_sklearn(vertex_histogram_svm().fit([star, ring], ["star", "ring"])).n_classes
        2
        >>> from sklearn.svm import SVC
        >>> from_sklearn(SVC().fit([[0, 0, 1], [1, 1, 0], [0, 1, 0]], ["a", "b", "c"])).class_names
        ('a', 'b', 'c')
    """
    if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
        hint = "starcert.classifiers.from_callable takes any function."
        raise InvalidParameterError("estimator", "be a fitted scikit-learn classifier with predict", estimator, hint)
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        raise InvalidParameterError("estimator", "be fitted", estimator, "Call its fit first.") from None
    if (values := checked_range(outputs)) is not None:
        size = SklearnValues.batch_size if batch_size is None else batch_size
        return SklearnValues(estimator, size, values)
    if len(getattr(estimator, "classes_", ())) < 2:
        hint = "For a regressor, say what range its outputs have: outputs=ValueRange(low, high)."
        raise InvalidParameterError(
            "estimator", "have two classes_ at least", getattr(estimator, "classes_", None), hint
        )
    kind = SklearnClassifier
    # A class derived from one of these may answer in another way.
    if type(estimator) is KernelSVM and isinstance(estimator.kernel_, GraphKernel):
        kind = KernelClassifier
    elif type(estimator) is Pipeline and len(estimator) > 1 and isinstance(estimator[0], GraphKernel):
        kind = PipelineClassifier
    usual = 256 if kind is SklearnClassifier else 1024
    return kind(estimator, usual if batch_size is None else whole_number("batch_size", batch_size, 1))


def _columns(decisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A column for each class; decisions between two classes are the second one's, against zero for the first."""
    if decisions.ndim == 2 and decisions.shape[1] > 1:
        return decisions
    return np.column_stack([np.zeros(len(decisions)), decisions])


def _decisions(estimator: Estimator, rows: Rows, count: int) -> npt.NDArray[np.float64] | None:
    for name in ("decision_function", "predict_proba"):
        try:
            values = np.asarray(getattr(estimator, name)(rows), dtype=np.float64)
        except Exception:  # noqa: BLE001  (not there, or not for graphs: answers are compared then)
            continue
        if values.ndim <= 2 and len(values) == count:
            return _columns(values)
    return None


def _fitted(estimator: KernelSVM) -> tuple[type, dict[str, Any], npt.NDArray[Any], tuple[object, ...], object]:
    """All that decides the answers of a graph kernel."""
    kernel, svc = estimator.kernel_, estimator.svc_
    parameters = kernel.get_params()
    if "node_labels" in parameters:
        parameters["node_labels"] = kernel.labels_used
    machine = svc.support_, svc.dual_coef_, svc.intercept_
    return type(kernel), parameters, np.asarray(estimator.classes_), machine, estimator.training_digest_
