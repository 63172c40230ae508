"""Calls of PyTorch modules, and what they return: logits of each copy, or of some nodes of each copy.

The signature of `forward` is read once. A parameter with a name of `INPUTS` gets that input (docs/models.md says what
each is), in whatever order they come; one with another name needs a line in `arguments`, or a default. Nothing is
guessed: a forward that leaves a question open is refused when the classifier is made.

Two or more columns answer the class of the largest, be they logits or probabilities. One column tells two classes
apart, and there it matters what it is: a logit is class 1 above 0, a probability above 1/2.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from starcert.classifiers.functions import checked_range
from starcert.classifiers.identity import compiled_from
from starcert.classifiers.values import ValueRange
from starcert.system.errors import InvalidParameterError

Arguments: TypeAlias = "Mapping[str, str] | Sequence[str] | None"
"""From the names of parameters to inputs; or the inputs one after the other; or None."""

Targets: TypeAlias = Literal["graph", "nodes"]
Nodes: TypeAlias = "str | npt.ArrayLike | None"
Outputs: TypeAlias = Literal["logit", "probability"] | ValueRange | None
"""The meaning of a module's one output; None: taken for a logit unless it looks like a probability."""

INPUTS = ("x", "edge_index", "edge_attr", "edge_weight", "batch", "data")
OF_EDGES = ("edge_attr", "edge_weight")  # the inputs that a graph may lack
IN_ORDER = ("x", "edge_index", "batch")  # what most modules take

HOW_TO_TYPE = (
    "Graph.from_smiles(…, bond_types=True), Graph.from_pyg(…, edge_types='edge_attr') or tu(…, edge_types=True)"
)
Parameter = inspect.Parameter
BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
ANY_NUMBER = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Argument(NamedTuple):
    """A parameter of a module, and the one of `INPUTS` that it gets."""

    name: str
    input: str
    optional: bool = False  # it is left out where the graph lacks the input
    by_place: bool = True  # it can be given by place, if all before it are


@dataclass(frozen=True)
class Calling:
    """The way to call a module: its parameters that get an input, in their order."""

    arguments: tuple[Argument, ...]

    @property
    def needed(self) -> frozenset[str]:
        """The inputs that must be ready for a call."""
        named = frozenset(each.input for each in self.arguments)
        return named | {"x", "edge_index", "batch", *OF_EDGES} if "data" in named else named

    def call(self, model: Callable[..., Any], inputs: Mapping[str, object], n_copies: int) -> Any:  # noqa: ANN401
        """The output of the module for these inputs, by place as far as possible; those that a graph lacks are None."""
        by_place: list[object] = []
        by_name: dict[str, object] = {}
        for number, each in enumerate(self.arguments):
            value = _data_of(inputs, n_copies) if each.input == "data" else inputs.get(each.input)
            if value is None and each.optional:
                continue
            if value is None:
                types = f" ({HOW_TO_TYPE})" if each.input == "edge_attr" else ""
                raise ValueError(
                    f"its forward asks for {each.input}, and the graph has none: give its edges types{types} or edge "
                    f"data, or the parameter {each.name!r} a default"
                )
            if each.by_place and len(by_place) == number:
                by_place.append(value)
            else:
                by_name[each.name] = value
        try:
            return model(*by_place, **by_name)
        except (TypeError, AttributeError, AssertionError) as error:
            if inputs.get("edge_attr") is not None or not _is_about_missing(error, "edge_attr"):
                raise
            problem = " ".join([f"{type(error).__name__}:", *str(error).split()]).rstrip(":")
            raise ValueError(
                f"its forward uses edge_attr, and the graph has none, as its edges have no types ({problem}): give "
                f"them types ({HOW_TO_TYPE})"
            ).with_traceback(error.__traceback__) from error


ON_MATRICES = Calling((Argument("x", "x"), Argument("adjacency", "adjacency")))


def calling_of(model: torch.nn.Module, arguments: Arguments, *, of_graphs: bool) -> Calling:
    """The way to call a module, by the signature of its forward pass, and `arguments` for names of its own.

    A module `of_graphs` answers graph by graph, and so must receive which nodes belong to which graph.
    """
    if arguments is not None and not isinstance(arguments, Mapping):
        _check_inputs(arguments, arguments)
        in_order = tuple(Argument("", each) for each in arguments)
        _check_complete(in_order, (), f"arguments={arguments!r}", of_graphs=of_graphs)
        return Calling(in_order)
    named = dict(arguments or {})
    _check_inputs(tuple(named.values()), arguments)
    parameters = _parameters(model)
    shown = f"forward{inspect.Signature([each.replace(annotation=Parameter.empty) for each in parameters])}"
    own = [each for each in parameters if each.kind not in ANY_NUMBER]
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters) and not own:
        hint = f"Say what it is called with, one after the other: arguments={IN_ORDER!r}."
        raise InvalidParameterError("model", "have a forward whose parameters have names", shown, hint)
    for name in named.keys() - {each.name for each in own}:
        raise InvalidParameterError("arguments", f"name parameters of {shown}", name)
    meaning = {each.name: named.get(each.name, each.name) for each in own}
    found, unknown, after_gap = [], [], False
    for each in own:
        what, optional = meaning[each.name], each.default is not Parameter.empty
        if what in INPUTS:
            by_place = each.kind in BY_PLACE and not after_gap
            found.append(Argument(each.name, what, optional and what in OF_EDGES, by_place))
        elif optional:
            after_gap = True
        else:
            unknown.append(each.name)
    _check_complete(found, unknown, shown, of_graphs=of_graphs)
    return Calling(tuple(found))


def _check_complete(found: Sequence[Argument], unknown: Sequence[str], shown: str, *, of_graphs: bool) -> None:
    """Refuses a forward with unknown parameters, or one that does not receive which nodes belong to which copy."""
    inputs = {each.input for each in found}
    if unknown:
        example = dict(zip(unknown, [each for each in IN_ORDER if each not in inputs] or ["x"], strict=False))
        raise InvalidParameterError(
            "model",
            f"have a forward with the parameters {', '.join(INPUTS)}",
            shown,
            f"Say what {' and '.join(unknown)} {'is' if len(unknown) == 1 else 'are'}: arguments={example!r}; or give "
            "them defaults.",
        )
    if of_graphs and not inputs & {"batch", "data"}:
        raise InvalidParameterError(
            "model",
            "have a forward with the parameter batch, or data: which nodes belong to which copy",
            shown,
            "Let it pool with batch; or name the parameter that is it, arguments={'…': 'batch'}; or take its answer on "
            "every node, targets='nodes'.",
        )


def _check_inputs(inputs: Sequence[str], arguments: object) -> None:
    if isinstance(inputs, str) or not all(each in INPUTS for each in inputs):
        requirement = f"map names of parameters to {', '.join(INPUTS)}, or list what they get one after the other"
        raise InvalidParameterError("arguments", requirement, arguments)


def _parameters(model: torch.nn.Module) -> list[Parameter]:
    """The parameters of a module's forward pass."""
    original = compiled_from(model)
    inner = model if original is None else original
    pyg = sys.modules.get("torch_geometric.nn")
    if pyg is not None and isinstance(inner, pyg.Sequential):  # its parameters were given as a text
        return [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in inner.signature.param_dict]
    try:
        return list(inspect.signature(inner.forward).parameters.values())
    except ValueError:  # TorchScript that was traced, or read from a file
        return [Parameter("args", Parameter.VAR_POSITIONAL)]


def _data_of(inputs: Mapping[str, Any], n_copies: int) -> object:
    """All inputs as one object of PyG's, which knows how many graphs it holds."""
    from torch_geometric.data import Batch  # noqa: PLC0415  (a module that takes data has loaded PyG)

    owner = inputs["batch"]
    ptr = torch.arange(n_copies + 1, device=owner.device) * (len(owner) // max(1, n_copies))
    return Batch(**{name: value for name, value in inputs.items() if value is not None}, ptr=ptr)


def _is_about_missing(error: BaseException, name: str) -> bool:
    """True if an error comes from code that names an input that is None."""
    code = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename != __file__)
    named = any(name in (*each.co_names, *each.co_varnames) for each in code)
    return named and (isinstance(error, AssertionError) or "NoneType" in str(error))


def logits_in(returned: Any, output: str | int | None) -> torch.Tensor:  # noqa: ANN401  (whatever a module returns)
    """The logits in what a module returned: all of it, or one entry of several."""
    if isinstance(returned, torch.Tensor):
        if output is None:
            return returned
        raise ValueError(f"it gave one tensor, and none has the name {output!r}: leave output={output!r} out")
    listed = returned if isinstance(returned, tuple | list) else ()
    entries = returned if isinstance(returned, Mapping) else enumerate(listed)
    tensors = {name: value for name, value in dict(entries).items() if isinstance(value, torch.Tensor)}
    if output in tensors:
        return tensors[output]
    if not tensors:
        raise ValueError(f"it gave no tensor of logits, but {type(returned).__name__}")
    shown = ", ".join(f"{name!r} {tuple(value.shape)}" for name, value in tensors.items())
    first = next(iter(tensors))
    raise ValueError(f"it gave a {type(returned).__name__} of {shown}: say which the logits are, output={first!r}")


def logits_of(returned: torch.Tensor, n_copies: int, n_classes: int, *, n_nodes: int, of_nodes: bool) -> torch.Tensor:
    """The logits of each copy, shape (copies, columns), or of each of its nodes, shape (copies, nodes, columns).

    There is a column for each class, or a single one: it tells two classes apart (`columns_of_classes`), or is a number
    in place of a class, where `n_classes` is 1. The module returned a row for each copy; or, `of_nodes`, a row for each
    node of each copy, copy after copy.
    """
    all_nodes = n_copies * n_nodes
    rows, other_rows = (all_nodes, n_copies) if of_nodes else (n_copies, all_nodes)
    found = returned.flatten(0, 1) if of_nodes and returned.shape[:2] == (n_copies, n_nodes) else returned
    if n_classes <= 2 and found.shape in ((rows,), (rows, 1)):
        found = found.reshape(rows, 1)
    elif found.shape != (rows, n_classes):
        what = f"{n_nodes} nodes in each of {n_copies} copies" if of_nodes else f"{n_copies} graphs"
        hint = _hint(found, rows, other_rows, n_classes, of_nodes=of_nodes)
        wanted = (
            "logits of shape {} for {} and {} classes" if n_classes > 1 else "outputs of shape {} for {}, not one each"
        )
        raise ValueError(f"it gave {wanted.format(tuple(returned.shape), what, n_classes)}{hint}")
    return found.view(n_copies, n_nodes, -1) if of_nodes else found


def _hint(found: torch.Tensor, rows: int, other_rows: int, n_classes: int, *, of_nodes: bool) -> str:
    """A hint if logits of another shape have an obvious cause."""
    columns = found.shape[1] if found.dim() == 2 else 1
    if found.dim() in (1, 2) and found.shape[0] == rows and n_classes > 1:
        return f": set n_classes={max(2, columns)}, or let it have a column for each class"
    if found.dim() not in (1, 2) or found.shape[0] != other_rows:
        return ""
    if of_nodes:
        return ": it answers the whole graph. Leave targets='nodes' out, or let it answer every node"
    return ": it answers every node. Let it pool over the nodes of a graph, or say targets='nodes'"


def columns_of_classes(found: torch.Tensor, outputs: Outputs) -> torch.Tensor:
    """A column for each class, the largest of which is the answer.

    Of a single output the first is 0, or 1 − p for a probability; one outside [0, 1] becomes NaN.
    """
    if found.shape[-1] > 1 or isinstance(outputs, ValueRange):
        return found
    if outputs != "probability":
        return torch.cat([torch.zeros_like(found), found], dim=-1)
    possible = found.where((found >= 0) & (found <= 1), torch.nan)
    return torch.cat([1 - possible, possible], dim=-1)


def checked_outputs(outputs: Outputs, n_classes: int | None, class_names: Sequence[str] | None) -> Outputs:
    """The meaning of a module's one output, checked."""
    if isinstance(outputs, ValueRange):
        return checked_range(outputs, n_classes=n_classes, class_names=class_names)
    if outputs not in (None, "logit", "probability"):
        raise InvalidParameterError("outputs", "be 'logit', 'probability' or a ValueRange", outputs)
    if outputs is not None and n_classes != 2:
        hint = "Several columns answer the class of the largest, be they logits or probabilities."
        raise InvalidParameterError("outputs", f"is for two classes, not {n_classes}. {hint}")
    return outputs


def checked_targets(targets: object, nodes: Any) -> Nodes:  # noqa: ANN401  (whatever a user may give)
    """The nodes that are targets, checked: a name, an array of indices or of truth values, or None for all."""
    if targets not in ("graph", "nodes"):
        raise InvalidParameterError("targets", "be 'graph' or 'nodes'", targets)
    if targets == "graph" and nodes is not None:
        raise InvalidParameterError("nodes", "needs targets='nodes'.")
    if nodes is None or isinstance(nodes, str):
        return nodes
    array = np.asarray(nodes)
    if array.ndim != 1 or array.dtype.kind not in "biu" or not array.size:
        requirement = "be node indices, a truth value for each node, or the name of node data that is one"
        raise InvalidParameterError("nodes", requirement, nodes)
    if array.dtype.kind != "b" and (array.min() < 0 or len(np.unique(array)) < len(array)):
        raise InvalidParameterError("nodes", "be node indices, 0 or more, each once", nodes)
    return array.copy()
