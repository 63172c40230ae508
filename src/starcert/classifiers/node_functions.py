"""A function that classifies every node of a networkx graph, as a base classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier, checked_names, numbers_of
from starcert.classifiers.identity import identity
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects import NodeFrame
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["NodeFunction", "from_node_function"]


class NodeFunction(Classifier):
    """A function from a networkx graph to the class of each of its nodes. See `from_node_function`."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        n_classes: int,
        nodes: str | None,
        description: str | None,
        class_names: tuple[str, ...] | None = None,
    ) -> None:
        self.function = function
        self.class_names = class_names
        self.n_classes = n_classes
        self.nodes = nodes
        self._description = description

    @property
    def description(self) -> str:
        """Which classifier it is: what was given, or the function's name with its identity as it is now."""
        which = "" if self.nodes is None else f" on {self.nodes}"
        which += "" if self.class_names is None else f" answering {', '.join(self.class_names)}"
        if self._description:
            return self._description + which
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{name} {identity(self.content())} of nodes{which}"

    def content(self) -> object:
        """The function, and the nodes that it answers for."""
        return self.function, self.nodes

    def n_targets(self, frame: NodeFrame) -> int:
        """Every node, or those of a mask."""
        return len(self.target_nodes(frame))

    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64]:
        """Every node, or those of a mask."""
        if self.nodes is None:
            return np.arange(frame.n_nodes)
        if self.nodes not in frame.node_data:
            listed = ", ".join(frame.node_data) or "which has none"
            raise InvalidParameterError("nodes", f"name node data of the graph, {listed}", self.nodes)
        mask = np.asarray(frame.node_data[self.nodes])
        if mask.shape != (frame.n_nodes,) or mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
            must = f"name node data with a 0 or a 1 for each of {frame.n_nodes} nodes"
            raise InvalidParameterError("nodes", must, self.nodes)
        if not mask.any():
            raise InvalidParameterError("nodes", "name node data that choose a node", self.nodes)
        return np.flatnonzero(mask)

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """What one noisy copy takes as the function sees it: some 400 bytes an edge in networkx."""
        return 400 * n_edges + 300 * n_nodes

    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each target of each copy."""
        targets = self.target_nodes(graphs.frame)
        answers = [_classes(self.function(graph), graphs.frame.nodes)[targets] for graph in graphs.networkx()]
        return numbers_of(np.array(answers), self.class_names)


def from_node_function(
    function: Callable[[Any], Any],
    *,
    n_classes: int | None = None,
    nodes: str | None = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
) -> NodeFunction:
    """A base classifier of nodes from any function.

    Args:
        function: takes one networkx graph (names and node data as in the clean graph) and returns the class of each of
            its nodes: a mapping from nodes to classes, or a row of classes in the order of the nodes.
        n_classes: how many classes there are, by default two, or as many as names; answers are 0 … n_classes − 1.
        nodes: the name of node data of zeros and ones, such as "test_mask": those nodes alone are certified. None: all.
        description: says which classifier it is, for the record; see `from_callable`.
        class_names: what the classes are called, in the order of their numbers; answers may then be names.

    Example:
        >>> import starcert as sc
        >>> busy = from_node_function(lambda graph: [int(degree > 1) for _, degree in graph.degree])
        >>> smoothed = sc.SmoothedClassifier(busy, sc.Noise(all=0.1))
        >>> smoothed.predict([sc.Graph(3, [(0, 1), (1, 2)])], samples=1000, seed=1).tolist()
        [0, 1, 0]
    """
    if not callable(function):
        raise InvalidParameterError("function", "be callable", function)
    if nodes is not None and not isinstance(nodes, str):
        raise InvalidParameterError("nodes", "be the name of node data, or None for all nodes", nodes)
    names, n_classes = checked_names(class_names, n_classes)
    return NodeFunction(function, n_classes, nodes, description, names)


def _classes(answer: object, nodes: Sequence[Any]) -> npt.NDArray[Any]:
    if isinstance(answer, Mapping):
        missing = [node for node in nodes if node not in answer]
        if missing:
            raise ValueError(f"it gave no class for the node {missing[0]!r}")
        answer = [answer[node] for node in nodes]
    array = np.asarray(answer)
    if array.shape != (len(nodes),):
        raise ValueError(
            f"it gave classes of shape {array.shape} for a graph with {len(nodes)} nodes; one each is needed"
        )
    return array
