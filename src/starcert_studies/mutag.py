"""Molecules of MUTAG and graph neural networks: one split, all molecules by cross-validation, a sweep of the noise.

Two certificates come from the same votes. The *sparsity-aware* one counts deletions and additions of any bond
(`Flip(delete, add)`). The *anisotropic* one of the paper has the present bonds and the absent ones as two regions:
it is anchored, because an attacked molecule has other bonds and would have other regions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, from_dense
from starcert.datasets import tu
from starcert.models.fitting import own_generator
from starcert.pages.plots.drawing import COLUMN, colour_of, new_figure
from starcert_studies.figures import majority_line, number_grids
from starcert_studies.outcome import Check, Outcome, Words, published
from starcert_studies.study import Study, Tested, Trial, fold_splits, train_on
from starcert_studies.voted import Grid, Voted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "Mutag", "train_network"]

BOX = (5, 10)
"""Deletions and additions in the paper's tables."""

MODELS: dict[str, tuple[str, Literal["max", "sum"], float, int]] = {
    "max": ("max pooling, rate 0.001 (the paper's text)", "max", 1e-3, 50),
    "sum": ("sum pooling, rate 0.01", "sum", 1e-2, 100),
}
"""Title, pooling, learning rate, and after how many epochs the rate is halved."""

KINDS = {"anisotropic": "anisotropic (anchored)", "sparsity_aware": "sparsity-aware"}
LEVEL = 0.01
"""Two shares differ, or one is clearly better than a constant answer, where chance would do it once in a hundred."""

Setting = tuple[str, float, float]
"""A network with the probabilities to delete and to add a bond."""

Key = tuple[str, float, float, int | None]
"""The same for one fold; None: the paper's one split."""


@dataclass(frozen=True)
class Mutag(Study):
    """Networks trained with noise on MUTAG."""

    words = Words("mutag")
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
        def trial(name: str, model: str, delete: float, add: float, fold: int | None, samples: int) -> Trial:
            noise = sc.Noise(pairs=sc.Flip(delete=delete, add=add))
            return Trial(name, (model, delete, add, fold), noise, samples, self.seed, clean=True)

        paper: Setting = ("max", published("mutag")["delete"], published("mutag")["add"])
        folds = range(self.folds)
        return {
            "split": [trial("split", *paper, None, self.samples)],
            "every": [trial(f"paper-{fold}", *paper, fold, self.samples) for fold in folds],
        } | {
            (model, d, a): [trial(f"{model}-{d}-{a}-{fold}", model, d, a, fold, self.sweep_samples) for fold in folds]
            for model, d, a in product(MODELS, self.deletes, self.adds)
        }

    @override
    def data(self, key: Key) -> Tested:
        _, _, tested, numbers = fold_splits(tu("MUTAG").all, key[-1], self.seed)
        return Tested.of(tested.graphs, tested.labels, sc.Noise(pairs=0.1), None, numbers)

    @override
    def model(self, key: Key) -> Classifier:
        return train_network(*key, self.epochs, self.seed)

    @override
    def outcome(self, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> Outcome:
        majority, paper = tu("MUTAG").all.majority_share, published("mutag")
        sweep: dict[Setting, Voted] = {at: voted for at, voted in found.items() if isinstance(at, tuple)}
        ours = {name: {kind: _ratio(each) for kind, each in both(found[name]).items()} for name in ("split", "every")}
        ratios = [
            {"molecules": name, "deletions": i, "additions": j,
             "anisotropic_anchored": float(some["anisotropic"][i, j]),
             "sparsity_aware": float(some["sparsity_aware"][i, j]),
             "published_anisotropic_anchored": paper["anisotropic"][i][j],
             "published_sparsity_aware": paper["sparsity_aware"][i][j]}
            for name, some in ours.items()
            for i, j in np.ndindex(BOX[0] + 1, BOX[1] + 1)
        ]  # fmt: skip
        settings = [
            {"network": MODELS[model][0], "delete": delete, "add": add, "accuracy_without_noise": voted.clean_accuracy,
             "accuracy": voted.accuracy, "majority_share": majority, "largest_share_of_answers": _largest_share(voted),
             "clearly_better_than_constant": clearly_better(voted, majority)[0],
             "right_and_certified_at_1_1": voted.share((1, 1))}
            for (model, delete, add), voted in sweep.items()
        ]  # fmt: skip
        every, n = found["every"], len(found["every"])
        whole = f"all {n} molecules by 10-fold cross-validation"
        values = {
            "tested": whole if self.folds == 10 else f"{n} molecules, {self.folds} of 10 folds",
            "n": len(found["split"]),
            "every": every,
            "majority": majority,
            "best": _described(sweep, best_of(sweep)),
            "most": _described(sweep, max(sweep, key=lambda at: sweep[at].share((1, 1)))),
        }
        grids = partial(
            number_grids, rows=range(BOX[0] + 1), columns=range(BOX[1] + 1), limits=(0.0, 1.0), digits=2, font_size=5,
            names=("deletions", "additions", "share of right molecules certified"),
        )  # fmt: skip
        split = [
            {f"{title}, {where}": some[kind] for kind, title in KINDS.items()}
            for where, some in (("here", ours["split"]), ("in the paper", paper))
        ]
        accuracies = {
            title: [[sweep[model, d, a].accuracy for a in self.adds] for d in self.deletes]
            for model, (title, *_) in MODELS.items()
        }
        of_sweep = partial(
            number_grids, [accuracies], self.deletes, self.adds, limits=(0.5, 1.0), digits=3, height=2.1, font_size=7,
            names=("probability of deletion", "probability of addition", "accuracy"),
        )  # fmt: skip
        cross_validated = [{title: ours["every"][kind] for kind, title in KINDS.items()}]
        return Outcome(
            [self.words.summary(number, **values) for number in range(3)],
            [
                self.words.picture("split", partial(grids, split, height=3.8), **values),
                self.words.picture("every", partial(grids, cross_validated, height=2.1), **values),
                self.words.picture("sweep", of_sweep, **values),
                self.words.picture("trade_off", partial(trade_off, sweep, majority)),
            ],
            [self.words.table("sweep", settings), self.words.table("ratios", ratios, shown=False)],
            self.checks(found, sweep, majority),
            {"majority_share": majority, "graphs": n},
        )

    def checks(self, found: Mapping[Any, Voted], sweep: Mapping[Setting, Voted], majority: float) -> list[Check]:
        """The paper's claims, and what it does not show."""
        paper, every, check = published("mutag"), found["every"], self.words.check
        enough, whole = self.samples >= 100_000, self.folds == 10 and self.epochs >= 500
        certified = both(every)
        ours, theirs = (
            {kind: _ratio(each) for kind, each in certified.items()},
            {k: np.array(paper[k], float) for k in KINDS},
        )
        reached = (ours["anisotropic"] > 0) & (ours["sparsity_aware"] > 0)
        fewer = reached & (ours["anisotropic"] < ours["sparsity_aware"])
        values = {
            "held": int(reached.sum() - fewer.sum()),
            "reached": int(reached.sum()),
            "fewer": f"; fewer at {_radii(fewer)}" if fewer.any() else "",
            "slacks": [sc.slack(each.noise, (1, 0)) for each in certified.values()],
        }
        made = [check("where_both_reach", not fewer.any(), enough=enough and whole, **values)]
        for one, other, number in (("anisotropic", "sparsity_aware", "five"), ("sparsity_aware", "anisotropic", "two")):
            here, there = ((some[one] > 0) & (some[other] == 0) for some in (ours, theirs))
            values = {"number": number, "kind": one.replace("_", "-"), "here": _radii(here), "there": _radii(there)}
            made.append(check("alone", (here == there).all(), enough=enough, **values))
        reach = [int(max(np.flatnonzero((ours["anisotropic"] > 0).any(axis=axis)), default=0)) for axis in (1, 0)]
        made.append(check("reach", reach[1] > reach[0], enough=any(reach), reach=reach))
        right, n, n_paper = int(every.right.sum()), len(every), paper["test_graphs"]
        hits = round(paper["accuracy"] * n_paper)
        p = _fisher(hits, n_paper, right, n)
        values = {"hits": hits, "paper": paper, "right": right, "n": n, "p": p, "n_split": len(found["split"])}
        made.append(check("accuracy", p > LEVEL, enough=whole, every=every, split=found["split"], **values))
        answered = round(paper["accuracy_in_stored_run"] * n_paper)  # the paper's tables come from a stored run
        for kind, each in certified.items():
            share, count = paper[kind][1][3], int((each.certificates.certified((1, 3)) & each.right).sum())
            hits = round(share * answered)
            p = _fisher(hits, answered, count, right)
            values = {"hits": hits, "answered": answered, "count": count, "right": right, "p": p, "share": share}
            measured = count / right if right else math.nan
            made.append(
                check("certified", p > LEVEL, enough=enough, kind=kind.replace("_", "-"), measured=measured, **values)
            )
        better, p = clearly_better(every, majority)
        values = {"every": every, "majority": majority, "largest": _largest_share(every), "p": p}
        made.append(check("constant", better, enough=whole, **values))
        at = best_of(sweep)
        better, p = clearly_better(sweep[at], majority, len(sweep))
        values = {
            "voted": sweep[at],
            "at": at,
            "title": MODELS[at[0]][0],
            "majority": majority,
            "tried": len(sweep),
            "p": p,
        }
        return [*made, check("setting", better, enough=whole, **values)]


def train_network(model: str, delete: float, add: float, fold: int | None, epochs: int, seed: int) -> Classifier:
    """A network that was trained with noise on the molecules that a fold does not test, in its dense form."""
    data, (_, pooling, learning_rate, halve_every) = tu("MUTAG"), MODELS[model]
    taught, held, _, _ = fold_splits(data.all, fold, seed)
    with own_generator(1000 * seed + (10 if fold is None else fold), "cpu"):
        network = sc.models.GCN(7, data.n_classes, pooling=pooling)
    base = from_dense(network.dense(), n_classes=data.n_classes)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(pairs=sc.Flip(delete=delete, add=add)))
    settings = {"epochs": epochs, "learning_rate": learning_rate, "halve_every": halve_every, "seed": seed}
    train_on(smoothed, taught, held, settings, network)
    return base


def both(voted: Voted) -> dict[str, Voted]:
    """The two certificates of one set of votes, by the names that the published figures have."""
    flip = voted.noise["pairs"]
    two = sc.Noise(bonds=flip.change(1), gaps=flip.change(0))
    reason = "The regions bonds and gaps are the present and the absent edges of the clean graph."
    return {"anisotropic": replace(voted, noise=two, anchored=[reason] * len(voted)), "sparsity_aware": voted}


def clearly_better(voted: Voted, majority: float, tried: int = 1) -> tuple[bool, float]:
    """Whether a constant answer would do as well once in a hundred at most, if the best of `tried` settings is shown.

    Beside the verdict, the binomial probability of at least as many right answers, times `tried`.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

    test = binomtest(int(voted.right.sum()), len(voted), majority, alternative="greater")
    p = min(1.0, tried * float(test.pvalue))
    return p < LEVEL, p


def best_of(sweep: Mapping[Setting, Voted]) -> Setting:
    """The setting with the most right answers; of equals, the one with the most noise."""
    return max(sweep, key=lambda at: (sweep[at].right.sum(), at[1] * at[2]))


def trade_off(sweep: Mapping[Setting, Voted], majority: float) -> Figure:
    """Accuracy against the certified share, a point for each setting."""
    figure = new_figure(COLUMN, 2.8)
    ax = figure.add_subplot()
    points = {at: (voted.share((1, 1)), voted.accuracy) for at, voted in sweep.items()}
    for number, (name, (title, *_)) in enumerate(MODELS.items()):
        own = [point for at, point in points.items() if at[0] == name]
        ax.plot(*zip(*own, strict=True), "os"[number], ms=4, color=colour_of(number), label=title)
    for (_, delete, add), (x, y) in points.items():
        if not any(one >= x and other >= y and (one, other) != (x, y) for one, other in points.values()):
            ax.annotate(f"{delete:g}/{add:g}", (x, y), xytext=(2, 3), textcoords="offset points", fontsize=6)
    majority_line(ax, majority, 0.0)
    ax.set(xlabel="share right and certified at (1, 1)", ylabel="accuracy", xlim=(-0.02, 1), ylim=(0.6, 0.95))
    ax.legend(frameon=False, loc="upper left")
    return figure


def _fisher(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """The p-value of Fisher's exact test that two shares are alike."""
    from scipy.stats import fisher_exact  # noqa: PLC0415  (slow to import)

    return float(fisher_exact([[hits, n - hits], [other_hits, other_n - other_hits]]).pvalue)


def _described(sweep: Mapping[Setting, Voted], at: Setting) -> str:
    return (
        f"{sweep[at].accuracy:.1%}, and {sweep[at].share((1, 1)):.1%} right and certified at 1 deletion and 1 addition "
        f"({MODELS[at[0]][0]}, delete {at[1]:g}, add {at[2]:g})"
    )


def _ratio(voted: Voted) -> Grid:
    return sc.metrics.certified_ratio(voted.certificates, voted.labels, max_radius=BOX)


def _largest_share(voted: Voted) -> float:
    """How many of the smoothed answers are of one class: 1 for a constant network."""
    return sc.metrics.majority_share(voted.votes.counts.argmax(axis=1))


def _radii(where: npt.NDArray[np.bool_]) -> str:
    return " ".join(f"({i}, {j})" for i, j in np.argwhere(where)) or "none"


STUDY = Mutag
