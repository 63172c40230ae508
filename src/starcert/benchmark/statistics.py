"""Estimators of scikit-learn on numbers of a graph whose change under few edges is known; certified exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from typing_extensions import override

from starcert.benchmark.folds import Objects
from starcert.benchmark.methods import Fitted, TriedMethod
from starcert.benchmark.outcomes import KINDS, Result, Timed, kind_of
from starcert.models import Statistics

NEIGHBOURS = 31
QUANTITIES = ("nodes", "labels", "edges"), ("nodes", "labels", "edges by label")


def _estimators() -> Mapping[str, Callable[[], Any]]:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return {
        "forest, 5 in a leaf": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        "forest, 20 in a leaf": lambda: RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
        f"{NEIGHBOURS} neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(NEIGHBOURS)),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000)),
    }


class OfStatistics(TriedMethod):
    """Four estimators, on the number of edges or on those between node labels; validation graphs choose.

    Few graphs to train on have no 31 neighbours.
    """

    name, certifies = "statistics", "scikit-learn on numbers of nodes and edges; certain"
    of_nodes, trains = False, False

    @override
    def fits(self, train: Objects) -> bool:
        return not train.graphs[0].directed

    @override
    def speaks_of(self, threat: str) -> bool:
        return kind_of(threat)[0] in KINDS

    @override
    def words(self, setting: Any) -> str:
        name, quantities = setting
        return f"{name} on {quantities[-1]}"

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        labelled = any("label" in graph.node_data for graph in train.graphs)
        names = [each for each in _estimators() if len(train) >= NEIGHBOURS or each != f"{NEIGHBOURS} neighbours"]
        self.settings = [*product(names, QUANTITIES[: 1 + labelled])]
        return super().fit(train, validation, threat)

    @override
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:
        name, quantities = setting
        key = "statistics", *setting
        if key not in self.networks.made:  # the same for every threat
            begun = time.perf_counter()
            made = Statistics(_estimators()[name](), quantities).fit(train.graphs, train.labels)
            self.networks.made[key] = Timed(made, time.perf_counter() - begun)
        return self.networks.made[key]

    @override
    def judge(self, model: Statistics, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        begun = time.perf_counter()
        found = model.certify(objects, threat=threat)
        rows = (one._replace(answer=int(model.classes_[one.answer])) for one in found.outcomes())
        return Result(threat, tuple(rows), None, 0, len(objects), time.perf_counter() - begun)
