"""Any callable as a base classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from starcert.sampling.batch import NoisyGraphs

__all__ = ["CallableClassifier", "from_callable"]


class CallableClassifier:
    """A function of a graph, or of a batch of graphs, as a base classifier. See `from_callable`."""

    def __init__(
        self, function: Callable[[Any], Any], n_classes: int, on: str, description: str, batch_size: int
    ) -> None:
        self.function = function
        self.n_classes = n_classes
        self.on = on
        self.description = description
        self.batch_size = batch_size

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
        description: says which classifier it is, for the record in a vote store. Change it when the function changes.
        batch_size: the most graphs in a batch.

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
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", type(function).__module__)
    return CallableClassifier(function, n_classes, on, description or f"{module}.{name}", batch_size)
