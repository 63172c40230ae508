"""Training with noise: every epoch sees fresh noisy copies, and the weights of the best epoch are kept.

The classifier that will vote draws and shows the copies itself, whatever the noise touches (edges, their types and
directions, features of nodes), so training shows a module what votes show it. `fit_with_noise` trains on graphs,
`fit_nodes_with_noise` on the nodes of one graph; `train` is the first for a plain module.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from starcert.classifiers.torch import TorchClassifier, from_pyg
from starcert.models.copies import Inputs, TrainingCopies, block_diagonal
from starcert.models.files import TrainingCheckpoint, TrainingPart
from starcert.models.judging import Epoch, judge, loss_of, read_classes, read_nodes, read_numbers, weigh
from starcert.models.weighting import ClassWeights, Weighting
from starcert.objects import Graph, Partition
from starcert.objects.binding import bind_all
from starcert.objects.laws import real_number
from starcert.objects.noise import Noise
from starcert.sampling.batch import NoisyGraphs
from starcert.sampling.views import clean_copy
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


def fit_with_noise(
    smoothed: Any,  # noqa: ANN401  (a `SmoothedClassifier`: it is made in a layer above this one)
    graphs: Sequence[Graph],
    labels: npt.ArrayLike,
    *,
    validation: tuple[Sequence[Graph], npt.ArrayLike],
    epochs: int = 300,
    copies: int = 1,
    worst: float = 0.0,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-3,
    halve_every: int = 50,
    batch_size: int = 32,
    patience: int | None = None,
    class_weights: ClassWeights = "auto",
    keep: Keep = "accuracy",
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> Training:
    """Trains the module behind a smoothed classifier of graphs in place, and leaves its best version in it.

    Args:
        smoothed: a `SmoothedClassifier` whose base is from `from_pyg`: every epoch sees copies with its noise. Or a
            `SmoothedRegressor`: the loss is then the squared error, and the epoch with the least one is kept.
        graphs: training graphs.
        labels: their classes, or numbers.
        validation: graphs and classes that decide which epoch's weights are kept.
        epochs: how many.
        copies: noisy copies of each graph in a step.
        worst: how much the copy of a graph with the largest loss counts beside the mean of all, from 0 to 1.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        halve_every: the learning rate is halved after every `halve_every` epochs.
        batch_size: graphs in a step.
        patience: training ends after this many epochs without a better version; None: never.
        class_weights: how much graphs of each class count, in losses and in the accuracy that decides: "balanced",
            "none", a number for each class, or "auto": balanced if a class has under 10% of them. See `Weighting`.
        keep: which epoch is kept: by "accuracy" on validation graphs, and of equals by their loss; or by "loss" first.
        seed: of the order of graphs, of the noise and of dropout. The module's first weights come with the module.
        progress: whether to draw a progress bar; by default on a terminal only.
        checkpoint: where the state is kept every few seconds; training continues from one of the same training.
    """
    base = _trainable(smoothed, "graph")
    _check_copies(copies, worst)
    taught = TrainingCopies(base, smoothed.problem(graphs), seed)
    tested = TrainingCopies(base, smoothed.problem(validation[0]), seed + 1, VALIDATION_COPIES)
    read = read_numbers if base.values else read_classes
    classes = read(labels, len(taught), "labels", base.device)
    right = read(validation[1], len(tested), "validation", base.device)
    weighting, weights = weigh(base, class_weights, classes)
    optimizer = torch.optim.AdamW(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, halve_every, gamma=0.5)
    rng, drawn = np.random.default_rng([seed, len(taught)]), 0

    unseen = block_diagonal([tested.copy(i, number) for number in range(VALIDATION_COPIES) for i in range(len(tested))])

    def outputs(inputs: Inputs, n_copies: int, n_graphs: int) -> Tensor:
        """Those for copies of some graphs, shape (copies, graphs, outputs)."""
        return base.logits_from(inputs, n_copies * n_graphs, 0).view(n_copies, n_graphs, -1)

    def step(epoch: int) -> float:
        nonlocal drawn
        total = 0.0
        while drawn <= epoch:  # a continued training skips the orders of earlier epochs
            order, drawn = rng.permutation(len(taught)), drawn + 1
        numbers = range(epoch * copies, (epoch + 1) * copies)
        for part in np.array_split(order, max(1, -(-len(taught) // batch_size))):
            inputs = block_diagonal([taught.copy(i, number) for number in numbers for i in part])
            loss = loss_of(outputs(inputs, copies, len(part)), classes[part], weights, worst)
            total += _descend(optimizer, loss) * len(part)
        schedule.step()
        return total / len(taught)

    def evaluate(epoch: int, loss: float) -> Epoch:
        found = outputs(unseen, VALIDATION_COPIES, len(tested))
        return judge(epoch, loss, found, right, weights)

    return _best(
        base, epochs, step, evaluate, {"optimizer": optimizer, "schedule": schedule}, weighting,
        patience=patience, keep=keep, seed=seed, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip


def train(
    model: torch.nn.Module,
    graphs: Sequence[Graph],
    labels: npt.ArrayLike,
    *,
    validation: tuple[Sequence[Graph], npt.ArrayLike],
    smoothed: Any = None,  # noqa: ANN401
    epochs: int = 500,
    **settings: Any,  # noqa: ANN401
) -> Training:
    """`fit_with_noise` for a module on `edge_index`, whichever form of it votes. The defaults are the paper's.

    `model` is on the device where it is to be trained; its best version is left in it. `smoothed` is the
    `SmoothedClassifier` that it will serve, whatever its base: every epoch sees copies with its noise in its regions;
    None: clean graphs. x is the node data "x". All else is as in `fit_with_noise`.
    """
    bind = partial(bind_all, noise=Noise(all=0.0), regions=None) if smoothed is None else smoothed.problem
    on_edges = SimpleNamespace(classifier=_on_edges(model, graphs), problem=bind)
    return fit_with_noise(on_edges, graphs, labels, validation=validation, epochs=epochs, **settings)


def accuracy(model: torch.nn.Module, graphs: Sequence[Graph], labels: npt.ArrayLike) -> float:
    """The share of clean graphs that a trained module on `edge_index` answers right."""
    base = _on_edges(model, graphs)
    answers = [int(np.asarray(base.classify(_unchanged(graph)))[0]) for graph in graphs]
    return float(np.mean(answers == np.asarray(labels)))


def _on_edges(model: torch.nn.Module, graphs: Sequence[Graph]) -> TorchClassifier:
    """A classifier from the module, which is run once to see how many classes it has."""
    if len(graphs) == 0:
        raise InvalidParameterError("graphs", "be one graph or more", "none")
    columns = from_pyg(model, n_classes=2).raw(_unchanged(graphs[0])).shape[-1]
    return from_pyg(model, n_classes=max(2, columns))


def _unchanged(graph: Graph) -> NoisyGraphs:
    copies = clean_copy(Partition.everything("all").sites(graph))
    assert isinstance(copies, NoisyGraphs)
    return copies


def fit_nodes_with_noise(
    smoothed: Any,  # noqa: ANN401  (a `SmoothedClassifier`: it is made in a layer above this one)
    graph: Graph,
    labels: npt.ArrayLike,
    *,
    train: npt.ArrayLike,
    validation: npt.ArrayLike,
    epochs: int = 1000,
    copies: int = 1,
    worst: float = 0.0,
    learning_rate: float = 1e-2,
    weight_decay: float = 5e-4,
    patience: int | None = None,
    class_weights: ClassWeights = "auto",
    keep: Keep = "accuracy",
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: TrainingCheckpoint | None = None,
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
        copies: noisy copies of the graph in a step.
        worst: how much the copy in which a node has its largest loss counts beside the mean of all, from 0 to 1.
        learning_rate: of Adam.
        weight_decay: of Adam.
        patience: training ends after this many epochs without a better version; None: never.
        class_weights: how much nodes of each class count, as in `fit_with_noise`.
        keep: which epoch is kept: by "accuracy" on validation nodes, and of equals by their loss; or by "loss" first,
            which is steadier where they are few.
        seed: of the noise and of dropout. The module's first weights come with the module.
        progress: whether to draw a progress bar; by default on a terminal only.
        checkpoint: where the state is kept every few seconds; training continues from one of the same training.
    """
    base = _trainable(smoothed, "nodes")
    _check_copies(copies, worst)
    problem = smoothed.problem([graph])
    taught = TrainingCopies(base, problem, seed, copies * max(1, NODE_COPIES // copies))
    tested = TrainingCopies(base, problem, seed + 1, VALIDATION_COPIES)
    classes = (read_numbers if base.values else read_classes)(labels, graph.n_nodes, "labels", base.device)
    learned = read_nodes(train, graph.n_nodes, "train", base.device)
    deciding = read_nodes(validation, graph.n_nodes, "validation", base.device)
    weighting, weights = weigh(base, class_weights, classes[learned])
    optimizer = torch.optim.Adam(base.model.parameters(), lr=learning_rate, weight_decay=weight_decay)

    def outputs(drawn: TrainingCopies, number: int, count: int, nodes: Tensor) -> Tensor:
        """Those for some nodes of copies, shape (copies, nodes, outputs)."""
        block, place = drawn.block(0, number)
        return base.logits_from(base.inputs(block[place : place + count]), count, graph.n_nodes)[:, nodes]

    def step(epoch: int) -> float:
        found = outputs(taught, copies * epoch, copies, learned)
        return _descend(optimizer, loss_of(found, classes[learned], weights, worst))

    def evaluate(epoch: int, loss: float) -> Epoch:
        found = torch.cat([outputs(tested, number, 1, deciding) for number in range(VALIDATION_COPIES)])
        return judge(epoch, loss, found, classes[deciding], weights)

    return _best(
        base, epochs, step, evaluate, {"optimizer": optimizer}, weighting, every=NODES_EVERY,
        patience=patience, keep=keep, seed=seed, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip


def _check_copies(copies: int, worst: float) -> None:
    whole_number("copies", copies, 1)
    if not 0 <= real_number(worst) <= 1:
        raise InvalidParameterError("worst", "be a number from 0 to 1", worst)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


def _best(
    base: TorchClassifier,
    epochs: int,
    step: Callable[[int], float],
    evaluate: Callable[[int, float], Epoch],
    parts: dict[str, TrainingPart],
    weighting: Weighting | None,
    *,
    every: int = 1,
    patience: int | None = None,
    keep: Keep,
    seed: int,
    progress: bool | None,
    checkpoint: TrainingCheckpoint | None,
) -> Training:
    """Trains, epoch after epoch, and leaves the weights of the best one in the model."""
    whole_number("epochs", epochs, 1)
    if patience is not None:
        whole_number("patience", patience, 1)
    if keep not in get_args(Keep):
        raise InvalidParameterError("keep", f"be one of {', '.join(get_args(Keep))}", keep)
    parts = {"model": base.model, **parts}
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
                loss = step(epoch)
                advance(1)
                if (epoch + 1) % every == 0 or epoch + 1 == epochs:
                    base.model.eval()
                    with torch.no_grad():
                        now = evaluate(epoch, loss)
                    history.append(now)
                    figures = now.score, -now.validation_loss
                    found = figures if keep == "accuracy" else figures[::-1]
                    if found > best:
                        best, best_epoch = found, epoch
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
