"""Node features of noisy copies: what the `features` of `from_pyg` and `from_dense` may be.

A feature that hangs on edges is a feature of the noisy copy: computed once, on the clean graph, it would make
certificates false. Those of a node's degree are ready-made here, for whole batches at once; any other function of a
graph is called for each copy, unless it shows that it needs no edges.

| features | what x is |
| --- | --- |
| `"x"` | the node data of that name; those that are sites are those of the copy, in the form in which they came |
| `one_hot("element")` | a column for each category of such node data |
| `degree()`, `log_degree()`, `one_hot_degree(largest)`, `constant()` | ready-made, as fast as the model |
| `in_degree()`, `out_degree()` | the arcs that end at a node, and those that begin there |
| `sparse("x")` | bits that are mostly 0, as a sparse matrix, for modules whose first layer is linear |
| a function | what it gives for the noisy copy, a `Graph`: an array of numbers with a row for each node |
| `("x", degree())` | several of them, column by column |

Bits and counts reach a module in its own type of numbers, float32 as a rule, whatever they came as: rows of bits, rows
of whole numbers, and numbers of less than 32 bits. Categories stay whole numbers, for an embedding: one whole
number for each node, named categories, and tensors of int32 or int64, which are taken as PyG takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from starcert.classifiers.sparse_features import sparse
from starcert.objects.rule import EdgesAskedError, without_edges
from starcert.system.errors import InvalidParameterError, whole_number

if TYPE_CHECKING:
    from starcert.objects import Graph, NodeFrame
    from starcert.sampling.batch import NoisyGraphs

__all__ = [
    "Constant",
    "DegreeFeatures",
    "Features",
    "OneHot",
    "constant",
    "degree",
    "features_of_copies",
    "features_of_nodes",
    "in_degree",
    "log_degree",
    "name_of",
    "one_hot",
    "one_hot_degree",
    "out_degree",
    "side_by_side",
    "sources_of",
    "sparse",
]

CATEGORIES = (torch.int32, torch.int64)
"""The types of numbers that an embedding takes."""

Source: TypeAlias = "str | Callable[[Graph], Any]"
Features: TypeAlias = "Source | Sequence[Source]"


@dataclass(frozen=True)
class DegreeFeatures:
    """Features that follow from the degree of a node.

    Attributes:
        kind: what the columns are.
        largest: the last degree with a column of its own, if they are one-hot.
    """

    kind: Literal["degree", "log degree", "one-hot degree", "in-degree", "out-degree"]
    largest: int = 0

    def table(self, count: int) -> npt.NDArray[np.float64]:
        """The features of nodes with the degrees 0, 1, …, count − 1, a row each."""
        degrees = np.arange(count)
        if self.kind == "one-hot degree":
            return np.eye(self.largest + 1)[np.minimum(degrees, self.largest)]
        return (np.log1p(degrees) if self.kind == "log degree" else degrees.astype(np.float64))[:, None]

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, shape (nodes, columns)."""
        side = _SIDES.get(self.kind) if graph.directed else None
        ends = graph.edges.reshape(-1) if side is None else graph.edges[:, side]
        return self.table(2 * graph.n_nodes)[np.bincount(ends, minlength=graph.n_nodes)]

    def of_copies(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The features of the nodes of noisy copies, shape (copies, nodes, columns)."""
        n, directed = graphs.frame.n_nodes, graphs.frame.directed
        if directed and self.kind in _SIDES:
            ends = graphs.edge_index_on(device)[0][_SIDES[self.kind]]
            degrees = torch.bincount(ends, minlength=len(graphs) * n).view(len(graphs), n)
        else:
            degrees = graphs.degrees_on(device)
        table = torch.from_numpy(self.table(2 * n if directed else n)).to(device, dtype)
        return torch.nn.functional.embedding(degrees, table)


_SIDES = {"out-degree": 0, "in-degree": 1}


@dataclass(frozen=True)
class OneHot:
    """A column for each category of node data.

    Attributes:
        name: the node data.
        categories: all categories there may be; None for data that are sites, which know theirs.
    """

    name: str
    categories: tuple[Hashable, ...] | None = None

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, shape (nodes, columns)."""
        if self.categories is None:
            raise ValueError(f"{self.name!r} are no sites: name all categories, one_hot({self.name!r}, ('C', 'N', …))")
        places = {category: place for place, category in enumerate(self.categories)}
        data = np.asarray(graph.node_data[self.name]).tolist()
        for each in data:
            if each not in places:
                raise ValueError(f"the node data {self.name!r} has {each!r}, which one_hot was not told of")
        return np.eye(len(places))[[places[each] for each in data]]


@dataclass(frozen=True)
class Constant:
    """One column with one value, the same for all nodes."""

    value: float

    def __call__(self, graph: Graph) -> npt.NDArray[np.float64]:
        """The features of a graph's nodes, shape (nodes, columns)."""
        return np.full((graph.n_nodes, 1), self.value)


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
    """One column: how many arcs of the noisy copy end at a node; of an undirected graph its degree.

    Example:
        >>> from starcert.objects import Graph
        >>> in_degree()(Graph(3, [(0, 1), (2, 1)], directed=True)).tolist()
        [[0.0], [2.0], [0.0]]
    """
    return DegreeFeatures("in-degree")


def out_degree() -> DegreeFeatures:
    """One column: how many arcs of the noisy copy begin at a node; of an undirected graph its degree.

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
        categories: all categories there may be, in the order of the columns; data that are sites know theirs.

    Example:
        >>> from starcert.objects import Graph
        >>> one_hot("element", "CNO")(Graph(2, [], node_data={"element": ["O", "C"]})).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if not isinstance(name, str):
        raise InvalidParameterError("name", "be the name of node data", name)
    known = None if categories is None else tuple(categories)
    if known is not None and len(set(known)) < max(2, len(known)):
        raise InvalidParameterError("categories", "be two names or more, each once", categories)
    return OneHot(name, known)


def constant(value: float = 1.0) -> Constant:
    """One column with one value: for graphs without node data, whose model looks at edges alone.

    Example:
        >>> from starcert.objects import Graph
        >>> constant()(Graph(2, [(0, 1)])).tolist()
        [[1.0], [1.0]]
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InvalidParameterError("value", "be a number", value)
    return Constant(float(value))


def sources_of(features: Features) -> tuple[Source, ...]:
    """What x is put together from, checked."""
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


def name_of(source: Source) -> str:
    """The node data that a source is; "" if it is something else."""
    return source if isinstance(source, str) else source.name if isinstance(source, OneHot) else ""


def features_of_nodes(source: Source, frame: NodeFrame) -> torch.Tensor | None:
    """Features that need no edges, shape (nodes, …), the same for all copies; None for those of the copy.

    A function is of the nodes alone if it answers, twice the same, for a graph that has no edges to look at.
    """
    if isinstance(source, str | OneHot):
        name = name_of(source)
        if name in frame.node_sites:
            return None
        if name not in frame.node_data:
            raise ValueError(
                f"the graph has no node data {name!r}; it has {sorted(frame.node_data) or 'none'}: "
                "name others with features=…, or give a function of the graph, such as "
                "starcert.classifiers.features.degree()"
            )
        if isinstance(source, OneHot):
            return _given(source, frame.with_edges(()))
        return _as_tensor(frame.node_data[name], frame.n_nodes, f"the node data {name!r}")
    if isinstance(source, DegreeFeatures) or (frame.node_sites and not isinstance(source, Constant)):
        return None
    try:
        one, other = (without_edges(partial(_given, source), frame) for _ in range(2))
    except EdgesAskedError:
        return None
    return one if one.dtype == other.dtype and torch.equal(one, other) else None


def features_of_copies(source: Source, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Features of each noisy copy, shape (copies, nodes, …)."""
    if isinstance(source, DegreeFeatures):
        return source.of_copies(graphs, dtype, device)
    if isinstance(source, str | OneHot):  # of the copy: they are sites
        name = name_of(source)
        return _site_features(name, graphs, dtype, device, one_hot=isinstance(source, OneHot))
    given = [_given(source, copy) for copy in graphs.copies()]
    kinds = dict.fromkeys((tuple(x.shape), x.dtype) for x in given)
    if len(kinds) > 1:
        told = " and ".join(f"shape {shape} of {dtype}" for shape, dtype in list(kinds)[:2])
        raise ValueError(f"what {_name(source)} gave differs from copy to copy: {told}; it must be alike for all")
    return torch.stack(given).to(device)


def _site_features(
    name: str, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device, *, one_hot: bool
) -> torch.Tensor:
    """Node data that are sites, as each copy shows them: in the form in which they came, or one-hot."""
    form, values = graphs.frame.node_sites[name], graphs.node_values_on(name, device)
    if one_hot or form.one_hot:
        if form.values.shape[1] > 1:
            raise ValueError(f"{name!r} has {form.values.shape[1]} columns; one_hot is for one category a node")
        columns = torch.eye(form.alphabet, dtype=dtype, device=device)
        return torch.nn.functional.embedding(values[..., 0].long(), columns)
    if form.categories is not None:  # by their own numbers, where they are numbers
        own = np.asarray(form.categories)
        numbers = torch.as_tensor(own if own.dtype.kind in "biuf" else np.arange(form.alphabet), device=device)
        return numbers[values[..., 0].long()]
    if not form.flat:
        return values.to(dtype, copy=True)  # a module may overwrite what it is given
    return values[..., 0].to(torch.as_tensor(np.empty(0, form.dtype)).dtype, copy=True)  # as it came: a category


def side_by_side(parts: Sequence[torch.Tensor], *, of_copies: bool) -> torch.Tensor:
    """Several features as columns of one x; what has one number for each node is one column."""
    if len(parts) == 1:
        return parts[0]
    flat = 2 if of_copies else 1
    if any(x.dim() > flat + 1 for x in parts):
        raise ValueError("features that are put side by side must be rows of numbers, one for each node")
    return torch.cat([x.unsqueeze(-1) if x.dim() == flat else x for x in parts], dim=-1)


def _given(function: Callable[[Graph], Any], graph: Graph) -> torch.Tensor:
    return _as_tensor(function(graph), graph.n_nodes, f"what {_name(function)} gave")


def _as_tensor(values: Any, n_nodes: int, what: str) -> torch.Tensor:  # noqa: ANN401  (whatever a function returns)
    try:
        # A copy: a function may write the features of the next graph into the very array that it gave for this one.
        x = values.detach().clone() if isinstance(values, torch.Tensor) else _numbers(np.array(values))
    except (TypeError, ValueError):  # texts, objects, rows of different lengths
        raise ValueError(f"{what} is no array of numbers, but {type(values).__name__}") from None
    if x.is_complex():
        raise ValueError(f"{what} holds complex numbers; features are real")
    if x.dim() == 0 or x.shape[0] != n_nodes:
        raise ValueError(f"{what} has the shape {tuple(x.shape)}; it must have a row for each of the {n_nodes} nodes")
    return x


def _numbers(array: npt.NDArray[Any]) -> torch.Tensor:
    """An array as a tensor: rows of whole numbers are counts, and one for each node is a category."""
    x = torch.as_tensor(array)
    return x.double() if x.dim() > 1 and x.dtype in CATEGORIES else x


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
