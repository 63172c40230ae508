"""What is learned, checked: a class or a number for each object, and the nodes to learn from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from starcert.system.errors import InvalidParameterError


def read_classes(labels: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The class of each object, on a device."""
    given = np.asarray(labels)
    if given.shape != (count,):
        raise InvalidParameterError(parameter, f"have one class for each of {count}, a whole number", given.shape)
    if given.dtype.kind not in "iu":
        hint = "Number names first: class_names, labels = np.unique(names, return_inverse=True)."
        raise InvalidParameterError(parameter, "be classes, whole numbers from 0", given[:5].tolist(), hint)
    return torch.as_tensor(given.astype(np.int64), device=device)


def read_numbers(labels: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The number of each object, on a device."""
    given = np.asarray(labels)
    if given.shape != (count,) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise InvalidParameterError(parameter, f"be {count} numbers, as the outputs are", labels)
    return torch.as_tensor(given, dtype=torch.get_default_dtype(), device=device)


def read_nodes(nodes: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> Tensor:
    """The indices of nodes, from these or from a truth value for each node, on a device."""
    given = np.asarray(nodes)
    if given.dtype.kind == "b" and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= count:
        raise InvalidParameterError(parameter, f"be indices of nodes, from 0 to {count - 1}", nodes)
    return torch.as_tensor(given.astype(np.int64), device=device)
