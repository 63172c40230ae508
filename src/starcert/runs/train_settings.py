"""How `starcert train` trains: its options, and the table [train] of a run file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from starcert.runs.setting_values import Setting, as_rate, whole_number
from starcert.system.errors import InvalidParameterError

__all__ = ["TRAIN_SETTINGS", "TrainSettings"]

_OF_GRAPHS = {"epochs": 300, "learning_rate": 1e-3, "weight_decay": 1e-3, "batch_size": 32, "seed": 0}
_OF_NODES = {"epochs": 1000, "learning_rate": 1e-2, "weight_decay": 5e-4, "batch_size": None, "seed": 0}


def _shown(key: str) -> str:
    """The default, in words."""
    graphs, nodes = _OF_GRAPHS[key], _OF_NODES[key]
    return f"{graphs}" if nodes in (graphs, None) else f"{graphs}; {nodes} for nodes"


_PANEL = "Training"

TRAIN_SETTINGS: dict[str, Setting] = {
    "epochs": Setting(
        check=whole_number(1, 10**9),
        help="How often the training graphs are seen, each time with fresh noise.",
        kind=int,
        panel=_PANEL,
        shown=_shown("epochs"),
    ),
    "learning_rate": Setting(
        check=as_rate,
        help="That of AdamW (of Adam for nodes); for graphs it is halved every 50 epochs.",
        kind=float,
        panel=_PANEL,
        shown=_shown("learning_rate"),
    ),
    "weight_decay": Setting(
        check=as_rate, help="That of AdamW, or of Adam.", kind=float, panel=_PANEL, shown=_shown("weight_decay")
    ),
    "batch_size": Setting(
        check=whole_number(1, 10**9), help="Graphs in a step.", kind=int, panel=_PANEL, shown=_shown("batch_size")
    ),
    "seed": Setting(
        check=whole_number(0, 2**63 - 1),
        help="The seed of training: of the module's first weights, of noise, order and dropout.",
        kind=int,
        panel=_PANEL,
        shown=_shown("seed"),
    ),
}
"""The settings of training by their keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How a module is trained; the help of each setting says what it is.

    Attributes:
        epochs: how many.
        learning_rate: of the optimizer.
        weight_decay: of the optimizer.
        batch_size: graphs in a step; None where nodes are classified.
        seed: of all that is random.
    """

    epochs: int
    learning_rate: float
    weight_decay: float
    batch_size: int | None
    seed: int

    @classmethod
    def of(cls, given: Mapping[str, object], *, nodes: bool) -> Self:
        """The settings from those that are given, and the defaults for graphs or for nodes.

        Example:
            >>> TrainSettings.of({"epochs": 5}, nodes=True).learning_rate
            0.01
        """
        if nodes and given.get("batch_size") is not None:
            hint = "A step sees the whole graph."
            raise InvalidParameterError(
                "batch_size", "be left out where nodes are classified", given["batch_size"], hint
            )
        return cls(**{**(_OF_NODES if nodes else _OF_GRAPHS), **given})  # type: ignore[arg-type]
