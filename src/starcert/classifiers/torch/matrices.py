"""Matrices of zeros and ones on a torch device: what the votes of many targets are counted with there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from starcert.math.collective import MAX_EXACT, Counted


class DeviceMatrices:
    """`math.collective.Matrices` on a device. Zeros and ones are exact in every format that its units may round to."""

    def __init__(self, device: torch.device | str) -> None:
        self._device = torch.device(device)

    def of(self, mask: npt.NDArray[np.bool_]) -> Tensor:
        """The matrix of a mask."""
        there = torch.from_numpy(np.ascontiguousarray(mask)).to(self._device)
        return there.to(torch.float32 if max(mask.shape) <= MAX_EXACT else torch.float64)

    def product(self, left: Tensor, right: Tensor) -> Counted:
        """The product of two of them, as an array."""
        with torch.no_grad(), torch.autocast(self._device.type, enabled=False):
            found: Counted = (left @ right).cpu().numpy()
        return found
