"""The builder: a function that makes region rules, with what one must know to choose it and to write it as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from starcert.errors import InvalidParameterError
from starcert.regions.rule import RegionRule

__all__ = ["Builder"]


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
    reason: str
    kinds: Mapping[str, type]
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
