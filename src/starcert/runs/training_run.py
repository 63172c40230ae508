"""`starcert train`: the module of a run, trained with the run's own noise, and its weights in a file.

The module learns from the training part of the data, and the validation part decides which epoch is kept; of a graph
whose nodes are classified, its node data `train_mask` and `val_mask` say which nodes are which.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, Meta, Struct

from starcert import models  # which imports torch only where one of them is used
from starcert.classifiers.functions import nodes_of
from starcert.methods.smoothed import SmoothedClassifier
from starcert.models.judging import Weighting, check_class_weights
from starcert.objects import Graph
from starcert.objects.content import digest
from starcert.report.blocks import Report
from starcert.report.document import write_page
from starcert.report.other_reports import training_report
from starcert.runs.declaration import MissingSettingError, Setting, declared
from starcert.runs.inputs import WHERE_CLASSES_ARE, RunInputs, aligned, describe_rule, read_inputs
from starcert.runs.models import as_classifier, call_model, check_device, torch_module_of
from starcert.runs.settings import RunSettings, run_settings
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import holding_lock
from starcert.system.processes import one_thread

if TYPE_CHECKING:
    from starcert.runs.run_file import RunFile

TRAIN_MASK, VALIDATION_MASK = "train_mask", "val_mask"
"""The node data for the nodes that are learned from, and for those that decide."""

_SINCE_ADDED = {"copies": 1, "worst": 0.0, "patience": None}
"""Defaults of settings that weights record only where they are chosen: older weights have none of them."""


@dataclass(frozen=True, slots=True)
class TrainSetting(Setting):
    """A setting of training, with a default of its own where nodes are classified."""

    main: bool = True
    for_nodes: object = UNSET


class TrainSettings(Struct, frozen=True, kw_only=True):
    """The settings of `starcert train`: its options, and the table [train] of a run file."""

    epochs: Annotated[int, Meta(ge=1, le=10**9), TrainSetting(
        "Passes over the training graphs, each with fresh noise.", for_nodes=1000
    )] = 300  # fmt: skip
    learning_rate: Annotated[float, Meta(ge=0), TrainSetting(
        "The learning rate of AdamW (Adam for nodes); for graphs it is halved every 50 epochs.", for_nodes=0.01,
        must="be a number, 0 or more, such as 0.001",
    )] = 0.001  # fmt: skip
    weight_decay: Annotated[float, Meta(ge=0), TrainSetting(
        "The weight decay of AdamW (Adam for nodes).", for_nodes=0.0005, must="be a number, 0 or more, such as 0.001"
    )] = 0.001  # fmt: skip
    batch_size: Annotated[int | None, Meta(ge=1, le=10**9), TrainSetting("Graphs in a step.", for_nodes=None)] = 32
    copies: Annotated[int, Meta(ge=1, le=10**6), TrainSetting("Noisy copies of each graph in a step.")] = 1
    worst: Annotated[float, Meta(ge=0, le=1), TrainSetting(
        "How much the copy of a graph with the largest loss counts beside the mean of all copies, from 0 to 1."
    )] = 0.0  # fmt: skip
    patience: Annotated[int | None, Meta(ge=1, le=10**9), TrainSetting(
        "Training ends after this many epochs without a better one on the validation part.", shown="all epochs"
    )] = None  # fmt: skip
    class_weights: Annotated[str | tuple[float, ...], TrainSetting(
        "How much each class counts, in losses and in the accuracy that decides which epoch is kept: balanced (all "
        "classes the same), none, numbers in the order of the classes such as 1,5, or auto: balanced where a class has "
        "under 10% of the training part.",
        form=Literal["auto", "balanced", "none"] | list[float], read=lambda value, *_: check_class_weights(value),
        must="be one of auto, balanced, none, or a number for each class",
        parse=lambda text, _option: text.split(",") if text[:1].isdecimal() else text,
        metavar="auto|balanced|none|NUMBER,…",
    )] = "auto"  # fmt: skip
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1), TrainSetting(
        "The seed of training: of the module's first weights, of noise, order and dropout."
    )] = 0  # fmt: skip

    @classmethod
    def of(cls, given: Mapping[str, Any], *, nodes: bool) -> Self:
        """The given settings, and the defaults for graphs or for nodes."""
        if nodes and given.get("batch_size") is not None:
            raise InvalidParameterError("batch_size", "is for graphs: with nodes, a step sees the whole graph.")
        own = {key: each.for_nodes for key, each in TRAIN_SETTINGS.items() if nodes and each.for_nodes is not UNSET}
        return cls(**{**own, **given})


def _for_training(each: TrainSetting) -> TrainSetting:
    for_nodes = f"; {each.for_nodes} for nodes" if each.for_nodes not in (UNSET, None) else ""
    return replace(each, shown=f"{each.shown}{for_nodes}")


TRAIN_SETTINGS = {key: _for_training(each) for key, each in declared(TrainSettings, TrainSetting).items()}
"""The settings of training by their keys."""


@dataclass(frozen=True)
class TrainedRun:
    """The result of a training."""

    weights: Path  # the file of weights
    made: Mapping[str, Any]  # how they were made; see `starcert.models.how_made`
    settings: TrainSettings
    what: str  # what was learned from, in words
    majority: float  # the share of the most frequent class among what decides
    class_names: Sequence[str]
    weighting: Weighting | None  # how much each class counts; None: all the same
    page: Path  # the page that shows how the training went
    seconds: float | None  # how long it took; None if the file was there already

    @property
    def report(self) -> Report:
        """The report on the training."""
        return training_report(
            self.made, f"Training: {self.page.stem}", what=self.what, majority=self.majority, weighting=self.weighting,
            class_names=self.class_names,
        )  # fmt: skip


@dataclass(frozen=True)
class _Lesson:
    """The data a module learns from, and those that decide which epoch is kept."""

    what: str  # what it is, in words
    content: str  # a digest of it
    truth: Sequence[int]  # the classes of what decides
    taught: Sequence[int]  # the classes of what is learned from
    class_names: Sequence[str]
    fit: "Callable[..., models.Training]"  # takes settings by name; trains in place, or goes on from a `checkpoint`


def training_settings(
    file: "RunFile", options: Mapping[str, object], how: Mapping[str, object]
) -> tuple[RunSettings, TrainSettings]:
    """The settings of a run and of its training, from a run file and from options of both, which override it."""
    run = run_settings(file.values, options)
    if run.weights is None:
        hint = 'For example weights = "model.pt" in the run file, which certify then reads, or --weights model.pt.'
        raise MissingSettingError("weights", f"The trained weights go there. {hint}")
    return run, TrainSettings.of({**file.train, **how}, nodes=run.targets == "nodes")


def train_run(run: RunSettings, settings: TrainSettings, *, again: bool = False) -> TrainedRun:
    """Trains the module of a run with its noise in its regions, and writes its weights.

    The file is there whole or not at all, and one that is there stays as it is until training has ended. A file that
    was made with the same settings from the same data is not made again; another one is refused. A training that was
    interrupted goes on where it was: its state is in `model.pt.partial`. Only one training at a time writes a file: it
    holds the lock of `model.pt.lock`. With `again`, weights that are there are replaced.
    """
    weights = run.weights
    assert weights is not None
    if weights.is_dir() or not (weights.parent.is_dir() and os.access(weights.parent, os.W_OK | os.X_OK)):
        hint = "" if weights.parent.is_dir() else f"There is no folder {weights.parent}."
        raise InvalidParameterError("weights", "be a file in a folder that can be written", str(weights), hint)
    with holding_lock(f"{os.path.realpath(weights)}.lock") as free:
        if not free:
            hint = "Wait for it to end or stop it, or give another --weights."
            raise InvalidParameterError("weights", "be a file that no other training is writing", str(weights), hint)
        return _trained(run, weights, settings, again=again)


def _trained(run: RunSettings, weights: Path, settings: TrainSettings, *, again: bool) -> TrainedRun:
    if run.outputs is not None:
        hint = "Train it in Python: starcert.models.fit_with_noise(SmoothedRegressor(…), graphs, numbers, …)."
        raise InvalidParameterError("outputs", f"is not for starcert train, which teaches classes. {hint}")
    from starcert.models import TrainingCheckpoint  # noqa: PLC0415  (first: it says where torch is missing)
    from starcert.models.fitting import own_generator  # noqa: PLC0415

    of_nodes, device = run.targets == "nodes", run.device or "cpu"
    check_device(device)
    with one_thread(device):
        with own_generator(settings.seed, device):  # the model's file may be imported here
            inputs = read_inputs(run.changed(limit=None)) if of_nodes else _divided(run)
        with own_generator(settings.seed, device):  # the first weights follow from the seed
            model = call_model(run.model, inputs.offered(device, run.noise))
        smoothed = _untrained(model, run, inputs)
        lesson, how = (
            (_nodes_lesson if of_nodes else _graphs_lesson)(inputs, smoothed),
            msgspec.structs.asdict(settings),
        )
        class_weights = how.pop("class_weights")
        # All that weights are made from, except versions: the same story gives the same weights.
        regions = run.regions.digest if isinstance(run.regions, Reference) else ""
        story = {
            "model": f"{run.model} {run.model.digest}",
            "data": lesson.content,
            "noise": repr(run.noise),
            "regions": f"{describe_rule(inputs.rule)} {regions}".rstrip(),
            **{key: value for key, value in how.items() if key not in _SINCE_ADDED or value != _SINCE_ADDED[key]},
        }
        n_classes, names = smoothed.classifier.n_classes, lesson.class_names
        weighting = Weighting.of(class_weights, lesson.taught, n_classes=n_classes, names=names)
        if weighting is not None:
            story["class_weights"] = list(weighting.weights)
        majority = max(Counter(lesson.truth).values()) / len(lesson.truth)
        page = weights.with_name(f"{weights.name}.html")
        if weights.exists():
            made = models.how_made(weights)
            _check_made(weights, made.get("settings"), story, again=again)
            if not again:
                found = TrainedRun(weights, made, settings, lesson.what, majority, names, weighting, page, None)
                return _with_page(found)
        begun = time.monotonic()
        state = TrainingCheckpoint(f"{os.path.realpath(weights)}.partial", story)
        given = {key: value for key, value in how.items() if value is not None}
        training = lesson.fit(**given, class_weights=class_weights, checkpoint=state)
    models.save_weights(smoothed, weights, training, settings=story)
    state.remove()
    made, seconds = models.how_made(weights), time.monotonic() - begun
    return _with_page(TrainedRun(weights, made, settings, lesson.what, majority, names, weighting, page, seconds))


def _with_page(outcome: TrainedRun) -> TrainedRun:
    """Writes the page of a training, or one that is missing; weights of 0.2.0 hold epochs with other figures."""
    history = outcome.made.get("history", [()])
    if len(history[0]) == len(models.Epoch._fields) and (outcome.seconds is not None or not outcome.page.exists()):
        write_page(outcome.page, outcome.report)
    return outcome


def _check_made(weights: Path, before: Mapping[str, Any] | None, story: Mapping[str, object], *, again: bool) -> None:
    """Refuses to replace weights that starcert has not written, and to take those that were trained otherwise."""
    if not before:
        raise StarcertError(f"{weights}: holds weights that starcert train has not written. Give another --weights.")
    there, now = {**_SINCE_ADDED, **before}, {**_SINCE_ADDED, **story}
    changed = [key for key in {**there, **now} if there.get(key) != now.get(key)]
    if changed and not again:
        found = "; ".join(f"{key}: there {there.get(key)}, now {now.get(key)}" for key in changed)
        problem = f"holds weights that were trained otherwise ({found})"
        raise StarcertError(f"{weights}: {problem}. --again replaces them; another --weights keeps both.")


def _divided(run: RunSettings) -> RunInputs:
    """The data with their training part; the validation part is chosen, and graphs without a class are left out."""
    try:
        inputs = read_inputs(run.changed(limit=None, split="validation"))
    except InvalidParameterError as error:
        if error.parameter != "split":
            raise
        requirement = "have a class for every graph, to train on them"
        raise InvalidParameterError("data", requirement, str(run.data), WHERE_CLASSES_ARE) from None
    assert inputs.train is not None  # they are divided
    train, deciding = inputs.train.labelled, inputs.chosen.labelled
    for part, name in ((train, "training"), (deciding, "validation")):
        if not len(part):
            raise StarcertError(f"No graph of the {name} part has a class. Give data with classes.")
    return replace(inputs, train=train, validation=deciding, chosen=deciding)


def _untrained(model: object, run: RunSettings, inputs: RunInputs) -> SmoothedClassifier:
    """The smoothed classifier whose module is to be trained."""
    from starcert.classifiers.torch import TorchClassifier  # noqa: PLC0415

    if torch_module_of(model) is None:
        hint = "There is nothing to train: certify it as it is, without the setting weights."
        if hasattr(model, "predict"):
            hint = "An estimator is fitted by the function itself: give it a parameter `train`, the training part."
        got = f"{type(model).__name__} from {run.model}"
        raise InvalidParameterError("model", "return a torch module on edge_index, or from_pyg of one", got, hint)
    nodes = (run.targets == "nodes", run.nodes)
    base = as_classifier(model, run.model, inputs.chosen, run.device, nodes=nodes, on_edges=True)
    if not isinstance(base, TorchClassifier) or base.dense:
        hint = "Train it yourself, and let the function return it trained, without the setting weights."
        raise InvalidParameterError("model", "return a module on edge_index, or from_pyg of one", str(run.model), hint)
    if not any(parameter.requires_grad for parameter in base.model.parameters()):
        raise InvalidParameterError("model", "return a module with parameters to learn", str(run.model))
    return SmoothedClassifier(base, run.noise, inputs.rule)


def _graphs_lesson(inputs: RunInputs, smoothed: SmoothedClassifier) -> _Lesson:
    assert inputs.train is not None
    taught, deciding = (aligned(part, smoothed.classifier) for part in (inputs.train, inputs.chosen))
    validation = (deciding.graphs, deciding.known)
    fit = partial(models.fit_with_noise, smoothed, taught.graphs, taught.known, validation=validation)
    what = f"{len(taught):,} graphs, {len(deciding):,} for validation"
    content = digest(taught.digest, deciding.digest)
    return _Lesson(what, content, deciding.known, taught.known, taught.class_names, fit)


def _nodes_lesson(inputs: RunInputs, smoothed: SmoothedClassifier) -> _Lesson:
    data = aligned(inputs.chosen, smoothed.classifier)
    graph: Graph = data.graphs[0]
    if not data.known:
        hint = "The classes of nodes are the node data y."
        raise InvalidParameterError("data", "have classes of nodes to learn from", data.names[0], hint)
    missing = [mask for mask in (TRAIN_MASK, VALIDATION_MASK) if mask not in graph.node_data]
    if missing:
        there = ", ".join(graph.node_data) or "none"
        hint = f"They say by 0 or 1 which nodes are learned from and which decide. There are: {there}."
        raise InvalidParameterError("data", f"have the node data {' and '.join(missing)}", data.names[0], hint)
    taught, deciding = (nodes_of(mask, graph.frame).tolist() for mask in (TRAIN_MASK, VALIDATION_MASK))
    labels = [-1 if label is None else label for label in data.labels.tolist()]
    unknown = [node for node in (*taught, *deciding) if labels[node] < 0]
    if unknown:
        raise StarcertError(f"The node {graph.nodes[unknown[0]]!r} is in a mask for training, but has no class y.")
    fit = partial(models.fit_nodes_with_noise, smoothed, graph, labels, train=taught, validation=deciding)
    what = f"{len(taught):,} nodes, {len(deciding):,} for validation"
    wanted, learned = ([labels[node] for node in nodes] for nodes in (deciding, taught))
    return _Lesson(what, digest(data.digest, taught, deciding), wanted, learned, data.class_names, fit)
