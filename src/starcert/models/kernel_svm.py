"""Support vector machines on graph kernels: GraKeL's kernel, scikit-learn's machine, starcert's graphs.

The paper's three base classifiers for its synthetic data are such machines, with the defaults of both libraries and
degrees as node labels: `vertex_histogram_svm`, `graphlet_svm` and `nspd_svm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.graphs.content import digest
from starcert.models.conversion import DEGREE, grakel_input

try:
    from grakel.kernels import (
        GraphletSampling,
        Kernel,
        NeighborhoodSubgraphPairwiseDistance,
        VertexHistogram,
    )
    from grakel.kernels._isomorphism import Graph as Shape
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.svm import SVC
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ImportError as error:
    raise StarcertError(
        f"Graph kernels need scikit-learn and GraKeL ({error}). Install them with: pip install 'starcert[kernels]'"
    ) from error

__all__ = ["KernelSVM", "graphlet_svm", "nspd_svm", "vertex_histogram_svm"]


class KernelSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector machine on a graph kernel, as a scikit-learn estimator on lists of starcert `Graph`s.

    Args:
        kernel: any kernel of GraKeL, not fitted; it is cloned. None: the vertex histogram.
        node_labels: what GraKeL sees as the label of a node: "degree", or the name of an attribute in the node data.
        C: the machine's penalty, as in `sklearn.svm.SVC`.

    Attributes:
        classes_: the classes, sorted.
        kernel_: the fitted kernel.
        svc_: the fitted `SVC`, on the precomputed kernel.
        training_digest_: a digest of the training graphs.

    Example:
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> model = KernelSVM().fit([star, ring], ["star", "ring"])
        >>> model.predict([ring]).tolist()
        ['ring']
    """

    def __init__(self, kernel: Kernel | None = None, *, node_labels: str = DEGREE, C: float = 1.0) -> None:  # noqa: N803
        self.kernel = kernel
        self.node_labels = node_labels
        self.C = C

    def fit(self, X: Sequence[Graph], y: npt.ArrayLike) -> Self:  # noqa: N803  (scikit-learn's names)
        """Fit the kernel on the graphs X, and the machine on it and the classes y."""
        kernel = VertexHistogram() if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            hint = "Any class of grakel.kernels will do, for example grakel.kernels.ShortestPath()."
            raise InvalidParameterError("kernel", "be a GraKeL kernel, or None", kernel, hint)
        graphs = grakel_input(X, self.node_labels)
        classes = column_or_1d(np.asarray(y))
        check_classification_targets(classes)
        if len(graphs) != len(classes):
            raise InvalidParameterError("y", f"hold one class for each of the {len(graphs)} graphs", len(classes))
        if len(np.unique(classes)) < 2:
            raise InvalidParameterError("y", "hold two classes at least", np.unique(classes).tolist())
        self.kernel_ = clone(kernel)
        matrix = self.kernel_.fit_transform(graphs)
        self.svc_ = SVC(kernel="precomputed", C=self.C).fit(matrix, classes)
        self.classes_ = self.svc_.classes_
        self.training_digest_ = digest([graph.key for graph in X])
        return self

    def decision_function(self, X: Sequence[Graph]) -> npt.NDArray[np.float64]:  # noqa: N803
        """The decision of each graph, as `SVC.decision_function` has it."""
        matrix = self._matrix(X)
        values: npt.NDArray[np.float64] = self.svc_.decision_function(matrix)
        return values

    def predict(self, X: Sequence[Graph]) -> npt.NDArray[Any]:  # noqa: N803
        """The class of each graph."""
        matrix = self._matrix(X)
        classes: npt.NDArray[Any] = self.svc_.predict(matrix)
        return classes

    def _matrix(self, graphs: Sequence[Graph]) -> npt.NDArray[np.float64]:
        check_is_fitted(self, "svc_")
        matrix: npt.NDArray[np.float64] = self.kernel_.transform(grakel_input(graphs, self.node_labels))
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if isinstance(state.get("kernel_"), GraphletSampling):
            state["kernel_"] = _packed(state["kernel_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("kernel_"), tuple):
            state = {**state, "kernel_": _unpacked(*state["kernel_"])}
        super().__setstate__(state)


def _packed(kernel: GraphletSampling) -> tuple[dict[str, Any], dict[str, Any], list[tuple[int, list[tuple[int, int]]]]]:
    """A fitted `GraphletSampling` without the function and the shapes in it, which do not survive pickling."""
    left_out = ("sample_graphlets_", "_graph_bins", "_Y_graph_bins")
    shapes = [
        (len(shape._vertices), [(v, other.name) for v, vertex in shape._vertices.items() for other in vertex.edges])
        for shape in kernel._graph_bins.values()
    ]
    return kernel.get_params(), {name: value for name, value in vars(kernel).items() if name not in left_out}, shapes


def _unpacked(
    parameters: dict[str, Any], attributes: dict[str, Any], shapes: list[tuple[int, list[tuple[int, int]]]]
) -> GraphletSampling:
    kernel = GraphletSampling(**parameters)
    kernel.initialize()
    vars(kernel).update(attributes)
    kernel._graph_bins = {number: Shape(size, iter(edges)) for number, (size, edges) in enumerate(shapes)}
    return kernel


def vertex_histogram_svm(*, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """The paper's base classifier: a machine on the histogram of node degrees."""
    return KernelSVM(VertexHistogram(), C=C)


def graphlet_svm(*, k: int = 5, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """A machine on the numbers of connected graphlets of k nodes. All are counted, none is drawn at random."""
    return KernelSVM(GraphletSampling(k=k), C=C)


def nspd_svm(*, r: int = 3, d: int = 4, C: float = 1.0) -> KernelSVM:  # noqa: N803
    """A machine on pairs of neighbourhoods up to radius r whose roots are up to d apart, nodes labelled by degree."""
    return KernelSVM(NeighborhoodSubgraphPairwiseDistance(r=r, d=d), C=C)
