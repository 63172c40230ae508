"""The settings of `starcert train`: each is declared once, as a field, as those of a run are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from msgspec import UNSET, Meta, Struct

from starcert.models.judging import check_class_weights
from starcert.runs.declaration import Setting, declared
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True, slots=True)
class TrainSetting(Setting):
    """A setting of training, with a default of its own where nodes are classified."""

    main: bool = True
    for_nodes: object = UNSET


class TrainSettings(Struct, frozen=True, kw_only=True):
    """The settings of `starcert train`: its options, and the table [train] of a run file."""

    epochs: Annotated[int, Meta(ge=1, le=10**9), TrainSetting(
        "Passes over the training graphs, each with fresh noise.", for_nodes=1000
    )] = 300  # fmt: skip
    learning_rate: Annotated[float, Meta(ge=0), TrainSetting(
        "The learning rate of AdamW (Adam for nodes); for graphs it is halved every 50 epochs.", for_nodes=0.01,
        must="be a number, 0 or more, such as 0.001",
    )] = 0.001  # fmt: skip
    weight_decay: Annotated[float, Meta(ge=0), TrainSetting(
        "The weight decay of AdamW (Adam for nodes).", for_nodes=0.0005, must="be a number, 0 or more, such as 0.001"
    )] = 0.001  # fmt: skip
    batch_size: Annotated[int | None, Meta(ge=1, le=10**9), TrainSetting("Graphs in a step.", for_nodes=None)] = 32
    copies: Annotated[int, Meta(ge=1, le=10**6), TrainSetting("Noisy copies of each graph in a step.")] = 1
    worst: Annotated[float, Meta(ge=0, le=1), TrainSetting(
        "How much the copy of a graph with the largest loss counts beside the mean of all copies, from 0 to 1."
    )] = 0.0  # fmt: skip
    patience: Annotated[int | None, Meta(ge=1, le=10**9), TrainSetting(
        "Training ends after this many epochs without a better one on the validation part.", shown="all epochs"
    )] = None  # fmt: skip
    class_weights: Annotated[str | tuple[float, ...], TrainSetting(
        "How much each class counts, in losses and in the accuracy that decides which epoch is kept: balanced (all "
        "classes the same), none, numbers in the order of the classes such as 1,5, or auto: balanced where a class has "
        "under 10% of the training part.",
        form=Literal["auto", "balanced", "none"] | list[float], read=lambda value, *_: check_class_weights(value),
        must="be one of auto, balanced, none, or a number for each class",
        parse=lambda text, _option: text.split(",") if text[:1].isdecimal() else text,
        metavar="auto|balanced|none|NUMBER,…",
    )] = "auto"  # fmt: skip
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1), TrainSetting(
        "The seed of training: of the module's first weights, of noise, order and dropout."
    )] = 0  # fmt: skip

    @classmethod
    def of(cls, given: Mapping[str, Any], *, nodes: bool) -> Self:
        """The given settings, and the defaults for graphs or for nodes."""
        if nodes and given.get("batch_size") is not None:
            raise InvalidParameterError("batch_size", "is for graphs: with nodes, a step sees the whole graph.")
        own = {key: each.for_nodes for key, each in TRAIN_SETTINGS.items() if nodes and each.for_nodes is not UNSET}
        return cls(**{**own, **given})


def _for_training(each: TrainSetting) -> TrainSetting:
    for_nodes = f"; {each.for_nodes} for nodes" if each.for_nodes not in (UNSET, None) else ""
    return replace(each, shown=f"{each.shown}{for_nodes}")


TRAIN_SETTINGS = {key: _for_training(each) for key, each in declared(TrainSettings, TrainSetting).items()}
"""The settings of training by their keys."""
