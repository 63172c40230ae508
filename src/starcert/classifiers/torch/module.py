"""Common parts of classifiers from PyTorch modules: a device, its memory, answers from logits; and modules on rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

from starcert.classifiers.base import CHUNK_SIZE, Classifier, Scores, value_scores
from starcert.classifiers.functions import checked_names
from starcert.classifiers.identity import identity
from starcert.classifiers.torch.calling import Outputs, checked_outputs, columns_of_classes, logits_of
from starcert.classifiers.values import ValueRange
from starcert.math.collective import MAX_EXACT, Counted, Matrices
from starcert.objects.columns import VectorFrame
from starcert.sampling.batch import Copies, NoisyCopies, NoisyVectors
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.processes import available_bytes, one_torch_thread, threads_are_chosen

DRAWING_VERSION = 4
"""The version of drawing noise on a device: the number goes up when the same seed draws other copies than before."""

DEVICE_CHUNK, DEVICE_CALL = 131_072, 2**14
"""Samples in a chunk on a device, which works best on large batches, and the `call_cost` there, for small graphs."""

LAYERS, FITS = 32, 2**33
"""Of a portion of a batch on a device, this many layers of the model fit into this many bytes."""

PORTION = 2**27  # bytes that a layer takes at a time for the copies of a portion on a CPU

VALUE_ROUNDING = 1e-4  # by how much outputs that are numbers may differ between batches, relative to the largest

SMALL = 2**20
"""A batch is small if a layer of the model holds at most this many numbers for it: one thread takes milliseconds."""


class ModuleClassifier(Classifier):
    """A module in evaluation mode, without gradients; on a device other than the CPU, noisy copies are drawn there."""

    def __init__(
        self,
        model: torch.nn.Module,
        n_classes: int | None,
        *,
        description: str | None,
        class_names: Sequence[str] | None = None,
        outputs: Outputs = None,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise InvalidParameterError("model", "be a torch.nn.Module", type(model).__name__)
        self.model = model.eval()
        self._parameter = next(model.parameters(), None)
        self.values = outputs if isinstance(outputs, ValueRange) else None
        self.n_classes = whole_number("n_classes", n_classes, 2) if self.values is None else self.values.steps
        self.outputs = checked_outputs(outputs, n_classes, class_names)
        self._n_columns = 1 if self.values else self.n_classes  # of what the model gives
        self.class_names, _ = checked_names(class_names, n_classes)
        self._description = description
        self.weights = ""  # of weights from a file a digest, which a description that was given ends with
        on_cpu = self.device.type == "cpu"
        self.backend = "cpu" if on_cpu else f"torch {self.device.type} ({DRAWING_VERSION})"
        self.chunk_size = self.batch_size = CHUNK_SIZE if on_cpu else DEVICE_CHUNK
        self.call_cost = Classifier.call_cost if on_cpu else DEVICE_CALL

    @property
    @override
    def description(self) -> str:
        if self._description:
            return f"{self._description} {self.weights}".rstrip()
        self.model.eval()  # as it is when it answers
        return f"{type(self.model).__name__} {identity(self._content())}"

    @property
    @override
    def device(self) -> torch.device:  # type: ignore[override]  # an attribute elsewhere
        return torch.device("cpu") if self._parameter is None else self._parameter.device

    @override
    def free_memory(self) -> int | None:
        if self.device.type != "cuda":
            return available_bytes() if self.device.type == "cpu" else None
        unused = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return int(torch.cuda.mem_get_info(self.device)[0]) + unused

    @override
    def classify(self, graphs: Copies) -> npt.ArrayLike:
        return self._answers(self._outputs_of(graphs))

    @override
    def scored(self, graphs: Copies) -> Scores:
        return self._scores(self._outputs_of(graphs))

    def logits(self, graphs: Copies) -> torch.Tensor:
        """The output of the model for each copy, shape (copies, classes), or target, (copies, targets, classes)."""
        return columns_of_classes(self._outputs_of(graphs), self.outputs)

    def _scores(self, found: torch.Tensor) -> Scores:
        precision = torch.finfo(found.dtype).eps if found.is_floating_point() else 0.0
        if self.values is not None:
            return value_scores(self.values, found.double()[..., 0].cpu().numpy(), max(VALUE_ROUNDING, 8 * precision))
        numbers = columns_of_classes(found, self.outputs).double().cpu().numpy()
        assumed = self.outputs is None and found.shape[-1] == 1
        return Scores(self._answers(found), numbers, max(1e-3, 8 * precision), assumed)

    def _answers(self, found: torch.Tensor) -> npt.NDArray[np.signedinteger]:
        if self.values is not None:
            return self.values.steps_of(found.double()[..., 0].cpu().numpy())
        logits = columns_of_classes(found, self.outputs)
        if logits.device.type == "cpu":
            answers = _largest(logits)
        else:
            largest, places = logits.max(dim=-1)  # a NaN counts as the largest
            narrow = torch.int8 if self.n_classes <= torch.iinfo(torch.int8).max else torch.int64
            # One transfer from the device for answers and NaN.
            answers = places.to(narrow).masked_fill_(largest.isnan(), -1).cpu().numpy()
        if (answers < 0).any():
            beyond = ", or lie outside [0, 1]" if self.outputs == "probability" else ""
            raise ValueError(f"its {'probabilities' if beyond else 'logits'} have a NaN{beyond}")
        return answers

    def _outputs_of(self, graphs: Copies) -> torch.Tensor:
        """The output of the model for all copies, checked; in portions that fit, halved where memory is short."""
        if any(part.training for part in self.model.modules()):  # it may have been trained since
            self.model.eval()
        size = min(len(graphs), self._fitting(graphs))
        while True:
            try:
                with torch.inference_mode(), self._threads(graphs.frame, size):
                    parts = [self._forward(part) for part in graphs.split(size)]
                    return parts[0] if len(parts) == 1 else torch.cat(parts)
            except RuntimeError as error:
                if not is_out_of_memory(error) or size == 1:
                    raise
                size = -(-size // 2)
                self.batch_size = min(self.batch_size, size)  # the next batch need not fail first
                if self.device.type == "cuda":
                    torch.cuda.empty_cache()

    def _threads(self, frame: Any, n_copies: int) -> AbstractContextManager[None]:  # noqa: ANN401
        """One thread of torch on a CPU where the batch is small, unless the user has set OMP_NUM_THREADS."""
        small = self.device.type == "cpu" and n_copies * self._numbers(frame) <= SMALL
        return one_torch_thread() if small and not threads_are_chosen() else nullcontext()

    def _fitting(self, graphs: Copies) -> int:
        """The number of copies that the model takes at once; on a device it is halved should they not fit."""
        if self.device.type == "cpu":
            return max(1, PORTION // (8 * max(1, self._numbers(graphs.frame))))
        return max(1, FITS // (4 * LAYERS * max(1, self._numbers(graphs.frame))))

    @abstractmethod
    def _content(self) -> tuple[object, ...]: ...

    @abstractmethod
    def _numbers(self, frame: Any) -> int:  # noqa: ANN401
        """About how many numbers a layer of the model holds for one copy."""

    @abstractmethod
    def _forward(self, graphs: Copies) -> torch.Tensor:
        """The output of the model for a batch that fits, checked: a column for each class, or one for both."""

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float32 if self._parameter is None else self._parameter.dtype


def _largest(logits: torch.Tensor) -> npt.NDArray[np.signedinteger]:
    """The place of the largest number in each row, -1 where one is a NaN.

    By numpy: torch starts threads for it, and never returns in a process that was forked from one with such threads.
    """
    numbers = (logits.float() if logits.dtype == torch.bfloat16 else logits).numpy()
    answers: npt.NDArray[np.int64] = numbers.argmax(axis=-1)
    if numbers.dtype.kind == "f":
        answers[np.isnan(numbers).any(axis=-1)] = -1
    return answers


def is_out_of_memory(error: Exception) -> bool:
    """True if torch found too little memory, on a device or here."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or "not enough memory" in str(error)


class DeviceMatrices(Matrices):
    """`math.collective.Matrices` on a device. Zeros and ones are exact in every format that its units may round to."""

    def __init__(self, device: torch.device | str) -> None:
        self._device = torch.device(device)

    @override
    def of(self, mask: npt.NDArray[np.bool_]) -> torch.Tensor:
        there = torch.from_numpy(np.ascontiguousarray(mask)).to(self._device)
        return there.to(torch.float32 if max(mask.shape) <= MAX_EXACT else torch.float64)

    @override
    def product(self, left: torch.Tensor, right: torch.Tensor) -> Counted:
        with torch.no_grad(), torch.autocast(self._device.type, enabled=False):
            found: Counted = (left @ right).cpu().numpy()
        return found


class TorchRowClassifier(ModuleClassifier):
    """A module on rows. See `from_torch`."""

    def __init__(self, model: torch.nn.Module, n_classes: int | None, *, one_hot: bool, **options: Any) -> None:  # noqa: ANN401
        if not isinstance(one_hot, bool):
            raise InvalidParameterError("one_hot", "be True or False", one_hot)
        super().__init__(model, n_classes, **options)
        self.one_hot = one_hot

    @override
    def _content(self) -> tuple[object, ...]:
        return (self.model, "rows", self.one_hot, *((self.outputs,) if self.outputs else ()))

    @override
    def _numbers(self, frame: VectorFrame) -> int:
        return frame.n_columns * (frame.alphabet if self.one_hot else 1)

    @override
    def _forward(self, graphs: NoisyVectors) -> torch.Tensor:
        rows = graphs.vectors_on(self.device)
        if self.one_hot:
            rows = torch.nn.functional.one_hot(rows.long(), graphs.frame.alphabet)
        return logits_of(self.model(rows.to(self._dtype)), len(graphs), self._n_columns, n_nodes=1, of_nodes=False)

    @override
    def _outputs_of(self, graphs: NoisyCopies) -> torch.Tensor:
        if not isinstance(graphs, NoisyVectors):
            raise ValueError("it classifies rows, and these are graphs: certify Bits or Categories")
        return super()._outputs_of(graphs)


def from_torch(
    model: torch.nn.Module,
    *,
    n_classes: int | None = None,
    one_hot: bool = False,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
    outputs: Outputs = None,
) -> TorchRowClassifier:
    """A base classifier from any module that takes rows of `Bits` or `Categories` and returns one row of logits each.

    Args:
        model: the module, on the device where it shall run. It is put into evaluation mode. It is called with floats of
            the shape (copies, columns).
        n_classes: how many columns its logits have. One column tells two classes apart, see `outputs`. Left out where
            outputs are numbers.
        one_hot: whether each value is shown as a row of zeros and a one: floats of the shape (copies, columns, values).
        description: says which classifier it is; by default its class and a digest of its weights and its code.
        class_names: the names of the columns of its logits, in their order.
        outputs: what a single output is, as in `from_pyg`.

    Example:
        >>> import starcert as sc
        >>> class Sum(torch.nn.Module):
        ...     def forward(self, rows):
        ...         return torch.stack([torch.full((len(rows),), 2.0), rows.sum(dim=1)], dim=1)
        >>> smoothed = sc.SmoothedClassifier(from_torch(Sum(), n_classes=2), sc.Noise(all=0.1))
        >>> smoothed.predict(sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 1]]), samples=1000, seed=1).tolist()
        [0, 1]
    """
    return TorchRowClassifier(
        model, n_classes, one_hot=one_hot, description=description, class_names=class_names, outputs=outputs
    )
