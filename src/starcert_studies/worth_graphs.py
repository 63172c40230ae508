"""Graphs: a blind model, the plain model with every attack tried, smoothing, and a blind head with a correction."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import starcert as sc
from starcert.baselines import blind
from starcert.classifiers import from_pyg
from starcert.datasets import tu
from starcert.datasets.dataset import Split
from starcert.system.processes import one_torch_thread
from starcert_studies.small_noise import here
from starcert_studies.study import fold_splits
from starcert_studies.worth_bonds import TRIES, Molecules, cross_fitted, train_corrections, with_blind
from starcert_studies.worth_rows import Mask, always, row_of

PAIRS = sc.Noise(pairs=0.1)  # what may be attacked: every node pair


@dataclass(frozen=True)
class FoldOfGraphs:
    """A fold of a data set, and what is done on it."""

    data: str
    fold: int
    epochs: int
    seed: int
    learnt: int | None = None  # graphs to learn from, at most
    tested: int | None = None  # test graphs, at most

    def splits(self) -> tuple[Split, Split, Split, list[int]]:
        """To learn from, to choose by, to test; and the numbers of what is tested."""
        taught, held, tested, numbers = fold_splits(tu(self.data).all, self.fold, self.seed)
        place = {id(graph): number for graph, number in zip(tested.graphs, numbers, strict=True)}
        some = tested.limited(self.tested, self.seed)
        return taught.limited(self.learnt, self.seed), held, some, [place[id(graph)] for graph in some.graphs]


def correct_blind(setting: FoldOfGraphs) -> dict[str, Any]:
    """NCI1: the best blind model, and a forest on atoms with a bounded correction by bonds, every attack tried."""
    with one_torch_thread():
        taught, held, tested, numbers = setting.splits()
        start = time.perf_counter()
        unseen, logits_of = cross_fitted(taught, setting.seed)
        logits = unseen, logits_of(held.graphs), logits_of(tested.graphs)
        model = blind(taught, noise=PAIRS, seed=setting.seed)
        answers = {"forest": (logits[1] > 0, logits[2] > 0), model.description: (
            model.predict(held.graphs), model.predict(tested.graphs))}  # fmt: skip
        kind = max(answers, key=lambda name: float(np.mean(answers[name][0] == held.labels)))
        wise = right_of(answers[kind][1], tested)
        attacks = ("deletions:1", "flips:1")
        middle = time.perf_counter()
        rows = [
            row_of("blind", wise, always(wise, attacks), tries=len(answers), alpha=0, seconds=middle - start,
                   choice=kind)
        ]  # fmt: skip
        device, name = here()
        learnt, deciding = Molecules.of(taught, logits[0], device), Molecules.of(held, logits[1], device)
        kinds = np.asarray(taught.graphs[0].node_data["x"]).shape[1]
        seed = 1000 * setting.seed + setting.fold
        network = train_corrections(learnt, deciding, kinds, epochs=setting.epochs, seed=seed)
        base = from_pyg(network, n_classes=2, features=("x", "blind"), outputs="logit")
        graphs, exact = with_blind(tested.graphs, logits[2]), sc.ExactClassifier(base)
        found = {attack: exact.certify(graphs, threat=attack, progress=False) for attack in attacks}
        certified = {attack: np.array([one.certified_size >= 1 for one in each]) for attack, each in found.items()}
        right = right_of(found[attacks[0]].labels, tested)
        rows.append(
            row_of("blind head, correction against deletions, exact", right, certified, tries=len(TRIES), alpha=0,
                   seconds=time.perf_counter() - middle, choice=f"networks {', '.join(map(str, network.chosen))}")
        )  # fmt: skip
    most = right_of(np.full(len(tested), np.bincount(taught.labels).argmax()), tested)
    constant = row_of("most frequent class", most, always(most, attacks), tries=1, alpha=0, seconds=0)
    return {"rows": [constant, *rows], "numbers": numbers, "device": name}


def right_of(answers: Any, tested: Split) -> Mask:  # noqa: ANN401
    """Which test graphs are answered right."""
    return np.asarray(np.asarray(answers).astype(int) == np.asarray(tested.labels), dtype=np.bool_)
