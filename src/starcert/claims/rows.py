"""The rows of a result: objects, or targets of objects such as the nodes of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starcert.math.confidence import class_numbers
from starcert.objects import TargetNodes
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind
from starcert.system.errors import InvalidParameterError

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """One row for each object, or for each target of each object: those of the first object come first.

    Example:
        >>> Rows.of_objects(3, n_classes=2).names
        ['0', '1', '2']
    """

    objects: Whole  # of each row, the number of its object
    targets: Whole  # and of its target there; 0 where objects themselves are classified
    n_classes: int
    anchored: Sequence[str]  # of each row, why its regions are anchored; "" if they are not
    kind: Kind = GRAPHS
    nodes: TargetNodes | None = None  # of each row, where the nodes of graphs are classified
    classes: Sequence[Hashable] | None = None  # what labels call the classes, by number; None: by their numbers alone

    @classmethod
    def of_objects(cls, number: int, n_classes: int) -> Rows:
        """Rows of this many graphs, whose regions are not anchored."""
        return cls(np.arange(number), np.zeros(number, dtype=np.int64), n_classes, [""] * number)

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def word(self) -> str:
        """The word for a row."""
        return self.kind.word if self.nodes is None else "node"

    @property
    def names(self) -> list[str]:
        """The name of each row: the number of its graph, and its node or its target's number, if any."""
        graphs, targets = self.objects.tolist(), self.targets.tolist()
        if self.nodes is None and not any(targets):
            return [str(graph) for graph in graphs]
        named = targets if self.nodes is None else self.nodes.names
        return [f"{graph}.{target}" for graph, target in zip(graphs, named, strict=True)]

    def truth(self, labels: npt.ArrayLike | Sequence[object]) -> npt.NDArray[np.generic]:
        """The true class number of each row; None where the label is None, for a class that is not known.

        Args:
            labels: a class for each row, in the words of `classes` or by its number; where the nodes of one graph are
                classified, a class for each of all its nodes will do.
        """
        given: npt.NDArray[np.generic] = np.array(labels, dtype=object)
        if self.nodes is not None:
            given = self.nodes.labels(given)
        elif given.shape != (len(self),):
            raise InvalidParameterError("labels", f"have one class for each of {len(self)} graphs", given.shape)
        return class_numbers(given, self.n_classes, self.classes)
