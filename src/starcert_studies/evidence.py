"""Evidence beside the paper's bound: how many graphs each certifies, what is broken, what stays open.

One draw says little: the machine on the motif data depends on a handful of support vectors. So a question is asked of
several *draws*, each with its own data, or its own split of them, and a model trained anew; a figure is the median of
all draws with the range.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from typing_extensions import override

from starcert.classifiers import Classifier
from starcert.datasets.tu_files import local_names
from starcert_studies.figures import verdict_bars
from starcert_studies.outcome import Report
from starcert_studies.study import Tested, Trial, TrialStudy, blind_answers, drawn_model, drawn_splits, motif_machine
from starcert_studies.voted import ONE_FLIP, TWO_FLIPS, Asked, Question, RadiusTally, Voted, median_range, tallies

ANY = ("any flip", "any 2 flips")
MUTAG_NOISES = (((0.04, 0.2), 2, ANY[1:]), ((0.02, 0.05), 3, ()), ((0.02, 0.02), 5, ()))
"""Delete and add; tenths of the votes, as the weight of two flips grows like 1/p²; and what is shown at a glance."""

BLOCK = 10  # graphs of the motif data, or proteins, in a part
SHARED = {
    (0.1, 0.1): {"(1, 0)": 95, "(0, 1)": 95, "(2, 0)": 55, "(1, 1)": 85, "(0, 2)": 95},
    (0.06, 0.06): {"(1, 0)": 95, "(2, 0)": 90, "(1, 1)": 95, "(0, 2)": 95},
    (0.1, 0.45): {"(0, 45)": 95},
}
"""What evidence from the votes on the clean graphs certifies at least, in % of the motif graphs, in the median draw."""

Key = tuple[Asked, int, int, int | None]  # a question, the draw, its seed, and the fold of MUTAG
ByRadius = dict[tuple[Asked, str], list[RadiusTally]]  # of each question and radius, draw by draw


@dataclass(frozen=True)
class Evidence(TrialStudy):
    """Questions about three data sets."""

    quick: ClassVar = {"samples": 10_000, "own_samples": 100_000, "graphs": 10, "far": 0, "folds": 2, "epochs": 20,
                       "protein_epochs": 10, "draws": 3, "repeats": 1}  # fmt: skip

    samples: int = 100_000  # votes on each graph of the motif data; the others have theirs in proportion
    own_samples: int = 2_000_000  # the most votes at attacked versions of such a graph
    graphs: int = 100  # how many test graphs of PROTEINS and of each draw of the motif data
    far: int = 5  # for how many of them three flips in the motif are asked about: it takes long
    folds: int = 10  # how many of the ten folds of MUTAG are tested
    epochs: int = 100  # of training the networks on MUTAG
    protein_epochs: int = 50  # of training on PROTEINS
    proteins: bool = True  # whether there is a copy of PROTEINS, see `datasets.tu`
    seed: int = 1  # of weights, splits, training and votes, in the first draw
    draws: int = 20  # how many draws of the motif data; half as many at (2, 45), which takes long
    repeats: int = 2  # how many cross-validations of MUTAG at the paper's noise, and how many splits of PROTEINS

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        return replace(super().from_options(samples, seed, quick), proteins="PROTEINS" in local_names())

    def questions(self) -> list[Asked]:
        """All that is asked: data, model, noise, votes, question, how many graphs and draws, what is at a glance."""
        votes, own, n, draws = self.samples, self.own_samples, self.graphs, self.draws
        most = own * 29 // 20  # three million in all, where there are 100,000 on the clean graph
        few = min(n, BLOCK)  # where random pairs have the noise 0.45: draws differ by far more than graphs do
        motif, any_two = partial(Asked, "motif", "histogram"), Question(TWO_FLIPS, own, 2)
        any_one, splits = Question(ONE_FLIP, own // 4, 1), self.repeats if self.proteins else 0
        asked = [
            motif((0.1, 0.1), votes, any_two, n, draws, ANY),
            motif((0.06, 0.06), votes, any_two, n, draws, ANY),
            motif((0.1, 0.45), votes, Question(((0, 1), (0, 45)), 0, None), few, draws),
            motif((0.02, 0.45), votes, Question(((1, 45), (2, 45)), most, None), few, draws // 2, ("(2, 45)",)),
            Asked("PROTEINS", "gin", (0.05, 1 / 400), max(votes // 5, 10), any_one, n, splits, ANY[:1]),
        ]
        for (rates, tenths, shown), model in product(MUTAG_NOISES, ("max", "sum")):
            some, repeats = max(votes * tenths // 10, 10), self.repeats if shown else 1
            asked.append(Asked("MUTAG", model, rates, some, any_two, self.folds, repeats, shown))
        asked.append(motif((0.02, 0.45), votes, Question(((2, 45), (3, 45)), most, None), min(self.far, n)))
        return [each for each in asked if each.graphs and each.draws]

    @override
    def trials(self) -> dict[tuple[Asked, int], list[Trial]]:
        return {(asked, draw): self._trials(asked, draw) for asked in self.questions() for draw in range(asked.draws)}

    def _trials(self, asked: Asked, draw: int) -> list[Trial]:
        reach = "-".join(map(str, asked.question.radii[-1]))
        name = f"{asked.data}-{asked.model}-{asked.rates[0]:g}-{asked.rates[1]:g}-{reach}-draw-{draw}"
        motif, seed = asked.data == "motif", self.seed + draw
        votes = asked.noise, asked.samples, self.seed if motif else seed
        if asked.data != "MUTAG":
            key = asked, draw, draw if motif else seed, None
            return [Trial(name, key, *votes, asked.graphs, BLOCK, question=asked.question)]
        keys = ((asked, draw, seed, fold) for fold in range(asked.graphs))
        return [Trial(f"{name}-{key[-1]}", key, *votes, question=asked.question) for key in keys]

    @override
    def data(self, key: Key) -> Tested:
        asked, _, seed, fold = key
        _, _, tested, regions = drawn_splits(asked.data, seed, fold)
        return Tested(tested.graphs, tested.labels, asked.noise, regions)

    @override
    def model(self, key: Key) -> Classifier:
        asked, _, seed, fold = key
        epochs = self.epochs if asked.data == "MUTAG" else self.protein_epochs
        return drawn_model(asked.data, asked.model, asked.rates, seed, fold, epochs)

    @override
    def fact_keys(self) -> dict[str, Any]:
        machines = {f"support-vectors-{draw}": draw for draw in range(self.draws)}
        return machines | {blind_part(each.key): each.key for trials in self.trials().values() for each in trials}

    @override
    def facts(self, key: int | Key) -> int | list[int]:
        """How many support vectors the machine of a draw has; or the answers of a model that sees no edge."""
        if isinstance(key, int):
            return len(motif_machine(key)[0].svc_.support_)
        return blind_answers(key[0].data, *key[2:])

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        vectors, trials = [results[f"support-vectors-{draw}"] for draw in range(self.draws)], self.trials()
        by_radius: ByRadius = defaultdict(list)
        for (asked, draw), voted in found.items():
            blind = [each for trial in trials[asked, draw] for each in results[blind_part(trial.key)][: trial.objects]]
            for radius, tally in tallies(asked.question, voted.judged, blind).items():
                by_radius[asked, radius].append(tally)
        rows = {at: at[0].row(some) | {"draws": len(some)} for at, some in by_radius.items()}
        headline = [(asked, radius) for asked, radius in by_radius if radius in asked.headline]
        single = (
            asked.row([one]) | {"draw": draw, "support_vectors": vectors[draw] if asked.data == "motif" else ""}
            for (asked, _), some in by_radius.items()
            for draw, one in enumerate(some)
        )
        attacks = (
            {**asked.columns, "box": str(asked.question.box), "draw": draw, **each}
            for (asked, draw), voted in found.items()
            for each in voted.open_attacks()
        )
        report.table("headline", [rows[at] for at in headline])
        report.table("evidence", rows.values())
        report.table("draws", single)
        report.table("open", attacks)
        for name, shown in (("headline", headline), ("verdicts", by_radius)):
            report.picture(name, verdict_bars, {self.texts["bar"].format(**rows[at]): by_radius[at] for at in shown})
        for (asked, radius), row in rows.items():
            if radius in {*asked.headline, "any 2 flips", "(0, 45)", "(3, 45)"}:
                report.sentence(**row)
        report.sentence(*((1,) if self.proteins else (1, 2)), vectors=median_range(vectors))
        self.check_claims(report, by_radius)

    def check_claims(self, report: Report, by_radius: ByRadius) -> None:
        """What is documented of evidence."""
        whole = self.samples >= 100_000 and self.graphs == 100 and self.draws == 20
        for (asked, radius), some in by_radius.items():
            shared, own, left = (np.median([getattr(one, name) for one in some]) for name in ("shared", "own", "open"))
            check = partial(report.check, enough=whole, noise=asked.rates, **asked.row(some))
            if (least := SHARED.get(asked.rates, {}).get(radius)) is not None:
                check("shared", shared >= least / 100 * some[0].graphs, least=least)
            if asked.rates == (0.1, 0.1) and radius == "any 2 flips":
                check("any_two_flips", left <= 5)
            if radius == "(2, 45)" and radius in asked.headline:
                check("far", own >= 0.95 * some[0].graphs)
        every = [one for some in by_radius.values() for one in some]
        lost, away = sum(one.lost for one in every), sum(one.shared_away for one in every)
        report.check("nothing_lost", lost == 0, lost=lost, away=away)


def blind_part(key: Key) -> str:
    """The name of the part with the answers of the blind model, which do not depend on the noise."""
    asked, draw, _, fold = key
    return f"blind-{asked.data}-{draw}" + ("" if fold is None else f"-{fold}")
