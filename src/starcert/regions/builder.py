"""The builder: a function that makes region rules, with what one must know to choose it and to write it as text.

A rule is written NAME or NAME:PARAMETER=VALUE,PARAMETER=VALUE. Parameters are checked once, when the rule is made.

A new builder is three things: a function that checks its parameters and returns `NAME.rule(…)`, the `Builder` called
NAME beneath it, and its place in `starcert.regions.BUILDERS`.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from starcert.errors import InvalidParameterError
from starcert.regions.region_rule import Divide, RegionRule

__all__ = ["Builder", "parse_rule", "positive", "share", "text_of", "whole", "words_of"]


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
        >>> from starcert.regions import BUILDERS
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


def whole(value: object, parameter: str, least: int) -> int:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidParameterError(parameter, f"be a whole number, {least} or more", value)
    return int(value)


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
