"""Evidence beside the paper's bound: how many graphs each certifies, what is broken, what stays open.

One draw says little: the machine on the motif data depends on a handful of support vectors. So a question is asked of
several *draws*, each with its own data, or its own split of them, and a model trained anew; a figure is their median
with the range, and no draw is left out. Draw k has the data seed k (motif data), or the seed of the study + k for
splits, weights, training and votes (MUTAG, and PROTEINS where a copy of it lies, see `datasets.tu`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, from_sklearn
from starcert.datasets import Split, tu
from starcert.datasets.tu_files import local_names
from starcert_studies.figures import verdict_bars
from starcert_studies.outcome import Report, texts_of
from starcert_studies.study import (
    Study,
    Tested,
    Trial,
    blind_answers,
    fold_splits,
    motif_machine,
    mutag_network,
    protein_splits,
    trained_network,
)  # fmt: skip
from starcert_studies.voted import ONE_FLIP, TWO_FLIPS, Question, RadiusTally, Voted, median_range, medians, tallies

MUTAG_NOISES = {(0.04, 0.2): 2, (0.02, 0.05): 3, (0.02, 0.02): 5}
"""Delete and add, and how many tenths of the votes each has: the weight of two flips grows like 1/p²."""

BLOCK = 10  # graphs of the motif data, or proteins, in a part
SHARED = {
    (0.1, 0.1): {"(1, 0)": 95, "(0, 1)": 95, "(2, 0)": 55, "(1, 1)": 85, "(0, 2)": 95},
    (0.06, 0.06): {"(1, 0)": 95, "(2, 0)": 90, "(1, 1)": 95, "(0, 2)": 95},
    (0.1, 0.45): {"(0, 45)": 95},
}
"""What evidence from the votes on the clean graphs certifies at least, in % of the motif graphs, in the median draw."""

ANY = ("any flip", "any 2 flips")
HEADLINE = {
    (0.1, 0.1): ANY,
    (0.06, 0.06): ANY,
    (0.02, 0.45): ("(2, 45)",),
    (0.04, 0.2): ANY[1:],
    (0.05, 1 / 400): ANY[:1],
}
"""The radii of each noise that the README shows."""

Key = tuple[str, str, tuple[float, float], int, int | None]  # data, model, noise, draw, and fold of MUTAG


@dataclass(frozen=True)
class Asked:
    """A question about the graphs of a data set."""

    data: str  # "motif", "MUTAG" or "PROTEINS"
    model: str  # the base classifier
    # the flip probabilities of motif and random pairs, or of present pairs (delete) and absent ones (add)
    noise: tuple[float, float]
    samples: int  # votes on each graph
    question: Question  # what evidence is asked
    graphs: int  # how many graphs; of MUTAG, how many folds of ten
    draws: int = 1  # how many draws

    @property
    def label(self) -> str:
        """Data, model and noise in a few words."""
        return f"{self.data}, {self.model}, {self.noise[0]:g}/{self.noise[1]:g}"

    def is_headline(self, radius: str) -> bool:
        """Whether the README shows a radius."""
        return radius in HEADLINE.get(self.noise, ()) and self.question.radii[-1] != (3, 45)


@dataclass(frozen=True)
class Evidence(Study):
    """Questions about three data sets."""

    texts = texts_of("evidence")
    quick: ClassVar = {"samples": 10_000, "own_samples": 100_000, "graphs": 10, "far": 0, "folds": 2, "epochs": 20,
                       "protein_epochs": 10, "draws": 3, "repeats": 1}  # fmt: skip

    samples: int = 100_000  # votes on each graph of the motif data; the others have theirs in proportion
    own_samples: int = 2_000_000  # the most votes at attacked versions of such a graph
    # how many test graphs of PROTEINS and of each draw of the motif data; where the random pairs have the noise 0.45,
    # 10 of them: draws differ by far more than graphs do
    graphs: int = 100
    far: int = 5  # for how many of them three flips in the motif are asked about: it takes long
    folds: int = 10  # how many of the ten folds of MUTAG are tested
    epochs: int = 100  # of training the networks on MUTAG
    protein_epochs: int = 50  # of training on PROTEINS
    proteins: bool = True  # whether there is a copy of PROTEINS
    seed: int = 1  # of weights, splits, training and votes, in the first draw
    draws: int = 20  # how many draws of the motif data; half as many at (2, 45), which takes long
    repeats: int = 2  # how many cross-validations of MUTAG at the paper's noise, and how many splits of PROTEINS

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        return replace(super().from_options(samples, seed, quick), proteins="PROTEINS" in local_names())

    def questions(self) -> list[Asked]:
        """All that is asked."""
        votes, own, n, draws = self.samples, self.own_samples, self.graphs, self.draws
        most, few = own * 29 // 20, min(n, BLOCK)  # three million in all, where there are 100,000 on the clean graph
        motif, any_two = partial(Asked, "motif", "histogram"), Question(TWO_FLIPS, own, 2)
        asked = [
            motif((0.1, 0.1), votes, any_two, n, draws),
            motif((0.06, 0.06), votes, any_two, n, draws),
            motif((0.1, 0.45), votes, Question(((0, 1), (0, 45)), 0, None), few, draws),
            motif((0.02, 0.45), votes, Question(((1, 45), (2, 45)), most, None), few, draws // 2),
        ]
        if self.proteins:
            any_one, some = Question(ONE_FLIP, own // 4, 1), max(votes // 5, 10)
            asked.append(Asked("PROTEINS", "gin", (0.05, 1 / 400), some, any_one, n, self.repeats))
        for noise, tenths in MUTAG_NOISES.items() if self.folds else ():
            some, repeats = max(votes * tenths // 10, 10), self.repeats if noise == (0.04, 0.2) else 1
            asked += [Asked("MUTAG", model, noise, some, any_two, self.folds, repeats) for model in ("max", "sum")]
        if self.far:
            far = Question(((2, 45), (3, 45)), most, None)
            asked.append(motif((0.02, 0.45), votes, far, min(self.far, n)))
        return asked

    @override
    def trials(self) -> dict[tuple[Asked, int], list[Trial]]:
        return {(asked, draw): self._trials(asked, draw) for asked in self.questions() for draw in range(asked.draws)}

    def _trials(self, asked: Asked, draw: int) -> list[Trial]:
        reach = "-".join(map(str, asked.question.radii[-1]))
        name = f"{asked.data}-{asked.model}-{asked.noise[0]:g}-{asked.noise[1]:g}-{reach}-draw-{draw}"
        motif, key = asked.data == "motif", (asked.data, asked.model, asked.noise, draw)
        seed = self.seed if motif else self.seed + draw
        votes = noise_of(asked.data, asked.noise), asked.samples, seed
        if asked.data == "MUTAG":
            folds = range(asked.graphs)
            return [Trial(f"{name}-{fold}", (*key, fold), *votes, question=asked.question) for fold in folds]
        graphs = asked.graphs if motif else min(asked.graphs, len(protein_splits(seed)[2]))
        return [Trial(name, (*key, None), *votes, graphs, BLOCK, question=asked.question)]

    def splits(self, key: Key) -> tuple[Split, Split, Split]:
        """What the model of a key learns from, what decides which epoch is kept, and what is tested."""
        data, _, _, draw, fold = key
        if data == "motif":
            whole = motif_machine(draw)[1]
            return whole.train, whole.validation, whole.test
        seed = self.seed + draw
        return protein_splits(seed) if fold is None else fold_splits(tu("MUTAG").all, fold, seed)[:3]

    @override
    def data(self, key: Key) -> Tested:
        tested, regions = self.splits(key)[2], motif_machine(key[3])[1].partition if key[0] == "motif" else None
        return Tested(tested.graphs, tested.labels, noise_of(key[0], key[2]), regions)

    @override
    def model(self, key: Key) -> Classifier:
        data, model, noise, draw, fold = key
        if data == "motif":
            return from_sklearn(motif_machine(draw)[0])
        seed, epochs = self.seed + draw, self.protein_epochs
        if data == "MUTAG":
            return mutag_network(model, *noise, fold, self.epochs, seed)
        taught, held, _ = self.splits(key)
        features = np.asarray(taught.graphs[0].node_data["x"]).shape[1]
        return trained_network(
            lambda: sc.models.GCN(features, 2, hidden=32, layers=3, conv="gin", pooling="sum"), seed,
            noise_of(data, noise), None, taught, held, epochs=epochs, learning_rate=2e-3,
            halve_every=max(epochs // 4, 1), seed=seed,
        )  # fmt: skip

    @override
    def fact_keys(self) -> dict[str, Any]:
        machines = {f"support-vectors-{draw}": draw for draw in range(self.draws)}
        keys = [trial.key for trials in self.trials().values() for trial in trials]
        return machines | {blind_part(key): key for key in keys}

    @override
    def facts(self, key: int | Key) -> int | list[int]:
        """How many support vectors the machine of a draw has; or the answers of a model that sees no edge."""
        if isinstance(key, int):
            return len(motif_machine(key)[0].svc_.support_)
        taught, _, tested = self.splits(key)
        return blind_answers(taught, tested)

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        vectors = [results[f"support-vectors-{draw}"] for draw in range(self.draws)]
        by_radius, every, single = [], [], []
        for asked in dict.fromkeys(asked for asked, _ in found):
            draws = [voted for (other, _), voted in found.items() if other == asked]
            counts = [tallies(asked.question, voted.judged) for voted in draws]
            edgeless = [self.without_edges(asked, draw, voted, results) for draw, voted in enumerate(draws)]
            for radius in counts[0]:
                some = [tally[radius] for tally in counts]
                by_radius.append((asked, radius, some))
                every.append(record(asked, radius, some, edgeless) | {"draws": len(some)})
                for draw, one in enumerate(some):
                    more = {"draw": draw, "support_vectors": vectors[draw] if asked.data == "motif" else ""}
                    single.append(record(asked, radius, [one], [edgeless[draw]]) | more)
        headline = [number for number, (asked, radius, _) in enumerate(by_radius) if asked.is_headline(radius)]
        attacks = (
            {"data": asked.data, "model": asked.model, "noise_1": asked.noise[0], "noise_2": asked.noise[1],
             "box": str(asked.question.box), "draw": draw, "graph": number, "p_lower": one["p_lower"], "level": level,
             "why": why}
            for (asked, draw), voted in found.items()
            for number, one in enumerate(voted.judged)
            for level, why in one["open"].items()
        )  # fmt: skip
        report.table("headline", [every[number] for number in headline])
        report.table("evidence", every)
        report.table("draws", single)
        report.table("open", attacks)
        bars = [(f"{asked.label}: {radius}", some) for asked, radius, some in by_radius]
        report.picture("headline", verdict_bars, dict(bars[number] for number in headline))
        report.picture("verdicts", verdict_bars, dict(bars))
        for asked, radius, some in by_radius:
            if asked.is_headline(radius) or radius in {"any 2 flips", "(0, 45)", "(3, 45)"}:
                report.sentence(label=asked.label, n_draws=len(some), radius=radius, **medians(some))
        report.sentence(1, vectors=median_range(vectors))
        if not self.proteins:
            report.sentence(2)
        self.check_claims(report, by_radius)

    def without_edges(self, asked: Asked, draw: int, voted: Voted, results: Mapping[str, Any]) -> tuple[int, int]:
        """How many graphs a constant answer has right, and how many the blind model."""
        trials = self._trials(asked, draw)
        blind = [answer for trial in trials for answer in results[blind_part(trial.key)][: trial.objects]]
        return max(Counter(voted.labels.tolist()).values()), int(np.sum(blind == voted.labels))

    def check_claims(self, report: Report, by_radius: Sequence[tuple[Asked, str, Sequence[RadiusTally]]]) -> None:
        """What is documented of evidence: of each question and radius, from its tallies draw by draw."""
        whole = self.samples >= 100_000 and self.graphs == 100 and self.draws == 20
        for asked, radius, some in by_radius:
            shared, own, left = (np.median([getattr(one, name) for one in some]) for name in ("shared", "own", "open"))
            check = partial(report.check, enough=whole, noise=asked.noise, radius=radius, **medians(some))
            if (least := SHARED.get(asked.noise, {}).get(radius)) is not None:
                check("shared", shared >= least / 100 * some[0].graphs, least=least)
            if asked.noise == (0.1, 0.1) and radius == "any 2 flips":
                check("any_two_flips", left <= 5)
            if radius == "(2, 45)" and asked.is_headline(radius):
                check("far", own >= 0.95 * some[0].graphs)
        lost, away = (
            sum(getattr(one, name) for *_, some in by_radius for one in some) for name in ("lost", "shared_away")
        )
        report.check("nothing_lost", lost == 0, lost=lost, away=away)


def record(
    asked: Asked, radius: str, some: Sequence[RadiusTally], without_edges: Sequence[tuple[int, int]]
) -> dict[str, object]:
    """A row of a table: the median and range of each count over some draws."""
    columns = [
        {"majority": constant, "blind": blind} | one.columns()
        | {"lost_by_sharing_alpha": one.shared_away, "own_votes": round(one.own_votes)}
        for one, (constant, blind) in zip(some, without_edges, strict=True)
    ]  # fmt: skip
    return {
        "data": asked.data, "model": asked.model, "noise_1": asked.noise[0], "noise_2": asked.noise[1],
        "votes": asked.samples, "most_own_votes": asked.question.own_samples, "radius": radius,
        "graphs": some[0].graphs, **{name: median_range([each[name] for each in columns]) for name in columns[0]},
    }  # fmt: skip


def noise_of(data: str, noise: tuple[float, float]) -> sc.Noise:
    """The noise of a question."""
    if data == "motif":
        return sc.Noise(motif=noise[0], random=noise[1])
    return sc.Noise(pairs=sc.Flip(delete=noise[0], add=noise[1]))


def blind_part(key: Key) -> str:
    """The name of the part with the answers of the blind model, which do not depend on the noise."""
    data, _, _, draw, fold = key
    return f"blind-{data}-{draw}" if fold is None else f"blind-{data}-{draw}-{fold}"
