"""Tensors that are not there yet: they are made as soon as anything is asked of them that needs their numbers.

A module is watched while it works (`starcert.classifiers.products`), and often what it is given, or takes, is never
looked at number by number: rows that are only added up, edges that are only multiplied with. So it is handed a promise,
which is kept, once, where it must be.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

__all__ = ["OF_SHAPE", "Given", "Promise", "Rows", "kept", "of_shape"]


class Promise(Tensor):
    """A tensor that is not there yet.

    Attributes:
        taken: what was promised, once it was made.
    """

    taken: Tensor | None

    @abstractmethod
    def made(self) -> Tensor:
        """What is promised, made anew."""

    def fetched(self) -> Tensor:
        """What is promised: nobody who works on it is watched by anyone meanwhile."""
        if self.taken is None:
            with torch._C.DisableTorchFunction():
                self.taken = self.made()
        return self.taken

    def shaped(self) -> Tensor:
        """What knows its shape."""
        return self

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:  # noqa: ANN401
        """Whatever is asked of a promise that nobody watches: it is kept."""
        if func in OF_SHAPE:
            return of_shape(func, args, kwargs or {})
        return func(*kept(args), **kept(kwargs or {}))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch has a function of another shape there
        cls, func: Callable[..., Any], types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:  # noqa: ANN401
        """The same, below Python."""
        return func(*kept(args), **kept(kwargs or {}))


class Rows(Promise):
    """The rows `source[which]`, each times its weight.

    Attributes:
        source: where they are taken from, shape (nodes, features).
        which: the number of each, shape (edges,).
        weight: a number for each, shape (edges, 1); None: 1.
    """

    source: Tensor
    which: Tensor
    weight: Tensor | None

    @staticmethod
    def __new__(cls: type[Rows], source: Tensor, index: Tensor, weight: Tensor | None = None) -> Rows:
        """A promise of rows."""
        shape = (index.shape[0], source.shape[1])
        promise: Rows = Tensor._make_wrapper_subclass(cls, shape, dtype=source.dtype, device=source.device)
        promise.source, promise.which, promise.weight, promise.taken = source, index, weight, None
        return promise

    def made(self) -> Tensor:
        """The rows."""
        rows = self.source.index_select(0, self.which)
        return rows if self.weight is None else self.weight * rows

    def made_of(self) -> list[Tensor]:
        """What the rows depend on."""
        return [self.source, self.which] + ([] if self.weight is None else [self.weight])


class Given(Promise):
    """What a module is given.

    Attributes:
        make: makes it.
        content: what it says of all copies in another form, which holds until `seen`.
        seen: whether anything but its shape was asked for: then it may have been overwritten.
    """

    make: Callable[[], Tensor]
    content: Any
    seen: bool

    @staticmethod
    def __new__(
        cls: type[Given],
        make: Callable[[], Tensor],
        content: object,
        *,
        shape: Sequence[int | None],
        dtype: torch.dtype,
        device: torch.device,
    ) -> Given:
        """A promise of something of a shape, in which None is a size that nobody knows before it is made."""
        promise: Given = Tensor._make_wrapper_subclass(
            cls,
            [size or 0 for size in shape],
            dtype=dtype,
            device=device,
            dispatch_sizes_strides_policy="sizes" if None in shape else None,
        )
        promise.make, promise.content, promise.taken, promise.seen = make, content, None, False
        promise._is_shaped = None not in shape
        return promise

    _is_shaped: bool

    def made(self) -> Tensor:
        """What is given."""
        return self.make()

    def fetched(self) -> Tensor:
        """What is given, for whatever use."""
        self.seen = True
        return super().fetched()

    def shaped(self) -> Tensor:
        """What knows its shape: itself, or what is made."""
        return self if self._is_shaped else super().fetched()


def kept(values: Any) -> Any:  # noqa: ANN401
    """Values with all promises among them kept."""
    return tree_map_only(Promise, lambda promise: promise.fetched(), values)


def of_shape(func: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """What one of `OF_SHAPE` answers about a promise."""
    promise = args[0]
    with torch._C.DisableTorchFunctionSubclass():
        return func(promise if func in _OF_KIND else promise.shaped(), *args[1:], **given)


_OF_KIND = frozenset(
    [
        Tensor.is_floating_point,
        *(
            getattr(Tensor, name).__get__
            for name in ("dtype", "device", "layout", "is_cuda", "requires_grad", "is_sparse")
        ),
    ]
)

OF_SHAPE = _OF_KIND | {
    Tensor.size,
    Tensor.dim,
    Tensor.numel,
    Tensor.__len__,
    Tensor.shape.__get__,  # type: ignore[attr-defined]  # a descriptor of C
    Tensor.ndim.__get__,  # type: ignore[attr-defined]
}
"""What can be asked of a promise without keeping it."""
