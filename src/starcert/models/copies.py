"""The training data: noisy copies as the classifier that will vote sees them, drawn in blocks, and checked labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from starcert.classifiers.torch.inputs import join_inputs
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import clean_copy
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.classifiers.torch import TorchClassifier
    from starcert.objects.binding import Problem
    from starcert.sampling.batch import NoisyGraphs
    from starcert.sampling.sampler import Sampler

Inputs = dict[str, torch.Tensor | None]
"""The arguments of a module by name."""

BLOCK = 64  # copies of a small graph that are drawn at once


class TrainingCopies:
    """Numbered noisy copies of the graphs of a problem, drawn where the model is."""

    def __init__(self, base: TorchClassifier, problem: Problem, seed: int, block: int = BLOCK) -> None:
        self.problem, self._base, self._seed, self._block = problem, base, seed, block
        laws = [self.problem.noise[region] for region in self.problem.noise]
        self._unchanged = not any(law.change(value) for law in laws for value in range(law.alphabet))
        self._clean: dict[int, Inputs] = {}
        self._samplers: dict[int, Sampler] = {}
        self._drawn: dict[int, tuple[int, NoisyGraphs]] = {}
        self._ready: dict[int, tuple[NoisyGraphs, list[Inputs]]] = {}

    def __len__(self) -> int:
        return len(self.problem)

    def block(self, graph: int, number: int) -> tuple[NoisyGraphs, int]:
        """The block that holds the copy of this number, and the place of the copy in it."""
        block, place = divmod(number, self._block)
        if graph not in self._drawn or self._drawn[graph][0] != block:
            sites = self.problem.sites[graph]
            if graph not in self._samplers:
                self._samplers[graph] = sampler(sites, self.problem.noise, str(self._base.device))
            stream = WordStream.of_chunk(self._seed, sites.clean.key, "training", block)
            self._drawn[graph] = block, self._samplers[graph].draw(stream, self._block)
        return self._drawn[graph][1], place

    def copy(self, graph: int, number: int) -> Inputs:
        """The inputs of the module for one copy; made ready for its whole block at once, and without noise for all."""
        if self._unchanged:
            if graph not in self._clean:
                alone: Any = clean_copy(self.problem.sites[graph])
                self._clean[graph] = self._base.inputs(alone)
            return self._clean[graph]
        copies, place = self.block(graph, number)
        if graph not in self._ready or self._ready[graph][0] is not copies:
            self._ready[graph] = copies, _split(self._base.inputs(copies), len(copies), copies.frame.n_nodes)
        return self._ready[graph][1][place]


def _split(inputs: Inputs, n_copies: int, n_nodes: int) -> list[Inputs]:
    """The inputs of each copy of one graph, from those of all copies."""
    edge_index = inputs["edge_index"]
    assert edge_index is not None
    owner = edge_index[0] // max(1, n_nodes)
    order = owner.argsort(stable=True)  # the edges of each copy, in their order
    sizes = torch.bincount(owner, minlength=n_copies).tolist()
    parts: list[Inputs] = [{"batch": torch.zeros(n_nodes, dtype=owner.dtype, device=owner.device)} for _ in sizes]
    for name, value in inputs.items():
        split: Sequence[torch.Tensor | None] = [None] * n_copies
        if name == "batch":
            continue
        if name == "edge_index":
            split = torch.split((edge_index - owner * n_nodes)[:, order], sizes, dim=1)
        elif value is not None:
            split = torch.split(*((value[order], sizes) if name.startswith("edge_") else (value, n_nodes)))
        for part, one in zip(parts, split, strict=True):
            part[name] = one
    return parts


def block_diagonal(inputs: Sequence[Inputs]) -> Inputs:
    """The inputs of single copies of several graphs, joined to one block-diagonal graph."""
    return join_inputs(inputs, [(1, len(nodes)) for each in inputs if (nodes := each["batch"]) is not None])


def read_labels(base: TorchClassifier, labels: npt.ArrayLike, count: int, parameter: str) -> torch.Tensor:
    """The class of each object, or its number where outputs are numbers, on the device of the model."""
    given = np.asarray(labels)
    if base.values:
        if given.shape != (count,) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise InvalidParameterError(parameter, f"be {count} numbers, as the outputs are", labels)
        return torch.as_tensor(given, dtype=torch.get_default_dtype(), device=base.device)
    if given.shape != (count,):
        raise InvalidParameterError(parameter, f"have one class for each of {count}, a whole number", given.shape)
    if given.dtype.kind not in "iu":
        hint = "Number names first: class_names, labels = np.unique(names, return_inverse=True)."
        raise InvalidParameterError(parameter, "be classes, whole numbers from 0", given[:5].tolist(), hint)
    return torch.as_tensor(given.astype(np.int64), device=base.device)


def read_nodes(nodes: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> torch.Tensor:
    """The indices of nodes, from these or from a truth value for each node, on a device."""
    given = np.asarray(nodes)
    if given.dtype.kind == "b" and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= count:
        raise InvalidParameterError(parameter, f"be indices of nodes, from 0 to {count - 1}", nodes)
    return torch.as_tensor(given.astype(np.int64), device=device)
