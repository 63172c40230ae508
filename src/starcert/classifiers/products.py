"""Sums along edges as products with sparse matrices: any module of PyG, without a row of numbers for every edge.

PyG takes a row of features for each edge and adds it to the row of the edge's target. Where what travels along an edge
is the row of its source, or that row times a number of the edge, the sum over all edges is a product: of the matrix
that has the edge's number at (target, source), with the features. While a module works under `Products`, such sums are
recognised and multiplied; and sums, means and largest values over the nodes of a copy, whose rows lie side by side, are
taken block by block. Both add in a fixed order. Everything else is done as it is written.

What is taken is not known to be summed until it is. So rows that are taken are a promise (`Rows`), which is kept, row
by row, as soon as anything else is asked of it, or what it was made of is about to be overwritten. What the module is
given may be a promise too (`Given`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from starcert.classifiers.promises import OF_SHAPE, Given, Rows, kept, of_shape
from starcert.core.arithmetic import compiled

__all__ = ["Products", "Rows", "can_watch"]

UNKNOWN = object()
"""What a rule answers that does not apply."""

MOST_ENTRIES = 2**31 - 1
"""Matrices have indices of 32 bits."""


def can_watch(model: torch.nn.Module) -> bool:
    """Whether what a module does can be seen: compiled and scripted ones work below Python."""
    return not any(
        isinstance(each, torch.jit.ScriptModule)
        or type(each).__name__ == "OptimizedModule"
        or isinstance(each._compiled_call_impl, FunctionType)  # compiled where it is
        for each in model.modules()
    )


class Products(TorchFunctionMode):
    """While it is entered, sums along edges are products.

    Args:
        batch: for each node the number of its copy, ascending, as the module is given it.
        blocks: how many copies there are and how many nodes each has, for one graph after the other.
        ascending: the targets of edges that are known to be in ascending order.

    Attributes:
        ascending: as above, until they are overwritten; whoever makes edges while the module works says so here.
        used: how many sums were found.
    """

    def __init__(self, batch: Tensor, *blocks: tuple[int, int], ascending: Tensor | None = None) -> None:
        super().__init__()
        self._batch, self._blocks, self.ascending = batch, blocks, ascending
        self._n_copies = sum(n_copies for n_copies, _ in blocks)
        self._matrices: dict[tuple[int, ...], tuple[Tensor, list[Tensor]]] = {}
        self._promised: WeakSet[Rows] = WeakSet()
        self._batch_stands = True
        self.used = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """One of the rules, or what is written."""
        given = kwargs or {}
        if Rows in types or Given in types:
            if func in OF_SHAPE:
                return of_shape(func, args, given)
            if func in _NEW:
                return func(torch.empty(0, dtype=args[0].dtype, device=args[0].device), *args[1:], **given)
        if Given in types:
            if func in _UNCHANGED and _UNCHANGED[func](*args, **given):
                return args[0]
            args, given = tree_map_only(Given, Given.fetched, (tuple(args), given))
        rule = _RULES.get(func)
        if rule is not None:
            found = rule(self, *args, **given)
            if found is not UNKNOWN:
                return found
        if Rows in types:
            args, given = kept(args), kept(given)
        if func in _READING and not given and bool not in map(type, args):  # as a rule
            return func(*args)
        if _overwrites(func, args, given):
            self._before_writing(given["out"] if "out" in given else args[0])
        elif not given and bool not in map(type, args):
            _READING.add(func)
        return func(*args, **given)

    def _before_writing(self, place: object) -> None:
        """Takes the rows, and forgets the matrices and all else, that hang by what is about to be overwritten."""
        for each in [place] if isinstance(place, Tensor) else []:
            there = _storage(each)
            for rows in list(self._promised):
                if any(_storage(part) == there for part in rows.made_of()):
                    rows.fetched()
            for key in [key for key, (_, parts) in self._matrices.items() if there in map(_storage, parts)]:
                del self._matrices[key]
            self._batch_stands = self._batch_stands and there != _storage(self._batch)
            if self.ascending is not None and there == _storage(self.ascending):
                self.ascending = None

    # Rules: what is answered instead of what is written, or UNKNOWN.

    def _take(self, source: object, dim: object, index: object) -> object:
        if type(source) is not Tensor or type(index) is not Tensor or dim not in (0, -2):
            return UNKNOWN
        if source.dim() != 2 or index.dim() != 1 or index.dtype != torch.int64 or source.layout != torch.strided:
            return UNKNOWN
        if source.shape[0] != len(self._batch) or source.dtype not in (torch.float32, torch.float64):
            return UNKNOWN
        rows = Rows(source, index)
        self._promised.add(rows)
        return rows

    def _item(self, source: object, key: object) -> object:
        return self._take(source, 0, key)

    def _times(self, one: object, other: object) -> object:
        rows, factor = (one, other) if isinstance(one, Rows) else (other, one)
        if not isinstance(rows, Rows) or rows.taken is not None or type(factor) is not Tensor:
            return UNKNOWN
        if factor.shape != (rows.shape[0], 1) or factor.dtype != rows.dtype:
            return UNKNOWN
        product = Rows(rows.source, rows.which, factor if rows.weight is None else factor * rows.weight)
        self._promised.add(product)
        return product

    def _like(self, view: object, rows: object) -> object:
        return view.expand(rows.shape) if isinstance(rows, Rows) and type(view) is Tensor else UNKNOWN

    def _add(self, out: object, dim: int, index: object, rows: object) -> object:
        if type(out) is not Tensor or type(index) is not Tensor:
            return UNKNOWN
        if type(rows) is Tensor and self._over_nodes(out, dim, index, rows):
            self.used += 1
            self._before_writing(out)
            for block, there in self._each_block(rows, out):
                there.add_(block.sum(dim=1))
            return out
        if not isinstance(rows, Rows) or rows.taken is not None or dim not in (0, -2) or index.shape != rows.shape:
            return UNKNOWN
        if index.stride(1) != 0 or out.shape != rows.source.shape or len(index) > MOST_ENTRIES:
            return UNKNOWN
        self.used += 1
        self._before_writing(out)
        return torch.addmm(out, self._matrix(index[:, 0], rows), rows.source, out=out)

    def _extreme(
        self, out: object, dim: int, index: object, rows: object, reduce: str, *, include_self: bool = True
    ) -> object:
        if type(out) is not Tensor or type(index) is not Tensor or type(rows) is not Tensor:
            return UNKNOWN
        if include_self or reduce not in ("amax", "amin") or not self._over_nodes(out, dim, index, rows):
            return UNKNOWN
        self.used += 1
        self._before_writing(out)
        for block, there in self._each_block(rows, out):
            (torch.amax if reduce == "amax" else torch.amin)(block, dim=1, out=there)
        return out

    def _largest(self, index: object, *more: object, **named: object) -> object:
        if more or named or type(index) is not Tensor or index.dim() != 1 or not self._is_batch(index):
            return UNKNOWN
        return torch.tensor(self._n_copies - 1)  # known without a trip to the device

    def _over_nodes(self, out: Tensor, dim: int, index: Tensor, rows: Tensor) -> bool:
        """Whether rows of nodes are put together copy by copy."""
        fits = index.shape == rows.shape and out.shape == (self._n_copies, *rows.shape[1:]) and rows.is_contiguous()
        return fits and dim in (0, -rows.dim()) and self._is_batch(index)

    def _is_batch(self, index: Tensor) -> bool:
        """Whether it is the number of each node's copy, or that beside itself."""
        own = self._batch
        same = (
            self._batch_stands
            and index.data_ptr() == own.data_ptr()
            and index.shape[:1] == own.shape
            and index.stride(0) == own.stride(0)
        )
        return same and all(
            step == 0 or size == 1 for size, step in zip(index.shape[1:], index.stride()[1:], strict=True)
        )

    def _each_block(self, rows: Tensor, out: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """For each graph the rows of its copies, shape (copies, nodes, …), and the rows of these copies in `out`."""
        first_row = first_copy = 0
        for n_copies, n_nodes in self._blocks:
            last_row, last_copy = first_row + n_copies * n_nodes, first_copy + n_copies
            yield rows[first_row:last_row].view(n_copies, n_nodes, *rows.shape[1:]), out[first_copy:last_copy]
            first_row, first_copy = last_row, last_copy

    def _matrix(self, target: Tensor, rows: Rows) -> Tensor:
        """The matrix of all copies: the weight of each edge at its target and its source."""
        parts = [target, *rows.made_of()[1:]]
        key = tuple(number for part in parts for number in (part.data_ptr(), part.stride(0), part.shape[0]))
        if key not in self._matrices:
            n_rows = len(self._batch)
            known = self.ascending
            if known is not None and (known.data_ptr(), known.stride(0)) == key[:2] and len(known) == len(target):
                starts, order = _starts(target.contiguous(), n_rows), None
            else:
                starts, order = _by_target(target, n_rows)
            columns = (rows.which if order is None else rows.which[order]).to(torch.int32)
            if rows.weight is None:
                numbers = torch.ones(len(columns), dtype=rows.dtype, device=rows.device)
            else:
                numbers = rows.weight[:, 0] if order is None else rows.weight[:, 0][order]
            with warnings.catch_warnings():  # torch calls such matrices new
                warnings.simplefilter("ignore", UserWarning)
                matrix = torch.sparse_csr_tensor(starts, columns, numbers, (n_rows, n_rows), check_invariants=False)
            self._matrices[key] = matrix, parts
        return self._matrices[key][0]


_RULES: dict[object, Callable[..., Any]] = {
    Tensor.index_select: Products._take,
    torch.index_select: Products._take,
    Tensor.__getitem__: Products._item,
    Tensor.mul: Products._times,
    torch.mul: Products._times,
    Tensor.__mul__: Products._times,
    Tensor.__rmul__: Products._times,
    Tensor.expand_as: Products._like,
    Tensor.scatter_add_: Products._add,
    Tensor.scatter_reduce_: Products._extreme,
    Tensor.max: Products._largest,
}

_NEW = frozenset([Tensor.new_zeros, Tensor.new_ones, Tensor.new_empty, Tensor.new_full])
"""What makes something else of the same kind."""

_UNCHANGED: dict[object, Callable[..., bool]] = {
    torch.nn.functional.dropout: lambda _, p=0.5, training=True, inplace=False: not training,
    Tensor.float: lambda given: given.dtype == torch.float32,
    Tensor.long: lambda given: given.dtype == torch.int64,
}
"""What gives back what it is given, and when."""


_READING: set[object] = set()
"""Functions that were seen to write nothing where no argument is named."""


def _overwrites(func: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Whether a function writes, or may write, into its first argument, or into one that is named so."""
    name = func.__name__
    in_place = (name.endswith("_") and not name.endswith("__")) or name == "__setitem__" or name[:3] == "__i"
    asked = bool(given.get("inplace")) or any(each is True for each in args)  # relu(x, True)
    return in_place or asked or given.get("out") is not None


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _starts(ascending: Tensor, n_rows: int) -> Tensor:
    """Where the edges of each target begin in their ascending order, and where the last one's end."""
    rows = torch.arange(n_rows + 1, dtype=ascending.dtype, device=ascending.device)
    return torch.searchsorted(ascending, rows, out_int32=True)


def _by_target(target: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """Where the edges of each target begin, and all edges in that order; those of one target as they were."""
    if target.device.type == "cpu":
        starts, order = _counted(target.numpy(), n_rows)
        return torch.from_numpy(starts), torch.from_numpy(order)
    ascending, order = torch.sort(target.to(torch.int32), stable=True)
    return _starts(ascending, n_rows), order


@compiled
def _counted(target, n_rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    starts = np.zeros(n_rows + 1, np.int32)
    for node in target:
        starts[node + 1] += 1
    for node in range(n_rows):
        starts[node + 1] += starts[node]
    places, order = starts[:-1].copy(), np.empty(target.size, np.int64)
    for edge in range(target.size):
        order[places[target[edge]]] = edge
        places[target[edge]] += 1
    return starts, order
