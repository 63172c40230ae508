"""What all kernels share: features of training graphs become columns, graphs become rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from starcert.errors import InvalidParameterError, StarcertError
from starcert.kernels.collection import DEGREE, Collection, collect
from starcert.kernels.words import Counts, Floats, look_up, table_of

try:
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise StarcertError(
        f"Graph kernels need scikit-learn ({error}). Install it with: pip install 'starcert[kernels]'"
    ) from error

if TYPE_CHECKING:
    from starcert.graphs import Graph
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["GraphKernel", "whole_number"]


class GraphKernel(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A graph kernel κ(G, H) = ⟨φ(G), φ(H)⟩ by its feature map φ, a scikit-learn transformer of graphs.

    A kernel of its own says which features a graph has, in `count`.

    Args:
        node_labels: what the label of a node is: "degree", the name of an attribute in the node data, or None, which
            makes all nodes alike.
        normalize: divide φ(G) by its norm, features that training has not seen included. A graph without features
            stays zero.

    Attributes:
        known_: the features of the training graphs, as sorted words: the columns.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.svm import SVC
        >>> from starcert import Graph
        >>> from starcert.kernels import WeisfeilerLehman
        >>> star, ring = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> model = make_pipeline(WeisfeilerLehman(normalize=True), SVC(kernel="linear"))
        >>> model.fit([star, ring], ["star", "ring"]).predict([ring]).tolist()
        ['ring']
    """

    def __init__(self, *, node_labels: str | None = DEGREE, normalize: bool = False) -> None:
        self.node_labels = node_labels
        self.normalize = normalize

    @abstractmethod
    def count(self, graphs: Collection) -> Counts:
        """The features of each graph, a function of that graph alone."""

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """What a graph of this size takes while its features are counted."""
        return 400.0 * (n_nodes + n_edges)

    def fit(self, X: Sequence[Graph] | NoisyGraphs, y: object = None) -> Self:  # noqa: N803
        """Learn which features there are."""
        self._fit(self._counted(X))
        return self

    def transform(self, X: Sequence[Graph] | NoisyGraphs) -> Any:  # noqa: ANN401, N803  (scipy carries no types)
        """The features of each graph, a sparse matrix (graphs, columns); those that training has not seen are left out.

        Args:
            X: a list of graphs, or a batch of noisy copies.
        """
        check_is_fitted(self, "known_")
        return self._matrix(self._counted(X))

    def fit_transform(self, X: Sequence[Graph] | NoisyGraphs, y: object = None) -> Any:  # noqa: ANN401, N803
        """Both, counted once."""
        counts = self._counted(X)
        self._fit(counts)
        return self._matrix(counts)

    def weighed(self, graphs: NoisyGraphs, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """For each copy the sum of its features, weighed; and a bound on what they sum to with weights of these sizes.

        Args:
            graphs: noisy copies.
            weights: one for each column.
            sizes: as many, none negative.
        """
        features = self.transform(graphs)
        return features @ weights, features @ sizes

    def _counted(self, graphs: Sequence[Graph] | NoisyGraphs) -> Counts:
        counts = self.count(collect(graphs, self.node_labels))
        return counts.normalised() if self.normalize else counts

    def _fit(self, counts: Counts) -> None:
        self.known_ = np.unique(counts.words)
        self._table = table_of(self.known_)

    def _matrix(self, counts: Counts) -> Any:  # noqa: ANN401
        begins, columns, values = look_up(*counts, self._table, self.known_)
        return csr_array((values, columns, begins.astype(np.int32)), shape=(len(begins) - 1, len(self.known_)))


def whole_number(name: str, value: object, least: int, most: int | None = None, hint: str = "") -> int:
    """The value of a kernel's parameter, checked when it is used, as scikit-learn wants it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= (most or value):
        limits = f"{least} or more" if most is None else f"from {least} to {most}"
        raise InvalidParameterError(name, f"be a whole number, {limits}", value, hint)
    return int(value)
