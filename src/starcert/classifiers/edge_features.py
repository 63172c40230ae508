"""What edges carry, as modules on PyG ask for it: `edge_attr` and `edge_weight`, aligned with `edge_index`.

The type of an edge is that of the noisy copy. Numbers of edges ride along with the edges of the clean graph; one that
noise adds has what the graph says for such.

| edge_features | what `edge_attr` is |
| --- | --- |
| None | one-hot types, a column for each; without types the edge data `edge_attr`, if the graph has such |
| `"types"` | one-hot types |
| another name | the edge data of that name |
| an array with a row for each type | the row of the edge's type: an encoding of your own |
| a tuple of these | several of them, column by column |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects import NodeFrame
    from starcert.sampling.batch import NoisyGraphs

__all__ = [
    "TYPES",
    "EdgeFeatures",
    "EdgeSources",
    "edge_attr_of",
    "edge_sources_of",
    "edge_weight_of",
]

EdgeFeatures: TypeAlias = "str | npt.ArrayLike | tuple[str | npt.ArrayLike, ...] | None"
EdgeSources: TypeAlias = "tuple[str | torch.Tensor, ...] | None"

TYPES = "types"
"""What one-hot types are called among edge features."""


def edge_sources_of(features: EdgeFeatures) -> EdgeSources:
    """What `edge_attr` is put together from, checked: names, and tables with a row for each type; None if not said.

    Example:
        >>> edge_sources_of(("length", [[1.0], [2.0]]))
        ('length', tensor([[1.],
                [2.]], dtype=torch.float64))
    """
    if features is None:
        return None
    given: tuple[Any, ...] = features if isinstance(features, tuple) else (features,)
    sources = [each if isinstance(each, str) else _table(each) for each in given]
    known = tuple(each for each in sources if each is not None)
    if not sources or len(known) < len(sources):
        requirement = "be the name of edge data, 'types', an array with a row for each type of edge, or a tuple of such"
        raise InvalidParameterError("edge_features", requirement, features)
    return known


def _table(values: Any) -> torch.Tensor | None:  # noqa: ANN401  (whatever a user may give)
    """A table of numbers, a row for each type; None if it is none."""
    try:
        table = values.detach().cpu() if isinstance(values, torch.Tensor) else torch.as_tensor(np.asarray(values))
    except (TypeError, ValueError):
        return None
    known = table.dim() in (1, 2) and table.numel() and not table.is_complex()
    return (table if table.dim() == 2 else table[:, None]).to(torch.float64) if known else None


def edge_attr_of(
    sources: EdgeSources, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device
) -> torch.Tensor | None:
    """The features of each column of `edge_index`, shape (columns, features); None if edges carry nothing."""
    parts = []
    for source in _known(sources, graphs.frame):
        if isinstance(source, str) and source != TYPES:
            numbers = graphs.edge_data_on(source, device).to(dtype)
            parts.append(numbers if numbers.dim() == 2 else numbers.unsqueeze(1))
            continue
        table = _table_of(source, graphs.frame).to(device, dtype)
        parts.append(torch.nn.functional.embedding(graphs.edge_types_on(device).long() - 1, table))
    return None if not parts else parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _known(sources: EdgeSources, frame: NodeFrame) -> tuple[str | torch.Tensor, ...]:
    """What `edge_attr` is put together from, for a graph."""
    if sources is not None:
        return sources
    return (TYPES,) if frame.type_names else ("edge_attr",) if "edge_attr" in frame.edge_data else ()


def _table_of(source: str | torch.Tensor, frame: NodeFrame) -> torch.Tensor:
    """A table with a row for each type."""
    n_types = len(frame.type_names)
    if not n_types:
        raise ValueError("edge_features asks for types, and the edges of the graph have none: give it edge_types")
    table = torch.eye(n_types) if isinstance(source, str) else source
    if len(table) != n_types:
        names = ", ".join(map(str, frame.type_names))
        raise ValueError(f"edge_features has {len(table)} rows; the graph has {n_types} types of edges: {names}")
    return table


def edge_weight_of(
    name: str | None, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device
) -> torch.Tensor | None:
    """The weight of each column of `edge_index`, shape (columns,); None if it is not named and there is none."""
    if name is None and "edge_weight" not in graphs.frame.edge_data:
        return None
    numbers = graphs.edge_data_on(name or "edge_weight", device).to(dtype)
    if numbers.dim() == 2 and numbers.shape[1] != 1:
        raise ValueError(f"edge_weight is one number an edge; the edge data {name!r} has {numbers.shape[1]}")
    return numbers.reshape(-1)
