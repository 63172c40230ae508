"""Base classifiers made from another: one question for each class of its answers, or its answers on whole objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.base import Classifier, Scores
from starcert.objects import NodeFrame, Sites
from starcert.objects.kinds import Kind
from starcert.sampling.batch import Copies, NoisyGraphs
from starcert.sampling.views import clean_copy


class EachClass(Classifier):
    """A classifier with K targets for each target of another: target K·t + c is 1 where that answers class c for t.

    Trying attacks until every target has changed finds, for each class, the first attack that makes it the answer.
    """

    n_classes = 2

    def __init__(self, base: Classifier) -> None:
        self.base = base
        self.backend, self.batch_size, self.chunk_size = base.backend, base.batch_size, base.chunk_size
        self.chunks_per_batch, self.max_batch_nodes = base.chunks_per_batch, base.max_batch_nodes
        self.call_cost, self.device = base.call_cost, base.device

    @property
    @override
    def description(self) -> str:
        return f"each class of {self.base.description}"

    @override
    def n_targets(self, frame: NodeFrame) -> int:
        return self.base.n_classes * (self.base.n_targets(frame) or 1)

    @override
    def target_nodes(self, frame: NodeFrame) -> None:
        return None

    @override
    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        return self._each(Scores(self.base.classify(graphs))).answers

    @override
    def scored(self, graphs: NoisyGraphs) -> Scores:
        return self._each(self.base.scored(graphs))

    @override
    def scored_each(self, batches: Sequence[NoisyGraphs]) -> list[Scores]:
        return [self._each(found) for found in self.base.scored_each(batches)]

    def _each(self, found: Scores) -> Scores:
        """The scores of all questions: where two classes are close, so are both answers to each."""
        answers, n_classes = np.asarray(found.answers), self.base.n_classes
        if answers.size and not ((answers >= 0) & (answers < n_classes)).all():
            raise ValueError(f"it answered {answers.tolist()}; a class is a whole number from 0 to {n_classes - 1}")
        asked = (answers[..., None] == np.arange(n_classes)).reshape(len(answers), -1)
        if found.numbers is None:
            return found._replace(answers=asked)
        numbers = np.repeat(found.numbers.reshape(len(answers), -1, found.numbers.shape[-1]), n_classes, axis=1)
        return found._replace(answers=asked, numbers=numbers)

    @property
    @override
    def as_written(self) -> Classifier:
        return EachClass(self.base.as_written)

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        return self.base.copy_bytes(n_nodes, n_edges)

    @override
    def free_memory(self) -> int | None:
        return self.base.free_memory()


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
