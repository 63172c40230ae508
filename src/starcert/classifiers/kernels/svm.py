"""Support vector machines on the kernels of `starcert.kernels`: scikit-learn's machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from starcert.classifiers.kernels import GraphKernel, Graphlets, NeighbourhoodPairs, VertexHistogram
from starcert.classifiers.kernels.kernel import DEGREE, checked_graphs
from starcert.objects import Graph
from starcert.objects.content import digest
from starcert.system.errors import InvalidParameterError


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
    """The paper's base classifier: a machine on the histogram of node degrees.

    Example:
        >>> from starcert import Graph
        >>> graphs = [Graph(4, [(0, 1), (1, 2), (2, 3)][: n % 2 * 3]) for n in range(8)]
        >>> vertex_histogram_svm().fit(graphs, [n % 2 for n in range(8)]).predict(graphs[:4])
        array([0, 1, 0, 1])
    """
    return KernelSVM(VertexHistogram(node_labels=DEGREE), C=C)


def graphlet_svm(*, k: int = 5, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """A machine on the numbers of connected graphlets of k nodes, 3 to 5. All are counted, none is drawn at random.

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
