"""Support vector machines on graph kernels: starcert's kernels or any of GraKeL's, scikit-learn's machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from starcert.classifiers.kernels import GraphKernel, Graphlets, NeighbourhoodPairs, VertexHistogram
from starcert.classifiers.kernels.kernel import DATA, DEGREE, checked_graphs, labels_in, node_labels_of
from starcert.objects import Graph
from starcert.objects.content import digest
from starcert.system.errors import InvalidParameterError

EDGE_LABEL = 1  # edges have no labels of their own: for GraKeL all have this one


class KernelSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector machine on a graph kernel, as a scikit-learn estimator on lists of starcert `Graph`s.

    Args:
        kernel: one of `starcert.kernels`, or any of GraKeL, not fitted; it is cloned. None: the vertex histogram.
        node_labels: what GraKeL, or the vertex histogram of None, sees as the label of a node: "degree", or the name of
            an attribute in the node data. None: as the training graphs have it, the node data `label` (TU data sets) or
            `atomic_number` (molecules), and else degrees. A kernel of `starcert.kernels` has node labels of its own.
        C: the machine's penalty, as in `sklearn.svm.SVC`.

    Attributes:
        classes_: the classes, sorted.
        kernel_: the fitted kernel.
        node_labels_: what the label of a node is.
        features_: the features of the training graphs; None for a kernel of GraKeL.
        svc_: the fitted `SVC`, on the precomputed kernel.
        training_digest_: a digest of the training graphs.

    Example:
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> model = KernelSVM().fit([star, ring], ["star", "ring"])
        >>> model.predict([ring]).tolist()
        ['ring']
    """

    def __init__(
        self,
        kernel: Any = None,  # noqa: ANN401  (GraKeL carries no types)
        *,
        node_labels: str | None = None,
        C: float = 1.0,  # noqa: N803
    ) -> None:
        self.kernel = kernel
        self.node_labels = node_labels
        self.C = C

    def fit(self, X: Sequence[Graph], y: npt.ArrayLike) -> Self:  # noqa: N803  (scikit-learn's names)
        """Fit the kernel on the graphs X, and the machine on it and the classes y."""
        kernel = self._fresh_kernel()
        graphs = checked_graphs(X)
        classes = column_or_1d(np.asarray(y))
        check_classification_targets(classes)
        if len(graphs) != len(classes):
            raise InvalidParameterError("y", f"hold one class for each of the {len(graphs)} graphs", len(classes))
        if len(np.unique(classes)) < 2:
            raise InvalidParameterError("y", "hold two classes at least", np.unique(classes).tolist())
        if isinstance(kernel, GraphKernel):
            self.features_ = kernel.fit_transform(graphs)
            self.node_labels_ = kernel.labels_used
            matrix = (self.features_ @ self.features_.T).toarray()
        else:
            self.features_ = None
            self.node_labels_ = labels_in(graphs) if self.node_labels in (None, DATA) else self.node_labels
            matrix = kernel.fit_transform(grakel_input(graphs, self.node_labels_))
        self.kernel_ = kernel
        self.svc_ = SVC(kernel="precomputed", C=self.C).fit(matrix, classes)
        self.classes_ = self.svc_.classes_
        self.training_digest_ = digest([graph.key for graph in graphs])
        return self

    def _fresh_kernel(self) -> Any:  # noqa: ANN401
        if self.kernel is None:
            return VertexHistogram(node_labels=DATA if self.node_labels is None else self.node_labels)
        if isinstance(self.kernel, GraphKernel):
            if self.node_labels is not None:
                hint = f"Give them to the kernel: {type(self.kernel).__name__}(node_labels={self.node_labels!r})."
                raise InvalidParameterError("node_labels", "be None beside such a kernel", self.node_labels, hint)
        elif not _is_grakel(self.kernel):
            hint = "Use a class of starcert.kernels or grakel.kernels, for example starcert.kernels.ShortestPath()."
            raise InvalidParameterError(
                "kernel", "be a kernel of starcert or a GraKeL kernel, or None", self.kernel, hint
            )
        return clone(self.kernel)

    def decision_function(self, X: Sequence[Graph]) -> npt.NDArray[np.float64]:  # noqa: N803
        """The decision of each graph, as `SVC.decision_function` has it."""
        matrix = self.matrix(X)
        return np.asarray(self.svc_.decision_function(matrix))

    def predict(self, X: Sequence[Graph]) -> npt.NDArray[Any]:  # noqa: N803
        """The class of each graph."""
        matrix = self.matrix(X)
        return np.asarray(self.svc_.predict(matrix))

    def matrix(self, X: Any, rows: Any = slice(None)) -> npt.NDArray[np.float64]:  # noqa: ANN401, N803
        """The kernel between graphs and the training graphs.

        A kernel of `starcert.kernels` also takes a batch of noisy copies, and which of its graphs are `rows`.
        """
        check_is_fitted(self, "svc_")
        if isinstance(self.kernel_, GraphKernel):
            return np.asarray((self.kernel_.transform(X)[rows] @ self.features_.T).toarray())
        assert self.node_labels_ is not None  # for GraKeL nodes always have labels
        return np.asarray(self.kernel_.transform(grakel_input(X, self.node_labels_)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803  (scikit-learn's name)
        shown: str = super().__repr__(N_CHAR_MAX)
        labels = self.kernel.node_labels if isinstance(self.kernel, GraphKernel) else self.node_labels or DATA
        follows = labels == DATA and hasattr(self, "svc_")
        return f"{shown} on node labels {self.node_labels_!r}" if follows else shown

    def __getstate__(self) -> dict[str, Any]:
        """Without the function and the shapes in a fitted `GraphletSampling`, which do not survive pickling."""
        state = dict(super().__getstate__())
        kernel: Any = state.get("kernel_")
        if _is_grakel(kernel) and type(kernel).__name__ == "GraphletSampling":
            left_out = ("sample_graphlets_", "_graph_bins", "_Y_graph_bins")
            shapes = [
                (len(shape._vertices), [(v, end.name) for v, vertex in shape._vertices.items() for end in vertex.edges])
                for shape in kernel._graph_bins.values()
            ]
            kept = {name: value for name, value in vars(kernel).items() if name not in left_out}
            state["kernel_"] = clone(kernel), kept, shapes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("kernel_"), tuple):
            from grakel.kernels._isomorphism import Graph as Shape  # noqa: PLC0415

            kernel, kept, shapes = state["kernel_"]
            kernel.initialize()
            vars(kernel).update(kept)
            kernel._graph_bins = {number: Shape(size, iter(edges)) for number, (size, edges) in enumerate(shapes)}
            state = {**state, "kernel_": kernel}
        super().__setstate__(state)


def _is_grakel(kernel: object) -> bool:
    """Whether this is a kernel of GraKeL, which takes seconds to import: then it is imported already."""
    grakel = sys.modules.get("grakel.kernels")
    return grakel is not None and isinstance(kernel, grakel.Kernel)


def grakel_input(graphs: Sequence[Graph], node_labels: str) -> list[list[Any]]:
    """Graphs as GraKeL wants them: (adjacency matrix, node labels, edge labels), the nodes called 0, 1, …."""
    if not isinstance(node_labels, str):
        raise InvalidParameterError("node_labels", "be 'degree' or the name of an attribute in node_data", node_labels)
    converted = []
    for graph in checked_graphs(graphs):
        adjacency = graph.to_numpy().astype(int)
        labels = adjacency.sum(axis=1).tolist() if node_labels == DEGREE else node_labels_of(graph, node_labels)
        edges = {(u, v): EDGE_LABEL for one, other in graph.edges.tolist() for u, v in ((one, other), (other, one))}
        # GraKeL takes a graph without edge labels for unlabelled and refuses it; a label of no edge has no effect.
        converted.append([adjacency, dict(enumerate(labels)), edges or {(0, 0): EDGE_LABEL}])
    return converted


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
