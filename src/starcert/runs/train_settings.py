"""The settings of training: how a module is trained with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from typing import Any, Self

from starcert.runs import setting_values as checks
from starcert.runs.setting_values import Setting, declared
from starcert.runs.settings import setting
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How `starcert train` trains a module: its options, and the table [train] of a run file."""

    epochs: int = setting(
        checks.whole(1, 10**9), "How often the training graphs are seen, each time with fresh noise.", default=300
    )
    learning_rate: float = setting(
        checks.as_rate, "That of AdamW (of Adam for nodes); for graphs it is halved every 50 epochs.", default=0.001
    )
    weight_decay: float = setting(checks.as_rate, "That of AdamW, or of Adam.", default=0.001)
    batch_size: int | None = setting(checks.whole(1, 10**9), "Graphs in a step.", default=32)
    seed: int = setting(
        checks.whole(0, 2**63 - 1),
        "The seed of training: of the module's first weights, of noise, order and dropout.",
        default=0,
    )

    @classmethod
    def of(cls, given: Mapping[str, Any], *, nodes: bool) -> Self:
        """The given settings, and the defaults for graphs or for nodes."""
        if nodes and given.get("batch_size") is not None:
            requirement, hint = "be left out where nodes are classified", "A step sees the whole graph."
            raise InvalidParameterError("batch_size", requirement, given["batch_size"], hint)
        return cls(**{**(_FOR_NODES if nodes else {}), **given})


_FOR_NODES = {"epochs": 1000, "learning_rate": 0.01, "weight_decay": 0.0005, "batch_size": None}
"""Defaults where nodes are classified."""


def _declared_for_training(each: Field[Any]) -> Setting:
    for_nodes = f"; {_FOR_NODES[each.name]} for nodes" if _FOR_NODES.get(each.name) else ""
    return replace(declared(each), panel="Training", shown=f"{each.default}{for_nodes}")


TRAIN_SETTINGS: dict[str, Setting] = {each.name: _declared_for_training(each) for each in fields(TrainSettings)}
"""The settings of training by their keys."""
