"""Region rules, and builders that make them.

A rule is a function from a graph to its partition that knows its name, its parameters and its regions. A builder makes
rules; in text it is NAME or NAME:PARAMETER=VALUE,PARAMETER=VALUE. A new one is a function with the decorator
`@builder(…)`, which checks its parameters and returns a rule, and its name in `starcert.regions.BUILDERS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce, wraps
from operator import or_
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias

import numpy as np

from starcert.objects.graph import Graph
from starcert.objects.laws import real_number
from starcert.objects.partition import Partition
from starcert.system.errors import InvalidParameterError

Names: TypeAlias = str | list[str] | tuple[str, ...] | None
"""Several names: a sequence, or text with slashes between them."""

P = ParamSpec("P")


@dataclass(frozen=True, repr=False, eq=False)
class RegionRule:
    """A rule for the regions of any graph, made by one of the builders of `starcert.regions`.

    Use it as `regions` of a `SmoothedClassifier`. Rules are equal if their descriptions are, and can be pickled.

    Example:
        >>> from starcert import regions
        >>> rule = regions.communities(resolution=1.5)
        >>> rule, rule.regions
        (RegionRule(communities:resolution=1.5,method=louvain,seed=0), ('inside', 'between'))
        >>> rule(Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]))
        Partition(inside, between, anchored)
    """

    name: str
    parameters: Mapping[str, object]
    regions: tuple[str, ...] | None  # None if they depend on the graph
    divide: Callable[[Graph], Partition]
    why: str = ""  # why one would choose it
    reason: str = ""  # how the regions follow from the graph's own edges; empty if they do not
    described: str = field(default="", kw_only=True)  # the description, where text cannot express the rule

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.name, dict(self.parameters), self.regions, self.divide, self.why, self.reason)
        return partial(RegionRule, described=self.described), fields

    @property
    def anchored(self) -> bool:
        """True if the rule states that its regions are derived from the graph's own edges."""
        return bool(self.reason)

    @property
    def description(self) -> str:
        """The rule in a line, for records: as `build` reads it, where text can express it."""
        return self.described or as_text(self.name, self.parameters)

    def __call__(self, graph: Graph) -> Partition:
        """The partition of a graph, marked as anchored with the reason if the rule is."""
        partition = self.divide(graph)
        return replace(partition, anchored=True, reason=self.reason) if self.reason else partition

    def __repr__(self) -> str:
        return f"RegionRule({self.description})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegionRule) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)


@dataclass(frozen=True)
class Builder:
    """A function that makes region rules, with what one must know to choose it.

    Example:
        >>> from starcert.objects.regions import BUILDERS
        >>> BUILDERS["communities"].usage, BUILDERS["communities"].anchored
        ('communities:resolution=1.0,method=louvain,seed=0', True)
    """

    name: str
    make: Callable[..., RegionRule]
    regions: str  # their names, in words where they depend on parameters
    why: str  # this and `reason` are those of its rules
    reason: str = ""
    example: str = ""  # how to write it, where its defaults do not show it

    @property
    def anchored(self) -> bool:
        """True if its regions are derived from the graph's own edges."""
        return bool(self.reason)

    @cached_property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.make).parameters

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that text can set, with their defaults; None where leaving it out means something else."""
        return {name: each.default for name, each in self._signature.items() if name != "sets"}

    @property
    def usage(self) -> str:
        """Its text, with all parameters that have a default."""
        return self.example or as_text(self.name, self.parameters)

    def __call__(self, **parameters: object) -> RegionRule:
        """The rule with these parameters; text is turned into numbers where numbers are meant."""
        known = [name for name in self._signature if name != "sets"]
        if "sets" in self._signature and "sets" not in parameters:  # it collects all names that are not parameters
            own = {name: value for name, value in parameters.items() if name in known}
            parameters = {"sets": {name: value for name, value in parameters.items() if name not in known}, **own}
        for name in parameters:
            if name not in self._signature:
                listed = f"It has {', '.join(known)}." if known else "It has no parameters."
                raise InvalidParameterError("regions", f"use parameters that {self.name!r} has", name, listed)
        return self.make(**{name: self._read(name, value) for name, value in parameters.items()})

    def _read(self, name: str, value: object) -> object:
        kind = {"float": float, "int": int}.get(str(self._signature[name].annotation).partition(" ")[0], str)
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise InvalidParameterError(f"regions {self.name}:{name}", f"be {what}", value) from None


BUILT: dict[str, Builder] = {}  # all builders by name, as `builder` made them


def builder(
    regions: str, *, why: str, reason: str = "", example: str = ""
) -> Callable[[Callable[P, RegionRule]], Callable[P, RegionRule]]:
    """Makes a function that returns region rules a `Builder`, whose attributes these are; it names the rules."""

    def decorate(make: Callable[P, RegionRule]) -> Callable[P, RegionRule]:
        @wraps(make)
        def public(*args: P.args, **kwargs: P.kwargs) -> RegionRule:
            return replace(make(*args, **kwargs), name=make.__name__, why=why, reason=reason)

        BUILT[make.__name__] = Builder(make.__name__, public, regions, why, reason, example)
        return public

    return decorate


def rule_by(divide: Callable[..., Partition], regions: tuple[str, ...] | None, **parameters: object) -> RegionRule:
    """The rule, not yet named, of a function from a graph and these parameters to its partition."""
    return RegionRule("", parameters, regions, partial(divide, **parameters))


def as_text(name: str, parameters: Mapping[str, object]) -> str:
    """NAME:PARAMETER=VALUE,…, without the parameters that are None."""
    given = ",".join(f"{parameter}={value}" for parameter, value in parameters.items() if value is not None)
    return f"{name}:{given}" if given else name


def parse_rule(text: str) -> tuple[str, dict[str, str]]:
    """The name of a builder and its parameters, as text; commas inside brackets belong to a value."""
    form = "be NAME or NAME:PARAMETER=VALUE, with commas between parameters"
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameterError("regions", form, text, "Write for instance communities:resolution=1.5.")
    name, colon, rest = text.partition(":")
    parameters: dict[str, str] = {}
    for item in _items(rest) if colon else []:
        parameter, equals, value = (part.strip() for part in item.partition("="))
        if not (parameter and equals and value):
            raise InvalidParameterError("regions", form, text, f"{item.strip()!r} is not PARAMETER=VALUE.")
        if parameter in parameters:
            raise InvalidParameterError("regions", f"give {parameter!r} once", text)
        parameters[parameter] = value
    return name.strip(), parameters


def _items(text: str) -> list[str]:
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += character
    return items


def split_names(value: object, parameter: str) -> tuple[str, ...]:
    """Several names in one value: text with slashes between them, or a sequence."""
    names = value.split("/") if isinstance(value, str) else value
    listed = isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)
    found = tuple(name.strip() for name in names) if listed else ("",)  # type: ignore[attr-defined]
    if not all(found) or len(set(found)) < len(found):
        hint = "In text they stand between slashes: C/N/O."
        raise InvalidParameterError(parameter, "be one or more different words", value, hint)
    return found


def join_names(names: str | Iterable[str] | None) -> str | None:
    """Several names as text that `split_names` reads."""
    return names if names is None or isinstance(names, str) else "/".join(names)


def check_attribute(value: object) -> str:
    """The name of node data, checked."""
    if not isinstance(value, str) or not value:
        raise InvalidParameterError("attribute", "be the name of node data", value, "TU graphs have 'label', 'x'.")
    return value


def check_number(value: object, parameter: str, *, share: bool = False) -> float:
    """A finite number above 0; or a share, from 0 to 1."""
    number = real_number(value)
    if not (0 <= number <= 1 if share else 0 < number < np.inf):
        raise InvalidParameterError(parameter, f"be a number {'from 0 to 1' if share else 'above 0'}", value)
    return number


def data_of(graph: Graph, attribute: str) -> object:
    """The data of the nodes by name, anchored or not, or an error that lists what there is."""
    if attribute in graph.node_data:  # a rule that looks at anchored data reads edges
        return graph.node_data[attribute]
    if attribute not in graph.anchored_data:
        known = ", ".join(map(repr, [*graph.node_data, *graph.anchored_data])) or "none"
        hint = f"{graph!r} has {known}; choose one of its data."
        raise InvalidParameterError("attribute", "name data that every node has", attribute, hint)
    return graph.anchored_data[attribute]


@builder(
    "one for each layer that is named",
    why="Node data that are sites, such as elements, need regions beside those of node pairs. Join them with |.",
    example="layers:bonds=pairs,atoms=x",
)
def layers(sets: Mapping[str, str]) -> RegionRule:
    """Regions that are whole layers: "pairs" or "arcs", or data of nodes that are sites (`Graph.with_categories`).

    Args:
        sets: for the name of each region its layer.

    Example:
        >>> graph = Graph(3, [(0, 1)], node_data={"x": [0, 1, 1]}).with_bits("x")
        >>> layers({"bonds": "pairs", "atoms": "x"})(graph).sites(graph)
        Sites(bonds: 3, atoms: 3)
    """
    if not isinstance(sets, Mapping) or not sets:
        hint = "Write layers:atoms=x, or layers({'atoms': 'x'})."
        raise InvalidParameterError("regions", "name the layer of at least one region", sets, hint)
    Partition.of_layers(sets)  # names that cannot be are refused now
    return rule_by(_divide_by_layers, tuple(sets), **sets)


def _divide_by_layers(_graph: Graph, /, **sets: str) -> Partition:
    return Partition.of_layers(sets)


def join(*rules: RegionRule) -> RegionRule:
    """The rule whose regions are those of all these rules, anchored if one of them is; in text `one | other`.

    Example:
        >>> from starcert.objects.regions import ring_atoms
        >>> rule = join(ring_atoms(), layers({"atoms": "x"}))
        >>> rule, rule.regions, rule.anchored
        (RegionRule(ring_atoms | layers:atoms=x), ('ring', 'rest', 'between', 'atoms'), True)
    """
    if len(rules) == 1:
        return rules[0]
    regions = None if any(each.regions is None for each in rules) else sum((each.regions or () for each in rules), ())
    if regions is not None and len(set(regions)) < len(regions):
        twice = next(region for region in regions if regions.count(region) > 1)
        raise InvalidParameterError("regions", "have different names where rules are joined", f"{twice!r} twice")
    described = " | ".join(each.description for each in rules)
    reason = " ".join(dict.fromkeys(each.reason for each in rules if each.reason))
    return RegionRule("", {}, regions, partial(_divide_by_all, rules=rules), reason=reason, described=described)


def _divide_by_all(graph: Graph, *, rules: tuple[RegionRule, ...]) -> Partition:
    return reduce(or_, (rule(graph) for rule in rules))
