"""What base classifiers from PyTorch modules share, whatever they see: a device, its memory, answers from logits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from starcert.classifiers.base import CHUNK_SIZE, DrawsItself, Scores
from starcert.classifiers.identity import identity
from starcert.classifiers.outputs import Outputs, checked_outputs, columns_of_classes
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.processes import available_bytes
from starcert.system.stages import stage
from starcert.system.threads import one_torch_thread, threads_are_chosen

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.sampling.sampler import Sampler

__all__ = ["ModuleClassifier", "NotANumberError", "is_short_of_memory"]

DRAWN = 4
"""How noise is drawn on a device: the number goes up where the same seed draws other copies than before."""

DEVICE_CHUNK = 131_072
"""Samples in a chunk on a device: it wants much to do at once."""

DEVICE_CALL = 8192
"""The `call_cost` on a device, for small graphs."""

PROBE = 64
"""So many copies tell what one of them takes on a device."""

HELD_LAYERS = 32
"""So many layers of numbers a model may hold at once, where it was not tried."""

ALWAYS_FITS = 2**33
"""Bytes that are free on a device as a rule: to try what a few copies take would take longer than their answers."""

PORTION = 2**27
"""Bytes that the features of copies take at a time on a CPU."""

SMALL = 2**20
"""A batch is small if a layer of the model holds so many numbers for it: a thread alone is done in milliseconds."""


class NotANumberError(ValueError):
    """Some logits are no numbers."""


class ModuleClassifier(DrawsItself):
    """A module in evaluation mode, without gradients, asked about whole batches.

    On another device than the CPU the noisy copies are drawn there. The batch is as large as memory allows, and halved
    where it does not.

    Attributes:
        weights: where weights came from a file, a digest of them; a description that was given ends with it.
        outputs: what a single output is: a "logit", a "probability", or None where that was not said.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        n_classes: int,
        *,
        batch_size: int,
        description: str | None,
        outputs: Outputs = None,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise InvalidParameterError("model", "be a torch.nn.Module", type(model).__name__)
        self.model = model.eval()
        self._parameter = next(model.parameters(), None)
        self.n_classes = whole_number("n_classes", n_classes, 2)
        self.outputs = checked_outputs(outputs, self.n_classes)
        self._description = description
        self.weights = ""
        on_cpu = self.device.type == "cpu"
        self.backend = "cpu" if on_cpu else f"torch {self.device.type} ({DRAWN})"
        self.chunk_size = CHUNK_SIZE if on_cpu else DEVICE_CHUNK
        self.batch_size = batch_size if on_cpu else DEVICE_CHUNK
        self.call_cost = DrawsItself.call_cost if on_cpu else DEVICE_CALL
        self._fits: tuple[str, int] | None = None

    @property
    def description(self) -> str:
        """Which classifier it is: what was given, or its class and a digest of weights, code and features as of now."""
        if self._description:
            return f"{self._description} {self.weights}".rstrip()
        return f"{type(self.model).__name__} {identity(self.content())}"

    def content(self) -> object:
        """Weights, code and features."""
        self.model.eval()  # as it is when it answers
        return self._content()

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return torch.device("cpu") if self._parameter is None else self._parameter.device

    def free_memory(self) -> int | None:
        """The bytes that are free where the model is, as far as that is known."""
        if self.device.type != "cuda":
            return available_bytes() if self.device.type == "cpu" else None
        unused = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return int(torch.cuda.mem_get_info(self.device)[0]) + unused

    def sampler(self, sites: Sites, noise: Noise) -> Sampler:
        """The sampler of an object, on the model's device."""
        from starcert.sampling.sampler import sampler  # noqa: PLC0415  (voting has it loaded already)

        return sampler(sites, noise, str(self.device))

    def classify(self, graphs: Copies) -> npt.ArrayLike:
        """One class for each copy, or for each target."""
        return self._answers(self._portions(graphs))

    def scored(self, graphs: Copies) -> Scores:
        """One class for each copy, or for each target, and the logits."""
        return self._scores(self._portions(graphs))

    def _scores(self, found: torch.Tensor) -> Scores:
        precision = torch.finfo(found.dtype).eps if found.is_floating_point() else 0.0
        numbers = self._brought(columns_of_classes(found, self.outputs).double())
        assumed = self.outputs is None and found.shape[-1] == 1
        return Scores(self._answers(found), numbers, max(1e-3, 8 * precision), assumed)

    def _answers(self, found: torch.Tensor) -> npt.NDArray[np.signedinteger]:
        logits = columns_of_classes(found, self.outputs)
        if logits.device.type == "cpu":
            answers = _largest_here(logits)
        else:
            largest, places = logits.max(dim=-1)  # a NaN counts as the largest
            narrow = torch.int8 if self.n_classes <= torch.iinfo(torch.int8).max else torch.int64
            # One trip from the device for answers and NaN.
            answers = self._brought(places.to(narrow).masked_fill_(largest.isnan(), -1))
        if (answers < 0).any():
            beyond = ", or lie outside [0, 1]" if self.outputs == "probability" else ""
            raise NotANumberError(f"its {'probabilities' if beyond else 'logits'} have a NaN{beyond}")
        return answers

    @staticmethod
    def _brought(tensor: torch.Tensor) -> npt.NDArray[Any]:
        """A tensor, brought here."""
        if tensor.device.type == "cpu":
            return tensor.numpy()
        with stage("transfer", tensor.device):
            return tensor.cpu().numpy()

    def logits(self, graphs: Copies) -> torch.Tensor:
        """What the model gives for each copy, shape (copies, classes), or each target, (copies, targets, classes)."""
        return columns_of_classes(self._portions(graphs), self.outputs)

    def _portions(self, graphs: Copies) -> torch.Tensor:
        """What the model gives for all copies, checked.

        The model is asked in portions where memory is short. On a CPU torch works with one thread where the batch is
        small, and with as many as before afterwards; whoever sets OMP_NUM_THREADS has chosen otherwise.
        """
        if any(part.training for part in self.model.modules()):  # it may have been trained since
            self.model.eval()
        most, forward = min(len(graphs), self._fitting(graphs)), self._ready()
        while True:
            try:
                with torch.inference_mode(), self._threads(graphs.frame, most):
                    parts = [forward(part) for part in graphs.split(most)]
                    return parts[0] if len(parts) == 1 else torch.cat(parts)
            except RuntimeError as error:
                if not is_short_of_memory(error) or most == 1:
                    raise
                most = -(-most // 2)
                self.batch_size = min(self.batch_size, most)  # the next batch need not fail first
                if self.device.type == "cuda":
                    torch.cuda.empty_cache()

    def _ready(self) -> Callable[[Any], torch.Tensor]:
        """What is asked about each portion of a batch; whatever is done once a batch is done here."""
        return self._forward

    def _threads(self, frame: Any, n_copies: int) -> AbstractContextManager[None]:  # noqa: ANN401
        """The threads that torch works with on so many copies: one, if they are few, or as many as it has."""
        small = self.device.type == "cpu" and n_copies * self._numbers(frame) <= SMALL
        return one_torch_thread() if small and not threads_are_chosen() else nullcontext()

    def _fitting(self, graphs: Copies) -> int:
        """So many copies as a model is asked about at once.

        On a CPU, not more than whose features take some hundred megabytes; on a device, as many as half of its free
        memory holds, judged by what a few of them take.
        """
        if self.device.type == "cpu":
            return max(1, PORTION // max(1, self._feature_bytes(graphs.frame)))
        if self.device.type != "cuda" or len(graphs) <= PROBE:
            return len(graphs)
        if 4 * HELD_LAYERS * len(graphs) * self._numbers(graphs.frame) <= ALWAYS_FITS:
            return len(graphs)  # and is asked about in halves, should it not fit
        kept = self._fits
        if kept is None or kept[0] != graphs.frame.key:
            torch.cuda.reset_peak_memory_stats(self.device)
            before = torch.cuda.memory_allocated(self.device)
            with torch.inference_mode():
                self._forward(graphs[:PROBE])
            each = max(1, (torch.cuda.max_memory_allocated(self.device) - before) // PROBE)
            free = torch.cuda.mem_get_info(self.device)[0] + torch.cuda.memory_reserved(self.device) - before
            kept = self._fits = (graphs.frame.key, max(PROBE, free // 2 // each))
        return kept[1]

    @abstractmethod
    def _content(self) -> tuple[object, ...]:
        """All that decides its answers, for a digest."""

    @abstractmethod
    def _feature_bytes(self, frame: Any) -> int:  # noqa: ANN401  (whatever the object has)
        """What the features of one copy take, where that can be told without asking for them."""

    @abstractmethod
    def _numbers(self, frame: Any) -> int:  # noqa: ANN401
        """About how many numbers a layer of the model holds for one copy."""

    @abstractmethod
    def _forward(self, graphs: Copies) -> torch.Tensor:
        """What the model gives for a batch that fits, checked: a column for each class, or one for both."""

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float32 if self._parameter is None else self._parameter.dtype

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_fits": None}


def _largest_here(logits: torch.Tensor) -> npt.NDArray[np.signedinteger]:
    """The place of the largest number in each row, -1 where one is a NaN.

    By numpy: torch begins threads for it, however few rows there are, and waits for ever where a process that had some
    was forked.
    """
    numbers = (logits.float() if logits.dtype == torch.bfloat16 else logits).numpy()
    answers: npt.NDArray[np.int64] = numbers.argmax(axis=-1)
    if numbers.dtype.kind == "f":
        answers[np.isnan(numbers).any(axis=-1)] = -1
    return answers


def is_short_of_memory(error: Exception) -> bool:
    """Whether it is torch that found no room, on a device or here."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or "not enough memory" in str(error)
