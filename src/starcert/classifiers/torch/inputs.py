"""The inputs of a module from noisy copies: x, and on PyG's `edge_index` also edge_attr and edge_weight.

The type of an edge is that of the noisy copy. Numbers on edges are those of the clean graph; an edge that noise adds
has those that the graph defines for added edges. Unless `edge_features` says otherwise, edge_attr are one-hot types, or
without types the edge data of that name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import embedding

from starcert.classifiers.features import Constant, DegreeFeatures, OneHot, Source, SparseFeatures
from starcert.objects import Graph, NodeFrame
from starcert.objects.rule import EdgesAskedError, without_edges
from starcert.sampling.batch import NodeOnes, NoisyGraphs
from starcert.system.errors import InvalidParameterError

EdgeFeatures: TypeAlias = "str | npt.ArrayLike | tuple[str | npt.ArrayLike, ...] | None"
EdgeSources: TypeAlias = "tuple[str | Tensor, ...] | None"

CATEGORIES = (torch.int32, torch.int64)  # the types of numbers that an embedding takes
TYPES = "types"  # the name of one-hot types among edge features


class NodeInputs:
    """The features of nodes, from sources side by side; those that all copies share reach the device once a graph."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._kept: tuple[str, list[Tensor | None]] | None = None

    def rows(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor:
        """The features of all nodes of all copies, a row each."""
        source = self._sources[0]
        if isinstance(source, SparseFeatures):
            return _sparse_rows(source.name, graphs, dtype, device)
        x, of_copies = self.of(graphs, dtype, device)
        return x.flatten(0, 1) if of_copies else x.repeat(len(graphs), *[1] * (x.dim() - 1))

    def of(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, bool]:
        """The features of the nodes, and whether each copy has its own, shape (copies, nodes, …), or all share them."""
        shared = self._shared(graphs.frame, dtype, device)
        if len(shared) == 1 and shared[0] is not None:
            return shared[0], False
        parts = [
            _features_of_copies(source, graphs, dtype, device) if x is None else x.expand(len(graphs), *x.shape)
            for source, x in zip(self._sources, shared, strict=True)
        ]
        return _converted(_side_by_side(parts, of_copies=True), dtype, device), True

    def _shared(self, frame: NodeFrame, dtype: torch.dtype, device: torch.device) -> list[Tensor | None]:
        """The features that noise does not touch; None for those of the copy."""
        kept = self._kept  # read once: another thread may store those of another graph
        if kept is None or kept[0] != frame.key:
            with torch.inference_mode(False):  # a training that follows needs plain tensors
                shared = [_features_of_nodes(source, frame) for source in self._sources]
                known = [x for x in shared if x is not None]
                whole = [_side_by_side(known, of_copies=False)] if len(known) == len(shared) else shared
                kept = self._kept = (frame.key, [x if x is None else _converted(x, dtype, device) for x in whole])
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": None}


def _converted(x: Tensor, dtype: torch.dtype, device: torch.device) -> Tensor:
    return x.to(device, x.dtype if x.dtype in CATEGORIES else dtype)


def _data_name(source: Source) -> str:
    """The node data that a source shows; "" if it is something else."""
    return source if isinstance(source, str) else source.name if isinstance(source, OneHot) else ""


def _features_of_nodes(source: Source, frame: NodeFrame) -> Tensor | None:
    """Features that need no edges, shape (nodes, …), the same for all copies; None for those of the copy.

    A function needs none if it answers, twice the same, for a graph that has no edges to look at.
    """
    if isinstance(source, str | OneHot):
        name = _data_name(source)
        if name in frame.node_sites:
            return None
        _check_data(name, frame)
        if isinstance(source, OneHot):
            return _result_of(source, frame.with_edges(()))
        return _as_tensor(frame.node_data[name], frame.n_nodes, f"the node data {name!r}")
    if isinstance(source, DegreeFeatures) or (frame.node_sites and not isinstance(source, Constant)):
        return None
    try:
        one, other = (without_edges(partial(_result_of, source), frame) for _ in range(2))
    except EdgesAskedError:
        return None
    return one if one.dtype == other.dtype and torch.equal(one, other) else None


def _check_data(name: str, frame: NodeFrame) -> None:
    if name not in frame.node_data:
        raise ValueError(
            f"the graph has no node data {name!r}; it has {sorted({*frame.node_data, *frame.node_sites}) or 'none'}: "
            "name others with features=…, or give a function of the graph, such as "
            "starcert.classifiers.features.degree()"
        )


def _features_of_copies(source: Source, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Features of each noisy copy, shape (copies, nodes, …)."""
    if isinstance(source, DegreeFeatures):
        return _degree_features(source, graphs, dtype, device)
    if isinstance(source, str | OneHot):  # of the copy: they are sites
        return _site_features(_data_name(source), graphs, dtype, device, one_hot=isinstance(source, OneHot))
    results = [_result_of(source, copy) for copy in graphs.copies()]
    kinds = dict.fromkeys((tuple(x.shape), x.dtype) for x in results)
    if len(kinds) > 1:
        shown = " and ".join(f"shape {shape} of {dtype}" for shape, dtype in list(kinds)[:2])
        raise ValueError(f"what {_name(source)} gave differs from copy to copy: {shown}; it must be alike for all")
    return torch.stack(results).to(device)


def _degree_features(source: DegreeFeatures, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor:
    n, directed = graphs.frame.n_nodes, graphs.frame.directed
    if directed and source.side is not None:
        ends = graphs.edge_index_on(device)[0][source.side]
        degrees = torch.bincount(ends, minlength=len(graphs) * n).view(len(graphs), n)
    else:
        degrees = graphs.degrees_on(device)
    return embedding(degrees, torch.from_numpy(source.table(2 * n if directed else n)).to(device, dtype))


def _site_features(
    name: str, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device, *, one_hot: bool
) -> Tensor:
    """Node data that are sites, as each copy shows them: in the form in which they came, or one-hot."""
    form, values = graphs.frame.node_sites[name], graphs.node_values_on(name, device)
    if one_hot or form.one_hot:
        if form.values.shape[1] > 1:
            raise ValueError(f"{name!r} has {form.values.shape[1]} columns; one_hot is for one category a node")
        return embedding(values[..., 0].long(), torch.eye(form.alphabet, dtype=dtype, device=device))
    if form.categories is not None:  # by their own numbers, where they are numbers
        own = np.asarray(form.categories)
        numbers = torch.as_tensor(own if own.dtype.kind in "biuf" else np.arange(form.alphabet), device=device)
        return numbers[values[..., 0].long()]
    if not form.flat:
        return values.to(dtype, copy=True)  # a module may overwrite its input
    return values[..., 0].to(torch.as_tensor(np.empty(0, form.dtype)).dtype, copy=True)  # as it came: a category


def _side_by_side(parts: Sequence[Tensor], *, of_copies: bool) -> Tensor:
    """Several features as columns of one x; one number for each node is one column."""
    if len(parts) == 1:
        return parts[0]
    flat = 2 if of_copies else 1
    if any(x.dim() > flat + 1 for x in parts):
        raise ValueError("features that are put side by side must be rows of numbers, one for each node")
    return torch.cat([x.unsqueeze(-1) if x.dim() == flat else x for x in parts], dim=-1)


def _result_of(function: Callable[[Graph], Any], graph: Graph) -> Tensor:
    return _as_tensor(function(graph), graph.n_nodes, f"what {_name(function)} gave")


def _as_tensor(values: Any, n_nodes: int, what: str) -> Tensor:  # noqa: ANN401  (whatever a function returns)
    try:
        # A copy: a function may write the features of the next graph into the very array that it gave for this one.
        x = values.detach().clone() if isinstance(values, Tensor) else torch.as_tensor(np.array(values))
    except (TypeError, ValueError):  # texts, objects, rows of different lengths
        raise ValueError(f"{what} is no array of numbers, but {type(values).__name__}") from None
    if not isinstance(values, Tensor) and x.dim() > 1 and x.dtype in CATEGORIES:
        x = x.double()  # rows of whole numbers are counts; one for each node is a category
    if x.is_complex():
        raise ValueError(f"{what} holds complex numbers; features are real")
    if x.dim() == 0 or x.shape[0] != n_nodes:
        raise ValueError(f"{what} has the shape {tuple(x.shape)}; it must have a row for each of the {n_nodes} nodes")
    return x


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _sparse_rows(name: str, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Node data of all copies as a sparse matrix, shape (copies · nodes, columns)."""
    frame = graphs.frame
    if name in frame.node_sites:
        return _sparse_matrix(graphs.node_ones(name), dtype, device)
    _check_data(name, frame)
    data = np.asarray(frame.node_data[name])
    if data.ndim != 2 or not np.isin(data, (0, 1)).all():
        raise ValueError(f"the node data {name!r} must be rows of zeros and ones to be sparse features")
    rows, columns = np.nonzero(data)
    starts = np.searchsorted(rows, np.arange(len(data) + 1))
    shifted = (starts[:-1] + np.arange(len(graphs))[:, None] * len(rows)).reshape(-1)
    ones = NodeOnes(np.append(shifted, len(graphs) * len(rows)), np.tile(columns, len(graphs)), data.shape[1])
    return _sparse_matrix(ones, dtype, device)


def _sparse_matrix(ones: NodeOnes, dtype: torch.dtype, device: torch.device) -> Tensor:
    index = torch.int32 if len(ones.columns) < 2**31 else torch.int64
    starts, columns = (torch.from_numpy(each).to(device, index) for each in (ones.starts, ones.columns))
    values = torch.ones(len(columns), dtype=dtype, device=device)
    return csr_tensor(starts, columns, values, ones.n_columns)


def csr_tensor(starts: Tensor, columns: Tensor, values: Tensor, n_columns: int) -> Tensor:
    """A sparse matrix, row by row, whose entries are not checked."""
    with warnings.catch_warnings():  # torch warns that its sparse matrices are new
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, (len(starts) - 1, n_columns), check_invariants=False)


def edge_sources_of(features: EdgeFeatures) -> EdgeSources:
    """The sources that `edge_attr` is put together from, checked: names, and tables with a row for each type."""
    if features is None:
        return None
    listed: tuple[Any, ...] = features if isinstance(features, tuple) else (features,)
    sources = [each if isinstance(each, str) else _table(each) for each in listed]
    known = tuple(each for each in sources if each is not None)
    if not sources or len(known) < len(sources):
        requirement = "be the name of edge data, 'types', an array with a row for each type of edge, or a tuple of such"
        raise InvalidParameterError("edge_features", requirement, features)
    return known


def _table(values: Any) -> Tensor | None:  # noqa: ANN401  (whatever a user may give)
    """A table of numbers, a row for each type; None for anything else."""
    try:
        table = values.detach().cpu() if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    except (TypeError, ValueError):
        return None
    known = table.dim() in (1, 2) and table.numel() and not table.is_complex()
    return (table if table.dim() == 2 else table[:, None]).to(torch.float64) if known else None


def edge_attr_of(sources: EdgeSources, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    """The features of each column of `edge_index`, shape (columns, features); None if edges carry nothing."""
    frame = graphs.frame
    if sources is None:
        sources = (TYPES,) if frame.type_names else ("edge_attr",) if "edge_attr" in frame.edge_data else ()
    parts = []
    for source in sources:
        if isinstance(source, str) and source != TYPES:
            numbers = graphs.edge_data_on(source, device).to(dtype)
            parts.append(numbers if numbers.dim() == 2 else numbers.unsqueeze(1))
            continue
        n_types = len(frame.type_names)
        if not n_types:
            raise ValueError("edge_features asks for types, and the edges of the graph have none: give it edge_types")
        table = torch.eye(n_types) if isinstance(source, str) else source
        if len(table) != n_types:
            names = ", ".join(map(str, frame.type_names))
            raise ValueError(f"edge_features has {len(table)} rows; the graph has {n_types} types of edges: {names}")
        parts.append(embedding(graphs.edge_types_on(device).long() - 1, table.to(device, dtype)))
    return None if not parts else parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def edge_weight_of(name: str | None, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    """The weight of each column of `edge_index`, shape (columns,); None if it is not named and there is none."""
    if name is None and "edge_weight" not in graphs.frame.edge_data:
        return None
    numbers = graphs.edge_data_on(name or "edge_weight", device).to(dtype)
    if numbers.dim() == 2 and numbers.shape[1] != 1:
        raise ValueError(f"edge_weight is one number an edge; the edge data {name!r} has {numbers.shape[1]}")
    return numbers.reshape(-1)


def join_inputs(
    inputs: Sequence[Mapping[str, Tensor | None]], blocks: Sequence[tuple[int, int]]
) -> dict[str, Tensor | None]:
    """The inputs of several graphs as one block-diagonal batch; `blocks` has the copies of each, and their nodes."""
    n_copies, n_nodes = np.array(blocks).T
    first_copies, first_nodes = (np.cumsum(counts) - counts for counts in (n_copies, n_copies * n_nodes))
    offsets = {"edge_index": first_nodes.tolist(), "batch": first_copies.tolist()}
    joined: dict[str, Tensor | None] = {}
    for name in inputs[0]:
        parts = [part for each in inputs if (part := each[name]) is not None]
        if parts and len(parts) < len(inputs):
            raise ValueError(f"some graphs have {name}, and others have none")
        if name in offsets:
            parts = [part + first if first else part for part, first in zip(parts, offsets[name], strict=True)]
        joined[name] = torch.cat(parts, dim=1 if name == "edge_index" else 0) if parts else None
    return joined
