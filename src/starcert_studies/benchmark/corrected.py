"""A blind head with a bounded correction by edges, trained against single deletions, every attack tried."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.classifiers import from_pyg
from starcert.datasets import Dataset
from starcert_studies.benchmark.methods import TRIED, Tried
from starcert_studies.benchmark.outcomes import Result, exact_result
from starcert_studies.benchmark.work import BATCH, Timed
from starcert_studies.small_noise import here
from starcert_studies.worth_bonds import TRIES, Molecules, cross_fitted, train_corrections, with_blind


class Corrected(Tried):
    """A forest on the counts of node labels, and networks that move its logit by at most a bound (`worth_bonds.py`).

    It is there for two classes of undirected graphs with node labels.
    """

    name, certifies = "blind, corrected", "a blind logit with a bounded correction; certain"
    trains = False
    settings = TRIES

    @override
    @classmethod
    def fits(cls, train: Dataset) -> bool:
        graph = train.graphs[0]
        return set(train.known) == {0, 1} and "x" in graph.node_data and not graph.directed

    @override
    def words(self, setting: Sequence[int]) -> str:
        return f"networks {', '.join(map(str, setting))}"

    @override
    def model(self, setting: Sequence[int], train: Dataset, validation: Dataset) -> Timed:
        (network, logits_of), seconds = self.networks.once(
            lambda: self._trained(train, validation), "corrected", id(train), about=train
        )
        chosen = copy(network)
        chosen.chosen = list(setting)
        return Timed((chosen, logits_of), seconds / len(self.networks.tries(self.settings)))  # all are trained at once

    def _trained(self, train: Dataset, validation: Dataset) -> Any:  # noqa: ANN401
        work, (device, _) = self.networks.work, here()
        unseen, logits_of = cross_fitted(train, work.seed)
        taught = Molecules.of(train, unseen, device)
        held = Molecules.of(validation, logits_of(validation.graphs), device)
        epochs = max(1, min(work.max_epochs, work.steps * BATCH // len(train)))
        kinds = np.shape(train.graphs[0].node_data["x"])[1]
        return train_corrections(taught, held, kinds, epochs=epochs, seed=work.seed), logits_of

    @override
    def judge(self, model: Any, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False) -> Result:
        network, logits_of = model
        base = from_pyg(network, n_classes=2, features=("x", "blind"), outputs="logit")
        shown = with_blind(objects, logits_of(objects))
        return exact_result(base, shown, threat, farthest=TRIED, max_attacks=self.networks.work.max_attacks)
