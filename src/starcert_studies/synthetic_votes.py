"""The synthetic study: what noise does to certificates where the motif alone decides the class.

A hundred noise levels, each voted on by the vertex-histogram machine for 100 test graphs: the grid of p_motif and
p_random, and isotropic noise. Independent draws of the data say how far the figures depend on the draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.certificates.certify import certify
from starcert.certificates.metrics import accuracy, certified_share, score
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_sklearn
from starcert.datasets.dataset import Dataset
from starcert.math.confidence import clopper_pearson
from starcert.objects import Partition
from starcert.objects.binding import Problem, bind_all
from starcert.objects.noise import Noise
from starcert_studies.levels import (
    ALPHA,
    Level,
    answers,
    as_if,
    draw_of_data,
    name_of,
    plurality,
    read_votes,
    vote,
)
from starcert_studies.outcome import published
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.classifiers.kernels.svm import KernelSVM

__all__ = [
    "DRAWN_ROWS",
    "FEATURED",
    "FEATURED_BOX",
    "FEATURED_RADIUS",
    "ISOTROPIC",
    "SCORE_WINDOW",
    "DataDraw",
    "SyntheticResults",
    "SyntheticSettings",
    "compute",
    "settings",
]

Grid = npt.NDArray[np.float64]

SCORE_WINDOW = (7, 7)
FEATURED = (0.02, 0.45)
FEATURED_RADIUS = (1, 45)
FEATURED_BOX = (4, 45)
ISOTROPIC = tuple(round(0.02 * k, 2) for k in range(1, 11))
EVERYWHERE = Partition.everything("all")
DRAWN_ROWS = (0.45, 0.25, 0.05)
"""Of the draws of the data, these p_random are voted on: the largest, the middle, the least."""


@dataclass(frozen=True)
class SyntheticSettings:
    """What the study depends on.

    Attributes:
        samples: estimation votes for each graph at each level of the grid.
        featured_samples: the same at p = (0.02, 0.45) and at the isotropic levels, whose claims are about every graph.
        draws: how many further draws of the data there are.
        draw_samples: estimation votes for each graph of those.
        seed: of all votes; the draws of the data are numbered from 10,000 times it.
        data_seed: of the study's own data.
    """

    samples: int = 100_000
    featured_samples: int = 100_000
    draws: int = 19
    draw_samples: int = 5_000
    seed: int = 1
    data_seed: int = 0


def settings(samples: int | None, seed: int, quick: bool) -> SyntheticSettings:
    """The settings that a command line asks for."""
    if samples is not None:
        return SyntheticSettings(samples, samples, 5 if quick else 19, max(100, samples // 20), seed)
    return SyntheticSettings(10_000, 100_000, 5, 2_000, seed) if quick else SyntheticSettings(seed=seed)


@dataclass(frozen=True)
class DataDraw:
    """The study on other data: a few rows of its tables, and its own machine.

    Attributes:
        seed: of the data.
        score: rows as `DRAWN_ROWS`, columns as the published p_motif.
        plurality: likewise, as the paper counts right answers.
        smallest_p_lower: likewise.
        support_vectors: how many graphs the machine hangs on.
    """

    seed: int
    score: Grid
    plurality: Grid
    smallest_p_lower: Grid
    support_vectors: int


@dataclass(frozen=True)
class SyntheticResults:
    """All figures of the study.

    Attributes:
        settings: what they depend on.
        data: the study's own data.
        base_accuracy: of the base classifier, on training, validation and test graphs.
        support_vectors: how many graphs the machine hangs on.
        grid: the levels of the grid, by (p_motif, p_random).
        featured: the level p = (0.02, 0.45), with as many votes as its claims need.
        isotropic: the isotropic levels, by p.
        score: rows as the published p_random, columns as p_motif.
        score_range: what the score might be but for the votes' own error, three standard errors down and up.
        accuracy: as the score; an abstention is no right answer.
        plurality: as the score; the share of graphs whose true class has the most votes, which is what the paper shows.
        smallest_p_lower: likewise.
        draws: the study on other data; the first one is its own, from the same levels.
        featured_draws: for each of them the share right and certified at p = (0.02, 0.45) and `FEATURED_RADIUS`.
    """

    settings: SyntheticSettings
    data: Dataset
    base_accuracy: dict[str, float]
    support_vectors: int
    grid: dict[tuple[float, float], Level]
    featured: Level
    isotropic: dict[float, Level]
    score: Grid
    score_range: tuple[Grid, Grid]
    accuracy: Grid
    plurality: Grid
    smallest_p_lower: Grid
    draws: list[DataDraw]
    featured_draws: list[float]

    @cached_property
    def featured_shares(self) -> Grid:
        """The share of test graphs right and certified at p = (0.02, 0.45), at each radius of `FEATURED_BOX`."""
        return certified_share(self.featured.certificates, self.data.test.labels, max_radius=FEATURED_BOX)

    @cached_property
    def isotropic_shares(self) -> dict[float, Grid]:
        """The share of test graphs right and certified at each isotropic level, by up to three flips."""
        labels = self.data.test.labels
        return {p: certified_share(each.certificates, labels, max_radius=(3,)) for p, each in self.isotropic.items()}


def compute(settings: SyntheticSettings, parts: StudyParts) -> SyntheticResults:
    """Everything but drawing and judging."""
    data, model, base, bound, bound_iso = _bound(settings.data_seed)
    test, labels = data.test.graphs, data.test.labels
    columns, rows = published("synthetic")["p_motif"], published("synthetic")["p_random"]

    def part(problem: Problem, samples: int) -> Part:
        arguments = settings.data_seed, problem.noise, samples, settings.seed
        return Part(f"level-{name_of(problem.noise)}-{samples}", level_votes, arguments, samples * len(test))

    problems = {(m, r): bound.under(Noise(motif=m, random=r)) for r in rows for m in columns}
    problems_iso = {p: bound_iso.under(Noise(all=p)) for p in ISOTROPIC}
    work = {at: part(problem, settings.samples) for at, problem in problems.items()}
    work_iso = {p: part(problem, settings.featured_samples) for p, problem in problems_iso.items()}
    featured = part(bound, settings.featured_samples)
    drawn = [
        Part(f"draw-{seed}-{settings.draw_samples}", draw_votes, (seed, settings.draw_samples, settings.seed),
             settings.draw_samples * len(columns) * len(DRAWN_ROWS) * len(test))
        for seed in range(10_000 * settings.seed + 1, 10_000 * settings.seed + 1 + settings.draws)
    ]  # fmt: skip
    headline = [
        Part(f"featured-{each.arguments[0]}-{settings.featured_samples}", featured_share,
             (each.arguments[0], settings.featured_samples, settings.seed), settings.featured_samples * len(test))
        for each in drawn
    ]  # fmt: skip
    every = {each.name: each for each in [*drawn, *headline, featured, *work_iso.values(), *work.values()]}
    done = parts.run(list(every.values()), "votes")
    grid = {at: Level.of(problems[at], read_votes(done[each.name])) for at, each in work.items()}

    def table(figure: Callable[[Level], float]) -> Grid:
        return np.array([[figure(grid[m, r]) for m in columns] for r in rows], dtype=float)

    scores = table(lambda level: score(level.certificates, labels, max_radius=SCORE_WINDOW))

    def shifted(errors: float) -> Grid:
        return table(lambda level: score(level.shifted(errors), labels, max_radius=SCORE_WINDOW))

    shares = table(lambda level: plurality(level.votes, labels))
    smallest = table(lambda level: level.smallest_p_lower)
    own_rows = [rows.index(r) for r in DRAWN_ROWS]
    own = DataDraw(settings.data_seed, scores[own_rows], shares[own_rows], smallest[own_rows], len(model.svc_.support_))
    closely = Level.of(bound, read_votes(done[featured.name]))
    return SyntheticResults(
        settings,
        data,
        {
            name: accuracy(answers(base, part.graphs), part.labels)
            for name, part in (("training", data.train), ("validation", data.validation), ("test", data.test))
        },
        own.support_vectors,
        grid,
        closely,
        {p: Level.of(problems_iso[p], read_votes(done[each.name])) for p, each in work_iso.items()},
        scores,
        (shifted(-3), shifted(3)),
        table(lambda level: accuracy(level.certificates, labels)),
        shares,
        smallest,
        [own, *(_draw(each.arguments[0], done[each.name], settings.samples) for each in drawn)],
        [
            closely.certificates.certified_accuracy(labels, FEATURED_RADIUS),
            *(done[each.name] for each in headline),
        ],
    )


def _machine(data: Dataset) -> KernelSVM:
    from starcert.models import vertex_histogram_svm  # noqa: PLC0415  (scikit-learn and GraKeL)

    return vertex_histogram_svm().fit(data.train.graphs, data.train.labels)


class _Bound(NamedTuple):
    """The study's own data and machine, and its test graphs bound: to motif and random part, and to one region."""

    data: Dataset
    model: KernelSVM
    base: Classifier
    parts: Problem
    whole: Problem


@lru_cache(1)
def _bound(data_seed: int) -> _Bound:
    """Made once in a process: a worker binds the graphs for all levels that it votes on."""
    data = draw_of_data(data_seed)
    model = _machine(data)
    parts = bind_all(data.test.graphs, Noise(motif=FEATURED[0], random=FEATURED[1]), data.partition)
    whole = bind_all(data.test.graphs, Noise(all=ISOTROPIC[0]), EVERYWHERE)
    return _Bound(data, model, from_sklearn(model), parts, whole)


def level_votes(data_seed: int, noise: Noise, samples: int, seed: int) -> dict[str, Any]:
    """The votes of the study's own test graphs at one noise level."""
    own = _bound(data_seed)
    isotropic = noise.regions == own.whole.noise.regions
    problem = (own.whole if isotropic else own.parts).under(noise)
    regions = EVERYWHERE if isotropic else own.data.partition
    return vote(SmoothedClassifier(own.base, noise, regions), problem, samples, seed)


def featured_share(data_seed: int, samples: int, seed: int) -> float:
    """The share right and certified at p = (0.02, 0.45) and `FEATURED_RADIUS`, of another draw of the data."""
    data = draw_of_data(data_seed)
    noise = Noise(motif=FEATURED[0], random=FEATURED[1])
    smoothed = SmoothedClassifier(from_sklearn(_machine(data)), noise, data.partition)
    problem = smoothed.problem(data.test.graphs)
    level = Level.of(problem, read_votes(vote(smoothed, problem, samples, seed)))
    return level.certificates.certified_accuracy(data.test.labels, FEATURED_RADIUS)


def draw_votes(data_seed: int, samples: int, seed: int) -> dict[str, Any]:
    """The votes of another draw of the data, by its own machine, at some levels of the grid."""
    data = draw_of_data(data_seed)
    model = _machine(data)
    base = from_sklearn(model)
    levels = [Noise(motif=m, random=r) for r in DRAWN_ROWS for m in published("synthetic")["p_motif"]]
    bound = bind_all(data.test.graphs, levels[0], data.partition)
    votes = {
        name_of(noise): vote(SmoothedClassifier(base, noise, data.partition), bound.under(noise), samples, seed)
        for noise in levels
    }
    return {"support_vectors": len(model.svc_.support_), "labels": data.test.labels.tolist(), "votes": votes}


def _draw(seed: int, found: dict[str, Any], samples: int) -> DataDraw:
    columns, labels = published("synthetic")["p_motif"], found["labels"]
    figures = np.empty((3, len(DRAWN_ROWS), len(columns)))
    for i, r in enumerate(DRAWN_ROWS):
        for j, m in enumerate(columns):
            noise = Noise(motif=m, random=r)
            votes = as_if(read_votes(found["votes"][name_of(noise)]), samples)
            bounds = clopper_pearson(votes, alpha=ALPHA)
            certificates = certify(bounds, noise, max_radius=SCORE_WINDOW)
            figures[:, i, j] = (
                score(certificates, labels, max_radius=SCORE_WINDOW),
                plurality(votes, labels),
                bounds.p_lower.min(),
            )
    return DataDraw(seed, figures[0], figures[1], figures[2], found["support_vectors"])
