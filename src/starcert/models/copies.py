"""Noisy copies for training, as the classifier that will vote is shown them.

Copies of a graph are numbered. Those that follow on each other are drawn, and made ready, together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import torch

from starcert.sampling.streams import WordStream

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.binding import Problem
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import NoisyGraphs
    from starcert.sampling.sampler import Sampler

__all__ = ["DrawnCopies", "Inputs", "ShownCopies", "Trainable", "joined"]

Inputs = dict[str, torch.Tensor | None]
"""What a module is given, by name."""

TOGETHER = 64
"""Noisy copies of a small graph that are drawn together."""


@runtime_checkable
class Trainable(Protocol):
    """What training needs to know of a classifier; those of `from_pyg` are such."""

    model: torch.nn.Module
    dense: bool
    targets: str

    @property
    def device(self) -> torch.device:
        """Where the model is."""

    def sampler(self, sites: Sites, noise: Noise) -> Sampler:
        """Draws noisy copies of a graph."""

    def inputs(self, graphs: NoisyGraphs) -> Inputs:
        """What the model is given of noisy copies, by name."""

    def logits_from(self, inputs: Mapping[str, torch.Tensor | None], n_copies: int, n_nodes: int) -> torch.Tensor:
        """The logits of copies, shape (copies, classes), or of their nodes, shape (copies, nodes, classes)."""


class DrawnCopies:
    """Numbered noisy copies of graphs; those of one graph that follow on each other are drawn together."""

    def __init__(self, samplers: Sequence[Sampler], keys: Sequence[str], seed: int, together: int) -> None:
        self._samplers, self._keys = samplers, keys
        self._seed, self.together = seed, together
        self._kept: dict[int, tuple[int, NoisyGraphs]] = {}

    @classmethod
    def of(
        cls, base: Trainable, problem: Problem, noise: Noise | None, seed: int, together: int = TOGETHER
    ) -> DrawnCopies:
        """The copies of the graphs of a problem, drawn where the model is."""
        bound = problem if noise is None else problem.under(noise)
        samplers = [base.sampler(each, bound.noise) for each in bound.sites]
        return cls(samplers, [each.clean.key for each in bound.sites], seed, together)

    def __len__(self) -> int:
        return len(self._keys)

    def block(self, graph: int, number: int) -> tuple[NoisyGraphs, int]:
        """The copies of a graph that are drawn together with that of a number, and its place among them."""
        block, place = divmod(number, self.together)
        if graph not in self._kept or self._kept[graph][0] != block:
            stream = WordStream.of_chunk(self._seed, self._keys[graph], "training", block)
            self._kept[graph] = block, self._samplers[graph].draw(stream, self.together)
        return self._kept[graph][1], place


class ShownCopies:
    """What a module is given of each numbered copy: made ready for all copies that are drawn together."""

    def __init__(self, base: Trainable, drawn: DrawnCopies) -> None:
        self._base, self._drawn = base, drawn
        self._kept: dict[int, tuple[NoisyGraphs, list[Inputs]]] = {}

    def __len__(self) -> int:
        return len(self._drawn)

    def copy(self, graph: int, number: int) -> Inputs:
        """What is given of one copy of a graph."""
        copies, place = self._drawn.block(graph, number)
        if graph not in self._kept or self._kept[graph][0] is not copies:
            self._kept[graph] = copies, _apart(self._base.inputs(copies), len(copies), copies.frame.n_nodes)
        return self._kept[graph][1][place]


def _apart(given: Inputs, n_copies: int, n_nodes: int) -> list[Inputs]:
    """What is given of copies of one graph, copy by copy."""
    edge_index = given["edge_index"]
    assert edge_index is not None
    owner = edge_index[0] // max(1, n_nodes)
    order = owner.argsort(stable=True)  # the edges of a copy, in their order
    sizes = torch.bincount(owner, minlength=n_copies).tolist()
    parts: list[Inputs] = [{"batch": torch.zeros(n_nodes, dtype=owner.dtype, device=owner.device)} for _ in sizes]
    for name, value in given.items():
        if value is None or name == "batch":
            continue
        if name == "edge_index":
            split = torch.split((value - owner * n_nodes)[:, order], sizes, dim=1)
        else:
            split = torch.split(*((value[order], sizes) if name.startswith("edge_") else (value, n_nodes)))
        for part, one in zip(parts, split, strict=True):
            part[name] = one
    return parts


def joined(given: Sequence[Inputs]) -> Inputs:
    """What is given of single copies of several graphs, put together as one block-diagonal graph."""
    columns = {name: [part for each in given if (part := each.get(name)) is not None] for name in given[0]}
    shifts = np.cumsum([0, *(len(part) for part in columns["batch"][:-1])]).tolist()
    columns["edge_index"] = [part + shift for part, shift in zip(columns["edge_index"], shifts, strict=True)]
    columns["batch"] = [part + number for number, part in enumerate(columns["batch"])]
    return {
        name: torch.cat(parts, dim=1 if name == "edge_index" else 0) if len(parts) == len(given) else None
        for name, parts in columns.items()
    }
