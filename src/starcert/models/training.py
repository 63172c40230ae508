"""Training with the noise that the classifier will be smoothed with: every epoch sees fresh noisy copies.

The paper's settings: AdamW with learning rate and weight decay 1e-3, the rate halved every 50 epochs, at most 500
epochs, the model with the best validation result kept (a copy of it, not a reference that goes on changing).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import InvalidParameterError
from starcert.system.output import progress_bar

if TYPE_CHECKING:
    from starcert.objects import Graph, Sites
    from starcert.objects.noise import Noise

__all__ = ["Training", "accuracy", "train"]


class Smoothing(Protocol):
    """What training needs to know of a `SmoothedClassifier`."""

    noise: Noise

    def sites(self, graph: Graph) -> Sites:
        """The sites of a graph."""


COPIES = 64
"""Noisy copies of a graph that are drawn together, for as many epochs."""


@dataclass(frozen=True)
class Training:
    """How a training went.

    Attributes:
        best_epoch: the epoch whose model was kept.
        validation_accuracy: its accuracy on the validation graphs (noisy ones, if there was noise).
        history: for each epoch, training loss, validation loss and validation accuracy.
    """

    best_epoch: int
    validation_accuracy: float
    history: list[tuple[float, float, float]] = field(repr=False)


class _Copies:
    """Graphs as tensors, each epoch with its own noisy edges."""

    def __init__(
        self,
        graphs: Sequence[Graph],
        labels: npt.ArrayLike,
        features: str,
        drawn: tuple[Noise, Callable[[Graph], Sites]] | None,
        seed: int,
        device: torch.device,
    ) -> None:
        self.labels = torch.as_tensor(np.array(labels, dtype=np.int64), device=device)
        if len(graphs) == 0 or len(self.labels) != len(graphs):
            raise InvalidParameterError("labels", f"have one class for each of {len(graphs)} graphs", len(self.labels))
        self._x = [torch.as_tensor(np.array(g.node_data[features]), dtype=torch.float32) for g in graphs]
        self._sizes = np.array([g.n_nodes for g in graphs])
        self._clean = [_both_ways(g.edges) for g in graphs]
        self._samplers = None
        if drawn is not None:
            noise, sites_of = drawn
            self._samplers = [sampler(sites_of(g), noise) for g in graphs]
        self._keys = [g.key for g in graphs]
        self._seed = seed
        self._device = device
        self._drawn: tuple[int, list[list[torch.Tensor]]] = (-1, [])

    def batch(self, indices: npt.NDArray[np.int64], epoch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """x, edge_index and batch of some graphs as they are in an epoch."""
        edges = self._edges(epoch)
        shifts = np.concatenate([[0], np.cumsum(self._sizes[indices])[:-1]])
        index = torch.cat([edges[i] + int(shift) for i, shift in zip(indices, shifts, strict=True)], dim=1)
        owner = torch.from_numpy(np.repeat(np.arange(len(indices)), self._sizes[indices]))
        x = torch.cat([self._x[i] for i in indices])
        return x.to(self._device), index.to(self._device), owner.to(self._device)

    def _edges(self, epoch: int) -> list[torch.Tensor]:
        if self._samplers is None:
            return self._clean
        block, place = divmod(epoch, COPIES)
        if self._drawn[0] != block:
            drawn = [
                _split(each.draw(WordStream.of_chunk(self._seed, key, "training", block), COPIES).edges())
                for each, key in zip(self._samplers, self._keys, strict=True)
            ]
            self._drawn = (block, [list(copies) for copies in zip(*drawn, strict=True)])
        return self._drawn[1][place]


def train(
    model: torch.nn.Module,
    graphs: Sequence[Graph],
    labels: npt.ArrayLike,
    *,
    validation: tuple[Sequence[Graph], npt.ArrayLike],
    smoothed: Smoothing | None = None,
    noise: Noise | None = None,
    features: str = "x",
    epochs: int = 500,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-3,
    halve_every: int = 50,
    batch_size: int = 32,
    seed: int = 0,
    progress: bool | None = None,
) -> Training:
    """Trains a module called as `model(x, edge_index, batch)` in place, and leaves its best version in it.

    Args:
        model: the module, on the device where it shall be trained.
        graphs: training graphs.
        labels: their classes.
        validation: graphs and classes that decide which epoch's model is kept.
        smoothed: the `SmoothedClassifier` that the module will serve: every epoch sees copies with its noise in its
            regions. None: clean graphs.
        noise: another noise for training than that of `smoothed`, in the same regions.
        features: the node data that is x.
        epochs: how many at most.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        halve_every: after so many epochs the rate is halved.
        batch_size: graphs in a step.
        seed: of the order of graphs and of the noise. (The weights a module starts with are its maker's business.)
        progress: whether to draw a progress bar; by default on a terminal only.
    """
    if noise is not None and smoothed is None:
        raise InvalidParameterError("smoothed", "come with noise", None, "It says where the regions of the noise are.")
    device = next(model.parameters()).device
    drawn = None if smoothed is None else (smoothed.noise if noise is None else noise, smoothed.sites)
    taught = _Copies(graphs, labels, features, drawn, seed, device)
    tested = _Copies(*validation, features, drawn, seed + 1, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, halve_every, gamma=0.5)
    order = np.random.default_rng([seed, len(graphs)])
    best: tuple[float, float] = (-1.0, 0.0)
    best_epoch, weights = 0, copy.deepcopy(model.state_dict())
    history: list[tuple[float, float, float]] = []
    with progress_bar("epochs", epochs, shown=progress) as advance:
        for epoch in range(epochs):
            model.train()
            total = 0.0
            for part in np.array_split(order.permutation(len(graphs)), max(1, -(-len(graphs) // batch_size))):
                optimizer.zero_grad()
                loss = functional.cross_entropy(model(*taught.batch(part, epoch)), taught.labels[part])
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += loss.item() * len(part)
            schedule.step()
            share, validation_loss = _evaluate(model, tested)
            history.append((total / len(graphs), validation_loss, share))
            if (share, -validation_loss) > best:
                best, best_epoch, weights = (share, -validation_loss), epoch, copy.deepcopy(model.state_dict())
            advance(1)
    model.load_state_dict(weights)
    model.eval()
    return Training(best_epoch, best[0], history)


def _evaluate(model: torch.nn.Module, tested: _Copies, copies: int = 8) -> tuple[float, float]:
    """Accuracy and loss on the validation graphs: the same few noisy copies of each in every epoch."""
    model.eval()
    indices = np.arange(len(tested.labels))
    right, loss = 0.0, 0.0
    epochs = range(copies) if tested._samplers is not None else range(1)
    with torch.inference_mode():
        for epoch in epochs:
            logits = model(*tested.batch(indices, epoch))
            right += (logits.argmax(dim=1) == tested.labels).double().mean().item()
            loss += functional.cross_entropy(logits, tested.labels).item()
    return right / len(epochs), loss / len(epochs)


def accuracy(model: torch.nn.Module, graphs: Sequence[Graph], labels: npt.ArrayLike, *, features: str = "x") -> float:
    """The share of clean graphs that a trained module answers right."""
    device = next(model.parameters()).device
    return _evaluate(model, _Copies(graphs, labels, features, None, 0, device))[0]


def _both_ways(edges: npt.NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())


def _split(edges: tuple[npt.NDArray[np.int64], ...]) -> list[torch.Tensor]:
    starts, u, v, _ = edges
    pairs = np.stack([u, v], axis=1)
    return [_both_ways(pairs[a:b]) for a, b in pairwise(starts)]
