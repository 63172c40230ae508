"""Layers on dense adjacency while a module works: put in the place of its own, and taken away again.

What stands there answers where the layer is one that it knows, exactly, set up plainly, and called with the edges that
the module was given (a promise, `Given`, which nothing else has looked at): by products with the adjacency matrices of
all copies. Everywhere else the layer itself answers, as it is written. So a module may do whatever it likes between its
layers, and who asks it meanwhile with plain tensors is answered as it is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from torch import nn

from starcert.classifiers import own_layers
from starcert.classifiers.anatomy import SLOT
from starcert.classifiers.plain_layers import UNKNOWN, Rule

__all__ = ["converted", "has_layers"]

_TURN = Lock()


class _Converted:
    """What is called in the place of a layer."""

    def __init__(self, layer: Any, rule: Rule) -> None:  # noqa: ANN401  (torch does not say what its modules give)
        self.layer, self.rule, self.users = layer, rule, 0

    def __call__(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = self.rule(self.layer, *args, **named)
        return self.layer._call_impl(*args, **named) if found is UNKNOWN else found


def has_layers(model: nn.Module) -> bool:
    """Whether a module has layers that can multiply."""
    rules = _rules()
    return any(type(each) in rules for each in model.modules())


@contextmanager
def converted(model: nn.Module) -> Iterator[None]:
    """While it is entered, layers that can multiply do, where they are given promises."""
    rules = _rules()
    with _TURN:
        layers = [each for each in model.modules() if type(each) in rules and _is_free(each)]
        for layer in layers:
            vars(layer).setdefault(SLOT, _Converted(layer, rules[type(layer)])).users += 1
    try:
        yield
    finally:
        with _TURN:
            for layer in layers:
                vars(layer)[SLOT].users -= 1
                if not vars(layer)[SLOT].users:
                    del vars(layer)[SLOT]


def _is_free(layer: nn.Module) -> bool:
    """Whether nobody else has put something in the place of a layer."""
    return SLOT not in vars(layer) or isinstance(vars(layer)[SLOT], _Converted)


def _rules() -> Mapping[type, Rule]:
    """What is known of layers: those of the ready networks, and those of PyG, where it is loaded."""
    if "torch_geometric.nn" not in sys.modules:
        return own_layers.RULES
    from starcert.classifiers import pyg_layers  # noqa: PLC0415  (whoever has such layers has PyG)

    return own_layers.RULES | pyg_layers.RULES
