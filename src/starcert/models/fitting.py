"""Training with noise: every epoch sees fresh noisy copies, and the weights of the best epoch are kept.

The classifier that will vote draws and shows the copies itself, whatever the noise touches (edges, their types and
directions, features of nodes), so training shows a module what votes show it. `fit_with_noise` trains on graphs,
`fit_nodes_with_noise` on the nodes of one graph.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from typing_extensions import Unpack

from starcert.classifiers.torch import TorchClassifier
from starcert.models.copies import TrainingCopies, block_diagonal, read_labels, read_nodes
from starcert.models.files import TrainingCheckpoint, TrainingPart
from starcert.models.judging import ClassWeights, Epoch, Weighting, judge, loss_of, weigh
from starcert.objects import Graph
from starcert.objects.laws import real_number
from starcert.system.errors import InvalidParameterError, StarcertWarning, whole_number
from starcert.system.output import progress_bar

Keep: TypeAlias = Literal["accuracy", "loss"]
"""By what the epoch is chosen whose weights are kept."""

NODE_COPIES = 8  # noisy copies of a graph whose nodes are classified that are drawn at once
NODES_EVERY = 10  # epochs after which validation nodes are evaluated; graphs are after every epoch
VALIDATION_COPIES = 8  # noisy copies of each validation object: the same ones in every epoch


@dataclass(frozen=True)
class Training:
    """The course of a training."""

    best_epoch: int  # the epoch whose weights were kept
    validation_accuracy: float  # their accuracy on noisy validation objects; 0 where outputs are numbers
    history: list[Epoch] = field(repr=False)  # every epoch after which validation objects were evaluated
    weighting: Weighting | None = None  # what each class counts, and why; None: all the same


class FitOptions(TypedDict, total=False):
    """The options of training on graphs and on nodes alike."""

    copies: int  # noisy copies of each graph in a step; 1
    worst: float  # how much an object's copy with the largest loss counts beside the mean of all, from 0 to 1; 0
    patience: int | None  # training ends after this many epochs without a better version; None: never
    class_weights: ClassWeights  # "balanced", "none", a number for each class, or "auto": see `Weighting`
    keep: Keep  # the epoch kept is the best by "accuracy", of equals by loss; or by "loss", steadier if objects are few
    seed: int  # of the order of graphs, of noise and of dropout; a module comes with its first weights; 0
    progress: bool | None  # whether to draw a progress bar; None: on a terminal only
    checkpoint: TrainingCheckpoint | None  # keeps the state every few seconds; the same training continues from it


class _Lesson(NamedTuple):
    """What is learned from, and what decides: graphs, or nodes of one."""

    classes: Tensor  # those of what is learned from, or numbers
    deciding: Tensor  # those of what decides
    steps: Callable[[int], Iterator[tuple[Tensor, Tensor, int]]]
    """Of each step of an epoch: outputs, shape (copies, objects, outputs), true classes, and how much its loss counts.
    """
    unseen: Callable[[], Tensor]  # the outputs for copies of what decides, likewise


def fit_with_noise(
    smoothed: Any,  # noqa: ANN401  (a `SmoothedClassifier`: it is made in a layer above this one)
    graphs: Sequence[Graph],
    labels: npt.ArrayLike,
    *,
    validation: tuple[Sequence[Graph], npt.ArrayLike],
    epochs: int = 300,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-3,
    halve_every: int = 50,
    batch_size: int = 32,
    **how: Unpack[FitOptions],
) -> Training:
    """Trains the module behind a smoothed classifier of graphs in place, and leaves its best version in it.

    Args:
        smoothed: a `SmoothedClassifier` whose base is from `from_pyg`: every epoch sees copies with its noise. Or a
            `SmoothedRegressor`: the loss is then the squared error, and the epoch with the least one is kept.
        graphs: training graphs.
        labels: their classes, or numbers.
        validation: graphs and classes that decide which epoch's weights are kept.
        epochs: how many.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        halve_every: the learning rate is halved after every `halve_every` epochs.
        batch_size: graphs in a step.
        how: see `FitOptions`.
    """
    base = _trainable(smoothed, "graph")

    def lesson(copies: int, seed: int) -> _Lesson:
        taught = TrainingCopies(base, smoothed.problem(graphs), seed)
        tested = TrainingCopies(base, smoothed.problem(validation[0]), seed + 1, VALIDATION_COPIES)
        classes = read_labels(base, labels, len(taught), "labels")
        rng, drawn = np.random.default_rng([seed, len(taught)]), 0
        numbered = range(VALIDATION_COPIES)
        unseen = block_diagonal([tested.copy(i, number) for number in numbered for i in range(len(tested))])

        def steps(epoch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
            nonlocal drawn
            while drawn <= epoch:  # a continued training skips the orders of earlier epochs
                order, drawn = rng.permutation(len(taught)), drawn + 1
            numbers = range(epoch * copies, (epoch + 1) * copies)
            for part in np.array_split(order, max(1, -(-len(taught) // batch_size))):
                inputs = block_diagonal([taught.copy(i, number) for number in numbers for i in part])
                found = base.logits_from(inputs, copies * len(part), 0).view(copies, len(part), -1)
                yield found, classes[part], len(part)

        def outputs() -> Tensor:
            number = VALIDATION_COPIES * len(tested)
            return base.logits_from(unseen, number, 0).view(VALIDATION_COPIES, len(tested), -1)

        return _Lesson(classes, read_labels(base, validation[1], len(tested), "validation"), steps, outputs)

    optimizer = torch.optim.AdamW(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, halve_every, gamma=0.5)
    return _best(base, lesson, optimizer, schedule, epochs, **how)


def fit_nodes_with_noise(
    smoothed: Any,  # noqa: ANN401  (a `SmoothedClassifier`: it is made in a layer above this one)
    graph: Graph,
    labels: npt.ArrayLike,
    *,
    train: npt.ArrayLike,
    validation: npt.ArrayLike,
    epochs: int = 1000,
    learning_rate: float = 1e-2,
    weight_decay: float = 5e-4,
    **how: Unpack[FitOptions],
) -> Training:
    """Trains the module behind a smoothed classifier of nodes in place, and leaves its best version in it.

    Args:
        smoothed: a `SmoothedClassifier` whose base is from `from_pyg` with `targets="nodes"`: every epoch sees copies
            with its noise. Which nodes are targets of votes does not matter.
        graph: the graph.
        labels: the classes of all its nodes; those of nodes in neither set are not used.
        train: the nodes to learn from: their indices, or a truth value for each node.
        validation: the nodes that decide which epoch's weights are kept, likewise.
        epochs: how many at most, one step each.
        learning_rate: of Adam.
        weight_decay: of Adam.
        how: see `FitOptions`.
    """
    base = _trainable(smoothed, "nodes")

    def lesson(copies: int, seed: int) -> _Lesson:
        problem = smoothed.problem([graph])
        taught = TrainingCopies(base, problem, seed, copies * max(1, NODE_COPIES // copies))
        tested = TrainingCopies(base, problem, seed + 1, VALIDATION_COPIES)
        classes = read_labels(base, labels, graph.n_nodes, "labels")
        learned = read_nodes(train, graph.n_nodes, "train", base.device)
        deciding = read_nodes(validation, graph.n_nodes, "validation", base.device)

        def outputs(drawn: TrainingCopies, number: int, count: int, nodes: Tensor) -> Tensor:
            block, place = drawn.block(0, number)
            return base.logits_from(base.inputs(block[place : place + count]), count, graph.n_nodes)[:, nodes]

        def steps(epoch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
            yield outputs(taught, copies * epoch, copies, learned), classes[learned], 1

        def unseen() -> Tensor:
            return torch.cat([outputs(tested, number, 1, deciding) for number in range(VALIDATION_COPIES)])

        return _Lesson(classes[learned], classes[deciding], steps, unseen)

    optimizer = torch.optim.Adam(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    unchanged = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=1.0)
    return _best(base, lesson, optimizer, unchanged, epochs, every=NODES_EVERY, **how)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


def _best(
    base: TorchClassifier,
    make_lesson: Callable[[int, int], _Lesson],
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.StepLR,
    epochs: int,
    *,
    every: int = 1,
    copies: int = 1,
    worst: float = 0.0,
    patience: int | None = None,
    class_weights: ClassWeights = "auto",
    keep: Keep = "accuracy",
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> Training:
    """Trains, epoch after epoch, and leaves the weights of the best one in the model."""
    whole_number("copies", copies, 1)
    if not 0 <= real_number(worst) <= 1:
        raise InvalidParameterError("worst", "be a number from 0 to 1", worst)
    lesson = make_lesson(copies, seed)
    weighting, of_classes = weigh(base, class_weights, lesson.classes)
    whole_number("epochs", epochs, 1)
    if patience is not None:
        whole_number("patience", patience, 1)
    if keep not in get_args(Keep):
        raise InvalidParameterError("keep", f"be one of {', '.join(get_args(Keep))}", keep)
    parts: dict[str, TrainingPart] = {"model": base.model, "optimizer": optimizer, "schedule": schedule}
    best, best_epoch, first = (-inf, -inf), 0, 0
    history: list[Epoch] = []
    weights = copy.deepcopy(base.model.state_dict())
    with own_generator(seed, base.device), _saved_when_interrupted(checkpoint):
        kept = None if checkpoint is None else checkpoint.restore(parts, base.device)
        if kept is not None:
            first, best, best_epoch = kept["first"], kept["best"], kept["best_epoch"]
            history, weights = [Epoch(*each) for each in kept["history"]], kept["weights"]
        with progress_bar("epochs", epochs, first, shown=progress) as advance:
            for epoch in range(first, epochs):
                base.model.train()
                total = counted = 0.0
                for found, wanted, number in lesson.steps(epoch):
                    total += _descend(optimizer, loss_of(found, wanted, of_classes, worst)) * number
                    counted += number
                schedule.step()
                advance(1)
                if (epoch + 1) % every == 0 or epoch + 1 == epochs:
                    base.model.eval()
                    with torch.no_grad():
                        now = judge(epoch, total / counted, lesson.unseen(), lesson.deciding, of_classes)
                    history.append(now)
                    figures = now.score, -now.validation_loss
                    reached = figures if keep == "accuracy" else figures[::-1]
                    if reached > best:
                        best, best_epoch = reached, epoch
                        weights = copy.deepcopy(base.model.state_dict())
                    elif patience is not None and epoch - best_epoch >= patience:
                        break
                if checkpoint is not None:
                    past = [tuple(each) for each in history]  # nothing but plain values is read from a file
                    more = {"best": best, "best_epoch": best_epoch, "history": past, "weights": weights}
                    checkpoint.keep(parts, base.device, first=epoch + 1, **more)
    base.model.load_state_dict(weights)
    base.model.eval()
    chosen = next((each for each in history if each.number == best_epoch), history[0])
    if chosen.only is not None:
        warnings.warn(chosen.one_answer(base.class_names), StarcertWarning, stacklevel=3)
    return Training(best_epoch, chosen.accuracy, history, weighting)


@contextmanager
def _saved_when_interrupted(checkpoint: TrainingCheckpoint | None) -> Iterator[None]:
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


def _trainable(smoothed: Any, targets: str) -> TorchClassifier:  # noqa: ANN401
    base = smoothed.classifier
    if not isinstance(base, TorchClassifier) or base.dense or base.targets != targets:
        requirement = f"smooth a classifier of starcert.classifiers.from_pyg with targets='{targets}'"
        hint = "A module on dense adjacency is trained in its form on edges: the weights are the same."
        raise InvalidParameterError("smoothed", requirement, type(base).__name__, hint)
    return base
