"""A base classifier that is asked about whole objects, one by one: what a choice of objects shows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.base import Classifier
from starcert.objects import Sites
from starcert.objects.kinds import Kind
from starcert.sampling.batch import Copies
from starcert.sampling.views import clean_copy


class OfObjects(Classifier):
    """The answers of a base classifier on each object by itself, without noise."""

    call_cost = 1

    def __init__(self, base: Classifier) -> None:
        self.base, self.n_classes = base, base.n_classes
        self.class_names, self.class_labels = base.class_names, base.class_labels

    @property
    @override
    def description(self) -> str:
        return self.base.description

    @override
    def classify(self, graphs: Copies) -> npt.ArrayLike:
        copies = [clean_copy(Sites.everything(each, "all")) for each in graphs.rows()]
        if not copies:
            return np.empty(0, dtype=np.int64)
        return np.concatenate([np.asarray(self.base.classify(each)) for each in copies])


def asked_about(kind: Kind, base: Classifier) -> Classifier:
    """A base classifier as it is asked about objects of a kind."""
    return OfObjects(base) if kind.of_objects and not isinstance(base, OfObjects) else base
