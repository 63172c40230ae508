"""Labels as class numbers: by what the classes are called where that is known, never by chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

__all__ = ["class_numbers"]

MAX_LISTED = 20
"""At most this many classes are listed in a message."""


def class_numbers(
    labels: npt.ArrayLike | Sequence[object],
    n_classes: int,
    classes: Sequence[Hashable] | None = None,
    *,
    unseen: int | None = None,
) -> npt.NDArray[Any]:
    """The class number of each label; a label that is None stays None: the class is not known.

    Where some class is a number itself, as in [3, 8], numbers mean these classes. Otherwise they are class numbers.

    `classes` is what labels call the classes, in the order of their numbers; None: by their numbers alone. `unseen` is
    the number of labels that are none of the classes, where at least one label is; None: they are refused.

    >>> class_numbers([8, 3], 2, classes=[3, 8]), class_numbers(["star", 0], 2, classes=["ring", "star"])
    (array([1, 0]), array([1, 0]))
    """
    given = np.array(labels, dtype=object)
    numbers: dict[Hashable, int] = {} if classes is None else {each: place for place, each in enumerate(classes)}
    if all(isinstance(each, str) for each in numbers):
        numbers |= {number: number for number in range(n_classes)}
    entries = [each.item() if hasattr(each, "item") else each for each in given]
    found = [None if each is None else numbers.get(each, -1) for each in entries]
    if -1 in found and (unseen is None or not any(number is not None and number >= 0 for number in found)):
        row = found.index(-1)
        known = f"a class number from 0 to {n_classes - 1}"
        advice = "Number them: classes, numbers = numpy.unique(labels, return_inverse=True)"
        if classes is not None:
            listed = ", ".join(map(repr, classes[:MAX_LISTED])) + (", …" if len(classes) > MAX_LISTED else "")
            known, advice = f"one of the classes {listed}", "Label with the classes of the classifier"
        hint = f"{advice}; None means that the class is not known."
        raise InvalidParameterError(f"labels[{row}]", f"be {known}", entries[row], hint)
    return np.array([unseen if number == -1 else number for number in found], None if None in found else np.int64)
