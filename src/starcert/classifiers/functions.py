"""Functions as base classifiers: of a graph, of a batch of graphs, of rows, or of every node of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.base import Classifier, Scores, named_classes, value_scores
from starcert.classifiers.identity import identity
from starcert.classifiers.values import ValueRange
from starcert.objects import NodeFrame
from starcert.sampling.batch import Copies, NoisyGraphs, NoisyVectors
from starcert.system.errors import InvalidParameterError, whole_number

ROUNDING = 1e-6  # by how much numbers of a graph may differ between batches, relative to the largest
NETWORKX_CALL = 4
"""The `call_cost` of a function that is called copy by copy: most of the cost is in making networkx graphs."""


class CallableClassifier(Classifier):
    """A function of a graph, a batch, rows or the nodes of a graph. See `from_callable` and `from_node_function`."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        n_classes: int | None,
        on: str,
        description: str | None,
        batch_size: int = Classifier.batch_size,
        class_names: Sequence[str] | None = None,
        outputs: ValueRange | None = None,
        nodes: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidParameterError("function", "be callable", function)
        if nodes is not None and not isinstance(nodes, str):
            raise InvalidParameterError("nodes", "be the name of node data, or None for all nodes", nodes)
        self.function, self.on, self.nodes, self._description = function, on, nodes, description
        self.values = checked_range(outputs, n_classes=n_classes, class_names=class_names)
        self.class_names, self.n_classes = checked_names(class_names, outputs.steps if outputs else n_classes)
        self.batch_size = whole_number("batch_size", batch_size, 1)
        if on == "networkx":
            self.call_cost = NETWORKX_CALL

    @property
    @override
    def description(self) -> str:
        where = "" if self.nodes is None else f" on {self.nodes}"
        where += "" if self.class_names is None else f" answering {', '.join(self.class_names)}"
        where += "" if self.values is None else f" giving {self.values}"
        if self._description:
            return self._description + where
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{name} {identity(self._content())}{' of nodes' * (self.on == 'nodes')}{where}"

    def _content(self) -> object:
        """What the answers depend on."""
        return self.function, self.nodes if self.on == "nodes" else self.on

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        return 400 * n_edges + 300 * n_nodes if self.on in ("networkx", "nodes") else 0

    @override
    def n_targets(self, frame: NodeFrame) -> int | None:
        return len(nodes_of(self.nodes, frame)) if self.on == "nodes" else None

    @override
    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64] | None:
        return nodes_of(self.nodes, frame) if self.on == "nodes" else None

    @override
    def classify(self, graphs: Copies) -> npt.ArrayLike:
        found = self._returned(graphs)
        return numbers_of(found, self.class_names) if self.values is None else self.values.steps_of(found)

    @override
    def scored(self, graphs: Copies) -> Scores:
        if self.values is None:
            return super().scored(graphs)
        return value_scores(self.values, self._returned(graphs), ROUNDING)

    def _returned(self, graphs: Copies) -> npt.ArrayLike:
        """The results of the function for all copies."""
        if self.on == "vectors" and not isinstance(graphs, NoisyVectors):
            raise ValueError("it classifies rows, and these are graphs: certify Bits or Categories")
        if self.on in ("networkx", "nodes") and not isinstance(graphs, NoisyGraphs):
            raise ValueError("it classifies networkx graphs, and these are plain vectors: write on='vectors'")
        if self.on == "nodes":
            targets, nodes = nodes_of(self.nodes, graphs.frame), graphs.frame.nodes
            return np.array([_classes(self.function(graph), nodes)[targets] for graph in graphs.networkx()])
        if self.on == "networkx":
            return [self.function(graph) for graph in graphs.networkx()]
        found: npt.ArrayLike = self.function(graphs.rows() if self.on == "vectors" else graphs)
        return found


def from_callable(
    function: Callable[[Any], Any],
    *,
    n_classes: int | None = None,
    on: Literal["networkx", "batch", "vectors"] = "networkx",
    description: str | None = None,
    batch_size: int = 256,
    class_names: Sequence[str] | None = None,
    outputs: ValueRange | None = None,
) -> CallableClassifier:
    """A base classifier from any function.

    Args:
        function: with `on="networkx"`, takes one networkx graph (names and node data as in the clean graph) and returns
            its class; with `on="batch"`, takes a whole `NoisyGraphs` batch, with its views `values`, `adjacency()`,
            `edge_index()` and `degrees()`, and returns one class for each graph; with `on="vectors"`, for `Bits` and
            `Categories`, takes an array of whole numbers, shape (copies, columns), and returns one class for each row.
        n_classes: how many classes there are, by default two, or as many as names; answers are 0 … n_classes − 1.
        on: what the function is called with.
        description: says which classifier it is, for the record in a vote store. By default the function's name with a
            digest of its code and of all that it closes over, is bound to and names. Give one of your own for a
            function that holds what has no content: a lock, a connection.
        batch_size: the most copies in a batch. With 1, a function of a batch sees one at a time.
        class_names: what the classes are called, in the order of their numbers; answers may then be names.
        outputs: the range of what the function returns, where that is a number in place of a class: for
            `SmoothedRegressor`.

    Example:
        >>> from_callable(lambda graph: int(graph.number_of_edges() > 10), description="many edges").n_classes
        2
        >>> import starcert as sc
        >>> most = from_callable(lambda rows: rows.mean(axis=1) > 0.5, on="vectors")
        >>> smoothed = sc.SmoothedClassifier(most, sc.Noise(all=0.1))
        >>> smoothed.predict(sc.Bits.rows([[0, 0, 0, 1, 0], [1, 1, 0, 1, 1]]), samples=1000, seed=1).tolist()
        [0, 1]
    """
    if on not in ("networkx", "batch", "vectors"):
        raise InvalidParameterError("on", "be 'networkx', 'batch' or 'vectors'", on)
    return CallableClassifier(function, n_classes, on, description, batch_size, class_names, outputs)


def from_node_function(
    function: Callable[[Any], Any],
    *,
    n_classes: int | None = None,
    nodes: str | None = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
    outputs: ValueRange | None = None,
) -> CallableClassifier:
    """A base classifier of nodes from any function.

    Args:
        function: takes one networkx graph (names and node data as in the clean graph) and returns the class of each of
            its nodes: a mapping from nodes to classes, or a row of classes in the order of the nodes.
        n_classes: how many classes there are, by default two, or as many as names; answers are 0 … n_classes − 1.
        nodes: the name of node data of zeros and ones, such as "test_mask": those nodes alone are certified. None: all.
        description: says which classifier it is, for the record; see `from_callable`.
        class_names: what the classes are called, in the order of their numbers; answers may then be names.
        outputs: the range of what it returns for each node, where that is a number in place of a class.

    Example:
        >>> import starcert as sc
        >>> busy = from_node_function(lambda graph: [int(degree > 1) for _, degree in graph.degree])
        >>> smoothed = sc.SmoothedClassifier(busy, sc.Noise(all=0.1))
        >>> smoothed.predict([sc.Graph(3, [(0, 1), (1, 2)])], samples=1000, seed=1).tolist()
        [0, 1, 0]
    """
    return CallableClassifier(
        function, n_classes, "nodes", description, class_names=class_names, outputs=outputs, nodes=nodes
    )


def _classes(answer: object, nodes: Sequence[Any]) -> npt.NDArray[Any]:
    if isinstance(answer, Mapping):
        missing = [node for node in nodes if node not in answer]
        if missing:
            raise ValueError(f"it gave no class for the node {missing[0]!r}")
        answer = [answer[node] for node in nodes]
    array = np.asarray(answer)
    if array.shape != (len(nodes),):
        raise ValueError(f"it gave classes of shape {array.shape} for {len(nodes)} nodes; one each is needed")
    return array


def checked_range(outputs: object, **classes: object) -> ValueRange | None:
    """The range of outputs, checked: None, or a `ValueRange` beside which nothing is said about classes."""
    if not isinstance(outputs, ValueRange | None):
        raise InvalidParameterError("outputs", "be a ValueRange", outputs, "For example ValueRange(low=0, high=10).")
    for name, given in classes.items() if outputs else ():
        if given is not None:
            raise InvalidParameterError(name, "is for classes, but the outputs are numbers.")
    return outputs


def checked_names(class_names: Sequence[str] | None, n_classes: int | None) -> tuple[tuple[str, ...] | None, int]:
    """The names of classes, checked, and how many classes there are: by default as many as names, or two."""
    if class_names is None:
        return None, whole_number("n_classes", 2 if n_classes is None else n_classes, 2)
    names = tuple(class_names)
    texts = not isinstance(class_names, str) and all(isinstance(name, str) for name in names)
    if not texts or len(set(names)) < len(names) or len(names) < 2:
        requirement = "be different texts, two or more, in the order of the classes' numbers"
        raise InvalidParameterError("class_names", requirement, class_names)
    if n_classes not in (None, len(names)):
        hint = f"They say {named_classes(names)}."
        raise InvalidParameterError("n_classes", f"be {len(names)}, as there are class names", n_classes, hint)
    return names, len(names)


def numbers_of(answers: npt.ArrayLike, class_names: tuple[str, ...] | None) -> npt.ArrayLike:
    """Answers by number, where they are given by name."""
    array = np.asarray(answers)
    if class_names is None or array.dtype.kind != "U":
        return answers
    names, which = np.unique(array, return_inverse=True)
    for name in names.tolist():
        if name not in class_names:
            raise ValueError(f"it answered {name!r}; the classes are {named_classes(class_names)}")
    return np.array([class_names.index(name) for name in names.tolist()], dtype=np.int64)[which].reshape(array.shape)


def nodes_of(nodes: str | npt.ArrayLike | None, frame: NodeFrame) -> npt.NDArray[np.int64]:
    """The indices of the nodes that are classified: all, those of node data of zeros and ones, or those given."""
    if nodes is None:
        return np.arange(frame.n_nodes)
    if isinstance(nodes, str) and nodes not in frame.node_data:
        listed = ", ".join(frame.node_data) or "which has none"
        raise InvalidParameterError("nodes", f"name node data of the graph, {listed}", nodes)
    array = np.asarray(frame.node_data[nodes] if isinstance(nodes, str) else nodes)
    if not isinstance(nodes, str) and array.dtype.kind != "b":
        if array.max() >= frame.n_nodes:
            raise InvalidParameterError("nodes", f"be indices of {frame.n_nodes} nodes, from 0 on", int(array.max()))
        return array.astype(np.int64)
    if array.shape != (frame.n_nodes,) or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InvalidParameterError("nodes", f"have a 0 or a 1 for each of {frame.n_nodes} nodes", nodes)
    if not array.any():
        raise InvalidParameterError("nodes", "chooses no node.")
    return np.flatnonzero(array)
