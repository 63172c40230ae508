"""Any callable as a base classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from starcert.classifiers.base import Classifier
from starcert.classifiers.identity import identity
from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from starcert.sampling.batch import NoisyGraphs

__all__ = ["CallableClassifier", "from_callable"]


class CallableClassifier(Classifier):
    """A function of a graph, or of a batch of graphs, as a base classifier. See `from_callable`."""

    def __init__(
        self, function: Callable[[Any], Any], n_classes: int, on: str, description: str | None, batch_size: int
    ) -> None:
        self.function = function
        self.n_classes = n_classes
        self.on = on
        self.batch_size = batch_size
        self._description = description

    @property
    def description(self) -> str:
        """Which classifier it is: what was given, or the function's name with its identity as it is now."""
        if self._description:
            return self._description
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{name} {identity((self.function, self.on))}"

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """What one noisy copy takes as the function sees it: some 200 bytes an edge in networkx."""
        return 200 * n_edges + 300 * n_nodes if self.on == "networkx" else 0

    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """One class for each graph."""
        if self.on == "batch":
            answers: npt.ArrayLike = self.function(graphs)
            return answers
        return [self.function(graph) for graph in graphs.networkx()]


def from_callable(
    function: Callable[[Any], Any],
    *,
    n_classes: int = 2,
    on: Literal["networkx", "batch"] = "networkx",
    description: str | None = None,
    batch_size: int = 256,
) -> CallableClassifier:
    """A base classifier from any function.

    Args:
        function: with `on="networkx"`, takes one networkx graph (names and node data as in the clean graph) and returns
            its class; with `on="batch"`, takes a whole `NoisyGraphs` batch, with its views `bits`, `adjacency()`,
            `edge_index()` and `degrees()`, and returns one class for each graph.
        n_classes: how many classes there are; answers are 0 … n_classes − 1.
        on: what the function is called with.
        description: says which classifier it is, for the record in a vote store. By default the function's name with a
            digest of its code, of what it closes over or is bound to, and of the functions, classes and data of your
            own modules that it names, as they are when the store is opened. Give one of your own for a function that
            may be rewritten without a change of its answers, or that holds what has no content: a lock, a connection.
        batch_size: the most graphs in a batch. With 1, a function of a batch sees one graph at a time.

    Example:
        >>> from_callable(lambda graph: int(graph.number_of_edges() > 10), description="many edges").n_classes
        2
    """
    if not callable(function):
        raise InvalidParameterError("function", "be callable", function)
    if not isinstance(n_classes, int) or n_classes < 2:
        raise InvalidParameterError("n_classes", "be a whole number, 2 or more", n_classes)
    if on not in ("networkx", "batch"):
        raise InvalidParameterError("on", "be 'networkx' or 'batch'", on)
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidParameterError("batch_size", "be a whole number, 1 or more", batch_size)
    return CallableClassifier(function, n_classes, on, description, batch_size)
