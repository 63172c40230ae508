"""Saved numpy arrays from files that may be broken or hostile: a header is checked before its numbers are unpacked."""

from __future__ import annotations

from math import prod
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

__all__ = ["ArrayHeader", "read_header", "read_numbers"]

_BLOCK = 2**18
"""At most this many bytes are unpacked at a time, so that no array is in memory twice."""


class ArrayHeader(NamedTuple):
    """What `numpy.save` writes before the numbers of an array.

    Attributes:
        shape: the shape.
        by_columns: whether the numbers come column by column.
        dtype: the type of each number.
        start: how many bytes the header has.
    """

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """How many bytes header and numbers have."""
        return self.start + prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes]) -> ArrayHeader:
    """The header of a saved array; the stream is then where the numbers begin.

    Raises:
        ValueError: it is no header of versions 1.0 and 2.0.

    Example:
        >>> import io
        >>> saved = io.BytesIO()
        >>> np.save(saved, np.array([1.5, 2.5]))
        >>> _ = saved.seek(0)
        >>> header = read_header(saved)
        >>> header.shape, header.size == len(saved.getvalue()), read_numbers(saved, 2, header.dtype)
        ((2,), True, array([1.5, 2.5]))
    """
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"an array of numpy's version {version[0]}.{version[1]}, which is not read")
    shape, by_columns, dtype = readers[version](stream)
    if any(length < 0 for length in shape):
        raise ValueError(f"an array with shape {shape}")
    return ArrayHeader(shape, by_columns, dtype, stream.tell())


def read_numbers(stream: IO[bytes], count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The next numbers of a saved array.

    Raises:
        EOFError: there are fewer.
    """
    raw = np.empty(count * dtype.itemsize, dtype=np.uint8)
    at = 0
    while at < len(raw):
        part = stream.read(min(_BLOCK, len(raw) - at))
        if not part:
            raise EOFError("an array is shorter than it says")
        raw[at : at + len(part)] = np.frombuffer(part, dtype=np.uint8)
        at += len(part)
    return raw.view(dtype)
