"""How `starcert train` trains a module: each setting is declared once, as a field, as those of a run are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from typing import Any, Self

from starcert.models.weighting import ClassWeights, check_class_weights
from starcert.objects.laws import real_number
from starcert.runs import setting_values as checks
from starcert.runs.setting_values import Setting, declared, setting
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
    copies: int = setting(checks.whole(1, 10**6), "Noisy copies of each graph in a step.", default=1)
    worst: float = setting(
        checks.must("be a number from 0 to 1", lambda value: 0 <= real_number(value) <= 1, float),
        "How much the copy of a graph with the largest loss counts beside the mean of all copies, from 0 to 1.",
        default=0.0,
    )
    patience: int | None = setting(
        checks.whole(1, 10**9),
        "Training ends after this many epochs without a better one on the validation part.",
        shown="all epochs",
    )
    class_weights: str | tuple[float, ...] = setting(
        lambda value, _base, name: _class_weights(value, name),
        "How much each class counts, in losses and in the accuracy that decides which epoch is kept: balanced (all "
        "classes the same), none, numbers in the order of the classes such as 1,5, or auto: balanced where a class has "
        "under 10% of the training part.",
        default="auto",
        parse=lambda text, _option: _numbers_or_word(text),
        metavar="auto|balanced|none|NUMBER,…",
    )
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


def _numbers_or_word(text: str) -> str | list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text


def _class_weights(value: ClassWeights, name: str) -> str | tuple[float, ...]:
    with checks.renaming(name):
        return check_class_weights(value)


_FOR_NODES = {"epochs": 1000, "learning_rate": 0.01, "weight_decay": 0.0005, "batch_size": None}
"""Defaults where nodes are classified."""


def _declared_for_training(each: Field[Any]) -> Setting:
    for_nodes = f"; {_FOR_NODES[each.name]} for nodes" if _FOR_NODES.get(each.name) else ""
    about = declared(each)
    shown = about.shown if each.default is None else f"{each.default}{for_nodes}"
    return replace(about, panel="Training", shown=shown)


TRAIN_SETTINGS: dict[str, Setting] = {each.name: _declared_for_training(each) for each in fields(TrainSettings)}
"""The settings of training by their keys."""
