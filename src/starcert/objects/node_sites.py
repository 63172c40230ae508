"""Data of nodes that an attacker may change: bits, or categories. Each is a layer, nodes by columns.

Such data are not in the frame: a classifier sees them as a noisy copy shows them, in the form in which they came.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import as_array, read_only
from starcert.objects.layers import Coordinates, NodeLayer, Values
from starcert.system.errors import InvalidParameterError

MAX_CATEGORIES = 256
MIN_DIFFERENT = 3  # data with fewer different values, or as many as nodes, may agree with others by chance


@dataclass(frozen=True, eq=False)
class NodeSites:
    """Data of nodes that are sites: the clean values, and the form in which they came."""

    name: str
    values: Values  # shape (nodes, columns)
    alphabet: int
    categories: tuple[Hashable, ...] | None  # None for bits, and for one-hot rows whose columns have no names
    one_hot: bool
    flat: bool  # whether each node has one entry, not a row
    dtype: str

    @property
    def layer(self) -> NodeLayer:
        """The layer."""
        n_nodes, n_columns = self.values.shape
        return NodeLayer(self.name, n_nodes * n_columns, self.alphabet, n_nodes, n_columns)

    @property
    def form(self) -> tuple[object, ...]:
        """All but the values: the part that noise leaves alone."""
        return self.name, self.values.shape, self.alphabet, self.categories, self.one_hot, self.flat, self.dtype

    @property
    def bare(self) -> NodeSites:
        """The same without the values: all are 0, and take no memory."""
        nothing: Values = np.broadcast_to(np.zeros((), np.uint8), self.values.shape)
        return replace(self, values=nothing)

    def nonzero(self) -> tuple[Coordinates, Values]:
        """The coordinates of the values that are not 0, and those."""
        where = np.nonzero(self.values)
        return where, self.values[where]

    def shown(self, values: Values) -> npt.NDArray[Any] | tuple[Hashable, ...]:
        """Values of shape (nodes, columns) in the form in which the data came."""
        if self.one_hot:
            return np.eye(self.alphabet, dtype=self.dtype)[values[:, 0]]
        if self.categories is not None:
            return tuple(self.categories[value] for value in values[:, 0].tolist())
        return (values[:, 0] if self.flat else values).astype(self.dtype)


def bits_of(name: str, data: object) -> NodeSites:
    """Node data of zeros and ones as sites."""
    given = _numbers(name, data)
    if given is None or not np.isin(given, (0, 1)).all():
        hint = "Categories are given with graph.with_categories."
        raise InvalidParameterError(f"node_data[{name}]", "hold only 0 and 1 to become bits", data, hint)
    return NodeSites(name, _frozen(given), 2, None, False, given.ndim == 1, str(given.dtype))


def categories_of(name: str, data: object, categories: Sequence[Hashable] | None) -> NodeSites:
    """Node data as categories: names, or one-hot rows."""
    given, parameter = _numbers(name, data), f"node_data[{name}]"
    if categories is None:
        if given is None or given.ndim != 2 or not np.isin(given, (0, 1)).all() or (given.sum(axis=1) != 1).any():
            hint = "Or name all categories there may be: graph.with_categories('element', ('C', 'N', 'O'))."
            raise InvalidParameterError(parameter, "hold one-hot rows where no categories are named", data, hint)
        if not 2 <= given.shape[1] <= MAX_CATEGORIES:
            raise InvalidParameterError(parameter, f"have 2 to {MAX_CATEGORIES} categories", given.shape[1])
        return NodeSites(name, _frozen(given.argmax(axis=1)), given.shape[1], None, True, True, str(given.dtype))
    names = tuple(categories) if not isinstance(categories, str) else ()
    if len(set(names)) < len(names) or not 2 <= len(names) <= MAX_CATEGORIES:
        raise InvalidParameterError("categories", f"be 2 to {MAX_CATEGORIES} different names", categories)
    if given is not None and given.ndim == 2 and given.shape[1] == len(names):
        return replace(categories_of(name, data, None), categories=names)
    if given is not None and given.ndim > 1:
        raise InvalidParameterError(parameter, "have one category for each node", data)
    number = {each: place for place, each in enumerate(names)}
    entries = list(data) if given is None else given.tolist()  # type: ignore[call-overload]
    for unknown in (entry for entry in entries if entry not in number):
        hint = f"They are {', '.join(map(str, names))}."
        raise InvalidParameterError(parameter, "have the categories that are named", unknown, hint)
    values = np.array([number[entry] for entry in entries], dtype=np.uint8)
    dtype = "uint8" if given is None else str(given.dtype)
    return NodeSites(name, _frozen(values), len(names), names, False, True, dtype)


def copies_of(sites: NodeSites, data: Mapping[str, object]) -> list[str]:
    """The names of node data that hold the same information: one value for each row of the sites, and vice versa."""
    own = [each.tobytes() for each in sites.values]
    n_different = len(set(own))
    if not MIN_DIFFERENT <= n_different < len(own):
        return []
    found = []
    for name, values in data.items():
        array = as_array(values)
        if array is None or array.dtype.hasobject:
            continue
        other = [each.tobytes() for each in array]
        if len(set(other)) == n_different == len(set(zip(own, other, strict=True))):
            found.append(name)
    return found


def _numbers(name: str, data: object) -> npt.NDArray[Any] | None:
    """The data as an array of numbers in one or two dimensions; None if they are not numbers."""
    array = as_array(data)
    if array is None:
        return None
    if array.ndim not in (1, 2):
        raise InvalidParameterError(f"node_data[{name}]", "have a value or a row for each node", f"shape {array.shape}")
    return array if array.dtype.kind in "biuf" else None


def _frozen(values: npt.NDArray[Any]) -> Values:
    return read_only((values if values.ndim == 2 else values[:, None]).astype(np.uint8))
