"""A shadow of a module: the same parameters and the same code, with stand-ins for some of its layers.

The module itself is not touched, so that whoever else uses it meanwhile is answered as it is written. A shadow is made
for one call: what has changed in the module since the last one is in it. What the module holds is shared. Only the
modules on the way to a replaced layer are copied, each with all its attributes, and the tables in which they hold each
other. Layers that are held in any other way than in a table of modules are not found there, and run as they are
written.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from torch import nn

__all__ = ["shadow_of"]


def shadow_of(module: nn.Module, stand_ins: Mapping[nn.Module, nn.Module]) -> nn.Module:
    """A module with stand-ins in the places of some of the layers inside it."""
    shadow: nn.Module = _Shadows(stand_ins).of(module)
    return shadow


class _Shadows:
    def __init__(self, stand_ins: Mapping[nn.Module, nn.Module]) -> None:
        self._made: dict[int, Any] = {id(layer): stand_in for layer, stand_in in stand_ins.items()}

    def of(self, module: Any) -> Any:  # noqa: ANN401
        if id(module) in self._made:
            return self._made[id(module)]
        self._made[id(module)] = module  # where it holds itself
        tables = (
            {}
            if not _is_plain_object(module)
            else {name: table for name, value in vars(module).items() if (table := self._table(value)) is not None}
        )
        if tables:
            shadow = object.__new__(type(module))
            vars(shadow).update(vars(module) | tables)
            self._made[id(module)] = shadow
        return self._made[id(module)]

    def _table(self, value: Any) -> Any:  # noqa: ANN401
        """A table of modules with the shadows of those that have one; None if that is the table itself."""
        if type(value) not in (dict, OrderedDict):
            return None
        shadows = {name: self.of(each) for name, each in value.items() if isinstance(each, nn.Module)}
        if all(shadows[name] is value[name] for name in shadows):
            return None
        return type(value)((name, shadows.get(name, each)) for name, each in value.items())


def _is_plain_object(module: object) -> bool:
    """Whether all that a module is lies in its attributes."""
    kind = type(module)
    return kind.__new__ is object.__new__ and not any(getattr(each, "__slots__", ()) for each in kind.__mro__)
