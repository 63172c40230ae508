"""A learned filter of edges: P(edge | features of its two ends), fitted once, on graphs that are not certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from starcert.objects import Graph, Partition
from starcert.objects.content import digest
from starcert.objects.laws import real_number
from starcert.objects.layers import Indices
from starcert.objects.regions.builder import RegionRule, data_of
from starcert.objects.regions.scores import Features, divide_by_ends
from starcert.system.errors import InvalidParameterError, needing, whole_number

MAX_CROSSED = 32  # with more features than these, only products of one feature with itself are learned from
OTHERS = 10  # random pairs for each edge that are learned from
REGIONS = ("likely", "unlikely")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LikelyEnds:
    """Lets an edge through if its ends' features make it likely: P(edge | x_u, x_v) is at least a threshold.

    The logit is bias + single·(x_u + x_v) + x_uᵀ·products·x_v, where `products` is symmetric, or with many features
    diagonal. P is that among as many edges as other pairs. It follows from the features of the ends alone: pairs below
    the threshold are a region of `regions`, and with the noise `Flip(delete=1, add=0)` there they are *invisible*.

    Example:
        >>> atoms = np.eye(2)[[0, 1, 0, 1, 0, 1]]
        >>> ring = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)], node_data={"x": atoms})
        >>> likely = LikelyEnds.fit([ring], threshold=0.5)
        >>> likely(torch.tensor(atoms), torch.tensor([[0, 0], [1, 2]])).tolist()
        [True, False]
        >>> likely.regions(ring).sites(ring).sizes
        (9, 6)
    """

    bias: float
    single: Floats  # shape (features,)
    products: Floats  # shape (features, features), or the diagonal of it
    threshold: float = 0.5
    attribute: str = "x"

    def __post_init__(self) -> None:
        if not 0 < real_number(self.threshold) < 1:
            raise InvalidParameterError("threshold", "be a probability between 0 and 1", self.threshold)

    @classmethod
    def fit(cls, graphs: Sequence[Graph], *, threshold: float = 0.5, attribute: str = "x", seed: int = 0) -> Self:
        """A filter by logistic regression on the edges of graphs and random other pairs.

        Args:
            graphs: training graphs. No graph that is to be certified may be among them: the filter would be another
                one at the attacked graph.
            threshold: the least probability of an edge that is let through, between 0 and 1.
            attribute: the node data with the features, numbers. They must be out of reach of attacks: node data that
                are sites are refused.
            seed: of the random pairs.
        """
        with needing("LikelyEnds needs", "kernels"):
            from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (optional)
            from sklearn.pipeline import make_pipeline  # noqa: PLC0415
            from sklearn.preprocessing import MaxAbsScaler  # noqa: PLC0415
        from scipy import sparse  # noqa: PLC0415  (slow to import)

        rng, columns, present = np.random.default_rng(whole_number("seed", seed, 0)), list[Any](), list[Indices]()
        for graph in graphs:
            x, edges = sparse.csr_array(_features(graph, attribute)), np.sort(graph.edges, axis=1)
            others = np.sort(rng.integers(0, max(1, graph.n_nodes), (OTHERS * len(edges), 2)), axis=1)
            codes = others @ [graph.n_nodes, 1]
            others = others[(others[:, 0] < others[:, 1]) & ~np.isin(codes, edges @ [graph.n_nodes, 1])]
            one, other = (x[ends] for ends in np.concatenate([edges, others]).T)
            i, j = _crossed(x.shape[1])
            both = one[:, i] * other[:, j] + one[:, j] * other[:, i]
            columns.append(sparse.hstack([one + other, both]))
            present += [np.ones(len(edges), dtype=np.int64), np.zeros(len(others), dtype=np.int64)]
        known = np.concatenate([np.empty(0, dtype=np.int64), *present])
        if len({each.shape[1] for each in columns}) > 1 or set(known.tolist()) != {0, 1}:
            requirement = "have the same features, and both edges and node pairs without one"
            raise InvalidParameterError("graphs", requirement, f"{len(graphs)} graphs with {known.sum()} edges")
        fitted = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=10_000, class_weight="balanced"))
        scaler, model = (step for _, step in fitted.fit(sparse.vstack(columns).tocsr(), known).steps)
        weights = model.coef_[0] / scaler.scale_
        single, crossed = np.split(weights, [x.shape[1]])
        if len(single) > MAX_CROSSED:
            return cls(float(model.intercept_[0]), single, 2 * crossed, threshold, attribute)
        products = np.zeros((len(single), len(single)))
        products[i, j] = crossed
        return cls(float(model.intercept_[0]), single, products + products.T, threshold, attribute)

    @property
    def _least(self) -> float:
        """The logit of the threshold."""
        return float(np.log(self.threshold / (1 - self.threshold)))

    def __call__(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Whether each edge is let through; x holds the features that were learned from."""
        rows = x.double()
        single, products = (torch.as_tensor(each, device=x.device) for each in (self.single, self.products))
        one, other = edge_index.sort(dim=0).values  # both directions of an edge are one sum
        crossed = rows @ products if products.dim() == 2 else rows * products
        alone = (rows * single).sum(dim=1)
        return self.bias + alone[one] + alone[other] + (crossed[one] * rows[other]).sum(dim=1) >= self._least

    @property
    def regions(self) -> RegionRule:
        """The rule that makes a region `likely` of the pairs that are let through, and one of all others, `unlikely`.

        Graphs whose features are sites are refused: an attack could make any pair likely.
        """
        fitted = digest(self.bias, self.single.tolist(), self.products.tolist())[:12]
        described = f"likely_ends:threshold={self.threshold},attribute={self.attribute},fitted={fitted}"
        return RegionRule("likely_ends", {}, REGIONS, partial(_divide, self), described=described)

    def likely(self, x: Features, rows: Indices) -> npt.NDArray[np.bool_]:
        """Whether an edge between each of some rows and each of all rows of features is let through."""
        alone = x @ self.single
        crossed = x[rows] @ self.products if self.products.ndim == 2 else x[rows] * self.products
        found: npt.NDArray[np.bool_] = self.bias + alone[rows, None] + alone + crossed @ x.T >= self._least
        return found


def _divide(ends: LikelyEnds, graph: Graph) -> Partition:
    features = _features(graph, ends.attribute)
    if features.shape[1] != len(ends.single):
        got = f"{features.shape[1]} features"
        raise InvalidParameterError("graph", f"have the {len(ends.single)} features that were learned from", got)
    return divide_by_ends(graph, features, ends.likely, REGIONS)


def _features(graph: Graph, attribute: str) -> Floats:
    rows = np.asarray(data_of(graph, attribute))
    if rows.ndim != 2 or rows.dtype.kind not in "biuf" or not np.isfinite(rows).all():
        got = f"{rows.ndim} dimension{'s' * (rows.ndim > 1)} of {rows.dtype}"
        raise InvalidParameterError(f"node_data[{attribute}]", "hold a row of finite numbers for each node", got)
    return rows.astype(np.float64)


def _crossed(n_features: int) -> tuple[Indices, Indices]:
    """The pairs of features whose products are learned from."""
    if n_features > MAX_CROSSED:
        return np.arange(n_features), np.arange(n_features)
    i, j = np.triu_indices(n_features)
    return i, j
