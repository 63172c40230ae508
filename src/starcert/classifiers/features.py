"""Node features of noisy copies: what the `features` of `from_pyg` and `from_dense` may be.

A feature that depends on edges is a feature of the noisy copy: computed once, on the clean graph, it would make
certificates false. A function of a graph is called for each copy, unless it shows that it needs no edges.

| features | what x is |
| --- | --- |
| `"x"` | the node data of that name; data that are sites are those of the copy, in the form in which they came |
| `one_hot("element")` | a column for each category of such node data |
| `degree()`, `log_degree()`, `one_hot_degree(largest)`, `constant()` | ready-made, as fast as the model |
| `in_degree()`, `out_degree()` | the arcs that end at a node, and those that begin there |
| `sparse("x")` | bits that are mostly 0, as a sparse matrix, for modules whose first layer is linear |
| a function | what it gives for the noisy copy, a `Graph`: an array of numbers with a row for each node |
| `("x", degree())` | several of them, column by column |

Bits and counts reach a module in its own type of numbers, float32 as a rule. Categories stay whole numbers, for an
embedding: one whole number for each node, named categories, and tensors of int32 or int64.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects import Graph
from starcert.system.errors import InvalidParameterError, whole_number

__all__ = ["constant", "degree", "in_degree", "log_degree", "one_hot", "one_hot_degree", "out_degree", "sparse"]

Source: TypeAlias = "str | Callable[[Graph], Any]"
Features: TypeAlias = "Source | Sequence[Source]"


@dataclass(frozen=True)
class DegreeFeatures:
    """Features of the degree of a node; `largest` is the last one-hot degree with its own column."""

    kind: Literal["degree", "log degree", "one-hot degree", "in-degree", "out-degree"]
    largest: int = 0

    @property
    def side(self) -> int | None:
        """Which end of an arc counts: 0 its source, 1 its target, None both."""
        return {"out-degree": 0, "in-degree": 1}.get(self.kind)

    def table(self, count: int) -> npt.NDArray[np.float64]:
        """The features of nodes with the degrees 0, 1, …, count − 1, a row each."""
        degrees = np.arange(count)
        if self.kind == "one-hot degree":
            return np.eye(self.largest + 1)[np.minimum(degrees, self.largest)]
        return (np.log1p(degrees) if self.kind == "log degree" else degrees.astype(np.float64))[:, None]

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, a row each."""
        side = self.side if graph.directed else None
        ends = graph.edges.reshape(-1) if side is None else graph.edges[:, side]
        return self.table(2 * graph.n_nodes)[np.bincount(ends, minlength=graph.n_nodes)]


@dataclass(frozen=True)
class OneHot:
    """A column for each category of node data; `categories` is None for data that are sites, which know theirs."""

    name: str
    categories: tuple[Hashable, ...] | None = None

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, a row each."""
        if self.categories is None:
            hint = f"name all categories, one_hot({self.name!r}, ('C', 'N', …))"
            raise ValueError(f"the node data {self.name!r} are not sites: {hint}")
        places = {category: place for place, category in enumerate(self.categories)}
        data = np.asarray(graph.node_data[self.name]).tolist()
        for each in data:
            if each not in places:
                raise ValueError(f"the node data {self.name!r} has {each!r}, which is not among one_hot's categories")
        return np.eye(len(places))[[places[each] for each in data]]


@dataclass(frozen=True)
class Constant:
    """One column with one value, the same for all nodes."""

    value: float

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, a row each."""
        return np.full((graph.n_nodes, 1), self.value)


@dataclass(frozen=True)
class SparseFeatures:
    """Node data of zeros and ones as a sparse matrix."""

    name: str

    def __call__(self, graph: Graph) -> npt.NDArray[np.generic]:
        """The features of a graph's nodes, a row each."""
        return np.asarray(graph.node_data[self.name])


def degree() -> DegreeFeatures:
    """One column: the degree of a node in the noisy copy.

    Example:
        >>> from starcert.objects import Graph
        >>> degree()(Graph(3, [(0, 1), (0, 2)])).tolist()
        [[2.0], [1.0], [1.0]]
    """
    return DegreeFeatures("degree")


def log_degree() -> DegreeFeatures:
    """One column: log(1 + degree) of a node in the noisy copy.

    Example:
        >>> from starcert.objects import Graph
        >>> log_degree()(Graph(3, [(0, 1)])).round(3).tolist()
        [[0.693], [0.693], [0.0]]
    """
    return DegreeFeatures("log degree")


def one_hot_degree(largest: int) -> DegreeFeatures:
    """`largest` + 1 columns: a one in the column of the node's degree in the noisy copy, zeros elsewhere.

    Args:
        largest: the last degree with a column of its own; nodes with a larger one share that column.

    Example:
        >>> from starcert.objects import Graph
        >>> one_hot_degree(2)(Graph(4, [(0, 1), (0, 2), (0, 3)])).tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return DegreeFeatures("one-hot degree", whole_number("largest", largest, 1))


def in_degree() -> DegreeFeatures:
    """One column: how many arcs of the noisy copy end at a node; in an undirected graph its degree.

    Example:
        >>> from starcert.objects import Graph
        >>> in_degree()(Graph(3, [(0, 1), (2, 1)], directed=True)).tolist()
        [[0.0], [2.0], [0.0]]
    """
    return DegreeFeatures("in-degree")


def out_degree() -> DegreeFeatures:
    """One column: how many arcs of the noisy copy begin at a node; in an undirected graph its degree.

    Example:
        >>> from starcert.objects import Graph
        >>> out_degree()(Graph(3, [(0, 1), (2, 1)], directed=True)).tolist()
        [[1.0], [0.0], [1.0]]
    """
    return DegreeFeatures("out-degree")


def one_hot(name: str, categories: Sequence[Hashable] | None = None) -> OneHot:
    """A column for each category of node data: a one in that of the node, zeros elsewhere.

    Args:
        name: the node data. Where they are sites, the category is that of the noisy copy.
        categories: all possible categories, in the order of the columns; data that are sites know theirs.

    Example:
        >>> from starcert.objects import Graph
        >>> one_hot("element", "CNO")(Graph(2, [], node_data={"element": ["O", "C"]})).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    known = None if categories is None else tuple(categories)
    if known is not None and len(set(known)) < max(2, len(known)):
        raise InvalidParameterError("categories", "be two names or more, each once", categories)
    return OneHot(_checked(name), known)


def constant(value: float = 1.0) -> Constant:
    """One column with one value, for graphs without node data whose model uses edges alone.

    Example:
        >>> from starcert.objects import Graph
        >>> constant()(Graph(2, [(0, 1)])).tolist()
        [[1.0], [1.0]]
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InvalidParameterError("value", "be a number", value)
    return Constant(float(value))


def sparse(name: str) -> SparseFeatures:
    """Node data of zeros and ones as a sparse matrix (`torch.sparse_csr`) with a row for each node of each copy.

    It costs by entries, not by columns. A module whose first layer is linear (`torch.nn.Linear`, a graph convolution of
    PyG's) takes such a matrix. It is the whole of x: no other features stand beside it.

    Args:
        name: the node data. Where they are sites, each copy shows them as noise left them.

    Example:
        >>> sparse("x")
        SparseFeatures(name='x')
    """
    return SparseFeatures(_checked(name))


def _checked(name: str) -> str:
    if not isinstance(name, str):
        raise InvalidParameterError("name", "be the name of node data", name)
    return name


def sources_of(features: Features) -> tuple[Source, ...]:
    """The sources that x is put together from, checked."""
    sources = tuple(features) if isinstance(features, list | tuple) else (features,)
    if not sources or not all(isinstance(source, str) or callable(source) for source in sources):
        raise InvalidParameterError(
            "features",
            "be the name of node data, a function of a graph, or a tuple of such",
            features,
            "starcert.classifiers.features has degree(), log_degree(), one_hot_degree(largest), one_hot(name) and "
            "constant().",
        )
    return sources
