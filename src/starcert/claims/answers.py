"""Right answers, and their shares: of the graphs whose class is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.claims.outcomes import Labels, Mask, known, share_of
from starcert.system.errors import InvalidParameterError


def right(answers: Certificates | npt.ArrayLike, labels: Labels) -> Mask:
    """Which graphs are answered right: an answer is given, and it is the true class, which is known.

    Args:
        answers: the certificates of the graphs, or plain answers, such as the base classifier's own.
        labels: the true classes; beside plain answers in the same words as these.

    Example:
        >>> import starcert as sc
        >>> right(sc.certify(sc.Bounds.certain([0.9, 0.5, 0.9, 0.9]), sc.Noise(all=0.2)), [0, 0, 1, None])
        array([ True, False, False, False])
    """
    if isinstance(answers, Certificates):
        return answers.right(labels)
    given, truth = np.asarray(answers), np.asarray(labels)
    if truth.shape != given.shape or truth.ndim != 1:
        raise InvalidParameterError("labels", f"have one class for each of {len(given)} graphs", truth.shape)
    classes = [label for label in truth.tolist() if label is not None]
    if len({isinstance(each, str) for each in (*given.tolist(), *classes)}) > 1:
        hint = "Give both as names, or both as class numbers."
        raise InvalidParameterError("labels", f"be classes as the answers are, {given.tolist()[:3]}", classes[:3], hint)
    return np.asarray(given == truth)


def accuracy(answers: Certificates | npt.ArrayLike, labels: Labels) -> float:
    """The share of graphs that are answered `right`, of those whose class is known; NaN if none is.

    Example:
        >>> accuracy([0, 1, 1], [0, 1, 0])
        0.6666666666666666
    """
    return share_of(right(answers, labels), known_classes(answers, labels))


def majority_share(labels: npt.ArrayLike) -> float:
    """The share of the most frequent class: the accuracy of a constant answer.

    Example:
        >>> majority_share([0, 1, 1, 1])
        0.75
    """
    truth = np.asarray(labels)
    if truth.ndim != 1 or not truth.size:
        raise InvalidParameterError("labels", "be a row of classes, one or more", f"an array of shape {truth.shape}")
    return float(np.unique(truth, return_counts=True)[1].max() / truth.size)


def known_classes(answers: Certificates | npt.ArrayLike, labels: Labels) -> Mask:
    """Of which graphs the class is known."""
    truth = answers.truth(labels) if isinstance(answers, Certificates) else np.asarray(labels)
    return known(truth.tolist())
