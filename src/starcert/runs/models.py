"""The base classifier of a run: what the user's function returns, made ready to vote and tried before hours are spent.

A model function may return a starcert classifier; a torch module on x, edge_index and batch, or called as
model(x, adjacency); a fitted scikit-learn estimator on graphs; or a plain function from a networkx graph to its class.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeGuard, cast

from starcert.classifiers.base import Classifier, is_classifier, named_classes
from starcert.classifiers.identity import identity
from starcert.objects import Graph, Partition, Sites, Vector
from starcert.objects.noise import Noise
from starcert.runs.edge_types import HOW_TO_SAY
from starcert.runs.graph_files import RunData
from starcert.runs.user_code import Reference, UserCodeError, place_in, running_user_code
from starcert.sampling.streams import WordStream
from starcert.system.errors import ClassifierError, InvalidParameterError, StarcertError
from starcert.system.output import progress_bar, say
from starcert.voting.counting import answers_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starcert.objects.rule import Rule

__all__ = [
    "LARGEST_DENSE",
    "ModelInputs",
    "aligned",
    "as_classifier",
    "asks_for",
    "call_model",
    "check_device",
    "clean_answers",
]

LARGEST_DENSE = 128
"""A module that can run on dense adjacency (it has a method `dense`) does so where no graph has more nodes."""


@dataclass(frozen=True)
class ModelInputs:
    """What a model function is given if it has a parameter of that name.

    Attributes:
        device: where the model shall be, such as "cpu".
        data: all the data of the run.
        train: the training part of them; None if the run certifies all of the data.
        noise: the noise that the model will be smoothed with.
        regions: the regions of that noise, a partition or a rule; None if they follow from the model.
        validation: the validation part of the data; None if the run certifies all of them, or if it is empty.
    """

    device: str
    data: RunData
    train: RunData | None
    noise: Noise | None = None
    regions: Rule | Partition | Mapping[str, Any] | None = None
    validation: RunData | None = None


_GIVEN = tuple(field.name for field in fields(ModelInputs))


def asks_for(reference: Reference, name: str) -> bool:
    """Whether a model function has a parameter of this name."""
    found = reference.load()
    return _is_function(found) and name in inspect.signature(found).parameters


def call_model(reference: Reference, inputs: ModelInputs) -> object:
    """What the user's model function returns; a name that holds a model rather than a function is taken as it is."""
    found: Any = reference.load()
    if not _is_function(found):
        return found  # a model that the file made when it was imported
    given = {}
    for name, parameter in inspect.signature(found).parameters.items():
        if name in _GIVEN:
            given[name] = getattr(inputs, name)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise InvalidParameterError(
                "model",
                f"name a function that returns the classifier, with no parameters but {', '.join(_GIVEN)}",
                f"{reference} with the parameter {name!r}",
                f"If it is itself the classifier of a graph, return it: def classifier(): return {reference.name}.",
            )
    for part in ("train", "validation"):
        if part in given and given[part] is None:
            _refuse_part(part, reference, inputs)
    if "regions" in given and given["regions"] is None:
        hint = "Give regions that are known before the model is."
        raise InvalidParameterError(
            "regions", f"not be read off the model of {reference}, which asks for them", None, hint
        )
    with running_user_code(reference.file):
        model = found(**given)
    if model is None:
        raise UserCodeError(f"{reference.file}: {reference.name} returned None. Let it return the classifier.")
    return model


def _refuse_part(part: str, reference: Reference, inputs: ModelInputs) -> NoReturn:
    """Says why there is no such part of the data, and what to do."""
    parts = inputs.data.parts
    if parts is not None and part not in parts:
        raise InvalidParameterError("splits", f"have a {part} part for {reference}, which asks for it", "none")
    if inputs.train is not None:  # the data are divided, and there are too few
        requirement = (
            f"have a graph for the validation part, a tenth of every class, for {reference}, which asks for it"
        )
        hint = "Take more graphs, or say the parts yourself: --splits."
        raise InvalidParameterError("data", requirement, f"{len(inputs.data)} graphs", hint)
    share, called = ("80% for training", "training") if part == "train" else ("10% for validation", "validation")
    drawn, own = f"the {share}, and the 10% for testing are", f"your {part} part, and your test part is"
    hint = f'Set split = "test": the function is given {drawn if parts is None else own} certified.'
    raise InvalidParameterError("split", f"be test for {reference}, which asks for {called} data", "all", hint)


def _is_function(found: object) -> TypeGuard[Callable[..., object]]:
    return inspect.isroutine(found) or inspect.isclass(found)


def as_classifier(
    model: Any,  # noqa: ANN401  (whatever a user's function returns)
    reference: Reference,
    data: RunData,
    device: str | None,
    *,
    nodes: tuple[bool, str | None] = (False, None),
    on_edges: bool = False,
) -> Classifier:
    """A base classifier from whatever a model function returned.

    Args:
        model: what it returned.
        reference: the function.
        data: the graphs of the run.
        device: where a module shall be.
        nodes: whether nodes are classified, and which.
        on_edges: whether a module that has a dense form too shall stay in the one on edges, in which it is trained.
    """
    of_nodes, mask = nodes
    if mask is not None and mask not in data.graphs[0].node_data:
        listed = ", ".join(data.graphs[0].node_data) or "which has none"
        raise InvalidParameterError("nodes", f"name node data of the graph, {listed}", mask)
    torch = sys.modules.get("torch")  # who returns a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        return _from_module(model, reference, data, device, nodes=nodes, on_edges=on_edges)
    if is_classifier(model):
        _refuse_device(model, device)
        _check_targets(model, data, *nodes)
        return model
    if of_nodes and not inspect.isclass(model) and callable(model):
        from starcert.classifiers import from_node_function  # noqa: PLC0415

        _refuse_device(model, device)
        description = _description(model, reference)
        return from_node_function(model, **_classes(data, reference), nodes=mask, description=description)
    if of_nodes:
        hint = "Let it return a function from a networkx graph to the class of each node, or a classifier of nodes."
        raise InvalidParameterError("targets", f"be graphs for a {type(model).__name__}", "nodes", hint)
    if not inspect.isclass(model) and hasattr(model, "predict"):
        from starcert.classifiers import from_sklearn  # noqa: PLC0415

        _refuse_device(model, device)
        with running_user_code(reference.file):
            return from_sklearn(model)
    if inspect.isroutine(model) or (callable(model) and not inspect.isclass(model)):
        return _from_function(model, reference, data, device)
    raise InvalidParameterError(
        "model",
        "return a starcert classifier, a torch module, a fitted scikit-learn estimator or a function of a graph",
        f"{type(model).__name__} from {reference}",
        "starcert.classifiers has from_callable, from_sklearn, from_pyg and from_dense.",
    )


def _from_function(function: Any, reference: Reference, data: RunData, device: str | None) -> Classifier:  # noqa: ANN401
    from starcert.classifiers import from_callable  # noqa: PLC0415

    _refuse_device(function, device)
    on: Literal["networkx", "vectors"] = "vectors" if isinstance(data.graphs[0], Vector) else "networkx"
    description = _description(function, reference)
    return from_callable(function, **_classes(data, reference), on=on, description=description)


def _classes(data: RunData, reference: Reference) -> dict[str, Any]:
    """How many classes a function answers, and their names, which it may answer too, unless they are the numbers."""
    n_classes = _n_classes(data, reference)
    named = not data.numbered and len(data.class_names) == n_classes
    return {"n_classes": n_classes, "class_names": data.class_names if named else None}


def _n_classes(data: RunData, reference: Reference) -> int:
    if not data.class_names:
        raise InvalidParameterError(
            "model",
            "say how many classes there are, for data without labels",
            f"a function from {reference}",
            "Return starcert.classifiers.from_callable(function, n_classes=…).",
        )
    return max(2, len(data.class_names))


def _description(function: object, reference: Reference) -> str:
    # With the digest of the whole file: what the function calls by ways that nobody can follow is most often there too.
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{name} of {reference.file.name} {reference.digest} {_identity(function, reference)}"


def _check_targets(model: Classifier, data: RunData, of_nodes: bool, mask: str | None) -> None:
    """Refuses a classifier of other targets than the settings say."""
    several = model.n_targets(data.graphs[0].frame) is not None
    if several != of_nodes:
        got, wanted = ("nodes", "graphs") if of_nodes else ("graphs", "nodes")
        raise InvalidParameterError("targets", f"be {wanted} for this model", got, "It says so itself.")
    if mask is not None:
        hint = "Give it the mask where it is made, such as from_pyg(module, targets='nodes', nodes='test_mask')."
        raise InvalidParameterError("nodes", "be left out for a model that says which nodes it answers", mask, hint)


def _identity(function: object, reference: Reference) -> str:
    try:
        return identity(function)
    except InvalidParameterError as error:
        _, _, part, _ = error.args
        raise InvalidParameterError(
            "model",
            "return a function whose content can be told",
            part,
            f"Let {reference.name} return starcert.classifiers.from_callable(function, n_classes=…, description=…), "
            "with another description whenever the answers change.",
        ) from error


def _from_module(
    module: Any,  # noqa: ANN401  (torch carries few types)
    reference: Reference,
    data: RunData,
    device: str | None,
    *,
    nodes: tuple[bool, str | None],
    on_edges: bool,
) -> Classifier:
    from starcert.classifiers import from_dense, from_pyg, from_torch  # noqa: PLC0415

    module = _on_device(module, device)
    of_nodes, mask = nodes
    if of_nodes:
        return from_pyg(module, n_classes=_n_classes(data, reference), targets="nodes", nodes=mask)
    if isinstance(data.graphs[0], Vector):
        return from_torch(module, n_classes=_n_classes(data, reference))
    parameters = list(inspect.signature(module.forward).parameters)
    if len(parameters) > 1 and parameters[1].startswith("adj"):
        make = from_dense
    elif not on_edges and _prefers_dense(module, data):
        make, module = from_dense, module.dense()
    else:
        make = from_pyg
    # How many columns its logits have, only the module knows: it is asked about a graph.
    trial = make(module, n_classes=2)
    first = data.graphs[0]
    sites = Sites(first, ("all",), (first.layers[0].everything(),))
    stream = WordStream.of_chunk(0, data.graphs[0].key, "selection", 0)
    batch = trial.sampler(sites, Noise(all=0.0)).draw(stream, 2)
    try:
        width = trial.raw(batch).shape
    except Exception as error:  # noqa: BLE001  (whatever a user's code may raise: it is named)
        _refuse(reference, data.names[0], data.graphs[0], error)
    if tuple(width) in ((2,), (2, 1)):  # one logit tells two classes apart
        return cast(Classifier, make(module, n_classes=2))
    if len(width) != 2 or width[0] != 2:
        hint = "It must return one row of logits for each graph, with a column for each class: pool over nodes first."
        raise InvalidParameterError("model", "return logits of shape (graphs, classes)", tuple(width), hint)
    return cast(Classifier, make(module, n_classes=int(width[1])))  # its description is a property


def _prefers_dense(module: Any, data: RunData) -> bool:  # noqa: ANN401
    largest = max(graph.n_nodes for graph in data.graphs)
    return callable(getattr(module, "dense", None)) and largest <= LARGEST_DENSE


def clean_answers(classifier: Classifier, reference: Reference, data: RunData, sites: Sequence[Sites]) -> list[int]:
    """The base classifier's answer on every clean graph, or each of its targets: what does not fit is found out."""
    answers: list[int] = []
    with progress_bar("clean graphs", len(data)) as advance:
        for name, each in zip(data.names, sites, strict=True):
            try:
                answers.extend(answers_on(classifier, each).tolist())
            except Exception as error:  # noqa: BLE001  (whatever a user's code may raise: it is named)
                _refuse(reference, name, each.clean, error, data.class_names)
            advance(1)
    _say_other_order(answers, data)
    return answers


def _say_other_order(answers: Sequence[int], data: RunData) -> None:
    """Says so where the answers would fit the classes far better in another order: by half of all graphs."""
    labels = data.labels or data.node_labels or ()
    if len(labels) != len(answers):
        return
    known = Counter((label, answer) for label, answer in zip(labels, answers, strict=True) if label is not None)
    meant = {label: answer for (label, answer), _ in reversed(known.most_common())}  # the most frequent comes last
    right, fitting = (sum(known[pair] for pair in pairs) for pairs in (((each, each) for each in meant), meant.items()))
    if len(set(meant.values())) == len(meant) and fitting - right >= max(4, known.total() / 2):
        names = data.class_names
        seen = ", ".join(f"{names[answer]} where it is {names[label]}" for label, answer in sorted(meant.items()))
        say(
            f"Note: the model mostly answers {seen}: are its classes in another order? Its answers mean "
            f"{named_classes(names)}; starcert.classifiers takes class_names=[…] in the order of the model."
        )


def _refuse(
    reference: Reference, name: str, clean: object, error: BaseException, class_names: Sequence[str] = ()
) -> NoReturn:
    """Says what went wrong with a model on a clean graph, what data that graph has, and what to do."""
    kind = "" if isinstance(error, ValueError | StarcertError) else f"{type(error).__name__}: "
    what = " ".join(str(error).split())
    about = f"It is {clean!r}."
    if isinstance(clean, Graph):
        there = ", ".join(f"{key} {_shape(values)}" for key, values in clean.node_data.items()) or "none"
        about = f"The graph has {clean.n_nodes} nodes and the node data: {there}."
        if clean.type_names:
            types = ", ".join(map(str, clean.type_names))
            about += f" Its edges have {len(clean.type_names)} types, the columns of edge_attr: {types}."
    if what.startswith("it answered"):
        classes = f": {named_classes(class_names)}" if class_names else ""
        advice = f"Let it answer the number of a class, in the order of the class names{classes}; or the name, as text."
    elif "edge_attr, and the graph has none" in what:
        advice = HOW_TO_SAY
    elif isinstance(error, RuntimeError) and re.search("shape|size|dimension", what):  # so torch says it
        advice = (
            f"{about} If the model expects other features, make it for these, give data that have others, or choose "
            "them where the classifier is made: starcert.classifiers.from_pyg(module, n_classes=…, features=…)."
        )
    else:
        advice = f"{about} Mend the model so that it answers every graph; --debug shows the whole traceback."
    raise ClassifierError(
        f"{reference.name} ({place_in(reference.file, error)}) cannot answer graph {name!r}: {kind}{what}. {advice}"
    ) from error


def _shape(values: Any) -> str:  # noqa: ANN401  (opaque data)
    shape = getattr(values, "shape", (len(values),))
    return f"({' × '.join(map(str, shape))})"


def aligned(data: RunData, classifier: Classifier) -> RunData:
    """The data with the classes of the classifier: as many names, and labels numbered as it numbers them.

    An estimator's `classes_` go by their names; otherwise class k of the data is answer k.
    """
    n_classes = classifier.n_classes
    own = classifier.class_names
    names = tuple(map(str, range(n_classes))) if own is None else own
    if not data.class_names:
        return replace(data, class_names=names)
    if own is not None and set(data.class_names) <= set(names):
        places = [names.index(name) for name in data.class_names]
        labels, nodes = (
            None if given is None else tuple(None if label is None else places[label] for label in given)
            for given in (data.labels, data.node_labels)
        )
        return replace(data, labels=labels, node_labels=nodes, class_names=names)
    if n_classes == len(data.class_names):
        return data
    if n_classes > len(data.class_names) and data.numbered:
        return replace(data, class_names=data.class_names + names[len(data.class_names) :])
    hint = f"Give the model the classes of the data: its answers mean {named_classes(data.class_names)}" + (
        ". Or label the graphs with the model's class numbers from 0." if n_classes > len(data.class_names) else "."
    )
    raise InvalidParameterError(
        "model",
        f"have the {len(data.class_names)} classes of the data, {', '.join(data.class_names[:20])}",
        f"{n_classes} classes",
        hint,
    )


def _on_device(module: Any, device: str | None) -> Any:  # noqa: ANN401  (torch carries few types)
    import torch  # noqa: PLC0415

    if device is None:
        return module
    with _usable(device):
        return module.to(torch.device(device))


def check_device(device: str) -> None:
    """Refuses a device that torch cannot use here, by asking it for room there."""
    import torch  # noqa: PLC0415

    with _usable(device):
        torch.empty(1, device=device)


@contextmanager
def _usable(device: str) -> Iterator[None]:
    """Says of what torch refuses inside that the device is not to be used here."""
    try:
        yield
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        hint = f"({reason}.) Use --device cpu, or a machine that has a GPU."
        raise InvalidParameterError("device", "be one that torch can use here", device, hint) from error


def _refuse_device(model: object, device: str | None) -> None:
    there = getattr(model, "device", "cpu")
    if device is not None and device != "cpu" and str(there).partition(":")[0] != device.partition(":")[0]:
        hint = "Only a torch module can be moved; leave the setting out."
        raise InvalidParameterError("device", f"be cpu for a {type(model).__name__}", device, hint)
