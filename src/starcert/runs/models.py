"""The base classifier of a run: what the user's function returns, made ready to vote.

A model function may return a starcert classifier; a torch module on x, edge_index and batch, or called as
model(x, adjacency); a fitted scikit-learn estimator on graphs; or a plain function from a networkx graph to its class.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from starcert.classifiers.base import Classifier, named_classes
from starcert.classifiers.functions import from_callable, from_node_function
from starcert.classifiers.identity import identity
from starcert.classifiers.values import ValueRange
from starcert.datasets.dataset import Dataset
from starcert.datasets.graph_files import ASK_FOR_TYPES
from starcert.models.link_votes import LinkVotes
from starcert.objects import CleanObject, Sites
from starcert.objects.kinds import kind_of
from starcert.objects.noise import Noise
from starcert.runs.link_run import LinkClassifier
from starcert.runs.user_code import Reference, UserCodeError, is_function, place_in, running_user_code
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import ClassifierError, InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from torch.nn import Module


MAX_DENSE_NODES = 128
"""A module that can run on dense adjacency (it has a method `dense`) does so if no graph has more nodes."""


def call_model(reference: Reference, offered: Mapping[str, Any]) -> object:
    """The result of the user's model function, called with the parameters it names; a ready model is taken as it is."""
    found: Any = reference.load()
    if not is_function(found):
        return found
    given = {}
    for name, parameter in inspect.signature(found).parameters.items():
        if name in offered:
            given[name] = offered[name]
        elif parameter.default is parameter.empty and "VAR" not in parameter.kind.name:
            raise InvalidParameterError(
                "model",
                f"name a function that returns the classifier, with no parameters but {', '.join(offered)}",
                f"{reference} with the parameter {name!r}",
                f"If it is itself the classifier of a graph, return it: def classifier(): return {reference.name}.",
            )
    for part in ("train", "validation"):
        if part in given and given[part] is None:
            _refuse_part(part, reference, offered)
    if "regions" in given and given["regions"] is None:
        hint = "Give regions that are known before the model is."
        raise InvalidParameterError(
            "regions", f"cannot come from the model of {reference}, which asks for them. {hint}"
        )
    with nullcontext() if reference.module.startswith("starcert.") else running_user_code(reference.file):
        model = found(**given)
    if model is None:
        raise UserCodeError(f"{reference.file}: {reference.name} returned None. Let it return the classifier.")
    return model


def _refuse_part(part: str, reference: Reference, offered: Mapping[str, Any]) -> NoReturn:
    data: Dataset = offered["data"]
    if data.parts is not None and part not in data.parts:
        raise InvalidParameterError("splits", f"have a {part} part for {reference}, which asks for it", "none")
    if offered["train"] is not None:  # the data are divided, and there are too few
        requirement = f"have a graph for the validation part, a tenth of every class, as {reference} asks for it"
        hint = "Take more graphs, or say the parts yourself: --splits."
        raise InvalidParameterError("data", requirement, f"{len(data)} graphs", hint)
    share, called = ("80%", "training") if part == "train" else ("10%", "validation")
    drawn, own = f"the {share} for {called}, and the 10% for testing are", f"your {part} part, and your test part is"
    hint = f'Set split = "test": the function is given {drawn if data.parts is None else own} certified.'
    raise InvalidParameterError("split", f"be test for {reference}, which asks for {called} data", "all", hint)


def as_classifier(
    model: Any,  # noqa: ANN401  (whatever a user's function returns)
    reference: Reference,
    data: Dataset,
    device: str | None,
    *,
    nodes: tuple[bool, str | None] = (False, None),
    on_edges: bool = False,
    outputs: ValueRange | None = None,
) -> Classifier:
    """A base classifier from whatever a model function returned; with `outputs`, one that gives numbers.

    `nodes` says whether nodes are classified, and which. With `on_edges` a module stays in its form on edges, in which
    it is trained, even if it has a dense one.
    """
    of_nodes, mask = nodes
    _check_mask(mask, data)
    torch = sys.modules.get("torch")  # who returns a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        if device is not None:
            with _usable(device):
                model = model.to(device)
        return _from_module(model, reference, data, nodes, on_edges, outputs)
    there = str(getattr(model, "device", "cpu")).partition(":")[0]
    if device is not None and device.partition(":")[0] not in ("cpu", there):
        hint = "Only a torch module can be moved; leave the setting out."
        raise InvalidParameterError("device", f"be cpu for a {type(model).__name__}", device, hint)
    if isinstance(model, LinkVotes):
        return LinkClassifier(model, mask, data.class_names)
    if isinstance(model, Classifier):
        if outputs is not None and model.values != outputs:
            got, hint = str(model.values or "classes"), "Make it with from_pyg(…, outputs=ValueRange(low, high))."
            raise InvalidParameterError("outputs", f"be what the model of {reference} says itself", got, hint)
        if (model.n_targets(data.graphs[0].frame) is not None) != of_nodes:
            got, wanted = ("nodes", "graphs") if of_nodes else ("graphs", "nodes")
            raise InvalidParameterError("targets", f"be {wanted} for this model", got, "It says so itself.")
        if mask is not None:
            hint = "Give it the mask where it is made, such as from_pyg(module, targets='nodes', nodes='test_mask')."
            raise InvalidParameterError("nodes", f"is set by the model itself. {hint}")
        return model
    predicts = hasattr(model, "predict") and not inspect.isclass(model)
    if callable(model) and not inspect.isclass(model) and (of_nodes or not predicts):
        return _from_function(model, reference, data, nodes, outputs)
    if of_nodes:
        hint = "Let it return a function from a networkx graph to the class of each node, or a classifier of nodes."
        raise InvalidParameterError("targets", f"be graphs for a {type(model).__name__}", "nodes", hint)
    if predicts:
        from starcert.classifiers import from_sklearn  # noqa: PLC0415

        with running_user_code(reference.file):
            return from_sklearn(model, outputs=outputs)
    raise InvalidParameterError(
        "model",
        "return a starcert classifier, a torch module, a fitted scikit-learn estimator or a function of a graph",
        f"{type(model).__name__} from {reference}",
        "starcert.classifiers has from_callable, from_sklearn, from_pyg and from_dense.",
    )


def _check_mask(mask: str | None, data: Dataset) -> None:
    if mask is not None and mask not in data.graphs[0].node_data:
        listed = ", ".join(data.graphs[0].node_data) or "which has none"
        raise InvalidParameterError("nodes", f"name node data of the graph, {listed}", mask)


def _from_function(
    function: Callable[..., Any],
    reference: Reference,
    data: Dataset,
    nodes: tuple[bool, str | None],
    outputs: ValueRange | None,
) -> Classifier:
    try:
        content = identity(function)
    except InvalidParameterError as error:
        described = "starcert.classifiers.from_callable(function, n_classes=…, description=…)"
        hint = f"Let {reference.name} return {described}, with another description whenever the answers change."
        why = error.args[1].removeprefix("is needed, ")
        raise InvalidParameterError("model", f"cannot be identified, {why}", hint=hint) from error
    name = getattr(function, "__qualname__", type(function).__name__)
    # The digest of the whole file covers most of what a function calls in ways that cannot be followed.
    description = f"{name} of {reference.file.name} {reference.digest} {content}"
    about: dict[str, Any] = {"description": description, "outputs": outputs}
    if outputs is None:
        about["n_classes"] = _n_classes(data, reference)
    # It may answer names of classes too, unless the classes are the numbers of whoever made the data.
    if outputs is None and not data.numbered and len(data.class_names) == about["n_classes"]:
        about["class_names"] = data.class_names
    of_nodes, mask = nodes
    if of_nodes:
        return from_node_function(function, nodes=mask, **about)
    return from_callable(function, on="networkx" if kind_of(*data.graphs).has_nodes else "vectors", **about)


def _n_classes(data: Dataset, reference: Reference) -> int:
    if not data.class_names:
        hint = "Return starcert.classifiers.from_callable(function, n_classes=…)."
        raise InvalidParameterError("model", f"has an unknown number of classes, as the data have no labels. {hint}")
    return max(2, len(data.class_names))


def _from_module(
    module: Any,  # noqa: ANN401  (torch carries few types)
    reference: Reference,
    data: Dataset,
    nodes: tuple[bool, str | None],
    on_edges: bool,
    outputs: ValueRange | None,
) -> Classifier:
    from starcert.classifiers import from_dense, from_pyg, from_torch  # noqa: PLC0415

    of_nodes, mask = nodes
    known: dict[str, Any] = {"outputs": outputs} if outputs else {}
    if of_nodes:
        known = known or {"n_classes": _n_classes(data, reference)}
        return from_pyg(module, targets="nodes", nodes=mask, **known)
    if not kind_of(*data.graphs).has_nodes:
        return from_torch(module, **(known or {"n_classes": _n_classes(data, reference)}))
    parameters = list(inspect.signature(module.forward).parameters)
    largest = max(graph.n_nodes for graph in data.graphs)
    if len(parameters) > 1 and parameters[1].startswith("adj"):
        make = from_dense
    elif not on_edges and callable(getattr(module, "dense", None)) and largest <= MAX_DENSE_NODES:
        make, module = from_dense, module.dense()
    else:
        make = from_pyg
    if known:
        return cast(Classifier, make(module, **known))
    # Only the module knows how many columns its logits have: try it on a graph.
    trial = make(module, n_classes=2)
    first = data.graphs[0]
    sites = Sites(first, ("all",), (first.layers[0].everything(),))
    stream = WordStream.of_chunk(0, first.key, "selection", 0)
    batch = sampler(sites, Noise(all=0.0), str(trial.device)).draw(stream, 2)
    try:
        shape: list[int] = list(trial.raw(batch).shape)
    except Exception as error:  # noqa: BLE001  (whatever a user's code may raise: it is named)
        refuse_model(reference, data.names[0], first, error)
    if shape == [2]:  # one logit tells two classes apart
        shape = [2, 1]
    if len(shape) != 2 or shape[0] != 2:
        hint = "It must return one row of logits for each graph, with a column for each class: pool over nodes first."
        raise InvalidParameterError("model", "return logits of shape (graphs, classes)", tuple(shape), hint)
    return cast(Classifier, make(module, n_classes=max(2, shape[1])))  # its description is a property


def refuse_model(
    reference: Reference, name: str, clean: CleanObject, error: BaseException, class_names: Sequence[str] = ()
) -> NoReturn:
    """Says what went wrong with a model on a clean graph, what data that graph has, and what to do."""
    about = kind_of(clean).explain(clean)
    kind = "" if isinstance(error, ValueError | StarcertError) else f"{type(error).__name__}: "
    what = " ".join(str(error).split())
    if what.startswith("it answered"):
        classes = f": {named_classes(class_names)}" if class_names else ""
        advice = f"Let it answer the number of a class, in the order of the class names{classes}; or the name, as text."
    elif "edge_attr, and the graph has none" in what:
        advice = ASK_FOR_TYPES
    elif isinstance(error, RuntimeError) and re.search("shape|size|dimension", what):  # so torch says it
        advice = (
            f"{about} If the model expects other features, make it for these, give data that have others, or "
            "choose them where the classifier is made: starcert.classifiers.from_pyg(module, n_classes=…, features=…)."
        )
    else:
        advice = f"{about} Fix the model so that it answers every graph; --debug shows the whole traceback."
    raise ClassifierError(
        f"{reference.name} ({place_in(reference.file, error)}) cannot answer graph {name!r}: {kind}{what}. {advice}"
    ) from error


def check_device(device: str) -> None:
    """Refuses a device that torch cannot use here."""
    import torch  # noqa: PLC0415

    with _usable(device):
        torch.empty(1, device=device)


@contextmanager
def _usable(device: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        hint = f"({reason}.) Use --device cpu, or a machine that has a GPU."
        raise InvalidParameterError("device", "be one that torch can use here", device, hint) from error


def torch_module_of(model: object) -> Module | None:
    """The module of what a model function returned: itself, or that of a classifier; None if there is none."""
    torch = sys.modules.get("torch")  # whoever made a module has imported it
    if torch is None:
        return None
    from starcert.classifiers.torch import ModuleClassifier  # noqa: PLC0415  (it imports torch)

    found: Any = model.model if isinstance(model, ModuleClassifier) else model
    return found if isinstance(found, torch.nn.Module) else None


def put_weights(model: object, file: Path, reference: Reference) -> None:
    """Loads weights that `starcert train` wrote, or a state dict, into the module that a model function returned."""
    module = torch_module_of(model)
    if module is None:
        hint = "Leave the setting out."
        raise InvalidParameterError("weights", f"needs a torch module; {reference} is a {type(model).__name__}. {hint}")
    if not os.path.isfile(file):
        raise StarcertError(f"{file}: there is no such file of weights. Train first: starcert train run.toml")
    from starcert.classifiers.torch import ModuleClassifier  # noqa: PLC0415
    from starcert.models import load_weights  # noqa: PLC0415

    try:
        load_weights(module, file)
    except InvalidParameterError as error:
        again = "Or train again: starcert train run.toml --again."
        raise StarcertError(f"The weights do not fit {reference}. {error} {again}") from error
    if isinstance(model, ModuleClassifier):
        model.weights = f"weights {identity(dict(module.state_dict()))}"


def other_noise(file: Path | None, noises: Sequence[Noise]) -> Iterator[str]:
    """Says so if the weights in a file were trained with other noise than they will vote under."""
    if file is None:
        return
    from starcert.models import how_made  # noqa: PLC0415

    trained = how_made(file).get("noise")  # not known of a state dict that starcert did not write
    if trained is None or all(repr(noise) == trained for noise in noises):
        return
    rest = ": every level votes with them" if len(noises) > 1 else f", not with {noises[0]!r} as this run has it"
    yield f"The weights in {file.name} were trained with {trained}{rest}."
