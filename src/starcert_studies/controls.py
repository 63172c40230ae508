"""Controls: figures that others have published, computed here with the parts that a benchmark is made of.

How far a certificate of sparse_smoothing's demonstration reaches on Cora-ML follows from the noise and the number of
votes alone, so it must come out to the last digit. What a blind model and a GIN have right on all graphs of NCI1 and
PROTEINS must lie within the spread that the fair comparison of graph classifiers reports; as there, they see the labels
of nodes and no other data of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from typing_extensions import override

import starcert as sc
from starcert.baselines import blind
from starcert.datasets import Dataset, tu
from starcert.datasets.tu_files import local_names
from starcert.models import GIN
from starcert.objects import Partition
from starcert.system.processes import one_torch_thread
from starcert_studies.benchmark.folds import together
from starcert_studies.benchmark.work import pairs_noise
from starcert_studies.cora import LINKS, WORDS
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part
from starcert_studies.small_noise import here
from starcert_studies.study import Study, clean_answers, fold_splits, trained_network
from starcert_studies.voted import ALPHA

FARTHEST, WAYS = 64, ((1, 0), (0, 1))  # changes that are considered: deletions alone, additions alone
REACH = {
    "words, as in the demonstration": WORDS,
    "links, as often used elsewhere": sc.Flip(delete=0.4, add=0.001),
    "links, as in the study of Cora-ML": LINKS,
}
"""Noise whose reach is computed."""
FAIR: dict[str, dict[str, tuple[float, float]]] = {
    "NCI1": {"blind": (0.698, 0.022), "GIN": (0.800, 0.014)},
    "PROTEINS": {"blind": (0.758, 0.037), "GIN": (0.733, 0.040)},
}
"""The published mean over ten folds, and its spread."""

Size = tuple[int, int]  # units of a layer, and layers


class Fold(NamedTuple):
    """A fold of all graphs of a data set: to learn from, to choose by, to test."""

    taught: Dataset
    held: Dataset
    tested: Dataset


@dataclass(frozen=True)
class Controls(Study):
    """The reach of a certificate, and the accuracies of two models."""

    quick: ClassVar = {"folds": 1, "sizes": ((8, 2),), "epochs": 1, "graphs": 120}

    samples: int = 100_000  # votes, all for one class, whose reach is computed
    data: tuple[str, ...] = tuple(FAIR)
    folds: int = 10  # of ten
    sizes: tuple[Size, ...] = ((32, 4), (64, 4))  # networks that validation chooses from
    epochs: int = 200  # of training
    graphs: int | None = None  # of a data set, at most; None: all
    seed: int = 1  # of folds, weights and training

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        study, copies = super().from_options(samples, seed, quick), local_names()
        return replace(study, data=tuple(name for name in study.data if name in copies))

    @override
    def parts(self) -> list[Part]:
        made = []
        for name in self.data:
            for fold in range(self.folds):
                made += [Part(self.network(name, fold, size), network_accuracies, (self, name, fold, size), 20)
                         for size in self.sizes]  # fmt: skip
                made.append(Part(f"{name}-{fold}-blind", blind_accuracy, (self, name, fold), 10))
        return made

    @staticmethod
    def network(name: str, fold: int, size: Size) -> str:
        """The part of a network on a fold."""
        return f"{name}-{fold}-gin-{size[0]}x{size[1]}"

    @override
    def outcome(self, report: Report, found: Mapping[Any, Any], results: Mapping[str, Any]) -> None:
        reached = [reach_of(what, law, self.samples) for what, law in REACH.items()]
        report.table("reach", reached)
        first = reached[0]
        as_published = (first["additions"], first["deletions"], round(first["needed"], 3)) == (6, 18, 0.697)
        report.check("reach", as_published, enough=self.samples == Controls.samples, votes=self.samples, **first)
        report.sentence(0, votes=self.samples, **first)
        for name in self.data:
            of_blind = [results[f"{name}-{fold}-blind"] for fold in range(self.folds)]
            of_gin = [chosen(self, name, fold, results) for fold in range(self.folds)]
            for model, folds in (("blind", of_blind), ("GIN", of_gin)):
                self.report_model(report, name, model, folds)
        missing = [name for name in FAIR if name not in self.data]
        if missing:
            report.sentence(2, missing=", ".join(missing))

    def report_model(self, report: Report, name: str, model: str, folds: Sequence[Mapping[str, Any]]) -> None:
        """The folds of a model on a data set, and whether their mean is within the published spread."""
        report.table("folds", folds, data=name, model=model)
        shares = np.array([fold["accuracy"] for fold in folds])
        (published, spread), mean = FAIR[name][model], float(shares.mean())
        row = {"mean": mean, "spread": float(shares.std()), "published": published, "published_spread": spread}
        report.table("accuracies", [{"data": name, "model": model, **row, "folds": len(folds)}])
        values = {"data": name, "model": model, "folds": len(folds), **row}
        full = replace(self, samples=Controls.samples, seed=Controls.seed) == replace(Controls(), data=self.data)
        report.check("accuracy", abs(mean - published) <= spread, enough=full, **values)
        report.sentence(1, seconds=sum(fold["seconds"] for fold in folds), **values)


def reach_of(what: str, law: sc.Flip, votes: int) -> dict[str, Any]:
    """How many additions, or deletions, unanimous votes certify, each proved; and the least p_A for any change."""
    noise = sc.Noise(sites=law)
    bounds = sc.clopper_pearson(sc.Votes([[votes, 0]], selection=[[1, 0]]), alpha=ALPHA)
    (one,) = sc.certify(bounds, noise, max_radius=(FARTHEST, FARTHEST))
    deletions, additions = (
        max(size for size in range(FARTHEST + 1) if one.certified((size * way[0], size * way[1]))) for way in WAYS
    )
    needed = min(1 - sc.slack(noise, way) for way in WAYS)
    return {"noise": what, "delete": law.delete, "add": law.add, "p_lower": float(bounds.p_lower[0]),
            "additions": additions, "deletions": deletions, "needed": needed}  # fmt: skip


@lru_cache(maxsize=2)
def fold_of(study: Controls, name: str, fold: int) -> Fold:
    """A stratified fold of all graphs, of whose nodes labels are kept."""
    every = tu(name).limited(study.graphs, study.seed)
    graphs = [graph.without("attributes") if "attributes" in graph.node_data else graph for graph in every.graphs]
    return Fold(*fold_splits(replace(every, graphs=tuple(graphs)).all, fold, study.seed)[:3])


def share_right(answers: Sequence[int], data: Dataset) -> float:
    """The share of graphs that are answered right."""
    return float(np.mean(np.asarray(answers) == data.labels))


def blind_accuracy(study: Controls, name: str, fold: int) -> dict[str, Any]:
    """What the best model that sees no edge has right on a fold, and which it is."""
    start, cut = time.perf_counter(), fold_of(study, name, fold)
    model = blind(together(cut.taught, cut.held), noise=pairs_noise(0.1, 0.1), seed=study.seed)
    found = share_right(model.predict(cut.tested.graphs).tolist(), cut.tested)
    return {"fold": fold, "chosen": model.description, "tries": len(model.candidates), "accuracy": found,
            "seconds": time.perf_counter() - start, "device": "CPU"}  # fmt: skip


def network_accuracies(study: Controls, name: str, fold: int, size: Size) -> dict[str, Any]:
    """What a GIN that was trained without noise has right on validation and on test graphs."""
    start, (device, words), cut = time.perf_counter(), here(), fold_of(study, name, fold)
    columns = np.shape(cut.taught.graphs[0].node_data["x"])[1]

    def network() -> torch.nn.Module:
        return GIN(columns, 2, hidden=size[0], layers=size[1]).to(device)

    with one_torch_thread():
        base = trained_network(
            network, study.seed, pairs_noise(0.0, 0.0), None, cut.taught, cut.held, epochs=study.epochs,
            learning_rate=1e-2, halve_every=50, batch_size=128, seed=study.seed,
        )  # fmt: skip
        everything = Partition.everything("pairs")
        held, right = (share_right(clean_answers(base, [everything.sites(graph) for graph in some.graphs]), some)
                       for some in (cut.held, cut.tested))  # fmt: skip
    return {"validation": held, "accuracy": right, "seconds": time.perf_counter() - start, "device": words}


def chosen(study: Controls, name: str, fold: int, results: Mapping[str, Any]) -> dict[str, Any]:
    """The network that validation graphs choose on a fold, of equals the first, with the seconds of all tries."""
    tries = {size: results[study.network(name, fold, size)] for size in study.sizes}
    best = max(tries, key=lambda size: tries[size]["validation"])
    seconds, words = sum(each["seconds"] for each in tries.values()), f"{best[1]} layers of {best[0]} units"
    return {"fold": fold, "chosen": words, "tries": len(tries), "accuracy": tries[best]["accuracy"],
            "seconds": seconds, "device": tries[best]["device"]}  # fmt: skip
