"""The content of graphs, checked and copied on its way in; and a digest of any content, the same on every machine.

Data of nodes that an attacker may change are bits, or categories: `NodeSites`. Each is a layer, nodes by columns. Such
data are not in the frame: a classifier sees them as a noisy copy shows them, in the form in which they came.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NoReturn, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from starcert.objects.layers import Coordinates, Indices, NodeLayer, Values
from starcert.system.errors import InvalidParameterError

Array = TypeVar("Array", bound=npt.NDArray[Any])
EdgeNumbers = npt.NDArray[np.float64]
MAX_TYPES = 255
MAX_CATEGORIES = 256
MIN_DIFFERENT = 3  # data with fewer different values, or as many as nodes, may agree with others by chance


def is_tensor(value: object) -> TypeGuard[Any]:
    """True for a torch tensor; torch is looked at only if it has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_index(value: object) -> bool:
    """True for a whole number that is not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def read_only(array: Array) -> Array:
    """The array itself, which can no longer be written into."""
    array.setflags(write=False)
    return array


def as_array(values: Any) -> npt.NDArray[Any] | None:  # noqa: ANN401  (whatever a user has)
    """A sequence, an array or a tensor as an array; None if numpy cannot hold it, as entries of different lengths."""
    try:
        return values.numpy(force=True) if is_tensor(values) else np.asarray(values)
    except (TypeError, ValueError):
        return None


def digest(*values: object) -> str:
    """The hex digest of some values: arrays by dtype, shape and bytes, containers by content, all else by repr.

    Example:
        >>> digest(1, "a") == digest(1, "a"), digest({"x": 1, "y": 2}) == digest({"y": 2, "x": 1})
        (True, True)
    """
    return _digest(values).hex()


def _digest(value: object) -> bytes:
    sink = hashlib.blake2b(digest_size=16)
    # Every branch writes its kind and its length first: no two different values write the same bytes.
    if is_tensor(value):
        dense = value.to_dense()
        # numpy has no bfloat16; float32 holds all of its numbers
        value = (dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).numpy(force=True)
    if isinstance(value, np.generic) and not isinstance(item := value.item(), np.generic):
        value = item  # a node called np.int64(3) is the node called 3
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        sink.update(f"array {np.lib.format.dtype_to_descr(value.dtype)!r} {value.shape};".encode())
        sink.update(value.tobytes())
        return sink.digest()
    parts: Iterable[bytes] = ()
    if isinstance(value, np.ndarray):
        form, parts = f"objects {value.shape};", map(_digest, value.flat)
    elif isinstance(value, list | tuple):
        form, parts = f"sequence {len(value)};", map(_digest, value)
    elif isinstance(value, Mapping):
        form, parts = f"mapping {len(value)};", sorted(map(_digest, value.items()))
    elif isinstance(value, Set):
        form, parts = f"set {len(value)};", sorted(map(_digest, value))
    else:
        form = f"value {value!r}"
    sink.update(form.encode())
    for part in parts:
        sink.update(part)
    return sink.digest()


def canonical_order(nodes: Sequence[Hashable]) -> list[int]:
    """The indices of nodes in an order that follows from their names alone, however they are listed."""

    def by_name(index: int) -> tuple[str, int, str]:
        name = nodes[index]
        return ("", name, "") if isinstance(name, int) else (type(name).__name__, 0, repr(name))

    return sorted(range(len(nodes)), key=by_name)


class NodeData(dict[str, object]):
    """Node data whose error for a missing name says where its data are."""

    def __init__(
        self, data: Mapping[str, object], anchored: Mapping[str, object], sites: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data)
        self._anchored, self._sites = frozenset(anchored), frozenset(sites or ())

    def __missing__(self, name: object) -> NoReturn:
        if name in self._sites:
            raise KeyError(f"{name!r} may be changed by noise and attacks: it is in graph.node_sites")
        where = f"{name!r} reveals the graph's own edges: it is in graph.anchored_data"
        raise KeyError(where if name in self._anchored else name)


def names_of_nodes(nodes: Iterable[Hashable] | None, n_nodes: int) -> tuple[Hashable, ...]:
    """The names of the nodes, each once; their indices if none are given."""
    if nodes is None:
        return tuple(range(n_nodes))
    names = tuple(nodes)
    if len(names) != n_nodes:
        raise InvalidParameterError("nodes", f"be {n_nodes} names, one for each node", f"{len(names)} names")
    try:
        twice = [name for name, count in Counter(names).items() if count > 1]
    except TypeError:
        raise InvalidParameterError("nodes", "be hashable names", names) from None
    if twice:
        raise InvalidParameterError("nodes", "name each node once", f"{twice[0]!r} twice")
    return names


def data_of_nodes(data: object, n_nodes: int, parameter: str) -> dict[str, object]:
    """Read-only copies of the data, with an entry for each node."""
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        raise InvalidParameterError(parameter, "map names of attributes to data", data)
    return {name: frozen_copy(values, n_nodes, f"{parameter}[{name}]") for name, values in data.items()}


def frozen_copy(values: object, n_nodes: int, name: str) -> object:
    """A copy of the data of all nodes: sequences become tuples, arrays read-only arrays, tensors stay tensors."""
    copy: object
    if is_tensor(values):
        copy, shape = values.detach().clone(), tuple(values.shape)
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        copy, shape = tuple(values), (len(values),)
    elif hasattr(values, "__array__"):
        array = read_only(np.array(values))
        copy, shape = array, array.shape
    else:
        wanted = "be a sequence or an array with one entry for each node"
        raise InvalidParameterError(name, wanted, values, "Sparse data must be made dense.")
    if not shape or shape[0] != n_nodes:
        got = f"{shape[0]} entries" if len(shape) == 1 else f"an array of shape {shape}"
        raise InvalidParameterError(name, f"have one entry for each of the {n_nodes} nodes", got)
    return copy


def edges_of_pairs(
    values: npt.ArrayLike | Iterable[tuple[int, int]], n_nodes: int, *, directed: bool = False
) -> tuple[Indices, Indices]:
    """The edges, sorted and read-only, and which of the given pairs each is; undirected ones become u < v."""
    if not isinstance(values, Iterable):
        raise InvalidParameterError("edges", "be pairs of node indices", values)
    listed: Any = values if hasattr(values, "__array__") else list(values)
    pairs = as_array(listed)
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        pairs = _pairs_one_by_one(listed)
    once = "hold each arc once" if directed else "hold each pair once, in one orientation"
    edges, order = sorted_pairs(pairs, n_nodes, "edges", once, swap=not directed)
    return read_only(edges), order


def _pairs_one_by_one(listed: Iterable[Any]) -> npt.NDArray[Any]:
    """Pairs that numpy did not read as whole numbers in two columns: none, huge numbers, or something to refuse."""
    pairs = []
    for pair in listed:
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2 or not all(map(is_index, pair)):
            got = tuple(pair.tolist()) if isinstance(pair, np.ndarray) and pair.ndim == 1 else pair
            hint = "Transpose an edge_index that has two rows." if len(np.shape(got)) and len(got) > 2 else ""
            raise InvalidParameterError("edges", "be pairs of whole numbers, the indices of nodes", got, hint)
        pairs.append([int(index) for index in pair])
    return np.array(pairs, dtype=object).reshape(-1, 2)


def sorted_pairs(
    pairs: npt.NDArray[Any], n_nodes: int, name: str, once: str, *, swap: bool = False, loops: str = "", twice: str = ""
) -> tuple[Indices, Indices]:
    """Pairs of different nodes in lexicographic order, u < v with `swap`, and the place of each before.

    Errors call the pairs `name`, require `once` of pairs that come twice, and end with the hints `loops` and `twice`.
    """
    wrong = ((pairs < 0) | (pairs >= n_nodes)).any(axis=1)
    if wrong.any():
        wanted = f"be pairs of node indices below {n_nodes}, 0 or more"
        raise InvalidParameterError(name, wanted, tuple(pairs[wrong.argmax()].tolist()))
    found = np.sort(pairs.astype(np.int64), axis=1) if swap else pairs.astype(np.int64)
    looped = found[:, 0] == found[:, 1]
    if looped.any():
        raise InvalidParameterError(name, "have no self-loops", tuple(found[looped.argmax()].tolist()), loops)
    order = np.lexsort([found[:, 1], found[:, 0]])
    found = found[order]
    equal = (found[1:] == found[:-1]).all(axis=1)
    if equal.any():
        raise InvalidParameterError(name, once, f"{tuple(found[equal.argmax()].tolist())} twice", twice)
    return found, order


def types_of_edges(
    edge_types: object, type_names: Sequence[Hashable] | None, order: Indices
) -> tuple[Values | None, tuple[Hashable, ...]]:
    """The type of each edge as a value from 1, and the names of all types: those that occur, sorted, by default."""
    if edge_types is None:
        if type_names is not None:
            raise InvalidParameterError("type_names", "needs edge_types.")
        return None, ()
    given = _listed(edge_types)
    if given is None or len(given) != len(order):
        wanted = f"name the type of each of the {len(order)} edges"
        raise InvalidParameterError("edge_types", wanted, edge_types if given is None else f"{len(given)} types")
    names = tuple(_listed(type_names) or ()) if type_names is not None else _sorted(given)
    if len(set(names)) < len(names) or not 1 <= len(names) <= MAX_TYPES:
        hint = "Name all types there may be: type_names=('single', 'double', 'triple', 'aromatic')."
        raise InvalidParameterError("type_names", f"be 1 to {MAX_TYPES} different names", type_names or names, hint)
    number = {name: place for place, name in enumerate(names, start=1)}
    for unknown in (each for each in given if each not in number):
        raise InvalidParameterError("edge_types", f"be among {', '.join(map(repr, names))}", unknown)
    return read_only(np.array([number[each] for each in given], dtype=np.uint8)[order]), names


def _listed(values: Any) -> list[Any] | None:  # noqa: ANN401  (whatever a user has)
    if is_tensor(values) or isinstance(values, np.ndarray):
        return list(values.tolist())
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else None


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
        found[name] = read_only(array[order])
    return found


def added_numbers(added: object, edge_data: Mapping[str, EdgeNumbers]) -> dict[str, EdgeNumbers]:
    """The numbers that an added edge shows: those given, or the mean of the graph's edges (0 where there are none)."""
    if not isinstance(added, Mapping):
        raise InvalidParameterError("added_edge_data", "map names of edge data to what an added edge shows", added)
    for unknown in added.keys() - edge_data.keys():
        wanted = f"name edge data of the graph, {', '.join(edge_data) or 'which has none'}"
        raise InvalidParameterError("added_edge_data", wanted, unknown)
    found = {}
    for name, values in edge_data.items():
        mean = values.mean(axis=0) if len(values) else np.zeros(values.shape[1:])
        shown = np.array(_as_numbers(added.get(name, mean), f"added_edge_data[{name}]"))
        if shown.shape != values.shape[1:]:
            wanted = f"be {'a number' if values.ndim == 1 else f'{values.shape[1]} numbers'}"
            raise InvalidParameterError(f"added_edge_data[{name}]", wanted, f"shape {shown.shape}")
        found[name] = read_only(shown)
    return found


def _as_numbers(values: object, name: str) -> EdgeNumbers:
    array = as_array(values)
    numbers = array.astype(np.float64) if array is not None and array.dtype.kind in "biuf" else None
    if numbers is None or not np.isfinite(numbers).all():
        raise InvalidParameterError(name, "be finite numbers", values)
    return numbers


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
    given = _as_entries(name, data)
    if given is None or not np.isin(given, (0, 1)).all():
        hint = "Categories are given with graph.with_categories."
        raise InvalidParameterError(f"node_data[{name}]", "hold only 0 and 1 to become bits", data, hint)
    return NodeSites(name, _as_sites(given), 2, None, False, given.ndim == 1, str(given.dtype))


def categories_of(name: str, data: object, categories: Sequence[Hashable] | None) -> NodeSites:
    """Node data as categories: names, or one-hot rows."""
    given, parameter = _as_entries(name, data), f"node_data[{name}]"
    if categories is None:
        if given is None or given.ndim != 2 or not np.isin(given, (0, 1)).all() or (given.sum(axis=1) != 1).any():
            hint = "Or name all categories there may be: graph.with_categories('element', ('C', 'N', 'O'))."
            raise InvalidParameterError(parameter, "hold one-hot rows where no categories are named", data, hint)
        if not 2 <= given.shape[1] <= MAX_CATEGORIES:
            raise InvalidParameterError(parameter, f"have 2 to {MAX_CATEGORIES} categories", given.shape[1])
        return NodeSites(name, _as_sites(given.argmax(axis=1)), given.shape[1], None, True, True, str(given.dtype))
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
    return NodeSites(name, _as_sites(values), len(names), names, False, True, dtype)


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


def _as_entries(name: str, data: object) -> npt.NDArray[Any] | None:
    """The data as an array of numbers in one or two dimensions; None if they are not numbers."""
    array = as_array(data)
    if array is None:
        return None
    if array.ndim not in (1, 2):
        raise InvalidParameterError(f"node_data[{name}]", "have a value or a row for each node", f"shape {array.shape}")
    return array if array.dtype.kind in "biuf" else None


def _as_sites(values: npt.NDArray[Any]) -> Values:
    return read_only((values if values.ndim == 2 else values[:, None]).astype(np.uint8))
