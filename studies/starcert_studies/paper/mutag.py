"""Molecules of MUTAG and graph neural networks: one split, all molecules by cross-validation, a sweep of the noise.

Two certificates come from the same votes. The *sparsity-aware* one counts deletions and additions of any bond
(`Flip(delete, add)`). The *anisotropic* one of the paper has the present bonds and the absent ones as two regions:
it is anchored, because an attacked molecule has other bonds and would have other regions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

import starcert as sc
from starcert.benchmark.data import fold_splits
from starcert.classifiers import Classifier, from_dense, from_pyg
from starcert.datasets import tu
from starcert.models import GCN, fit_with_noise
from starcert.models.fitting import own_generator
from starcert_studies.figures import number_grids
from starcert_studies.report import Report, cells, compare_shares, published
from starcert_studies.trials import Tested, Trial, TrialStudy
from starcert_studies.voted import Voted

PAPER = published("mutag")
BOX = (5, 10)  # deletions and additions in the paper's tables
COLUMNS = {"anisotropic": "anisotropic_anchored", "sparsity_aware": "sparsity_aware"}
KINDS = {"anisotropic": "anisotropic (anchored)", "sparsity_aware": "sparsity-aware"}
LEVEL = 0.01  # two shares differ, or one beats a constant answer, where chance would do it once in a hundred

NETWORKS: dict[str, tuple[str, Literal["max", "sum"], float, int]] = {
    "max": ("max pooling, rate 0.001 (the paper's text)", "max", 1e-3, 50),
    "sum": ("sum pooling, rate 0.01", "sum", 1e-2, 100),
}
"""Title, pooling, learning rate, and after how many epochs the rate is halved."""

Setting = tuple[str, float, float]  # a network with the probabilities to delete and to add a bond
Sweep = Mapping[Setting, Voted]
Key = tuple[str, float, float, int | None]  # the same for one fold; None: the paper's one split


@dataclass(frozen=True)
class Mutag(TrialStudy):
    """Networks trained with noise on MUTAG."""

    quick: ClassVar = {"samples": 2_000, "sweep_samples": 1_000, "epochs": 100, "deletes": (0.04,), "adds": (0.02, 0.2),
                       "folds": 2}  # fmt: skip

    samples: int = 100_000  # estimation votes for each molecule at the paper's noise
    sweep_samples: int = 10_000  # the same at each noise of the sweep
    epochs: int = 500  # of training
    deletes: tuple[float, ...] = (0.04, 0.1, 0.3)  # deletion probabilities of the sweep
    adds: tuple[float, ...] = (0.02, 0.05, 0.2)  # addition probabilities of the sweep
    folds: int = 10  # how many of the ten folds are tested
    seed: int = 1  # of weights, splits, training and votes

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        study = super().from_options(samples, seed, quick)
        return study if samples is None else replace(study, sweep_samples=samples if quick else min(samples, 10_000))

    @override
    def trials(self) -> dict[str | Setting, list[Trial]]:
        def trial(name: str, at: Setting, fold: int | None, samples: int) -> Trial:
            noise = sc.Noise(pairs=sc.Flip(delete=at[1], add=at[2]))
            return Trial(name, (*at, fold), noise, samples, self.seed, clean=True)

        paper: Setting = ("max", PAPER["delete"], PAPER["add"])
        folds = range(self.folds)
        return {
            "split": [trial("split", paper, None, self.samples)],
            "every": [trial(f"paper-{fold}", paper, fold, self.samples) for fold in folds],
        } | {
            at: [trial("-".join(map(str, (*at, fold))), at, fold, self.sweep_samples) for fold in folds]
            for at in product(NETWORKS, self.deletes, self.adds)
        }

    @override
    def data(self, key: Key) -> Tested:
        _, _, tested, numbers = fold_splits(tu("MUTAG"), key[-1], self.seed)
        return Tested(tested.graphs, tested.labels, sc.Noise(pairs=0.1), None, numbers)

    @override
    def model(self, key: Key) -> Classifier:
        name, delete, add, fold = key
        _, pooling, learning_rate, halve_every = NETWORKS[name]
        taught, held, _, _ = fold_splits(tu("MUTAG"), fold, self.seed)
        with own_generator(1000 * self.seed + (10 if fold is None else fold), "cpu"):
            module = GCN(7, 2, pooling=pooling)
        smoothed = sc.SmoothedClassifier(from_pyg(module, n_classes=2), sc.Noise(pairs=sc.Flip(delete=delete, add=add)))
        fit_with_noise(smoothed, taught.graphs, taught.labels, validation=(held.graphs, held.labels),
                       epochs=self.epochs, learning_rate=learning_rate, halve_every=halve_every, seed=self.seed,
                       progress=False)  # fmt: skip
        return from_dense(module.dense(), n_classes=2)

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        majority, every = tu("MUTAG").majority_share, found["every"]
        sweep: Sweep = {at: voted for at, voted in found.items() if isinstance(at, tuple)}
        ours = {
            name: {kind: each.ratios(BOX) for kind, each in found[name].anchored_too().items()}
            for name in ("split", "every")
        }
        for (model, delete, add), voted in sweep.items():
            row = {"network": NETWORKS[model][0], "delete": delete, "add": add,
                   "accuracy_without_noise": voted.clean_accuracy, "accuracy": voted.accuracy,
                   "majority_share": majority, "largest_share_of_answers": voted.largest_share,
                   "clearly_better_than_constant": voted.p_value_of_constant(majority) < LEVEL,
                   "right_and_certified_at_1_1": voted.share((1, 1))}  # fmt: skip
            report.table("sweep", [row])
        for which, some in ours.items():
            columns = {name: some[kind] for kind, name in COLUMNS.items()}
            columns |= {f"published_{name}": PAPER[kind] for kind, name in COLUMNS.items()}
            report.table("ratios", cells(columns, deletions=None, additions=None), molecules=which)
        chosen = {"best": best_of(sweep), "most": max(sweep, key=lambda at: sweep[at].share((1, 1)))}
        of_all = "molecules by 10-fold cross-validation" if self.folds == 10 else f"molecules, {self.folds} of 10 folds"
        tested = f"{'all ' if self.folds == 10 else ''}{len(every)} {of_all}"
        values: dict[str, Any] = {"tested": tested, "n": len(found["split"]), "every": every, "majority": majority}
        for name, at in chosen.items():
            share, title = sweep[at].share((1, 1)), NETWORKS[at[0]][0]
            values[name] = {"voted": sweep[at], "certified": share, "title": title, "at": at}
        report.sentence(0, 1, 2, **values)
        places = ("here", ours["split"]), ("in the paper", PAPER)
        panels = {
            "split": [{f"{title}, {where}": some[k] for k, title in KINDS.items()} for where, some in places],
            "every": [{title: ours["every"][kind] for kind, title in KINDS.items()}],
        }
        certified = {"names": ("deletions", "additions", "share of right molecules certified"), "font_size": 5}
        for which, height in (("split", 3.8), ("every", 2.1)):
            report.picture(which, number_grids, panels[which], height=height, values=values, **certified)
        accuracies = {
            title: [[sweep[model, d, a].accuracy for a in self.adds] for d in self.deletes]
            for model, (title, *_) in NETWORKS.items()
        }
        report.picture(
            "sweep", number_grids, [accuracies], self.deletes, self.adds, limits=(0.5, 1.0), digits=3, height=2.1,
            names=("probability of deletion", "probability of addition", "accuracy"), font_size=7, majority=majority,
            values=values,
        )  # fmt: skip
        report.values.update(majority_share=majority, graphs=len(every))
        self.check_claims(report, found, sweep, majority)

    def check_claims(self, report: Report, found: Mapping[Any, Voted], sweep: Sweep, majority: float) -> None:
        """The paper's claims, and what it does not show."""
        check, every, certified = report.check, found["every"], found["every"].anchored_too()
        enough, whole = self.samples >= 100_000, self.folds == 10 and self.epochs >= 500
        ours = {kind: each.ratios(BOX) for kind, each in certified.items()}
        theirs = {kind: np.array(PAPER[kind], float) for kind in KINDS}
        reached = (ours["anisotropic"] > 0) & (ours["sparsity_aware"] > 0)
        fewer = reached & (ours["anisotropic"] < ours["sparsity_aware"])
        check("where_both_reach", not fewer.any(), enough=enough and whole, held=int(reached.sum() - fewer.sum()),
              reached=int(reached.sum()), fewer=f"; fewer at {_radii(fewer)}" if fewer.any() else "",
              slacks=[sc.slack(each.noise, (1, 0)) for each in certified.values()])  # fmt: skip
        for one, other, number in (("anisotropic", "sparsity_aware", "five"), ("sparsity_aware", "anisotropic", "two")):
            here, there = ((some[one] > 0) & (some[other] == 0) for some in (ours, theirs))
            values: dict[str, Any] = {"number": number, "kind": one.replace("_", "-")}
            check("alone", (here == there).all(), enough=enough, here=_radii(here), there=_radii(there), **values)
        reach = [int(max(np.flatnonzero((ours["anisotropic"] > 0).any(axis=axis)), default=0)) for axis in (1, 0)]
        check("reach", reach[1] > reach[0], enough=any(reach), reach=reach)
        right, n, n_paper = int(every.right.sum()), len(every), PAPER["test_graphs"]
        hits, p = compare_shares(PAPER["accuracy"], n_paper, right, n)
        values = {"hits": hits, "paper": PAPER, "right": right, "n": n, "p": p, "n_split": len(found["split"])}
        check("accuracy", p > LEVEL, enough=whole, every=every, split=found["split"], **values)
        answered = round(PAPER["accuracy_in_stored_run"] * n_paper)  # the paper's tables come from a stored run
        for kind, each in certified.items():
            share, count = PAPER[kind][1][3], int((each.certificates.certified((1, 3)) & each.right).sum())
            hits, p = compare_shares(share, answered, count, right)
            values = {"hits": hits, "answered": answered, "count": count, "right": right, "p": p, "share": share}
            values |= {"kind": kind.replace("_", "-"), "measured": count / right if right else math.nan}
            check("certified", p > LEVEL, enough=enough, **values)
        p = every.p_value_of_constant(majority)
        check("constant", p < LEVEL, enough=whole, every=every, majority=majority, largest=every.largest_share, p=p)
        at = best_of(sweep)
        p = sweep[at].p_value_of_constant(majority, len(sweep))
        values = {"voted": sweep[at], "at": at, "title": NETWORKS[at[0]][0], "tried": len(sweep), "p": p}
        check("setting", p < LEVEL, enough=whole, majority=majority, **values)


def best_of(sweep: Sweep) -> Setting:
    """The setting with the most right answers; of equals, the one with the most noise."""
    return max(sweep, key=lambda at: (sweep[at].right.sum(), at[1] * at[2]))


def _radii(where: npt.NDArray[np.bool_]) -> str:
    return " ".join(f"({i}, {j})" for i, j in np.argwhere(where)) or "none"
