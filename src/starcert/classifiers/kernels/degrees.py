"""The vertex histogram kernel on node degrees: κ(G, H) = Σ_d c(G, d)·c(H, d), c(G, d) the nodes of degree d in G.

The kernel is linear in the counts, so a support vector machine needs no support vectors:

    Σ_i α_i κ(G, G_i) = Σ_d w_d·c(G, d) = Σ_v w_deg(v),      w_d = Σ_i α_i c(G_i, d).

A degree that no training graph has weighs nothing, as in GraKeL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.core.compiled import compiled
from starcert.sampling.sliced import SlicedGraphs, count_ends, new_counters

if TYPE_CHECKING:
    from starcert.graphs import Frame
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["DegreeHistogram"]

SMALL = 128
"""With so many nodes, a degree fits into seven binary digits."""

Floats = npt.NDArray[np.float64]


class DegreeHistogram:
    """A fitted `grakel.kernels.VertexHistogram` on degrees, seen from its support vectors.

    Args:
        kernel: the fitted kernel.
        support: the indices of the support vectors among the training graphs.
        coefficients: their coefficients in the decision of two classes; None if there are more.
    """

    def __init__(self, kernel: Any, support: npt.NDArray[np.int64], coefficients: Floats | None) -> None:  # noqa: ANN401
        features = kernel.X[support]
        dense = np.asarray(features.todense() if hasattr(features, "todense") else features, dtype=np.float64)
        self._degrees = np.array(list(kernel._labels), dtype=np.int64)
        self._features = dense
        self._normalize = bool(kernel.normalize)
        self.linear = coefficients is not None and not self._normalize
        if coefficients is not None:
            size = int(self._degrees.max(initial=-1)) + 1
            self._weights, self._absolute = np.zeros(size), 0.0
            self._weights[self._degrees] = coefficients @ dense
            self._absolute = float((np.abs(coefficients) @ dense).max(initial=0.0))

    @property
    def content(self) -> tuple[object, ...]:
        """What the answers depend on, for a digest."""
        return self._degrees, self._features, self._normalize

    def takes(self, frame: Frame) -> bool:
        """Whether noisy copies with this frame can be computed."""
        return frame.n_nodes > 0

    def decisions(self, graphs: NoisyGraphs) -> tuple[Floats, Floats]:
        """The decision of every copy without the intercept, and a bound on the sum of its terms' magnitudes."""
        n = graphs.frame.n_nodes
        weights = np.zeros(n)
        weights[: len(self._weights)] = self._weights[:n]
        values: Floats
        if isinstance(graphs, SlicedGraphs) and n <= SMALL:
            fixed = graphs.fixed_degrees()
            values = _add_sliced(graphs.words, graphs.first, len(graphs), graphs.ends, fixed, weights)
        else:
            values = _add_weights(graphs.degrees(), weights)
        return values, np.full(len(values), n * self._absolute)

    def matrix(self, graphs: NoisyGraphs) -> Floats:
        """The kernel between the copies and the support vectors, shape (copies, support vectors)."""
        n, copies = graphs.frame.n_nodes, len(graphs)
        places = graphs.degrees() + n * np.arange(copies)[:, None]
        counts = np.bincount(places.reshape(-1), minlength=copies * n).reshape(copies, n).astype(np.float64)
        possible = self._degrees < n
        values: Floats = counts[:, self._degrees[possible]] @ self._features[:, possible].T
        if self._normalize:
            values /= np.sqrt(np.outer(np.square(counts).sum(axis=1), np.square(self._features).sum(axis=1)))
        return values


@compiled
def _add_weights(degrees, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    copies, n = degrees.shape
    values = np.empty(copies)
    for copy in range(copies):
        value = 0.0
        for v in range(n):
            value += weights[degrees[copy, v]]
        values[copy] = value
    return values


@compiled
def _add_sliced(words, first, count, ends, fixed, weights):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """`_add_weights` without degrees in between: from words with one site of 64 copies each.

    Every node has a counter whose binary digits are words. Eight copies at a time, the digits of a node become the
    eight bytes of one word: its degrees less the fixed ones.
    """
    n = fixed.size
    every, diagonal = np.uint64(0x0101010101010101), np.uint64(0x8040201008040201)
    ceiling, octet_mask = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0xFF)
    counters = new_counters(ends, n)
    digits = counters.shape[1]
    sums = np.empty(64)
    values = np.empty(count)
    for word in range(words.shape[1]):
        count_ends(words, word, ends, counters)
        sums[:] = 0.0
        for node in range(n):
            reached = weights[fixed[node] :]
            for octet in range(8):
                degrees = np.uint64(0)
                for digit in range(digits):
                    bits = (counters[node, digit] >> np.uint64(8 * octet)) & octet_mask
                    # Byte i keeps bit i alone; adding 127 carries it to the top of its byte, wherever it was.
                    apart = ((((bits * every) & diagonal) + ceiling) >> np.uint64(7)) & every
                    degrees |= apart << np.uint64(digit)
                for lane in range(8):
                    sums[8 * octet + lane] += reached[np.int64((degrees >> np.uint64(8 * lane)) & octet_mask)]
        for i in range(max(0, word * 64 - first), min(count, (word + 1) * 64 - first)):
            values[i] = sums[first + i - word * 64]
    return values
