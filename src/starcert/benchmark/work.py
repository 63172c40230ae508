"""What is done for each object, and networks that are trained once for all methods on a fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

import starcert as sc
from starcert.classifiers import features, from_pyg
from starcert.datasets import Dataset, arcs, motif
from starcert.models import GCN, GIN, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.objects.binding import Regions
from starcert.system.errors import StarcertWarning

DRAWN = {"motif": motif, "arcs": arcs}
"""Data sets whose folds are draws with a seed each."""
MODELS = {"gin": GIN, "gcn": GCN}
"""Networks that can be compared."""
BATCH = 32
ALPHA = 0.01
"""The failure probability of every certificate."""

Rates = tuple[float, float]
Made = TypeVar("Made")


@dataclass(frozen=True)
class Work:
    """How much work is done for each graph."""

    graphs: int = 100  # that are tested in a fold, at most
    held: int = 60  # validation graphs that choose among tries, at most
    max_nodes: int = 40  # larger graphs are left out
    samples: int = 10_000  # votes on each test graph
    own_samples: int = 10_000  # votes at attacked versions of a test graph, at most
    choosing_samples: int = 2_000  # votes on each validation graph, and at attacked versions of it
    max_attacks: int = 50_000  # tried on the plain model: pairs of flips only where there are fewer
    steps: int = 2_200  # steps of training, about
    max_epochs: int = 200  # epochs of training at most, however few graphs there are
    hidden: int = 32  # units of each layer
    drawn: int = 400  # training graphs of the data that are drawn
    drawn_graphs: int = 40  # and their test graphs
    drawn_epochs: int = 40  # and epochs of training on them, at most
    of_a_class: int = 20  # nodes of a class to learn from, and as many that choose
    nodes: int = 1_000  # that are tested in a split, at most
    only: int = 0  # 1 to 3: the try that every method with several is held to; 0: validation chooses
    seed: int = 1  # of folds, weights, training and votes
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)  # which column of a table holds what


LESS: dict[str, Any] = {
    "graphs": 12, "held": 12, "samples": 2_000, "own_samples": 1_000, "choosing_samples": 1_000, "max_attacks": 2_000,
    "max_epochs": 15, "drawn": 100, "drawn_graphs": 12, "drawn_epochs": 10,
}  # fmt: skip
"""The work of a first look."""


def here() -> tuple[str, str]:
    """The device that torch works on, and its name: the first GPU, or the processor."""
    return ("cuda", torch.cuda.get_device_name()) if torch.cuda.is_available() else ("cpu", "CPU")


def pairs_noise(delete: float, add: float) -> sc.Noise:
    """The noise of all node pairs; one rate where both are the same."""
    return sc.Noise(pairs=sc.Flip(delete=delete, add=add))


class Timed(NamedTuple):
    """Something that was made, and how long it took."""

    value: Any
    seconds: float


class Networks:
    """What methods on the same fold share: each network is trained once, each set of votes counted once."""

    def __init__(self, work: Work, model: str = "gin") -> None:
        self.work, self.model = work, model
        self._made: dict[Hashable, tuple[Timed, object]] = {}

    def once(self, make: Callable[[], Any], *key: Hashable, about: object = ()) -> Timed:
        """What `make` returns, made at the first call with this key; `about` is what ids in the key belong to."""
        if key not in self._made:
            start, value = time.perf_counter(), make()
            self._made[key] = Timed(value, time.perf_counter() - start), about
        return self._made[key][0]

    def tries(self, settings: Sequence[Made]) -> Sequence[Made]:
        """The settings that a method tries: all of them, or the one that methods are held to."""
        place = min(self.work.only, len(settings)) - 1
        return settings if place < 0 else settings[place : place + 1]

    def choosing(self, validation: Dataset) -> Dataset:
        """The validation graphs that choose among tries."""
        return validation.limited(self.work.held, self.work.seed)

    def network(
        self,
        train: Dataset,
        validation: Dataset,
        rates: Rates = (0.0, 0.0),
        layers: int = 3,
        regions: Regions | None = None,
    ) -> Timed:
        """A smoothed network, trained with its noise, or without any; rates are those of two regions, if there are."""
        noise = pairs_noise(*rates) if regions is None else sc.Noise(core=rates[0], rest=rates[1])

        def made() -> sc.SmoothedClassifier:
            return train_network(self.work, self.model, train, validation, noise, layers, regions)

        return self.once(made, "network", id(train), noise, layers, about=train)

    def certificates(
        self,
        smoothed: sc.SmoothedClassifier,
        graphs: Sequence[sc.Graph],
        samples: int,
        evidence: tuple[int, int] | None,
    ) -> Timed:
        """Certificates of graphs; `evidence` is about how many flips, and from how many votes at attacked graphs."""
        how: dict[str, Any] = {"samples": samples, "seed": self.work.seed, "voting": sc.Voting(progress=False)}
        if evidence is not None:
            how |= {"threat": f"flips:{evidence[0]}", "evidence": sc.Evidence(own_samples=evidence[1])}
        key = (id(smoothed), *map(id, graphs), samples, evidence)
        return self.once(lambda: smoothed.certify(graphs, **how), *key, about=(smoothed, graphs))


def train_network(
    work: Work,
    model: str,
    train: Dataset,
    validation: Dataset,
    noise: sc.Noise,
    layers: int,
    regions: Regions | None = None,
) -> sc.SmoothedClassifier:
    """A network trained with noise; graphs without node data show it degrees."""
    (device, _), graph = here(), train.graphs[0]
    named = [name for name in ("x", "attributes") if name in graph.node_data]
    seen: list[Any] = named or (
        [features.in_degree(), features.out_degree()] if graph.directed else [features.degree()]
    )
    columns = sum(np.shape(graph.node_data[each])[1] if each in named else 1 for each in seen)
    n_classes = 1 + max(1, *train.known, *validation.known)
    with own_generator(work.seed, "cpu"):
        module = MODELS[model](columns, n_classes, hidden=work.hidden, layers=layers)
    base = from_pyg(module.to(device), n_classes=n_classes, features=seen)
    smoothed = sc.SmoothedClassifier(base, noise, regions, alpha=ALPHA)
    most = work.drawn_epochs if train.name in DRAWN else work.max_epochs
    epochs = max(1, min(most, work.steps * BATCH // len(train)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StarcertWarning)  # a try with one answer for all: validation chooses
        fit_with_noise(smoothed, train.graphs, train.labels, validation=(validation.graphs, validation.labels),
                       epochs=epochs, learning_rate=1e-2, halve_every=max(1, epochs // 4), batch_size=BATCH,
                       seed=work.seed, progress=False)  # fmt: skip
    return smoothed
