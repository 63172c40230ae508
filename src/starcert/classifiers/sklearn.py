"""scikit-learn estimators on graphs as base classifiers, support vector machines on graph kernels compiled.

A fitted `KernelSVM` on a kernel with an explicit feature map answers from compiled features of whole batches. Every
other estimator, and every graph that the compiled code does not take, goes through the estimator itself.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from starcert.classifiers.anatomy import leaf
from starcert.classifiers.base import Classifier, Scores
from starcert.classifiers.identity import identity
from starcert.errors import InvalidParameterError, StarcertError
from starcert.models.conversion import DEGREE

if TYPE_CHECKING:
    from starcert.graphs import Frame, Graph
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["KernelClassifier", "SklearnClassifier", "from_sklearn"]

ROUNDING = 1e-6
"""By how much the decisions on a graph may differ between one batch and another, relative to the largest."""

DOUBT = 1e-11
"""Decisions this close to zero, relative to their terms, are left to scikit-learn: their sign may be rounding."""


class FeatureMap(Protocol):
    """A fitted kernel with an explicit feature map, seen from the support vectors of a machine.

    Attributes:
        linear: whether `decisions` may be asked.
        content: what the answers depend on, for a digest.
    """

    linear: bool

    @property
    def content(self) -> tuple[object, ...]: ...

    def takes(self, frame: Frame) -> bool:
        """Whether noisy copies with this frame can be computed."""

    def decisions(self, graphs: NoisyGraphs) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Decisions without the intercept, and bounds on the sums of their terms' magnitudes."""

    def matrix(self, graphs: NoisyGraphs) -> npt.NDArray[np.float64]:
        """The kernel between the copies and the support vectors."""


class SklearnClassifier(Classifier):
    """A fitted estimator whose `predict` takes a list of starcert `Graph`s. See `from_sklearn`."""

    def __init__(self, estimator: Any, batch_size: int) -> None:  # noqa: ANN401
        self.estimator = estimator
        self.n_classes = len(estimator.classes_)
        self.batch_size = batch_size

    @property
    def description(self) -> str:
        """Which classifier it is: the estimator's class, parameters and a digest of what was fitted, as of now."""
        return _describe(self.estimator, None)

    def classify(self, graphs: NoisyGraphs) -> npt.NDArray[np.int64]:
        """One class for each graph, numbered in the order of the estimator's `classes_`."""
        copies = list(graphs.copies())
        answers = self._predicted(copies)
        if len(copies) > 1 and not _looks_at_its_batch(self.estimator):
            self._check_one(copies, answers)
        return answers

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """One class for each graph, and the decisions or probabilities of the estimator, if it tells any."""
        copies = list(graphs.copies())
        return Scores(self._predicted(copies), self._decisions(copies), ROUNDING)

    def _predicted(self, copies: list[Graph]) -> npt.NDArray[np.int64]:
        if not copies:
            return np.empty(0, dtype=np.int64)
        if _looks_at_its_batch(self.estimator):
            return self._numbers(np.concatenate([self.estimator.predict([copy]) for copy in copies]))
        return self._numbers(self.estimator.predict(copies))

    def _check_one(self, copies: list[Graph], answers: npt.NDArray[np.int64]) -> None:
        """One copy of every batch is asked alone too: in some kernels a rare graph changes a whole batch around it."""
        place = len(copies) // 2
        (alone,) = self._numbers(self.estimator.predict([copies[place]]))
        if alone != answers[place]:
            raise ValueError(
                f"it answers a noisy copy with class {answers[place]} in a batch of {len(copies)}, but with class "
                f"{alone} alone: it draws at random, or looks at the graphs beside a graph. Take another estimator; "
                "in the second case, asking about one copy at a time will do: batch_size=1"
            )

    def _decisions(self, copies: list[Graph]) -> npt.NDArray[np.float64] | None:
        if _looks_at_its_batch(self.estimator):
            return None
        for name in ("decision_function", "predict_proba"):
            try:
                values = np.asarray(getattr(self.estimator, name)(copies), dtype=np.float64)
            except Exception:  # noqa: BLE001  (not there, or not for graphs: answers are compared then)
                continue
            if values.ndim <= 2 and len(values) == len(copies):
                return _columns(values)
        return None

    def _numbers(self, answers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        classes = np.asarray(self.estimator.classes_)
        order = np.argsort(classes, kind="stable")
        answers = np.asarray(answers)
        numbers: npt.NDArray[np.int64] = order[
            np.minimum(np.searchsorted(classes, answers, sorter=order), len(classes) - 1)
        ]
        wrong = classes[numbers] != answers
        if np.any(wrong):
            raise ValueError(f"it answered {answers[wrong][0]!r}, which is none of its classes {classes.tolist()}")
        return numbers


class KernelClassifier(SklearnClassifier):
    """A fitted `KernelSVM` whose kernel has an explicit feature map, compiled. See `from_sklearn`."""

    def __init__(self, estimator: Any, features: FeatureMap, batch_size: int) -> None:  # noqa: ANN401
        super().__init__(estimator, batch_size)
        self.features = features

    @property
    def description(self) -> str:
        """Which classifier it is: kernel, parameters and a digest of what was fitted, as of now."""
        return _describe(self.estimator, self.features)

    def classify(self, graphs: NoisyGraphs) -> npt.NDArray[np.int64]:
        """One class for each graph, numbered in the order of the estimator's `classes_`."""
        if not self.features.takes(graphs.frame):
            return super().classify(graphs)
        if not self.features.linear:
            return self._numbers(self.estimator.svc_.predict(self._matrix(graphs)))
        return self._decided(graphs)[0]

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """One class for each graph, and their decisions."""
        if not self.features.takes(graphs.frame):
            return super().scored(graphs)
        if not self.features.linear:
            matrix, svc = self._matrix(graphs), self.estimator.svc_
            return Scores(self._numbers(svc.predict(matrix)), _columns(svc.decision_function(matrix)), ROUNDING)
        numbers, decisions = self._decided(graphs)
        return Scores(numbers, _columns(decisions), ROUNDING)

    def _decided(self, graphs: NoisyGraphs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Classes and decisions, where features are linear."""
        intercept = float(self.estimator.svc_.intercept_[0])
        decisions, magnitudes = self.features.decisions(graphs)
        decisions += intercept
        # Of two classes, scikit-learn takes the first only where the decision is below zero.
        numbers = (decisions >= 0).astype(np.int64)
        if np.any(np.abs(decisions) <= DOUBT * (magnitudes + abs(intercept))):
            numbers = self._numbers(self.estimator.svc_.predict(self._matrix(graphs)))
        return numbers, decisions

    def decision_function(self, graphs: NoisyGraphs) -> npt.NDArray[np.float64]:
        """The decision of each graph, as the estimator's `decision_function` has it."""
        if not self.features.linear:
            values: npt.NDArray[np.float64] = self.estimator.svc_.decision_function(self._matrix(graphs))
            return values
        return self.features.decisions(graphs)[0] + float(self.estimator.svc_.intercept_[0])

    def _matrix(self, graphs: NoisyGraphs) -> npt.NDArray[np.float64]:
        """The kernel between the copies and the training graphs; the machine reads the support vectors' columns."""
        svc = self.estimator.svc_
        matrix = np.zeros((len(graphs), svc.shape_fit_[0]))
        matrix[:, svc.support_] = self.features.matrix(graphs)
        return matrix


def from_sklearn(estimator: Any, *, batch_size: int | None = None) -> SklearnClassifier:  # noqa: ANN401
    """A base classifier from a fitted scikit-learn estimator on graphs.

    A `starcert.models.KernelSVM` on GraKeL's vertex histogram of degrees, on all graphlets of up to 6 nodes, or on
    neighbourhood subgraph pairwise distances is compiled, and answers as GraKeL and scikit-learn do, hundreds of times
    faster. Any other estimator answers through its own `predict`, which gets a list of starcert `Graph`s.

    Args:
        estimator: fitted, with `predict` and `classes_`. Its answers are numbered in the order of `classes_`.
        batch_size: the most graphs at once; by default 1,024 where compiled, else 256.

    Example:
        >>> from starcert.graphs import Graph
        >>> from starcert.models import vertex_histogram_svm
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> from_sklearn(vertex_histogram_svm().fit([star, ring], ["star", "ring"])).n_classes
        2
    """
    _check(estimator)
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise InvalidParameterError("batch_size", "be a whole number, 1 or more", batch_size)
    features = _feature_map(estimator)
    if features is None:
        return SklearnClassifier(estimator, batch_size or 256)
    return KernelClassifier(estimator, features, batch_size or 1024)


def _check(estimator: object) -> None:
    try:
        from sklearn.exceptions import NotFittedError  # noqa: PLC0415  (half a second)
        from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415
    except ImportError as error:
        raise StarcertError(
            f"from_sklearn needs scikit-learn ({error}). Install it with: pip install 'starcert[kernels]'"
        ) from error
    if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
        hint = "starcert.classifiers.from_callable takes any function."
        raise InvalidParameterError("estimator", "be a fitted scikit-learn classifier with predict", estimator, hint)
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        raise InvalidParameterError("estimator", "be fitted", estimator, "Call its fit first.") from None
    if len(getattr(estimator, "classes_", ())) < 2:
        raise InvalidParameterError("estimator", "have two classes_ at least", getattr(estimator, "classes_", None))


def _is_kernel_svm(estimator: object) -> bool:
    """Whether this is a `KernelSVM` itself: a class derived from it may answer in another way."""
    machines = sys.modules.get("starcert.models.kernel_svm")  # who made one has imported it
    return machines is not None and type(estimator) is machines.KernelSVM


def _feature_map(estimator: Any) -> FeatureMap | None:  # noqa: ANN401
    """The compiled features of a `KernelSVM`, where there are such."""
    if not _is_kernel_svm(estimator):
        return None
    kernel, svc, label_name = estimator.kernel_, estimator.svc_, estimator.node_labels
    from grakel.kernels import (  # noqa: PLC0415
        GraphletSampling,
        NeighborhoodSubgraphPairwiseDistance,
        VertexHistogram,
    )

    from starcert.classifiers.kernels import degrees, graphlets, nspd  # noqa: PLC0415

    support = np.asarray(svc.support_, dtype=np.int64)
    coefficients = np.asarray(svc.dual_coef_[0], dtype=np.float64) if len(svc.classes_) == 2 else None
    features: FeatureMap | None = None
    # A class derived from one of these may do something else: it goes through GraKeL.
    if type(kernel) is VertexHistogram and label_name == DEGREE:
        return degrees.DegreeHistogram(kernel, support, coefficients)
    if type(kernel) is GraphletSampling and kernel.k <= graphlets.LARGEST and kernel.sampling is None:
        if graphlets.agrees_with_grakel(kernel.k):
            features = graphlets.Graphlets(kernel, support, coefficients)
    elif type(kernel) is NeighborhoodSubgraphPairwiseDistance:
        if nspd.agrees_with_grakel(kernel.r, kernel.d):
            features = nspd.PairwiseDistance(kernel, support, coefficients, label_name)
    else:
        return None
    if features is None:
        warnings.warn(
            f"The compiled {type(kernel).__name__} disagrees with the installed GraKeL on this Python; "
            "GraKeL itself is used, and is slower.",
            stacklevel=3,
        )
    return features


def _looks_at_its_batch(estimator: Any) -> bool:  # noqa: ANN401
    """Whether an answer of GraKeL's is known to be meant for a graph alone.

    Normalised, these two kernels let the features that training has not seen, of all graphs of a batch, enter the norm
    of each. A graph's own norm is that of a batch of one, which is also what the compiled kernels compute.
    """
    kernel = getattr(estimator, "kernel_", None)
    named = type(kernel).__name__ in ("GraphletSampling", "NeighborhoodSubgraphPairwiseDistance")
    return named and bool(getattr(kernel, "normalize", False))


def _columns(decisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A column for each number; decisions between two classes are the second one's, against zero for the first."""
    if decisions.ndim == 2 and decisions.shape[1] > 1:
        return decisions
    return np.column_stack([np.zeros(len(decisions)), decisions])


def _describe(estimator: Any, features: FeatureMap | None) -> str:  # noqa: ANN401
    """Kernel, parameters and a digest of what was fitted: equal for equal models."""
    if not _is_kernel_svm(estimator) or not type(estimator.kernel_).__module__.startswith("grakel."):
        return f"{type(estimator).__name__} {identity(estimator)}"
    # What GraKeL keeps of its training graphs comes in the order of hash tables; it follows from those graphs.
    kernel, svc = estimator.kernel_, estimator.svc_
    parameters = kernel.get_params()
    fitted = identity(
        (
            type(kernel),
            parameters,
            estimator.node_labels,
            np.asarray(estimator.classes_),
            (svc.support_, svc.dual_coef_, svc.intercept_),
            estimator.training_digest_,
            None if features is None else features.content,
        )
    )
    told = ", ".join(f"{name}={value!r}" for name, value in sorted(parameters.items()) if leaf(value) is not None)
    return f"{type(kernel).__name__}({told}), node labels {estimator.node_labels!r}, SVC(C={svc.C!r}) {fitted}"
