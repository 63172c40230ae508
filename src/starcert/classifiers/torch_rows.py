"""PyTorch modules on rows of bits or of categories as base classifiers, on any device."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from starcert.classifiers.base import CHUNK_SIZE, checked_names
from starcert.classifiers.modules import ModuleClassifier
from starcert.classifiers.outputs import Outputs, logits_of
from starcert.objects.vectors import VectorFrame
from starcert.sampling.batch import NoisyCopies, NoisyVectors
from starcert.system.errors import InvalidParameterError

__all__ = ["TorchRowClassifier", "from_torch"]


class TorchRowClassifier(ModuleClassifier):
    """A module on rows. See `from_torch`."""

    def __init__(
        self,
        model: torch.nn.Module,
        n_classes: int,
        *,
        one_hot: bool,
        description: str | None,
        class_names: Sequence[str] | None = None,
        outputs: Outputs = None,
    ) -> None:
        if not isinstance(one_hot, bool):
            raise InvalidParameterError("one_hot", "be True or False", one_hot)
        super().__init__(model, n_classes, batch_size=CHUNK_SIZE, description=description, outputs=outputs)
        self.one_hot = one_hot
        self.class_names, _ = checked_names(class_names, n_classes)

    def _content(self) -> tuple[object, ...]:
        return (self.model, "rows", self.one_hot, *((self.outputs,) if self.outputs else ()))

    def _feature_bytes(self, frame: VectorFrame) -> int:
        return 8 * frame.n_columns * (frame.alphabet if self.one_hot else 1)

    def _numbers(self, frame: VectorFrame) -> int:
        return frame.n_columns * (frame.alphabet if self.one_hot else 1)

    def _forward(self, graphs: NoisyVectors) -> torch.Tensor:
        rows = graphs.vectors_on(self.device)
        if self.one_hot:
            rows = torch.nn.functional.one_hot(rows.long(), graphs.frame.alphabet)
        return logits_of(self.model(rows.to(self._dtype)), len(graphs), self.n_classes, n_nodes=1, of_nodes=False)

    def _portions(self, graphs: NoisyCopies) -> torch.Tensor:
        """What the model gives for each row, shape (rows, classes)."""
        if not isinstance(graphs, NoisyVectors):
            raise ValueError("it classifies rows, and these are graphs: certify Bits or Categories")
        return super()._portions(graphs)


def from_torch(
    model: torch.nn.Module,
    *,
    n_classes: int,
    one_hot: bool = False,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
    outputs: Outputs = None,
) -> TorchRowClassifier:
    """A base classifier from any module that takes rows of `Bits` or `Categories` and returns one row of logits each.

    On another device than the CPU, rows are drawn there.

    Args:
        model: the module, on the device where it shall run. It is put into evaluation mode. It is called with floats of
            the shape (copies, columns).
        n_classes: how many columns its logits have. One column tells two classes apart, see `outputs`.
        one_hot: whether each value is shown as a row of zeros and a one: floats of the shape (copies, columns, values).
        description: says which classifier it is, for the record; by default its class and a digest of its weights and
            its code.
        class_names: what the columns of its logits are called, in their order.
        outputs: what a single output is: a "logit" (class 1 where it is above 0), or a "probability" (above 1/2). By
            default a logit, unless all outputs of the first noisy copies lie in [0, 1]: such a module is refused.

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
