"""Evidence beside the paper's bound on the paper's data: how many graphs are certified, broken, or stay open.

One draw says little: the machine depends on a handful of support vectors. So a question is asked of several draws of
the data; a figure is the median of all draws with the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert_studies.figures import verdict_bars
from starcert_studies.report import Report
from starcert_studies.trials import MotifStudy, Trial, motif_machine
from starcert_studies.voted import TWO_FLIPS, Question, Tally, Voted, median_range, tallies

SHARED = {
    (0.1, 0.1): {"(1, 0)": 95, "(0, 1)": 95, "(2, 0)": 55, "(1, 1)": 85, "(0, 2)": 95},
    (0.06, 0.06): {"(1, 0)": 95, "(2, 0)": 90, "(1, 1)": 95, "(0, 2)": 95},
    (0.1, 0.45): {"(0, 45)": 95},
}
"""What evidence from the votes on the clean graphs certifies at least, in % of the graphs, in the median draw."""


class Asked(NamedTuple):
    """A question about some draws of the data."""

    rates: tuple[float, float]  # how likely motif and random pairs flip
    question: Question
    graphs: int
    draws: int
    headline: tuple[str, ...] = ()  # the radii that are shown at a glance


@dataclass(frozen=True)
class Evidence(MotifStudy):
    """Questions about draws of the motif data, which are numbered from 0."""

    quick: ClassVar = {"samples": 10_000, "own_samples": 100_000, "graphs": 10, "draws": 3}

    samples: int = 100_000  # votes on each graph
    own_samples: int = 2_000_000  # the most votes at attacked versions of one
    graphs: int = 100  # test graphs of each draw; 10 where random pairs flip with 0.45, as draws differ by more
    draws: int = 20  # how many draws; half as many at (2, 45), which takes long
    seed: int = 1  # of all votes

    def questions(self) -> list[Asked]:
        """All that is asked."""
        own, n, few, draws = self.own_samples, self.graphs, min(self.graphs, 10), self.draws
        any_two, shown = Question(TWO_FLIPS, own, 2), ("any flip", "any 2 flips")
        far = Question(((1, 45), (2, 45)), own * 29 // 20, None)
        return [
            Asked((0.1, 0.1), any_two, n, draws, shown),
            Asked((0.06, 0.06), any_two, n, draws, shown),
            Asked((0.1, 0.45), Question(((0, 1), (0, 45)), 0, None), few, draws),
            Asked((0.02, 0.45), far, few, max(draws // 2, 1), ("(2, 45)",)),
        ]

    @override
    def trials(self) -> dict[tuple[Asked, int], list[Trial]]:
        return {
            (asked, draw): [
                Trial("{:g}-{:g}-draw-{}".format(*asked.rates, draw), (draw, False),
                      sc.Noise(motif=asked.rates[0], random=asked.rates[1]), self.samples, self.seed, asked.graphs, 10,
                      question=asked.question)
            ]
            for asked in self.questions()
            for draw in range(asked.draws)
        }  # fmt: skip

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        whole, bars = (self.samples, self.graphs, self.draws) == (100_000, 100, 20), dict[str, list[Tally]]()
        for asked in self.questions():
            every = [found[asked, draw] for draw in range(asked.draws)]
            each = [tallies(asked.question, voted.judged) for voted in every]
            majority = median_range([voted.majority for voted in every])
            for radius in each[0]:
                some = [tally[radius] for tally in each]
                about = {"noise_1": asked.rates[0], "noise_2": asked.rates[1], "radius": radius, "graphs": asked.graphs}
                counts = {name: median_range([getattr(one, name) for one in some]) for name in Tally._fields}
                report.table("evidence", [about | {"draws": len(some), "majority": majority} | counts])
                report.table("draws", ({**about, "draw": i, **one._asdict()} for i, one in enumerate(some)))
                if radius in asked.headline:
                    report.sentence(**about, draws=len(some), **counts)
                    bars[f"{asked.rates[0]:g}/{asked.rates[1]:g}: {radius}"] = some
                shared, own, left = (
                    np.median([getattr(one, name) for one in some])
                    for name in ("by_evidence", "with_own_votes", "open")
                )
                values: dict[str, Any] = {"enough": whole, "noise": asked.rates, **about, **counts}
                if (least := SHARED.get(asked.rates, {}).get(radius)) is not None:
                    report.check("shared", shared >= least / 100 * asked.graphs, least=least, **values)
                if (asked.rates, radius) == ((0.1, 0.1), "any 2 flips"):
                    report.check("any_two_flips", left <= 5, **values)
                if radius == "(2, 45)":
                    report.check("far", own >= 0.95 * asked.graphs, **values)
        vectors = [len(motif_machine(draw)[0].svc_.support_) for draw in range(self.draws)]
        report.sentence(1, vectors=median_range(vectors))
        report.picture("headline", verdict_bars, bars)
