"""Any callable as a base classifier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from types import CodeType
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
            digest of its code; what it calls, and what objects it uses, is not in it. Give one of your own for a
            function that may move or be rewritten without a change of its answers.
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
    return CallableClassifier(function, n_classes, on, description or _describe(function), batch_size)


def _describe(function: Callable[[Any], Any]) -> str:
    """The name of a function with a digest of its code, constants, defaults and closure; of an object, its class."""
    code = getattr(function, "__code__", None)
    if code is None:
        return type(function).__qualname__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    extras = (function.__defaults__, function.__kwdefaults__, cells)
    digest = blake2b(digest_size=6)
    for part in (*_code_parts(code), *map(_stable_repr, extras)):
        digest.update(part.encode())
    return f"{function.__qualname__} {digest.hexdigest()}"


def _code_parts(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


def _stable_repr(value: object) -> str:
    """A repr without addresses in memory, which differ from run to run."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
