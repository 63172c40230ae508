"""How a PyTorch module is called: its parameters get what they are named after, in whatever order they come.

The signature of `forward` is read once. A parameter with one of the names below gets that; one with another name needs
a line in `arguments`, or a default. Nothing is guessed: what cannot be told is refused when the classifier is made.

| name | what it gets |
| --- | --- |
| `x` | the features of all nodes, copy after copy |
| `edge_index` | the edges of all copies as one block-diagonal graph |
| `edge_attr`, `edge_weight` | what its edges carry, column by column of `edge_index` |
| `batch` | for each node the number of its copy |
| `data` | all of it as one `torch_geometric.data.Batch` |
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch

from starcert.classifiers.identity import compiled_from
from starcert.system.errors import InvalidParameterError

__all__ = ["ON_MATRICES", "Arguments", "Calling", "Place", "calling_of"]

Arguments: TypeAlias = "Mapping[str, str] | Sequence[str] | None"
"""From the names of parameters to what they get; or what they get one after the other; or nothing to be said."""

GIVEN = ("x", "edge_index", "edge_attr", "edge_weight", "batch", "data")
OF_EDGES = ("edge_attr", "edge_weight")
"""What a graph may be without."""

HOW_TO_TYPE = (
    "Graph.from_smiles(…, bond_types=True), Graph.from_pyg(…, edge_types='edge_attr') or tu(…, edge_types=True)"
)
"""What gives edges types, for messages."""

IN_ORDER = ("x", "edge_index", "batch")
"""What three parameters get that have names of their own."""

Parameter = inspect.Parameter
BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
ANY_NUMBER = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Place(NamedTuple):
    """A parameter that is given something.

    Attributes:
        name: its name.
        what: what it gets, one of `GIVEN`.
        optional: whether it may go without, as it has a default.
        by_place: whether it can be given by place, if all before it are.
    """

    name: str
    what: str
    optional: bool = False
    by_place: bool = True


@dataclass(frozen=True)
class Calling:
    """How a module is called.

    Attributes:
        places: its parameters that are given something, in their order.
    """

    places: tuple[Place, ...]

    @property
    def wanted(self) -> frozenset[str]:
        """What must be made ready for a call."""
        asked = frozenset(place.what for place in self.places)
        return asked | {"x", "edge_index", "batch", *OF_EDGES} if "data" in asked else asked

    def call(self, model: Callable[..., Any], given: Mapping[str, object], n_copies: int) -> Any:  # noqa: ANN401
        """What the module gives for the values of `wanted`; what a graph is without is None.

        Parameters are given by place as far as they follow on each other, as one would write the call.
        """
        by_place: list[object] = []
        by_name: dict[str, object] = {}
        for number, place in enumerate(self.places):
            value = _data_of(given, n_copies) if place.what == "data" else given.get(place.what)
            if value is None and place.optional:
                continue
            if value is None:
                types = f" ({HOW_TO_TYPE})" if place.what == "edge_attr" else ""
                raise ValueError(
                    f"its forward asks for {place.what}, and the graph has none: give its edges types{types} or edge "
                    f"data, or the parameter {place.name!r} a default"
                )
            if place.by_place and len(by_place) == number:
                by_place.append(value)
            else:
                by_name[place.name] = value
        try:
            return model(*by_place, **by_name)
        except (TypeError, AttributeError, AssertionError) as error:
            if given.get("edge_attr") is not None or not _missed(error, "edge_attr"):
                raise
            words = " ".join([f"{type(error).__name__}:", *str(error).split()]).rstrip(":")
            raise ValueError(
                f"its forward uses edge_attr, and the graph has none, as its edges have no types ({words}): give them "
                f"types ({HOW_TO_TYPE})"
            ).with_traceback(error.__traceback__) from error


ON_MATRICES = Calling((Place("x", "x"), Place("adjacency", "adjacency")))
"""How a module on dense adjacency is called."""


def calling_of(model: torch.nn.Module, arguments: Arguments, *, of_graphs: bool) -> Calling:
    """How a module is called, by the signature of its forward pass.

    Args:
        model: the module.
        arguments: what parameters with names of their own get.
        of_graphs: whether it answers graph by graph, and must be told which nodes are whose.

    Raises:
        InvalidParameterError: a parameter has another name and no default; the message says what to write.

    Example:
        >>> class Net(torch.nn.Module):
        ...     def forward(self, h, edge_index, edge_weight=None, *, batch): ...
        >>> [place[:2] for place in calling_of(Net(), {"h": "x"}, of_graphs=True).places]
        [('h', 'x'), ('edge_index', 'edge_index'), ('edge_weight', 'edge_weight'), ('batch', 'batch')]
    """
    if arguments is not None and not isinstance(arguments, Mapping):
        in_order = tuple(Place("", what) for what in _checked(arguments, arguments))
        _check_places(in_order, (), f"arguments={arguments!r}", of_graphs=of_graphs)
        return Calling(in_order)
    named = dict(arguments or {})
    _checked(tuple(named.values()), arguments)
    parameters = _parameters(model)
    own = [each for each in parameters if each.kind not in ANY_NUMBER]
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters) and not own:
        hint = f"Say what it is called with, one after the other: arguments={IN_ORDER!r}."
        raise InvalidParameterError("model", "have a forward whose parameters have names", _shown(parameters), hint)
    for name in named.keys() - {each.name for each in own}:
        raise InvalidParameterError("arguments", f"name parameters of {_shown(parameters)}", name)
    what = {each.name: named.get(each.name, each.name) for each in own}
    if of_graphs and not named:
        what |= _in_order(own)
    places = []
    unknown = []
    after_gap = False
    for each in own:
        optional = each.default is not Parameter.empty
        if what[each.name] in GIVEN:
            by_place = each.kind in BY_PLACE and not after_gap
            places.append(Place(each.name, what[each.name], optional and what[each.name] in OF_EDGES, by_place))
        elif optional:
            after_gap = True
        else:
            unknown.append(each.name)
    _check_places(places, unknown, _shown(parameters), of_graphs=of_graphs)
    return Calling(tuple(places))


def _in_order(own: Sequence[Parameter]) -> dict[str, str]:
    """Parameters with names of their own that can only be x, edge_index and batch; empty if that is not so."""
    first, others = own[:3], own[3:]
    fits = len(first) == 3 and all(each.kind in BY_PLACE for each in first)
    fits &= all(each.name == what or each.name not in GIVEN for each, what in zip(first, IN_ORDER, strict=False))
    fits &= all(each.default is not Parameter.empty and each.name not in (*IN_ORDER, "data") for each in others)
    return dict(zip((each.name for each in first), IN_ORDER, strict=True)) if fits else {}


def _check_places(places: Sequence[Place], unknown: Sequence[str], shown: str, *, of_graphs: bool) -> None:
    """Refuses a forward whose parameters cannot all be given, or that is not told which nodes are whose."""
    what = {place.what for place in places}
    if unknown:
        example = dict(zip(unknown, [each for each in IN_ORDER if each not in what] or ["x"], strict=False))
        raise InvalidParameterError(
            "model",
            f"have a forward with the parameters {', '.join(GIVEN)}",
            shown,
            f"Say what {' and '.join(unknown)} {'is' if len(unknown) == 1 else 'are'}: arguments={example!r}; or give "
            "them defaults.",
        )
    if of_graphs and not what & {"batch", "data"}:
        raise InvalidParameterError(
            "model",
            "have a forward with the parameter batch, or data: which nodes belong to which copy",
            shown,
            "Let it pool with batch; or name the parameter that is it, arguments={'…': 'batch'}; or take its answer on "
            "every node, targets='nodes'.",
        )


def _checked(what: Sequence[str], arguments: object) -> Sequence[str]:
    if isinstance(what, str) or not all(each in GIVEN for each in what):
        requirement = f"map names of parameters to {', '.join(GIVEN)}, or list what they get one after the other"
        raise InvalidParameterError("arguments", requirement, arguments)
    return what


def _parameters(model: torch.nn.Module) -> list[Parameter]:
    """The parameters of a module's forward pass."""
    if isinstance(model, torch.jit.ScriptModule):  # its schema knows the names, self among them
        schema: Any = model.forward.schema  # type: ignore[attr-defined]
        return [
            Parameter(
                each.name,
                Parameter.KEYWORD_ONLY if each.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=None if each.has_default_value() else Parameter.empty,
            )
            for each in schema.arguments[1:]
        ]
    inner = compiled_from(model) or model
    pyg = sys.modules.get("torch_geometric.nn")
    if pyg is not None and isinstance(inner, pyg.Sequential):  # it was told its parameters in words
        return [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in inner.signature.param_dict]
    return list(inspect.signature(inner.forward).parameters.values())


def _data_of(given: Mapping[str, Any], n_copies: int) -> object:
    """All that is given, as one object of PyG's, which knows how many graphs it holds."""
    from torch_geometric.data import Batch  # noqa: PLC0415  (who takes data has it loaded)

    owner = given["batch"]
    ptr = torch.arange(n_copies + 1, device=owner.device) * (len(owner) // max(1, n_copies))
    return Batch(**{name: value for name, value in given.items() if value is not None}, ptr=ptr)


def _missed(error: BaseException, name: str) -> bool:
    """Whether an error comes from code that speaks of a thing that is None: it says so, or an assertion does."""
    code = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename != __file__)
    spoken_of = any(name in (*each.co_names, *each.co_varnames) for each in code)
    return spoken_of and (isinstance(error, AssertionError) or "NoneType" in str(error))


def _shown(parameters: Sequence[Parameter]) -> str:
    """A forward as a message shows it."""
    return f"forward{inspect.Signature([each.replace(annotation=Parameter.empty) for each in parameters])}"
