"""Kernels as base classifiers, at p = (0.01, 0.45): the one that noise confuses least certifies most.

NSPD is there twice, as it is defined and as it was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert import models
from starcert.certificates.metrics import accuracy, certified_share
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_sklearn
from starcert.math.confidence import Votes, clopper_pearson
from starcert.objects.binding import bind_all
from starcert.objects.noise import Noise
from starcert.pages.plots.maps import RadiusMap, stacked
from starcert_studies.levels import ALPHA, Level, answers, as_if, draw_of_data, read_votes, vote
from starcert_studies.outcome import Check, Outcome, Picture, Table, failure_within, published
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from starcert.classifiers.base import Classifier
    from starcert.datasets.dataset import Dataset

__all__ = ["KERNELS", "TITLE", "KernelsSettings", "run", "settings"]

TITLE = "Three kernels as base classifiers"
KERNELS: dict[str, tuple[str, dict[str, int]]] = {
    "vertex_histogram": ("vertex_histogram_svm", {}),
    "nspd": ("nspd_svm", {}),
    "nspd_radius_0": ("nspd_svm", {"r": 0}),
    "graphlet": ("graphlet_svm", {}),
}
"""The model of each, and its parameters."""

PUBLISHED = {"vertex_histogram": "vertex_histogram", "nspd_radius_0": "nspd", "graphlet": "graphlet"}
"""The kernels that are compared with the published ones, and what those are called."""

NUMBERED = (
    "The published NSPD is GraKeL's. Its hashes of neighbourhoods of radius 1 and more depend on the numbering of the "
    "nodes, so that between two graphs hardly any but its levels of radius 0 agree: labels at a distance, "
    "`nspd_radius_0` here."
)
"""Why NSPD is there twice: the note of a check."""

ISOMORPHIC = (
    "Here neighbourhoods up to radius 3 are compared as the kernel is defined, up to isomorphism. Two or three flips "
    "in the ring then often change the answer; at radius 0 they do not."
)
"""Why NSPD as it is defined certifies less: the note of a check."""

BOX = {"motif": 8, "random": 45}
Labels = npt.NDArray[np.int64]

BLOCK = 5
"""So many test graphs are a part: half a minute of the slower kernels."""


@dataclass(frozen=True)
class KernelsSettings:
    """What the study depends on.

    Attributes:
        samples: estimation votes for each graph.
        test: how many test graphs.
        draws: how many further draws of the data there are, by kernel.
        draw_samples: estimation votes for each of their graphs.
        seed: of all votes.
        data_seed: of the study's own data.
    """

    samples: int = 10_000
    test: int = 100
    draws: int = 3
    draw_samples: int = 1_000
    seed: int = 1
    data_seed: int = 0


def settings(samples: int | None, seed: int, quick: bool) -> KernelsSettings:
    """The settings that a command line asks for."""
    if quick:
        return KernelsSettings(samples or 500, 20, 0, 500, seed)
    return KernelsSettings(samples or 10_000, seed=seed)


def run(settings: KernelsSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    data = draw_of_data(settings.data_seed)
    blocks = range(0, settings.test, BLOCK)
    names = {(kernel, at): f"{kernel}-{at}" for kernel in KERNELS for at in blocks}
    regions, graphs, labels = data.partition, data.test.graphs[: settings.test], data.test.labels[: settings.test]
    assert regions is not None
    first = 10_000 * settings.seed + 1
    drawn = {
        (kernel, seed): Part(f"draw-{seed}-{kernel}", draw_bound, (kernel, seed, settings), BLOCK)
        for kernel in KERNELS
        for seed in range(first, first + settings.draws)
    }
    work = []
    for kernel in KERNELS:  # kernel by kernel: a process keeps one machine
        work += [Part(names[kernel, at], block_votes, (kernel, at, settings), BLOCK) for at in blocks]
        work.append(Part(f"clean-{kernel}", clean_accuracy, (kernel, settings)))
    done = parts.run([*drawn.values(), *work], "votes")
    votes = {kernel: [read_votes(parts.result(names[kernel, at])) for at in blocks] for kernel in KERNELS}
    problem = bind_all(graphs, _noise(), regions)
    levels = {kernel: Level.of(problem, _joined(found)) for kernel, found in votes.items()}
    clean = {kernel: parts.result(f"clean-{kernel}") for kernel in KERNELS}
    draws = {
        kernel: [levels[kernel].smallest_p_lower, *(done[part.name] for (k, _), part in drawn.items() if k == kernel)]
        for kernel in KERNELS
    }
    return Outcome(
        _summary(levels, labels),
        [
            Picture(
                "radii",
                f"Share of test graphs that are right and certified at each radius, {settings.samples:,} votes, "
                "p = (0.01, 0.45), by kernel.",
                partial(_maps, levels, labels),
            )
        ],
        [_table(levels, labels, clean, draws)],
        _checks(levels, labels, clean, draws, settings),
    )


def _noise() -> Noise:
    return Noise(dict(zip(("motif", "random"), published("kernels")["p"], strict=True)))


@lru_cache(maxsize=1)
def _trained(kernel: str, data_seed: int) -> tuple[Classifier, Dataset]:
    """A kernel's machine and the data it was taught, kept for the next part of this process: one, they are large."""
    data = draw_of_data(data_seed)
    name, parameters = KERNELS[kernel]
    return from_sklearn(getattr(models, name)(**parameters).fit(data.train.graphs, data.train.labels)), data


def clean_accuracy(kernel: str, settings: KernelsSettings) -> dict[str, float]:
    """The share of right answers without noise, on training, validation and test graphs."""
    base, data = _trained(kernel, settings.data_seed)
    splits = {"training": data.train, "validation": data.validation, "test": data.test}
    return {name: accuracy(answers(base, s.graphs), s.labels) for name, s in splits.items()}


def block_votes(kernel: str, at: int, settings: KernelsSettings) -> dict[str, Any]:
    """The votes of a kernel's machine on `BLOCK` of the test graphs."""
    base, data = _trained(kernel, settings.data_seed)
    graphs = data.test.graphs[at : min(at + BLOCK, settings.test)]
    smoothed = SmoothedClassifier(base, _noise(), data.partition)
    return vote(smoothed, smoothed.problem(graphs), settings.samples, settings.seed)


def draw_bound(kernel: str, data_seed: int, settings: KernelsSettings) -> float:
    """The smallest p_lower of another draw of the data, as if it had as many votes as the study."""
    base, data = _trained(kernel, data_seed)
    graphs = data.test.graphs[: settings.test]
    smoothed = SmoothedClassifier(base, _noise(), data.partition)
    votes = read_votes(vote(smoothed, smoothed.problem(graphs), settings.draw_samples, settings.seed))
    return float(clopper_pearson(as_if(votes, settings.samples), alpha=ALPHA).p_lower.min())


def _joined(votes: list[Votes]) -> Votes:
    selection = [each.selection for each in votes if each.selection is not None]
    return Votes(np.concatenate([each.counts for each in votes]), selection=np.concatenate(selection))


def _checks(
    levels: dict[str, Level],
    labels: Labels,
    clean: dict[str, dict[str, float]],
    draws: dict[str, list[float]],
    settings: KernelsSettings,
) -> list[Check]:
    told = published("kernels")["smallest_p_lower"]
    shares = {kernel: accuracy(level.certificates, labels) for kernel, level in levels.items()}
    bounds = {kernel: level.smallest_p_lower for kernel, level in levels.items()}
    whole = settings.samples >= published("kernels")["samples"] and settings.test == 100
    few = "" if whole else "The claim is about 10,000 votes for 100 graphs."
    alike = {kernel: bounds[kernel] for kernel in PUBLISHED}
    defined = {kernel: bounds[kernel] for kernel in ("vertex_histogram", "nspd", "graphlet")}
    checks = [
        Check(
            "every kernel is right on every test graph, smoothed and not",
            "100%",
            ", ".join(f"{kernel} {share:.0%}" for kernel, share in shares.items()),
            all(share == 1 for share in shares.values()) and all(c["test"] == 1 for c in clean.values()),
            True,
        ),
        Check(
            "the graphlet kernel certifies least",
            "smallest p_lower of the three",
            ", ".join(f"{kernel} {bound:.5f}" for kernel, bound in alike.items()),
            min(alike, key=lambda kernel: alike[kernel]) == "graphlet" if whole else None,
            True,
            f"{NUMBERED} {few}".strip(),
        ),
        Check(
            "the NSPD kernel certifies most",
            "greatest p_lower of the three",
            ", ".join(f"{kernel} {bound:.5f}" for kernel, bound in defined.items()),
            max(defined, key=lambda kernel: defined[kernel]) == "nspd" if whole else None,
            False,
            f"{ISOMORPHIC} {few}".strip(),
        ),
    ]
    for kernel, name in PUBLISHED.items():
        check = failure_within(f"smallest p_lower, {kernel}", told[name], draws[kernel], rounding=5e-6)
        checks.append(check if whole else check.undecided(few))
    return checks


def _maps(levels: dict[str, Level], labels: Labels) -> Figure:
    maps = {k: RadiusMap.from_certificates(each.certificates, labels, max_radius=BOX) for k, each in levels.items()}
    return stacked({kernel.replace("_", " "): each for kernel, each in maps.items()}, 1.1)


def _table(
    levels: dict[str, Level], labels: Labels, clean: dict[str, dict[str, float]], draws: dict[str, list[float]]
) -> Table:
    rows = []
    for kernel, level in levels.items():
        share = certified_share(level.certificates, labels, max_radius=BOX)
        told = published("kernels")["smallest_p_lower"][kernel.removesuffix("_radius_0")]
        rows.append(
            [kernel, *clean[kernel].values(), accuracy(level.certificates, labels), level.smallest_p_lower,
             told, min(draws[kernel]), max(draws[kernel]),
             float(share[1, 45]), float(share[2, 45])]
        )  # fmt: skip
    columns = ["kernel", "training", "validation", "test", "smoothed", "smallest_p_lower", "published",
               "least_of_draws", "greatest_of_draws", "certified_at_1_45", "certified_at_2_45"]  # fmt: skip
    return Table("kernels", "Accuracies without and with noise, and bounds, by kernel.", columns, rows)


def _summary(levels: dict[str, Level], labels: Labels) -> list[str]:
    told = "; ".join(
        f"{kernel.replace('_', ' ')} {accuracy(level.certificates, labels):.0%}, {level.smallest_p_lower:.5f}"
        for kernel, level in levels.items()
    )
    return [f"Smoothed answers that are right, and the smallest p_lower of the votes: {told}."]
