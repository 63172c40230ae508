"""The effect of the number of votes, at p = (0.01, 0.45): few votes bound p_A loosely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from starcert.certificates.metrics import certified_share
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_sklearn
from starcert.math.confidence import clopper_pearson
from starcert.models import vertex_histogram_svm
from starcert.objects.noise import Noise
from starcert.pages.plots.drawing import COLUMN, colour_of, new_figure
from starcert.pages.plots.maps import RadiusMap, stacked
from starcert_studies.levels import ALPHA, Level, draw_of_data, level_part, read_votes, vote
from starcert_studies.outcome import Check, Outcome, Picture, Table, failure_within, published
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from starcert.datasets.dataset import Dataset

__all__ = ["TITLE", "SamplesSettings", "run", "settings"]

TITLE = "How many votes: from 10 to 100,000"
BOX = {"motif": 4, "random": 45}
MAPS = (10, 100, 1_000, 10_000, 100_000)
PUBLISHED_DIGITS = {10: 3, 100: 3, 1_000: 4}
"""Digits after the point in the paper's figure, by number of votes; from 10,000 on five."""


@dataclass(frozen=True)
class SamplesSettings:
    """What the study depends on.

    Attributes:
        samples: the largest number of estimation votes; smaller ones are those of the paper.
        draws: how many further draws of the data there are.
        seed: of all votes. Each number of votes has votes of its own, as in the paper.
        data_seed: of the study's own data.
    """

    samples: int = 100_000
    draws: int = 9
    seed: int = 1
    data_seed: int = 0

    @property
    def numbers(self) -> list[int]:
        """The numbers of votes."""
        return [n for n in map(int, published("samples")["smallest_p_lower"]) if n <= self.samples]


def settings(samples: int | None, seed: int, quick: bool) -> SamplesSettings:
    """The settings that a command line asks for."""
    return SamplesSettings(samples or (10_000 if quick else 100_000), 4 if quick else 9, seed)


def run(settings: SamplesSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    data = draw_of_data(settings.data_seed)
    noise = Noise(dict(zip(("motif", "random"), published("samples")["p"], strict=True)))
    base = from_sklearn(vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    smoothed = SmoothedClassifier(base, noise, data.partition)
    problem = smoothed.problem(data.test.graphs)
    work = {n: level_part(smoothed, problem, n, 1000 * settings.seed + k) for k, n in enumerate(settings.numbers)}
    first = 10_000 * settings.seed + 1
    drawn = [
        Part(f"draw-{seed}", draw_bounds, (seed, settings.numbers, settings.seed), sum(settings.numbers) * 100)
        for seed in range(first, first + settings.draws)
    ]
    done = parts.run([*drawn, *work.values()], "votes")
    levels = {n: Level.of(problem, read_votes(done[part.name])) for n, part in work.items()}
    draws = [{n: levels[n].smallest_p_lower for n in levels}]
    draws += [{n: done[part.name][str(n)] for n in levels} for part in drawn]
    return Outcome(
        _summary(levels, data),
        [
            Picture(
                "smallest_p_lower",
                "The bound on 1 − p_A of the worst test graph, by number of votes: here, in the paper, for other draws "
                "of the data, and the least that unanimous votes can give.",
                partial(_bounds_figure, draws),
            ),
            Picture(
                "radii",
                "Share of test graphs that are right and certified at each radius, by number of votes.",
                partial(_maps, {n: levels[n] for n in MAPS if n in levels}, data),
            ),
        ],
        [_table(levels, draws, data)],
        _checks(draws),
    )


def draw_bounds(data_seed: int, numbers: list[int], seed: int) -> dict[str, float]:
    """The smallest p_lower of another draw of the data, for each number of votes."""
    data = draw_of_data(data_seed)
    noise = Noise(dict(zip(("motif", "random"), published("samples")["p"], strict=True)))
    base = from_sklearn(vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    smoothed = SmoothedClassifier(base, noise, data.partition)
    problem = smoothed.problem(data.test.graphs)
    found: dict[str, float] = {}
    for k, n in enumerate(numbers):
        votes = read_votes(vote(smoothed, problem, n, 1000 * seed + k))
        found[str(n)] = float(clopper_pearson(votes, alpha=ALPHA).p_lower.min())
    return found


def _checks(draws: list[dict[int, float]]) -> list[Check]:
    told = published("samples")["smallest_p_lower"]
    own = draws[0]
    numbers = list(own)
    checks = [
        failure_within(
            f"smallest p_lower with {n:,} votes",
            told[str(n)],
            [draw[n] for draw in draws],
            rounding=0.5 * 10.0 ** -PUBLISHED_DIGITS.get(n, 5),
        )
        for n in numbers
    ]
    tenfold = [n for n in numbers if str(n).startswith("1") and set(str(n)[1:]) <= {"0"}]
    rising = all(own[a] < own[b] for a, b in pairwise(tenfold)) if len(tenfold) > 1 else None
    measured = ", ".join(f"{own[n]:.4f}" for n in tenfold)
    claim = "ten times the votes bound p_A better, every time"
    return [Check(claim, "rises", measured, rising, True), *checks]


def _bounds_figure(draws: list[dict[int, float]]) -> Figure:
    figure = new_figure(COLUMN, 2.6)
    ax = figure.add_subplot()
    numbers = list(draws[0])
    for k, draw in enumerate(draws[1:]):
        label = "other draws of the data" if k == 0 else None
        ax.loglog(numbers, [1 - draw[n] for n in numbers], color="#bbbbbb", lw=0.8, label=label)
    ax.loglog(numbers, [1 - draws[0][n] for n in numbers], marker="o", ms=3, color=colour_of(0), label="here")
    told = published("samples")["smallest_p_lower"]
    ax.loglog(numbers, [1 - told[str(n)] for n in numbers], marker="s", ms=3, color=colour_of(1), label="in the paper")
    ax.loglog(numbers, [1 - ALPHA ** (1 / n) for n in numbers], color="black", ls=":", lw=1, label="unanimous votes")
    ax.set(xlabel="votes for each graph", ylabel="1 − smallest p_lower")
    ax.legend(frameon=False)
    return figure


def _maps(levels: dict[int, Level], data: Dataset) -> Figure:
    maps = {
        n: RadiusMap.from_certificates(each.certificates, data.test.labels, max_radius=BOX)
        for n, each in levels.items()
    }
    return stacked({f"{n:,} votes": each for n, each in maps.items()}, 0.85)


def _table(levels: dict[int, Level], draws: list[dict[int, float]], data: Dataset) -> Table:
    rows: list[list[Any]] = []
    for n, level in levels.items():
        share = certified_share(level.certificates, data.test.labels, max_radius=BOX)
        told = published("samples")["smallest_p_lower"][str(n)]
        others = [draw[n] for draw in draws]
        rows.append(
            [n, level.smallest_p_lower, told, min(others), max(others), float(share[1, 0]), float(share[1, 45])]
        )
    columns = ["votes", "smallest_p_lower", "published", "least_of_draws", "greatest_of_draws", "certified_at_1_0",
               "certified_at_1_45"]  # fmt: skip
    return Table("samples", "The smallest p_lower and what it certifies, by number of votes.", columns, rows)


def _summary(levels: dict[int, Level], data: Dataset) -> list[str]:
    shares = {
        n: float(certified_share(level.certificates, data.test.labels, max_radius=BOX)[1, 45])
        for n, level in levels.items()
    }
    told = ", ".join(f"{share:.0%} with {n:,}" for n, share in shares.items() if n in MAPS)
    return [
        f"Share of test graphs that are right and certified at (1, 45): {told} votes. With few votes the bound on p_A "
        "is loose even if all of them agree."
    ]
