"""The effect of the number of votes, at p = (0.01, 0.45): few votes bound p_A loosely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from starcert.objects.noise import Noise
from starcert_studies.figures import draws_figure, radius_maps
from starcert_studies.report import Report, published
from starcert_studies.trials import MotifStudy, Trial
from starcert_studies.voted import ALPHA, Voted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = Noise(dict(zip(("motif", "random"), published("samples")["p"], strict=True)))
PAPER = {int(n): p_lower for n, p_lower in published("samples")["smallest_p_lower"].items()}
"""The paper's smallest p_lower by number of votes."""

BOX = {"motif": 4, "random": 45}
MAPS = (10, 100, 1_000, 10_000, 100_000)
PUBLISHED_DIGITS = {10: 3, 100: 3, 1_000: 4}
"""Digits after the point in the paper's figure, by number of votes; from 10,000 on five."""

Draws = Sequence[Mapping[int, float]]
"""The smallest p_lower by number of votes, for each draw of the data, the study's own first."""


@dataclass(frozen=True)
class Samples(MotifStudy):
    """The smallest p_lower by number of votes."""

    quick: ClassVar = {"samples": 10_000, "draws": 4}

    samples: int = 100_000  # the largest number of estimation votes; smaller ones are those of the paper
    draws: int = 9  # how many further draws of the data there are
    seed: int = 1  # of all votes. Each number of votes has votes of its own, as in the paper
    data_seed: int = 0  # of the study's own data

    @override
    def trials(self) -> dict[tuple[int, int], list[Trial]]:
        return {
            (data, n): [Trial(f"draw-{data}-{n}", (data, False), NOISE, n, 1000 * self.seed + k)]
            for data in self.data_seeds
            for k, n in enumerate(n for n in PAPER if n <= self.samples)
        }

    @override
    def outcome(self, report: Report, found: Mapping[tuple[int, int], Voted], results: Mapping[str, Any]) -> None:
        numbers = dict.fromkeys(n for _, n in found)
        own = {n: found[self.data_seed, n] for n in numbers}
        draws = [{n: found[data, n].smallest_p_lower for n in numbers} for data in self.data_seeds]
        rows = (
            {"votes": n, "smallest_p_lower": draws[0][n], "published": PAPER[n],
             "least_of_draws": min(draw[n] for draw in draws), "greatest_of_draws": max(draw[n] for draw in draws),
             **voted.certified_at([(1, 0), (1, 45)])}
            for n, voted in own.items()
        )  # fmt: skip
        report.table("samples", rows)
        shares = ", ".join(f"{voted.share((1, 45)):.0%} with {n:,}" for n, voted in own.items() if n in MAPS)
        report.sentence(shares=shares)
        report.picture("smallest_p_lower", bounds_figure, draws)
        maps = {f"{n:,} votes": own[n] for n in MAPS if n in own}
        report.picture("radii", radius_maps, maps, BOX, 0.85)
        check_claims(report, draws)


def check_claims(report: Report, draws: Draws) -> None:
    """The paper's claims."""
    own = draws[0]
    tenfold = [n for n in own if str(n).startswith("1") and set(str(n)[1:]) <= {"0"}]
    rising = all(own[a] < own[b] for a, b in pairwise(tenfold))
    report.check("rises", rising, enough=len(tenfold) > 1, bounds=", ".join(f"{own[n]:.4f}" for n in tenfold))
    for n in own:
        rounding = 0.5 * 10.0 ** -PUBLISHED_DIGITS.get(n, 5)
        report.number("number", PAPER[n], [draw[n] for draw in draws], rounding=rounding, n=n)


def bounds_figure(draws: Draws) -> Figure:
    """The bounds on 1 − p_A by number of votes."""
    numbers = list(draws[0])
    own, *others = ([1 - draw[n] for n in numbers] for draw in draws)
    unanimous = {"unanimous votes": [1 - ALPHA ** (1 / n) for n in numbers]}
    names = {"xlabel": "votes for each graph", "ylabel": "1 − smallest p_lower"}
    paper = [1 - PAPER[n] for n in numbers]
    return draws_figure(numbers, own, paper, others, unanimous, xscale="log", yscale="log", **names)
