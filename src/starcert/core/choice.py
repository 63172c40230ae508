"""Which margin alpha is spent on, where there are more than two classes: chosen graph by graph on the selection votes.

The two-class margin needs one bound, that on p_A, and can spend the whole of alpha on it. The multi-class margin needs
a bound on every class, each with a share of alpha / K. Neither is better for all graphs: with votes that all agree the
first one is, with many classes of which none has a majority the second.

Any choice is sound that does not look at the estimation votes: given the selection votes it is fixed, and the bounds
that were chosen hold together with probability at least 1 − alpha. (`docs/mathematics.md` has the proof.) This one
predicts the estimation votes from the selection votes, computes the bounds of both margins from the prediction, and
compares how far they would reach. Archives rest on it: another rule must have another name there.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from starcert.core.limits import rough_limits

__all__ = ["PSEUDO_VOTES", "chooses_multi_class"]

PSEUDO_VOTES = 0.5
"""Few votes against the class tell little about how others will fall on the other classes: each gets so many more."""


def chooses_multi_class(
    selection: npt.NDArray[np.int64], totals: npt.NDArray[np.int64], whole: Fraction
) -> npt.NDArray[np.bool_]:
    """For which graphs alpha is spent on the multi-class margin, for which (False) on the two-class margin.

    How far a margin reaches is compared as if the log ratio were normal. There ρ_low(p) = Φ(Φ⁻¹(p) − d) at a distance
    d, so that the two-class margin reaches d = Φ⁻¹(p_A), and the multi-class margin d = (Φ⁻¹(p_A) + Φ⁻¹(1 − p_B)) / 2.

    Args:
        selection: selection votes, shape (graphs, classes), with three classes or more.
        totals: how many estimation votes each graph has.
        whole: what the bounds of one graph may fail with together.

    Example:
        >>> votes = np.array([[100, 0, 0], [60, 20, 20], [90, 10, 0]])
        >>> chooses_multi_class(votes, np.array([1000, 1000, 1000]), Fraction(1, 100))
        array([False,  True, False])
    """
    from scipy.special import ndtri  # noqa: PLC0415  (as in core.limits)

    n_graphs, n_classes = selection.shape
    rows, chosen = np.arange(n_graphs), selection.argmax(axis=1)
    rivals = selection.copy()
    rivals[rows, chosen] = 0
    against, rival = rivals.sum(axis=1), rivals.max(axis=1)
    failing = totals * (against / selection.sum(axis=1))
    best = failing * (rival + PSEUDO_VOTES) / (against + PSEUDO_VOTES * (n_classes - 1))
    share = whole / n_classes
    failure, other = rough_limits(failing, totals, share), rough_limits(best, totals, share)
    two_class = -ndtri(rough_limits(failing, totals, whole))
    multi_class = -(ndtri(failure) + ndtri(np.minimum(other, failure))) / 2
    return np.asarray(multi_class > two_class)
