"""What opaque data contain: kept as they came, told apart by a digest.

starcert never looks into the data of a node; it only has to hand them to a classifier unchanged and to know
whether two graphs carry the same. The digest is the same in every process and on every machine: it reads arrays
by their bytes, never by an address or by the order of a hash table.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

__all__ = ["digest", "frozen_copy", "is_tensor"]


def is_tensor(value: object) -> TypeGuard[Any]:
    """Whether this is a torch tensor; torch is looked at only if somebody has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def frozen_copy(values: object, n_nodes: int, name: str) -> object:
    """A copy of the data of all nodes that does not follow later changes to the original.

    Sequences become tuples, arrays read-only arrays, tensors stay tensors.

    Raises:
        InvalidParameterError: if there is not one entry for each node.

    Example:
        >>> frozen_copy(["C", "N", "O"], 3, "element")
        ('C', 'N', 'O')
    """
    copy: object
    if is_tensor(values):
        copy, shape = values.detach().clone(), tuple(values.shape)
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        copy, shape = tuple(values), (len(values),)
    elif hasattr(values, "__array__"):
        array = np.array(values)
        array.setflags(write=False)
        copy, shape = array, array.shape
    else:
        raise InvalidParameterError(
            name, "be a sequence or an array with one entry for each node", values, "Sparse data must be made dense."
        )
    if not shape or shape[0] != n_nodes:
        got = f"{shape[0]} entries" if len(shape) == 1 else f"an array of shape {shape}"
        raise InvalidParameterError(name, f"have one entry for each of the {n_nodes} nodes", got)
    return copy


def digest(*values: object) -> str:
    """The hex digest of the content of some values.

    Arrays count by dtype, shape and bytes, tensors as the arrays they convert to, sequences and mappings by what
    they hold, everything else by its repr.

    Example:
        >>> digest(1, "a") == digest(1, "a"), digest({"x": 1, "y": 2}) == digest({"y": 2, "x": 1})
        (True, True)
    """
    return _digest(values).hex()


def _digest(value: object) -> bytes:
    sink = hashlib.blake2b(digest_size=16)
    # Every branch writes its kind and its length first: no two different values write the same bytes.
    if is_tensor(value):
        value = _array_of(value)
    if isinstance(value, np.generic) and not isinstance(item := value.item(), np.generic):
        value = item  # a node called np.int64(3) is the node called 3
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        sink.update(f"array {np.lib.format.dtype_to_descr(value.dtype)!r} {value.shape};".encode())
        sink.update(value.tobytes())
    elif isinstance(value, np.ndarray):
        sink.update(f"objects {value.shape};".encode())
        for item in value.flat:
            sink.update(_digest(item))
    elif isinstance(value, list | tuple):
        sink.update(f"sequence {len(value)};".encode())
        for item in value:
            sink.update(_digest(item))
    elif isinstance(value, Mapping):
        sink.update(f"mapping {len(value)};".encode())
        for item in sorted(_digest(pair) for pair in value.items()):
            sink.update(item)
    elif isinstance(value, Set):
        sink.update(f"set {len(value)};".encode())
        for item in sorted(map(_digest, value)):
            sink.update(item)
    else:
        sink.update(f"value {value!r}".encode())
    return sink.digest()


def _array_of(tensor: Any) -> npt.NDArray[np.generic]:  # noqa: ANN401  (torch may be missing)
    dense = tensor.to_dense()
    # numpy has no bfloat16; float32 holds all of its numbers
    array: npt.NDArray[np.generic] = (dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).numpy(
        force=True
    )
    return array
