"""What certificates of graphs are worth: every method on the same test graphs, beside a model that sees no edge.

A part is one fold and one group of methods that share what is trained. Each method has three tries, of which validation
graphs choose one; the blind model chooses by cross-validation among its own.

    blind      `baselines.blind`, fitted on all that is not tested: certified at any number of flips
    plain      a network without noise, every attack tried: one, two or three layers
    p_A        the same network trained with two-way noise, certified by its votes: three levels
    evidence   the same votes and votes at attacked graphs, with a level of its own
    fallback   that one, with the blind answer where no other class is likely enough: three thresholds
    one-way    edges are deleted and never added: three levels; chosen for one flip, and for ten
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

import starcert as sc
from starcert.baselines import blind
from starcert.classifiers import features, from_pyg
from starcert.datasets import Dataset, arcs, motif, tu
from starcert.models import GIN, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.system.processes import one_torch_thread
from starcert_studies.graph_outcomes import (
    ANY,
    COLUMNS,
    Outcome,
    Row,
    counts_alone,
    exact_outcomes,
    outcome_of,
    right_share,
    table,
)
from starcert_studies.reproduce import Part
from starcert_studies.small_noise import here
from starcert_studies.study import fold_splits
from starcert_studies.voted import ALPHA

__all__ = ["GROUPS", "GraphRows", "judge_group", "table"]

DRAWN = {"motif": motif, "arcs": arcs}
"""Data sets whose folds are draws with a seed each."""
TWO_WAY, ONE_WAY = ((0.2, 0.05), (0.4, 0.1), (0.6, 0.05)), ((0.8, 0.0), (0.9, 0.0), (0.97, 0.0))
LAYERS, THRESHOLDS = (1, 2, 3), (0.6, 0.75, 0.9)
GROUPS, LONGEST = ("two-way", "one-way", "plain", "blind"), ("NCI1", "PROTEINS", "arcs", "motif", "MUTAG")
BATCH = 32

Key = TypeVar("Key")


@dataclass(frozen=True)
class GraphRows:
    """Which graphs, and how much work is done for each."""

    data: tuple[str, ...] = ("MUTAG", "PROTEINS", "NCI1", "motif", "arcs")
    folds: int = 3  # of ten; of the data that are drawn, how many draws
    mutag_folds: int = 10  # of MUTAG, which is small
    graphs: int = 100  # tested in a fold, at most
    held: int = 60  # validation graphs that choose among tries, at most
    max_nodes: int = 40  # larger graphs are left out
    samples: int = 10_000  # votes on each test graph
    own_samples: int = 10_000  # at attacked versions of it, at most
    choosing_samples: int = 2_000  # votes on each validation graph, and at attacked versions of it
    max_attacks: int = 50_000  # that are tried on the plain model: pairs of flips only where there are fewer
    steps: int = 2_200  # of training, about
    max_epochs: int = 200  # however few graphs there are
    hidden: int = 32  # units of each layer
    drawn: int = 400  # training graphs of the data that are drawn
    drawn_graphs: int = 40  # and test graphs
    drawn_epochs: int = 40
    seed: int = 1  # of folds, weights, training and votes

    @classmethod
    def quick(cls, **settings: Any) -> GraphRows:  # noqa: ANN401
        """About a minute: MUTAG and motif, one fold each, short trainings and few votes."""
        less = {"data": ("MUTAG", "motif"), "folds": 1, "mutag_folds": 1, "graphs": 12, "held": 12, "samples": 2_000,
                "own_samples": 1_000, "choosing_samples": 1_000, "max_attacks": 2_000, "max_epochs": 15,
                "drawn": 100, "drawn_graphs": 12, "drawn_epochs": 10}  # fmt: skip
        return cls(**{**less, **settings})

    @property
    def counting(self) -> dict[str, Any]:
        """How test graphs are certified by p_A."""
        return {"samples": self.samples, "seed": self.seed, "voting": sc.Voting(progress=False)}

    @property
    def weighing(self) -> dict[str, Any]:
        """How they are certified with evidence."""
        return self.counting | {"threat": "flips:2", "evidence": sc.Evidence(own_samples=self.own_samples)}

    @property
    def choosing(self) -> dict[str, Any]:
        """The same for one flip with fewer votes, on validation graphs."""
        few = self.choosing_samples
        return self.weighing | {"samples": few, "threat": "flips:1", "evidence": sc.Evidence(own_samples=few)}

    def parts(self) -> list[Part]:
        """One for each data set, fold and group of methods, the longest first."""
        return [
            Part(f"graphs-{name}-{fold}-{group}", judge_group, (self, name, fold, group))
            for group in GROUPS
            for name in sorted(self.data, key=LONGEST.index)
            for fold in range(self.mutag_folds if name == "MUTAG" else self.folds)
        ]


class Cut(NamedTuple):
    """A fold: what is learned from, what chooses, what is tested; and the numbers of the test graphs in the data."""

    taught: Dataset
    held: Dataset
    tested: Dataset
    numbers: list[int]

    @property
    def untested(self) -> Dataset:
        """All that is not tested, to fit a blind model on."""
        graphs = [*self.taught.graphs, *self.held.graphs]
        return Dataset(graphs, np.concatenate([self.taught.labels, self.held.labels]))


@lru_cache(maxsize=2)
def cut_of(setting: GraphRows, name: str, fold: int) -> Cut:
    """The fold of a data set, without graphs that are too large."""
    if name in DRAWN:
        sizes = {
            "train": setting.drawn,
            "validation": max(setting.held, setting.drawn // 4),
            "test": setting.drawn_graphs,
        }
        data = DRAWN[name](1_000 * setting.seed + fold, **sizes)
        return Cut(data.train, data.validation, data.test, list(range(len(data.test))))
    every = tu(name)
    fits = np.array([graph.n_nodes <= setting.max_nodes for graph in every.graphs])
    taught, held, tested, numbers = fold_splits(every[fits], fold, setting.seed)
    places = np.flatnonzero(fits)[numbers]
    named = replace(tested, names=tuple(map(str, places))).limited(setting.graphs, setting.seed)
    return Cut(taught, held, named, [int(each) for each in named.names])


class Trained(NamedTuple):
    """A network that was trained with a noise, and how long that took."""

    smoothed: sc.SmoothedClassifier
    seconds: float


def pairs_noise(delete: float, add: float) -> sc.Noise:
    """The noise of all node pairs."""
    return sc.Noise(pairs=sc.Flip(delete=delete, add=add))


def train_network(setting: GraphRows, cut: Cut, rates: tuple[float, float], layers: int = 3) -> Trained:
    """A GIN trained with noise, or without any; graphs without node data show it degrees."""
    start, (device, _) = time.perf_counter(), here()
    graph, noise = cut.taught.graphs[0], pairs_noise(*rates)
    named = [name for name in ("x", "attributes") if name in graph.node_data]
    seen: list[Any] = named or (
        [features.in_degree(), features.out_degree()] if graph.directed else [features.degree()]
    )
    columns = sum(np.shape(graph.node_data[each])[1] if each in named else 1 for each in seen)
    with own_generator(setting.seed, "cpu"):
        module = GIN(columns, 2, hidden=setting.hidden, layers=layers)
    smoothed = sc.SmoothedClassifier(from_pyg(module.to(device), n_classes=2, features=seen), noise, alpha=ALPHA)
    most = setting.drawn_epochs if cut.taught.name in DRAWN else setting.max_epochs
    epochs = max(1, min(most, setting.steps * BATCH // len(cut.taught)))
    fit_with_noise(smoothed, cut.taught.graphs, cut.taught.labels, validation=(cut.held.graphs, cut.held.labels),
                   epochs=epochs, learning_rate=1e-2, halve_every=max(1, epochs // 4), batch_size=BATCH,
                   seed=setting.seed, progress=False)  # fmt: skip
    return Trained(smoothed, time.perf_counter() - start)


def judge_group(setting: GraphRows, name: str, fold: int, group: str) -> list[Row]:
    """The rows of one group of methods on the test graphs of one fold."""
    with one_torch_thread():
        cut = cut_of(setting, name, fold)
        judged = {"blind": blind_rows, "plain": plain_rows, "two-way": two_way_rows, "one-way": one_way_rows}[group]
        rows = judged(setting, cut)
    return [{"data": name, "fold": fold, "device": here()[1]} | row for row in rows]


def blind_rows(setting: GraphRows, cut: Cut) -> list[Row]:
    """The blind model's answers: any number of flips changes none of them."""
    start = time.perf_counter()
    model = blind(cut.untested, noise=pairs_noise(0.1, 0.1), seed=setting.seed)
    fitted = time.perf_counter()
    found = [Outcome(int(answer), ANY, ANY, ANY) for answer in model.predict(cut.tested.graphs)]
    tries = {each.description: each.cross_validated for each in model.candidates}
    times = fitted - start, time.perf_counter() - fitted
    return [row_of(cut, "blind", tries, model.description, 0.0, times, found)]


def plain_rows(setting: GraphRows, cut: Cut) -> list[Row]:
    """Networks without noise, and every attack on them."""
    nets = {layers: train_network(setting, cut, (0.0, 0.0), layers) for layers in LAYERS}
    start, held = time.perf_counter(), held_graphs(setting, cut)
    shares = {}
    for layers, net in nets.items():
        seen = sc.ExactClassifier(net.smoothed.classifier).certify(held.graphs, threat="flips:1", progress=False)
        shares[layers] = seen.certified_accuracy(held.labels, 1)
    chosen = best_of(shares)
    found = exact_outcomes(nets[chosen].smoothed.classifier, cut.tested.graphs, setting.max_attacks)
    times = sum(net.seconds for net in nets.values()), time.perf_counter() - start
    return [row_of(cut, "plain", shares, chosen, 0.0, times, found, unit="layers")]


def two_way_rows(setting: GraphRows, cut: Cut) -> list[Row]:
    """Votes under two-way noise: by p_A, with evidence, and with a fallback, each chosen for one flip."""
    nets = {rates: train_network(setting, cut, rates) for rates in TWO_WAY}
    trained, start, held = sum(net.seconds for net in nets.values()), time.perf_counter(), held_graphs(setting, cut)
    seen = {rates: net.smoothed.certify(held.graphs, **setting.choosing) for rates, net in nets.items()}
    shares = {
        "p_A": {rates: right_share(held.labels, map(outcome_of, counts_alone(each))) for rates, each in seen.items()},
        "evidence": {rates: right_share(held.labels, map(outcome_of, each)) for rates, each in seen.items()},
    }
    choosing, rows = time.perf_counter() - start, list[Row]()
    for method, tried in shares.items():
        start, chosen = time.perf_counter(), best_of(tried)
        how = setting.weighing if method == "evidence" else setting.counting
        found = [*map(outcome_of, nets[chosen].smoothed.certify(cut.tested.graphs, **how))]
        times = trained, choosing + time.perf_counter() - start
        rows.append(row_of(cut, method, tried, chosen, ALPHA, times, found))
    rates = best_of(shares["evidence"])
    leant, threshold, seconds, found = fall_back(setting, cut, nets[rates].smoothed)
    text, times = f"{text_of(rates)}, threshold {threshold:g}", (trained, choosing + seconds)
    return [*rows, row_of(cut, "fallback", leant, text, ALPHA, times, found)]


def fall_back(
    setting: GraphRows, cut: Cut, smoothed: sc.SmoothedClassifier
) -> tuple[dict[float, float], float, float, list[Outcome]]:
    """A smoothed network that leans on the blind answer: what was tried, its threshold, seconds, outcomes."""
    start, held, noise = time.perf_counter(), held_graphs(setting, cut), smoothed.noise
    # A model that has seen the graphs that choose would look better there than it is.
    models = (blind(some, noise=noise, seed=setting.seed) for some in (cut.taught, cut.untested))

    def leaning(model: Any, threshold: float) -> sc.SmoothedClassifier:  # noqa: ANN401
        fallback = sc.Fallback(model, threshold)
        return sc.SmoothedClassifier(smoothed.classifier, noise, alpha=ALPHA, fallback=fallback)

    first = leaning(next(models), THRESHOLDS[0])
    best = sc.choose_threshold(first, held.graphs, held.labels, thresholds=THRESHOLDS, **setting.choosing)
    found = [*map(outcome_of, leaning(next(models), best.threshold).certify(cut.tested.graphs, **setting.weighing))]
    return best.right, best.threshold, time.perf_counter() - start, found


def held_graphs(setting: GraphRows, cut: Cut) -> Dataset:
    """The validation graphs that choose among tries."""
    return cut.held.limited(setting.held, setting.seed)


def one_way_rows(setting: GraphRows, cut: Cut) -> list[Row]:
    """Votes on copies that have lost most of their edges, by p_A: chosen for one flip, and for ten."""
    nets = {rates: train_network(setting, cut, rates) for rates in ONE_WAY}
    trained, held = sum(net.seconds for net in nets.values()), held_graphs(setting, cut)
    start, few = time.perf_counter(), {**setting.counting, "samples": setting.choosing_samples}
    seen = {rates: [*map(outcome_of, net.smoothed.certify(held.graphs, **few))] for rates, net in nets.items()}
    choosing, done, rows = time.perf_counter() - start, dict[tuple[float, float], list[Outcome]](), list[Row]()
    for method, flips in (("one-way", 1), ("one-way, for 10", 10)):
        start = time.perf_counter()
        shares = {rates: right_share(held.labels, each, flips) for rates, each in seen.items()}
        chosen = best_of(shares)
        if chosen not in done:
            found = nets[chosen].smoothed.certify(cut.tested.graphs, **setting.counting)
            done[chosen] = [*map(outcome_of, found)]
        times = trained, choosing + time.perf_counter() - start
        rows.append(row_of(cut, method, shares, chosen, ALPHA, times, done[chosen]))
    return rows


def best_of(shares: Mapping[Key, float]) -> Key:
    """The try with the largest share; of equals the first."""
    return max(shares, key=lambda each: shares[each])


def text_of(tried: object, unit: str = "") -> str:
    """A try in words."""
    return "{:g}/{:g}".format(*tried) if isinstance(tried, tuple) else f"{tried} {unit}".strip()


def row_of(
    cut: Cut,
    method: str,
    tries: Mapping[Any, float],
    chosen: object,
    alpha: float,
    times: tuple[float, float],
    found: Iterable[Outcome],
    unit: str = "",
) -> Row:
    """What is kept of a method on a fold."""
    graphs = [
        {"name": name, "truth": int(truth), "answer": one.answer, "broken": one.broken,
         "certified": {kind: getattr(one, kind) for kind in COLUMNS}}
        for name, truth, one in zip(cut.numbers, cut.tested.labels, found, strict=True)
    ]  # fmt: skip
    shares = {text_of(each, unit): round(float(share), 4) for each, share in tries.items()}
    return {"method": method, "tries": shares, "chosen": text_of(chosen, unit), "alpha": alpha,
            "train_seconds": round(times[0], 2), "seconds": round(times[1], 2), "graphs": graphs}  # fmt: skip
