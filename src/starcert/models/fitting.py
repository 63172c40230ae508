"""Training of the very classifier that will vote: it is shown noisy copies as votes show them.

Whatever the noise touches (edges, their types and directions, features of nodes), and whatever the module asks for by
name, the copies are drawn and shown by the classifier's own code. Nothing that a vote sees differs from training.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from starcert.models.checkpoint import Stateful, TrainingCheckpoint
from starcert.models.copies import DrawnCopies, ShownCopies, Trainable, joined
from starcert.models.training import Training
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starcert.objects import Graph
    from starcert.objects.binding import Problem
    from starcert.objects.noise import Noise

__all__ = ["fit_nodes_with_noise", "fit_with_noise", "own_generator"]

TOGETHER_LARGE = 8
"""Noisy copies of a graph whose nodes are classified that are drawn together."""

TESTED = 8
"""Noisy copies of each validation graph: the same ones in every epoch."""


class Smoothed(Protocol):
    """What training needs to know of a `SmoothedClassifier`."""

    @property
    def classifier(self) -> object:
        """The base classifier."""

    def problem(self, graphs: Sequence[Graph]) -> Problem:
        """The graphs, their noise and their regions, bound."""


def fit_with_noise(
    smoothed: Smoothed,
    graphs: Sequence[Graph],
    labels: npt.ArrayLike,
    *,
    validation: tuple[Sequence[Graph], npt.ArrayLike],
    noise: Noise | None = None,
    epochs: int = 300,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-3,
    halve_every: int = 50,
    batch_size: int = 32,
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> Training:
    """Trains the module behind a smoothed classifier of graphs in place, and leaves its best version in it.

    Args:
        smoothed: a `SmoothedClassifier` whose base is from `from_pyg`: every epoch sees copies with its noise.
        graphs: training graphs.
        labels: their classes.
        validation: graphs and classes that decide which epoch's weights are kept.
        noise: another noise for training than that of `smoothed`, in the same regions.
        epochs: how many.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        halve_every: after so many epochs the rate is halved.
        batch_size: graphs in a step.
        seed: of the order of graphs, of the noise and of dropout. (The weights a module starts with are its maker's
            business.)
        progress: whether to draw a progress bar; by default on a terminal only.
        checkpoint: where the state is kept every so often; one of the same training goes on from there.
    """
    base = _trainable(smoothed, "graph")
    shown = ShownCopies(base, DrawnCopies.of(base, smoothed.problem(graphs), noise, seed))
    tests = ShownCopies(base, DrawnCopies.of(base, smoothed.problem(validation[0]), noise, seed + 1, together=TESTED))
    classes = _classes(labels, len(shown), "labels", base.device)
    right = _classes(validation[1], len(tests), "validation", base.device)
    optimizer = torch.optim.AdamW(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, halve_every, gamma=0.5)
    orders = enumerate(_orders(seed, len(graphs)))

    def step(epoch: int) -> float:
        total = 0.0
        order = next(each for number, each in orders if number == epoch)  # those of epochs before are passed over
        for part in np.array_split(order, max(1, -(-len(graphs) // batch_size))):
            whole = joined([shown.copy(i, epoch) for i in part])
            loss = functional.cross_entropy(base.logits_from(whole, len(part), 0), classes[part])
            total += _descend(optimizer, loss) * len(part)
        schedule.step()
        return total / len(graphs)

    asked = joined([tests.copy(i, k) for k in range(TESTED) for i in range(len(tests))])

    def evaluate() -> tuple[float, float]:
        return _quality(base.logits_from(asked, TESTED * len(tests), 0), right.repeat(TESTED))

    parts: dict[str, Stateful] = {"optimizer": optimizer, "schedule": schedule}
    return _best(base, epochs, step, evaluate, parts, seed=seed, progress=progress, checkpoint=checkpoint)


def fit_nodes_with_noise(
    smoothed: Smoothed,
    graph: Graph,
    labels: npt.ArrayLike,
    *,
    train: npt.ArrayLike,
    validation: npt.ArrayLike,
    noise: Noise | None = None,
    epochs: int = 1000,
    copies: int = 1,
    learning_rate: float = 1e-2,
    weight_decay: float = 5e-4,
    validate_every: int = 10,
    patience: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> Training:
    """Trains the module behind a smoothed classifier of nodes in place, and leaves its best version in it.

    Args:
        smoothed: a `SmoothedClassifier` whose base is from `from_pyg` with `targets="nodes"`: every epoch sees copies
            with its noise. Which of the nodes are targets of votes plays no part.
        graph: the graph.
        labels: the classes of all its nodes; those of nodes in neither set are not looked at.
        train: the nodes that are learned from: their indices, or a truth value for each node.
        validation: the nodes that decide which epoch's weights are kept, likewise.
        noise: another noise for training than that of `smoothed`, in the same regions.
        epochs: how many at most, one step each.
        copies: noisy copies in a step.
        learning_rate: of Adam.
        weight_decay: of Adam.
        validate_every: after so many epochs the validation nodes are asked.
        patience: after so many epochs without a better version training ends; None: never.
        seed: of the noise and of dropout. (The weights a module starts with are its maker's business.)
        progress: whether to draw a progress bar; by default on a terminal only.
        checkpoint: where the state is kept every so often; one of the same training goes on from there.
    """
    base = _trainable(smoothed, "nodes")
    whole_number("copies", copies, 1, TOGETHER_LARGE)
    problem = smoothed.problem([graph])
    taught = DrawnCopies.of(base, problem, noise, seed, together=copies * (TOGETHER_LARGE // copies))
    tested = DrawnCopies.of(base, problem, noise, seed + 1, together=TESTED)
    classes = _classes(labels, graph.n_nodes, "labels", base.device)
    learned = _nodes(train, graph.n_nodes, "train", base.device)
    deciding = _nodes(validation, graph.n_nodes, "validation", base.device)
    optimizer = torch.optim.Adam(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)

    def logits(drawn: DrawnCopies, number: int, count: int, nodes: torch.Tensor) -> torch.Tensor:
        together, place = drawn.block(0, number)
        given = base.inputs(together[place : place + count])
        return base.logits_from(given, count, graph.n_nodes)[:, nodes].flatten(0, 1)

    def step(epoch: int) -> float:
        found = logits(taught, copies * epoch, copies, learned)
        return _descend(optimizer, functional.cross_entropy(found, classes[learned].repeat(copies)))

    def evaluate() -> tuple[float, float]:
        found = torch.cat([logits(tested, number, 1, deciding) for number in range(TESTED)])
        return _quality(found, classes[deciding].repeat(TESTED))

    return _best(
        base,
        epochs,
        step,
        evaluate,
        {"optimizer": optimizer},
        every=whole_number("validate_every", validate_every, 1),
        patience=patience,
        seed=seed,
        progress=progress,
        checkpoint=checkpoint,
    )


def _orders(seed: int, n_graphs: int) -> Iterator[npt.NDArray[np.int64]]:
    """The order of the graphs in each epoch."""
    rng = np.random.default_rng([seed, n_graphs])
    while True:
        yield rng.permutation(n_graphs)


def _descend(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


def _quality(logits: torch.Tensor, classes: torch.Tensor) -> tuple[float, float]:
    """Accuracy and loss."""
    right = (logits.argmax(dim=1) == classes).double().mean().item()
    return right, functional.cross_entropy(logits, classes).item()


def _best(
    base: Trainable,
    epochs: int,
    step: Callable[[int], float],
    evaluate: Callable[[], tuple[float, float]],
    parts: dict[str, Stateful],
    *,
    every: int = 1,
    patience: int | None = None,
    seed: int,
    progress: bool | None,
    checkpoint: TrainingCheckpoint | None,
) -> Training:
    """Trains, epoch after epoch, and leaves the weights of the best one in the model."""
    whole_number("epochs", epochs, 1)
    parts = {"model": base.model, **parts}
    best, best_epoch, first = (-1.0, 0.0), 0, 0
    history: list[tuple[float, float, float]] = []
    weights = copy.deepcopy(base.model.state_dict())
    with own_generator(seed, base.device), _kept_when_interrupted(checkpoint):
        kept = None if checkpoint is None else checkpoint.restore(parts, base.device)
        if kept is not None:
            first, best, best_epoch = kept["first"], kept["best"], kept["best_epoch"]
            history, weights = [*kept["history"]], kept["weights"]
        with progress_bar("epochs", epochs, first, shown=progress) as advance:
            for epoch in range(first, epochs):
                base.model.train()
                loss = step(epoch)
                advance(1)
                if (epoch + 1) % every == 0 or epoch + 1 == epochs:
                    base.model.eval()
                    with torch.no_grad():
                        share, validation_loss = evaluate()
                    history.append((loss, validation_loss, share))
                    if (share, -validation_loss) > best:
                        best, best_epoch = (share, -validation_loss), epoch
                        weights = copy.deepcopy(base.model.state_dict())
                    elif patience is not None and epoch - best_epoch >= patience:
                        break
                if checkpoint is not None:
                    more = {"best": best, "best_epoch": best_epoch, "history": history, "weights": weights}
                    checkpoint.keep(parts, base.device, first=epoch + 1, **more)
    base.model.load_state_dict(weights)
    base.model.eval()
    return Training(best_epoch, best[0], history)


@contextmanager
def _kept_when_interrupted(checkpoint: TrainingCheckpoint | None) -> Iterator[None]:
    """Saves what was learned when the training is interrupted, and adds a note that says so."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        if checkpoint is not None and checkpoint.save():
            interruption.add_note("What was learned is kept: the same command goes on.")
        raise


@contextmanager
def own_generator(seed: int, device: torch.device | str) -> Iterator[None]:
    """First weights and dropout come from torch's global generator: it is seeded here, and left as it was found."""
    place = torch.device(device)
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _trainable(smoothed: Smoothed, targets: str) -> Trainable:
    base = smoothed.classifier
    if not isinstance(base, Trainable) or base.dense or base.targets != targets:
        said = "targets='nodes'" if targets == "nodes" else "targets='graph'"
        requirement = f"smooth a classifier of starcert.classifiers.from_pyg with {said}"
        hint = "A module on dense adjacency is trained in its form on edges: the weights are the same."
        raise InvalidParameterError("smoothed", requirement, type(base).__name__, hint)
    return base


def _classes(labels: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> torch.Tensor:
    given = np.asarray(labels)
    if given.shape != (count,):
        raise InvalidParameterError(parameter, f"have one class for each of {count}, a whole number", given.shape)
    if given.dtype.kind not in "iu":
        hint = "Number names first: class_names, labels = np.unique(names, return_inverse=True)."
        raise InvalidParameterError(parameter, "be classes, whole numbers from 0", given[:5].tolist(), hint)
    return torch.as_tensor(given.astype(np.int64), device=device)


def _nodes(nodes: npt.ArrayLike, count: int, parameter: str, device: torch.device) -> torch.Tensor:
    given = np.asarray(nodes)
    if given.dtype.kind == "b" and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= count:
        raise InvalidParameterError(parameter, f"be indices of nodes, from 0 to {count - 1}", nodes)
    return torch.as_tensor(given.astype(np.int64), device=device)
