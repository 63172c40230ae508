"""What edges carry: a type out of a list, and numbers.

Types are values of sites: noise and attacks may change them. Numbers ride along: an edge of the clean graph shows its
own wherever a noisy copy has that edge, and one that noise adds shows a number that is fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import is_tensor
from starcert.objects.layers import Indices, Values
from starcert.system.errors import InvalidParameterError

__all__ = ["EdgeNumbers", "added_numbers", "numbers_of_edges", "types_of_edges"]

EdgeNumbers = npt.NDArray[np.float64]

MOST_TYPES = 255


def types_of_edges(
    edge_types: object, type_names: Sequence[Hashable] | None, order: Indices
) -> tuple[Values | None, tuple[Hashable, ...]]:
    """The type of each edge as a value from 1, in the order of the edges, and the names of all types.

    Args:
        edge_types: the name of each edge's type, as the edges were given; None: edges have no types.
        type_names: all types there may be; None: those that occur, sorted.
        order: which of the given edges each edge is.

    Example:
        >>> types_of_edges(["b", "a"], None, np.array([1, 0]))
        (array([1, 2], dtype=uint8), ('a', 'b'))
    """
    if edge_types is None:
        if type_names is not None:
            raise InvalidParameterError("type_names", "come with edge_types", type_names)
        return None, ()
    given = _listed(edge_types)
    if given is None or len(given) != len(order):
        wanted = f"name the type of each of the {len(order)} edges"
        raise InvalidParameterError("edge_types", wanted, edge_types if given is None else f"{len(given)} types")
    names = tuple(_listed(type_names) or ()) if type_names is not None else _sorted(given)
    if len(set(names)) < len(names) or not 1 <= len(names) <= MOST_TYPES:
        hint = "Name all types there may be: type_names=('single', 'double', 'triple', 'aromatic')."
        raise InvalidParameterError("type_names", f"be 1 to {MOST_TYPES} different names", type_names or names, hint)
    number = {name: place for place, name in enumerate(names, start=1)}
    for each in given:
        if each not in number:
            raise InvalidParameterError("edge_types", f"be among {', '.join(map(repr, names))}", each)
    values = np.array([number[each] for each in given], dtype=np.uint8)[order]
    values.setflags(write=False)
    return values, names


def _listed(values: object) -> list[Any] | None:
    source: Any = values
    if isinstance(values, str | bytes):
        return None
    if is_tensor(values) or isinstance(values, np.ndarray):
        return list(source.tolist())
    return list(values) if isinstance(values, Sequence) else None


def _sorted(given: Sequence[Any]) -> tuple[Hashable, ...]:
    try:
        return tuple(sorted(set(given)))
    except TypeError:
        return tuple(dict.fromkeys(given))


def numbers_of_edges(edge_data: object, order: Indices) -> dict[str, EdgeNumbers]:
    """The numbers of edges by name, in the order of the edges, read-only: shape (edges,) or (edges, columns)."""
    if not isinstance(edge_data, Mapping) or not all(isinstance(name, str) for name in edge_data):
        raise InvalidParameterError("edge_data", "map names to numbers of the edges", edge_data)
    found = {}
    for name, values in edge_data.items():
        array = _as_numbers(values, f"edge_data[{name}]")
        if array.ndim not in (1, 2) or len(array) != len(order):
            wanted = f"have a number or a row of numbers for each of the {len(order)} edges"
            raise InvalidParameterError(f"edge_data[{name}]", wanted, f"shape {array.shape}")
        found[name] = array[order]
        found[name].setflags(write=False)
    return found


def added_numbers(added: object, edge_data: Mapping[str, EdgeNumbers]) -> dict[str, EdgeNumbers]:
    """What an added edge shows by name: what is given, or the mean of the graph's edges (0 where there are none)."""
    if not isinstance(added, Mapping):
        raise InvalidParameterError("added_edge_data", "map names of edge data to what an added edge shows", added)
    for unknown in added.keys() - edge_data.keys():
        wanted = f"name edge data of the graph, {', '.join(edge_data) or 'which has none'}"
        raise InvalidParameterError("added_edge_data", wanted, unknown)
    found = {}
    for name, values in edge_data.items():
        given = _as_numbers(added[name], f"added_edge_data[{name}]") if name in added else None
        mean = values.mean(axis=0) if len(values) else np.zeros(values.shape[1:])
        shown = np.array(mean if given is None else given, dtype=np.float64)
        if shown.shape != values.shape[1:]:
            wanted = f"be {'a number' if values.ndim == 1 else f'{values.shape[1]} numbers'}"
            raise InvalidParameterError(f"added_edge_data[{name}]", wanted, f"shape {shown.shape}")
        shown.setflags(write=False)
        found[name] = shown
    return found


def _as_numbers(values: object, name: str) -> EdgeNumbers:
    source: Any = values
    try:
        array = source.detach().cpu().numpy() if is_tensor(values) else np.asarray(values)
        numbers = array.astype(np.float64) if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise InvalidParameterError(name, "be finite numbers", values)
    return numbers
