"""Region rules, and builders that make them.

A rule is a function from a graph to its partition that knows its name, its parameters and its regions. A builder is a
function that makes region rules, with what one must know to choose it and to write it as text: NAME or
NAME:PARAMETER=VALUE,PARAMETER=VALUE. Parameters are checked once, when the rule is made.

A new builder is three things: a function that checks its parameters and returns `NAME.rule(…)`, the `Builder` called
NAME beneath it, and its place in `starcert.regions.BUILDERS`.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeAlias

from starcert.objects import Graph, Partition
from starcert.objects.site_sets import Across, Inside, Nodes, PairSet
from starcert.system.errors import InvalidParameterError

__all__ = [
    "Builder",
    "Divide",
    "RegionRule",
    "canonical_order",
    "divided",
    "parse_rule",
    "positive",
    "share",
    "text_of",
    "words_of",
]

Divide: TypeAlias = Callable[[Graph], Partition]


@dataclass(frozen=True, repr=False, eq=False)
class RegionRule:
    """A rule for the regions of any graph, made by one of the builders of `starcert.regions`.

    It is given as `regions` to a `SmoothedClassifier`. Rules are equal if they say the same in records, and they can be
    sent to other processes.

    Attributes:
        name: the builder that made it.
        parameters: what the builder was given, by name, read-only.
        regions: the names of the regions, or None if only a graph can tell.
        divide: the function from a graph to its partition; it can be pickled.
        why: why one would choose it, a sentence.
        reason: how the regions follow from the graph's own edges, a sentence; empty if they do not. An empty one is no
            proof: regions that are read off edges all the same are marked when the rule is bound to a graph.

    Example:
        >>> from starcert import regions
        >>> rule = regions.communities(resolution=1.5)
        >>> rule
        RegionRule(communities:resolution=1.5,method=louvain,seed=0)
        >>> rule.regions, rule.anchored
        (('inside', 'between'), True)
        >>> rule(Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]))
        Partition(inside, between, anchored)
    """

    name: str
    parameters: Mapping[str, object]
    regions: tuple[str, ...] | None
    divide: Divide
    why: str
    reason: str = ""
    described: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    @property
    def anchored(self) -> bool:
        """Whether the rule says that its regions are read off the graph's own edges."""
        return bool(self.reason)

    @property
    def description(self) -> str:
        """The rule in a line, for records: as `build` reads it, where text can say it."""
        if self.described:
            return self.described
        given = ",".join(f"{name}={value}" for name, value in self.parameters.items() if value is not None)
        return f"{self.name}:{given}" if given else self.name

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

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.name, dict(self.parameters), self.regions, self.divide, self.why, self.reason)
        return partial(RegionRule, described=self.described), fields


def divided(sets: Mapping[str, Nodes], *, between: str | None = None) -> Partition:
    """A region of the pairs inside each of some disjoint node sets, and one of all pairs between them.

    Example:
        >>> divided({"ring": frozenset({0, 1}), "rest": frozenset({2})}, between="between")
        Partition(ring, rest, between)
    """
    parts: list[tuple[str, PairSet]] = [(region, Inside(nodes)) for region, nodes in sets.items()]
    if between is not None:
        parts.append((between, Across(tuple(sets.values()))))
    return Partition(tuple(parts))


def canonical_order(graph: Graph) -> list[int]:
    """The indices of the nodes in an order that follows from their names alone.

    What is computed in this order gives the same answer by name however the nodes were listed.

    Example:
        >>> canonical_order(Graph(4, [], nodes=["b", 10, "a", 9]))
        [3, 1, 2, 0]
    """

    def by_name(index: int) -> tuple[str, int, str]:
        name: Hashable = graph.nodes[index]
        whole = isinstance(name, int)
        return ("" if whole else type(name).__name__, name if isinstance(name, int) else 0, "" if whole else repr(name))

    return sorted(range(graph.n_nodes), key=by_name)


@dataclass(frozen=True)
class Builder:
    """A function that makes region rules, with what one must know to choose it.

    Attributes:
        name: what it is called, in text and as a function of `starcert.regions`.
        make: the function.
        regions: the names of its regions, in words where they depend on its parameters.
        why: why one would choose it, a sentence.
        reason: how its regions follow from the graph's own edges, a sentence; empty if they do not.
        kinds: what text means for each parameter: float, int or str.
        needs_model: whether it must be given a model, which text cannot say.
        collects: the parameter that collects all other names, if any may be given.
        example: how to write it, where its defaults do not show it.

    Example:
        >>> from starcert.objects.regions import BUILDERS
        >>> builder = BUILDERS["communities"]
        >>> builder.parameters, builder.anchored
        (mappingproxy({'resolution': 1.0, 'method': 'louvain', 'seed': 0}), True)
        >>> print(builder.usage)
        communities:resolution=1.0,method=louvain,seed=0
    """

    name: str
    make: Callable[..., RegionRule]
    regions: str
    why: str
    reason: str = ""
    kinds: Mapping[str, type] = field(default_factory=dict)
    needs_model: bool = False
    collects: str = ""
    example: str = ""

    @property
    def anchored(self) -> bool:
        """Whether its regions are read off the graph's own edges."""
        return bool(self.reason)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that text can set, with their defaults; None where leaving it out means something else."""
        signature = inspect.signature(self.make).parameters
        return MappingProxyType({name: signature[name].default for name in self.kinds})

    @property
    def usage(self) -> str:
        """How to write it, with all parameters that have a default."""
        if self.example:
            return self.example
        given = ",".join(f"{name}={value}" for name, value in self.parameters.items() if value is not None)
        return f"{self.name}:{given}" if given else self.name

    def rule(
        self,
        parameters: Mapping[str, object],
        regions: tuple[str, ...] | None,
        divide: Divide,
        *,
        described: str = "",
    ) -> RegionRule:
        """A rule of this builder, for its function to return; see `RegionRule`."""
        return RegionRule(self.name, parameters, regions, divide, self.why, self.reason, described=described)

    def __call__(self, **parameters: object) -> RegionRule:
        """The rule with these parameters; text is turned into numbers where numbers are meant."""
        known = [*self.kinds, *(["model"] if self.needs_model else [])]
        if self.collects and self.collects not in parameters:
            parameters = {
                self.collects: {name: value for name, value in parameters.items() if name not in known},
                **{name: value for name, value in parameters.items() if name in known},
            }
        for name in parameters.keys() - {self.collects}:
            if name not in known:
                listed = f"It has {', '.join(known)}." if known else "It has no parameters."
                raise InvalidParameterError("regions", f"use parameters that {self.name!r} has", name, listed)
        return self.make(**{name: self._read(name, value) for name, value in parameters.items()})

    def _read(self, name: str, value: object) -> object:
        kind = self.kinds.get(name, str)
        if not isinstance(value, str) or kind is str:
            return value
        try:
            return kind(value)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise InvalidParameterError(f"regions {self.name}:{name}", f"be {what}", value) from None


_FORM = "be NAME or NAME:PARAMETER=VALUE, with commas between parameters"


def parse_rule(text: str) -> tuple[str, dict[str, str]]:
    """The name of a builder and its parameters, as text; commas inside brackets belong to a value.

    Example:
        >>> parse_rule("functional_groups:smarts=[N,O]=C,bonds=guess")
        ('functional_groups', {'smarts': '[N,O]=C', 'bonds': 'guess'})
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameterError("regions", _FORM, text, "Write for instance communities:resolution=1.5.")
    name, colon, rest = text.partition(":")
    parameters: dict[str, str] = {}
    for item in _items(rest) if colon else []:
        parameter, equals, value = (part.strip() for part in item.partition("="))
        if not (parameter and equals and value):
            raise InvalidParameterError("regions", _FORM, text, f"{item.strip()!r} is no PARAMETER=VALUE.")
        if parameter in parameters:
            raise InvalidParameterError("regions", f"give {parameter!r} once", text)
        parameters[parameter] = value
    return name.strip(), parameters


def words_of(value: object, parameter: str) -> tuple[str, ...]:
    """Several words in one value: separated by slashes in text, or a sequence of strings.

    Example:
        >>> words_of("nitro/amine", "groups"), words_of(["C", "N"], "elements")
        (('nitro', 'amine'), ('C', 'N'))
    """
    words = value.split("/") if isinstance(value, str) else value
    if isinstance(words, list | tuple) and words and all(isinstance(word, str) and word.strip() for word in words):
        found = tuple(word.strip() for word in words)
        if len(set(found)) == len(found):
            return found
    hint = "In text they stand between slashes: C/N/O."
    raise InvalidParameterError(parameter, "be one or more different words", value, hint)


def text_of(words: str | Iterable[str] | None) -> str | None:
    """Several words as text, so that `words_of` reads them."""
    return words if words is None or isinstance(words, str) else "/".join(words)


def _items(text: str) -> list[str]:
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += character
    return items


def positive(value: object, parameter: str) -> float:
    """A finite number above 0."""
    if not _is_number(value) or not 0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise InvalidParameterError(parameter, "be a number above 0", value)
    return float(value)  # type: ignore[arg-type]


def share(value: object, parameter: str) -> float:
    """A number from 0 to 1."""
    if not _is_number(value) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        raise InvalidParameterError(parameter, "be a number from 0 to 1", value)
    return float(value)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
